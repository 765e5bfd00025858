#!/usr/bin/env python3
"""Tables I and II of the condition-number paper: rates of the GPU; registers of kernels at n = 32.

usage: condition_tables.py [RESULTS [PROGRAM]]

Table I: the sustained rates, here of a copy and of a pass that only reads. Table II: registers a
thread, registers per thread block and active thread blocks per multiprocessor of the papers' kernels,
as the benchmark asked the driver; and of the library's batched kernels, as `cuobjdump
--dump-resource-usage PROGRAM` prints them (default build/release/bin/tessera-bench), of which the
active thread blocks are not known here, as they depend on the launch; bytes of stack are registers
that were spilled, or arrays that are indexed. Asserted: the paper's kernel (several problems a
warp, FP64) needs at most 10 % more registers than on the V100, spills none, and as many of its thread
blocks are active at once as there.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]


def registers_per_block(registers, threads):
    """They are given out in units of 256 per warp."""
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
    path = pathlib.Path(__file__).with_name("condition_tables_expected.csv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")][1:]
    paper = {line.split(",")[0]: float(line.split(",")[1]) for line in lines}
    for quantity, value in paper.items():
        print(f"  paper: {quantity} = {value:.0f}")
    device = next(d for d in documents if "read_gbps" in d)
    copy, read = device["copy_gbps"], device["read_gbps"]
    print(f"  {device['device']}: copy {copy:.0f} GB/s, read {read:.0f} GB/s")
    print("Table II, n = 32")
    fine = True
    for row in rows:
        block = registers_per_block(row["registers"], row["threads_per_block"])
        active = row["blocks_per_multiprocessor"]
        word = "  "
        if (row["implementation"], row["type"]) == ("paper_multiple", "f64"):
            holds = (
                row["registers"] <= 1.1 * paper["V100 registers per thread"]
                and row["local_bytes"] == 0
                and active >= paper["V100 active thread blocks"]
            )
            fine = fine and holds
            word = "  holds: " if holds else "  FAILS: "
        print(
            f"{word}{row['implementation']} {row['type']}: {row['registers']} registers per thread, "
            f"{block} a thread block, {active} active thread blocks, {row['local_bytes']} bytes of "
            "local memory"
        )
    kernels = library_kernels(program)
    if kernels is None:
        print("  the library's kernels are left out: there is no cuobjdump, or no program")
    for name, registers, stack in kernels or []:
        print(f"  {registers:3} registers per thread, {stack:3} bytes of stack: {name}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
