"""Rows of tessera-bench block_ldlt: options of a way, names of the systems, the best of several rows."""
import json
import math
import pathlib
import sys

goal = 1e-8
names = {
    "kkt": "KKT hard",
    "kkt spread": "KKT mild",
    "qpband": "QP band",
    "bordered": "bordered",
    "stokes": "Stokes",
    "stokes beta": "Stokes, stabilised",
    "darcy": "Darcy",
    "helmholtz": "Helmholtz",
    "schroedinger": "Schrödinger",
    "shell": "shell",
    "shell shift": "shell, shifted",
    "circuit": "circuit",
}


def system(matrix):
    """The name of a generated system, whatever its size, or of a file."""
    generator, _, rest = matrix.partition(":")
    option = rest.partition(",")[2].partition("=")[0]
    return names.get(f"{generator} {option}".strip(), matrix.removesuffix(".mtx.gz"))


def options(row):
    """Of a block_ldlt row, with the defaults; None for another preconditioner."""
    first, *rest = row["preconditioner"].split(",")
    name, _, block = first.partition(":")
    if name != "block_ldlt":
        return None
    found = {
        "block": block, "fill": "0", "method": "jacobi", "sweeps": "8", "epsilon": "0.1",
        "pivoting": "complete", "outer": "off", "matching": "on", "safeguard": "on",
        "ordering": "auto",
    }
    for text in rest:
        key, _, value = text.partition("=")
        found[key] = value
    return found


def is_whole(row):
    """Not one that a limit of time has cut, or that was begun only."""
    return row.get("status") not in ("cut", "running")


def load(folder, part):
    """The document of a part of bench/block_ldlt.sh, or None."""
    path = pathlib.Path(folder) / f"block_ldlt_{part}.json"
    return json.loads(path.read_text()) if path.exists() else None


def needed(folder, part):
    document = load(folder, part)
    if document is None:
        sys.exit(f"{folder} holds no block_ldlt_{part}.json; bench/block_ldlt.sh measures it")
    return document


def pick(rows, **wanted):
    """{system: row} of the block_ldlt rows with these options, all others as by default (but for the
    safeguard); whole ones."""
    found = {}
    for row in rows:
        if row["op"] != "precondition" or options(row) is None or not is_whole(row):
            continue
        plain = {
            "block": "8", "fill": "0", "method": "jacobi", "sweeps": "8", "epsilon": "0.1",
            "pivoting": "complete", "outer": "off", "matching": "on", "ordering": "auto",
        }
        plain.update(wanted)
        if all(options(row).get(key) == value for key, value in plain.items()):
            found.setdefault(system(row["matrix"]), row)
    return found


def residual(row):
    value = row.get("true_relative_residual")
    return math.inf if value is None else value


def kind(row):
    """none, block_jacobi, mumps, jacobi or level, these two with the ordering where one was asked for."""
    found = options(row)
    if found is None:
        return row["preconditioner"].partition(":")[0]
    return found["method"] + ("" if found["ordering"] == "auto" else f" {found['ordering']}")


def by_system(rows):
    """{system: {kind: [row, ...]}}; several rows of a kind differ in fill."""
    found = {}
    for row in rows:
        if row["op"] == "precondition":
            found.setdefault(system(row["matrix"]), {}).setdefault(kind(row), []).append(row)
    return found


def whole(rows):
    """Those that no limit of time has cut, nor anything else."""
    return [row for row in rows if is_whole(row)]


def cut_of(label, kinds, *wanted):
    """The names of the rows of these kinds that are not whole."""
    return [
        f"{label} {name.replace('_', ' ')}" + (f" fill {row_options['fill']}" if row_options else "")
        for name in wanted
        for row in kinds.get(name, [])
        if not is_whole(row)
        for row_options in [options(row)]
    ]


def best(rows):
    """The row of the smallest fill that reaches the goal within 400 products, else the one with the
    least residual."""
    done = (r for r in rows if r["status"] == "converged" and r["products"] <= 400)
    return next(done, min(rows, key=residual))
