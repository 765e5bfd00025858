#!/usr/bin/env python3
"""Fig. 5 of the Gauss-Jordan paper: rate of inversion against the number of matrices, FP64.

n = 32 and 16; the paper's kernels (one problem per warp, several problems per warp), cuBLAS (getrf and
getri, matinv) and Tessera. Asserted: every rate grows with the number of matrices; both kernels of
the paper beat both ways of cuBLAS at n = 32; at n = 16 several problems per warp are at least twice
as fast as one; Tessera is not slower than the paper's kernels.
"""
from measured_results import Figure, common, grows, inversions, last

figure = Figure(__file__, __doc__)
figure.expected()
panels = []
for n in (32, 16):
    curves = {
        label: {
            batch: rate
            for batch, rate in figure.series(
                "batch", op="invert", implementation=way, type="f64", n=n, layout="uniform"
            ).items()
            if batch <= 50000
        }
        for label, way in inversions.items()
    }
    figure.needs(**curves)
    panels.append((f"{n} x {n}, FP64", curves))
    for label, curve in curves.items():
        few, many = min(curve), max(curve)
        figure.claim(
            f"n = {n}, {label}: the rate grows with the number of matrices",
            grows(curve),
            f"{curve[few]:.0f} at {few}, {curve[many]:.0f} at {many}",
        )
    ours, several, one = (last(curve) for curve in list(curves.values())[:3])
    cublas = max(last(curves["getrf + getri"]), last(curves["matinv"]))
    if n == 32:
        figure.claim(
            "n = 32: the paper's kernels beat cuBLAS",
            min(one, several) > cublas,
            f"{min(one, several) / cublas:.1f} times",
        )
    else:
        figure.claim(
            "n = 16: several problems per warp are twice as fast as one",
            several >= 2 * one,
            f"{several:.0f} against {one:.0f}",
        )
    figure.claim(
        f"n = {n}: Tessera is not slower than the paper's kernels",
        ours >= max(one, several),
        f"{ours / max(one, several):.2f} times, and {ours / cublas:.1f} times cuBLAS",
    )
    table = list(curves.values())
    for batch in common(*table):
        print(f"  n {n:2}  {batch:6}  " + "  ".join(f"{curve[batch]:8.0f}" for curve in table))
figure.draw(panels, "matrices", "GFLOP/s")
figure.finish()
