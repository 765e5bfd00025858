"""Solves the bracket in mesh.msh as a user of scikit-fem and pyamg does; one of the ways of speed.py.

Writes positions.npy and displacement.npy, but computes no stresses.
"""
import meshio
import numpy as np
import pyamg
import skfem
from skfem.helpers import dot
from skfem.models import elasticity

FORCE, PRESSURE = np.array([100.0, 50.0, -200.0]), 0.1  # Those of structures.bracket.


def loads(mesh, element):
    end = skfem.FacetBasis(mesh, element, facets=mesh.facets_satisfying(lambda x: abs(x[0] - 80) < 1e-9, True))
    area = skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(end)
    traction = (FORCE / area)[:, None, None]
    top = skfem.FacetBasis(mesh, element, facets=mesh.facets_satisfying(lambda x: abs(x[2] - 10) < 1e-9, True))
    return (skfem.LinearForm(lambda v, w: dot(traction, v)).assemble(end)
            + skfem.LinearForm(lambda v, w: -PRESSURE * dot(w.n, v)).assemble(top))


def rigid_body_modes(nodes):
    modes = np.zeros((len(nodes), 3, 6))
    modes[:, :, :3] = np.eye(3)
    from_centre = nodes - nodes.mean(axis=0)
    for k, (i, j) in enumerate([(0, 1), (1, 2), (2, 0)], start=3):
        modes[:, i, k] = -from_centre[:, j]
        modes[:, j, k] = from_centre[:, i]
    return modes.reshape(-1, 6)


def main():
    read = meshio.read("mesh.msh")
    mesh = skfem.MeshTet2(read.points.T, read.cells_dict["tetra10"].T)
    element = skfem.ElementVector(skfem.ElementTetP2())
    basis = skfem.Basis(mesh, element, intorder=2)
    a = elasticity.linear_elasticity(*elasticity.lame_parameters(210000.0, 0.3)).assemble(basis)
    b = loads(mesh, element)
    fixed = basis.get_dofs(mesh.facets_satisfying(lambda x: abs(x[0]) < 1e-9, True))
    a, b, x, free = skfem.condense(a, b, D=fixed)
    nodes = basis.doflocs[:, free[::3]].T
    solver = pyamg.smoothed_aggregation_solver(a.tobsr((3, 3)), B=rigid_body_modes(nodes))
    x[free] = solver.solve(b, tol=1e-8, accel="cg", maxiter=1000)
    np.save("positions.npy", basis.doflocs[:, ::3].T)
    np.save("displacement.npy", x.reshape(-1, 3))


if __name__ == "__main__":
    main()
