#!/usr/bin/env python3
"""Table I of the two-level pivoting paper, on generated systems, and what block_ldlt promises.

usage: block_ldlt_table1.py [RESULTS...]

RESULTS (default: bench/results/h200 and bench/results/cpu) hold what bench/block_ldlt.sh wrote.
Writes the measurements to block_ldlt_table1.md in this folder, below its mark, prints each claim
with its numbers, and exits with 1 when one does not hold.
"""
import csv
import math
import pathlib
import sys

from block_ldlt_claims import Claims, check_matching, check_size
from block_ldlt_rows import best, by_system, cut_of, goal, is_whole, load, names, residual, whole
from measured_results import root

here = pathlib.Path(__file__).resolve().parent
mark = "<!-- measured -->\n"


def number(value, form="{:.1e}"):
    return "" if value is None or not math.isfinite(value) else form.format(value)


def quality(row):
    if row is None:
        return ["", "", "", "", ""]
    if row["status"] == "error" or not is_whole(row):
        return [row.get("message", row["status"]).split(";")[0][:60], "", "", "", ""]
    done = f"{row['products']}" if row["status"] == "converged" else f"({row['products']})"
    stage = row["stage"].replace("_", " ")
    if stage == "jacobi":
        stage = f"sweep {row['best_sweep']}"
    return [
        f"{row['fill']}", done, number(residual(row)), number(row["backward_error"]), stage,
    ]


def table(title, header, lines):
    if not lines:
        return []
    return [title, "", "| " + " | ".join(header) + " |", "|" + " --- |" * len(header)] + [
        "| " + " | ".join(line) + " |" for line in lines
    ] + [""]


def tables_of(document, size, directs):
    """Quality and times of the generated systems of a size; `directs` {matrix: row of MUMPS}."""
    systems = by_system(document["rows"])
    name = f"{size:,} rows, {document['device']}, {document['threads']} threads"
    quality_lines, time_lines = [], []
    for label, kinds in systems.items():
        peers = [number(residual(kinds[k][0])) if k in kinds else "" for k in ("none", "block_jacobi")]
        jacobi, level = (best(kinds[k]) if k in kinds else None for k in ("jacobi", "level"))
        direct = directs.get(next(iter(kinds.values()))[0]["matrix"])
        share = number(jacobi and jacobi.get("stored_share"), "{:.2%}")
        after = number(jacobi and jacobi.get("residual_after_100"))
        quality_lines.append(
            [label] + peers + quality(jacobi) + [after, share] + quality(level)[:3]
            + [number(direct and direct.get("true_relative_residual"))]
        )
        cells = [label, f"{jacobi['levels']:,}" if jacobi and "levels" in jacobi else ""]
        for row in (jacobi, level):
            cells += [
                number(row and row.get("setup_seconds"), "{:.2f}"),
                number(row and row.get("numeric_milliseconds"), "{:.3g}"),
                number(row and row.get("apply_milliseconds"), "{:.3g}")
                + (f" ({row['fraction_of_copy']:.1%})" if row and "fraction_of_copy" in row else ""),
                number(row and row.get("seconds"), "{:.3g}"),
            ]
        if direct:
            what = direct["status"].replace("_", " ")
            if what == "direct":
                what = f"{direct['setup_seconds']:.2f} + {direct['seconds']:.2f} ({direct['stored_share']:.2%})"
            elif "operations" in direct:
                what += f": {direct['operations']:.1e} operations"
            cells.append(what)
        else:
            cells.append("")
        time_lines.append(cells)
    return table(
        f"### {name}: residuals",
        ["System", "none", "block Jacobi 32", "fill", "products", "residual R", "backward error B",
         "applied", "R after 100", "stored of dense", "level: fill", "products", "R", "MUMPS: R"],
        quality_lines,
    ) + table(
        f"### {name}: times",
        ["System", "levels", "sweeps: setup, s", "update, ms", "application, ms (of copy)", "solve, s",
         "level: setup, s", "update, ms", "application, ms", "solve, s",
         "MUMPS: factor + solve, s (entries of dense)"],
        time_lines,
    )


def check_paper(claims, document):
    lines = (here / "block_ldlt_table1_expected.csv").read_text().splitlines()
    systems = by_system(document["rows"])
    weaker, rows, judged, cut = [], [], 0, []
    for line in csv.DictReader(l for l in lines if not l.startswith("#")):
        kinds = systems.get(names[line["stand_in"]], {})
        cells = [line["matrix"], names[line["stand_in"]]]
        for name in ("jacobi", "level"):
            if name not in kinds:
                cells += ["", ""]
                continue
            cut += cut_of(line["matrix"], kinds, name)
            paper = f"{line[name + '_b']}, {line[name + '_r']}"
            row = best(kinds[name])
            if not is_whole(row):
                cells += [paper, "cut"]
                continue
            judged += 1
            after = row.get("residual_after_100") or residual(row)
            ours = math.log10(max(after, 1e-17))
            backward = math.log10(max(row.get("backward_error") or math.inf, 1e-17))
            cells += [paper, f"{backward:.1f}, {ours:.1f}"]
            if ours > float(line[name + "_r"]) + 0.5:
                weaker.append(f"{line['matrix']} ({name}): {ours:.1f}")
        rows.append(cells)
    claims.add(
        "relative residuals after 100 steps are no weaker than the paper's on systems of the same kind",
        not weaker, ", ".join(weaker), judged, cut,
    )
    return table(
        f"### Beside the paper's Table I ({document['device'].split(',')[0]}, 20,000 rows)",
        ["Paper's matrix", "our system", "sweeps: paper's B, R", "ours: B at the end, R after 100",
         "level: paper's B, R", "ours"],
        rows,
    )


def fills(document):
    lines = []
    for label, kinds in by_system(document["rows"]).items():
        rows = whole(kinds["level"])
        if not rows:
            lines.append([label, "cut"] + [""] * 4)
            continue
        row = best(rows)
        reached = row["status"] == "converged" and row["products"] <= 400
        end = "; the next took too long" if len(rows) < len(kinds["level"]) else ""
        lines.append([
            label, f"{row['fill']}" if reached else f"none up to {rows[-1]['fill']}{end}",
            f"{row['products']}", number(residual(row)), number(row["stored_share"], "{:.2%}"),
            f"{row['levels']:,}",
        ])
    return table(
        "### The smallest fill that reaches 1e-8 where 1 does not (20,000 rows, level by level)",
        ["System", "fill", "products", "R", "stored of dense", "levels"], lines,
    )


def real(claims, document):
    systems = by_system(document["rows"])
    lines, counts, worse, judged, cut = [], {}, [], 0, []
    for label, kinds in systems.items():
        jacobi, level = best(kinds["jacobi"]), best(kinds["level"])
        direct = kinds.get("mumps", [{}])[0]
        for name, rows in kinds.items():
            done = residual(best(rows)) <= goal
            counts[name] = counts.get(name, 0) + done
        alone = residual(kinds["none"][0])
        cut += cut_of(label, kinds, "jacobi")
        judged += is_whole(jacobi)
        if jacobi["status"] == "error":
            worse.append(f"{label}: {jacobi.get('message', 'error')}")
        elif is_whole(jacobi) and residual(jacobi) > goal and not whole(kinds["none"]):
            worse.append(f"{label} {residual(jacobi):.1e}, without it was cut")
        elif is_whole(jacobi) and not residual(jacobi) <= max(3 * alone, goal):
            worse.append(f"{label} {residual(jacobi):.1e}, none {alone:.1e}")
        lines.append(
            [label, f"{jacobi['rows']:,}", number(alone), number(residual(kinds["block_jacobi"][0]))]
            + quality(jacobi)[:3] + quality(jacobi)[4:] + quality(level)[:3]
            + [number(direct.get("true_relative_residual"))]
        )
    print(f"  real matrices solved to 1e-8, of {len(systems)}: {counts}")
    claims.add(
        "no symmetric indefinite matrix of the collection ends 3 times worse than without it", not worse,
        ", ".join(worse), judged, cut,
    )
    share = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
    text = table(
        f"### Symmetric indefinite matrices ({document['device']})",
        ["Matrix", "rows", "none", "block Jacobi 32", "fill", "products", "R", "applied", "level: fill",
         "products", "R", "MUMPS: R"],
        lines,
    )
    return text[:2] + [f"Solved to 1e-8 within 400 steps, of {len(systems)}: {share}.", ""] + text[2:]


def check_sizes(claims, documents):
    """A million rows on a GPU and on a CPU."""
    lines, rows, commits, cut = [], {}, {}, []
    for document in documents:
        row = by_system(document["rows"])["KKT hard"]["jacobi"][0]
        if not is_whole(row):
            cut.append(document["device"])
            lines.append([document["device"], "cut"] + [""] * 8)
            continue
        place = "CPU" if "CPU" in document["device"].upper() else "GPU"
        rows[place] = row
        commits[place] = document["commit"]
        lines.append([
            document["device"], f"{row['symbolic_seconds']:.2f}",
            f"{row['setup_seconds']:.2f}", number(row["numeric_milliseconds"], "{:.4g}"),
            number(row["apply_milliseconds"], "{:.3g}"), f"{row['apply_bytes'] / 1e9:.2f}",
            f"{row['fraction_of_copy']:.0%}", f"{row['products']}", number(residual(row)),
            number(row["seconds"], "{:.3g}"),
        ])
    faster = "a million rows: numeric setup and one application 3 times as fast as on the CPU"
    if len(rows) == 2:
        gain = {
            k: rows["CPU"][k] / rows["GPU"][k]
            for k in ("numeric_milliseconds", "apply_milliseconds", "setup_seconds")
        }
        claims.add(
            faster, min(gain["numeric_milliseconds"], gain["apply_milliseconds"]) >= 3,
            f"{gain['numeric_milliseconds']:.1f} and {gain['apply_milliseconds']:.1f} times (with "
            f"matching and ordering, on the host in both: {gain['setup_seconds']:.1f}"
            + ("" if len(set(commits.values())) == 1
               else f"; CPU at commit {commits['CPU']}, GPU at {commits['GPU']}") + ")",
        )
    elif cut:
        claims.add(faster, False, judged=0, cut=cut)
    if "GPU" in rows:
        share = rows["GPU"]["fraction_of_copy"]
        claims.add("a million rows: the level solve at 0.4 of copy on its bytes", share >= 0.4, f"{share:.2f}")
    return table(
        "### KKT with 1,000,000 rows",
        ["Device", "matching, ordering, lists, s", "whole setup, s", "update, ms", "application, ms", "GB",
         "of copy", "products", "R", "solve, s"],
        lines,
    )


def joined(folder, size):
    """The document of a size; a second one beside it adds its systems."""
    first = load(folder, f"table1_{size}")
    more = load(folder, f"table1_{size}_more")
    if first and more:
        first["rows"] += more["rows"]
    return first


def main(arguments):
    if any(a.startswith("-") for a in arguments):
        sys.exit(__doc__)
    folders = [pathlib.Path(a) for a in arguments] or [
        root / "bench/results/h200", root / "bench/results/cpu"
    ]
    claims, text = Claims(), []
    directs = {
        row["matrix"]: row
        for folder in folders
        for part in ("table1_20000", "table1_200000")
        for row in (load(folder, part) or {"rows": []})["rows"]
        if row.get("preconditioner") == "mumps"
    }
    print(__doc__.splitlines()[0])
    sizes = []
    for folder in folders:
        for size in (20000, 200000):
            document = joined(folder, size)
            if document is None:
                continue
            text += tables_of(document, size, directs)
            check_size(claims, document, size)
            without = load(folder, "table1_matching")
            if size == 20000:
                text += check_paper(claims, document)
                if without:
                    check_matching(claims, document, without)
        for part, take in (("fills", fills), ("real", lambda d: real(claims, d))):
            document = load(folder, part)
            if document:
                text += take(document)
        sizes += filter(None, [load(folder, "sizes")])
    if sizes:
        text += check_sizes(claims, sizes)
    if not text:
        sys.exit("nothing was measured; bench/block_ldlt.sh does that")
    page = here / "block_ldlt_table1.md"
    introduction = page.read_text().partition(mark)[0] + mark
    lines = ["", "## Claims", ""] + [f"- {line}" for line in claims.lines] + ["", "## Measured", ""]
    page.write_text(introduction + "\n".join(lines + text).rstrip() + "\n")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
