#!/usr/bin/env bash
# run.sh BUILD NAME PYTHON: the tests of the Python package built in BUILD, by an interpreter that has
# pytest; what it lacks is listed as skipped. NAME is that of the test.
set -euo pipefail
build=$1 name=$2 python=${3:-}
tests=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
if [[ ! -x $python ]]; then
    echo "SKIPPED $name: the Python package is not built, as nanobind, or the newest SciPy, could" \
        "not be installed (build/python/install.log)"
    exit 77
fi
log=$(mktemp)
cd "$build/python"  # Where pytest and its plug-ins may write.
trap 'rm -f "$log"' EXIT
status=0
PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -rs --no-header \
    -p no:cacheprovider "$tests" >"$log" 2>&1 || status=$?
# A line for each reason, in the form of ./check.
sed -n 's/^SKIPPED \[[0-9]*\] [^ ]*: \(.*\)/\1/p' "$log" | sort -u | while IFS= read -r reason; do
    case $reason in
        *-cpu:* | *-cuda:*) echo "SKIPPED ${reason%%:*}: ${reason#*: }" ;;
        *) echo "SKIPPED pytest: $reason" ;;
    esac
done
grep -v '^SKIPPED' "$log"
exit "$status"
