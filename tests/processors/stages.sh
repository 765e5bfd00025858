# shellcheck shell=bash
# Stages of ./check, to be sourced by it: Tessera for another processor, and by another compiler,
# compared with build/release. A stage that lacks packages returns 77.
: "${root:?}" "${folder:?}" "${cuda:?}"

# skip STAGE REASON
skip() {
    unlock
    say "SKIPPED $1: $2"
    return 77
}

# compare_builds NAME ARGUMENT...: small systems, solved by the program of build/release and another.
compare_builds() {
    say "solving with build/release and $1"
    shift
    "$root/build/python/system/bin/python" "$root/tests/processors/solves.py" "$@"
}

# build_reference: the program of build/release, and a Python that has SciPy.
build_reference() {
    python_environments
    build "$folder" tessera_cli -- --preset release "-DTESSERA_CUDA=$cuda"
}

# unpack_arm64 FOLDER LOG: the libraries of packages.txt, for arm64, in FOLDER. The lists and the
# state of apt are in a folder of their own, so that the system gets no packages of arm64.
unpack_arm64() {
    local into=$1 log=$2 apt=$1/apt package
    local -a names get
    mapfile -t names < <(list_packages | grep -e '-dev$' && echo libgtest-dev)
    if [[ -f $into/unpacked && $(<"$into/unpacked") == "${names[*]}" ]]; then return 0; fi
    rm -rf "$into"
    mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial
    : >"$apt/status"
    get=(apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
        -o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache")
    logged "$log" "reading lists of packages of arm64" "${get[@]}" update || return 1
    (cd "$apt" && logged "$log" "downloading packages of arm64" "${get[@]}" download "${names[@]}") ||
        return 1
    for package in "$apt"/*.deb; do
        logged "$log" "unpacking packages of arm64" dpkg-deb -x "$package" "$into" || return 1
    done
    rm -rf "$apt"
    echo "${names[*]}" >"$into/unpacked"
}

# Tests of what differs between processors: vector kernels, the control of floating point, and the
# characters of files (char has no sign on AArch64). Left out are those that take minutes under qemu,
# and those that start programs or fork, which qemu cannot.
processor_tests='^(floating_point|vector_ops|spmv_csr|spmv_sliced|products|bsr|store_blocks'
processor_tests+='|stored_blocks|block_jacobi|block_formats|adaptive_precision|invert|ldu|llt|norm'
processor_tests+='|solve|numeric_factor|direct|matrix_market|harwell_boeing|petsc_binary|gmsh|io|spec'
processor_tests+='|converged)\.cpu$'

run_aarch64() {
    local into=$root/build/aarch64 libraries=$root/build/aarch64/sysroot log=$root/build/aarch64.log
    local name
    lock
    : >"$log"
    install_packages check aarch64 || { skip aarch64 "packages are missing" || return; }
    for name in aarch64-linux-gnu-g++ qemu-aarch64 dpkg-deb apt-get; do
        command -v "$name" >/dev/null || { skip aarch64 "there is no $name" || return; }
    done
    unpack_arm64 "$libraries" "$log" || { skip aarch64 "no packages of arm64" || return; }
    build_reference || return 1
    build "$into" tessera_tests -- -G Ninja --toolchain "$root/cmake/aarch64.cmake" \
        "-DTESSERA_SYSROOT=$libraries" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
        -DTESSERA_CUDA=OFF -DTESSERA_C=OFF -DTESSERA_TESTS=ON || return 1
    unlock
    compare_builds build/aarch64 "$folder/bin/tessera" qemu-aarch64 -L /usr/aarch64-linux-gnu \
        "$into/bin/tessera" || return 1
    TESSERA_FEWER=1 run_ctest "$into" -R "$processor_tests"
}

run_clang() {
    local into=$root/build/clang
    lock
    install_packages check clang || { skip clang "packages are missing" || return; }
    command -v clang++ >/dev/null || { skip clang "there is no clang++" || return; }
    build_reference || return 1
    build "$into" tessera_cli -- -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DTESSERA_CUDA=OFF \
        -DTESSERA_C=OFF -DTESSERA_TESTS=OFF || return 1
    unlock
    compare_builds build/clang --same-bits "$folder/bin/tessera" "$into/bin/tessera"
}

# run_other_builds: both; a skipped one is no failure.
run_other_builds() {
    run_clang || (($? == 77)) || return 1
    run_aarch64 || (($? == 77))
}
