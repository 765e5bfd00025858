#!/usr/bin/env python3
"""Fig. 6 of the Gauss-Jordan paper: rate of inversion against n = 1..32, 500,000 matrices, FP64.

Asserted: several problems per warp have peaks at n = 8 and 16 (faster than their neighbours above)
and are never slower than one problem per warp for n <= 16; one problem per warp falls superlinearly
towards small n (half the n, less than half the rate); from n = 8 on the paper's kernel beats
cuBLAS; Tessera is nowhere more than 3 % below the paper's kernels.
"""
from measured_results import Figure, common, inversions

figure = Figure(__file__, __doc__)
figure.expected()
curves = {
    label: figure.series(
        "n", op="invert", implementation=way, type="f64", batch=500000, layout="uniform"
    )
    for label, way in inversions.items()
}
figure.needs(**curves)
ours, several, one, getri, matinv = curves.values()
sizes = common(*curves.values())
for n in sizes:
    print(f"  {n:3}  " + "  ".join(f"{curve[n]:8.0f}" for curve in curves.values()))
for peak in (8, 16):
    figure.claim(
        f"several per warp have a peak at n = {peak}",
        several[peak] > several[peak + 1],
        f"{several[peak]:.0f}, then {several[peak + 1]:.0f}",
    )
slower = [n for n in sizes if n <= 16 and several[n] < one[n]]
figure.claim(
    "several per warp are not slower than one for n <= 16", not slower, f"slower at {slower}"
)
for n in (32, 16, 8):
    figure.claim(
        f"one per warp falls superlinearly from n = {n} to {n // 2}",
        one[n // 2] < one[n] / 2,
        f"{one[n]:.0f}, then {one[n // 2]:.0f}",
    )
slower = [n for n in sizes if n >= 8 and several[n] <= max(getri[n], matinv[n])]
figure.claim("the paper's kernel beats cuBLAS from n = 8 on", not slower, f"slower at {slower}")
slower = [n for n in sizes if ours[n] < 0.97 * max(several[n], one[n])]
figure.claim("Tessera is nowhere below the paper's kernels", not slower, f"slower at {slower}")
figure.draw([("500,000 matrices, FP64", curves)], "n", "GFLOP/s")
figure.finish()
