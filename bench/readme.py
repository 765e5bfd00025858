#!/usr/bin/env python3
"""Writes the numbers of README.md and docs from bench/results; `--check` only says whether they agree.

In each document the part between "<!-- results: NAME -->" and "<!-- end -->" is made by the function
of that name.
"""
import csv
import math
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "figures"))
from recorded_results import load, one, results, root, select
from readme_auto import auto
from readme_graphs import graphs
from readme_interfaces import petsc, petsc_convection, petsc_ranks, python, python_cpu
from readme_multigrid import multigrid, multigrid_matrices, multigrid_peers
from readme_ranks import ranks_measured, ranks_model
from readme_scaling import scaling, scaling_local, scaling_measured
from readme_validation import makers as validation_makers
from study_results import Study, geometric_mean


def recorded(name):
    """The output of `tessera solve`; it must agree with its JSON in the same folder."""
    text = (results / "cpu" / f"{name}.txt").read_text()
    report = load(f"cpu/{name}.json")
    iterations = f"{report['iterations']} iteration" + "s" * (report["iterations"] != 1)
    for expected in (
        f"{report['status']} in {iterations}",
        f"{report['matrix']['rows']} rows, {report['matrix']['nonzeros']} nonzeros",
        f"residual        {report['true_relative_residual']:.3e}",
        f"solve {report['seconds']['solve']:.3f}",
    ):
        if expected not in text:
            sys.exit(f"bench/results/cpu/{name}.txt lacks '{expected}' of the JSON")
    return text


def fenced(text):
    return "```text\n" + text.rstrip("\n") + "\n```"


def first_run():
    return fenced(recorded("elasticity3d_32"))


def plate_mtx():
    """Without the table of phases."""
    return fenced(recorded("plate_mtx").split("\n\n")[0])


def plate_info():
    return fenced((results / "cpu" / "plate_info.txt").read_text())


def plate_msh():
    return fenced(recorded("plate_msh").split("\n\n")[0])


def fastest(rows, **keys):
    return min(row["milliseconds"] for row in select(rows, **keys))


def time_text(milliseconds):
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f} s"


def inversion_peers(path, n, names):
    """Milliseconds of inverting FP64 matrices of n rows: ours, and the fastest peer's."""
    rows = select(load(path)["rows"], op="invert", layout="uniform", type="f64", n=n)
    own = one(rows, implementation="tessera")
    return own["batch"], own["milliseconds"], min(fastest(rows, implementation=p) for p in names)


def factor_rows():
    """Those of the workspace that the library chooses, where the benchmark names one."""
    rows = load("h200/factor.json")["rows"]
    return [row for row in rows if row.get("workspace", "fastest") == "fastest"]


def peers():
    """One line an operation, with the peer's time."""
    lines = []

    def add(what, own, peer, who):
        lines.append(
            f"| {what} | {time_text(own)} | {who}, {time_text(peer)} | {peer / own:.2g} |"
        )

    cublas = ("cublas_getrf_getri", "cublas_matinv")
    batch, own, peer = inversion_peers("h200/batched.json", 32, cublas)
    add(f"invert {batch:,} matrices of 32 rows", own, peer, "cuBLAS")
    rows = load("h200/batched_solve.json")["rows"]
    rows = select(rows, op="solve", layout="uniform", type="f64", n=16)
    own = one(rows, implementation="tessera")
    peer = fastest(rows, implementation="cublas_getrf_getrs")
    add(f"solve {own['batch']:,} systems of 16 equations", own["milliseconds"], peer, "cuBLAS")
    batch, own, peer = inversion_peers("cpu/batched.json", 16, ("lapack", "eigen"))
    add(f"invert {batch:,} matrices of 16 rows, one CPU core", own, peer, "OpenBLAS, Eigen")

    lines_of = [line for line in (root / "bench/ginkgo_block_jacobi.csv").open() if line[0] != "#"]
    rows = load("h200/block_jacobi.json")["rows"]
    rows = select(rows, op="setup", type="f64", precision="working", n=32)
    own, ginkgo = next(
        (row, peer)
        for row in rows
        for peer in csv.DictReader(lines_of)
        if (peer["matrix"], peer["type"], int(peer["n"])) == (row["matrix"], "f64", 32)
    )
    what = f"set up `block_jacobi:32`, `{own['matrix']}`"
    add(what, own["milliseconds"], float(ginkgo["setup"]), "Ginkgo 1.12")

    bench = load("h200/spmv_elasticity.json")["rows"]
    rows = select(bench, matrix="elasticity3d:90,free", type="f64")
    own = fastest(rows, implementation="sbell:3")
    peer = min(r["milliseconds"] for r in rows if r["implementation"].startswith("cusparse"))
    add("product, 90^3 hexahedra, SBELL", own, peer, "cuSPARSE, fastest format")

    rows = select(load("h200/multigrid_large.json")["rows"], matrix="elasticity3d:90")
    base = one(rows, solver="cg", preconditioner="jacobi", format="cusparse_csr")
    own = one(rows, solver="fcg", preconditioner="amg")
    parts = ("product_seconds", "setup_seconds", "seconds")
    both = [1000 * sum(row[part] for part in parts) for row in (own, base)]
    add("solve `elasticity3d:90`, `amg`, SBELL", *both, "Jacobi CG, cuSPARSE CSR")

    rows = select(load("cpu/block_ldlt_table1_20000.json")["rows"], matrix="kkt:13333")
    base = one(rows, preconditioner="mumps")
    own = one(rows, preconditioner="block_ldlt:8,fill=0")
    both = [1000 * (row["setup_seconds"] + row["seconds"]) for row in (own, base)]
    add("solve `kkt:13333`, `block_ldlt:8`, 16 CPU cores", *both, "MUMPS 5.5, one core")

    rows = load("validation.json")["speed"]["rows"]
    rows = [row for row in rows if row["nodes"] > 100_000 and row["seconds"] is not None]
    own = one(rows, way="tessera")
    peer = min((row for row in rows if "tessera" not in row["way"]), key=lambda row: row["seconds"])
    what = f"a mesh of {own['nodes']:,} nodes, file to stresses, {own['threads']} CPU cores"
    add(what, 1000 * own["seconds"], 1000 * peer["seconds"], peer["way"])
    return "\n".join(
        [
            f"FP64 on one {load('h200/batched.json')['device']} unless noted; "
            "solves to a relative residual of 1e-8, setup included.",
            "",
            "| Operation | Tessera | Peer | Speedup |",
            "| --- | --- | --- | --- |",
        ]
        + lines
    )


def block_jacobi_table(path, matrix):
    bench = load(path)
    rows = {
        (row["op"], row["n"], row.get("precision")): row
        for row in bench["rows"]
        if (row["matrix"], row["type"]) == (matrix, "f64") and row.get("vectors", 1) == 1
    }
    first = rows["find_blocks", 4, None]
    lines = [
        f"`{matrix}` ({first['rows']:,} unknowns, {first['nonzeros']:,} nonzeros, FP64) on "
        f"{bench['device']} (copy bandwidth {bench['copy_gbps']:,.0f} GB/s), milliseconds:",
        "",
        "| Bound | Find blocks | Setup | Apply | Inverses "
        "| Setup, adaptive | Apply, adaptive | Inverses, adaptive |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n in (4, 8, 16, 32):
        find = rows["find_blocks", n, None]
        cells = [f"{find['milliseconds']:.3g} ({find['fraction_of_copy']:.0%})"]
        for precision in ("working", "adaptive"):
            apply = rows["apply", n, precision]
            cells += [
                f"{rows['setup', n, precision]['milliseconds']:.3g}",
                f"{apply['milliseconds']:.3g} ({apply['fraction_of_copy']:.0%})",
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


def products():
    """SBELL compared with the fastest format of cuSPARSE."""
    document = load("h200/spmv_elasticity.json")
    names = {
        "elasticity2d:400,free": "400 x 400 quadrilaterals",
        "elasticity2d:1600,free": "1600 x 1600 quadrilaterals",
        "elasticity3d:54,free": "54^3 hexahedra",
        "elasticity3d:90,free": "90^3 hexahedra",
        "elasticity2d:727,element=t3,jitter=0.4,free": "727 x 727 x 2 triangles, jittered",
        "elasticity3d:58,element=tet4,jitter=0.4,free": "58^3 x 6 tetrahedra, jittered",
    }
    lines = [
        f"Products y = A x on {document['device']} in SBELL, milliseconds (and speedup over the "
        "fastest format of cuSPARSE: CSR by both algorithms, sliced ELLPACK, BSR):",
        "",
        "| Mesh | Nonzeros | FP64 | FP32 | FP16 values, FP32 vectors |",
        "| --- | --- | --- | --- | --- |",
    ]
    for matrix, name in names.items():
        rows = select(document["rows"], matrix=matrix)
        block = 2 if "2d" in matrix else 3
        cells = []
        for kind in ("f64", "f32"):
            own = fastest(rows, type=kind, implementation=f"sbell:{block}")
            best = min(
                row["milliseconds"]
                for row in select(rows, type=kind)
                if row["implementation"].startswith("cusparse")
            )
            cells.append(f"{own:.4f} ({best / own:.2f})")
        narrow = fastest(rows, type="f32", implementation=f"sbell:{block},values=f16")
        cells.append(f"{narrow:.4f}")
        lines.append(f"| {name} | {rows[0]['nonzeros']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def elasticity():
    matrix = "elasticity3d:90"
    rows = select(load("h200/solve_elasticity.json")["rows"], matrix=matrix)
    base = next(row for row in rows if row["format"] == "cusparse_csr")
    lines = [
        f"`{matrix}` ({base['rows']:,} unknowns) to a true relative residual of 1e-8, vectors of "
        "the solver in FP64:",
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
    ]
    for solver, preconditioner, format in wanted:
        row = one(rows, solver=solver, preconditioner=preconditioner, format=format)
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
        f"500,000 random matrices of n rows inverted on one {bench['device']} (copy bandwidth "
        f"{bench['copy_gbps'] / 1000:.2f} TB/s); 2 n^3 operations per matrix:",
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


def batched_solves():
    """Milliseconds of uniform batches by size, with the share of copy, and the peer's time."""
    rows = []
    for name in ("batched_solve", "batched_solve_large"):
        rows += select(load(f"h200/{name}.json")["rows"], op="solve", layout="uniform")
    lines = [
        "Random general systems of n equations with one right-hand side, solved with partial pivoting "
        "(cuBLAS: getrf, getrs); the share of copy counts A and b read and x written once:",
        "",
        "| n | Systems | FP64 ms | of copy | over cuBLAS | FP32 ms | of copy | over cuBLAS |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n in sorted({row["n"] for row in rows}):
        cells = []
        for kind in ("f64", "f32"):
            own = one(select(rows, n=n, type=kind), implementation="tessera")
            peer = fastest(rows, n=n, type=kind, implementation="cublas_getrf_getrs")
            cells += [
                f"{own['milliseconds']:.3g}",
                f"{own['fraction_of_copy']:.0%}",
                f"{peer / own['milliseconds']:.1f}x",
            ]
        lines.append(f"| {n} | {own['batch']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def factorisations():
    device = load("h200/factor.json")["device"]
    batch = 500000
    rows = select(factor_rows(), batch=batch)
    wanted = [
        ("ldu", "partial"),
        ("ldu", "full"),
        ("llt", "static"),
        ("ldlt", "bunch_kaufman"),
        ("ldlt", "full"),
    ]
    lines = [
        f"{batch:,} random matrices of n rows factored on {device}, milliseconds (and of "
        "copy, for matrices, factors and permutations):",
        "",
        "| n | LDU, partial pivoting | LDU, full | LL^T | LDL^T, Bunch-Kaufman | LDL^T, full "
        "| cuBLAS getrfBatched |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, name in (("f64", "FP64"), ("f32", "FP32")):
        for n in (4, 8, 16, 32):
            cells = []
            for op, pivoting in wanted:
                row = one(
                    rows, op=op, pivoting=pivoting, type=kind, n=n, implementation="tessera"
                )
                cells.append(f"{row['milliseconds']:.3g} ({row['fraction_of_copy']:.0%})")
            peer = fastest(rows, implementation="cublas_getrf", type=kind, n=n)
            lines.append(f"| {n}, {name} | " + " | ".join(cells) + f" | {peer:.3g} |")
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
        f"{document['commit']}). \"Without\" is the residual after 400 products without a "
        "preconditioner; products include those of the safeguard's probes; \"new values\" is an "
        "update with the same pattern:",
        "",
        "| System | Without | Fill | Levels | Products | Setup | New values | Solve |",
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


makers = [
    auto, batched, batched_solves, block_jacobi, block_ldlt, elasticity, factorisations, first_run,
    graphs, multigrid, multigrid_matrices, multigrid_peers, peers, petsc, petsc_convection, petsc_ranks,
    plate_info, plate_msh, plate_mtx, products, python, python_cpu, ranks_measured, ranks_model, scaling,
    scaling_local, scaling_measured, solves, *validation_makers,
]


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    named = {maker.__name__: maker for maker in makers}
    unused = set(named)

    def made(found):
        unused.discard(found[2])
        return found[1] + named[found[2]]() + "\n" + found[3]

    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        before = path.read_text()
        after = re.sub(
            r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", made, before, flags=re.DOTALL
        )
        if before == after:
            continue
        if arguments:
            sys.exit(f"{path.relative_to(root)} differs from bench/results; run bench/readme.py")
        path.write_text(after)
    if unused:
        sys.exit(f"no document shows {', '.join(sorted(unused))}")


if __name__ == "__main__":
    main(sys.argv[1:])
