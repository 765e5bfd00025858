#!/usr/bin/env python3
"""Multigrid on clamped bars of 1:1 to 64:1: iterations to a true residual of 1e-8.

About 20,000 unknowns each; beside it multigrid whose near-null vectors are translations alone,
block Jacobi, the diagonal and Chebyshev of degree 6. Hollow: rounding errors ended the solve above
the residual. Asserted: with rigid body modes at most 16 iterations up to 16:1; with translations
alone twice as many on the cube and six times as many at 16:1.
"""
import re

from elasticity_results import print_table
from measured_results import Figure, colours

figure = Figure(__file__, __doc__, "multigrid_slenderness", "multigrid")
names = {
    "amg": "multigrid",
    "amg,near_null=translations": "multigrid, translations alone",
    "chebyshev:6,format=sbell:3": "chebyshev:6",
    "jacobi": "diagonal",
    "block_jacobi:32": "block Jacobi, bound 32",
}
curves = {name: {} for name in names.values()}
for row in figure.rows:
    length = int(re.search(r"length=(\d+)", row["matrix"])[1])
    curves[names[row["preconditioner"]]][length] = row
figure.needs(**curves)
counts = {k: {n: row["iterations"] for n, row in line.items()} for k, line in curves.items()}
print_table("iterations at length", counts)
own, poor = counts["multigrid"], counts["multigrid, translations alone"]
figure.claim("at most 16 iterations up to 16:1", max(own[n] for n in own if n <= 16) <= 16)
figure.claim(
    "translations alone take twice as many on the cube, six times as many at 16:1",
    poor[1] >= 2 * own[1] and poor[16] >= 6 * own[16],
    f"{poor[1] / own[1]:.1f} and {poor[16] / own[16]:.1f}",
)
pyplot = figure.pyplot()
if pyplot is not None:
    picture, axis = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    for colour, (name, line) in zip(colours, curves.items()):
        axis.loglog(list(line), [row["iterations"] for row in line.values()], "-", color=colour)
        for converged in (True, False):
            some = {n: r for n, r in line.items() if (r["status"] == "converged") == converged}
            axis.loglog(list(some), [row["iterations"] for row in some.values()], "o",
                        color=colour, ms=5, mfc=colour if converged else "white",
                        label=name if converged else None)
    axis.loglog([], [], "o", color="gray", mfc="white", ms=5, label="ended above 1e-8 by rounding")
    axis.set_xticks(list(own), [f"{n}:1" for n in own])
    axis.minorticks_off()
    axis.set_xlabel("length : width of the bar")
    axis.set_ylabel("iterations to 1e-8")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.save(picture)
figure.finish()
