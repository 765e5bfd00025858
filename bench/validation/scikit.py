"""Solves structures by scikit-fem and SciPy, with the quadrature of elements.rule.

For straight edges and one material, and elements by full integration.
"""
import numpy as np
import scipy.sparse.linalg
import skfem

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
    matrix_of_material = model.elasticity_matrix()

    def strain_of(u, places):
        """xx, yy, zz, xy, yz, xz, with the engineering shear strains."""
        gradient = u.grad
        zero = np.zeros_like(gradient[0, 0])
        if d == 2:
            hoop = u.value[0] / places[0] if model.plane == "axisymmetric" else zero
            return np.stack([gradient[0, 0], gradient[1, 1], hoop, gradient[0, 1] + gradient[1, 0], zero, zero])
        return np.stack([gradient[i, i] for i in range(3)]
                        + [gradient[i, j] + gradient[j, i] for i, j in ((0, 1), (1, 2), (0, 2))])

    def energy(u, v, w):
        stress = np.einsum("kl,l...->k...", matrix_of_material, strain_of(u, w.x))
        return model.depth(np.moveaxis(w.x, 0, -1)) * np.sum(strain_of(v, w.x) * stress, axis=0)

    basis = make_basis(mesh)
    matrix = skfem.BilinearForm(energy).assemble(basis)
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
    strain = strain_of(basis.interpolate(solution), np.asarray(basis.global_coordinates()))
    stress = at_nodes(kind, np.einsum("kl,lep->epk", matrix_of_material, strain))
    return {"displacement": solution[unknowns], "stress": node_means(mesh, elements, stress),
            "force": (matrix @ solution)[unknowns]}
