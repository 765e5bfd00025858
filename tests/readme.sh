#!/usr/bin/env bash
# readme.sh ROOT: the example in README.md is examples/solve.cpp, links in the documents lead to files,
# their numbers are those of bench/results, docs/guide/options.md has all generated problems with their
# options, and README and the pages of decisions stay short.
set -euo pipefail
cd "$1"
failed=0
fail() {
    echo "$*"
    failed=1
}

awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md |
    diff - examples/solve.cpp || fail "the example in README.md differs from examples/solve.cpp"

while IFS= read -r document; do
    while read -r target; do
        [[ -e $(dirname -- "$document")/$target ]] || fail "$document links to $target, which is missing"
    done < <(grep -o '](\([^)#:]*\)[)#]' "$document" | sed 's/^](//; s/[)#]$//; /^$/d')
done < <(find . -maxdepth 1 -name '*.md'; find docs bench/figures -name '*.md')

problems=$(sed -n '/^## Generated problems/,$p' docs/guide/options.md)
while read -r word; do
    [[ $problems == *"\`$word"* ]] || fail "docs/guide/options.md: 'Generated problems' lacks $word"
done < <(
    sed -n 's/^    {"\([a-z0-9_]*\)", "[0-9].*/\1:N/p' src/problems/generators/problems.cpp
    grep -oh 'spec\.[a-z]*("[a-z]*"' src/problems/generators/*.cpp | sed 's/.*("//; s/"$//' | sort -u
)

lines=$(wc -l <README.md)
((lines <= 120)) || fail "README.md has $lines lines; at most 120"
for page in docs/decisions/*.md; do
    if [[ $page == */fewer-parts.md ]]; then continue; fi  # One table of all variants.
    words=$(wc -w <"$page")
    ((words <= 750)) || fail "$page has $words words; at most 750"
done

python3 bench/readme.py --check || failed=1
exit $failed
