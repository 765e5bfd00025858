#!/usr/bin/env python3
"""Fig. 10 of the Gauss-Jordan paper: setup time on real matrices, bounds 4, 8, 12, 16, 24, 32.

Blocks are found by supervariables. Asserted: over all matrices and bounds together
`shared_multiple` is the fastest of the paper's three extractions, as the paper found. All matrices
but kkt_cont-300 are so small that no extraction takes 0.2 ms.
"""
import math

from measured_results import Figure

figure = Figure(__file__, __doc__, "block_jacobi_real")
figure.expected()
ways = ("cached", "shared", "shared_multiple", "shared_full")
panels, ratios = [], {way: [] for way in ways}
for matrix in figure.values("matrix", op="setup"):
    times = {
        way: figure.series(
            "n", "milliseconds", op="setup", implementation=way, matrix=matrix, type="f64"
        )
        for way in ways
    }
    figure.needs(**times)
    panels.append((matrix.removesuffix(".mtx.gz"), times))
    for way in ways:
        ratios[way] += [times[way][n] / times["shared_multiple"][n] for n in times[way]]
means = {way: math.exp(sum(map(math.log, r)) / len(r)) for way, r in ratios.items()}
for way, mean in means.items():
    print(f"  {way:16} {mean:6.2f} of the time of shared_multiple (geometric mean)")
figure.claim(
    "`shared_multiple` is the overall winner of the paper's three",
    means["cached"] >= 1 and means["shared"] >= 1,
    f"cached {means['cached']:.2f}, shared {means['shared']:.2f}",
)
figure.draw(panels[:12], "bound", "milliseconds", log=True)
figure.finish()
