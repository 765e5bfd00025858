#!/usr/bin/env bash
# weak_symbols.sh BUILD-FOLDER COMPILER
#
# A kernel file *_cpu.cpp is compiled for several instruction sets in one object. Weak symbols (of
# inline functions and templates) are merged by the linker, which keeps any copy. So a weak symbol
# outside the namespaces N_AVX2 and N_AVX3 must hold no instruction beyond the baseline, or the
# program may crash on a CPU without AVX, in code that has nothing to do with kernels. Prints each
# such symbol with its first wrong instruction.
set -euo pipefail
export LC_ALL=C
build=$1
compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Weak functions outside the namespaces of instruction sets, mangled.
weak_functions() { nm "$1" | awk '$2 ~ /^[WVu]$/ && $3 !~ /N_AVX[23]/ { print $3 }'; }

# VEX and EVEX instructions begin with v; those of BMI, LZCNT and mask registers do not.
offenders() {
    weak_functions "$1" >"$scratch/weak"
    objdump -d --no-show-raw-insn "$1" | awk -v weak="$scratch/weak" '
        BEGIN { while ((getline name < weak) > 0) is_weak[name] = 1 }
        /^[0-9a-f]+ <.*>:$/ {
            name = substr($2, 2, length($2) - 3)
            checked = name in is_weak
        }
        checked && $1 ~ /:$/ {
            if ($2 ~ /^v/ && $2 !~ /^ver[rw]/ ||
                $2 ~ /^(andn|bextr|bls(i|r|msk)|bzhi|lzcnt|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lqw]?$/ ||
                $2 ~ /^k(mov|or|and|xor|xnor|not|test|shift|unpck|add)/) {
                print name, $2
                checked = 0
            }
        }' | c++filt
}

if [[ $("$compiler" -dM -E -x c++ /dev/null) != *__x86_64__* ]]; then
    echo "SKIPPED weak_symbols: kernels are compiled for one instruction set"
    exit 77
fi

# The check finds a planted case.
cat >"$scratch/planted_cpu.cpp" <<'TEXT'
#define AVX2 __attribute__((noinline, target("avx2")))
namespace tessera {
AVX2 inline void planted(float* x) { for (int i = 0; i < 8; ++i) x[i] += 1; }
namespace N_AVX2 {
template <class T>
AVX2 void allowed(T* x) { for (int i = 0; i < 8; ++i) x[i] += 1; }
AVX2 void kernel(float* x) { planted(x); allowed(x); }
}
}
TEXT
"$compiler" -O2 -c "$scratch/planted_cpu.cpp" -o "$scratch/planted_cpu.cpp.o"
found=$(offenders "$scratch/planted_cpu.cpp.o")
if [[ $found != "tessera::planted(float*) v"* || $found == *allowed* ]]; then
    echo "the check does not find the planted function; it found: '$found'"
    exit 1
fi

mapfile -t objects < <(find "$build" -name '*_cpu.cpp.o')
if ((${#objects[@]} == 0)); then
    echo "SKIPPED weak_symbols: this build has no kernel file *_cpu.cpp"
    exit 77
fi
failed=0
for object in "${objects[@]}"; do
    found=$(offenders "$object")
    if [[ -n $found ]]; then
        failed=1
        echo "${object##*/} has weak functions compiled for a larger instruction set:"
        echo "$found"
    fi
done
((failed)) || echo "${#objects[@]} kernel objects, no such symbol"
exit $failed
