#!/usr/bin/env bash
# elasticity.sh [cuda|cpu] [FOLDER]
#
# Measures products in every format and solves of finite-element elasticity, and writes JSON of
# schema tessera-bench/1 to FOLDER (default: results/elasticity beside this file); on an H200 in
# less than 3 minutes. Runs from a source tree with a build, or in the folder that ./check --pack
# makes. TESSERA_BENCH names another tessera-bench.
#   spmv_elasticity.json   products: the four elements at the sizes of the paper and at 4 to 5 times
#                          the quadrilaterals' and hexahedra's nonzeros; cuSPARSE beside them
#   solve_elasticity.json  conjugate gradients with polynomials in each precision, and refinement, to
#                          a true residual of 1e-8; diagonal conjugate gradients on cuSPARSE
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
device=${1:-cuda}
folder=${2:-$here/results/elasticity}
if [[ $device != cuda && $device != cpu ]]; then
    sed -n 's/^# \?//; 2,13p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
bench=${TESSERA_BENCH:-$here/bin/tessera-bench}
if [[ ! -x $bench ]]; then bench=$here/../build/release/bin/tessera-bench; fi
if [[ ! -x $bench ]]; then
    echo "elasticity.sh: there is no $bench; build the target tessera_bench" >&2
    exit 2
fi
mkdir -p "$folder"
if ldd "$bench" | grep -q 'libgomp.*not found'; then
    export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# measure NAME SUBCOMMAND ARGUMENT...: goes on after a failure; the last line tells.
failed=()
measure() {
    local name=$1 start=$SECONDS status=0
    shift
    "$bench" "$@" --device "$device" --json "$folder/$name.json" </dev/null || status=$?
    echo "$name: $((SECONDS - start)) s, exit status $status"
    if ((status != 0)); then failed+=("$name"); fi
}

formats=(csr,lanes=1 csr,lanes=16 csr,lanes=32 ell ellr sell:32 sell:64 sell:96 sell:32,threads=32
    'bell:{b}' 'bcsr:{b}' 'sbell:{b},threads=32' 'sbell:{b},slice=64,threads=64'
    'sbell:{b},slice=96,threads=96' 'sbell:{b}' 'sbell:{b},values=f32' 'sbell:{b},values=f16'
    'sbell:{b},values=bf16')
ways=('cg jacobi csr' 'cg jacobi sbell:{b}')
for kind in neumann least_squares chebyshev chebyshev4 chebyshev4_optimal; do
    ways+=("cg $kind:6 sbell:{b}" "cg $kind:6,values=f32 sbell:{b}" "cg $kind:6,values=f16 sbell:{b}"
        "cg $kind:6,precision=f32 sbell:{b}" "cg $kind:6,precision=f32,values=f16 sbell:{b}")
done
for degree in 2 4 8 10 12; do
    ways+=("cg least_squares:$degree,precision=f32,values=f16 sbell:{b}"
        "cg chebyshev:$degree,precision=f32,values=f16 sbell:{b}")
done
ways+=('cg least_squares:6 csr' 'cg block_jacobi:3 sbell:{b}' 'refinement jacobi sbell:{b}'
    'refinement chebyshev:6,values=f16 sbell:{b}' 'refinement least_squares:6 sbell:{b}')
if [[ $device == cpu ]]; then
    measure spmv_elasticity spmv elasticity2d:200,free elasticity3d:24,free --type f64,f32 \
        --format csr,lanes=1 ellr sell:32 'bcsr:{b}' 'sbell:{b}' --seconds 0.05
    measure solve_elasticity solve elasticity2d:100 elasticity3d:16 --runs 1 \
        --way "${ways[@]}"
else
    measure spmv_elasticity spmv elasticity2d:727,element=t3,jitter=0.4,free elasticity2d:400,free \
        elasticity3d:58,element=tet4,jitter=0.4,free elasticity3d:54,free elasticity2d:1600,free \
        elasticity3d:90,free --type f64,f32 --peers --format "${formats[@]}" --seconds 0.01
    measure solve_elasticity solve elasticity2d:400 elasticity3d:54 elasticity3d:90 --runs 1 \
        --way 'cg jacobi cusparse_csr' "${ways[@]}"
fi
if ((${#failed[@]})); then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
echo "all measured in $SECONDS s; results are in $folder"
