#!/usr/bin/env python3
"""Inversion of 500,000 matrices, n = 1..32, FP32 and FP64, as a fraction of the copy rate.

With cuBLAS and the papers' kernels in the same run. Asserted: Tessera is nowhere more than 3 %
below the papers' kernels, and faster than the better way of cuBLAS at every n. The project's own
bars are held by bench/batched_bars.py.
"""
from measured_results import Figure, common

figure = Figure(__file__, __doc__)
panels = []
for kind, name in (("f64", "FP64"), ("f32", "FP32")):

    def fractions(way):
        return figure.series(
            "n",
            "fraction_of_copy",
            op="invert",
            implementation=way,
            type=kind,
            batch=500000,
            layout="uniform",
        )

    getri, matinv = fractions("cublas_getrf_getri"), fractions("cublas_matinv")
    curves = {
        "Tessera": fractions("tessera"),
        "paper, several per warp": fractions("paper_multiple"),
        "paper, one per warp": fractions("paper_single"),
        "cuBLAS": {n: max(getri.get(n, 0), f) for n, f in matinv.items()},
    }
    figure.needs(**curves)
    panels.append((f"500,000 matrices, {name}", curves))
    ours, several, one, cublas = curves.values()
    sizes = common(*curves.values())
    for n in sizes:
        print(f"  {name} {n:3}  " + "  ".join(f"{curve[n]:6.3f}" for curve in curves.values()))
    slower = [n for n in sizes if ours[n] < 0.97 * max(several[n], one[n])]
    figure.claim(f"{name}: not below the papers' kernels", not slower, f"slower at {slower}")
    slower = [n for n in sizes if ours[n] <= cublas[n]]
    least = min(ours[n] / cublas[n] for n in sizes)
    figure.claim(f"{name}: faster than cuBLAS", not slower, f"{least:.1f} times or more")
figure.draw(panels, "n", "fraction of copy")
figure.finish()
