#!/usr/bin/env python3
"""What multigrid spends its time on: setup by phase, update and solve, per unknown.

Of each matrix the left bar is setup and solve, the right one update (new values on the same
pattern) and solve. Phases are those that `tessera solve` reports (multigrid_phases_*.json); without
them setup is one piece. Asserted: an update takes less time than a setup; every phase is drawn.
"""
import json

from measured_results import Figure, colours

figure = Figure(__file__, __doc__, "multigrid_[!mp]", "multigrid")
runs = [json.loads(p.read_text()) for p in figure.folder.glob("multigrid_phases_*.json")]
runs = {run["matrix"]["name"]: run for run in runs}
kinds = ("elasticity3d", "cantilever3d", "poisson3d")
measured = {}  # Of several rows the one with the fastest setup counts.
for row in figure.rows:
    name = row["matrix"]
    wanted = name in runs if runs else name.startswith(kinds) and row["rows"] >= 4e5
    if row["preconditioner"] == "amg" and wanted:
        if row["setup_seconds"] <= measured.get(name, row)["setup_seconds"]:
            measured[name] = row
figure.needs(systems=measured)
order = {name: (kinds.index(name.split(":")[0]), row["rows"]) for name, row in measured.items()}
measured = {name: measured[name] for name in sorted(measured, key=order.get)}


def pieces(name):
    """({piece: seconds} of the first solve, of one with new values)."""
    row, run = measured[name], runs.get(name)
    first = {"setup": row["setup_seconds"], "solve": row["seconds"]}
    if run:
        first = {p["name"]: p["seconds"] for p in run["phases"] if p["name"].startswith("setup: ")}
        first["solve"] = run["seconds"]["solve"]
    return first, {"update": row["update_seconds"], "solve": row["seconds"]}


bars = {name: pieces(name) for name in measured}
for name, (first, second) in bars.items():
    text = ", ".join(f"{piece} {1e3 * seconds:.1f}" for piece, seconds in first.items())
    print(f"  {name}, ms: {text}; with new values: update {1e3 * second['update']:.1f}")
slow = [name for name, row in measured.items() if row["update_seconds"] >= row["setup_seconds"]]
ratios = [row["update_seconds"] / row["setup_seconds"] for row in measured.values()]
figure.claim("an update takes less time than a setup", not slow,
             f"{min(ratios):.2f} to {max(ratios):.2f} of it")
shades = {
    "setup": "#4a86c5", "setup: blocks": "#cfe2f3", "setup: scaling": "#9fc5e8",
    "setup: aggregates": "#6fa8dc", "setup: bounds": "#3d85c6", "setup: products": "#0b5394",
    "setup: coarsest": "#073763", "setup: values": "#351c75", "update": colours[3],
    "solve": colours[2],
}
unknown = {p for both in bars.values() for stack in both for p in stack} - shades.keys()
figure.claim("every phase is drawn", not unknown, ", ".join(sorted(unknown)) or "none is unknown")
pyplot = figure.pyplot()
if pyplot is not None:
    picture, axis = pyplot.subplots(figsize=(2.6 + 1.1 * len(bars), 4.2), layout="constrained")
    for k, (name, both) in enumerate(bars.items()):
        for shift, stack in zip((-0.2, 0.2), both):
            base = 0
            for piece in (p for p in shades if p in stack):
                height = 1e9 * stack[piece] / measured[name]["rows"]
                axis.bar(k + shift, height, 0.36, base, color=shades[piece], edgecolor="white",
                         linewidth=0.4)
                base += height
    used = [p for p in shades if any(p in stack for both in bars.values() for stack in both)]
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=shades[piece]) for piece in used]
    axis.legend(handles[::-1], used[::-1], fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axis.set_xticks(
        range(len(bars)), [name.replace(",", ",\n") for name in bars], fontsize=8, rotation=20
    )
    axis.set_ylabel("nanoseconds per unknown")
    axis.set_title("left: setup and solve; right: update and solve", fontsize=9)
    axis.grid(alpha=0.3, axis="y")
    axis.set_axisbelow(True)
    figure.save(picture)
figure.finish()
