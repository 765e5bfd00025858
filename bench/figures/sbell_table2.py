#!/usr/bin/env python3
"""Table 2 of the SBELL paper: entries stored by each format, as a multiple of those of CSR.

The four meshes of the paper, and two larger ones; slices of 32 rows; no picture. The structured
ones, quad and hex, are the paper's; tri and tet are other unstructured meshes of about its size.
Asserted: ELLPACK and BELL store what the paper prints on quad and hex, to its two digits, and on
tri and tet at least 1.2 times the entries and within 15 % of the paper; SELL and SBELL store
nowhere more than 3 % over CSR.
"""
from elasticity_results import by_mesh, everywhere, meshes, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "spmv_elasticity", "elasticity")
paper = figure.expected()
formats = {
    "ELLPACK": "ell",
    "BELL": "bell:{b}",
    "SELL": "sell:32",
    "SBELL": "sbell:{b}",
}
factors = {name: by_mesh(figure, text, value="padding") for name, text in formats.items()}
figure.needs(**factors)
print_table("stored over CSR", factors, 3)
for mesh in meshes:
    expected = paper[f"{mesh} ELLPACK and BELL"]
    both = {name: factors[name][mesh] for name in ("ELLPACK", "BELL")}
    numbers = ", ".join(f"{name} {factor:.3f}" for name, factor in both.items())
    if mesh in ("quad", "hex"):
        figure.claim(
            f"{mesh}: ELLPACK and BELL store {expected:.2f} times the entries, as in the paper",
            all(round(factor, 2) == expected for factor in both.values()),
            numbers,
        )
    else:
        figure.claim(
            f"{mesh}: ELLPACK and BELL pad, within 15 % of the paper's {expected:.2f}",
            all(f >= 1.2 and abs(f / expected - 1) <= 0.15 for f in both.values()),
            numbers,
        )
for name in ("SELL", "SBELL"):
    figure.claim(
        f"{name}: at most 3 % over CSR on every mesh",
        len(factors[name]) == len(everywhere) and max(factors[name].values()) <= 1.03,
        f"{max(factors[name].values()):.3f} at most",
    )
figure.finish()
