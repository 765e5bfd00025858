"""The tables of multigrid that readme.py writes."""
from recorded_results import load, one, select


def multigrid():
    """Beside diagonal conjugate gradients and a polynomial."""
    documents = [load(f"h200/multigrid_{name}.json") for name in ("large", "large_diffusion")]
    commits = " and ".join(dict.fromkeys(document["commit"] for document in documents))
    lines = [
        f"Flexible conjugate gradients with `amg` to a true relative residual of 1e-8 on "
        f"{documents[0]['device']} (at commit {commits}), milliseconds. Update: new values on the "
        "same pattern. For comparison, setup and solve of conjugate gradients with "
        "`chebyshev:6,precision=f32,values=f16`, and of diagonal ones on cuSPARSE CSR:",
        "",
        "| Problem | Unknowns | Iterations | Operator complexity | Setup | Update | Solve "
        "| Polynomial (iterations) | Diagonal (iterations) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = [row for document in documents for row in document["rows"]]
    for own in select(rows, preconditioner="amg"):
        others = select(rows, matrix=own["matrix"])
        polynomial = next(r for r in others if r["preconditioner"].startswith("chebyshev:6,"))
        cells = [f"{own['rows']:,}", f"{own['iterations']}", f"{own['operator_complexity']:.2f}"]
        cells += [f"{1e3 * own[key]:.0f}" for key in ("setup_seconds", "update_seconds", "seconds")]
        for row in (polynomial, one(others, preconditioner="jacobi")):
            both = 1e3 * (row["setup_seconds"] + row["seconds"])
            cells.append(f"{both:.0f} ({row['iterations']:,})")
        lines.append(f"| `{own['matrix']}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def multigrid_peers():
    """The fastest of the runs of each; the conversion to SBELL is added to the setup."""
    def parts(row):
        return row["setup_seconds"] + row.get("product_seconds", 0), row["seconds"]

    threads = {n: load(f"cpu/multigrid_peers_{n}.json")["rows"] for n in (1, 2)}
    lines, slowest = [], 1
    for size in (26, 54):
        peer = load(f"cpu/multigrid_peers_pyamg_{size}.json")["rows"]
        matrix = peer[0]["matrix"]
        runs = {peer[0]["implementation"]: peer} | {
            f"`amg`, {n} thread" + "s" * (n > 1): select(rows, matrix=matrix)
            for n, rows in threads.items()
        }
        peer_seconds = min(sum(parts(row)) for row in peer)
        for name, rows in runs.items():
            setup, solve = min((parts(row) for row in rows), key=sum)
            slowest = max(slowest, *(sum(parts(row)) / (setup + solve) for row in rows))
            gain = "" if rows is peer else f"{peer_seconds / (setup + solve):.1f}"
            lines.append(
                f"| `{matrix}` | {name} | {rows[0]['iterations']} | {setup:.2f} | {solve:.2f} "
                f"| {setup + solve:.2f} | {gain} |"
            )
    return "\n".join(
        [
            "Compared with pyamg on two cores, seconds; the fastest of three runs, of which the slowest took "
            f"up to {slowest - 1:.0%} longer:",
            "",
            "| Problem | Solver | Iterations | Setup | Solve | Total | Speedup |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        + lines
    )


def multigrid_matrices():
    """All but the matrices that one of the three solves in less than three iterations."""
    bench = load("cpu/multigrid_matrices.json")
    ends = {"accuracy_lost": " (accuracy)", "max_iterations": " (none)", "converged": ""}
    names = list(dict.fromkeys(row["matrix"] for row in bench["rows"]))
    lines = []
    for name in names:
        rows = select(bench["rows"], matrix=name)
        if min(row["iterations"] for row in rows) < 3:
            continue
        cells = [
            f"{row['iterations']:,}{ends[row['status']]} "
            f"| {1000 * (row['setup_seconds'] + row['seconds']):.0f}"
            for row in rows
        ]
        lines.append(f"| {name} | {rows[0]['rows']:,} | {' | '.join(cells)} |")
    return "\n".join(
        [
            f"Real matrices without coordinates, {bench['threads']} threads: iterations and "
            "milliseconds of setup and solve. (accuracy): ended above 1e-8 by rounding; (none): not "
            "in 50,000 iterations. Diagonal matrices are left out:",
            "",
            "| Matrix | Rows | `amg` | ms | `block_jacobi` | ms | `least_squares:6` | ms |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        + lines
    )
