#!/usr/bin/env bash
# run.sh NAME FOLDER BUILD-FOLDER PETSC-INCLUDE-FOLDERS
#
# Runs the test test_NAME below with the library and the programs in FOLDER; tests.cmake makes a
# ctest entry of each. A command that hangs is ended, and the test fails.
set -euo pipefail
name=$1 folder=$2 build=$3 includes=${4:-}
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
library=$folder/libpetsctessera.so
# As root, and with more ranks than cores; ranks of one core yield to each other.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}
skip() {
    echo "SKIPPED petsc.$name: $*"
    exit 77
}

# ranks N PROGRAM ARGUMENT...: its output; the test fails if it does.
ranks() {
    local number=$1 program=$2
    shift 2
    timeout 60 mpirun --bind-to none -n "$number" "$program" -dll_append "$library" "$@" \
        >"$scratch/out" 2>&1 || {
        cut -c1-300 "$scratch/out" | grep -v 'Configure options' | head -40 >&2
        fail "failed on $number ranks: $program $*"
    }
    cat "$scratch/out"
}
elast() { ranks "$1" "$folder/elast" "${@:2}"; }
# One case of cases.c, which ends with "passed".
run_case() {
    ranks "$1" "$folder/cases" -case "${@:2}" >"$scratch/case"
    grep -qx passed "$scratch/case" || fail "the case ${*:2} did not pass on $1 ranks"
}
# expect_error N TEXT ARGUMENT...: cases fails at once, and says TEXT.
expect_error() {
    local number=$1 text=$2 status=0
    shift 2
    timeout 60 mpirun --bind-to none -n "$number" "$folder/cases" -dll_append "$library" \
        -case "$@" >"$scratch/out" 2>&1 || status=$?
    ((status != 0)) || fail "no error: $*"
    ((status != 124)) || fail "hangs: $*"
    grep -qF -- "$text" "$scratch/out" || {
        cut -c1-300 "$scratch/out" | head -20 >&2
        fail "the message of $* lacks '$text'"
    }
}
# Field FIELD of the last result line of elast.
result() { awk -v name="$1" '/^ranks/ { for (i = 1; i < NF; ++i) if ($i == name) value = $(i + 1) } END { print value }'; }
within_one() { (($1 - $2 <= 1 && $2 - $1 <= 1)); }

# 3x3 block Jacobi takes the iterations of PETSc's own, and as many on all ranks.
test_block_jacobi() {
    local n own reference='' type iterations
    for n in 1 2 4; do
        own=$(elast "$n" -pc_type pbjacobi | result iterations)
        : "${reference:=$own}"
        for type in tesserabjacobi tessera; do
            iterations=$(elast "$n" -pc_type "$type" | result iterations)
            echo "$n ranks: pbjacobi $own, $type $iterations iterations"
            within_one "$iterations" "$own" && within_one "$iterations" "$reference" || fail "too different"
        done
    done
}

# A polynomial over all ranks takes as many iterations on any number of them.
test_chebyshev() {
    local n reference='' values iterations
    for values in working f16; do
        for n in 1 2 4; do
            iterations=$(elast "$n" -pc_type tesserachebyshev -pc_tesserachebyshev_values $values |
                result iterations)
            : "${reference:=$iterations}"
            echo "$n ranks, values $values: $iterations iterations"
            within_one "$iterations" "$reference" || fail "too different"
        done
    done
    ((reference < 40)) || fail "$reference iterations are no better than block Jacobi's"
}

# Two runs on the same number of ranks give the same bits.
test_bitwise() {
    local n type first second
    for n in 2 4; do
        for type in tesserabjacobi tesserachebyshev tesserabildl; do
            first=$(elast "$n" -pc_type $type "-pc_${type}_product" sbell | result bits)
            second=$(elast "$n" -pc_type $type "-pc_${type}_product" sbell | result bits)
            [[ -n $first && $first == "$second" ]] || fail "$type on $n ranks: $first, then $second"
        done
    done
}

# count EVENT: calls of an event of -log_view in stage 0.
count() {
    awk -v event="$1" '/Event Stage 1/ { exit } $1 == event { print $2; exit }' "$scratch/log"
}

# Both local blocks multiply in Tessera's format as often as the matrix does; values are converted
# once and after they change; PETSc's log has the operations.
test_products() {
    local way iterations
    local -A ways=([option]="-pc_type tesserabjacobi -pc_tesserabjacobi_product sbell"
        [type]="-pc_type pbjacobi -mat_seqaij_type seqaijtessera")
    for way in "${!ways[@]}"; do
        # shellcheck disable=SC2086 # words
        elast 2 ${ways[$way]} -solves 2 -log_view >"$scratch/log"
        iterations=$(result iterations <"$scratch/log")
        echo "$way: $iterations iterations, MatMult $(count MatMult), TesseraMultDiag" \
            "$(count TesseraMultDiag), TesseraMultOff $(count TesseraMultOff)," \
            "TesseraConvert $(count TesseraConvert)"
        (($(count MatMult) > iterations && $(count TesseraMultDiag) == $(count MatMult) &&
            $(count TesseraMultOff) == $(count MatMult) && $(count TesseraConvert) == 2)) ||
            fail "not all products are Tessera's"
        awk '/Event Stage .*: Later solves/ { later = 1 } later && $1 == "TesseraConvert" { found = $2 }
            END { exit found != 2 }' "$scratch/log" || fail "new values are not converted once"
        awk '$1 == "TesseraMultDiag" { exit !($6 > 1e6) }' "$scratch/log" ||
            fail "the operations of products are not counted"
    done
    elast 2 -pc_type tesserachebyshev -log_view >"$scratch/log"
    (($(count TesseraMultDiag) >= 6 * $(count TesseraApply) &&
        $(count TesseraMultOff) == $(count TesseraMultDiag))) ||
        fail "the products of the polynomial are not Tessera's"
    local n
    for n in 1 2; do
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product ell
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell:3 -mat_type baij
        run_case $n products -pc_type none -mat_seqaij_type seqaijtessera -mat_tessera_format sell
    done
}

# BAIJ and SBAIJ are taken as AIJ is; other types are refused by their names.
test_matrices() {
    local n type matrix reference iterations
    for n in 1 2; do
        for type in tesserabjacobi tesserachebyshev tesserabildl; do
            reference=$(elast $n -pc_type $type | result iterations)
            for matrix in baij sbaij; do
                iterations=$(elast $n -pc_type $type -dm_mat_type $matrix -solves 2 \
                    "-pc_${type}_product" sbell | result iterations)
                echo "$type, $matrix, $n ranks: $iterations iterations, with aij $reference"
                within_one "$iterations" "$reference" || fail "too different"
            done
        done
    done
    # What PETSc reads of BAIJ does not count as a change.
    elast 2 -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell -dm_mat_type baij -log_view \
        >"$scratch/log"
    (($(count TesseraConvert) == 2 && $(count PCSetUp) == 1)) || fail "BAIJ is converted repeatedly"
    for type in tesserabjacobi tesserachebyshev; do
        expect_error 1 "this one is seqdense" types -pc_type $type
        expect_error 2 "this one is mpidense" types -pc_type $type
        expect_error 2 "this one is mpisell" types -pc_type $type -case_mat_type sell
    done
}

# PCMatApply, PCApplyTranspose, new values, a new pattern, ranks without rows.
test_calls() {
    local n options
    for n in 1 2; do
        for options in "tesserabjacobi -skew" tesserachebyshev tesserabildl \
            "tessera -pc_tessera_spec amg,precision=working" "tessera -pc_tessera_spec jacobi -skew" \
            "tesserachebyshev -skew -has_transpose 0" \
            "tessera -pc_tessera_spec chebyshev -skew -has_transpose 0"; do
            # shellcheck disable=SC2086
            run_case $n apply -pc_type $options
        done
        for options in tesserabjacobi tesserachebyshev tesserabildl "tessera -pc_tessera_spec amg" \
            "tesserachebyshev -mat_type baij"; do
            # shellcheck disable=SC2086
            run_case $n updates -pc_type $options
        done
    done
}

# Ranks without rows, and one that owns all.
test_few_rows() {
    local n options
    for n in 1 2 4; do
        for options in "tesserabjacobi -pc_tesserabjacobi_product sbell" \
            "tesserachebyshev -pc_tesserachebyshev_product sbell" tesserabildl \
            "tessera -pc_tessera_spec amg"; do
            # shellcheck disable=SC2086
            run_case $n few -pc_type $options
            [[ $(grep -c CONVERGED_RTOL "$scratch/case") == 2 ]] || fail "not solved: $options"
        done
    done
}

# Within PETSc's own preconditioners.
test_inside() {
    local n options iterations reference
    for n in 1 2; do
        for options in "bjacobi -sub_pc_type tessera -sub_pc_tessera_spec amg" \
            "bjacobi -sub_pc_type tesserabildl" \
            "asm -pc_asm_type basic -sub_pc_type tesserachebyshev" \
            "fieldsplit -pc_fieldsplit_type additive -pc_fieldsplit_block_size 3
                -fieldsplit_ksp_type preonly -fieldsplit_pc_type tesserachebyshev"; do
            # shellcheck disable=SC2086
            iterations=$(elast $n -pc_type $options | result iterations)
            echo "$n ranks, ${options%% *}: $iterations iterations"
            ((iterations < 79)) || fail "no better than block Jacobi: $options"
        done
        reference=$(elast $n -pc_type gamg -elements 12 | result iterations)
        iterations=$(elast $n -pc_type gamg -elements 12 -mg_levels_pc_type tesserabjacobi \
            -mg_levels_pc_tesserabjacobi_singular generalised -mat_seqaij_type seqaijtessera |
            result iterations)
        echo "$n ranks: GAMG $reference iterations, with smoothers and products of Tessera $iterations"
        ((iterations <= reference + 1)) || fail "GAMG needs more iterations"
    done
}

# Blocks, near-null vectors and formats come from the matrix where the options name none.
test_defaults() {
    elast 2 -pc_type tesserabjacobi -ksp_view >"$scratch/log"
    grep -qF '729 blocks, largest of 3 rows' "$scratch/log" || fail "not the blocks of the matrix"
    elast 2 -pc_type tesserabjacobi -nodes_per_block 10 -ksp_view >"$scratch/log"
    grep -qF 'largest of 30 rows' "$scratch/log" || fail "not MatSetVariableBlockSizes"
    elast 2 -pc_type tesserachebyshev -ksp_view >"$scratch/log"
    grep -qF 'matrix: sbell:3' "$scratch/log" || fail "not the block size of the matrix"
    local with without
    with=$(elast 1 -pc_type tessera -pc_tessera_spec amg | result iterations)
    without=$(elast 1 -pc_type tessera -pc_tessera_spec amg,near_null=translations |
        result iterations)
    echo "amg: $with iterations with the matrix's near-null vectors, $without with translations"
    ((with < without)) || fail "the near-null vectors of the matrix are not used"
    # coarse=100 leaves levels above the one that is solved directly.
    run_case 1 coordinates -pc_type tessera -pc_tessera_spec amg,coarse=100
    run_case 2 coordinates -pc_type tessera -pc_tessera_spec amg,coarse=100
}

# PCView, help and notes.
test_texts() {
    local type
    for type in tessera tesserabjacobi tesserachebyshev tesserabildl; do
        elast 1 -pc_type $type "-pc_${type}_product" sbell -ksp_view -info :pc >"$scratch/log"
        grep -q "type: $type" "$scratch/log" && grep -q '  Tessera .* on CPU' "$scratch/log" &&
            grep -q 'products with the operator: sbell' "$scratch/log" || fail "PCView of $type"
        grep -q '<pc.*> .*Tessera: ' "$scratch/log" || fail "no note of $type"
        elast 1 -pc_type $type -help >"$scratch/log"
        grep -q "  -pc_${type}_product.*:" "$scratch/log" || fail "no help on $type"
    done
}

# Nothing is left at the end, nor in the course of many solves.
test_leaks() {
    local n options
    for n in 1 2; do
        for options in "tesserabjacobi -pc_tesserabjacobi_product sbell" tesserachebyshev \
            tesserabildl "tessera -pc_tessera_spec amg" "tesserachebyshev -dm_mat_type sbaij" \
            "gamg -mg_levels_pc_type tesserabjacobi -mg_levels_pc_tesserabjacobi_singular generalised
                -mat_seqaij_type seqaijtessera"; do
            # shellcheck disable=SC2086
            elast $n -pc_type $options -solves 2 -malloc_debug -malloc_dump -objects_dump \
                >"$scratch/log"
            [[ $(grep -vc '^ranks' "$scratch/log") == 0 ]] || {
                head -20 "$scratch/log" >&2
                fail "left on $n ranks: $options"
            }
        done
    done
    run_case 1 cycles -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell
    run_case 2 cycles -pc_type tesserachebyshev
}

# Singular blocks are reported as PETSc does it.
test_singular() {
    local n
    for n in 1 2 4; do
        for type in tesserabjacobi tesserachebyshev; do
            run_case $n singular -pc_type $type
            grep -qx 'DIVERGED_PC_FAILED FACTOR_NUMERIC_ZEROPIVOT' "$scratch/case" ||
                fail "$type on $n ranks: $(head -1 "$scratch/case")"
        done
        run_case $n singular -pc_type tesserabjacobi -pc_tesserabjacobi_singular identity
        grep -q 'FACTOR_NOERROR' "$scratch/case" || fail "the option singular is not heeded"
    done
    expect_error 1 "blocks are singular" singular -pc_type tesserabjacobi -ksp_error_if_not_converged
    expect_error 2 "Tessera on rank 1: 1 of 20 blocks are singular" \
        singular -pc_type tesserabjacobi -ksp_error_if_not_converged
    expect_error 2 "Tessera on rank 1: amg: the diagonal block of node 19" \
        singular -pc_type tessera -pc_tessera_spec amg
}

# Wrong options are errors with sentences, on all ranks.
test_wrong_options() {
    local n
    for n in 1 2; do
        expect_error $n "did you mean 'block_jacobi'" updates -pc_type tessera -pc_tessera_spec blok_jacobi
        expect_error $n "did you mean 'singular'" updates -pc_type tessera -pc_tessera_spec block_jacobi,singlar=stop
        expect_error $n "is no preconditioner" updates -pc_type tessera -pc_tessera_spec none
        expect_error $n "give 1 to 64 rows" updates -pc_type tesserabjacobi -pc_tesserabjacobi_bound 99
        expect_error $n "Available options: stop identity shift generalised" updates -pc_type tesserabjacobi -pc_tesserabjacobi_singular no
        expect_error $n "unknown format 'foo'" updates -pc_type tesserabjacobi -pc_tesserabjacobi_product foo
        expect_error $n "PETSc's own products" updates -pc_type tesserabjacobi -pc_tesserabjacobi_product csr
        expect_error $n "give 1 to 16 products" updates -pc_type tesserachebyshev -pc_tesserachebyshev_degree 0
        expect_error $n "have 1, 4, 8, 16 or 32 rows" updates -pc_type tesserabildl -pc_tesserabildl_block 5
        expect_error $n "give 1 to 4096 threads" updates -pc_type tesserabjacobi -tessera_threads 0
    done
}

# Memory that is exhausted on one rank is an error on all; none waits for the others.
test_exhausted_memory() {
    local n options
    for n in 1 2 4; do
        for options in "tesserabjacobi -pc_tesserabjacobi_product sbell" tesserachebyshev \
            tesserabildl; do
            # shellcheck disable=SC2086
            run_case $n exhausted -pc_type $options
        done
    done
    expect_error 2 "Tessera on rank 1: out of memory" exhausted -pc_type tesserachebyshev -report
}

# A library for another PETSc is refused with a sentence.
test_other_petsc() {
    local other program
    # The programs of the PETSc with the other size of indices, where it was built.
    for other in "$build"/plugins/petsc "$build"/plugins/petsc/also_*; do
        [[ $other != "$folder" && -x $other/cases ]] || continue
        program=$other/cases
        if timeout 60 "$program" -dll_append "$library" -case few -pc_type tessera \
            >"$scratch/out" 2>&1; then
            fail "loaded into $program"
        fi
        grep -q 'libpetsctessera.so was compiled for' "$scratch/out" || {
            head -20 "$scratch/out" >&2
            fail "no sentence from $program"
        }
        echo "refused by $program"
    done
    [[ -n ${program:-} ]] || skip "one PETSc only (TESSERA_PETSC_ALSO is empty)"
}

# PETSc with complex scalars is refused when the plug-in is configured or compiled.
test_complex() {
    local words
    mkdir "$scratch/petsc"
    printf '#define PETSC_USE_COMPLEX 1\n' >"$scratch/petsc/petscconf.h"
    # The headers of this PETSc, but for its petscconf.h, which is made complex.
    words=$(sed 's/;/ -I/g; s/^/-I/' <<<"$includes")
    { for word in ${includes//;/ }; do
        if [[ -f $word/petscconf.h ]]; then cat "$word/petscconf.h"; fi
    done; } >>"$scratch/petsc/petscconf.h"
    # shellcheck disable=SC2086
    if mpicxx -std=c++20 -fsyntax-only -I "$scratch/petsc" $words \
        -I "$here/../../../include" "$here/../device.cpp" >"$scratch/out" 2>&1; then
        fail "compiled for complex scalars"
    fi
    grep -q 'needs a PETSc with real scalars' "$scratch/out" || fail "no sentence"
}

# One function is exported, and nothing of Tessera, the C++ library or SuiteSparse.
test_symbols() {
    local exported
    exported=$(nm -D --defined-only "$library" | awk '{ print $3 }')
    [[ $exported == PetscDLLibraryRegister_petsctessera ]] || fail "exported: $exported"
}

# cmake --install brings the library, which works from there, by PETSC_OPTIONS.
test_installed() {
    cmake --install "$build" --component petsc --prefix "$scratch/prefix" >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        fail "cmake --install"
    }
    local installed
    installed=$(find "$scratch/prefix" -name libpetsctessera.so)
    PETSC_OPTIONS="-dll_append $installed -pc_type tesserabjacobi" \
        timeout 60 "$folder/elast" -elements 4 >"$scratch/log" 2>&1 || {
        head -20 "$scratch/log" >&2
        fail "the installed library"
    }
    grep -q CONVERGED_RTOL "$scratch/log"
}

# The example in Python.
test_python() {
    /usr/bin/python3 -c 'import petsc4py' 2>/dev/null || skip "petsc4py was not found"
    local n
    for n in 1 2; do
        timeout 60 mpirun --bind-to none -n $n /usr/bin/python3 "$here/../examples/poisson.py" \
            "$library" >"$scratch/log" 2>&1 || {
            head -20 "$scratch/log" >&2
            fail "poisson.py on $n ranks"
        }
        cat "$scratch/log"
        grep -q '^tesserachebyshev: .* reason 2' "$scratch/log" || fail "not solved"
    done
}

# DOLFINx finds the library by PETSC_OPTIONS.
test_dolfinx() {
    /usr/bin/python3 -c 'import dolfinx; assert dolfinx.__version__.startswith("0.5.")' 2>/dev/null ||
        skip "DOLFINx 0.5 was not found"
    export PETSC_OPTIONS XDG_CACHE_HOME=$scratch
    local n type
    for n in 1 2; do
        for type in tesserabjacobi tesserachebyshev; do
            PETSC_OPTIONS="-dll_append $library -pc_type $type"
            timeout 100 mpirun --bind-to none -n $n /usr/bin/python3 \
                "$here/../examples/dolfinx_elasticity.py" >"$scratch/log" 2>&1 || {
                tail -20 "$scratch/log" >&2
                fail "dolfinx_elasticity.py on $n ranks"
            }
            grep "^$type: .* reason 2" "$scratch/log" || fail "not solved"
        done
    done
}

# PETSc's own example of elasticity, unchanged, where its source is installed.
test_ex56() {
    local source include
    source=$(find "${PETSC_DIR:-/usr/share/petsc}" -path '*ksp/ksp/tutorials/ex56.c' 2>/dev/null |
        head -1) || true
    [[ -n $source ]] || skip "ex56.c of PETSc was not found"
    include=$(sed 's/;/ -I/g; s/^/-I/' <<<"$includes")
    local petsc
    petsc=$(ldd "$library" | awk '/libpetsc/ { print $3 }')
    # shellcheck disable=SC2086
    mpicc -O1 $include "$source" -o "$scratch/ex56" "$petsc" "-Wl,-rpath,$(dirname "$petsc")" -lm \
        >"$scratch/out" 2>&1 || {
        head -20 "$scratch/out" >&2
        fail "ex56.c does not compile"
    }
    local n
    for n in 1 8; do  # A third power.
        ranks $n "$scratch/ex56" -ne 7 -alpha 1.e-3 -ksp_type cg -ksp_max_it 300 -two_solves 0 \
            -use_mat_nearnullspace -pc_type tesserachebyshev -ksp_converged_reason >"$scratch/log"
        grep -m1 'converged due to' "$scratch/log" || fail "ex56 on $n ranks"
        ranks $n "$scratch/ex56" -ne 7 -alpha 1.e-3 -ksp_type cg -ksp_max_it 300 -two_solves 0 \
            -use_mat_nearnullspace -pc_type gamg -mg_levels_pc_type tesserabjacobi \
            -mg_levels_pc_tesserabjacobi_singular generalised -mat_seqaij_type seqaijtessera \
            -ksp_converged_reason >"$scratch/log"
        grep -m1 'converged due to' "$scratch/log" || fail "ex56 with GAMG on $n ranks"
    done
}

"test_$name"
