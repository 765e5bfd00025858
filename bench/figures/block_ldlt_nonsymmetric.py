#!/usr/bin/env python3
"""The nonsymmetric column of the two-level pivoting paper: lists, pivoting and matching of `ilu`.

usage: block_ldlt_nonsymmetric.py [RESULTS]

RESULTS (default: bench/results/cpu) holds block_ldlt_nonsymmetric.json and block_ldlt_dual_lists.json
of bench/block_ldlt.sh cpu RESULTS nonsymmetric. Writes the tables to block_ldlt_nonsymmetric.md in
this folder, below its mark, prints each claim with its numbers, and exits with 1 when one does not
hold.
"""
import json
import pathlib
import statistics
import sys

from block_ldlt_rows import goal, residual
from measured_results import root

here = pathlib.Path(__file__).resolve().parent
mark = "<!-- measured -->\n"
backward_goal = 1e-10


def load(folder, part):
    path = folder / f"block_ldlt_{part}.json"
    if not path.exists():
        sys.exit(f"{folder} holds no {path.name}; bench/block_ldlt.sh measures it")
    return json.loads(path.read_text())


def options(text):
    found = {"pivoting": "complete", "outer": "off", "matching": "auto"}
    first, *rest = text.split(",")
    for option in rest:
        key, _, value = option.partition("=")
        found[key] = value
    return found | {"block": first.partition(":")[2]}


def is_solved(row):
    return residual(row) <= goal


def is_stable(row):
    error = row.get("backward_error")
    return is_solved(row) or error is not None and error <= backward_goal


def median(values):
    values = list(values)
    return f"{statistics.median(values):g}" if values else ""


class Column:
    """Rows by the text of the preconditioner and the matrix."""

    def __init__(self, document):
        self.rows = {}
        for row in document["rows"]:
            self.rows.setdefault(row["preconditioner"], {})[row["matrix"]] = row

    def pick(self, **wanted):
        """{matrix: row} of the preconditioner with these options."""
        wanted = {"pivoting": "complete", "outer": "off", "matching": "auto", "block": "8",
                  "fill": "1"} | wanted
        for text, rows in self.rows.items():
            if all(options(text).get(key) == value for key, value in wanted.items()):
                return rows
        sys.exit(f"not measured: {wanted}")

    def solved(self, **wanted):
        return {name for name, row in self.pick(**wanted).items() if is_solved(row)}

    def line(self, label, base, **wanted):
        """Counts, and iterations over the systems that this and the base solve."""
        rows = self.pick(**wanted)
        both = [name for name, row in rows.items() if is_solved(row) and is_solved(base[name])]
        more, fewer = (sum(sign * rows[name]["iterations"] > sign * base[name]["iterations"]
                           for name in both) for sign in (1, -1))
        total, of_base = (sum(each[name]["iterations"] for name in both) for each in (rows, base))
        return (f"| {label} | {sum(map(is_solved, rows.values()))} | "
                f"{sum(map(is_stable, rows.values()))} | "
                f"{sum(not is_stable(row) for row in rows.values())} | {total} for {of_base} | "
                f"{more}, {fewer} |")


def pivoting_table(column):
    base = column.pick()
    lines = ["| matching, inner, outer pivoting | solved | or backward error 1e-10 | failures | "
             "iterations, for those of the first line | more in, fewer in |", "| --- " * 6 + "|"]
    lines.append(column.line("by need, complete, off", base))
    for inner in ("partial", "static"):
        lines.append(column.line(f"by need, {inner}, off", base, pivoting=inner))
    lines.append(column.line("by need, complete, on", base, outer="on"))
    lines.append(column.line("by need, static, on", base, pivoting="static", outer="on"))
    for matching in ("on", "off"):
        for inner in ("complete", "static"):
            for outer in ("off", "on"):
                lines.append(column.line(f"{matching}, {inner}, {outer}", base, matching=matching,
                                         pivoting=inner, outer=outer))
    for block in ("1", "4", "16"):
        lines.append(column.line(f"blocks of {block}: by need, complete, off", base, block=block))
    return lines


def dual_table(document):
    lines = ["| rows of a block | lists | matrices | blocks of one list for those of two, median | "
             "solved | iterations where both solve | more in, fewer in |", "| --- " * 7 + "|"]
    found = {}
    for block in sorted({row["block"] for row in document["rows"]}):
        dual, one = ({row["matrix"]: row for row in document["rows"]
                      if row["block"] == block and row["lists"] == lists}
                     for lists in ("dual", "one"))
        both = [name for name in dual if is_solved(dual[name]) and is_solved(one[name])]
        ratio = median(round(one[name]["blocks"] / dual[name]["blocks"], 2) for name in dual)
        for label, rows, other in (("two", dual, one), ("one", one, dual)):
            more, fewer = (sum(sign * rows[name]["iterations"] > sign * other[name]["iterations"]
                               for name in both) for sign in (1, -1))
            found[block, label] = {
                "solved": {name for name in rows if is_solved(rows[name])},
                "iterations": sum(rows[name]["iterations"] for name in both),
            }
            lines.append(f"| {block} | {label} | {len(rows)} | {ratio if label == 'one' else ''} | "
                         f"{len(found[block, label]['solved'])} | "
                         f"{found[block, label]['iterations']} in {len(both)} | {more}, {fewer} |")
    return lines, found


def claims_of(column, lists):
    """(text, whether it holds, numbers)"""
    ways = [{"pivoting": inner, "outer": outer} for inner in ("complete", "static")
            for outer in ("off", "on")]
    matched, off = ([len(column.solved(matching=matching, **way)) for way in ways]
                    for matching in ("auto", "off"))
    always, alone = len(column.solved(matching="on")), len(column.solved(block="1"))
    yield ("matching by need solves as many systems as always, and a third more than never",
           matched[0] >= always and 3 * matched[0] >= 4 * off[0],
           f"{matched[0]}, {always}, {off[0]}")
    yield ("neither inner nor outer pivoting plays a striking role after matching: counts within a tenth",
           10 * (max(matched) - min(matched)) <= max(matched),
           f"complete, complete and outer, static, static and outer: {matched} matched, {off} not")
    yield ("blocks of 8 rows solve more systems than blocks of one", matched[0] > alone,
           f"{matched[0]}, {alone}")
    one, two = (lists[4, label]["solved"] for label in ("one", "two"))
    yield ("in blocks of 4 rows, one list solves at least as many systems as two", len(one) >= len(two),
           f"{len(one)}, {len(two)}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] and sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]) if sys.argv[1:] else root / "bench/results/cpu"
    document, duals = load(folder, "nonsymmetric"), load(folder, "dual_lists")
    column = Column(document)
    print(__doc__.strip().splitlines()[0])
    dual_lines, lists = dual_table(duals)
    lines, failed = ["## Claims", ""], False
    for text, holds, numbers in claims_of(column, lists):
        failed = failed or not holds
        lines.append(f"- {'holds' if holds else 'FAILS'}: {text}; {numbers}")
        print("  " + lines[-1][2:])
    count = len(column.pick())
    lines += ["", f"## Matching and pivoting: {count} real matrices, `ilu:8,fill=1`", ""]
    lines += pivoting_table(column)
    lines += ["", f"## Dual lists: no fill, matrices of at most {duals['max_rows']:,} rows", ""]
    lines += dual_lines
    path = here / "block_ldlt_nonsymmetric.md"
    head = path.read_text().partition(mark)[0]
    path.write_text(head + mark + "\n" + "\n".join(lines) + "\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
