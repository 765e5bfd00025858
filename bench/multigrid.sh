#!/usr/bin/env bash
# multigrid.sh [cuda|cpu] [FOLDER] [PART...]
#
# Measures solves with multigrid to a true residual of 1e-8 and writes JSON of schema tessera-bench/1
# to FOLDER (default: results/multigrid in this folder). Runs from a source tree with a build, or in
# the folder that ./check --pack makes. TESSERA_BENCH names another tessera-bench, beside which is
# tessera. Parts, all unless some are named; on an H200 in less than a minute each, on two cores in
# some minutes:
#   cases       multigrid_cases.json: iterations of elasticity and diffusion at sizes up to 500,000
#               unknowns, the cycle in f32 and in working precision
#   sizes       multigrid_sizes.json: hexahedra of 1e4 to 1e7 unknowns (on a CPU to 1e6), with
#               diagonal conjugate gradients and a polynomial beside it
#   slenderness multigrid_slenderness.json: bars of 1:1 to 64:1 with 20,000 unknowns each, with
#               translations alone as near-null space, block Jacobi, diagonal and a polynomial
#   phases      multigrid_phases_*.json: the phases of a setup, as tessera solve reports them
#   large       multigrid_large.json: setup, update and solve of large systems, with diagonal
#               conjugate gradients and polynomials beside them (cuda only)
#   matrices    multigrid_matrices.json: real matrices of MATRICES (a folder) without coordinates,
#               with block Jacobi and least_squares:6 beside them (cpu only)
#   peers       multigrid_peers*.json: elasticity3d:26 and :54, three runs of pyamg, of multigrid by
#               one thread, and by two; PYTHON (python3) names a Python with pyamg (cpu only)
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/multigrid}
parts=("${@:3}")
case $device in
cuda) known=(cases sizes slenderness phases large) ;;
cpu) known=(cases sizes slenderness phases matrices peers) ;;
*) known=() ;;
esac
if ((${#parts[@]} == 0)); then parts=("${known[@]}"); fi
for part in "${parts[@]}"; do
    if [[ " ${known[*]} " != *" $part "* ]]; then known=(); fi
done
if ((${#known[@]} == 0)); then
    sed -n 's/^# \?//; 2,21p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

if wanted cases; then
    cases=(elasticity3d:26 elasticity3d:37 elasticity3d:54 cantilever3d:23,length=4
        cantilever3d:14,length=16 elasticity3d:37,element=tet4,jitter=0.4 elasticity2d:256
        elasticity3d:37,poisson=0.45 elasticity3d:18,stretch=1:1:10 elasticity3d:18,stretch=10:1:1
        elasticity3d:26,contrast=1e4 cantilever3d:4,length=64 diffusion3d:48,checkerboard=1e4
        poisson3d:60 poisson2d:400 plate_hole:120)
    measure multigrid_cases solve "${cases[@]}" --runs 1 --way 'fcg amg sbell:{b}' \
        'fcg amg,precision=working sbell:{b}'
fi
if wanted sizes; then
    cubes=()
    for size in 14 21 31 46 68 100 149; do
        if [[ $device == cuda ]]; then
            cubes+=("elasticity3d:$size")
        elif ((size <= 68)); then  # Three setups, as on a GPU.
            cubes+=("elasticity3d:$size" "elasticity3d:$size" "elasticity3d:$size")
        fi
    done
    diagonal='cg jacobi sbell:{b}'
    if [[ $device == cuda ]]; then diagonal='cg jacobi cusparse_csr'; fi
    measure multigrid_sizes solve "${cubes[@]}" --runs 1 --way 'fcg amg sbell:{b}' "$diagonal" \
        'cg chebyshev:6,precision=f32,values=f16 sbell:{b}'
fi
if wanted slenderness; then
    measure multigrid_slenderness solve cantilever3d:18,length=1 cantilever3d:11,length=4 \
        cantilever3d:7,length=16 cantilever3d:4,length=64 --runs 1 --way 'fcg amg sbell:{b}' \
        'fcg amg,near_null=translations sbell:{b}' 'cg block_jacobi:32 sbell:{b}' \
        'cg jacobi sbell:{b}' 'cg chebyshev:6 sbell:{b}'
fi
if wanted phases; then
    problems=(elasticity3d:26 elasticity3d:54 poisson3d:60)
    if [[ $device == cuda ]]; then
        problems=(elasticity3d:54 elasticity3d:90 elasticity3d:149 cantilever3d:36,length=16
            poisson3d:200)
    fi
    for problem in "${problems[@]}"; do  # Of three runs the one with the fastest setup.
        file=$folder/multigrid_phases_${problem//[:,=]/_}
        for run in 1 2 3; do
            CUDA_MODULE_LOADING=EAGER "$(dirname -- "$bench")/tessera" solve "$problem" \
                --precond amg --solver fcg --format sbell --device "$device" --monitor none \
                --quiet --json "$file.$run.json" </dev/null || failed+=("phases of $problem")
        done
        fastest=$(grep -H '"setup": ' "$file".?.json |
            sed 's/^\(.*\):  *"setup": \([^,]*\),$/\2 \1/' | sort -g |
            sed -n 's/^[^ ]* //; 1p') || continue
        mv "$fastest" "$file.json"
        rm -f "$file".?.json
    done
fi
if [[ $device == cuda ]] && wanted large; then
    measure multigrid_large solve elasticity3d:54 elasticity3d:90 elasticity3d:149 \
        cantilever3d:36,length=16 --runs 3 --way 'fcg amg sbell:{b}' 'cg jacobi cusparse_csr' \
        'cg chebyshev:6,precision=f32,values=f16 sbell:{b}'
    measure multigrid_large_diffusion solve poisson3d:100 poisson3d:200 poisson2d:1000 --runs 3 \
        --way 'fcg amg sell' 'cg jacobi cusparse_csr' 'cg chebyshev:6,precision=f32,values=f16 sell'
fi
if [[ $device == cpu ]] && wanted matrices; then
    names=()
    while read -r name; do names+=("$name"); done <"$here/multigrid_matrices.txt"
    measure multigrid_matrices solve "${names[@]}" --folder "$MATRICES" --runs 1 --way \
        'fcg amg csr' 'cg block_jacobi csr' 'cg least_squares:6 csr'
fi
if [[ $device == cpu ]] && wanted peers; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cubes=()
    for size in 26 54; do
        "$(dirname -- "$bench")/tessera" convert "elasticity3d:$size" "$work/a.mtx"
        pyamg=("${PYTHON:-python3}" "$here/pyamg_elasticity.py")
        "${pyamg[@]}" --cube "$size" "$work/nodes.mtx" "$work/b.mtx"
        "${pyamg[@]}" "$work"/{a,nodes,b}.mtx --name "elasticity3d:$size" --runs 3 \
            --json "$folder/multigrid_peers_pyamg_$size.json"
        for run in 1 2 3; do cubes+=("elasticity3d:$size"); done
    done
    for threads in 1 2; do
        measure "multigrid_peers_$threads" solve "${cubes[@]}" --runs 1 --threads "$threads" \
            --way 'fcg amg sbell:{b}'
    done
fi
report_failures
