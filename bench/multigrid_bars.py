#!/usr/bin/env python3
"""Compares measured multigrid with the project's limits (bars).

usage: multigrid_bars.py [FOLDER...]

A FOLDER (default: h200 and the others of bench/results with multigrid*.json) has what
bench/multigrid.sh writes.
  iterations  of flexible conjugate gradients to a true residual of 1e-8: `iteration_bars`, with
              cycles in either precision. Only cantilever3d:4,length=64 may end with accuracy_lost.
  time        setup + solve on one H200, in milliseconds: `time_bars`; the conversion of the matrix
              for products is not part of it.
  share       setup over setup + solve on one H200, multigrid_large*.json: at most 45 %.
  update      over setup, the same rows: at most 0.65.
  entries     of all levels over those of the matrix: hexahedra 1.45, tetrahedra 2.1, plane 1.6,
              stretched 3.2.
  pyamg       its fastest setup + solve over the fastest of two threads, the conversion for
              products included: at least 5.
A line for each row and bar: PASS or SHORT, and measured / bar (bar / measured where the bar is a
least value), so that more than 1 is short. Bars that nothing was measured for are "not measured".
Exits with 0.
"""
import json
import pathlib
import sys

results = pathlib.Path(__file__).resolve().parent / "results"
iteration_bars = {
    "elasticity3d:26": 13,
    "elasticity3d:37": 13,
    "elasticity3d:54": 14,
    "cantilever3d:23,length=4": 14,
    "cantilever3d:14,length=16": 16,
    "elasticity3d:37,element=tet4,jitter=0.4": 15,
    "elasticity2d:256": 15,
    "elasticity3d:37,poisson=0.45": 23,
    "elasticity3d:18,stretch=1:1:10": 18,
    "elasticity3d:18,stretch=10:1:1": 22,
    "elasticity3d:26,contrast=1e4": 15,
    "cantilever3d:4,length=64": 30,
    "diffusion3d:48,checkerboard=1e4": 14,
    "poisson3d:100": 14,
    "poisson3d:200": 15,
    "poisson2d:1000": 14,
}
may_lose_accuracy = ("cantilever3d:4,length=64",)
time_bars = {
    "elasticity3d:54": 18,
    "elasticity3d:90": 65,
    "elasticity3d:149": 290,
    "cantilever3d:36,length=16": 75,
    "poisson3d:200": 90,
}
cycles = {"amg": "", "amg,precision=working": ", in double"}


def total(row, conversion=False):
    seconds = row["setup_seconds"] + row["seconds"]
    return seconds + (row["product_seconds"] if conversion else 0)


def entries_bar(matrix):
    if matrix.startswith(("elasticity2d", "plate_hole")):
        return 1.6
    if not matrix.startswith(("elasticity3d", "cantilever3d")):
        return None
    return 3.2 if "stretch=" in matrix else 2.1 if "element=tet4" in matrix else 1.45


class Bars:
    def __init__(self):
        self.lines = []
        self.short = []

    def add(self, bar, text, where, value, limit, at_least=False, good=True, note=""):
        ratio = limit / value if at_least else value / limit
        passes = good and ratio <= 1
        sign = ">=" if at_least else "<="
        line = (
            f"{'PASS ' if passes else 'SHORT'}  {bar:10}  {text:52}  {where:6}"
            f"{value:9.5g} {sign} {limit:<5g} {ratio:6.3f}  {note}"
        ).rstrip()
        self.lines.append(line)
        if not passes:
            self.short.append(line)
        print(line)

    def missing(self, bar, text):
        print(f"-      {bar:10}  {text:52}  not measured")


def rows_of(folders):
    """[(folder, file, row)]"""
    found = []
    for folder in folders:
        for path in sorted(folder.glob("multigrid*.json")):
            for row in json.loads(path.read_text()).get("rows", []):
                found.append((folder.name, path.stem, row))
    return found


def iterations(measured, bars):
    files = ("multigrid_cases", "multigrid_large", "multigrid_large_diffusion")
    for matrix, limit in iteration_bars.items():
        rows = {}  # A matrix may be in several files: the first counts.
        for where, file, row in measured:
            if row["matrix"] == matrix and row["preconditioner"] in cycles and file in files:
                rows.setdefault((where, row["preconditioner"]), row)
        if not rows:
            bars.missing("iterations", matrix)
        for (where, name), row in rows.items():
            lost = row["status"] == "accuracy_lost" and matrix in may_lose_accuracy
            good = row["status"] == "converged" or lost
            note = "" if row["status"] == "converged" else row["status"]
            text = matrix + cycles[name]
            bars.add("iterations", text, where, row["iterations"], limit, good=good, note=note)


def on_h200(measured, bars):
    large = {
        row["matrix"]: row
        for where, file, row in measured
        if where == "h200" and file.startswith("multigrid_large") and row["preconditioner"] == "amg"
    }
    for matrix, limit in time_bars.items():
        if matrix in large:
            row = large[matrix]
            note = f"setup {1e3 * row['setup_seconds']:.1f}, solve {1e3 * row['seconds']:.1f}"
            bars.add("time", matrix, "h200", 1e3 * total(row), limit, note=note)
        else:
            bars.missing("time", matrix)
    for matrix, row in large.items():
        bars.add("share", matrix, "h200", row["setup_seconds"] / total(row), 0.45)
    for matrix, row in large.items():
        bars.add("update", matrix, "h200", row["update_seconds"] / row["setup_seconds"], 0.65)


def entries(measured, bars):
    rows = {}
    for where, _, row in measured:
        if row["preconditioner"] == "amg" and "operator_complexity" in row:
            limit = entries_bar(row["matrix"])
            if limit and "implementation" not in row:
                rows[row["matrix"], where] = row["operator_complexity"], limit
    for (matrix, where), (value, limit) in rows.items():
        bars.add("entries", matrix, where, value, limit)


def pyamg(measured, bars):
    peers, own = {}, {}
    for where, file, row in measured:
        if file.startswith("multigrid_peers"):
            here = peers if "pyamg" in file else own if file.endswith("_2") else {}
            here.setdefault((row["matrix"], where), []).append(total(row, conversion=here is own))
    for (matrix, where), times in peers.items():
        if fast := own.get((matrix, where)):
            note = f"{min(times):.2f} s over {min(fast):.2f} s"
            bars.add("pyamg", matrix, where, min(times) / min(fast), 5, at_least=True, note=note)
    if not peers:
        bars.missing("pyamg", "elasticity3d:54")


def main(arguments):
    if any(a.startswith("-") for a in arguments):
        sys.exit(__doc__)
    folders = [pathlib.Path(a).resolve() for a in arguments] or sorted(
        {path.parent for path in results.glob("*/multigrid*.json")}, key=lambda f: f.name != "h200"
    )
    measured = rows_of(folders)
    if not measured:
        sys.exit("no multigrid*.json; bench/multigrid.sh measures them")
    bars = Bars()
    print(f"       {'bar':10}  {'':52}  {'':6} measured    bar  ratio")
    for part in (iterations, on_h200, entries, pyamg):
        part(measured, bars)
    print(f"\n{len(bars.lines) - len(bars.short)} pass, {len(bars.short)} are short"
          + (":" if bars.short else ""))
    for line in bars.short:
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
