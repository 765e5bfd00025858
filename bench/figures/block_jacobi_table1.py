#!/usr/bin/env python3
"""Lays measured IDR(4) cycle counts beside Table 1 of the block-Jacobi paper.

usage: block_jacobi_table1.py RESULT.json [RESULT.json ...]

RESULT.json comes from `tessera-bench table1`. For every entry the median over the shadow seeds is
taken on each side of the preconditioner, and the better side counts. Exits with 1 unless every
entry for which the paper has a number converges and at least 75 % of them lie within a factor of 2.
"""
import json
import pathlib
import statistics
import sys


def expected():
    """{(matrix, bound): cycles or None}"""
    path = pathlib.Path(__file__).with_name("block_jacobi_table1_expected.csv")
    lines = [l.split(",") for l in path.read_text().splitlines() if not l.startswith("#")]
    table = [l for l in lines if len(l) == 7]
    bounds = [int(b) for b in table[0][1:]]
    return {
        (row[0], bound): None if text == "-" else int(text)
        for row in table[1:]
        for bound, text in zip(bounds, row[1:])
    }


def measured(paths):
    """{(matrix, bound): (cycles or None, side)}; None where the median run did not converge."""
    runs = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text())["rows"]:
            key = (row["matrix"], row["bound"])
            cycles = row["iterations"] if row["status"] == "converged" else float("inf")
            runs.setdefault(key, {}).setdefault(row["side"], []).append(cycles)
    best = {}
    for key, sides in runs.items():
        cycles, side = min((statistics.median(c), s) for s, c in sides.items())
        best[key] = (None if cycles == float("inf") else int(cycles), side)
    return best


def main(paths):
    if not paths:
        sys.exit(__doc__)
    ours, numbers, within, failed = measured(paths), 0, 0, []
    print(f"{'matrix':10} {'bound':>5} {'paper':>7} {'ours':>7} {'side':>6} {'ratio':>6}")
    for (matrix, bound), paper in expected().items():
        cycles, side = ours.get((matrix, bound), (None, "?"))
        ratio = cycles / paper if cycles and paper else None
        print(
            f"{matrix:10} {bound:5} {paper or '-':>7} {cycles or '-':>7} {side:>6} "
            + (f"{ratio:6.2f}" if ratio else "     -")
        )
        if paper:
            numbers += 1
            within += ratio is not None and 0.5 <= ratio <= 2
            if cycles is None:
                failed.append((matrix, bound))
    print(f"{within} of {numbers} entries within a factor of 2; not converged: {failed or 'none'}")
    return 0 if not failed and within >= 0.75 * numbers else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
