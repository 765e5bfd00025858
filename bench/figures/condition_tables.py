#!/usr/bin/env python3
"""Tables I and II of the condition-number paper: rates of the GPU; registers of kernels at n = 32.

usage: condition_tables.py [RESULTS [PROGRAM]]

Table I: the sustained rates, here of a copy and of a pass that only reads. Table II: registers a
thread, registers a thread block and active thread blocks per multiprocessor of the papers' kernels,
as the benchmark asked the driver; and of the library's batched kernels, as `cuobjdump
--dump-resource-usage PROGRAM` tells them (default build/release/bin/tessera-bench), of which the
active thread blocks are not known here, as they depend on the launch. Asserted: no kernel of the
papers leaves a multiprocessor without a thread block or takes more registers than there are; no
kernel of the library that inverts matrices of at most 32 rows spills.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
registers_of_multiprocessor = 65536


def registers_per_block(registers, threads):
    """They are given out in units of 256 a warp."""
    return (threads + 31) // 32 * (-(-registers * 32 // 256) * 256)


def library_kernels(program):
    """[(name, registers, stack bytes)], or None where they cannot be had."""
    tool = shutil.which("cuobjdump") or shutil.which("/usr/local/cuda/bin/cuobjdump")
    if tool is None or not pathlib.Path(program).exists():
        return None
    text = subprocess.run(
        [tool, "--dump-resource-usage", program], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", text)
    names = subprocess.run(
        ["c++filt"], input="\n".join(n for n, _, _ in found), check=True, capture_output=True,
        text=True,
    ).stdout.splitlines()
    kernels = [
        (re.sub(r"\(anonymous namespace\)::", "", name), int(registers), int(stack))
        for name, (_, registers, stack) in zip(names, found)
    ]
    return sorted(k for k in kernels if "tessera::batched::" in k[0])


def main(arguments):
    if len(arguments) > 2 or any(a.startswith("-") for a in arguments):
        sys.exit(__doc__)
    folder = pathlib.Path(arguments[0] if arguments else root / "bench/results/h200")
    program = arguments[1] if arguments[1:] else root / "build/release/bin/tessera-bench"
    documents = [json.loads(p.read_text()) for p in sorted(folder.glob("batched*.json"))]
    rows = [r for d in documents for r in d["rows"] if r["op"] == "registers" and r["n"] == 32]
    if not rows:
        sys.exit(f"FAILS: {folder} holds no registers; bench/batched.sh measures them")
    print("Table I")
    for line in pathlib.Path(__file__).with_name("condition_tables_expected.csv").open():
        if not line.startswith(("#", "quantity")):
            print("  paper: " + " = ".join(line.strip().split(",")[:2]))
    device = next(d for d in documents if "read_gbps" in d)
    print(f"  {device['device']}: copy {device['copy_gbps']:.0f} GB/s, read {device['read_gbps']:.0f}")
    print("Table II, n = 32")
    fine = True
    for row in rows:
        block = registers_per_block(row["registers"], row["threads_per_block"])
        active = row["blocks_per_multiprocessor"]
        holds = active >= 1 and active * block <= registers_of_multiprocessor
        fine = fine and holds
        print(
            f"  {'holds' if holds else 'FAILS'}: {row['implementation']} {row['type']}: "
            f"{row['registers']} registers a thread, {block} a thread block, {active} active thread "
            f"blocks, {row['local_bytes']} bytes of local memory"
        )
    kernels = library_kernels(program)
    if kernels is None:
        print("  the library's kernels are left out: there is no cuobjdump, or no program")
    for name, registers, stack in kernels or []:
        spills = stack > 0 and "invert" in name and "large" not in name
        fine = fine and not spills
        print(f"  {'FAILS' if spills else 'holds'}: {registers:3} registers, {stack:3} bytes: {name}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
