# shellcheck shell=bash
# Sourced by the scripts of this folder, with $here their folder, $device and $folder their
# arguments: sets bench to the tessera-bench of TESSERA_BENCH, of a folder that ./check --pack made
# (unpacked first), or of a source tree, and makes $folder.
if [[ -f $here/bin.tar.xz && ! -d $here/bin ]]; then tar -C "$here" -xJf "$here/bin.tar.xz"; fi
bench=${TESSERA_BENCH:-$here/bin/tessera-bench}
if [[ ! -x $bench ]]; then bench=$here/../build/release/bin/tessera-bench; fi
if [[ ! -x $bench ]]; then
    echo "${0##*/}: $bench was not found; build the target tessera_bench" >&2
    exit 2
fi
if ldd "$bench" | grep -q 'libgomp.*not found'; then
    export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
mkdir -p "$folder"

# measure NAME SUBCOMMAND ARGUMENT...: writes NAME.json; continues after rows that --limit cut, and
# after a failure.
failed=()
measure() {
    local name=$1 start=$SECONDS status=142
    shift
    while ((status == 142)); do  # SIGALRM: a row was cut.
        status=0
        "$bench" "$@" --device "$device" --json "$folder/$name.json" </dev/null || status=$?
    done
    echo "$name: $((SECONDS - start)) s, exit status $status"
    if ((status != 0)); then failed+=("$name"); fi
}

# The end of a script.
report_failures() {
    if ((${#failed[@]})); then
        echo "FAILED: ${failed[*]}"
        exit 1
    fi
    echo "all measured in $SECONDS s; results are in $folder"
}
