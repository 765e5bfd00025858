# shellcheck shell=bash disable=SC2154 # variables of run.sh
# Sourced by run.sh: installation, and other programs.

# One function is exported, and nothing of Tessera or the C++ library.
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

# The examples in Python.
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
        timeout 60 mpirun --bind-to none -n $n /usr/bin/python3 "$here/../examples/elasticity.py" \
            "$library" -pc_tesseraamg_gather_nodes 100 >"$scratch/log" 2>&1 || {
            head -20 "$scratch/log" >&2
            fail "elasticity.py on $n ranks"
        }
        cat "$scratch/log"
        # Twice as stiff, the displacements are half as large.
        awk '/^tesseraamg: .* reason 2/ { size[NR] = $NF }
            END { exit !(size[1] > 0 && (size[1] - 2 * size[2])^2 <= 4e-8) }' "$scratch/log" ||
            fail "not solved"
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
