#!/usr/bin/env python3
"""Beyond the SBELL paper: time to a true residual of 1e-8 against the unknowns, hexahedra.

Diagonal conjugate gradients on cuSPARSE CSR, and Chebyshev of degree 6 on SBELL in double, with
16-bit entries, and with single vectors besides; setup counts. Asserted: every solve reaches the
residual; between one and three million unknowns the fastest polynomial is at least 2.4 times as fast
as the diagonal.
"""
from elasticity_results import print_table, total_seconds
from measured_results import Figure, colours

figure = Figure(__file__, __doc__, "sizes_elasticity", "elasticity")
curves, counts, late = {}, {}, []
for row in figure.rows:
    options = [o for o in row["preconditioner"].split(",") if not o.startswith("format=")]
    label = f"{','.join(options)}, {row['format'].partition(':')[0]}"
    curves.setdefault(label, {})[row["rows"]] = 1e3 * total_seconds(row)
    counts.setdefault(label, {})[row["rows"]] = row["iterations"]
    late += [row] if row["true_relative_residual"] > row["rtol"] else []
diagonal = curves.pop("jacobi, cusparse_csr", {})
figure.needs(**{"the diagonal on cuSPARSE": diagonal, "a polynomial": curves})
print_table("milliseconds at unknowns", {"jacobi, cusparse_csr": diagonal} | curves, 1)
print_table("iterations", counts)
figure.claim("every solve reaches its true residual", not late)
gains = {n: diagonal[n] / min(c[n] for c in curves.values() if n in c) for n in diagonal}
bar = {n: gain for n, gain in gains.items() if 9e5 <= n <= 3.2e6}
figure.claim(
    "1 to 3 million unknowns: the fastest polynomial is 2.4 times as fast as the diagonal",
    bar and min(bar.values()) >= 2.4,
    ", ".join(f"{n:,}: {gain:.2f}" for n, gain in gains.items()),
)
pyplot = figure.pyplot()
if pyplot is not None:
    picture, axis = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    lines = {"jacobi, cusparse_csr": diagonal} | curves
    for colour, (label, line) in zip(colours, lines.items()):
        axis.loglog(list(line), list(line.values()), "o-", color=colour, label=label, ms=4)
    axis.set_xlabel("unknowns, hexahedra")
    axis.set_ylabel("milliseconds to 1e-8, setup included")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.save(picture)
figure.finish()
