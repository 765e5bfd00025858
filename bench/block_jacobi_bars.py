#!/usr/bin/env python3
"""Compares measured block Jacobi with the project's limits (bars).

usage: block_jacobi_bars.py [FOLDER]

FOLDER (default: bench/results/h200) has block_jacobi*.json, as block_jacobi.sh writes them, and
study.json. The bars are for one H200. Rows of at most 60 MB fit its L2 cache, where the copy
bandwidth says little; "large" are the others.
  find            finding blocks: 0.50 of the copy bandwidth by row offsets and column indices; large
                  rows.
  setup           finding and setup up to n = 16: 3 times what their bytes take once (offsets,
                  column indices, entries in blocks, inverses); large rows. Setup is one `update`:
                  it allocates nothing, and formats of adaptive storage stay.
  apply           0.90 of the copy bandwidth; large rows of blocks of up to 32 rows.
  Ginkgo          times as fast as in ginkgo_block_jacobi.csv: `ginkgo_bars`.
  narrow          apply of adaptive and f16 storage over that of working storage: 1.15 times the
                  ratio of their bytes where the working inverses are large.
  vectors         16 vectors over one: 1.25 times the ratio of their bytes; large rows of blocks
                  of up to 32 rows, but not FP32 with 24 rows in f16 (docs/decisions/fewer-parts.md).
  shared_multiple at most 1.05 times the time of the fastest of the papers' extractions.
  arrow           at most 2 times the time of tridiagonal.
  study           cases of 100 or more cycles: setup below 1 % of the time in 88 % of them, above
                  5 % in none. Cycles of adaptive over those of working storage: geometric mean at
                  most 1.05.
Rows without "held" or "MISSED" are listed only. Exits with 1 when a bar is missed.
"""
import csv
import json
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(here / "figures"))
from study_results import Study, geometric_mean

large = 60e6
# Column: keys of Tessera's row, bars, from which n on.
ginkgo_bars = {
    "find_blocks": (dict(op="find_blocks"), dict(f64=50, f32=50), 1),
    "setup": (dict(op="setup", precision="working"), dict(f64=5, f32=5), 12),
    "setup_adaptive": (dict(op="setup", precision="adaptive"), dict(f64=10, f32=10), 12),
    "apply": (dict(op="apply", precision="working", vectors=1), dict(f64=1.15, f32=1.8), 32),
    "apply_f16": (dict(op="apply", precision="f16", vectors=1), dict(f64=2.5, f32=2.5), 32),
}


class Results:
    def __init__(self, folder):
        paths = sorted(folder.glob("block_jacobi*.json"), key=lambda p: (len(p.name), p.name))
        if not paths:
            sys.exit(f"{folder} holds no block_jacobi*.json; bench/block_jacobi.sh measures them")
        self.rows = [row for path in paths for row in json.loads(path.read_text())["rows"]]
        path = folder / "study.json"
        self.study = json.loads(path.read_text())["rows"] if path.exists() else []

    def select(self, **keys):
        return [row for row in self.rows if all(row.get(k) == v for k, v in keys.items())]

    def like(self, row, **changes):
        """The row that differs in these keys only, or None."""
        same = ("op", "implementation", "matrix", "type", "n", "layout", "precision", "vectors")
        found = self.select(**{k: row.get(k) for k in same} | changes)
        return found[0] if found else None


class Bars:
    """Counts by the name of the bar: held, missed."""

    def __init__(self):
        self.counts = {}

    def add(self, bar, text, value, least=None, most=None):
        """Neither limit: listed only. No value: missed."""
        limit = most if least is None else least
        if limit is None:
            print(f"        {bar}: {text}: {value:.4g}")
            return
        held = value is not None and (value >= least if most is None else value <= most)
        self.counts.setdefault(bar, [0, 0])[not held] += 1
        number = "not measured" if value is None else f"{value:.4g}"
        print(
            f"{'held  ' if held else 'MISSED'}  {bar}: {text}: {number}, "
            f"at {'least' if most is None else 'most'} {limit:g}"
        )

    def listed_together(self, bar, rows):
        """One line for what is far too small."""
        if rows:
            shares = [row["fraction_of_copy"] for row in rows]
            most = max(row["bytes"] for row in rows) / 1e6
            print(
                f"        {bar}: {len(rows)} rows of real matrices, {most:.1f} MB or less: "
                f"{min(shares):.2g} to {max(shares):.2g}"
            )


def is_real(row):
    return row["matrix"].endswith(".mtx.gz")


def text(row):
    words = [row["matrix"], row["type"], f"n = {row['n']}"]
    if row["largest"] < row["n"]:
        words.append(f"(blocks of {row['largest']})")
    if row.get("precision", "working") != "working":
        words.append(row["precision"])
    if row.get("vectors", 1) > 1:
        words.append(f"{row['vectors']} vectors")
    return " ".join(words) + f", {row['bytes'] / 1e6:.0f} MB"


def finding_and_setup(results, bars):
    rows = results.select(op="find_blocks")
    for row in rows:
        if not is_real(row):
            least = 0.5 if row["bytes"] > large else None
            bars.add("find", text(row), row["fraction_of_copy"], least=least)
    bars.listed_together("find", [row for row in rows if is_real(row)])
    for row in results.select(op="setup", implementation="automatic", precision="working"):
        find = results.like(row, op="find_blocks", implementation="tessera", precision=None)
        if find and row["n"] <= 16 and not is_real(row):
            once = row["milliseconds"] * row["fraction_of_copy"]
            both = find["milliseconds"] + row["milliseconds"]
            bars.add("setup", text(row), both / once, most=3 if row["bytes"] > large else None)


def apply(results, bars):
    rows = results.select(
        op="apply", implementation="tessera", precision="working", vectors=1, layout="variable"
    )
    for row in rows:
        if not is_real(row):
            least = 0.9 if row["bytes"] > large and row["n"] <= 32 else None
            bars.add("apply", text(row), row["fraction_of_copy"], least=least)
    bars.listed_together("apply", [row for row in rows if is_real(row)])
    for matrix, rows in uniform(results, op="apply", implementation="tessera").items():
        rates = {row["n"]: row["fraction_of_copy"] for row in rows if row["bytes"] > large}
        below = sum(rate < 0.9 for rate in rates.values())
        worst = min(rates, key=rates.get)
        sizes = f"n = {min(rates)}..{max(rates)}, {below} below, least at {worst}"
        bars.add("apply", f"{matrix}, {sizes}", rates[worst], least=0.9)


def uniform(results, **keys):
    """{matrix: rows} of blocks of given sizes."""
    found = {}
    for row in results.select(layout="uniform", type="f64", **keys):
        found.setdefault(row["matrix"], []).append(row)
    return found


def ginkgo(results, bars):
    with open(here / "ginkgo_block_jacobi.csv", newline="") as file:
        table = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for column, (keys, limits, from_n) in ginkgo_bars.items():
        for line in table:
            matrix, kind, n = line["matrix"], line["type"], int(line["n"])
            found = results.select(**keys, matrix=matrix, type=kind, n=n)
            value = float(line[column]) / found[0]["milliseconds"] if found else None
            dense = matrix.startswith("block_diagonal")  # Bars of the apply are for n = 32 itself.
            if n >= from_n and (dense or keys["op"] != "apply"):
                bars.add("Ginkgo", f"{column}, {matrix} {kind} n = {n}", value, least=limits[kind])
            elif value:
                bars.add("Ginkgo", f"{column}, {matrix} {kind} n = {n}", value)


def narrow_and_vectors(results, bars):
    for row in results.select(op="apply", implementation="tessera", layout="variable"):
        if row["precision"] != "working" and row["vectors"] == 1:
            base = results.like(row, precision="working")
            vectors = 2 * row["rows"] * (8 if row["type"] == "f64" else 4)
            most = 1.15 if base["bytes"] - vectors > large and row["n"] <= 32 else None
            bars.add("narrow", text(row), over_bytes(row, base), most=most)
    for row in results.select(op="apply", implementation="tessera", vectors=16):
        base = results.like(row, vectors=1)
        retired = (row["type"], row["n"], row["precision"]) == ("f32", 24, "f16")
        most = 1.25 if base["bytes"] > large and row["n"] <= 32 and not retired else None
        bars.add("vectors", text(row), over_bytes(row, base), most=most)


def over_bytes(row, base):
    """The ratio of times over the ratio of bytes."""
    return row["milliseconds"] / base["milliseconds"] / (row["bytes"] / base["bytes"])


def patterns(results, bars):
    for matrix, rows in uniform(results, op="setup", implementation="shared_multiple").items():
        over = {}
        for row in rows:
            ways = ("cached", "shared_full", "shared", "shared_multiple")
            times = [results.like(row, implementation=way)["milliseconds"] for way in ways]
            over[row["n"]] = row["milliseconds"] / min(times)
        worst = max(over, key=over.get)
        bars.add(
            "shared_multiple",
            f"{matrix}, n = {min(over)}..{max(over)}, most at {worst}",
            over[worst],
            most=1.05,
        )
    over = {}
    for row in results.select(
        op="setup", implementation="shared_multiple", matrix="arrow:1000000"
    ):
        base = results.like(row, matrix="tridiagonal:1000000")
        over[row["n"]] = row["milliseconds"] / base["milliseconds"]
    worst = max(over, key=over.get, default=None)
    bars.add("arrow", f"most at n = {worst}", over.get(worst), most=2)


def study(results, bars):
    right, left = (Study(results.study, side) for side in ("right", "left"))
    for precision in ("working", "adaptive"):
        shares = right.setup_shares(precision)
        few = sum(share < 0.01 for share in shares) / len(shares) if shares else None
        cases = f"setup, {precision}, {len(shares)} cases"
        bars.add("study", f"{cases}, below 1 % of the time", few, least=0.88)
        bars.add("study", f"{cases}, largest share", max(shares, default=None), most=0.05)
    if shares := left.setup_shares("working"):
        bars.add("study", f"setup, {len(shares)} cases from the left, largest share", max(shares))
    cycles = right.adaptive_cycles()
    lost = [f"{matrix} {n}" for (matrix, n), ratio in cycles.items() if ratio == float("inf")]
    cases = f"{len(cycles) - len(lost)} cases (no longer converge: {', '.join(lost) or 'none'})"
    mean = geometric_mean(cycles.values())
    bars.add("study", f"cycles of adaptive, {cases}", mean, most=1.05)


def main(arguments):
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        sys.exit(__doc__)
    results = Results(pathlib.Path(arguments[0]) if arguments else here / "results" / "h200")
    bars = Bars()
    for part in (finding_and_setup, apply, ginkgo, narrow_and_vectors, patterns, study):
        part(results, bars)
    for name in ("find", "setup", "apply", "narrow", "vectors", "shared_multiple"):
        if name not in bars.counts:
            bars.add(name, "no row", None, least=0)
    print()
    for name, (held, missed) in bars.counts.items():
        print(f"{'MISSED' if missed else 'held  '}  {name}: {missed} of {held + missed} miss")
    held, missed = (sum(c[k] for c in bars.counts.values()) for k in (0, 1))
    print(f"{held} held, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
