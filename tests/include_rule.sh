#!/usr/bin/env bash
# include_rule.sh SOURCE-TREE | --self-test
#
# Checks who may include whom (ARCHITECTURE.md). Prints "file:line: the include, and the rule".
#   layers     include/tessera <- src/base <- src/simd, src/gpu <- src/io, src/sparse/*,
#              src/batched/*, src/problems <- src/distributed <- src/precond/* <- src/krylov
#   folders    an operation's folder, with its subfolders, is private: another operation calls its
#              public function, and shares tiles through src/simd and src/gpu; files at the root of a
#              family are open to its operations; a registry includes the config.hpp of its family
#   CUDA       headers of the toolkit only in .cu, src/gpu and src/base/*cuda*; no cuBLAS or
#              cuSPARSE inside the library
#   public     headers include the standard library and each other
#   apps       include the public headers, their own folder, the standard library, CLI11 and
#              nlohmann/json; the benchmarks also the peers they compare with
#   python     the extension includes the public headers, its own folder, the standard library and
#              nanobind
# Tests may include everything.
set -euo pipefail
export LC_ALL=C
rule=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/include_rule.awk

check_tree() {
    local tree=$1
    (cd "$tree" && find include src apps python/src -type f ! -name '*_test.[ch]pp' ! -name 'test_*.hpp' \
        \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) |
        sort | xargs awk -f "$rule")
}

# Plants one violation of each kind in a copy and expects exactly these to be found.
self_test() {
    local expected=0 found file text
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir -p "$scratch"/{include/tessera,src/{base,simd,gpu/tiles,io,krylov},apps/tessera,python/src}
    mkdir -p "$scratch"/src/{sparse/{csr,find_blocks},precond/jacobi,batched/invert}
    allowed() { printf '#include %s\n' "$2" >>"$scratch/$1"; }
    allowed include/tessera/csr.hpp '"tessera/context.hpp"'
    allowed src/base/runtime_cuda.hpp '<cuda_runtime.h>'
    allowed src/gpu/tiles/row.cuh '<cuda_runtime.h>'
    allowed src/sparse/csr/csr.cpp '"base/parallel.hpp"'
    allowed src/sparse/csr/csr.cpp '"sparse/csr/kernels.hpp"'
    allowed src/sparse/csr/csr_cuda.cu '"gpu/tiles/row.cuh"'
    allowed src/sparse/csr/csr_cuda.cu '<cub/cub.cuh>'
    allowed src/precond/jacobi/jacobi.cpp '"tessera/precond.hpp"'
    allowed src/krylov/cg_test.cpp '"sparse/csr/kernels.hpp"'
    allowed src/batched/invert/invert.cpp '"batched/checks.hpp"'
    allowed apps/tessera/main.cpp '<CLI/CLI.hpp>'
    allowed apps/tessera/main.cpp '"tessera/tessera.hpp"'
    allowed apps/tessera/compare.cpp '<nlohmann/json.hpp>'
    allowed python/src/module.cpp '<nanobind/nanobind.h>'
    allowed python/src/module.cpp '"tessera/tessera.hpp"'
    found=$(check_tree "$scratch")
    if [[ -n $found ]]; then
        printf 'the rule rejects what is allowed:\n%s\n' "$found"
        return 1
    fi
    while read -r file text; do
        printf '#include %s\n' "$text" >"$scratch/$file"
        expected=$((expected + 1))
        found=$(check_tree "$scratch" | cut -d: -f1 | sort -u | wc -l)
        if ((found != expected)); then
            echo "the rule does not catch #include $text in $file"
            return 1
        fi
    done <<'TEXT'
src/base/context.cpp "sparse/csr/kernels.hpp"
src/base/number.cpp "tessera/csr.hpp"
src/base/spec.cpp <cuda_runtime.h>
src/simd/dispatch.hpp "gpu/launch.cuh"
src/sparse/csr/other.cpp "sparse/find_blocks/kernels.hpp"
src/sparse/csr/more.cpp <cuda_runtime.h>
src/sparse/find_blocks/find.cpp "tessera/krylov.hpp"
src/sparse/find_blocks/a.cu <cublas_v2.h>
src/sparse/find_blocks/b.cpp "kernels.hpp"
src/batched/invert/other.cpp "precond/jacobi/kernels.hpp"
src/sparse/csr/checked.cpp "batched/checks.hpp"
src/precond/jacobi/other.cpp "batched/invert/kernels.hpp"
src/precond/jacobi/more.cpp "batched/invert/test_invert_reference.hpp"
src/precond/jacobi/solve.cpp "krylov/driver.hpp"
src/krylov/cg.cpp "sparse/csr/kernels.hpp"
src/krylov/idr.cpp <CLI/CLI.hpp>
apps/tessera/one.cpp "base/parallel.hpp"
src/io/report.cpp <nlohmann/json.hpp>
python/src/core.cpp "base/parallel.hpp"
python/src/gpu.cpp <cuda_runtime.h>
include/tessera/io.hpp <omp.h>
TEXT
    printf '#include "base/parallel.hpp"\n' >"$scratch/include/tessera/csr.hpp"
    printf '#include "tessera/krylov.hpp"\n' >"$scratch/include/tessera/operator.hpp"
    found=$(check_tree "$scratch" | grep -c -E 'tessera/(csr|operator).hpp:1: ') || true
    if ((found != 2)); then
        echo "the rule does not catch public headers that include others"
        return 1
    fi
    echo "the rule catches all $((expected + 2)) planted includes and allows what it should"
}

if [[ $1 == --self-test ]]; then
    self_test
    exit
fi
found=$(check_tree "$1")
if [[ -n $found ]]; then
    printf '%s\n' "$found"
    exit 1
fi
echo "every include follows the rule"
