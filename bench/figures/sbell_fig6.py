#!/usr/bin/env python3
"""Figs. 6 and 7 of the SBELL paper: products with SELL and SBELL for slices of 32, 64, 96, FP64.

`threads=`: as many threads as a slice has rows, each with a row, or a row of blocks, as in the
paper; for SELL the library's own threads beside them. Where a mapping was not measured at all three
sizes, it is said and not drawn. Asserted, for SELL and SBELL and every mapping drawn: 32 is the
best slice on every mesh, or within 5 % of it.
"""
from elasticity_results import best, draw_groups, everywhere, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "spmv_elasticity", "elasticity")
figure.expected()
slices = (32, 64, 96)
mappings = {
    "SELL, the paper's threads": lambda s: [f"sell:{s},threads={s}"],
    "SELL, the library's threads": lambda s: [f"sell:{s}"],
    "SBELL, the paper's threads": lambda s: (
        ["sbell:{b},threads=32"] * (s == 32) + [f"sbell:{{b}},slice={s},threads={s}"]
    ),
}
panels = []
for label, names in mappings.items():
    curves = {}
    for mesh in everywhere:
        rates = {s: best(figure, mesh, *names(s)) for s in slices}
        if None not in rates.values():
            curves[mesh] = rates
    if not curves:
        print(f"  {label}: not measured at all three sizes")
        continue
    print_table(f"{label}, GFLOP/s", curves)
    ratio = {mesh: rates[32] / max(rates.values()) for mesh, rates in curves.items()}
    slower = {mesh: f"{share:.2f}" for mesh, share in ratio.items() if share < 1}
    figure.claim(
        f"{label}: 32 is best or within 5 %, on {len(curves)} meshes",
        min(ratio.values()) >= 0.95,
        f"of the best: {slower or '1 everywhere'}",
    )
    bars = {f"slices of {s}": {m: c[s] for m, c in curves.items()} for s in slices}
    panels.append((label, "GFLOP/s, FP64", bars))
for name in ("SELL", "SBELL"):
    figure.needs(**{name: [label for label, _, _ in panels if label.startswith(f"{name},")]})
draw_groups(figure, panels, columns=3)
figure.finish()
