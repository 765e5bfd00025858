"""The tables of docs/validation.md, and the limits that its numbers must meet."""
import sys

from recorded_results import load, one, select

# Relative differences from programs that use the same formulation.
LIMITS = {"displacement": 1e-6, "stress": 1e-4, "reactions": 1e-6, "balance": 1e-10}
PATCH_LIMIT = 1e-12
NAMES = {
    "tri3": "triangle, 3 nodes", "tri6": "triangle, 6 nodes", "quad4": "quadrilateral, 4 nodes",
    "quad8": "quadrilateral, 8 nodes", "quad9": "quadrilateral, 9 nodes", "tet4": "tetrahedron, 4 nodes",
    "tet10": "tetrahedron, 10 nodes", "hex8": "hexahedron, 8 nodes", "hex20": "hexahedron, 20 nodes",
    "hex27": "hexahedron, 27 nodes", "prism6": "prism, 6 nodes", "prism15": "prism, 15 nodes",
    "pyramid5": "pyramid, 5 nodes",
}


def rows_of(part):
    return load("validation.json")[part]["rows"]


def element(row):
    names = "; ".join(NAMES[kind] for kind in row["element"].split("+"))
    return names + (", incompatible modes" if row["formulation"] == "incompatible" else "")


def number(value):
    if value >= 0.01:
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"
    return f"{value:.0e}".replace("e-0", "e-")


def table(heading, lines):
    return "\n".join(["| " + " | ".join(map(str, heading)) + " |", "| " + " | ".join(["---"] * len(heading)) + " |",
                      *("| " + " | ".join(map(str, cells)) + " |" for cells in lines)])


def merged(rows):
    """One row for all refinements: the most nodes, the largest differences."""
    found = {}
    for row in rows:
        key = row["structure"], element(row), row["reference"]
        before = found.setdefault(key, dict(row))
        for name in ("nodes", *LIMITS):
            before[name] = max(before[name], row[name])
    return found


def validation_versions():
    found = load("validation.json")
    names = [f"{name} {version}" for name, version in found["versions"].items()]
    return f"Computed by commit {found['comparisons']['commit']} with {', '.join(names[:-1])} and {names[-1]}."


def validation_comparisons():
    rows = select(rows_of("comparisons"), same_formulation=True)
    for row in rows:
        for name, limit in LIMITS.items():
            if not row[name] <= limit:
                sys.exit(f"bench/results/validation.json: {name} {row[name]:.1e} beyond {limit} in {row}")
    lines = [(*key, f"{row['nodes']:,}", *(number(row[name]) for name in LIMITS))
             for key, row in merged(rows).items()]
    return table(["Structure", "Element", "Compared with", "Nodes", "Displacements", "Stresses", "Reactions",
                  "Balance"], lines)


def validation_tolerance():
    largest = max(row["usual_tolerance"] for row in rows_of("comparisons"))
    return f"With the tolerance that is used without `--rtol`, displacements change by at most {number(largest)}."


def validation_formulations():
    rows = select(rows_of("comparisons"), same_formulation=False)
    lines = [(row["structure"], element(row), row["reference"], f"{row['nodes']:,}",
              *(f"{100 * row[name]:.2g} %" for name in ("displacement", "stress"))) for row in rows]
    return table(["Structure", "Element", "Compared with", "Nodes", "Displacements", "Stresses"], lines)


def is_compared(structure):
    return any(row["structure"] == structure for row in rows_of("comparisons"))


def validation_section():
    """Structures that not every version of the program solves."""
    known = {
        "vessel section": "the vessel as an axisymmetric structure, with its weight; reactions and balance are axial",
        "orthotropic beam": "the beam, of a laminate whose directions are skew",
        "heated beam of two materials": "steel on aluminium between two walls, warmer by 100 degrees",
        "twisted beam": "a beam, one end of which turns about an axis that is not its own",
        "spinning blade": "distorted elements, under the centrifugal forces about a skew axis",
        "beam with a rigid end": "pulled and pressed off its middle; `*RIGID BODY` of CalculiX",
        "guided block": "one side moves as a whole, two corners as a lever lets them, by an amount that is given; "
                        "`*EQUATION`",
        "tied beams": "a thin beam on a thick one, whose nodes are at other places; `*TIE`",
    }
    return "\n".join(f"- **{name}**: {text}." for name, text in known.items() if is_compared(name))


def validation_axisymmetry():
    if not is_compared("vessel section"):
        return ""
    return ("- **Axisymmetry** (CAX3 to CAX8) is computed by solid elements of a sector of two degrees with straight "
            "sides. Tessera agrees with scikit-fem and NumPy.")


def validation_rebuilt():
    lines = [(row["reference"], row["formulation"], row["structure"], number(row["displacement"]))
             for row in rows_of("formulations")]
    return table(["Element", "Rebuilt in NumPy as", "Structure", "Displacements"], lines)


def validation_c3d8i():
    row = one(rows_of("formulations"), structure="patch")
    return (f"In the patch test below, its displacements are wrong by {100 * row['patch_error']:.2g} % of the "
            "largest one.")


def validation_patches():
    rows = select(rows_of("exact"), structure="patch")
    for row in rows:
        if not max(row["displacement"], row["stress"]) <= PATCH_LIMIT:
            sys.exit(f"bench/results/validation.json: a patch test failed: {row}")
    lines = [(element(row), row["elements"], row["inside"], number(row["displacement"]), number(row["stress"]))
             for row in rows]
    return table(["Element", "Elements", "Nodes inside", "Displacements", "Stresses"], lines)


def by_refinement(structure, digits):
    """Value over reference by kind of element and refinement."""
    rows = select(rows_of("exact"), structure=structure)
    sizes = sorted({row["cells"] for row in rows})
    lines = []
    for name in dict.fromkeys(element(row) for row in rows):
        own = [row for row in rows if element(row) == name]
        cells = [next(row for row in own if row["cells"] == size) for size in sizes]
        lines.append((name, *(f"{row['value'] / row['reference']:.{digits}f}" for row in cells)))
    return table(["Element", *sizes], lines)


def validation_cantilevers():
    return by_refinement("cantilever", 3)


def validation_cook():
    return by_refinement("cook", 3)


def validation_hole():
    return by_refinement("hole", 3)


def validation_ring():
    rows = select(rows_of("exact"), structure="ring")
    sizes = sorted({row["cells"] for row in rows})
    lines = []
    for name in dict.fromkeys(element(row) for row in rows):
        for poisson in dict.fromkeys(row["poisson"] for row in rows):
            own = [row for row in rows if (element(row), row["poisson"]) == (name, poisson)]
            cells = [one(own, cells=size) for size in sizes]
            lines.append((name, poisson, *(number(row[of]) for of in ("displacement", "stress") for row in cells)))
    return table(["Element", "Poisson's ratio", *(f"displacements, {n}" for n in sizes),
                  *(f"stresses, {n}" for n in sizes)], lines)


def validation_speed():
    """Empty without times, and for times on a machine that did other work: the runs themselves load two cores."""
    rows = load("validation.json").get("speed", {"rows": []})["rows"]
    if not rows or max(row["largest_load_average"] for row in rows) > 3:
        return ""
    lines = []
    for row in rows:
        time = f"more than {row['limit']:.0f} s" if row["seconds"] is None else f"{row['seconds']:.3g} s"
        error = "" if row["error"] is None else number(row["error"])
        lines.append((f"{row['nodes']:,}", row["way"], time, f"{row['memory_bytes'] / 1e9:.2g} GB", error))
    return "\n".join([
        "## Time from mesh to results",
        "",
        "The bracket in tetrahedra of 10 nodes on two cores, from a mesh in a file to results in a file; the fastest of",
        "three runs in turns, of one run where it takes long. scikit-fem is without stresses. The error is that of the",
        "displacements at the usual tolerance of each program, relative to the largest one.",
        "",
        table(["Nodes", "Program", "Time", "Memory", "Error"], lines),
    ])


makers = [
    validation_axisymmetry, validation_c3d8i, validation_cantilevers, validation_comparisons, validation_cook,
    validation_formulations, validation_hole, validation_patches, validation_rebuilt, validation_ring,
    validation_section, validation_speed, validation_tolerance, validation_versions,
]
