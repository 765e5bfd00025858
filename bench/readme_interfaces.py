"""The tables of the Python package and of the PETSc plug-in, for docs/performance.md."""
import sys

from recorded_results import load


def python():
    document = load("h200/python.json")
    results, versions = document["results"], document["versions"]
    lines = [
        f"On one {document['device']}, with CuPy {versions['cupy']} and torch {versions['torch']}:",
        "",
        "| Call | Time | Compared with | Speedup |",
        "| --- | --- | --- | --- |",
    ]
    for peer in ("cupy", "torch"):
        row = results[f"1000000 inverses of 4 rows, {peer}"]
        lines.append(
            f"| `tessera.batched.inv`, 1,000,000 matrices of 4 rows, FP32, {peer} | "
            f"{1e3 * row['tessera']:.3f} ms | `{peer}.linalg.inv`, {1e3 * row['linalg.inv']:.2f} ms | "
            f"{row['linalg.inv'] / row['tessera']:.1f} |")
    for how in ("with", "without"):
        row = results[f"elasticity3d:90, {how} coordinates"]
        lines.append(
            f"| `tessera.solve`, `elasticity3d:90` as CuPy CSR, {how} coordinates, setup included | "
            f"{1e3 * row['tessera']:.0f} ms | CuPy's `cg` with the diagonal, "
            f"{1e3 * row['cupy']:.0f} ms | {row['cupy'] / row['tessera']:.1f} |")
    overheads = []
    for name in ("numpy", "cupy", "torch"):
        inverse, solve = results[f"overhead of batched.inv, {name}"], results[f"overhead of cg, {name}"]
        overheads.append(f"{name} {1e6 * (inverse['inv'] - inverse['direct']):.0f} and "
                         f"{1e6 * (solve['cg'] - solve['direct']):.0f}")
    return ("\n".join(lines) + "\n\nMicroseconds that a call takes beyond the same call of the extension, "
            "`batched.inv` and `cg`: " + "; ".join(overheads) + ".\n\n" + from_host(results))


def from_host(results):
    name = next(name for name in results if name.endswith(" of SciPy on a GPU"))
    row = results[name]
    return (f"`{name.split()[0]}` of SciPy in host memory, {row['bytes'] / 1e6:.0f} MB: `Solver(A, M=\"amg\", "
            f"device=\"cuda\")` {1e3 * row['setup']:.0f} ms, `update` with new values {1e3 * row['update']:.0f} ms.")


def petsc():
    document = load("h200/petsc.json")
    lines = [
        f"Linear elasticity, hexahedra, conjugate gradients to 1e-8 in PETSc {document['petsc']} on "
        f"{document['device']}; setup is that of new values on a known pattern:",
        "",
        "| Unknowns | GPUs | `-pc_type` | Product | Iterations | PCSetUp | KSPSolve |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in document["rows"]:
        kind = f"`{row['pc_type']}`"
        if "mg_levels_pc_type" in row:
            kind += f", smoothed by `{row['mg_levels_pc_type']}`"
        if "spec" in row:
            kind += f", `{row['spec']}`" + (" of each rank" if row["ranks"] > 1 else "")
        if "nodes_per_block" in row:
            kind += f", {row['nodes_per_block']} nodes a block"
        if "values" in row:
            kind += f", {row['values']} values"
        if "precision" in row:
            kind += f", {row['precision']} precision"
        if "messages" in row:
            kind += f", messages by {row['messages'].upper()}"
        setup = 1e3 * row["PCSetUp_seconds"]
        setup = round(setup) if setup >= 1000 else setup
        lines.append(
            f"| {row['rows']:,} | {row['ranks']} | {kind} | {row.get('product', 'PETSc')} | {row['iterations']} | "
            f"{setup:.4g} ms | {row['KSPSolve_seconds']:.3f} s |")
    return "\n".join(lines)


def petsc_ranks():
    document = load("cpu/petsc_ranks.json")
    lines = [
        f"Conjugate gradients to 1e-8 in PETSc {document['petsc']} on {document['cores']} cores "
        f"({document['device']}), seconds of setup and solve, the best of {document['repeats']} runs:",
        "",
        "| Problem | Unknowns | Ranks | `-pc_type` | Iterations | Setup + solve |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    best = {}
    for row in document["rows"]:
        key = row["problem"], row["ranks"], row["pc_type"]
        seconds = row["setup_seconds"] + row["solve_seconds"]
        if key not in best or seconds < best[key][0]:
            best[key] = seconds, row
    names = {"tessera": "`tessera`, `amg`"}
    for (problem, ranks, kind), (_, row) in best.items():
        name = names.get(kind, f"`{kind}`") + (" of each rank" if kind == "tessera" and ranks > 1 else "")
        lines.append(
            f"| `{problem}` | {row['rows']:,} | {ranks} | {name} | {row['iterations']} | "
            f"{row['setup_seconds']:.2f} + {row['solve_seconds']:.2f} s |")
    return "\n".join(lines)


def petsc_convection():
    document = load("cpu/petsc_convection.json")
    device = document["device"].split(",")[0]
    lines = [
        f"gmres(50) from the right to 1e-8 in PETSc {document['petsc']}, {device}, one thread a rank "
        "on a machine with other work (iterations; shortest seconds of setup + solve of three runs):",
        "",
        "| `-pc_type`, `-sub_pc_type` | " + " | ".join(
            f"`{system}`, {ranks} rank{'s' if ranks > 1 else ''}"
            for system, ranks in dict.fromkeys((r["matrix"], r["ranks"]) for r in document["rows"])) + " |",
    ]
    lines.append("| --- " * (lines[-1].count("|") - 1) + "|")
    for name in dict.fromkeys(row["preconditioner"] for row in document["rows"]):
        cells = [
            f"{row['iterations']}; {row['setup_seconds']:.2f} + {row['solve_seconds']:.2f}"
            for row in document["rows"] if row["preconditioner"] == name
        ]
        kinds = ", ".join(f"`{kind}`" for kind in name.split(" + "))
        lines.append(f"| {kinds} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def python_cpu():
    document = load("cpu/python.json")
    versions = document["versions"]
    lines = [
        f"Systems of scikit-fem on {document['device']}, seconds to a relative residual of 1e-8, setup and "
        f"conversions included; medians of several runs in turn. SciPy {versions['scipy']}; pyamg "
        f"{versions['pyamg']}, whose near-null vectors are the rigid body modes, on CSR or BSR, whichever "
        "is faster:",
        "",
        "| System | Unknowns | `solve`, `coordinates=` | `solve(A, b)` | SciPy `cg`, diagonal | pyamg, `cg` "
        "| Speedup over the faster of these two |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in document["results"].items():
        ways = row["ways"]
        pyamg = min((way for way in ways if way.startswith("pyamg")), key=lambda w: ways[w]["seconds"])
        own = ["tessera, coordinates", "tessera"]
        peers = ["scipy cg, diagonal", pyamg]
        better = min(ways[way]["seconds"] for way in peers)
        cells = []
        for way in own + peers:
            found = ways[way]
            if found["true_relative_residual"] > 1.001e-8:
                sys.exit(f"cpu/python.json: {name}, {way}: did not reach 1e-8")
            about = f"`{found['preconditioner'].split(',')[0]}`, " if way in own else ""
            cells.append(f"{found['seconds']:.3f} ({about}{found['iterations']})")
        ratios = " and ".join(f"{better / ways[way]['seconds']:.2g}" for way in own)
        lines.append(f"| {name} | {row['rows']:,} | " + " | ".join(cells) + f" | {ratios} |")
    return "\n".join(lines) + "\n\nIn parentheses: what `auto` chose, and iterations."
