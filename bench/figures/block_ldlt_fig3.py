#!/usr/bin/env python3
"""Fig. 3 of the two-level pivoting paper: dominance, and what the reconstruction error depends on.

usage: block_ldlt_fig3.py [RESULTS [PICTURES [TIMES]]]

RESULTS (default: bench/results/cpu) holds block_ldlt_fig3.json of bench/block_ldlt.sh; TIMES
(default: bench/results/h200) and RESULTS hold block_ldlt_time.json for the times of panel
f. Generated systems of 20,000 rows stand for the paper's matrices. Panels:
  a  ||A_ii||_1 - sum_j ||A_ij||_1 over block rows of 8: min, mean, max, as given and after matching
  b  epsilon, c  rows of a block, d  pivoting within and among blocks, e  sweeps: the error
     ||L D L^T - A||_inf / ||A||_inf of the scaled matrix, of all of the product; level by level
     beside it. Base: blocks of 8, 8 sweeps, epsilon 0.1, complete pivoting, no fill, no safeguard,
     ordered by AMD
  f  milliseconds of a numeric factorisation of 200,000 rows by 8 sweeps and level by level

Asserted, the paper's findings: for nearly all matrices there is an epsilon with which sweeps match
the level factor; blocks of 4 rows and more differ little, scalar ones are clearly worse; neither
kind of pivoting plays a striking role; sweeps saturate after the fifth; and they are faster.
Where sweeps diverge (the paper's matrices do, too, with small epsilon) is printed.
"""
import math
import pathlib
import statistics
import sys

from block_ldlt_rows import load, needed, options, pick, system
from measured_results import Figure, colours, root

epsilons = ("0.1", "0.01", "0.001", "0.0001")
blocks = ("1", "4", "8", "16", "32")
pivotings = ("static", "bunch_kaufman", "rook", "complete")
sweeps = ("1", "2", "3", "4", "5", "6", "8", "12", "16")
waves = ("Helmholtz", "Schrödinger", "shell, shifted")
floor = 1e-3  # What is smaller is drawn there: the bordered system is factored exactly.
error_label = "$||LDL^T - A||_\\infty / ||A||_\\infty$, at least 0.001"


def errors(rows, **wanted):
    """{system: exact error}; infinite where it is no number."""
    return {
        name: math.inf if row["reconstruction"] is None else row["reconstruction"]
        for name, row in pick(rows, ordering="amd", **wanted).items()
    }


def ratios(numerators, denominators):
    return {s: numerators[s] / denominators[s] for s in numerators if s in denominators}


def names_of(series, wanted):
    return ", ".join(s for s in series if wanted(series[s])) or "none"


class Fig3(Figure):
    """Panels over the systems."""

    def __init__(self):
        folders = [pathlib.Path(a) for a in sys.argv[1:]]
        if len(folders) > 3 or any(str(f).startswith("-") for f in folders):
            sys.exit(__doc__)
        self.script = pathlib.Path(__file__)
        self.name = self.script.stem
        self.folder = folders[0] if folders else root / "bench/results/cpu"
        self.pictures = folders[1] if folders[1:] else root / "docs/figures"
        times = folders[2] if folders[2:] else root / "bench/results/h200"
        document = needed(self.folder, "fig3")
        self.device = document["device"]
        self.rows = document["rows"]
        self.times = {}
        for folder in (self.folder, times):
            found = load(folder, "time")
            if found:
                name = found["device"].split(",")[0]
                label = name if "GPU" in name or "NVIDIA" in name else f"CPU, {found['threads']} threads"
                self.times[label] = found["rows"]
        self.failed = False
        print(__doc__.strip().splitlines()[0])

    def panel(self, axis, title, series, level=None):
        def drawn(values):
            return [max(floor, values.get(s, math.nan)) if s in values else math.nan for s in systems]

        systems = self.systems
        for place, (label, values) in enumerate(series.items()):
            shift = 0.7 * ((place + 0.5) / len(series) - 0.5)
            axis.plot(
                [i + shift for i in range(len(systems))], drawn(values),
                "osDv^P"[place], color=colours[place], label=label, ms=4,
            )
        if level:
            axis.plot(
                range(len(systems)), drawn(level), "_", color="black", ms=14, zorder=0,
                label="level by level",
            )
        axis.set_title(title, fontsize=10)
        axis.set_yscale("log")
        axis.set_ylabel(error_label, fontsize=8)
        if series:
            axis.legend(fontsize=6, ncols=2)
        self.name_systems(axis)

    def name_systems(self, axis):
        axis.set_xticks(range(len(self.systems)), self.systems, rotation=60, ha="right", fontsize=7)
        axis.grid(alpha=0.3)


figure = Fig3()
expected = figure.expected()
rows = figure.rows
figure.systems = list(dict.fromkeys(system(row["matrix"]) for row in rows))

# a: dominance
dominance = {
    (system(row["matrix"]), row["state"]): row for row in rows if row["op"] == "dominance"
}
for name in figure.systems:
    given, matched = dominance[name, "natural"], dominance[name, "matched"]
    print(
        f"  {name:20} dominance min, mean, max: as given "
        + " ".join(f"{given[k]:8.3f}" for k in ("minimum", "mean", "maximum"))
        + ", matched and scaled "
        + " ".join(f"{matched[k]:8.3f}" for k in ("minimum", "mean", "maximum"))
    )
far = [s for s in figure.systems if dominance[s, "matched"]["mean"] < 0]
figure.claim(
    "most systems are not diagonally dominant in the mean", len(far) >= 0.5 * len(figure.systems),
    f"{len(far)} of {len(figure.systems)}",
)

# b: epsilon. The reference has the epsilon of the sweeps it stands beside.
jacobi = {e: errors(rows, epsilon=e) for e in epsilons}
level = {e: errors(rows, epsilon=e, method="level") for e in epsilons}
figure.needs(**{f"epsilon {e}": jacobi[e] for e in epsilons}, level=level["0.1"])
best = {s: min(jacobi[e][s] for e in epsilons) for s in figure.systems}
least = {s: min(level[e][s] for e in epsilons) for s in figure.systems}
for name in figure.systems:
    print(
        f"  {name:20} error by epsilon, sweeps (level): "
        + "  ".join(f"{e}: {jacobi[e][name]:8.2g} ({level[e][name]:8.2g})" for e in epsilons)
    )
close = ratios(best, least)
figure.claim(
    "with its best epsilon the error of 8 sweeps is within a factor of 2 of the level factor's",
    sum(r <= 2 for r in close.values()) >= 0.75 * len(close),
    f"not so for {names_of(close, lambda r: r > 2)}",
)
rescued = ratios(jacobi["0.0001"], jacobi["0.1"])
figure.claim(
    "a large epsilon contains what a small one lets grow", all(r > 0.5 for r in rescued.values()),
    f"error with 1e-4 over that with 0.1: tenfold or more for "
    f"{names_of(rescued, lambda r: r >= 10)}; below a half for "
    f"{names_of(rescued, lambda r: r <= 0.5)}",
)

# c: rows of a block
by_block = {k: errors(rows, block=k) for k in blocks}
level_by_block = {k: errors(rows, block=k, method="level") for k in blocks}
figure.needs(**{f"block {k}": by_block[k] for k in blocks})
for name in figure.systems:
    print(
        f"  {name:20} error by block size, sweeps (level): "
        + "  ".join(f"{k}: {by_block[k][name]:8.2g} ({level_by_block[k][name]:8.2g})" for k in blocks)
    )
calm = [s for s in figure.systems if s not in waves]
spread = {
    s: max(by_block[k][s] for k in blocks[1:]) / max(1e-2, min(by_block[k][s] for k in blocks[1:]))
    for s in calm
}
figure.claim(
    "but for wave-like systems blocks of 4 rows and more are within a factor of 10",
    bool(calm) and all(r <= 10 for r in spread.values()),
    f"{len(calm)} systems, most {max(spread.values()):.2g}",
)
scalar = {s: by_block["1"][s] / min(by_block[k][s] for k in blocks[1:]) for s in figure.systems}
figure.claim(
    "on interior-point and bordered systems, most of the paper's, scalar blocks are clearly worse",
    all(scalar[s] >= 3 for s in ("KKT hard", "KKT mild", "bordered")),
    "times the best blocked error: " + ", ".join(f"{s} {r:.2g}" for s, r in scalar.items()),
)

# d: pivoting
pivoted = {
    (inner, outer): errors(rows, pivoting=inner, outer=outer)
    for inner in pivotings
    for outer in ("off", "on")
}
figure.needs(**{" ".join(key): series for key, series in pivoted.items()})
role = {
    s: max(v[s] for v in pivoted.values()) / max(1e-2, min(v[s] for v in pivoted.values()))
    for s in figure.systems
}
delayed = {
    s: row["delayed"]
    for s, row in pick(rows, ordering="amd", pivoting="complete", outer="on").items()
    if row["delayed"]
}
print(f"  block rows delayed by outer pivoting: {delayed or 'none'}")
figure.claim(
    "neither inner nor outer pivoting plays a striking role (a factor of 10)",
    sum(r <= 10 for r in role.values()) >= 0.75 * len(role),
    f"not so for {names_of(role, lambda r: not r <= 10)}",
)

# e: sweeps
by_sweep = {n: errors(rows, sweeps=n) for n in sweeps}
figure.needs(**{f"{n} sweeps": by_sweep[n] for n in sweeps})
for name in figure.systems:
    print(
        f"  {name:20} error by sweeps: "
        + "  ".join(f"{n}: {by_sweep[n][name]:.3g}" for n in sweeps)
    )
converges = [s for s in figure.systems if by_sweep["16"][s] <= 2 * level["0.1"][s]]
saturated = {s: by_sweep["5"][s] / by_sweep["16"][s] for s in converges}
figure.claim(
    "sweeps that converge have their error after the fifth (within 10 %)",
    sum(r <= 1.1 for r in saturated.values()) >= 0.75 * len(saturated),
    f"{len(converges)} systems, not so for {names_of(saturated, lambda r: r > 1.1)}",
)
print(
    "  not within a factor of 2 of the level factor after 16 sweeps: "
    + (", ".join(s for s in figure.systems if s not in converges) or "none")
)

# f: times
times = {}
for device, timed in figure.times.items():
    for method in ("jacobi", "level"):
        times[device, method] = {
            s: row["numeric_milliseconds"]
            for s, row in pick(timed, method=method).items()
        }
    gain = ratios(times[device, "level"], times[device, "jacobi"])
    print(
        f"  {device}: milliseconds of 8 sweeps (level): "
        + "  ".join(
            f"{s} {times[device, 'jacobi'][s]:.3g} ({times[device, 'level'][s]:.3g})" for s in gain
        )
    )
    if gain and "CPU" not in device:
        figure.claim(
            "on the GPU 8 sweeps are faster than the level factor (median)",
            statistics.median(gain.values()) > 1,
            f"{device}: median {statistics.median(gain.values()):.2f} times, slower for "
            f"{names_of(gain, lambda r: r < 1)}",
        )

pyplot = figure.pyplot()
if pyplot:
    drawing, axes = pyplot.subplots(2, 3, figsize=(15, 9), layout="constrained")
    axis = axes[0, 0]
    for shift, state, colour in ((-0.15, "natural", colours[5]), (0.15, "matched", colours[0])):
        found = [dominance[s, state] for s in figure.systems]
        at = [i + shift for i in range(len(found))]
        axis.vlines(at, [r["minimum"] for r in found], [r["maximum"] for r in found], colour, lw=2)
        axis.plot(
            at, [r["mean"] for r in found], "o", color=colour, ms=4,
            label={"natural": "as given", "matched": "matched, scaled, ordered"}[state],
        )
    axis.set_yscale("symlog", linthresh=1)
    axis.axhline(0, color="black", lw=0.6)
    axis.set_title("(a) dominance of diagonal blocks: min, mean, max", fontsize=10)
    axis.set_ylabel(r"$||A_{ii}||_1 - \Sigma_j ||A_{ij}||_1$, over max |a|", fontsize=8)
    axis.legend(fontsize=6, loc="lower right")
    figure.name_systems(axis)
    figure.panel(
        axes[0, 1], "(b) $\\epsilon$, 8 sweeps", {f"$\\epsilon$ = {e}": jacobi[e] for e in epsilons},
        level["0.1"],
    )
    figure.panel(
        axes[0, 2], "(c) rows of a block", {f"k = {k}": by_block[k] for k in blocks},
        level_by_block["8"],
    )
    figure.panel(
        axes[1, 0], "(d) inner and outer pivoting",
        {
            f"{inner.replace('_', '-')}, outer {outer}": pivoted[inner, outer]
            for inner in ("static", "bunch_kaufman", "complete")
            for outer in ("off", "on")
        },
    )
    for place, name in enumerate(figure.systems):
        axes[1, 1].plot(
            [int(n) for n in sweeps], [max(floor, by_sweep[n][name]) for n in sweeps],
            ".-" if place < len(colours) else "x--", color=colours[place % len(colours)], lw=1,
            ms=4, label=name,
        )
    axes[1, 1].set(title="(e) sweeps", xlabel="sweeps", yscale="log")
    axes[1, 1].title.set_fontsize(10)
    axes[1, 1].set_ylabel(error_label, fontsize=8)
    axes[1, 1].set_ylim(top=100 * axes[1, 1].get_ylim()[1])
    axes[1, 1].legend(fontsize=6, ncols=4, loc="upper center")
    axes[1, 1].grid(alpha=0.3)
    figure.panel(
        axes[1, 2], "(f) numeric factorisation, 200,000 rows",
        {f"{device}, {method}": series for (device, method), series in times.items()},
    )
    axes[1, 2].set_ylabel("milliseconds", fontsize=8)
    figure.save(drawing)
figure.finish()
