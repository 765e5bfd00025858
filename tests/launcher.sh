#!/usr/bin/env bash
# launcher.sh ROOT: what cmake/setup.sh, the common part of ./tessera and ./check, chooses, prints and
# runs, in a source tree of one file with programs that only note how they were called.
# Variables and functions below are used by the sourced file.
# shellcheck disable=SC2034,SC2119,SC2154,SC2317
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
program=launcher
install=ask
unset TESSERA_CUDA
# shellcheck source=cmake/setup.sh
source "$1/cmake/setup.sh"

printf '%s\n' '# A comment' first 'check: second' 'bench: third' >"$root/packages.txt"
mkdir "$root/bin"
for name in apt-get dpkg-query nvcc sudo; do  # dpkg-query prints nothing: nothing is installed.
    printf '#!/bin/sh\necho %s "$@" >>%q\n' "$name" "$root/calls" >"$root/bin/$name"
done
chmod +x "$root"/bin/*
PATH=$root/bin:$PATH

failed=0
# expect WHAT TEXT PATTERN: TEXT matches PATTERN.
expect() {
    # shellcheck disable=SC2053
    if [[ $2 != $3 ]]; then
        printf '%s:\n  expected %s\n  found    %s\n' "$1" "$3" "$2"
        failed=1
    fi
}
# calls FUNCTION ARGUMENT...: its messages in `text`, the programs it ran in `ran`.
calls() {
    : >"$root/calls"
    text=$("$@" 2>&1 </dev/null) && status=0 || status=$?
    ran=$(grep -v '^dpkg-query' "$root/calls" || true)
}
is_root() { return 1; }
on_terminal() { return 1; }

# The build folder.
has_driver() { return 1; }
choose_build
expect "no driver" "$folder, $why_cpu" "$root/build/cpu, no NVIDIA driver*"
cuda=ON
choose_build
expect "TESSERA_CUDA=ON" "$folder, $why_cpu" "$root/build/release, "
has_driver() { return 0; }
cuda=OFF
choose_build
expect "TESSERA_CUDA=OFF" "$folder" "$root/build/cpu"
cuda=AUTO
choose_build
expect "a driver and nvcc" "$folder, $why_cpu" "$root/build/release, "
calls env TESSERA_CUDA=perhaps bash -c "root=/ program=x install=no; source '$1/cmake/setup.sh'"
expect "TESSERA_CUDA=perhaps" "$status $text" "2 *Set it to ON, OFF or AUTO"

# Packages.
line='sudo apt-get update && sudo apt-get install -y --no-install-recommends first'
install=no
calls install_packages
expect "--no-install" "$status $text" "1 *--no-install*$line"
expect "--no-install runs" "$ran" ""
install=ask
calls install_packages check
expect "without a terminal" "$status $text" "1 *--yes*$line second"
expect "without a terminal runs" "$ran" ""
on_terminal() { return 0; }
calls install_packages
expect "an answer other than yes" "$status $text" "1 *$line*"
expect "an answer other than yes runs" "$ran" ""
answered() { install_packages <<<y; }
calls answered
expect "the answer yes" "$status $ran" "0 sudo *apt-get -y install --no-install-recommends first"
on_terminal() { return 1; }
install=yes
rm -r "$root/build"
calls install_packages
expect "--yes" "$status $ran" "0 sudo *apt-get -y install --no-install-recommends first"
expect "the log" "$(ls "$root/build")" "install.log"
is_root() { return 0; }
install=ask
calls install_packages
expect "root" "$status $ran" "0 apt-get -y update*apt-get -y install --no-install-recommends first"
expect "root runs no sudo" "${ran/sudo/found}" "$ran"

# Progress, where stderr is no terminal.
build_output() {
    printf '[1/2] one\n'
    sleep 2.5
    printf '[2/2] two'
}
progress_seconds=2
text=$(build_output | show_progress "$root/log" building 2>&1)
expect "progress" "$text" "launcher: building, 1 of 2 files, [23] s"
expect "the log of a build" "$(<"$root/log")" $'[[]1/2] one\n[[]2/2] two'
exit $failed
