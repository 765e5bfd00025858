#!/usr/bin/env python3
"""Fig. 9 of the SBELL paper: products with SBELL in double and single precision.

Beyond the paper: entries of 32 and 16 bits with vectors in double, of 16 bits with single ones.
Asserted on every mesh: double runs at 75 % of single or less, the paper's largest share; each step
of entries, 64 to 32 to 16 bits, is faster, with vectors in double and in single. No least share is
asserted: of a matrix that fits into the cache in single precision only, double falls below half.
"""
from elasticity_results import by_mesh, draw_groups, everywhere, meshes, print_table
from measured_results import Figure

figure = Figure(__file__, __doc__, "spmv_elasticity", "elasticity")
paper = figure.expected()
rates = {
    "FP64": by_mesh(figure, "sbell:{b}"),
    "FP64, entries FP32": by_mesh(figure, "sbell:{b},values=f32"),
    "FP64, entries FP16": by_mesh(figure, "sbell:{b},values=f16"),
    "FP32": by_mesh(figure, "sbell:{b}", type="f32"),
    "FP32, entries FP16": by_mesh(figure, "sbell:{b},values=f16", type="f32"),
    "FP32, entries BF16": by_mesh(figure, "sbell:{b},values=bf16", type="f32"),
}
figure.needs(**rates)
sizes = {kind: by_mesh(figure, "sbell:{b}", value="bytes", type=kind) for kind in ("f64", "f32")}
print_table("GFLOP/s", rates)
share = {mesh: rates["FP64"][mesh] / rates["FP32"][mesh] for mesh in everywhere}
figure.claim(
    "double is at most at 75 % of single",
    max(share.values()) <= 0.75,
    ", ".join(
        f"{mesh} {100 * part:.1f} %"
        + (f" (paper {100 * paper[f'{mesh} double over single']:.1f})" if mesh in meshes else "")
        for mesh, part in share.items()
    ),
)
print_table("megabytes", {k: {m: s / 1e6 for m, s in v.items()} for k, v in sizes.items()})
for slow, fast in (
    ("FP64", "FP64, entries FP32"),
    ("FP64, entries FP32", "FP64, entries FP16"),
    ("FP32", "FP32, entries FP16"),
    ("FP32", "FP32, entries BF16"),
):
    factors = {mesh: rates[fast][mesh] / rates[slow][mesh] for mesh in everywhere}
    figure.claim(
        f"{fast} is faster than {slow}",
        min(factors.values()) > 1,
        ", ".join(f"{mesh} {factor:.2f}" for mesh, factor in factors.items()),
    )
shares = {
    "measured": share,
    "the paper, GT 430": {mesh: paper[f"{mesh} double over single"] for mesh in meshes},
}
draw_groups(
    figure,
    [("SBELL", "GFLOP/s", rates), ("double over single precision", "share of the rate", shares)],
    size=(6.6, 3.6),
)
figure.finish()
