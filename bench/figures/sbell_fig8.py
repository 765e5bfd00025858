#!/usr/bin/env python3
"""Fig. 8 of the SBELL paper: products in every format and of cuSPARSE on the meshes, FP64.

The paper's six (solid), and CSR with the best number of threads per row, ELLPACK-R, BCSR, cuSPARSE's
SELL and BSR (hatched); of several ways of one format the fastest counts. Below, the four meshes with
8 times the paper's nonzeros: the paper's quadrilaterals fit the 60 MB of L2 of an H200, none of these
does (megabytes are printed). Asserted: on every mesh SBELL is the fastest, as in the paper;
it is faster than SELL and than anything of cuSPARSE. The factors stand beside the paper's, whose
cuSPARSE is that of 2012: they are not asserted, nor is that every ELLPACK format beats every CSR,
which today's CSR does not admit.
"""
from elasticity_results import by_mesh, draw_groups, everywhere, large, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "spmv_elasticity", "elasticity")
for document in figure.documents_of("spmv_large").values():
    figure.rows += document["rows"]
meshes = everywhere | large
paper = figure.expected()


def measured(*implementations, **keys):
    return by_mesh(figure, *implementations, among=meshes, **keys)


rates = {
    "cuSPARSE CSR": measured("cusparse_csr1", "cusparse_csr2"),
    "CSR, one warp per row": measured("csr", lanes=32),
    "ELLPACK": measured("ell"),
    "BELL": measured("bell:{b}"),
    "SELL": measured("sell:32", "sell:32,threads=32"),
    "SBELL": measured("sbell:{b}", "sbell:{b},threads=32"),
    "CSR": measured("csr"),
    "ELLPACK-R": measured("ellr"),
    "BCSR": measured("bcsr:{b}"),
    "cuSPARSE SELL": measured("cusparse_sell"),
    "cuSPARSE BSR": measured("cusparse_bsr", "cusparse_bsrmv"),
}
figure.needs(
    **{f"{label} on {mesh}": mesh in series for label, series in rates.items() for mesh in meshes}
)
print_table("GFLOP/s", rates)
print_table(
    "SBELL, FP64",
    {
        "of the bytes at the rate of a copy": measured(
            "sbell:{b}", "sbell:{b},threads=32", value="fraction_of_copy"
        ),
        "megabytes": {
            mesh: size / 1e6 for mesh, size in measured("sbell:{b}", value="bytes").items()
        },
    },
    2,
)
sbell = rates["SBELL"]
for mesh in meshes:
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
    factors = {mesh: sbell[mesh] / max(rates[way][mesh] for way in ways) for mesh in meshes}
    figure.claim(
        f"SBELL is faster than {rival} on every mesh",
        min(factors.values()) > 1,
        ", ".join(
            f"{mesh} {factor:.2f}"
            + (f" (paper {p:.2f})" if (p := paper.get(f"{mesh} SBELL over {rival}")) else "")
            for mesh, factor in factors.items()
        ),
    )
slower = {
    mesh: ", ".join(
        label
        for label in ("ELLPACK", "ELLPACK-R", "BELL", "SELL")
        if rates[label][mesh] < rates["cuSPARSE CSR"][mesh]
    )
    for mesh in meshes
}
text = "; ".join(f"{mesh} {labels}" for mesh, labels in slower.items() if labels)
print(f"  slower than cuSPARSE CSR: {text or 'none'}")
panels = [
    (title, "GFLOP/s", {label: {m: r[m] for m in among} for label, r in rates.items()})
    for title, among in (
        ("products, FP64", everywhere),
        ("products, FP64, 8 times the nonzeros of the paper's", large),
    )
]
draw_groups(figure, panels, size=(12, 4.2), columns=1)
figure.finish()
