#!/usr/bin/env bash
# run.sh NAME FOLDER BUILD-FOLDER PETSC-INCLUDE-FOLDERS
#
# Runs the test test_NAME of numbers.sh, multigrid.sh, faults.sh or surroundings.sh with the library and the programs
# in FOLDER; tests.cmake makes a ctest entry of each. A command that hangs is ended, and the test fails.
set -euo pipefail
# shellcheck disable=SC2034 # used by the parts
name=$1 folder=$2 build=$3 includes=${4:-}
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
library=$folder/libpetsctessera.so
# As root, and with more ranks than cores; ranks of one core yield to each other.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
scratch=$(mktemp -d)
# Open MPI removes the folder that it shares with other runs while one of them may be starting.
export OMPI_MCA_orte_tmpdir_base=$scratch
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}
skip() {
    echo "SKIPPED petsc.$name: $*"
    exit 77
}

# ranks N PROGRAM ARGUMENT...: its output; the test fails if it does.
ranks() {
    local number=$1 program=$2
    shift 2
    timeout 60 mpirun --bind-to none -n "$number" "$program" -dll_append "$library" "$@" \
        >"$scratch/out" 2>&1 || {
        cut -c1-300 "$scratch/out" | grep -v 'Configure options' | head -40 >&2
        fail "failed on $number ranks: $program $*"
    }
    cat "$scratch/out"
}
elast() { ranks "$1" "$folder/elast" "${@:2}"; }
# One case of cases.c, which ends with "passed".
run_case() {
    ranks "$1" "$folder/cases" -case "${@:2}" >"$scratch/case"
    grep -qx passed "$scratch/case" || fail "the case ${*:2} did not pass on $1 ranks"
}
# expect_error N TEXT ARGUMENT...: cases fails at once, and says TEXT.
expect_error() {
    local number=$1 text=$2 status=0
    shift 2
    timeout 60 mpirun --bind-to none -n "$number" "$folder/cases" -dll_append "$library" \
        -case "$@" >"$scratch/out" 2>&1 || status=$?
    ((status != 0)) || fail "no error: $*"
    ((status != 124)) || fail "hangs: $*"
    grep -qF -- "$text" "$scratch/out" || {
        cut -c1-300 "$scratch/out" | head -20 >&2
        fail "the message of $* lacks '$text'"
    }
}
# Field FIELD of the last result line of elast.
result() { awk -v name="$1" '/^ranks/ { for (i = 1; i < NF; ++i) if ($i == name) value = $(i + 1) } END { print value }'; }
within_one() { (($1 - $2 <= 1 && $2 - $1 <= 1)); }

for file in numbers multigrid faults surroundings; do
    # shellcheck source=/dev/null
    source "$here/$file.sh"
done
"test_$name"
