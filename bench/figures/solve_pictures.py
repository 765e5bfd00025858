"""The picture of solves with polynomials: colours show the polynomial, marks the precision."""
from measured_results import colours

marks = ("s", "^", "v", "D", "o", "P", "*")


def draw_solves(figure, curves):
    """A panel for each {mesh: ({(kind, degree, precision): milliseconds}, baseline, diagonal)}."""
    pyplot = figure.pyplot()
    if pyplot is None:
        return
    from matplotlib import lines, ticker

    keys = [key for times, _, _ in curves.values() for key in times]
    kinds = dict(zip(dict.fromkeys(k[0] for k in keys), colours))
    bits = dict(zip(dict.fromkeys(k[2] for k in keys), marks))
    columns = min(3, len(curves))
    rows = -(-len(curves) // columns)
    picture, axes = pyplot.subplots(
        rows, columns, figsize=(5 * columns, 5 * rows + 0.7), squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(curves) :]:
        axis.axis("off")
    for axis, (mesh, (times, baseline, diagonal)) in zip(axes.flat, curves.items()):
        for place, (kind, colour) in enumerate(kinds.items()):
            for precision, mark in bits.items():
                line = {d: t for (k, d, p), t in times.items() if (k, p) == (kind, precision)}
                degrees = sorted(line)
                axis.plot(  # Beside each other, where many polynomials have one degree.
                    [d + 0.25 * (place - (len(kinds) - 1) / 2) for d in degrees],
                    [line[d] for d in degrees],
                    f"{mark}-", color=colour, ms=4.5, lw=1, alpha=0.85,
                )
        axis.axhline(baseline, color="black", ls="--", lw=1.2)
        axis.axhline(diagonal, color="black", ls=":", lw=1.2)
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axis.set_xticks(sorted({d for _, d, _ in times}))
        axis.set_title(mesh, fontsize=10)
        axis.set_xlabel("degree")
        axis.set_ylabel("milliseconds to 1e-8, setup included")
        axis.grid(alpha=0.3)
    picture.legend(
        handles=[
            *(lines.Line2D([], [], color=c, lw=3, label=kind) for kind, c in kinds.items()),
            *(
                lines.Line2D([], [], color="gray", marker=m, ls="", label=precision)
                for precision, m in bits.items()
            ),
            lines.Line2D([], [], color="black", ls="--", label="diagonal, cuSPARSE CSR"),
            lines.Line2D([], [], color="black", ls=":", label="diagonal, SBELL"),
        ],
        fontsize=8, ncols=4, loc="outside lower center",
    )
    figure.save(picture)
