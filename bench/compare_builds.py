#!/usr/bin/env python3
"""Compares two builds of tessera-bench: are the times of AFTER within bounds of those of BEFORE?

usage: compare_builds.py BEFORE AFTER [--device cuda|cpu] [--runs 5] [--part NAME[,NAME...]]
                         [--json FILE]

BEFORE and AFTER are tessera-bench binaries. Each run measures every part with both, one right after
the other, in alternating order; the times compared are medians over the runs. A row stands for one
operation on one system; rows that only one of the builds has are listed. Exits with 1 when a bound
is exceeded. On an H200 one run of all parts takes about a minute.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

both = ["--type", "f64,f32"]
elasticity = ["elasticity2d:727,element=t3,jitter=0.4,free", "elasticity2d:400,free",
              "elasticity3d:58,element=tet4,jitter=0.4,free", "elasticity3d:54,free"]
solves = ["cg jacobi csr", "cg jacobi sbell:{b}", "cg least_squares:6 sbell:{b}",
          "cg least_squares:6,values=f16 sbell:{b}", "cg chebyshev:6,values=f16 sbell:{b}",
          "cg chebyshev:6,precision=f32,values=f16 sbell:{b}", "cg block_jacobi:16 sbell:{b}"]

# Part: the arguments of tessera-bench, once or several times.
cuda_parts = {
    "invert": [["batched", *both, "--op", "invert", "--sizes", "1-32", "--batch", "500000",
                "--layout", "uniform", "--seconds", "0.01"]],
    "block_jacobi": [["block_jacobi", "elasticity3d:54,free", *both, "--bounds",
                      "4,8,12,16,20,24,28,32", "--precisions", "working,adaptive", "--seconds",
                      "0.01"]],
    "block_jacobi_large": [["block_jacobi", "elasticity3d:90", *both, "--bounds", "4,8,16,32",
                            "--precisions", "working,adaptive", "--seconds", "0.01"]],
    "block_jacobi_dense": [["block_jacobi", f"block_diagonal:{50000 * n},{n}", *both, "--bounds",
                            str(n), "--precisions", "working,adaptive", "--seconds", "0.01"]
                           for n in (4, 8, 12, 16, 20, 24, 28, 32)],
    "products": [["spmv", *elasticity, *both, "--format", "sbell:{b}", "sbell:{b},values=f32",
                  "sbell:{b},values=f16", "csr", "--seconds", "0.01"]],
    "solve": [["solve", "elasticity3d:90", "--runs", "1", "--way", *solves]],
    "block_ldlt": [["block_ldlt", matrix, "--measure", "setup,apply", "--way", "block_ldlt:8",
                    "--way", "block_ldlt:8,method=level", "--seconds", "0.02"]
                   for matrix in ("kkt:133333", "kkt:666667")],
    "factor": [["factor", *both, "--sizes", "4,8,16,32", "--batch", "500000", "--seconds", "0.01"]],
}
cpu_parts = {
    "invert": [["batched", *both, "--op", "invert", "--sizes", "1-32", "--batch", "10000",
                "--layout", "uniform", "--seconds", "0.03"]],
    "block_jacobi": [["block_jacobi", "elasticity3d:24", *both, "--bounds", "4,8,16,32",
                      "--precisions", "working,adaptive", "--seconds", "0.05"]],
    "products": [["spmv", "elasticity3d:32,free", *both, "--format", "csr", "sbell:{b}",
                  "sbell:{b},values=f16", "--seconds", "0.1"]],
    "solve": [["solve", "elasticity3d:32", "--runs", "1", "--way", "cg jacobi csr",
               "cg block_jacobi:16 csr", "cg chebyshev:6,values=f16 sbell:{b}"]],
    "block_ldlt": [["block_ldlt", "kkt:20000", "--measure", "setup,apply", "--way", "block_ldlt:8",
                    "--way", "block_ldlt:8,method=level", "--seconds", "0.1"]],
    "factor": [["factor", *both, "--sizes", "4,8,16,32", "--batch", "10000", "--seconds", "0.03"]],
}
# Part (or its beginning): largest ratio of a row, and of the geometric mean over the part's rows.
bounds = {"invert": (1.02, 1.02), "find_setup": (1.15, 1.15), "apply": (1.10, 1.05),
          "products": (1.03, 1.03), "solve": (1.03, 1.03), "block_ldlt": (1.03, 1.03),
          "factor": (1.05, 1.05)}
cpu_bound = (1.03, 1.03)

names = ["op", "matrix", "type", "n", "batch", "layout", "precision", "vectors", "pivoting",
         "factorisation", "solver", "preconditioner", "format"]
times = ["milliseconds", "seconds", "setup_seconds", "numeric_milliseconds", "apply_milliseconds"]


def measure(bench, arguments, device, folder):
    path = pathlib.Path(folder) / "rows.json"
    path.unlink(missing_ok=True)
    command = [bench, *arguments, "--device", device, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not path.exists():
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    rows = {}
    for row in json.loads(path.read_text())["rows"]:
        if row.get("workspace", "fastest") != "fastest":
            continue
        key = [str(row[name]) for name in names if row.get(name) is not None]
        if row["op"] == "spmv" and "implementation" in row:
            key.append(row["implementation"])
        for name in times:
            if isinstance(row.get(name), (int, float)):
                rows[" ".join([*key, name])] = row[name]
    return rows


def find_and_setup(rows):
    """Finding blocks and setup are bounded together: replaces their rows by their sums."""
    found = {}
    for key, value in rows.items():
        if key.startswith("setup "):
            words = key.split()
            # op matrix type n batch layout precision milliseconds
            find = "find_blocks " + " ".join(words[1:6]) + " milliseconds"
            if find in rows:
                value += rows[find]
            found["find_setup " + " ".join(words[1:])] = value
        elif not key.startswith("find_blocks "):
            found[key] = value
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--part", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    parts = cuda_parts if options.device == "cuda" else cpu_parts
    chosen = options.part.split(",") if options.part else list(parts)
    samples = {}  # (part, key) -> (before, after)
    with tempfile.TemporaryDirectory() as folder:
        for part in chosen:
            start = time.monotonic()
            for run in range(options.runs):
                for arguments in parts[part]:
                    for which in (0, 1) if run % 2 == 0 else (1, 0):
                        bench = (options.before, options.after)[which]
                        rows = measure(bench, arguments, options.device, folder)
                        for key, value in find_and_setup(rows).items():
                            samples.setdefault((part, key), ([], []))[which].append(value)
            print(f"{part}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    exceeded, lines, groups = 0, [], {}
    for (part, key), (before, after) in samples.items():
        if not before or not after:
            print(f"only {'before' if before else 'after'}: {key}")
            continue
        ratio = statistics.median(after) / statistics.median(before)
        op = key.split()[0]
        group = op if op in bounds else part
        bound = cpu_bound if options.device == "cpu" else bounds[group]
        groups.setdefault((group, bound), []).append(ratio)
        spread = max(max(side) / min(side) for side in (before, after)) - 1
        outcome = "EXCEEDED" if ratio > bound[0] else "held"
        exceeded += ratio > bound[0]
        lines.append(dict(part=part, row=key, before=statistics.median(before),
                          after=statistics.median(after), ratio=ratio, spread=spread,
                          bound=bound[0], held=ratio <= bound[0]))
        if ratio > bound[0] or ratio < 0.95:
            print(f"{ratio:6.3f} of {bound[0]:.2f} {outcome:8} (spread {spread:.1%}) {key}")
    for (group, bound), ratios in groups.items():
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        worst = max(ratios)
        exceeded += mean > bound[1]
        print(f"{group}: {len(ratios)} rows, geometric mean {mean:.3f} of {bound[1]:.2f}, "
              f"worst {worst:.3f} of {bound[0]:.2f}")
    if options.json:
        document = dict(device=options.device, runs=options.runs, rows=lines)
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(1 if exceeded else 0)


if __name__ == "__main__":
    main()
