#!/usr/bin/env bash
# with_documents.sh BUILD NAME PYTHON COMMAND...: runs `PYTHON COMMAND...` with the Python package
# built in BUILD, if TESSERA_FULL=1 and there is that interpreter, which has scikit-fem, nbclient and
# Sphinx. NAME is that of the test.
set -euo pipefail
build=$1 name=$2 python=$3
shift 3
if [[ ${TESSERA_FULL:-0} != 1 ]]; then
    echo "SKIPPED $name: TESSERA_FULL=1 runs it: notebooks and reference of the Python package"
    exit 77
fi
if [[ ! -x $python ]]; then
    echo "SKIPPED $name: the Python package is not built, or scikit-fem, nbclient and Sphinx could" \
        "not be installed (build/python/install.log)"
    exit 77
fi
cd "$build/python"  # Where they may write.
PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 exec "$python" "$@"
