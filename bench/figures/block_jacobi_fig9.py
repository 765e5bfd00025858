#!/usr/bin/env python3
"""Fig. 9 of the Gauss-Jordan paper: setup time against block size for four patterns of 10^6 rows.

Arrow, tridiagonal, random block diagonal, Laplace; blocks of 1..32 rows, imposed; FP64. Asserted:
on the arrow, whose one dense row a single thread walks in `cached`, the shared extractions are
faster at every size from 2 on; `shared_multiple` is the fastest of the paper's three everywhere, or
within 5 % of it; what Tessera uses takes at most twice as long on the arrow as on the tridiagonal.
The dense row is the last one, and its block at its end, where a thread that walks comes last.
"""
from measured_results import Figure, common

figure = Figure(__file__, __doc__, "block_jacobi_patterns")
figure.expected()
patterns = {
    "arrow": "arrow:1000000",
    "tridiagonal": "tridiagonal:1000000",
    "random blocks": "block_diagonal:1000000,{n}",
    "Laplace": "poisson2d:1000",
}
ways = ("cached", "shared", "shared_multiple", "shared_full")
panels = []
curves = {}
for label, matrix in patterns.items():
    curves[label] = {
        way: figure.series(
            "n", "milliseconds", op="setup", implementation=way, matrix=matrix, type="f64"
        )
        for way in ways
    }
    figure.needs(**curves[label])
    panels.append((f"{label}, FP64", curves[label]))
for label, times in curves.items():
    print(f"  {label}, milliseconds: n " + "  ".join(f"{way:>15}" for way in ways))
    for n in (1, 4, 8, 12, 16, 20, 24, 28, 32):
        print(f"  {n:{len(label) + 17}}  " + "  ".join(f"{times[way][n]:15.3f}" for way in ways))
arrow = curves["arrow"]
slower = [n for n in arrow["cached"] if n > 1 and arrow["shared"][n] >= arrow["cached"][n]]
figure.claim(
    "arrow: `shared` is faster than `cached` from n = 2 on",
    not slower,
    f"slower at {len(slower)} of {len(arrow['cached']) - 1} sizes",
)
for label, times in curves.items():
    slower = {
        n: f"{times['shared_multiple'][n] / best:.2f}"
        for n in times["cached"]
        if times["shared_multiple"][n]
        > 1.05 * (best := min(times[way][n] for way in ("cached", "shared", "shared_full")))
    }
    figure.claim(
        f"{label}: `shared_multiple` is fastest or within 5 %",
        not slower,
        f"slower: {slower or 'nowhere'}",
    )
default = {
    n: curves["arrow"]["shared_multiple"][n] / curves["tridiagonal"]["shared_multiple"][n]
    for n in common(curves["arrow"]["shared_multiple"], curves["tridiagonal"]["shared_multiple"])
}
figure.claim(
    "the arrow takes at most twice the time of the tridiagonal",
    max(default.values()) <= 2,
    f"{max(default.values()):.2f} at most",
)
figure.draw(panels, "rows of a block", "milliseconds", log=True)
figure.finish()
