#!/usr/bin/env python3
"""Fig. 3 of the condition-number paper: relative error of condition numbers, n = 1..32.

100 random matrices of each size; the reference is computed in long double. Asserted: every error
stays below its bound 10 n eps kappa; so do the means, with the largest kappa among the matrices;
FP64 is more accurate than FP32 at every n.
"""
from measured_results import Figure

figure = Figure(__file__, __doc__)
figure.expected()
curves, worst = {}, {}
for kind, name in (("f32", "FP32"), ("f64", "FP64")):
    curves[name] = figure.series("n", "mean_relative_error", op="accuracy", type=kind)
    worst[name] = figure.series("n", "residual_ratio", op="accuracy", type=kind)
figure.needs(**curves)
conditions = {
    name: figure.series("n", "largest_condition", op="accuracy", type=kind)
    for kind, name in (("f32", "FP32"), ("f64", "FP64"))
}
eps = {"FP32": 2.0**-23, "FP64": 2.0**-52}
for name, curve in curves.items():
    figure.claim(
        f"{name}: all errors below 10 n eps kappa",
        len(curve) == 32 and max(worst[name].values()) < 1,
        f"{len(curve)} sizes, at most {max(worst[name].values()):.2g} of the bound",
    )
    over = [n for n in curve if curve[n] > 10 * n * eps[name] * conditions[name][n]]
    figure.claim(f"{name}: mean errors at the accuracy of the format", not over, f"above at {over}")
small = [n for n in curves["FP64"] if curves["FP64"][n] >= curves["FP32"][n] and n > 1]
figure.claim("FP64 is more accurate than FP32 at every n", not small, f"not at {small}")
for n in curves["FP32"]:
    print(f"  {n:3}  {curves['FP32'][n]:.2e}  {curves['FP64'].get(n, float('nan')):.2e}")
figure.draw([("mean over 100 matrices", curves)], "n", "relative error", log=True)
figure.finish()
