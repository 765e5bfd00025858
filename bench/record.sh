#!/usr/bin/env bash
# bench/record.sh: records the outputs of ./tessera that README.md and docs/guide show, with their JSON,
# in bench/results/cpu; of five runs the fastest; bench/readme.py then writes them to the documents.
set -euo pipefail
root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
results=$root/bench/results/cpu
export TESSERA_CUDA=OFF
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# record NAME ARGUMENT...: ./tessera solve ARGUMENT..., on two threads.
record() {
    local name=$1 best=inf seconds
    shift
    for _ in 1 2 3 4 5; do
        "$root/tessera" solve "$@" --threads 2 --monitor none --json run.json >run.txt 2>messages.txt
        seconds=$(python3 -c 'import json; s = json.load(open("run.json"))["seconds"]; print(s["setup"] + s["solve"])')
        if [[ $(python3 -c "print($seconds < float('$best'))") == True ]]; then
            best=$seconds
            cp run.txt "$results/$name.txt"
            cp run.json "$results/$name.json"
        fi
    done
}

record elasticity3d_32 elasticity3d:32
"$root/tessera" convert plate_hole:60 plate.mtx 2>messages.txt
record plate_mtx plate.mtx
"$root/tessera" info plate.mtx >"$results/plate_info.txt"
cp "$root/tests/meshes/plate_41.msh" .
record plate_msh plate_41.msh --fix left --load curve6=0,-1
