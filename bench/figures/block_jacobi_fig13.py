#!/usr/bin/env python3
"""Fig. 13 of the Gauss-Jordan paper: block sizes compared pair by pair.

Entry (i, j): on how many matrices configuration i solved faster than j; one that does not converge
is slower than any that does. Asserted: every block size beats scalar Jacobi more often than it is
beaten.
"""
from measured_results import Figure
from study_results import Study, label

figure = Figure(__file__, __doc__, "study")
figure.expected()
study = Study(figure.rows)
names = study.configurations
wins = {
    (i, j): sum(
        (m, i) in study.seconds and (m, j) in study.seconds
        and study.seconds[m, i] < study.seconds[m, j]
        for m in study.matrices
    )
    for i in names
    for j in names
}
print("  faster than" + "".join(f"{label(j):>13}" for j in names))
for i in names:
    print(f"  {label(i):11}" + "".join(f"{wins[i, j]:13}" for j in names))
scalar = (1, "working")
for c in names:
    if c[0] > 1 and c[1] == "working":
        figure.claim(
            f"bound {c[0]} beats scalar Jacobi more often than it is beaten",
            wins[c, scalar] > wins[scalar, c],
            f"{wins[c, scalar]} against {wins[scalar, c]}",
        )
numbers = range(len(names))
figure.draw_table(
    f"on how many of {len(study.matrices)} matrices a row is faster than a column",
    [label(c) for c in names],
    {(i, j): wins[names[i], names[j]] for i in numbers for j in numbers},
    "slower",
    "faster",
)
figure.finish()
