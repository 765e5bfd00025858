# shellcheck shell=bash disable=SC2154 # variables of run.sh
# Sourced by run.sh: what users read, leaks, and errors.

# PCView, help and notes.
test_texts() {
    local type
    for type in tessera tesserabjacobi tesserachebyshev tesserabildl tesserailu tesseraamg; do
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
            "tesseraamg -pc_tesseraamg_gather_nodes 50" \
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
    run_case 2 cycles -pc_type tesseraamg -cycles 90
}

# Singular blocks and matrices that are not positive definite are reported as PETSc does it, and end
# the solve; other values may follow.
test_singular() {
    local n options
    local once='DIVERGED_PC_FAILED FACTOR_NUMERIC_ZEROPIVOT CONVERGED_RTOL FACTOR_NOERROR '
    for n in 1 2 4; do
        for type in tesserabjacobi tesserachebyshev "tessera -pc_tessera_spec amg"; do
            # shellcheck disable=SC2086
            run_case $n singular -pc_type $type
            grep -qx 'DIVERGED_PC_FAILED FACTOR_NUMERIC_ZEROPIVOT' "$scratch/case" ||
                fail "$type on $n ranks: $(head -1 "$scratch/case")"
        done
        for options in "tessera -pc_tessera_spec amg" tesserabjacobi tesserachebyshev; do
            # shellcheck disable=SC2086
            run_case $n repaired -pc_type $options
            [[ $(grep -E '^(CON|DI)VERGED' "$scratch/case" | tr '\n' ' ') == "$once$once" ]] ||
                fail "$options on $n ranks: $(cat "$scratch/case")"
        done
        grep -q "Tessera" "$scratch/case" || fail "PCView of a PC that failed"
        run_case $n singular -pc_type bjacobi -sub_pc_type tessera -sub_pc_tessera_spec amg
        grep -qx 'DIVERGED_PC_FAILED SUBPC_ERROR' "$scratch/case" ||
            fail "bjacobi on $n ranks: $(head -1 "$scratch/case")"
        run_case $n singular -pc_type tesserabjacobi -pc_tesserabjacobi_singular identity
        grep -q 'FACTOR_NOERROR' "$scratch/case" || fail "the option singular is not heeded"
    done
    expect_error 1 "blocks are singular" singular -pc_type tesserabjacobi -ksp_error_if_not_converged
    expect_error 2 "Tessera on rank 1: 1 of 20 blocks are singular" \
        singular -pc_type tesserabjacobi -ksp_error_if_not_converged
    expect_error 2 "Tessera on rank 1: amg: the diagonal block of node 19" \
        singular -pc_type tessera -pc_tessera_spec amg -ksp_error_if_not_converged
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
        expect_error $n "Available options: auto mpi nccl" updates -pc_type tesseraamg -pc_tesseraamg_messages no
        expect_error $n "give 1 to 4096 threads" updates -pc_type tesserabjacobi -tessera_threads 0
    done
    expect_error 2 "NCCL sends messages between GPUs, not between CPUs" \
        updates -pc_type tesseraamg -pc_tesseraamg_messages nccl
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
