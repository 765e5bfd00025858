#!/usr/bin/env bash
# multigrid.sh [cuda|cpu] [FOLDER] [PART...]
#
# Measures solves with multigrid to a true residual of 1e-8 and writes JSON of schema tessera-bench/1
# to FOLDER (default: results/multigrid in this folder). Runs from a source tree with a build, or in
# the folder that ./check --pack makes. TESSERA_BENCH names another tessera-bench. Parts, all unless
# some are named; on an H200 in less than a minute each, on two cores in some minutes:
#   cases     multigrid_cases.json: iterations of elasticity and diffusion at sizes up to 500,000
#             unknowns, the cycle in f32 and in working precision
#   large     multigrid_large.json: setup, update and solve of large systems, with diagonal
#             conjugate gradients and polynomials beside them (cuda only)
#   matrices  multigrid_matrices.json: real matrices of MATRICES (a folder) without coordinates,
#             with block Jacobi and least_squares:6 beside them (cpu only)
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/multigrid}
parts=("${@:3}")
case $device in
cuda) known=(cases large) ;;
cpu) known=(cases matrices) ;;
*) known=() ;;
esac
if ((${#parts[@]} == 0)); then parts=("${known[@]}"); fi
for part in "${parts[@]}"; do
    if [[ " ${known[*]} " != *" $part "* ]]; then known=(); fi
done
if ((${#known[@]} == 0)); then
    sed -n 's/^# \?//; 2,15p' "${BASH_SOURCE[0]}" >&2
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
report_failures
