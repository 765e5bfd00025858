"""The table of auto beside the fastest way, for docs/performance.md."""
from recorded_results import load, results

FILES = ("cpu/auto_2_threads.json", "h200/auto_16_threads.json", "h200/auto_cuda.json")


def ratio(row):
    if row["best"] is None:
        return None
    if row["auto_status"] != "converged":
        return float("inf")
    return row["auto_seconds"] / row["best_seconds"]


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def cell(row):
    value = ratio(row)
    if value is None:
        return "none solves it"
    if row["auto_status"] != "converged":
        return f"not solved ({milliseconds(row['best_seconds'])})"
    return (f"{milliseconds(row['auto_seconds'])} ({milliseconds(row['best_seconds'])}), "
            f"{max(value, 1):.2f}")


def auto():
    """One line a system: milliseconds of auto, and of the fastest."""
    found = [load(name) for name in FILES if (results / name).exists()]
    titles = [f"{one['device'].split(',')[0]}, {one['threads']} threads"
              if one["kind"] == "cpu" else one["device"] for one in found]
    lines = ["| System | " + " | ".join(titles) + " |", "| --- |" + " --- |" * len(found)]
    for row in found[0]["rows"]:
        cells = [next((cell(other) for other in one["rows"] if other["system"] == row["system"]), "")
                 for one in found]
        lines.append(f"| `{row['system']}` | " + " | ".join(cells) + " |")
    shares = []
    for title, one in zip(titles, found):
        ratios = [ratio(row) or 1 for row in one["rows"]]
        good = sum(value <= 1.25 for value in ratios)
        shares.append(f"{title}: {good} of {len(ratios)} within 1.25, at most {max(ratios):.2f}")
    return "\n".join(lines) + "\n\nTimes as long as the fastest: " + "; ".join(shares) + "."
