#!/usr/bin/env python3
"""Products on the CPU beside STREAM's triad: CSR and SBELL, from one thread to all cores.

Bytes are those of the format, x and y, each once; matrices larger than the caches, but for 16-bit
entries, which partly fit. Asserted: with all cores every product reaches 0.8 of the triad, the better
of ordinary and streaming stores.
"""
import re

from elasticity_results import draw_groups, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "cpu_spmv_elasticity", "elasticity")
documents = {d["threads"]: d for d in figure.documents_of("cpu_spmv_elasticity").values()}
panels = []
for matrix in figure.values("matrix"):
    table = {}
    for threads, document in sorted(documents.items()):
        for row in document["rows"]:
            if row["matrix"] == matrix:
                name = row["implementation"].partition(":")
                label = name[0] + "".join(f",{o}" for o in name[2].split(",")[1:])
                share = row["fraction_of_triad"]
                table.setdefault(f"{label} {row['type']}", {})[threads] = share
    print_table(f"{matrix}: of the triad, by threads", table, 2)
    most = max(documents)
    bar = {label: shares[most] for label, shares in table.items() if most in shares}
    figure.claim(
        f"{matrix}: at 0.8 of the triad with {most} threads",
        bar and min(bar.values()) >= 0.8,
        f"{min(bar, key=bar.get)} {min(bar.values()):.2f} at least",
    )
    panels.append((f"{matrix}, by threads", "share of the triad", table))
rates = ", ".join(f"{t}: {d['triad_gbps']:.0f}" for t, d in sorted(documents.items()))
print(f"  triad by threads, GB/s: {rates}")
figure.device = re.sub(r", \d+ threads?", "", figure.device)
draw_groups(figure, panels)
figure.finish()
