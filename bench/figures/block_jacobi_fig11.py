#!/usr/bin/env python3
"""Fig. 11 of the Gauss-Jordan paper: application as blocks and as a generic sparse product.

A block diagonal matrix of 10^6 rows with blocks of 1..32 rows; rates as 2 nnz / time, FP64.
Asserted: the structure-aware application is faster at every size from 2 on; the figure of the
paper at n = 32 is passed.
"""
from measured_results import Figure, common

figure = Figure(__file__, __doc__, "block_jacobi_patterns")
expected = figure.expected()
keys = dict(op="apply", matrix="block_diagonal:1000000,{n}", type="f64", precision="working")
rates = {}
for label, way in (("blocks", "tessera"), ("generic product", "generic_spmv")):
    times = figure.series("n", "milliseconds", implementation=way, **keys)
    rates[label] = {n: 2e-6 * (1000000 // n * n) * n / time for n, time in times.items()}
figure.needs(**rates)
for n in (1, 2, 3, 4, 8, 12, 16, 20, 24, 28, 32):
    print(f"  {n:3} " + "  ".join(f"{label} {rate[n]:8.1f}" for label, rate in rates.items()))
blocks, generic = rates.values()
slower = [n for n in common(blocks, generic) if n > 1 and blocks[n] <= generic[n]]
figure.claim(
    "blocks are faster than the generic product from n = 2 on",
    not slower,
    f"slower at {slower or 'none'}",
)
figure.claim(
    "n = 32: faster than in the paper",
    blocks[32] > expected["rate at n = 32 on P100"],
    f"{blocks[32]:.0f} GFLOP/s",
)
figure.draw([("$10^6$ rows, FP64", rates)], "rows of a block", "GFLOP/s")
figure.finish()
