#!/usr/bin/env bash
# run_on_gpu.sh [PYTEST-ARGUMENT...]: the tests on a machine with a GPU and no build tools. Beside this
# folder lies either `site`, a folder with the packages tessera and tessera_cu13, or wheels of both,
# which are unpacked there. Needs numpy, scipy, pytest and hypothesis; of CuPy, torch, JAX and Warp
# what is installed is tested. The last lines list what was skipped, by reason.
set -euo pipefail
tests=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
site=$(dirname -- "$tests")/site
cd "$(mktemp -d)"  # Where pytest and its plug-ins may write.
python=${PYTHON:-python3}
wheels=$(find "$(dirname -- "$tests")" -maxdepth 1 -name '*.whl')
if [[ -n $wheels ]]; then
    rm -rf "$site"
    while read -r wheel; do "$python" -m zipfile -e "$wheel" "$site"; done <<<"$wheels"
fi
# JAX takes most of the memory of a GPU unless it is told not to.
export XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import sys, tessera; print(sys.version); print(tessera._core_file(), tessera.devices())'
for library in numpy scipy cupy torch jax warp; do
    "$python" -c "import $library as l; print('$library', l.__version__)" 2>/dev/null || echo "no $library"
done
"$python" -m pytest -q -rfEs --no-header -p no:cacheprovider --tb=short "$tests" "$@"
