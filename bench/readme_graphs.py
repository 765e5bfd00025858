"""The table of graphs and matrices that are no meshes, for docs/performance.md."""
from recorded_results import load

ROWS = 100_000
UNSOLVED = float("inf")


def seconds(row, word):
    """Time of a solve that ended with a solution; infinite for others."""
    solved = row[word]["status"] in ("converged", "rounding_limit", "least_squares")
    return row[word]["seconds"] if solved else UNSOLVED


def milliseconds(time):
    return "-" if time == UNSOLVED else f"{1e3 * time:.3g}" if time < 1 else f"{1e3 * time:.0f}"


def words_of(row):
    """Those beside auto."""
    return [key for key, value in row.items()
            if isinstance(value, dict) and key not in ("auto", "spsolve")]


def fastest(row):
    return min(words_of(row), key=lambda word: seconds(row, word))


def summary(report, where):
    """How auto compares with its words."""
    systems = report["systems"]
    best = [min(seconds(row, word) for word in [*words_of(row), "auto"]) for row in systems]
    auto = [seconds(row, "auto") for row in systems]
    within = [sum(t <= factor * s + 0.1 or s == UNSOLVED for t, s in zip(auto, best))
              for factor in (3, 10)]
    memory = max(row["auto"].get("memory", 0) / max(row["bytes"], 1e7) for row in systems)
    rows = [row["rows"] for row in systems]
    return (f"{where}, {len(systems)} systems of {min(rows):,} to {max(rows):,} rows: `auto` solves "
            f"{sum(t < UNSOLVED for t in auto)}, {within[0]} within 3 times the fastest of its own words "
            f"and 0.1 s, {within[1]} within 10 times; it takes up to {memory:.1f} times the memory of "
            "the matrix (of 10 MB, where that has less).")


def graphs():
    """What was measured, and a line for each kind at about 100,000 rows."""
    host = load("cpu/graphs_2_threads.json")
    device = load("h200/graphs_cuda.json")
    on_device = {row["system"]: row for row in device["systems"]}
    lines = [
        f"- {summary(host, str(host['threads']) + ' threads')}",
        f"- {summary(device, 'NVIDIA H200, by the command line program')}",
        "",
        f"Those of about {ROWS:,} rows, in ms; - is no solution in 12 to 20 s (H200: 8 s, SciPy: 2 to 3 s):",
        "",
        "| Kind | `auto` | Fastest word | SciPy's `spsolve` | H200: `auto` | Fastest word |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in host["systems"]:
        if not row["system"].endswith(f", {ROWS:,} rows"):
            continue
        cells = [row["system"].removesuffix(f", {ROWS:,} rows"), milliseconds(seconds(row, "auto")),
                 f"{milliseconds(seconds(row, fastest(row)))} ({fastest(row)})",
                 milliseconds(seconds(row, "spsolve"))]
        other = on_device.get(row["system"])
        cells += ["", ""] if other is None else [
            milliseconds(seconds(other, "auto")),
            f"{milliseconds(seconds(other, fastest(other)))} ({fastest(other)})"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
