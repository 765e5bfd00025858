# shellcheck shell=bash
# Shared by ./tessera and ./check: installs missing packages, configures, builds, and knows whether a
# build folder is up to date. To be sourced, with `root` (the source tree), `program` (the name that
# messages begin with) and `install` (ask, yes or no) set. All messages go to stderr; the working
# directory never changes.
: "${root:?}" "${program:?}" "${install:?}"

say() { printf '%s: %s\n' "$program" "$*" >&2; }

# The environment variable TESSERA_CUDA: AUTO (default), ON, OFF.
cuda=${TESSERA_CUDA:-AUTO}
case ${cuda^^} in
    AUTO) cuda=AUTO ;;
    ON | TRUE | YES | 1) cuda=ON ;;
    OFF | FALSE | NO | 0) cuda=OFF ;;
    *)
        say "TESSERA_CUDA=$cuda is not understood. Set it to ON, OFF or AUTO"
        exit 2
        ;;
esac

# The toolkit's usual place, when it is not on the PATH already.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
    PATH=$PATH:/usr/local/cuda/bin
fi

is_root() { ((EUID == 0)); }
on_terminal() { [[ -t 0 && -t 2 ]]; }

# Whether this machine has an NVIDIA driver (on Windows' Linux: /dev/dxg and its libcuda).
has_driver() {
    command -v nvidia-smi >/dev/null || compgen -G '/dev/nvidia[0-9]*' >/dev/null ||
        [[ -e /usr/lib/wsl/lib/libcuda.so.1 ]]
}

# use_build PRESET: what is built from here on: release (in build/release) or cpu (in build/cpu).
use_build() {
    preset=$1
    folder=$root/build/$1
    state=$folder/launcher.state
}

# The build that this machine can use; `why_cpu` says why it is the CPU backend alone.
choose_build() {
    use_build release
    why_cpu=
    if [[ $cuda == OFF ]]; then
        why_cpu="TESSERA_CUDA is OFF"
    elif [[ $cuda == AUTO ]] && ! has_driver; then
        why_cpu="no NVIDIA driver was found"
    elif [[ $cuda == AUTO ]] && ! command -v nvcc >/dev/null; then
        why_cpu="no nvcc was found (CUDA toolkit 13.0 or newer)"
    fi
    if [[ -n $why_cpu ]]; then use_build cpu; fi
}

# What a build depends on: name, size and time of every source, the CUDA compiler, and the commit
# that the program names. A file that was added, changed, renamed, deleted or replaced by an older
# one makes a different text.
source_state() {
    local names=(include src apps cmake CMakeLists.txt CMakePresets.json packages.txt)
    (find "${names[@]/#/$root/}" -type f -printf '%p %s %T@\n' | LC_ALL=C sort)
    if [[ $preset != cpu ]]; then
        echo "$cuda"
        command -v nvcc || true
    fi
    git -C "$root" rev-parse HEAD 2>/dev/null || true
}

is_current() {
    [[ -x $folder/bin/tessera && -f $state && $(source_state) == "$(<"$state")" ]]
}

# list_packages OPTION...: the lines of packages.txt without an option, and those of OPTIONs.
list_packages() {
    local package option wanted
    while IFS= read -r package; do
        package=${package%%#*}
        option=
        if [[ $package == *:* ]]; then option=${package%%:*}; fi
        package=${package##*:}
        package=${package// /}
        for wanted in "" "$@"; do
            if [[ -n $package && $option == "$wanted" ]]; then echo "$package"; fi
        done
    done <"$root/packages.txt"
}

# install_packages OPTION...: installs those that are missing. As root at once; else only after a
# yes, by --yes or on the terminal.
install_packages() {
    local package log=$root/build/install.log answer
    local -a wanted missing=() sudo=()
    mapfile -t wanted < <(list_packages "$@")
    if ! command -v dpkg-query >/dev/null; then
        say "this is not a Debian system; these packages are needed: ${wanted[*]} (Debian's names)"
        return 0
    fi
    for package in "${wanted[@]}"; do
        # A name may be a pattern, of which one package is enough.
        [[ " $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null)" == *' installed '* ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    is_root || sudo=(sudo)
    local get="${sudo[*]:+sudo }apt-get"
    local line="$get update && $get install -y --no-install-recommends ${missing[*]}"
    if [[ $install == no ]]; then
        say "packages are missing, and --no-install forbids installing them. The command: $line"
        return 1
    fi
    if [[ $install == ask ]] && ! is_root; then
        if ! on_terminal; then
            say "packages are missing. Install them, or repeat with --yes as the first argument: $line"
            return 1
        fi
        printf '%s: packages are missing. Run this now?\n    %s\n[y/N] ' "$program" "$line" >&2
        read -r answer
        [[ $answer == [yY]* ]] || return 1
    fi
    if ((${#sudo[@]})); then sudo -v || return 1; fi  # Asks for the password before progress is shown.
    mkdir -p "$root/build"
    : >"$log"
    local -a apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y)
    say "installing ${missing[*]}"
    logged "$log" "reading lists of packages" "${apt[@]}" update &&
        logged "$log" "installing packages" "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

# show_progress LOG WHAT: copies stdin to LOG. Says how far WHAT is, in a line that is written anew
# each second on a terminal, else in a new line every ten seconds.
show_progress() {
    local log=$1 what=$2 line part='' files='' start=$SECONDS shown=$SECONDS every=${progress_seconds:-10}
    if [[ -t 2 ]]; then every=1; fi
    while true; do
        if IFS= read -r -t 1 line; then
            printf '%s\n' "$part$line" >>"$log"
            if [[ $part$line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
                files=", ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files"
            fi
            part=
        elif (($? > 128)); then  # A second without a whole line.
            part+=$line
        else
            break
        fi
        if ((SECONDS - shown >= every)); then
            shown=$SECONDS
            line="$what$files, $((SECONDS - start)) s"
            if [[ -t 2 ]]; then printf '\r\e[K%s: %s' "$program" "$line" >&2; else say "$line"; fi
        fi
    done
    printf '%s' "$part$line" >>"$log"
    if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
}

# logged LOG WHAT COMMAND...: runs COMMAND, whose output goes to LOG; on failure shows where it failed.
logged() {
    local log=$1 what=$2
    shift 2
    printf '$ %s\n' "$*" >>"$log"
    if ! "$@" </dev/null 2>&1 | show_progress "$log" "$what"; then
        # From the first failure on, or else the end.
        { grep -m1 -A25 -E '^FAILED|error:|Error' "$log" || tail -n 30 "$log"; } >&2
        say "failed: $*"
        say "the whole log is $log"
        return 1
    fi
}

# build FOLDER TARGET... -- CMAKE-ARGUMENT...: configures and builds into FOLDER.
build() {
    local folder=$1 targets=() log=$1/build.log start=$SECONDS
    shift
    while (($#)) && [[ $1 != -- ]]; do
        targets+=("$1")
        shift
    done
    shift
    mkdir -p "$folder"
    : >"$log"
    local -a forget=()
    # CMake rejects a build folder that was moved, and does not look for a CUDA compiler again.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        forget=(--fresh)
    elif grep -qs 'CMAKE_CUDA_COMPILER:.*NOTFOUND' "$folder/CMakeCache.txt"; then
        forget=(-U CMAKE_CUDA_COMPILER)
    fi
    say "building ${targets[*]} in ${folder#"$root"/}"
    logged "$log" configuring cmake -S "$root" -B "$folder" "${forget[@]}" "$@" || return 1
    logged "$log" building cmake --build "$folder" --target "${targets[@]}" || return 1
    say "built in $((SECONDS - start)) s"
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

# build_chosen TARGET... -- CMAKE-ARGUMENT...: the build of use_build. The state of the sources is
# taken before, so that a change during the build makes another one.
build_chosen() {
    local before
    before=$(source_state)
    rm -f "$state"
    if [[ $preset == release ]]; then set -- "$@" "-DTESSERA_CUDA=$cuda"; fi
    build "$folder" "$@" --preset "$preset" || return 1
    printf '%s\n' "$before" >"$state"
}
