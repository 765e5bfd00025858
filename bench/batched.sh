#!/usr/bin/env bash
# batched.sh [cuda|cpu] [FOLDER]
#
# Measures the batched operations and writes JSON of schema tessera-bench/1 to FOLDER (default:
# results/batched in this folder); on an H200 in less than 8 minutes. Runs from a source tree
# with a build, or in the folder that ./check --pack makes. TESSERA_BENCH names another
# tessera-bench. cuBLAS is loaded from LD_LIBRARY_PATH, or from a Python package.
#   batched.json           n = 1..32, 500,000 matrices, all operations; sizes drawn from 1..32
#   batched_30000.json     n = 1..32, 30,000 matrices
#   batched_counts.json    n = 16 and 32, 1,000 to 50,000 matrices
#   batched_mix_SIZES.json other mixes of sizes
#   batched_layouts.json   padded matrices, arrays of addresses
#   batched_large.json     n = 33..128, 10,000 matrices
#   batched_solve.json, batched_solve_large.json  solves of one vector, n = 4..32, 33..128
#   batched_many.json      norms and products, n = 4..12, 5,000,000 matrices
#   batched_accuracy.json  errors of condition numbers; registers of the papers' kernels
# On the CPU only batched.json: fewer sizes and matrices, one thread, OpenBLAS and Eigen.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/batched}
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,16p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"

# Folders in which Python packages (torch, cupy) and toolkits keep cuBLAS.
cublas_folders() {
    python3 - <<'PYTHON' 2>/dev/null || true
import glob, site, sys
roots = site.getsitepackages() + [site.getusersitepackages()] + sys.path
names = ("nvidia/*/lib/libcublas.so*", "torch/lib/libcublas.so*", "cupy/.data/lib/libcublas.so*")
found = {p.rsplit("/", 1)[0] for r in roots if r for n in names for p in glob.glob(r + "/" + n)}
print(":".join(sorted(found)), end="")
PYTHON
    printf ':%s' /usr/local/cuda/lib64
}
if [[ $device == cuda ]]; then
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(cublas_folders)
    export LD_LIBRARY_PATH
fi

if [[ $device == cpu ]]; then
    measure batched batched --op invert,condition,norm,multiply --type f32,f64 \
        --sizes 4,8,12,16,24,32 --batch 10000 --layout uniform,variable --threads 1 --peers
else
    both=(batched --type "f32,f64")
    measure batched "${both[@]}" --op invert,condition,norm,norm_one,multiply --sizes 1-32 \
        --batch 500000 --layout uniform,variable --peers --seconds 0.05
    measure batched_30000 "${both[@]}" --op invert,condition,norm --sizes 1-32 --batch 30000 \
        --peers --seconds 0.03
    measure batched_counts "${both[@]}" --op invert,condition,norm --sizes 16,32 \
        --batch 1000,2000,5000,10000,20000,30000,40000,50000 --peers --seconds 0.03
    for mix in 1-8 1-16 17-32 4,32; do
        measure "batched_mix_$mix" "${both[@]}" --op invert,multiply --sizes "$mix" \
            --batch 500000 --layout variable --seconds 0.03
    done
    measure batched_layouts "${both[@]}" --op invert,multiply --sizes 4,8,15,16,31,32 \
        --batch 500000 --layout strided,pointers --peers --seconds 0.05
    measure batched_large "${both[@]}" --op invert --sizes 33,40,48,63,64,80,96,112,128 \
        --batch 10000 --peers --seconds 0.03
    measure batched_solve "${both[@]}" --op solve --sizes 4,8,12,16,24,32 --batch 500000 --peers \
        --seconds 0.03
    measure batched_solve_large "${both[@]}" --op solve --sizes 33,40,48,56,64,80,96,112,128 \
        --batch 10000 --peers --seconds 0.03
    measure batched_many "${both[@]}" --op norm,multiply --sizes 4-12 --batch 5000000 --seconds 0.03
    measure batched_accuracy "${both[@]}" --op accuracy,registers --sizes 1-32
fi
report_failures
