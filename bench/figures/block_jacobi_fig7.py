#!/usr/bin/env python3
"""Fig. 7 of the Gauss-Jordan paper: gain of one shared row over whole blocks in shared memory.

Setup times of the two extractions that give a warp one block: `shared_full` (the whole block in
shared memory) over `shared` (one row of it), on real matrices with bounds 4 to 32. Asserted, as the
paper found: at bound 32 one row is faster on average, by more than 5 %.
"""
from measured_results import Figure

figure = Figure(__file__, __doc__, "block_jacobi_real")
figure.expected()
matrices = figure.values("matrix", op="setup")
gains = {}
for matrix in matrices:
    keys = dict(op="setup", matrix=matrix, precision="working", type="f64")
    full = figure.series("n", "milliseconds", implementation="shared_full", **keys)
    one = figure.series("n", "milliseconds", implementation="shared", **keys)
    gains[matrix.removesuffix(".mtx.gz")] = {n: full[n] / one[n] for n in full if n in one}
figure.needs(**gains)
bounds = sorted({n for series in gains.values() for n in series})
print("  matrix            " + "".join(f"{n:8}" for n in bounds))
for name, series in gains.items():
    print(f"  {name:18}" + "".join(f"{series[n]:8.2f}" for n in bounds))
widest = [series[max(bounds)] for series in gains.values()]
mean = sum(widest) / len(widest)
largest = max(max(series.values()) for series in gains.values())
figure.claim(
    "with blocks of up to 32 rows one shared row is faster on average", mean > 1.05, f"{mean:.2f}"
)
print(f"  largest gain: {largest:.2f}")
figure.draw([("time with whole blocks over time with one row, FP64", gains)], "bound", "gain")
figure.finish()
