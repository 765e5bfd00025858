#!/usr/bin/env python3
"""Fig. 9 of the condition-number paper: bandwidth of the infinity norm, n = 16 and 32.

1,000 to 50,000 matrices. The paper relates it to the sustained rate of daxpy, this to that of a
copy in the same run. Asserted: the bandwidth grows with the number of matrices, and at the most
reaches the paper's share for each n and type.
"""
from measured_results import Figure, grows, last

figure = Figure(__file__, __doc__)
expected = figure.expected()
curves = {}
for n in (32, 16):
    for kind, name in (("f64", "FP64"), ("f32", "FP32")):
        label = f"{name} n = {n}"
        fractions = figure.series(
            "batch",
            "fraction_of_copy",
            op="norm",
            implementation="tessera",
            type=kind,
            n=n,
            layout="uniform",
        )
        curve = {b: f for b, f in fractions.items() if b <= 50000}
        figure.needs(**{label: curve})
        curves[label] = {b: f * figure.copy_gbps for b, f in curve.items()}
        share = expected[f"{label} share of the sustained rate"]
        figure.claim(f"{label}: the bandwidth grows", grows(curve))
        figure.claim(
            f"{label}: at least the paper's share of {share}", last(curve) >= share,
            f"{last(curve):.2f} of copy",
        )
figure.draw([("infinity norm", curves)], "matrices", "GB/s")
figure.finish()
