# shellcheck shell=bash
# Sourced by the scripts of this folder, with $here their folder: sets bench to the tessera-bench of
# TESSERA_BENCH, of a folder that ./check --pack made (unpacked first), or of a source tree.
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
