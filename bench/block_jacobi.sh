#!/usr/bin/env bash
# block_jacobi.sh [cuda|cpu] [FOLDER [MATRICES]]
#
# Measures finding blocks, setup and application of block Jacobi and writes JSON of schema
# tessera-bench/1 to FOLDER (default: results/block_jacobi in this folder); on an H200 in less
# than 4 minutes. Runs from a source tree with a build, or in the folder that ./check --pack makes.
# MATRICES: a folder with real matrices. TESSERA_BENCH names another tessera-bench.
#   block_jacobi.json             generated systems, bounds 4..32, both types
#   block_jacobi_dense_N.json     50,000 dense blocks of 4..32 rows, precisions, 1 and 16 vectors
#   block_jacobi_wide.json        blocks of 33..64 rows: elasticity, 1.2 million rows of dense ones
#   block_jacobi_patterns.json    arrow, tridiagonal, random blocks, Laplace; blocks of 1..32 rows;
#                                 every extraction of the paper
#   block_jacobi_real.json        real matrices, every extraction of the paper
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/block_jacobi}
matrices=${3:-${TESSERA_TEST_MATRICES:-$here/matrices}}
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,15p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"

if [[ $device == cpu ]]; then
    measure block_jacobi block_jacobi elasticity3d:24 --bounds 4,8,16,32 \
        --precisions working,adaptive
else
    every=(--extractions "cached,shared_full,shared,shared_multiple")
    measure block_jacobi block_jacobi elasticity3d:90 elasticity3d:54,free \
        --bounds 4,8,12,16,20,24,28,32 --type f64,f32 --precisions working,adaptive --paper --seconds 0.03
    for n in 4 8 12 16 24 32; do
        measure "block_jacobi_dense_$n" block_jacobi "block_diagonal:$((50000 * n)),$n" \
            --bounds "$n" --type f64,f32 --precisions working,adaptive,f16 --vectors 1,16 --seconds 0.03
    done
    measure block_jacobi_wide block_jacobi elasticity3d:54,free "block_diagonal:1200000,{n}" \
        --bounds 40,48,64 --type f64,f32 --precisions working,adaptive --vectors 1,16 --seconds 0.03
    measure block_jacobi_patterns block_jacobi arrow:1000000 tridiagonal:1000000 \
        "block_diagonal:1000000,{n}" poisson2d:1000 --uniform --bounds "$(seq -s, 1 32)" "${every[@]}" --sparse --seconds 0.005
    if compgen -G "$matrices/*.mtx.gz" >/dev/null; then
        mapfile -t real < <(cd "$matrices" && ls ./*.mtx.gz | sed 's|^\./||')
        measure block_jacobi_real block_jacobi "${real[@]}" --folder "$matrices" \
            --bounds 4,8,12,16,24,32 "${every[@]}" --seconds 0.005
    fi
fi
report_failures
