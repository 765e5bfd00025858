"""Solves structures by scikit-fem and SciPy, with the quadrature of elements.rule.

For straight edges and one material, and elements by full integration.
"""
import numpy as np
import scipy.sparse.linalg
import skfem
from skfem.helpers import ddot, eye, sym_grad, trace

from elements import at_nodes, node_means, node_positions, rule
from shapes import SHAPES

ELEMENTS = {
    "tri3": (skfem.MeshTri, skfem.ElementTriP1), "tri6": (skfem.MeshTri, skfem.ElementTriP2),
    "quad4": (skfem.MeshQuad, skfem.ElementQuad1), "quad8": (skfem.MeshQuad, skfem.ElementQuadS2),
    "quad9": (skfem.MeshQuad, skfem.ElementQuad2), "tet4": (skfem.MeshTet, skfem.ElementTetP1),
    "tet10": (skfem.MeshTet, skfem.ElementTetP2), "hex8": (skfem.MeshHex, skfem.ElementHex1),
    "hex20": (skfem.MeshHex, skfem.ElementHexS2), "hex27": (skfem.MeshHex, skfem.ElementHex2),
    "prism6": (skfem.MeshWedge1, skfem.ElementWedge1),
}


def make_basis(mesh):
    ((kind, elements),) = mesh.elements.items()
    kind_of_mesh, element = ELEMENTS[kind]
    points, weights = rule(kind)
    places = node_positions(kind)[:SHAPES[kind].corners]
    # Axes of quadrilaterals and hexahedra, and the height of prisms, are [0, 1] there.
    long = places.min(axis=0) < 0
    unit = np.where(long, 1 / 2, 1.0)
    points, weights = (points + long) * unit, weights * unit.prod()
    places = (places + long) * unit
    corners = [int(np.argmin(abs(places - corner).sum(axis=1))) for corner in kind_of_mesh.elem.refdom.p.T]
    used, renumbered = np.unique(elements[:, :SHAPES[kind].corners], return_inverse=True)
    cells = renumbered.reshape(len(elements), -1)[:, corners]
    sort = {"sort_t": False} if kind.startswith(("tri", "tet")) else {}
    skfem_mesh = kind_of_mesh(np.ascontiguousarray(mesh.points[used].T), np.ascontiguousarray(cells.T), **sort)
    return skfem.Basis(skfem_mesh, skfem.ElementVector(element()), quadrature=(points.T, weights))


def unknowns_of_nodes(basis, mesh):
    """Unknown of each node and axis, found by the position of the node."""
    d = mesh.dimensions
    dofs = basis.dofs
    parts = [dofs.nodal_dofs, dofs.facet_dofs, dofs.interior_dofs] + ([dofs.edge_dofs] if d == 3 else [])
    size = abs(mesh.points).max()
    keys = {tuple(np.round(point / size, 9) + 0.0): node for node, point in enumerate(mesh.points)}
    found = np.full((len(mesh.points), d), -1)
    for part in parts:
        for row, numbers in enumerate(np.asarray(part)):
            for unknown in numbers:
                key = tuple(np.round(basis.doflocs[:, unknown] / size, 9) + 0.0)
                found[keys[key], row % d] = unknown
    if (found < 0).any():
        raise RuntimeError("scikit-fem has no unknown at a node")
    return found


def run(model):
    mesh = model.mesh
    d = mesh.dimensions
    ((kind, elements),) = mesh.elements.items()
    young, poisson, _ = model.material("")
    mu = young / (2 * (1 + poisson))
    lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    if d == 2 and not model.plane_strain:
        lame = young * poisson / (1 - poisson**2)

    def stress_of(u):
        strain = sym_grad(u)
        return 2 * mu * strain + lame * eye(trace(strain), d)

    basis = make_basis(mesh)
    matrix = model.thickness * skfem.BilinearForm(lambda u, v, _: ddot(stress_of(u), sym_grad(v))).assemble(basis)
    unknowns = unknowns_of_nodes(basis, mesh)
    load, solution = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
    load[unknowns] = model.nodal_loads()
    held = []
    for (node, axis), (value, _) in model.supports().items():
        held.append(unknowns[node, axis])
        solution[held[-1]] = value
    free = np.setdiff1d(np.arange(matrix.shape[0]), held)
    right = load - matrix @ solution
    solution[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(), right[free])
    tensor = stress_of(basis.interpolate(solution))
    rows, columns = ([0, 1, 0], [0, 1, 1]) if d == 2 else ([0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2])
    values = at_nodes(kind, np.stack([tensor[i, j] for i, j in zip(rows, columns)], axis=-1))
    return {"displacement": solution[unknowns], "stress": node_means(mesh, elements, values),
            "force": (matrix @ solution)[unknowns]}
