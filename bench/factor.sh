#!/usr/bin/env bash
# factor.sh [cuda|cpu] [FOLDER]
#
# Measures the batched factorisations and writes factor.json of schema tessera-bench/1 to FOLDER
# (default: results/factor in this folder). TESSERA_BENCH names another tessera-bench. cuBLAS and
# cuSOLVER are loaded from LD_LIBRARY_PATH or /usr/local/cuda. On the CPU: one thread, OpenBLAS.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/factor}
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,6p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"
if [[ $device == cpu ]]; then
    exec "$bench" factor --device cpu --threads 1 --type f32,f64 --sizes 4,8,16,24,32 \
        --batch 10000 --peers --json "$folder/factor.json"
fi
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
exec "$bench" factor --device cuda --type f32,f64 --sizes 4,8,16,32 --batch 10000,500000 \
    --workspace fastest,registers,shared_memory --solve 1,16 --peers --seconds 0.02 \
    --json "$folder/factor.json"
