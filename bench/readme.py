#!/usr/bin/env python3
"""Writes the numbers of README.md from bench/results; `--check` only says whether they agree.

The part between "<!-- results: NAME -->" and "<!-- end -->" is made by the function of that name.
"""
import json
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
results = root / "bench" / "results"


def load(name):
    return json.loads((results / name).read_text())


def first_run():
    """What ./tessera solve elasticity3d:32 printed; its JSON lies beside it and must agree."""
    text = (results / "cpu" / "elasticity3d_32.txt").read_text()
    report = load("cpu/elasticity3d_32.json")
    for fact in (
        f"{report['status']} in {report['iterations']} iterations",
        f"{report['matrix']['rows']} rows, {report['matrix']['nonzeros']} nonzeros",
        f"residual        {report['true_relative_residual']:.3e}",
        f"solve {report['seconds']['solve']:.3f}",
    ):
        if fact not in text:
            sys.exit(f"bench/results/cpu: the text lacks '{fact}' of the JSON")
    return "```text\n" + text + "```"


def h200():
    bench = load("h200/block_jacobi.json")
    spmv = next(
        row
        for row in load("h200/spmv.json")["rows"]
        if row["matrix"] == "elasticity3d:90" and row["chosen"]
    )
    lines = [
        f"On one {bench['device']} (copies run at {bench['copy_gbps'] / 1000:.2f} TB/s), "
        f"`elasticity3d:90` ({spmv['rows']:,} unknowns, {spmv['nonzeros']:,} nonzeros, FP64):",
        "",
        "| Bound | Find blocks | Setup | Apply |",
        "| --- | --- | --- | --- |",
    ]
    for bound in (4, 8, 16, 32):
        cells = []
        for op in ("find_blocks", "setup", "apply"):
            row = next(
                row
                for row in bench["rows"]
                if (row["op"], row["matrix"], row["n"]) == (op, "elasticity3d:90", bound)
            )
            cells.append(f"{row['milliseconds']:.3f} ms ({row['fraction_of_copy']:.0%} of copy)")
        lines.append(f"| {bound} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"A CSR product takes {spmv['milliseconds']:.3f} ms ({spmv['fraction_of_copy']:.0%} of "
        "copy). Solves to a relative residual of 1e-8:",
        "",
        "| Preconditioner | CG iterations | Setup | Solve |",
        "| --- | --- | --- | --- |",
    ]
    for name in ("jacobi", "block_jacobi_3", "block_jacobi_16"):
        report = load(f"h200/solve_elasticity3d_90_{name}.json")
        seconds = report["seconds"]
        lines.append(
            f"| `{report['preconditioner']}` | {report['iterations']} "
            f"| {1000 * (seconds['find_blocks'] + seconds['setup']):.1f} ms "
            f"| {seconds['solve']:.3f} s |"
        )
    return "\n".join(lines)


def batched():
    bench = load("h200/batched.json")
    rows = {
        (row["op"], row["implementation"], row["type"], row["n"]): row
        for row in bench["rows"]
        if row["layout"] == "uniform"
    }
    lines = [
        f"500,000 random matrices of n rows inverted on one {bench['device']} (copies run at "
        f"{bench['copy_gbps'] / 1000:.2f} TB/s); 2 n^3 operations a matrix:",
        "",
        "| n | FP64 GFLOP/s | of copy | over cuBLAS | FP32 GFLOP/s | of copy | over cuBLAS "
        "| with condition number, FP64 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n in (4, 8, 12, 16, 20, 24, 28, 32):
        cells = []
        for kind in ("f64", "f32"):
            own = rows["invert", "tessera", kind, n]
            peer = min(
                rows["invert", name, kind, n]["milliseconds"]
                for name in ("cublas_getrf_getri", "cublas_matinv")
            )
            cells += [
                f"{own['gflops']:,.0f}",
                f"{own['fraction_of_copy']:.0%}",
                f"{peer / own['milliseconds']:.1f}x",
            ]
        fused = rows["condition", "fused", "f64", n]["milliseconds"]
        more = fused / rows["invert", "tessera", "f64", n]["milliseconds"] - 1
        lines.append(f"| {n} | " + " | ".join(cells) + f" | {more:+.0%} time |")
    return "\n".join(lines)


def main(arguments):
    path = root / "README.md"
    before = path.read_text()
    makers = {"first_run": first_run, "h200": h200, "batched": batched}
    after = re.sub(
        r"(<!-- results: (\w+) -->\n).*?(\n<!-- end -->)",
        lambda found: found[1] + makers[found[2]]() + found[3],
        before,
        flags=re.DOTALL,
    )
    if arguments == ["--check"]:
        if before != after:
            sys.exit("README.md differs from bench/results; run bench/readme.py")
    elif arguments:
        sys.exit(__doc__)
    else:
        path.write_text(after)


if __name__ == "__main__":
    main(sys.argv[1:])
