#!/usr/bin/env bash
# block_ldlt.sh [cuda|cpu] [FOLDER [PART...]]
#
# Measures the block LDL^T preconditioner and writes one JSON file of schema tessera-bench/1 a part
# to FOLDER (default: results/block_ldlt in this folder). TESSERA_BENCH names another
# tessera-bench, TESSERA_TEST_MATRICES a folder with real matrices. A row that takes longer than
# TESSERA_BENCH_LIMIT seconds (60) is cut, and said to be; files grow row by row. Parts (without any:
# all that a few minutes on the CPU, and one on a GPU, are enough for):
#   fig3    n = 20,000: dominance of the diagonal blocks, and the exact reconstruction error over
#           epsilon, block size, pivoting and sweeps, by sweeps and level by level, ordered by AMD
#           (cpu)
#   table1  n = 20,000 and 200,000: GMRES(25) with fill 0, then 1, by sweeps and level by level,
#           compared with no preconditioner, block Jacobi and, on the CPU, MUMPS; with 200,000 rows on a
#           GPU without those that the safeguard leaves alone
#   time    n = 200,000: numeric factorisation and application, by sweeps and level by level
#   fills   n = 20,000: the smallest fill that reaches 1e-8 where fill 1 does not (cpu)
#   real    every symmetric indefinite matrix of the folder (cpu)
#   sizes   1,000,000 rows: setup, update and application
#   nonsymmetric  every nonsymmetric matrix of the folder: GMRES(50) with `ilu:8,fill=1`, what matching,
#           inner and outer pivoting and dual lists are worth (cpu); PYTHON has the package
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/block_ldlt}
matrices=${TESSERA_TEST_MATRICES:-$here/matrices}
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,20p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
parts=("${@:3}")
if ((${#parts[@]} == 0)); then
    parts=(sizes table1 time)
    if [[ $device == cpu ]]; then parts=(fig3 table1 time real); fi
fi
# shellcheck source=find_bench.sh
source "$here/find_bench.sh"

# Every generator for indefinite systems (shell and circuit are definite: G3_circuit, af_shell7).
easy20=(kkt:13333 "kkt:13333,spread=1" qpband:15000 bordered:20000 "stokes:82,beta=1" shell:141 circuit:141)
hard20=(stokes:82 darcy:82 helmholtz:141 schroedinger:27 "shell:141,shift=0.8")
easy200=(kkt:133333 "kkt:133333,spread=1" qpband:150000 bordered:200000 "stokes:258,beta=1" shell:447 circuit:447)
hard200=(stokes:258 darcy:258 helmholtz:447 schroedinger:58 "shell:447,shift=0.8")
peers=(--way none --way "block_jacobi:32,singular=identity")

# record NAME ARGUMENT...: writes block_ldlt_NAME.json, row by row.
record() {
    rm -f "$folder/block_ldlt_$1.json"
    measure "block_ldlt_$1" block_ldlt --resume --limit "${TESSERA_BENCH_LIMIT:-60}" "${@:2}"
}

measure_fig3() {
    local -a ways=()
    local value outer method
    local -r options=safeguard=off,ordering=amd
    local -r base=block_ldlt:8,$options
    for value in 0.1 0.01 0.001 0.0001; do
        for method in jacobi level; do ways+=(--way "$base,method=$method,epsilon=$value"); done
    done
    for value in 1 4 16 32; do
        for method in jacobi level; do
            ways+=(--way "block_ldlt:$value,$options,method=$method,epsilon=0.1")
        done
    done
    for value in static bunch_kaufman rook complete; do
        for outer in off on; do
            ways+=(--way "$base,epsilon=0.1,pivoting=$value,outer=$outer")
        done
    done
    for value in 1 2 3 4 5 6 12 16; do ways+=(--way "$base,epsilon=0.1,sweeps=$value"); done
    record fig3 "${easy20[@]}" "${hard20[@]}" --dominance 8 --measure reconstruction \
        "${ways[@]}"
}

measure_time() {
    record time "${easy200[@]}" --measure setup,apply \
        --way block_ldlt:8,safeguard=off --way block_ldlt:8,safeguard=off,method=level
}

measure_table1() {
    local -a own=(--way "block_ldlt:8,fill={fill}" --way "block_ldlt:8,method=level,fill={fill}")
    local -a direct=()
    if [[ $device == cpu ]]; then direct=(--way mumps); fi
    record table1_20000 "${easy20[@]}" "${hard20[@]}" "${peers[@]}" "${own[@]}" \
        "${direct[@]}" --seconds 0 --measure setup,apply,solve
    record table1_matching kkt:13333 kkt:13333,spread=1 --seconds 0 \
        --way block_ldlt:8,matching=off
    local -a large=("${easy200[@]}")
    if [[ $device == cpu ]]; then large+=("${hard200[@]}"); fi
    record table1_200000 "${large[@]}" "${peers[@]}" "${own[@]}" "${direct[@]}" --seconds 0 \
        --measure setup,apply,solve
}

measure_fills() {
    record fills "${hard20[@]}" --max-fill 40 --seconds 0 \
        --way "block_ldlt:8,method=level,fill={fill}"
}

# Symmetric and not positive definite, by the list in their folder, small files first.
measure_real() {
    local -a names=()
    if [[ -f $matrices/MANIFEST.csv ]]; then
        mapfile -t names < <(python3 - "$matrices" <<'PYTHON'
import csv, pathlib, sys

folder = pathlib.Path(sys.argv[1])
names = []
for row in csv.DictReader((folder / "MANIFEST.csv").open()):
    if row["symmetry"] == "symmetric" and row["posdef"] == "no" and row["field"] != "complex":
        names.append(folder / f"{row['name']}.mtx.gz")
for path in sorted((path for path in names if path.exists()), key=lambda path: path.stat().st_size):
    print(path.name)
PYTHON
        )
    fi
    if ((${#names[@]} == 0)); then
        echo "real: left out, $matrices holds no MANIFEST.csv or none of its matrices"
        return
    fi
    local -a direct=()
    if [[ $device == cpu ]]; then direct=(--way mumps); fi
    record real "${names[@]}" --folder "$matrices" "${peers[@]}" \
        --way "block_ldlt:8,fill={fill}" --way "block_ldlt:8,method=level,fill={fill}" "${direct[@]}" --seconds 0
}

measure_sizes() {
    record sizes kkt:666667 --measure setup,apply,solve --way block_ldlt:8 --seconds 0.05
}

measure_nonsymmetric() {
    local -a ways=()
    local text
    for text in ilu:{1,4,16},fill=1 ilu:8,fill=1,pivoting=partial \
        ilu:8,fill=1{,",matching=on",",matching=off"}{,",pivoting=static"}{,",outer=on"}; do
        ways+=(--precond "$text")
    done
    python3 "$here/nonsymmetric.py" --run "$folder/block_ldlt_nonsymmetric.json" "${ways[@]}" \
        --solver gmres:50 --only real --threads 1 --device "$device" --matrices "$matrices"
    "${PYTHON:-python3}" "$here/dual_lists.py" "$folder/block_ldlt_dual_lists.json" --matrices "$matrices"
}

for part in "${parts[@]}"; do
    if ! declare -F "measure_$part" >/dev/null; then
        echo "block_ldlt.sh: there is no part $part" >&2
        exit 2
    fi
    "measure_$part"
done
report_failures
