#!/usr/bin/env python3
"""Figs. 6 and 7 of the condition-number paper: rates against n = 1..32, 30,000 matrices.

Inversion, inversion with the condition number and the faster way of cuBLAS, FP32 and FP64; the
paper has one figure per GPU (P100, V100). Asserted: the paper's kernel (several problems per warp)
has peaks at n = 8 and 16; at n = 32 the fused kernel is over 6 times cuBLAS and FP32 faster than
FP64; from n = 8 on the condition number costs at most 15 %; the rate of the fused kernel does not fall
beyond n = 23 as it did on the V100: at n = 32 it is at least that at n = 23.
"""
from measured_results import Figure, common, condition_curves

figure = Figure(__file__, __doc__)
expected = figure.expected()
panels, fused_rates = [], {}
for kind, name in (("f32", "FP32"), ("f64", "FP64")):

    def rates(op, way):
        return figure.series(
            "n", op=op, implementation=way, type=kind, batch=30000, layout="uniform"
        )

    curves = condition_curves(rates)
    figure.needs(**curves)
    panels.append((f"30,000 matrices, {name}", curves))
    alone, fused, cublas, paper = curves.values()
    fused_rates[name] = fused
    sizes = common(*curves.values())
    for n in sizes:
        print(f"  {name} {n:3}  " + "  ".join(f"{curve[n]:8.0f}" for curve in curves.values()))
    for peak in (8, 16):
        figure.claim(
            f"{name}: the paper's kernel has a peak at n = {peak}",
            paper[peak] > paper[peak + 1],
            f"{paper[peak]:.0f}, then {paper[peak + 1]:.0f}",
        )
    costly = [n for n in sizes if n >= 8 and alone[n] / fused[n] > 1.15]
    figure.claim(f"{name}: the condition number costs at most 15 % from n = 8 on", not costly,
                 f"more at {costly}")
    figure.claim(
        f"{name}: over 6 times cuBLAS at n = 32",
        fused[32] > expected["times cuBLAS at n = 32"] * cublas[32],
        f"{fused[32] / cublas[32]:.1f} times",
    )
    figure.claim(
        f"{name}: no loss beyond n = 23",
        fused[32] >= fused[23],
        f"{fused[23]:.0f} at n = 23, {fused[32]:.0f} at n = 32",
    )
figure.claim(
    "FP32 is faster than FP64 at n = 32",
    fused_rates["FP32"][32] > fused_rates["FP64"][32],
    f"{fused_rates['FP32'][32] / fused_rates['FP64'][32]:.2f} times",
)
figure.draw(panels, "n", "GFLOP/s")
figure.finish()
