"""Elements of CalculiX that are formulated otherwise than Tessera's, rebuilt in NumPy.

That the rebuilt ones agree with CalculiX shows that the formulation is all that differs.
"""
import tempfile

import numpy as np
import scipy.sparse

import calculix
import reference
import structures
from meshes import Mesh
from model import Model
from shapes import SHAPES

SOLIDS = {"tri3": "prism6", "tri6": "prism15", "quad4": "hex8", "quad8": "hex20"}
PRISM6 = (np.array([(1 / 3, 1 / 3, z) for z in (-(3**-0.5), 3**-0.5)]), np.array([0.5, 0.5]))
C3D8I, C3D6 = "incompatible modes without the factor of the patch test", "two integration points"
PLANE_STRESS = "solids one element thick, displaced alike on both sides"


class Slice(Model):
    """A plane structure as solids: below, above, and for the second order in between (corners only)."""

    def __init__(self, flat):
        ((kind, elements),) = flat.mesh.elements.items()
        corners = SHAPES[kind].corners
        count, layers = len(flat.mesh.points), 3 if SHAPES[kind].second_order else 2
        heights = flat.thickness * np.array([-1 / 2, 1 / 2, 0])[:layers]
        points = np.concatenate([np.column_stack([flat.mesh.points, np.full(count, z)]) for z in heights])
        middles = [elements[:, corners:], elements[:, corners:] + count] if layers == 3 else []
        between = [elements[:, :corners] + 2 * count] if layers == 3 else []
        solid = np.hstack([elements[:, :corners], elements[:, :corners] + count, *middles, *between])
        used, solid = np.unique(solid, return_inverse=True)
        mesh = Mesh(points[used], {SOLIDS[kind]: solid.reshape(len(elements), -1)})
        super().__init__(mesh, young=flat.young, poisson=flat.poisson)
        self.flat, self.original, self.layer = flat, used % count, used // count

    def nodal_loads(self):
        found = np.zeros(self.mesh.points.shape)
        below = self.layer == 0
        found[below, :2] = self.flat.nodal_loads()[self.original[below]]
        return found

    def supports(self):
        held = self.flat.supports()
        found = {(node, 2): (0.0, "") for node in np.flatnonzero(self.layer == 2)}
        for node, original in enumerate(self.original):
            for axis in range(2):
                if (original, axis) in held:
                    found[node, axis] = held[original, axis]
        return found

    def constraint(self):
        """Displacements of all nodes by those (x, y, and z above) of the plane's."""
        rows = np.arange(self.mesh.points.size)
        node, axis = rows // 3, rows % 3
        signs = np.where(axis < 2, 1.0, np.array([-1.0, 1.0, 0.0])[self.layer[node]])
        columns = 3 * self.original[node] + axis
        return scipy.sparse.csr_array((signs, (rows, columns)), shape=(len(rows), 3 * len(self.flat.mesh.points)))


def plane_stress(plane):
    """Displacements of a plane structure, computed as CalculiX does."""
    solid = Slice(plane)
    ((kind, _),) = solid.mesh.elements.items()
    found = reference.solve(solid, constraint=solid.constraint(),
                            integration=PRISM6 if kind == "prism6" else None)
    moved = np.empty((len(plane.mesh.points), 2))
    moved[solid.original] = found["displacement"][:, :2]
    return moved


def cases():
    for structure in ("beam", "pressed_block", "patch"):
        model = getattr(structures, structure)("hex8", 3, formulation="incompatible")
        yield structure, C3D8I, model, reference.solve(model, "plain")["displacement"]
    model = structures.beam("prism6", 3)
    yield "beam", C3D6, model, reference.solve(model, integration=PRISM6)["displacement"]
    for kind in SOLIDS:
        model = structures.l_plate(kind, 3)
        yield "L-plate", PLANE_STRESS, model, plane_stress(model)


def rows(_program_file):
    for structure, formulation, model, rebuilt in cases():
        with tempfile.TemporaryDirectory() as folder:
            other = calculix.run(folder, model)["displacement"]
        ((kind, _),) = model.mesh.elements.items()
        row = {"structure": structure.replace("_", " "), "element": kind, "formulation": formulation,
               "reference": "CalculiX " + calculix.element_name(model, kind),
               "displacement": float(abs(rebuilt - other).max() / abs(other).max())}
        if structure == "patch":
            exact = model.mesh.points @ structures.PATCH_GRADIENT.T
            row["patch_error"] = float(abs(other - exact).max() / abs(exact).max())
        yield row
