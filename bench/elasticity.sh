#!/usr/bin/env bash
# elasticity.sh [cuda|cpu] [FOLDER] [PART...]
#
# Measures products in every format and solves of finite-element elasticity, and writes JSON of
# schema tessera-bench/1 to FOLDER (default: results/elasticity in this folder). Runs from a source
# tree with a build, or in the folder that ./check --pack makes. TESSERA_BENCH names another
# tessera-bench. Parts, all unless some are named; on an H200 in less than 170 s, on 16 cores in some
# 5 minutes:
# cuda: spmv    spmv_elasticity.json: products in the four elements at the sizes of the paper and at
#               5 to 16 times the quadrilaterals' and hexahedra's nonzeros; cuSPARSE for comparison
#       large   spmv_large.json: the same in all four elements with 8 times the paper's nonzeros
#       solve   solve_elasticity*.json: conjugate gradients with polynomials in each precision, and
#               refinement, to a true residual of 1e-8; diagonal conjugate gradients on cuSPARSE
#       table3  table3_elasticity.json: iterations with Gershgorin's bound to 1e-7, as in the paper
#       sizes   sizes_elasticity.json: hexahedra of 1e4 to 1e7 unknowns to a true 1e-8
#       degrees degrees_elasticity.json: every polynomial of degrees 2 to 12 in three precisions, and
#               diagonal conjugate gradients on cuSPARSE, to a true 1e-8
# cpu:  spmv    cpu_spmv_elasticity_T.json: products by T threads and the triad of STREAM
#       table4  cpu_table4.json: the solves of the paper's Tables 3 and 4 in CSR by all cores
#       table5  cpu_table5.json: diagonal and least_squares:6 in CSR on the four meshes by all cores
#       one2d, one3d   cpu_one_core_*.json: the same on quadrilaterals, on hexahedra by one core;
#               triangles and tetrahedra would take it ten minutes more
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/elasticity}
parts=("${@:3}")
case $device in
cuda) known=(spmv large solve table3 sizes degrees) ;;
cpu) known=(spmv table4 table5 one2d one3d) ;;
*) known=() ;;
esac
if ((${#parts[@]} == 0)); then parts=("${known[@]}"); fi
for part in "${parts[@]}"; do
    if [[ " ${known[*]} " != *" $part "* ]]; then known=(); fi
done
if ((${#known[@]} == 0)); then
    sed -n 's/^# \?//; 2,22p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

tri=elasticity2d:727,element=t3,jitter=0.4
tet=elasticity3d:58,element=tet4,jitter=0.4
# Of the lower end the paper says nothing; this one makes its Chebyshev iterations rise as they do
# there (docs/decisions/polynomial.md).
poor=lower=ratio:1e6
sbell='sbell:{b}'
precisions=('' ,values=f32 ,values=f16 ,precision=f32 ,precision=f32,values=f16)
paper=('cg jacobi csr')
ours=()
for degree in 2 3 4 5 6; do
    for kind in "neumann:$degree" "least_squares:$degree" "chebyshev:$degree,$poor"; do
        paper+=("cg $kind,bound=gershgorin csr")
    done
    ours+=("cg chebyshev:$degree,bound=gershgorin csr" "cg least_squares:$degree csr"
        "cg chebyshev4_optimal:$degree,bound=gershgorin csr")
done

formats=(csr,lanes=1 csr,lanes=16 csr,lanes=32 ell ellr sell:32 sell:64 sell:96
    sell:32,threads=32 sell:64,threads=64 sell:96,threads=96 'bell:{b}' 'bcsr:{b}'
    'sbell:{b},threads=32' 'sbell:{b},slice=64,threads=64' 'sbell:{b},slice=96,threads=96'
    'sbell:{b}' 'sbell:{b},index=32' 'sbell:{b},values=f32' 'sbell:{b},values=f16'
    'sbell:{b},values=bf16')
if [[ $device == cuda ]] && wanted spmv; then
    measure spmv_elasticity spmv "$tri,free" elasticity2d:400,free "$tet,free" \
        elasticity3d:54,free elasticity2d:1600,free elasticity3d:90,free --type f64,f32 --peers \
        --format "${formats[@]}" --seconds 0.01
fi
if [[ $device == cuda ]] && wanted large; then
    measure spmv_large spmv elasticity2d:2056,element=t3,jitter=0.4,free elasticity2d:1131,free \
        elasticity3d:116,element=tet4,jitter=0.4,free elasticity3d:108,free --type f64,f32 --peers \
        --format "${formats[@]}" --seconds 0.01
fi
if [[ $device == cuda ]] && wanted solve; then
    ways=('cg jacobi cusparse_csr' 'cg jacobi csr' 'cg jacobi sbell:{b}' 'cg neumann:6 sbell:{b}'
        'cg least_squares:6 csr' 'cg least_squares:6,precision=f32 csr')
    for kind in least_squares chebyshev chebyshev4_optimal; do
        for precision in "${precisions[@]}"; do ways+=("cg $kind:6$precision sbell:{b}"); done
    done
    measure solve_elasticity_unstructured solve "$tri" "$tet" --runs 3 --way "${ways[@]}"
    ways+=('cg chebyshev4:6 sbell:{b}' 'cg block_jacobi:3 sbell:{b}' 'refinement jacobi sbell:{b}'
        'refinement chebyshev:6,values=f16 sbell:{b}' 'refinement least_squares:6 sbell:{b}')
    for kind in least_squares chebyshev; do
        for degree in 2 4 8 10 12; do
            ways+=("cg $kind:$degree,precision=f32,values=f16 sbell:{b}")
        done
    done
    measure solve_elasticity solve elasticity3d:90 --runs 1 --way "${ways[@]}"
    for kind in least_squares chebyshev; do
        for degree in 2 4 8 12 16; do
            ways+=("cg $kind:$degree sbell:{b}" "cg $kind:$degree,values=f16 sbell:{b}")
        done
    done
    measure solve_elasticity_small solve elasticity2d:400 elasticity3d:54 --runs 3 \
        --way "${ways[@]}"
fi
if [[ $device == cuda ]] && wanted table3; then
    measure table3_elasticity solve elasticity2d:400 --rtol 1e-7 --runs 1 \
        --way "${paper[@]//csr/$sbell}" "${ours[@]//csr/$sbell}"
fi
if [[ $device == cuda ]] && wanted sizes; then
    measure sizes_elasticity solve elasticity3d:14 elasticity3d:21 elasticity3d:31 elasticity3d:46 \
        elasticity3d:68 elasticity3d:100 elasticity3d:149 --runs 1 --way 'cg jacobi cusparse_csr' \
        'cg chebyshev:6 sbell:{b}' 'cg chebyshev:6,values=f16 sbell:{b}' \
        'cg chebyshev:6,precision=f32,values=f16 sbell:{b}'
fi
if [[ $device == cuda ]] && wanted degrees; then
    ways=('cg jacobi cusparse_csr')
    for kind in neumann least_squares chebyshev chebyshev4 chebyshev4_optimal; do
        for degree in 2 4 6 8 12; do
            for precision in '' ,values=f16 ,precision=f32,values=f16; do
                ways+=("cg $kind:$degree$precision $sbell")
            done
        done
    done
    measure degrees_elasticity solve elasticity2d:400 elasticity3d:54 --runs 3 --way "${ways[@]}"
fi
if [[ $device == cpu ]] && wanted spmv; then
    cores=$(nproc)
    for threads in $(printf '%s\n' 1 2 4 8 16 "$cores" | sort -nu); do
        if ((threads > cores)); then break; fi
        measure "cpu_spmv_elasticity_$threads" spmv elasticity3d:70,free elasticity2d:1200,free \
            --type f64,f32 --threads "$threads" --seconds 0.15 \
            --format csr 'sbell:{b}' 'sbell:{b},values=f16'
    done
fi
if [[ $device == cpu ]] && wanted table4; then
    measure cpu_table4 solve elasticity2d:400 --rtol 1e-7 --runs 1 --way "${paper[@]}"
fi
two=('cg jacobi csr' 'cg least_squares:6 csr')
if [[ $device == cpu ]] && wanted table5; then
    measure cpu_table5 solve "$tri" elasticity2d:400 "$tet" elasticity3d:54 --runs 1 \
        --way "${two[@]}" 'cg least_squares:6,values=f16 sbell:{b}'
fi
for matrix in elasticity2d:400 elasticity3d:54; do
    dimensions=${matrix:10:2}
    if [[ $device == cpu ]] && wanted "one$dimensions"; then
        measure "cpu_one_core_$dimensions" solve "$matrix" --runs 1 --threads 1 --way "${two[@]}"
    fi
done
report_failures
