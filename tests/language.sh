#!/usr/bin/env bash
# language.sh SOURCE-TREE | --self-test
#
# Refuses words that a stranger stumbles over. Prints "file:line: the line, and what to write":
#   - comments and docstrings that begin with "Of ", "That of", "Those of" or "The same": a comment
#     is read alone and needs a subject;
#   - identifiers that begin with most_ or least_: the words are max_ and min_;
#   - pairs of numbers "4.6 for 5.2" in comments and decision pages: write "4.6 instead of 5.2 ms";
#   - a decision page that does not begin with "This page decides".
set -euo pipefail
export LC_ALL=C

# check_files FILE...: prints the faults; fails if there is one.
check_files() {
    awk '
        function fault(what) { printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, what; faults = 1 }
        {
            comment = ""
            if (match($0, /(\/\/[\/!]?<?|^ *\*|(^|  )#|"""|^ *\/\*\*?)[ ]*/)) {
                comment = substr($0, RSTART + RLENGTH)
            }
            if (FILENAME ~ /\.md$/) comment = $0
            if (FILENAME ~ /decisions\/[a-z-]+\.md$/ && FNR == 3 && !/^This page decides[ ,]/) {
                fault("say first what the page decides")
            }
            if (comment ~ /^(Of |That of|Those of|The same)/) fault("name the subject")
            if (comment ~ /(^|[^0-9a-z])[0-9]+(\.[0-9]+)? for [0-9]+(\.[0-9]+)?([ ,;.)]|$)/) {
                fault("write \"instead of\", and the unit")
            }
            code = $0
            gsub(/least_squares/, "", code)
            gsub(/atleast_[0-9]d/, "", code)
            if (code ~ /(^|[^A-Za-z0-9_])(most|least)_[a-z]/) fault("write max_ or min_")
        }
        END { exit faults }' "$@"
}

check_tree() {
    (cd "$1" && find include src apps python/src python/tessera plugins examples docs/decisions \
        -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.py' -o -path 'docs/decisions/*.md' \) -print0 |
        sort -z | xargs -0 bash "$script" --files)
}

# Each bad line must be found, and none of the good ones.
self_test() {
    local line
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    while IFS= read -r line; do
        printf '%s\n' "$line" >"$scratch/bad"
        if check_files "$scratch/bad" >/dev/null; then
            echo "not found: $line"
            exit 1
        fi
    done <<'BAD'
/// Of the rows, then of the columns.
    int rows;  ///< Those of the matrix.
// The same for several vectors.
    """That of the matrix."""
    # Of the caller.
int most_rows = 3;
const double least_value = f(x);
// poisson2d:100: 4.6 for 5.2
BAD
    mkdir "$scratch/decisions"
    printf '# How\n\nRows are sorted.\n' >"$scratch/decisions/rows.md"
    if check_files "$scratch/decisions/rows.md" >/dev/null; then
        echo "not found: a decision page that does not say what it decides"
        exit 1
    fi
    cat >"$scratch/good" <<'GOOD'
/// Offsets of the rows.
int max_rows = utmost_care + least_squares;
/// One of the same kind.
for (int i = 0; i < 2; ++i) f(2);  // 4.6 instead of 5.2 ms; 16 for FP64
GOOD
    check_files "$scratch/good"
    echo "all faults were found"
}

script=$(readlink -f -- "${BASH_SOURCE[0]}")
case ${1:-} in
    --self-test) self_test ;;
    --files) check_files "${@:2}" ;;
    "")
        sed -n '2,4p' "$script" >&2
        exit 2
        ;;
    *) check_tree "$1" ;;
esac
