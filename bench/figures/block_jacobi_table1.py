#!/usr/bin/env python3
"""Compares measured IDR(4) cycle counts with Table 1 of the block-Jacobi paper.

usage: block_jacobi_table1.py RESULT.json [RESULT.json ...]

RESULT.json comes from `tessera-bench table1`. Two counts stand beside the paper's:
  recursive  cycles until the recursive residual met the target, median over the shadow seeds,
             preconditioned from the right: what the program of the paper counts and stops at;
  true       cycles until the true residual b - A x met it, restarts included: median over the
             seeds on each side of the preconditioner, the better side.
Exits with 1 unless the recursion meets the target in every entry for which the paper has a number,
and at least 75 % of these recursive counts lie within a factor of 2. See block_jacobi_table1.md.
"""
import json
import math
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


def rows(paths):
    """{(matrix, bound): [row, ...]}"""
    groups = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text())["rows"]:
            groups.setdefault((row["matrix"], row["bound"]), []).append(row)
    return groups


def median(counts):
    """None where the median run did not converge, or there is none."""
    middle = statistics.median(counts) if counts else math.inf
    return None if math.isinf(middle) else round(middle)


def recursive_count(runs):
    counts = [r["recursive_iterations"] for r in runs if r["side"] == "right"]
    return median([math.inf if c is None else c for c in counts])


def true_count(runs):
    best = None
    for side in ("right", "left"):
        count = median(
            [
                r["iterations"] if r["status"] == "converged" else math.inf
                for r in runs
                if r["side"] == side
            ]
        )
        if count is not None and (best is None or count < best):
            best = count
    return best


def ratio(count, paper):
    return count / paper if count and paper else None


def close(value):
    return value is not None and 0.5 <= value <= 2


def cell(value, form="{}"):
    return "-" if value is None else form.format(value)


def main(paths):
    if not paths:
        sys.exit(__doc__)
    groups = rows(paths)
    numbers, within, within_true, failed, above = 0, 0, 0, [], []
    print(
        f"{'matrix':10} {'bound':>5} {'paper':>7} {'recursive':>9} {'ratio':>6} "
        f"{'true':>7} {'ratio':>6}"
    )
    for (matrix, bound), paper in expected().items():
        runs = groups.get((matrix, bound), [])
        recursive, true = recursive_count(runs), true_count(runs)
        ratios = ratio(recursive, paper), ratio(true, paper)
        print(
            f"{matrix:10} {bound:5} {cell(paper):>7} {cell(recursive):>9} "
            f"{cell(ratios[0], '{:.2f}'):>6} {cell(true):>7} {cell(ratios[1], '{:.2f}'):>6}"
        )
        if paper is None:
            continue
        numbers += 1
        within += close(ratios[0])
        within_true += close(ratios[1])
        if recursive is None:
            failed.append(f"{matrix} {bound}")
        if true is None and runs:
            best = min(runs, key=lambda r: r["true_relative_residual"] or math.inf)
            above.append((matrix, bound, best))
    print(f"within a factor of 2 of the paper: {within} of {numbers} by the recursive residual,")
    print(f"{within_true} of {numbers} by the true one")
    print(f"recursion did not meet the target: {', '.join(failed) or 'none'}")
    for matrix, bound, best in above:
        print(
            f"{matrix} {bound}: true residual {best['true_relative_residual']:.1e} at best, "
            f"attainable accuracy {best['attainable_accuracy']:.1e}"
        )
    return 0 if not failed and within >= 0.75 * numbers else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
