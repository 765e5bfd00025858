#!/usr/bin/env python3
"""Batches of different sizes: time over what uniform batches of the same sizes predict.

Asserted: the inversion of sizes drawn from 1..32 takes at most 1.25 times the prediction, FP32 and
FP64; of every other mix that was measured at most 1.5 times.
"""
from batched_results import Figure

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
    if row["op"] == "multiply":
        print(f"  measured: {text}")
        continue
    figure.claim(text, over <= (1.25 if row["sizes"] == "1-32" else 1.5))
    curves.setdefault(row["type"], {})[row["sizes"]] = over
figure.draw([("time over prediction, inversion", curves)], "sizes", "ratio")
figure.finish()
