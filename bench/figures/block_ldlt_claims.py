"""What block_ldlt promises, judged by rows of tessera-bench block_ldlt."""
import math

from block_ldlt_rows import best, by_system, cut_of, goal, is_whole, residual, whole

# Reached with fill 0 or 1, at most 400 products, and less than a tenth of the dense count.
promised = (
    "KKT hard", "KKT mild", "QP band", "bordered", "Stokes, stabilised", "circuit", "shell",
)
saddle_points = ("KKT hard", "KKT mild", "QP band", "bordered", "Stokes", "Stokes, stabilised", "Darcy")
waves = ("Helmholtz", "Schrödinger", "shell, shifted")


class Claims:
    def __init__(self):
        self.lines = []
        self.failed = False

    def add(self, text, holds, numbers="", judged=1, cut=()):
        """A claim on `judged` rows; the names in `cut` are those of rows that could not be judged. It
        fails where these are all."""
        if not judged and not cut:
            outcome = "not measured"
        else:
            outcome = "holds" if holds and judged else "FAILS"
        self.failed = self.failed or outcome == "FAILS"
        line = f"{outcome}: {text}" + (f"; {numbers}" if numbers else "")
        self.lines.append(line + (f"; not judged, cut: {', '.join(cut)}" if cut else ""))
        print("  " + self.lines[-1])


def same(first, second):
    """Within one digit; all below the goal count as equal."""
    a, b = (max(residual(row), goal) for row in (first, second))
    return max(a, b) <= 10 * min(a, b)


def check_size(claims, document, size):
    systems = by_system(document["rows"])
    where = f"{size:,} rows, {document['device'].split(',')[0]}"
    check_saddle_points(claims, systems, where)
    missed, numbers, cut = [], [], []
    for label, kinds in systems.items():
        if label not in promised or "jacobi" not in kinds:
            continue
        cut += cut_of(label, kinds, "jacobi")
        row = best(kinds["jacobi"])
        products = row.get("products", math.inf)
        numbers.append(f"{label} {products}")
        if row["status"] != "converged" or products > 400 or row["stored_share"] >= 0.1:
            missed.append(f"{label} {residual(row):.1e} after {products} products")
    lacking = [s for s in promised if "jacobi" not in systems.get(s, {})]
    claims.add(
        f"{where}: 1e-8 with fill 0 or 1, at most 400 products with probes, below 10 % of dense",
        not missed and not lacking,
        ("missed: " + ", ".join(missed) + "; " if missed else "")
        + (f"not measured: {', '.join(lacking)}; " if lacking else "")
        + "products: " + ", ".join(numbers),
        cut=cut,
    )
    check_waves(claims, systems, where)


def check_saddle_points(claims, systems, where):
    """A pair of rows of which one was cut, or not measured, is not judged."""
    apart, judged, cut = [], 0, []
    for label in saddle_points:
        kinds = systems.get(label, {})
        cut += cut_of(label, kinds, "jacobi", "level")
        levels = {row["fill"]: row for row in whole(kinds.get("level", []))}
        for row in whole(kinds.get("jacobi", [])):
            other = levels.get(row.get("fill"))
            judged += other is not None
            if other and not same(row, other):
                apart.append(f"{label} fill {row['fill']} {residual(row):.1e} {residual(other):.1e}")
    claims.add(
        f"{where}: on KKT and saddle points 8 sweeps are within one digit of the level factor",
        not apart, ", ".join(apart), judged, cut,
    )


def check_waves(claims, systems, where):
    """Fails where that which they are compared with was cut."""
    worse, judged, cut = [], 0, []
    for label in waves:
        kinds = systems.get(label, {})
        ours = whole(kinds.get("jacobi", []) + kinds.get("level", []))
        cut += cut_of(label, kinds, "jacobi", "level")
        if not ours or "none" not in kinds:
            continue
        judged += len(ours)
        if not whole(kinds["none"]):
            worse.append(f"{label}: without it was cut")
            continue
        alone = residual(kinds["none"][0])
        for row in ours:
            if not residual(row) <= 1.001 * alone:
                worse.append(f"{label} fill {row['fill']} {residual(row):.1e}, none {alone:.1e}")
    claims.add(
        f"{where}: wave-like systems never end worse than without it", not worse, ", ".join(worse),
        judged, cut,
    )


def check_matching(claims, with_it, without):
    first = by_system(with_it["rows"])["KKT hard"]["jacobi"][0]
    second = by_system(without["rows"])["KKT hard"]["jacobi"][0]
    cut = [
        f"KKT hard {name}" for name, row in (("with", first), ("without", second)) if not is_whole(row)
    ]
    claims.add(
        "without matching the hard KKT system ends worse by three digits",
        residual(second) >= 1e3 * residual(first),
        f"{residual(first):.1e} with, {residual(second):.1e} without", not cut, cut,
    )
