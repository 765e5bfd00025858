#!/usr/bin/env python3
"""Beyond the SBELL paper: time to a true residual of 1e-8 against degree, polynomial and precision.

Conjugate gradients on SBELL with all five polynomials (setup counts) on quadrilaterals 400^2 and
hexahedra 54^3: in double, with 16-bit entries, and with single vectors besides. Least squares with
their default weights are the fourth-kind Chebyshev polynomials: these two lines coincide.
Baseline: diagonal conjugate gradients on cuSPARSE CSR. Asserted: every polynomial was measured in
every precision at every degree, and every solve reaches the residual; iterations fall with every
degree, and narrower numbers take at most 5 % more of them than double; 16-bit entries take less time
than double everywhere; on both meshes the fastest solve is at least 2.4 times as fast as the baseline.
"""
import collections

from elasticity_results import print_table, total_seconds
from measured_results import Figure, colours

figure = Figure(__file__, __doc__, "degrees_elasticity", "elasticity")
meshes = {"elasticity2d:400": "quadrilaterals 400^2", "elasticity3d:54": "hexahedra 54^3"}
styles = {
    "double": "-",
    "16-bit entries": "--",
    "16-bit entries, single vectors": ":",
}
precisions = dict(zip(("", "values=f16", "precision=f32,values=f16"), styles))
kinds = ("neumann", "least_squares", "chebyshev", "chebyshev4", "chebyshev4_optimal")
degrees = (2, 4, 6, 8, 12)
baseline = {}
solves = collections.defaultdict(dict)  # {mesh: {(kind, precision): {degree: row}}}
late = []
for row in figure.rows:
    mesh = meshes[row["matrix"]]
    late += [row] if row["true_relative_residual"] > row["rtol"] else []
    if row["format"] == "cusparse_csr":
        baseline[mesh] = row
        continue
    name, *options = row["preconditioner"].split(",")
    kind, _, degree = name.partition(":")
    precision = precisions[",".join(o for o in options if not o.startswith("format="))]
    solves[mesh].setdefault((kind, precision), {})[int(degree)] = row
figure.needs(
    baseline=len(baseline) == len(meshes),
    **{
        f"{kind} in {precision} on {mesh}": len(solves[mesh].get((kind, precision), ()))
        == len(degrees)
        for mesh in meshes.values()
        for kind in kinds
        for precision in styles
    },
)
figure.claim("every solve reaches its true residual", not late, f"{len(figure.rows)} solves")


def milliseconds(row):
    return 1e3 * total_seconds(row)


for mesh, found in solves.items():
    base = milliseconds(baseline[mesh])
    curves = {key: {d: milliseconds(row) for d, row in rows.items()} for key, rows in found.items()}
    counts = {key: {d: row["iterations"] for d, row in rows.items()} for key, rows in found.items()}
    print_table(f"{mesh}: milliseconds at degree", {", ".join(k): c for k, c in curves.items()}, 1)
    print_table(f"{mesh}: iterations", {kind: counts[kind, "double"] for kind in kinds})
    figure.claim(
        f"{mesh}: iterations fall with every degree",
        all(
            series[a] > series[b]
            for series in counts.values()
            for a, b in zip(degrees, degrees[1:])
        ),
    )
    more = {
        (*key, d): n / counts[key[0], "double"][d] - 1
        for key, series in counts.items()
        for d, n in series.items()
        if key[1] != "double"
    }
    worst = max(more, key=more.get)
    figure.claim(
        f"{mesh}: narrower numbers take at most 5 % more iterations",
        more[worst] <= 0.05,
        f"{100 * more[worst]:.1f} % at most ({worst[0]}:{worst[2]}, {worst[1]})",
    )
    gains = {
        (kind, d): curves[kind, "double"][d] / t
        for kind in kinds
        for d, t in curves[kind, "16-bit entries"].items()
    }
    figure.claim(
        f"{mesh}: 16-bit entries take less time than double",
        min(gains.values()) > 1,
        f"{min(gains.values()):.2f} to {max(gains.values()):.2f} times as fast",
    )
    every = {(*key, d): t for key, series in curves.items() for d, t in series.items()}
    for precision in styles:
        of = {key: t for key, t in every.items() if key[1] == precision}
        best = min(of, key=of.get)
        print(
            f"  {mesh}, {precision}: {best[0]}:{best[2]} is fastest, {of[best]:.1f} ms,"
            f" {base / of[best]:.2f} times as fast as the baseline, {base:.1f} ms"
        )
    best = min(every, key=every.get)
    figure.claim(
        f"{mesh}: the fastest is at least 2.4 times as fast as the diagonal on cuSPARSE",
        base / every[best] >= 2.4,
        f"{base / every[best]:.2f} times ({best[0]}:{best[2]}, {best[1]})",
    )
pyplot = figure.pyplot()
if pyplot is not None:
    from matplotlib import lines, ticker

    picture, axes = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axis, (mesh, found) in zip(axes, solves.items()):
        axis.axhline(milliseconds(baseline[mesh]), color="black", lw=1.5)
        for kind, colour in zip(kinds, colours):
            for precision, style in styles.items():
                series = found[kind, precision]
                axis.loglog(
                    degrees, [milliseconds(series[d]) for d in degrees], style + "o", color=colour,
                    ms=3, lw=1.3,
                )
        axis.set_title(mesh, fontsize=10)
        axis.set_xticks(degrees, [str(d) for d in degrees])
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axis.set_xlabel("degree")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("milliseconds to 1e-8, setup included")
    entries = [lines.Line2D([], [], color="black", lw=1.5, label="diagonal on cuSPARSE CSR")]
    entries += [lines.Line2D([], [], color=c, label=kind) for kind, c in zip(kinds, colours)]
    entries += [lines.Line2D([], [], color="grey", ls=s, label=p) for p, s in styles.items()]
    picture.legend(handles=entries, loc="outside right center", fontsize=8)
    figure.save(picture)
figure.finish()
