#!/usr/bin/env python3
"""Fig. 8 of the SBELL paper: products in every format and of cuSPARSE on the meshes, FP64.

The paper's six (solid), and CSR with the best number of threads a row, ELLPACK-R, BCSR, cuSPARSE's
SELL and BSR (hatched); of several ways of one format the fastest counts. Asserted: on every mesh
SBELL is the fastest, as in the paper; it is faster than SELL and than anything of cuSPARSE. The
factors stand beside the paper's, whose cuSPARSE is that of 2012: they are not asserted, nor is that
every ELLPACK format beats every CSR, which today's CSR does not admit.
"""
from elasticity_results import by_mesh, draw_groups, everywhere, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "spmv_elasticity", "elasticity")
paper = figure.expected()
rates = {
    "cuSPARSE CSR": by_mesh(figure, "cusparse_csr1", "cusparse_csr2"),
    "CSR, a warp a row": by_mesh(figure, "csr", lanes=32),
    "ELLPACK": by_mesh(figure, "ell"),
    "BELL": by_mesh(figure, "bell:{b}"),
    "SELL": by_mesh(figure, "sell:32", "sell:32,threads=32"),
    "SBELL": by_mesh(figure, "sbell:{b}", "sbell:{b},threads=32"),
    "CSR": by_mesh(figure, "csr"),
    "ELLPACK-R": by_mesh(figure, "ellr"),
    "BCSR": by_mesh(figure, "bcsr:{b}"),
    "cuSPARSE SELL": by_mesh(figure, "cusparse_sell"),
    "cuSPARSE BSR": by_mesh(figure, "cusparse_bsr", "cusparse_bsrmv"),
}
figure.needs(**rates)
print_table("GFLOP/s", rates)
print_table(
    "SBELL, FP64",
    {
        "of the bytes at the rate of a copy": by_mesh(
            figure, "sbell:{b}", "sbell:{b},threads=32", value="fraction_of_copy"
        )
    },
    2,
)
sbell = rates["SBELL"]
for mesh in everywhere:
    others = {label: r[mesh] for label, r in rates.items() if label != "SBELL" and mesh in r}
    rival = max(others, key=others.get)
    figure.claim(
        f"{mesh}: SBELL is first",
        sbell[mesh] >= others[rival],
        f"{sbell[mesh] / others[rival]:.3f} times {rival}",
    )
for rival, ways in (
    ("SELL", ("SELL",)),
    ("cuSPARSE CSR", ("cuSPARSE CSR",)),
    ("cuSPARSE", ("cuSPARSE CSR", "cuSPARSE SELL", "cuSPARSE BSR")),
):
    factors = {mesh: sbell[mesh] / max(rates[way][mesh] for way in ways) for mesh in everywhere}
    figure.claim(
        f"SBELL is faster than {rival} on every mesh",
        min(factors.values()) > 1,
        ", ".join(
            f"{mesh} {factor:.2f}"
            + (f" (paper {p:.2f})" if (p := paper.get(f"{mesh} SBELL over {rival}")) else "")
            for mesh, factor in factors.items()
        ),
    )
behind = {
    mesh: ", ".join(
        label
        for label in ("ELLPACK", "ELLPACK-R", "BELL", "SELL")
        if rates[label][mesh] < rates["cuSPARSE CSR"][mesh]
    )
    for mesh in everywhere
}
text = "; ".join(f"{mesh} {labels}" for mesh, labels in behind.items() if labels)
print(f"  slower than cuSPARSE CSR: {text or 'none'}")
draw_groups(figure, [("products, FP64", "GFLOP/s", rates)], size=(12, 4.2))
figure.finish()
