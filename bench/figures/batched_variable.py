#!/usr/bin/env python3
"""Batches of different sizes: time over what uniform batches of the same sizes predict.

Asserted: the inversion of sizes drawn from 1..32 takes at most 1.25 times the prediction, FP32 and
FP64. Other mixes of sizes, and products, are printed.
"""
from measured_results import Figure

figure = Figure(__file__, __doc__)
rows = [
    row
    for row in figure.rows
    if row["op"] in ("invert", "multiply")
    and row["implementation"] == "tessera"
    and row.get("layout") == "variable"
    and row.get("predicted_milliseconds")
]
figure.needs(**{"batches of different sizes": rows})
curves = {}
for row in rows:
    over = row["milliseconds"] / row["predicted_milliseconds"]
    text = f"{row['op']} {row['type']} sizes {row['sizes']}: {over:.2f} of the prediction"
    if row["op"] == "invert" and row["sizes"] == "1-32":
        figure.claim(text, over <= 1.25)
    else:
        print(f"  measured: {text}")
    if row["op"] == "invert":
        curves.setdefault(row["type"], {})[row["sizes"]] = over
figure.draw([("time over prediction, inversion", curves)], "sizes", "ratio")
figure.finish()
