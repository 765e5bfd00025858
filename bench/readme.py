#!/usr/bin/env python3
"""Writes the numbers of README.md from bench/results; `--check` only says whether they agree.

The part between "<!-- results: NAME -->" and "<!-- end -->" is made by the function of that name.
"""
import json
import math
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "figures"))
from study_results import Study, geometric_mean

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


def block_jacobi_table(path, matrix):
    bench = load(path)
    rows = {
        (row["op"], row["n"], row.get("precision")): row
        for row in bench["rows"]
        if (row["matrix"], row["type"]) == (matrix, "f64") and row.get("vectors", 1) == 1
    }
    one = rows["find_blocks", 4, None]
    lines = [
        f"`{matrix}` ({one['rows']:,} unknowns, {one['nonzeros']:,} nonzeros, FP64) on "
        f"{bench['device']} (copies run at {bench['copy_gbps']:,.0f} GB/s), milliseconds:",
        "",
        "| Bound | Find blocks | Setup | Apply | Inverses "
        "| Setup, adaptive | Apply, adaptive | Inverses, adaptive |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n in (4, 8, 16, 32):
        find = rows["find_blocks", n, None]
        cells = [f"{find['milliseconds']:.3g} ({find['fraction_of_copy']:.0%} of copy)"]
        for precision in ("working", "adaptive"):
            apply = rows["apply", n, precision]
            cells += [
                f"{rows['setup', n, precision]['milliseconds']:.3g}",
                f"{apply['milliseconds']:.3g} ({apply['fraction_of_copy']:.0%} of copy)",
                f"{(apply['bytes'] - 16 * apply['rows']) / 1e6:.3g} MB",
            ]
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return lines + [""]


def study(path):
    document = load(path)
    cases = Study(document["rows"])
    shares = cases.setup_shares("working") + cases.setup_shares("adaptive")
    below = sum(share < 0.01 for share in shares) / len(shares)
    cycles = cases.adaptive_cycles().values()
    lost = sum(math.isinf(ratio) for ratio in cycles)
    return (
        f"On {document['device']}: {len(cases.matrices)} matrices; setup below 1 % of the time in "
        f"{below:.0%} of {len(shares)} cases, at most {max(shares):.1%}; "
        f"{geometric_mean(cycles):.3f} times as many cycles with adaptive storage (geometric mean "
        f"of {len(cycles) - lost} cases, without {lost} that no longer converged)."
    )


def block_jacobi():
    lines = block_jacobi_table("h200/block_jacobi.json", "elasticity3d:90")
    if (results / "cpu/block_jacobi.json").exists():
        lines += block_jacobi_table("cpu/block_jacobi.json", "elasticity3d:24")
    lines += [
        "IDR(4) to 1e-9 with bounds 8, 12, 16, 24, 32 and both storages; the share of setup, finding "
        "blocks included, is that in cases of 100 cycles or more:",
        "",
        "- " + study("h200/study.json"),
        "- " + study("cpu/study.json"),
    ]
    return "\n".join(lines)


def solves():
    document = load("h200/spmv.json")
    spmv = next(
        row for row in document["rows"] if row["matrix"] == "elasticity3d:90" and row.get("chosen")
    )
    lines = [
        f"A CSR product with `elasticity3d:90` on {document['device']} takes "
        f"{spmv['milliseconds']:.3f} ms ({spmv['fraction_of_copy']:.0%} of copy). Solves to a "
        f"relative residual of 1e-8 (at commit {document['commit']}):",
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


def products(document):
    """SBELL beside the fastest format of cuSPARSE."""
    names = {
        "elasticity2d:400,free": "400 x 400 quadrilaterals",
        "elasticity2d:1600,free": "1600 x 1600 quadrilaterals",
        "elasticity3d:54,free": "54^3 hexahedra",
        "elasticity3d:90,free": "90^3 hexahedra",
        "elasticity2d:727,element=t3,jitter=0.4,free": "727 x 727 x 2 triangles, jittered",
        "elasticity3d:58,element=tet4,jitter=0.4,free": "58^3 x 6 tetrahedra, jittered",
    }
    lines = [
        f"Products y = A x on {document['device']} in SBELL, milliseconds (and times as fast as the "
        "fastest format of cuSPARSE: CSR by both algorithms, sliced ELLPACK, BSR):",
        "",
        "| Mesh | Nonzeros | FP64 | FP32 | FP16 values, FP32 vectors |",
        "| --- | --- | --- | --- | --- |",
    ]
    for matrix, name in names.items():
        rows = [row for row in document["rows"] if row["matrix"] == matrix]
        block = 2 if "2d" in matrix else 3

        def best(kind, of):
            return min(
                row["milliseconds"]
                for row in rows
                if row["type"] == kind and row["implementation"].startswith(of)
            )

        def own(kind, more=""):
            return next(
                row["milliseconds"]
                for row in rows
                if row["type"] == kind and row["implementation"] == f"sbell:{block}{more}"
            )

        cells = [
            f"{own(kind):.4f} ({best(kind, 'cusparse') / own(kind):.2f})" for kind in ("f64", "f32")
        ]
        cells.append(f"{own('f32', ',values=f16'):.4f}")
        lines.append(f"| {name} | {rows[0]['nonzeros']:,} | " + " | ".join(cells) + " |")
    return lines + [""]


def elasticity():
    lines = products(load("h200/spmv_elasticity.json"))
    document = load("h200/solve_elasticity.json")
    matrix = "elasticity3d:90"
    rows = [row for row in document["rows"] if row["matrix"] == matrix]
    base = next(row for row in rows if row["format"] == "cusparse_csr")
    lines += [
        f"`{matrix}` ({base['rows']:,} unknowns) to a true relative residual of 1e-8, FP64 outside:",
        "",
        "| Solver | Preconditioner | Format | Iterations | Setup | Solve |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    wanted = [
        ("cg", "jacobi", "cusparse_csr"),
        ("cg", "jacobi", "csr"),
        ("cg", "jacobi", "sbell:3"),
        ("cg", "least_squares:6,format=sbell:3", "sbell:3"),
        ("cg", "least_squares:6,values=f16,format=sbell:3", "sbell:3"),
        ("cg", "chebyshev:6,values=f16,format=sbell:3", "sbell:3"),
        ("cg", "chebyshev:6,precision=f32,values=f16,format=sbell:3", "sbell:3"),
        ("refinement", "chebyshev:6,values=f16,format=sbell:3", "sbell:3"),
    ]
    for solver, preconditioner, format in wanted:
        row = next(
            row
            for row in rows
            if (row["solver"], row["preconditioner"], row["format"])
            == (solver, preconditioner, format)
        )
        lines.append(
            f"| `{solver}` | `{preconditioner.replace(',format=sbell:3', '')}` | `{format}` "
            f"| {row['iterations']} | {1000 * row['setup_seconds']:.1f} ms | {row['seconds']:.3f} s |"
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


def factorisations():
    bench = load("h200/factor.json")
    batch = 500000

    def one(op, pivoting, kind, n):
        return next(
            row
            for row in bench["rows"]
            if (row["op"], row.get("pivoting"), row["type"], row["n"], row["batch"])
            == (op, pivoting, kind, n, batch)
            and row["implementation"] == "tessera"
            and row["workspace"] == "fastest"
        )

    def peer(kind, n):
        return next(
            row["milliseconds"]
            for row in bench["rows"]
            if (row["implementation"], row["type"], row["n"], row["batch"])
            == ("cublas_getrf", kind, n, batch)
        )

    wanted = [
        ("ldu", "partial"),
        ("ldu", "full"),
        ("llt", "static"),
        ("ldlt", "bunch_kaufman"),
        ("ldlt", "full"),
    ]
    lines = [
        f"{batch:,} random matrices of n rows factored on {bench['device']}, milliseconds (and of "
        "copy, for matrices, factors and permutations):",
        "",
        "| n | LDU, partial pivoting | LDU, full | LL^T | LDL^T, Bunch-Kaufman | LDL^T, complete "
        "| cuBLAS getrfBatched |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, name in (("f64", "FP64"), ("f32", "FP32")):
        for n in (4, 8, 16, 32):
            rows = [one(op, pivoting, kind, n) for op, pivoting in wanted]
            cells = [f"{row['milliseconds']:.3g} ({row['fraction_of_copy']:.0%})" for row in rows]
            lines.append(
                f"| {n}, {name} | " + " | ".join(cells) + f" | {peer(kind, n):.3g} |"
            )
    return "\n".join(lines)


def block_ldlt():
    document = load("h200/block_ldlt_table1_200000.json")
    kinds = {}
    for row in document["rows"]:
        if row["preconditioner"].startswith("block_ldlt:8,fill=") or row["preconditioner"] == "none":
            kinds.setdefault(row["matrix"], []).append(row)
    lines = [
        f"200,000 unknowns with GMRES(25) to a true relative residual of 1e-8 on {document['device']}, "
        f"matching and ordering on {document['threads']} cores of its host (at commit "
        f"{document['commit']}). Without a preconditioner the residual is what 400 products leave:",
        "",
        "| System | Without | Fill | Levels | Products, with probes | Setup | New values | Solve |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for matrix, rows in kinds.items():
        row = next(
            (r for r in rows if r["status"] == "converged" and r["products"] <= 400 and "fill" in r),
            None,
        )
        if row is None:
            continue
        lines.append(
            f"| `{matrix}` | {rows[0]['true_relative_residual']:.0e} | {row['fill']} | {row['levels']:,} "
            f"| {row['products']} | {row['setup_seconds']:.2f} s | {row['numeric_milliseconds']:.1f} ms "
            f"| {row['seconds']:.3f} s |"
        )
    return "\n".join(lines)


def main(arguments):
    path = root / "README.md"
    before = path.read_text()
    makers = {
        "first_run": first_run,
        "block_jacobi": block_jacobi,
        "solves": solves,
        "elasticity": elasticity,
        "batched": batched,
        "factorisations": factorisations,
        "block_ldlt": block_ldlt,
    }
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
