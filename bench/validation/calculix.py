"""Decks for CalculiX, and the displacements, stresses and reactions that it writes."""
import os
import pathlib
import subprocess

import numpy as np

from shapes import SHAPES

LINE = 16  # Numbers on a line of a deck, at most.


def number(value):
    """At most 20 characters, which is what CalculiX reads."""
    return f"{value:.13e}" if value < 0 else f"{value:.14e}"


def listed(numbers):
    numbers = [str(n) for n in numbers]
    return "\n".join(",".join(numbers[k:k + LINE]) for k in range(0, len(numbers), LINE))


def element_lines(number_of, nodes):
    """CalculiX continues a line that ends in a comma."""
    words = [str(number_of), *(str(n + 1) for n in nodes)]
    lines = [",".join(words[k:k + LINE]) for k in range(0, len(words), LINE)]
    return ",\n".join(lines)


def element_name(model, kind):
    names = SHAPES[kind].calculix
    if model.mesh.dimensions == 2 and model.plane != "stress":
        return names[model.plane]
    return names.get(model.formulation, names["full"])


def section_lines(model, kind, elements, first):
    """Elements of one shape and their materials; those of a region are a set."""
    mesh, lines = model.mesh, []
    name = element_name(model, kind)
    regions = mesh.regions_of(kind)
    for region in dict.fromkeys(regions):
        own = f"{kind}_{region}".upper()
        lines.append(f"*ELEMENT, TYPE={name}, ELSET={own}")
        lines += [element_lines(first + k, elements[k]) for k in np.flatnonzero(regions == region)]
        young, poisson, density = model.material(region)
        lines.append(f"*MATERIAL, NAME={own}")
        if model.orthotropic is None:
            lines += ["*ELASTIC", f"{number(young)},{number(poisson)}"]
        else:
            e1, e2, e3, nu12, nu23, nu13, g12, g23, g13 = map(number, model.orthotropic)
            lines += ["*ELASTIC, TYPE=ENGINEERING CONSTANTS",
                      ",".join([e1, e2, e3, nu12, nu13, nu23, g12, g13]), g23]
            lines += [f"*ORIENTATION, NAME=O{own}", ",".join(map(number, model.axes))]
        if density is not None:
            lines += ["*DENSITY", number(density)]
        expansion = model.expansion.get(region, model.expansion.get(""))
        if expansion is not None:
            lines += ["*EXPANSION, ZERO=0.", number(expansion)]
        orientation = "" if model.orthotropic is None else f", ORIENTATION=O{own}"
        lines.append(f"*SOLID SECTION, ELSET={own}, MATERIAL={own}{orientation}")
        if mesh.dimensions == 2:
            lines.append(number(model.thickness))
    return lines


def load_lines(model):
    lines = []
    forces = model.node_forces()
    found = np.argwhere(forces != 0)
    if len(found):
        lines.append("*CLOAD")
        lines += [f"{node + 1},{axis + 1},{number(forces[node, axis])}" for node, axis in found]
    for group, pressure in model.pressure.items():
        lines.append("*DLOAD")
        lines += [f"{n + 1},P{side + 1},{number(pressure)}" for n, side in model.mesh.sides[group]]
    if model.gravity is not None:
        size = float(np.linalg.norm(model.gravity))
        direction = ",".join(number(x / size) for x in [*model.gravity, 0.0][:3])
        lines += ["*DLOAD", f"EALL,GRAV,{number(size)},{direction}"]
    if model.spin is not None:
        speed, point, direction = model.spin
        unit = np.array(direction) / np.linalg.norm(direction)
        axis = ",".join(number(x) for x in [*point, *unit])
        lines += ["*DLOAD", f"EALL,CENTRIF,{number(speed**2)},{axis}"]
    if model.temperature is not None:
        lines += ["*TEMPERATURE", f"NALL,{number(model.temperature)}"]
    return lines


def equation_lines(terms):
    """An equation whose terms, of nodes counted from 0, add up to 0; four of them on a line."""
    words = [f"{node + 1},{axis + 1},{number(coefficient)}" for coefficient, node, axis in terms]
    return ["*EQUATION", str(len(words)), *(",".join(words[k:k + 4]) for k in range(0, len(words), 4))]


def constraint_lines(model):
    """Rigid bodies and constant parts of equations need nodes of their own, after those of the mesh."""
    mesh, nodes, lines, prescribed = model.mesh, [], [], []

    def new_node(point):
        nodes.append(f"{len(mesh.points) + len(nodes) + 1}," + ",".join(number(x) for x in point))
        return len(mesh.points) + len(nodes) - 1

    for group in model.rigid:
        centre = mesh.points[mesh.nodes_of(group)].mean(axis=0)
        reference, rotation = new_node(centre), new_node(centre)
        lines += [f"*NSET, NSET=R{group}", listed(mesh.nodes_of(group) + 1),
                  f"*RIGID BODY, NSET=R{group}, REF NODE={reference + 1}, ROT NODE={rotation + 1}"]
    for group, axis in model.couple.items():
        first, *others = mesh.nodes_of(group)
        for node in others:
            lines += equation_lines([(1.0, node, axis), (-1.0, first, axis)])
    for terms, value in model.equations:
        constant = new_node((0.0, 0.0, 0.0))
        lines += equation_lines([*terms, (-1.0, constant, 0)])
        prescribed.append(f"{constant + 1},1,1,{number(value)}")
    for group, other in model.tie.items():
        for name in (group, other):
            lines.append(f"*SURFACE, NAME=T{name}")
            lines += [f"{n + 1},S{side + 1}" for n, side in mesh.sides[name]]
        lines += [f"*TIE, NAME={group}, POSITION TOLERANCE=1e-3, ADJUST=NO", f"T{group},T{other}"]
    return (["*NODE", *nodes] if nodes else []) + lines, prescribed


def write_deck(path, model, solver=""):
    mesh = model.mesh
    lines = ["*NODE, NSET=NALL"]
    for node, point in enumerate(mesh.points, 1):
        lines.append(f"{node}," + ",".join(number(x) for x in [*point, 0.0][:3]))
    first = 1
    for kind, elements in mesh.elements.items():
        lines += section_lines(model, kind, elements, first)
        first += len(elements)
    lines += ["*ELSET, ELSET=EALL, GENERATE", f"1,{first - 1}"]
    constraints, prescribed = constraint_lines(model)
    lines += constraints
    supports = model.supports()
    lines += ["*BOUNDARY", *prescribed]
    lines += [f"{node + 1},{axis + 1},{axis + 1},{number(value)}"
              for (node, axis), (value, _) in supports.items()]
    if model.temperature is not None:
        lines += ["*INITIAL CONDITIONS, TYPE=TEMPERATURE", "NALL,0."]
    lines += ["*STEP", "*STATIC" + (f", SOLVER={solver}" if solver else "")]
    lines += load_lines(model)
    plane = ", OUTPUT=2D" if mesh.dimensions == 2 else ""
    # "OUTPUT" instead of "FILE" asks for binary numbers, which have more digits.
    lines += [f"*NODE OUTPUT{plane}", "U, RF", f"*ELEMENT OUTPUT{plane}", "S", "*END STEP", ""]
    pathlib.Path(path).write_text("\n".join(lines))


def read_frd(path):
    """{name: array}: the last result of each name at the nodes, from a binary file."""
    content, found = pathlib.Path(path).read_bytes(), {}
    at = content.find(b"  100CL")
    while at >= 0:
        heading = content[at:content.index(b"\n", at)]
        count = int(heading[24:36])
        name_at = content.index(b"\n -4  ", at) + 6
        name, components = content[name_at:content.index(b"\n", name_at)].split()[:2]
        at, written = name_at, 0
        for _ in range(int(components)):
            at = content.index(b"\n -5  ", at) + 1
            written += content[at:content.index(b"\n", at)].split()[-1] != b"1ALL"
        start = content.index(b"\n", at) + 1
        kind = np.dtype([("node", "<i4"), ("values", "<f4", (written,))])
        found[name.decode()] = np.frombuffer(content, kind, count, start)
        at = content.find(b"  100CL", start + count * kind.itemsize)
    return found


def by_node(records, count):
    values = np.full((count, records["values"].shape[1]), np.nan)
    inside = records["node"] <= count
    values[records["node"][inside] - 1] = records["values"][inside]
    return values


def run(folder, model, solver="", threads=1, limit=None):
    """Displacements, stresses at nodes (xx yy zz xy yz xz) and the forces of elements on nodes."""
    folder = pathlib.Path(folder)
    write_deck(folder / "deck.inp", model, solver)
    outcome = subprocess.run(["ccx", "deck"], cwd=folder, capture_output=True, text=True, timeout=limit,
                             env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if "Job finished" not in outcome.stdout:
        raise RuntimeError(f"ccx failed in {folder}:\n{outcome.stdout[-2000:]}{outcome.stderr[-500:]}")
    results, count = read_frd(folder / "deck.frd"), len(model.mesh.points)
    d = model.mesh.dimensions
    return {"displacement": by_node(results["DISP"], count)[:, :d],
            "stress": by_node(results["STRESS"], count),
            "force": by_node(results["FORC"], count)[:, :d]}
