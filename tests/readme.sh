#!/usr/bin/env bash
# readme.sh SOURCE-TREE: the C++ example in README.md is examples/solve.cpp, to the letter, and
# every file that the documents link to is there, and its numbers are those of bench/results.
set -euo pipefail
cd "$1"
awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md |
    diff - examples/solve.cpp || {
    echo "the example in README.md differs from examples/solve.cpp"
    exit 1
}
missing=0
for document in README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md; do
    while read -r target; do
        if [[ ! -e $target ]]; then
            echo "$document links to $target, which is not there"
            missing=1
        fi
    done < <(grep -o '](\([^)#:]*\))' "$document" | sed 's/^](//; s/)$//')
done
python3 bench/readme.py --check
exit $missing
