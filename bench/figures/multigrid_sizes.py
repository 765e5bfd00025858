#!/usr/bin/env python3
"""Multigrid against the unknowns: iterations and time to a true residual of 1e-8, hexahedra.

Beside it diagonal conjugate gradients and Chebyshev of degree 6 with single vectors and 16-bit
entries; setup counts, and for multigrid the solve alone is drawn as well. Asserted: every solve
reaches the residual; multigrid takes at most three iterations more for the most unknowns than for
the fewest; from 300,000 unknowns on its solve alone takes less than half of the others' time; from
two million on it is the fastest, its setup included.
"""
import re

from elasticity_results import print_table, total_seconds
from measured_results import Figure, colours

figure = Figure(__file__, __doc__, "multigrid_[!mp]", "multigrid")


def rows_of(bench):
    documents = figure.documents_of(bench).values()
    return [row for d in documents if d["device"] == figure.device for row in d["rows"]]


rows = rows_of("multigrid_sizes") or figure.rows + rows_of("sizes_elasticity")
names = {
    "amg": "multigrid",
    "chebyshev:6,precision=f32,values=f16,format=sbell:3": "chebyshev:6, f32, 16-bit values",
    "jacobi": "diagonal",
}
curves = {name: {} for name in names.values()}
for row in rows:  # Of several rows the fastest counts.
    name = names.get(row["preconditioner"])
    if name and re.fullmatch(r"elasticity3d:\d+", row["matrix"]):
        n, line = row["rows"], curves[name]
        if n not in line or total_seconds(row) < total_seconds(line[n]):
            line[n] = row
curves = {name: dict(sorted(line.items())) for name, line in curves.items()}
figure.needs(**curves)
print("  diagonal on " + next(iter(curves["diagonal"].values()))["format"])
counts = {k: {n: r["iterations"] for n, r in line.items()} for k, line in curves.items()}
print_table("iterations", counts)
times = {k: {n: 1e3 * total_seconds(r) for n, r in c.items()} for k, c in curves.items()}
alone = {n: 1e3 * row["seconds"] for n, row in curves["multigrid"].items()}
print_table("milliseconds at unknowns", times | {"multigrid, solve alone": alone}, 1)
late = [r for c in curves.values() for r in c.values() if r["true_relative_residual"] > r["rtol"]]
figure.claim("every solve reaches its true residual", not late)
own = counts["multigrid"]
figure.claim(
    "at most three iterations more for the most unknowns than for the fewest",
    own[max(own)] <= own[min(own)] + 3,
    f"{own[min(own)]} at {min(own):,}, {own[max(own)]} at {max(own):,}",
)
others = {}
for n in alone:
    found = [line[n] for name, line in times.items() if name != "multigrid" and n in line]
    others |= {n: min(found)} if found else {}
gains = {n: time / alone[n] for n, time in others.items() if n >= 3e5}
figure.claim(
    "from 300,000 unknowns on its solve alone takes less than half of the others' time",
    gains and min(gains.values()) > 2,
    ", ".join(f"{n:,}: {gain:.2f} times as fast" for n, gain in gains.items()),
)
gains = {n: time / times["multigrid"][n] for n, time in others.items() if n >= 2e6}
if gains:
    figure.claim(
        "from two million unknowns on it is the fastest, its setup included",
        min(gains.values()) > 1,
        ", ".join(f"{n:,}: {gain:.2f} times as fast" for n, gain in gains.items()),
    )
pyplot = figure.pyplot()
if pyplot is not None:
    picture, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for colour, (name, line) in zip(colours, curves.items()):
        left.loglog(list(line), [row["iterations"] for row in line.values()], "o-", color=colour,
                    label=name, ms=4)
        right.loglog(list(times[name]), list(times[name].values()), "o-", color=colour, label=name,
                     ms=4)
    right.loglog(list(alone), list(alone.values()), "o--", color=colours[0], ms=4, mfc="white",
                 label="multigrid, solve alone")
    left.set_ylim(bottom=5)
    left.set_ylabel("iterations to 1e-8")
    right.set_ylabel("milliseconds to 1e-8, setup included")
    for axis in left, right:
        axis.set_xlabel("unknowns, hexahedra")
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize=8)
    figure.save(picture)
figure.finish()
