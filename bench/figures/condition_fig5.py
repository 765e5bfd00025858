#!/usr/bin/env python3
"""Fig. 5 of the condition-number paper: rates against the number of matrices, n = 16 and 32.

Inversion, inversion with the condition number, and the faster way of cuBLAS, FP32 and FP64; only
the operations of the inversion count. Asserted: every rate grows with the number of matrices; at
the most matrices the condition number costs at most 15 % (the paper: 5 to 15 %), and both beat
cuBLAS.
"""
from measured_results import Figure, condition_curves, grows, last

figure = Figure(__file__, __doc__)
expected = figure.expected()
panels = []
for n in (16, 32):
    for kind, name in (("f32", "FP32"), ("f64", "FP64")):

        def rates(op, way):
            series = figure.series(
                "batch", op=op, implementation=way, type=kind, n=n, layout="uniform"
            )
            return {batch: rate for batch, rate in series.items() if batch <= 50000}

        curves = condition_curves(rates)
        figure.needs(**curves)
        panels.append((f"{n} x {n}, {name}", curves))
        for label, curve in curves.items():
            few, many = min(curve), max(curve)
            figure.claim(
                f"n = {n}, {name}, {label}: the rate grows",
                grows(curve),
                f"{curve[few]:.0f} at {few}, {curve[many]:.0f} at {many}",
            )
        alone, fused, cublas, _ = (last(curve) for curve in curves.values())
        figure.claim(
            f"n = {n}, {name}: the condition number costs at most 15 %",
            alone / fused <= 1 + expected["largest overhead of the condition number"],
            f"{alone / fused - 1:.1%}",
        )
        figure.claim(
            f"n = {n}, {name}: faster than cuBLAS", fused > cublas, f"{fused / cublas:.1f} times"
        )
figure.draw(panels, "matrices", "GFLOP/s")
figure.finish()
