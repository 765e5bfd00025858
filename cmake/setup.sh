# shellcheck shell=bash
# Shared by ./tessera and ./check: installs the packages that are missing, configures, builds, and
# knows whether build/release is up to date. To be sourced, with `root` (the source tree), `program`
# (the name that messages begin with) and `install` (yes or no) set. Everything it says goes to
# stderr, and it never changes directory.
: "${root:?}" "${program:?}" "${install:?}"

release=$root/build/release
state=$release/launcher.state

# The toolkit's usual place, when it is not on the PATH already.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
    PATH=$PATH:/usr/local/cuda/bin
fi

say() { printf '%s: %s\n' "$program" "$*" >&2; }

# What a build depends on: name, size and time of every source, the CUDA compiler, and the commit
# that the program names. A file that was added, changed, renamed, deleted or replaced by an older
# one makes a different text.
source_state() {
    local names=(include src apps cmake CMakeLists.txt CMakePresets.json packages.txt)
    (find "${names[@]/#/$root/}" -type f -printf '%p %s %T@\n' | LC_ALL=C sort)
    command -v nvcc || true
    git -C "$root" rev-parse HEAD 2>/dev/null || true
}

# The command that installs packages as the user at hand, into the array `as_root`; false when
# there is no way.
find_root() {
    as_root=()
    if ((EUID == 0)); then return 0; fi
    if ! command -v sudo >/dev/null; then return 1; fi
    as_root=(sudo -n)
    if sudo -n true 2>/dev/null; then return 0; fi
    as_root=(sudo)
    [[ -t 0 && -t 2 ]]
}

# install_packages OPTION: the lines of packages.txt without an option ("") or with that option.
install_packages() {
    local option=$1 package log=$root/build/install.log
    local -a wanted=() missing=() as_root=()
    while read -r package; do
        package=${package%%#*}
        if [[ -n $option ]]; then
            [[ $package == "$option:"* ]] || continue
            package=${package#*:}
        fi
        package=${package// /}
        [[ -z $package || $package == *:* ]] || wanted+=("$package")
    done <"$root/packages.txt"
    if ! command -v dpkg-query >/dev/null; then
        say "this is not a Debian system; these must be there: ${wanted[*]} (names as in Debian)"
        return 0
    fi
    for package in "${wanted[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    local line="apt-get install --no-install-recommends ${missing[*]}"
    if [[ $install == no ]]; then
        say "packages are missing, and none may be installed (--no-install). As root: $line"
        return 1
    fi
    if ! find_root; then
        say "packages are missing, and this user cannot install any. As root: $line"
        return 1
    fi
    say "installing ${missing[*]}"
    local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y)
    if ! { "${apt[@]}" update; "${apt[@]}" install --no-install-recommends "${missing[@]}"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        say "installing failed; the log is $log. As root: $line"
        return 1
    fi
}

# Copies to $1 and, on a terminal, shows how far ninja is.
show_progress() {
    local log=$1 line
    if [[ ! -t 2 ]]; then
        cat >>"$log"
        return
    fi
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        [[ $line =~ ^\[[0-9]+/[0-9]+\] ]] && printf '\r%s: %s ' "$program" "${BASH_REMATCH[0]}" >&2
    done
    printf '\r\e[K' >&2
}

# logged LOG COMMAND...: runs quietly; on failure shows where it failed.
logged() {
    local log=$1
    shift
    printf '$ %s\n' "$*" >>"$log"
    if ! "$@" </dev/null 2>&1 | show_progress "$log"; then
        # From the first failure on, or else the end.
        { grep -m1 -A25 -E '^FAILED|error:|Error' "$log" || tail -n 30 "$log"; } >&2
        say "failed: $*"
        say "the whole log is $log"
        return 1
    fi
}

# build FOLDER TARGET... -- CMAKE-ARGUMENT...: configures and builds into FOLDER.
build() {
    local folder=$1 targets=() log=$1/build.log
    shift
    while (($#)) && [[ $1 != -- ]]; do
        targets+=("$1")
        shift
    done
    shift
    mkdir -p "$folder"
    : >"$log"
    local -a forget=()
    # CMake refuses a build folder that was moved, and remembers that there was no CUDA compiler,
    # also when there is one now.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        forget=(--fresh)
    elif grep -qs 'CMAKE_CUDA_COMPILER:.*NOTFOUND' "$folder/CMakeCache.txt"; then
        forget=(-U CMAKE_CUDA_COMPILER)
    fi
    say "configuring ${folder#"$root"/}"
    logged "$log" cmake -S "$root" -B "$folder" "${forget[@]}" "$@" || return 1
    say "building ${targets[*]}"
    logged "$log" cmake --build "$folder" --target "${targets[@]}" || return 1
}

# Holds the lock of build/ until `unlock`: one build at a time, whoever started it.
lock() {
    mkdir -p "$root/build"
    exec {lock_file}>"$root/build/.lock"
    if ! flock -n "$lock_file"; then
        say "another build is under way; waiting for it"
        flock "$lock_file"
    fi
}
unlock() { exec {lock_file}>&-; }

is_current() {
    [[ -x $release/bin/tessera && -f $state && $(source_state) == "$(<"$state")" ]]
}

# build_release TARGET...: the release build. What the sources were is noted before, so that a
# change during the build makes another one.
build_release() {
    local before
    before=$(source_state)
    rm -f "$state"
    build "$release" "$@" -- --preset release || return 1
    printf '%s\n' "$before" >"$state"
}
