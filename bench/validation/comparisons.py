"""The structures that other programs solve on the same mesh, and how far the results differ."""
import tempfile

import numpy as np

import calculix
import program
import reference as numpy_elements
import scikit
import structures

CALCULIX, SCIKIT_FEM, NUMPY = "CalculiX", "scikit-fem", "NumPy"


def add(found, name, kind, *arguments, reference=CALCULIX, title=None, **options):
    """A case: structure, kind of element, formulation, function that makes the model, reference."""
    found.append((title or name.replace("_", " "), kind, options.get("formulation", "full"),
                  lambda: getattr(structures, name)(kind, *arguments, **options), reference))


def cases():
    """Solids and plane stress."""
    found = []
    for kind in ("tet4", "tet10"):
        for size in (10, 6, 4):
            add(found, "bracket", kind, size)
    for kind in ("tet4", "tet10", "hex8", "hex20", "prism6", "prism15"):
        for cells in (1, 3):
            add(found, "beam", kind, cells)
    for cells in (1, 3):
        add(found, "beam", "hex8", cells, formulation="incompatible", reference=NUMPY)
        add(found, "beam", "prism6", cells, reference=SCIKIT_FEM)
        add(found, "beam", "hex27", cells, reference=SCIKIT_FEM)
    add(found, "beam", "hex8", 3, formulation="incompatible")
    several = (("tet10", "full"), ("hex8", "incompatible"), ("hex20", "full"), ("prism15", "full"))
    for kind, formulation in several:
        add(found, "two_materials", kind, 2, formulation=formulation)
    for kind, formulation in several:
        add(found, "pressed_block", kind, 3, formulation=formulation)
    add(found, "pressed_block", "hex8", 3, formulation="incompatible", reference=NUMPY)
    add(found, "mixed", ("hex20", "prism15"), 2, title="hexahedra and prisms")
    add(found, "mixed", ("quad8", "tri6"), 2, title="quadrilaterals and triangles, Poisson's ratio 0")
    for kind in ("tet10", "hex20", "prism15"):
        for cells in (2, 4):
            add(found, "vessel", kind, cells)
    for poisson in (0.3, 0.4999):
        add(found, "ring", "hex20", 4, poisson, title=f"ring, Poisson's ratio {poisson}")
    add(found, "dam", "hex8", 4, formulation="incompatible")
    add(found, "dam", "hex8", 4, formulation="incompatible", reference=NUMPY)
    add(found, "dam", "hex20", 4)
    for kind in ("tri3", "tri6", "quad4", "quad8"):
        for cells in (3, 8):
            add(found, "l_plate", kind, cells, reference=SCIKIT_FEM, title="L-plate")
            add(found, "l_plate", kind, cells, poisson=0.0, title="L-plate, Poisson's ratio 0")
            add(found, "l_plate", kind, cells, title="L-plate")
    add(found, "l_plate", "quad4", 8, formulation="incompatible", reference=NUMPY, title="L-plate")
    add(found, "l_plate", "quad9", 8, reference=SCIKIT_FEM, title="L-plate")
    return found


def same_formulation(model, kind, formulation, reference):
    """Whether CalculiX formulates the element as Tessera does; formulations.py shows how it differs."""
    if reference != CALCULIX:
        return True
    if kind == "prism6":
        return False
    if model.mesh.dimensions == 2:
        return model.plane == "strain" or (model.plane == "stress" and model.poisson[""] == 0)
    return formulation != "incompatible" or model.mesh.has_parallelepipeds()


def section_cases():
    """Those of `--plane strain` and `--plane axisymmetric`."""
    found = []
    for kind in ("tri3", "tri6", "quad4", "quad8"):
        for cells in (3, 8):
            add(found, "l_plate", kind, cells, plane="strain", title="L-plate, plane strain")
    dam = {"plane": "strain", "title": "dam, plane strain"}
    add(found, "dam", "quad8", 4, **dam)
    add(found, "dam", "quad4", 4, reference=NUMPY, formulation="incompatible", **dam)
    for kind in ("tri3", "quad4"):
        add(found, "vessel_section", kind, 3, reference=SCIKIT_FEM)
    for kind in ("tri6", "quad8"):
        add(found, "vessel_section", kind, 3, reference=NUMPY)
    add(found, "vessel_section", "quad4", 4, reference=NUMPY, formulation="incompatible")
    for kind in ("tri3", "tri6", "quad4", "quad8"):
        add(found, "vessel_section", kind, 3)
    return found


def orthotropic_cases():
    """Those of `--orthotropic`."""
    found, title = [], "orthotropic beam"
    skew = {"orthotropic": structures.LAMINATE, "axes": (1.0, 0.5, 0.3, -0.4, 1.0, 0.2), "title": title}
    plane = {"orthotropic": structures.LAMINATE, "axes": (1.0, 0.5, 0.0, -0.5, 1.0, 0.0), "title": title}
    for kind in ("tet10", "hex20", "prism15"):
        add(found, "beam", kind, 3, **skew)
    add(found, "beam", "hex8", 3, formulation="incompatible", reference=NUMPY, **skew)
    for kind in ("tri6", "quad8"):
        add(found, "beam", kind, 3, reference=SCIKIT_FEM, **plane)
    return found


def load_cases():
    """Those of `--temperature`, `--rotate` and `--spin`."""
    found = []
    several = (("tet10", "full"), ("hex8", "incompatible"), ("hex20", "full"), ("prism15", "full"))
    for name, title in (("heated_beam", "heated beam of two materials"), ("twisted_beam", "twisted beam")):
        for kind, formulation in several:
            add(found, name, kind, 2, formulation=formulation, title=title)
    for kind in ("tet10", "hex20", "prism15"):
        add(found, "blade", kind, 2, title="spinning blade")
    return found


def equation_cases():
    """Those of `--rigid`, `--couple`, `--equation` and `--tie`."""
    found = []
    several = (("tet10", "full"), ("hex8", "incompatible"), ("hex20", "full"), ("prism15", "full"))
    for name, title in (("flanged_beam", "beam with a rigid end"), ("guided_block", "guided block"),
                        ("tied_beams", "tied beams")):
        for kind, formulation in several:
            add(found, name, kind, 2, formulation=formulation, title=title)
    return found


def cases_of(help_text):
    """The cases whose options the program has."""
    found = cases()
    for option, more in (("--plane", section_cases), ("--orthotropic", orthotropic_cases), ("--spin", load_cases),
                         ("--equation", equation_cases)):
        if option in help_text:
            found += more()
    return found


def relative(found, expected):
    return float(abs(found - expected).max() / abs(expected).max())


def reactions(model, forces):
    """By group: what the supports exert, from the forces of the elements on the nodes."""
    own = forces - model.nodal_loads()
    sums = {group: np.zeros(model.mesh.dimensions) for group in [*model.fix, *model.rotate]}
    for (node, axis), (_, group) in model.supports().items():
        sums[group][axis] += own[node, axis]
    return np.array(list(sums.values()))


def compare(program_file, case):
    title, kind, formulation, make, reference = case
    model = make()
    same = same_formulation(model, kind, formulation, reference)
    with tempfile.TemporaryDirectory() as folder:
        own = program.run(program_file, folder, model)
        usual = program.run(program_file, folder, model, rtol=None)
    if reference == CALCULIX:
        with tempfile.TemporaryDirectory() as folder:
            other = calculix.run(folder, model)
        reference += " " + ", ".join(calculix.element_name(model, kind) for kind in model.mesh.elements)
    elif reference == SCIKIT_FEM:
        other = scikit.run(model)
    else:
        other = numpy_elements.solve(model, "tested" if formulation == "incompatible" else None)
    structure = own["report"]["structure"]
    found = np.array([entry["force"] for entry in structure["reactions"]])
    expected = reactions(model, other["force"])
    others = [entry["force"] for entry in structure.get("constraints", [])]
    sums = np.vstack([found, structure["loads"], *others])
    if model.plane == "axisymmetric":  # Radial forces on the circle do not balance.
        sums, found, expected = sums[:, 1:], found[:, 1:], expected[:, 1:]
    balance = float(abs(sums.sum(axis=0)).max() / abs(sums).max())
    return {
        "structure": title, "element": "+".join(model.mesh.elements), "formulation": formulation, "reference": reference,
        "same_formulation": same,
        "nodes": len(model.mesh.points), "elements": model.mesh.count,
        "displacement": relative(own["displacement"], other["displacement"]),
        "stress": relative(own["stress"], other["stress"]),
        "reactions": relative(found, expected), "balance": balance,
        "usual_tolerance": relative(usual["displacement"], own["displacement"]),
        "largest_displacement": float(abs(other["displacement"]).max()),
        "largest_stress": float(abs(other["stress"]).max()),
    }
