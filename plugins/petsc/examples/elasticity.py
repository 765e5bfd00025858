"""A plate of bilinear elements in plane strain, held at its left edge and pulled at its right one:
multigrid of Tessera over all ranks, and again for other stiffnesses on the same pattern.

    mpirun -n 2 python3 elasticity.py /path/to/libpetsctessera.so [PETSc options]
"""

import sys

import petsc4py

petsc4py.init(["elasticity.py", "-dll_append", sys.argv[1], *sys.argv[2:]])

import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402

n = 48
corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
young, poisson = 1.0, 0.3
mu, lame = young / 2 / (1 + poisson), young * poisson / (1 + poisson) / (1 - 2 * poisson)
stress = np.array([(lame + 2 * mu, lame, 0), (lame, lame + 2 * mu, 0), (0, 0, mu)])

# The stiffness of a square, by 2 x 2 Gauss points; it does not depend on its size.
square = np.zeros((8, 8))
for point in corners / np.sqrt(3):
    slopes = corners / 2 * (1 + corners[:, ::-1] * point[::-1]) / 2
    strain = np.zeros((3, 8))
    strain[0, 0::2] = strain[2, 1::2] = slopes[:, 0]
    strain[1, 1::2] = strain[2, 0::2] = slopes[:, 1]
    square += strain.T @ stress @ strain

da = PETSc.DMDA().create([n + 1, n + 1], dof=2, stencil_width=1,
                         stencil_type=PETSc.DMDA.StencilType.BOX)
da.setUniformCoordinates(0, 1, 0, 1)
a = da.createMatrix()
(left, right), (bottom, top) = da.getRanges()
(ghost_left, ghost_right), (ghost_bottom, _) = da.getGhostRanges()
x, b = a.createVecs()
fixed = []
for j in range(bottom, top):
    for i in range(left, right):
        here = (i - ghost_left) + (ghost_right - ghost_left) * (j - ghost_bottom)
        if i == 0:
            fixed += [2 * here, 2 * here + 1]
        if i == n:
            b.setValueLocal(2 * here, 1 / n)
        # Each rank adds the squares right above its nodes.
        if i < n and j < n:
            above = here + ghost_right - ghost_left
            nodes = np.array([here, here + 1, above + 1, above], PETSc.IntType)
            a.setValuesBlockedLocal(nodes, nodes, square, PETSc.InsertMode.ADD)
a.assemble()
b.assemble()
a.zeroRowsColumnsLocal(np.array(fixed, PETSc.IntType))
a.setOption(PETSc.Mat.Option.SPD, True)
a.setNearNullSpace(PETSc.NullSpace().createRigidBody(da.getCoordinates()))

ksp = PETSc.KSP().create()
ksp.setOperators(a)
ksp.setType("cg")
ksp.setTolerances(rtol=1e-8)
ksp.getPC().setType("tesseraamg")
ksp.setFromOptions()
for _ in range(2):
    ksp.solve(b, x)
    PETSc.Sys.Print(
        f"{ksp.getPC().getType()}: {ksp.getIterationNumber()} iterations, "
        f"reason {ksp.getConvergedReason()}, largest displacement {x.norm(PETSc.NormType.INFINITY):.4f}"
    )
    a.scale(2)
