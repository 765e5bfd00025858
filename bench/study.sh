#!/usr/bin/env bash
# study.sh [cuda|cpu] [FOLDER [MATRICES [NAME...]]]
#
# Counts cycles of IDR(4) to a relative residual of 1e-9 with scalar Jacobi and with blocks of up to
# 8 to 32 rows, stored in the working and in adaptive precision, for the matrices that
# study_matrices.txt names, with five shadow seeds, preconditioned from the right; the matrices of
# the paper's table from the left, too. Writes study.json of schema tessera-bench/1 to FOLDER
# (default: results/study in this folder), and continues an existing one; on an H200 in
# a quarter of an hour, with one thread of a CPU in half an hour. MATRICES: the folder with the
# files. With names, only those matrices are solved.
# A solve takes at most TESSERA_BENCH_LIMIT seconds (3). TESSERA_BENCH names another tessera-bench.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/study}
matrices=${3:-${TESSERA_TEST_MATRICES:-$here/matrices}}
only=("${@:4}")
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,11p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
wanted() { ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $1 "* ]]; }
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"
for name in "${only[@]}"; do
    if ! awk -v name="$name" -v device="$device" \
        '$1 == name && index($0 " ", " " device " ") { found = 1 } END { exit !found }' \
        "$here/study_matrices.txt"; then
        echo "study.sh: study_matrices.txt has no $name for $device" >&2
        exit 2
    fi
done

names=()
while read -r name devices; do
    if [[ $name == \#* || " $devices " != *" $device "* ]] || ! wanted "$name"; then continue; fi
    if [[ $name != *:* ]]; then
        name+=.mtx.gz
        if [[ ! -f $matrices/$name ]]; then
            echo "study.sh: $name is left out: it is not in $matrices" >&2
            continue
        fi
    fi
    names+=("$name")
done <"$here/study_matrices.txt"
if ((${#names[@]} == 0)); then
    echo "study.sh: no matrix was found; name the folder that has them" >&2
    exit 2
fi
paper=()
for name in bcsstk18 bcsstk38 s3rmt3m3 saylr4 dw2048 dw8192; do
    if wanted "$name" && [[ -f $matrices/$name.mtx.gz ]]; then paper+=("$name.mtx.gz"); fi
done

# count SIDE ARGUMENT...
count() {
    "$bench" table1 "${@:2}" --sides "$1" --max-seconds "${TESSERA_BENCH_LIMIT:-3}" \
        --device "$device" --threads 1 --folder "$matrices" --json "$folder/study.json" --resume \
        </dev/null
}
count right "${names[@]}" --precisions working,adaptive
if [[ $device == cuda ]] && ((${#paper[@]})); then count left "${paper[@]}" --seeds 1; fi
