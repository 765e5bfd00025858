#!/usr/bin/env bash
# run.sh BUILD-FOLDER CMAKE GENERATOR COMPILER
#
# Installs the build into a fresh prefix, moves the prefix, and builds and runs the program beside
# this file with it, and the examples in C and Fortran: through find_package and through pkg-config.
# Every installed header must compile alone, without warnings.
set -euo pipefail
build=$1 cmake=$2 generator=$3 compiler=$4
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
examples=$here/../../examples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs quietly; shows what was said on failure.
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }; }

quietly "$cmake" --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
"$prefix/bin/tessera" --version

(cd "$prefix/include" && find tessera -name '*.hpp' -print0 |
    xargs -0 -P 2 -I '{}' "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I . \
        -include '{}' -x c++ /dev/null)
cc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$prefix/include/tessera/tessera.h"
echo "every installed header compiles alone"

quietly "$cmake" -S "$here" -B "$scratch/build" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLES="$examples"
quietly "$cmake" --build "$scratch/build"
echo "find_package:"
"$scratch/build/outside"
"$scratch/build/outside_c"

quietly "$cmake" --install "$build" --prefix "$scratch/cpp" --component cpp
[[ ! -e $scratch/cpp/bin && -z $(find "$scratch/cpp" -name '*tessera_c*') ]]
quietly "$cmake" -S "$here" -B "$scratch/build_cpp" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$scratch/cpp"
quietly "$cmake" --build "$scratch/build_cpp"
echo "find_package, the component cpp alone:"
"$scratch/build_cpp/outside"

if ! command -v pkg-config >/dev/null; then
    echo "SKIPPED install.pkg_config: pkg-config was not found"
    exit 0
fi
folder=$(dirname "$(find "$prefix" -name tessera.pc)")
flags=$(PKG_CONFIG_PATH=$folder pkg-config --static --cflags --libs tessera)
# shellcheck disable=SC2086 # the flags are words
quietly "$compiler" -std=c++20 "$here/main.cpp" -o "$scratch/outside" $flags
echo "pkg-config:"
"$scratch/outside"

export PKG_CONFIG_PATH=$folder LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tessera_c)
flags=$(pkg-config --cflags --libs tessera_c)
# shellcheck disable=SC2086
quietly cc -std=c11 "$examples/solve.c" -o "$scratch/solve_c" $flags
echo "C by pkg-config:"
"$scratch/solve_c"
if ! command -v gfortran >/dev/null; then
    echo "SKIPPED install.fortran: gfortran was not found"
    exit 0
fi
echo "Fortran by pkg-config:"
for program in "$examples/solve.f90" "$here/null_space.f90"; do
    # shellcheck disable=SC2086
    (cd "$scratch" && quietly gfortran -std=f2008 -Wall -Werror \
        "$(pkg-config --variable=fortran_module tessera_c)" "$program" -o fortran_program $flags)
    "$scratch/fortran_program"
done
