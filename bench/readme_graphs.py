"""The table of graphs and matrices that are no meshes, for docs/performance.md."""
from recorded_results import load

ROWS = 100_000


def seconds(row, word):
    """Time of a solve that ended with a solution; infinite for others."""
    solved = row[word]["status"] in ("converged", "rounding_limit", "least_squares")
    return row[word]["seconds"] if solved else float("inf")


def milliseconds(time):
    return "-" if time == float("inf") else f"{1e3 * time:.3g}" if time < 1 else f"{1e3 * time:.0f}"


def graphs():
    """What was measured, and a line for each kind at about 100,000 rows."""
    report = load("cpu/graphs_2_threads.json")
    systems = report["systems"]
    words = [key for key, value in systems[0].items() if isinstance(value, dict)]
    words.remove("spsolve")
    best = [min(seconds(row, word) for word in words) for row in systems]
    auto = [seconds(row, "auto") for row in systems]
    within = [sum(t <= factor * s + 0.1 or s == float("inf") for t, s in zip(auto, best))
              for factor in (3, 10)]
    memory = max(row["auto"].get("memory", 0) / max(row["bytes"], 1e7) for row in systems)
    lines = [
        f"{len(systems)} systems of 10,000 to 300,000 rows, {report['threads']} threads: `auto` solves "
        f"{sum(t < float('inf') for t in auto)}, {within[0]} within 3 times the fastest of its own "
        f"words and 0.1 s, {within[1]} within 10 times; it takes up to {memory:.1f} times the memory "
        "of the matrix (of 10 MB, where that has less). Those of about 100,000 rows, in ms; - is no "
        "solution in 20 s (SciPy: 3 s):",
        "",
        "| Kind | `auto` | Fastest word | SciPy's `spsolve` |",
        "| --- | --- | --- | --- |",
    ]
    for row in systems:
        if not row["system"].endswith(f", {ROWS:,} rows"):
            continue
        word = min((word for word in words if word != "auto"), key=lambda word: seconds(row, word))
        lines.append(f"| {row['system'].removesuffix(f', {ROWS:,} rows')} | "
                     f"{milliseconds(seconds(row, 'auto'))} | "
                     f"{milliseconds(seconds(row, word))} ({word}) | "
                     f"{milliseconds(seconds(row, 'spsolve'))} |")
    return "\n".join(lines)
