"""Poisson's equation on a square grid, solved by PETSc with a preconditioner of Tessera.

    python3 poisson.py /path/to/libpetsctessera.so [PETSc options]
"""

import sys

import petsc4py

# The library is loaded by PETSc itself, so nothing of Tessera is imported.
petsc4py.init(["poisson.py", "-dll_append", sys.argv[1], *sys.argv[2:]])

from petsc4py import PETSc  # noqa: E402

n = 40
da = PETSc.DMDA().create([n, n], stencil_width=1)
a = da.createMatrix()
(first, last), (bottom, top) = da.getRanges()
row = PETSc.Mat.Stencil()
column = PETSc.Mat.Stencil()
for j in range(bottom, top):
    for i in range(first, last):
        row.index = (i, j)
        for x, y in ((i, j), (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= x < n and 0 <= y < n:
                column.index = (x, y)
                a.setValueStencil(row, column, 4 if (x, y) == (i, j) else -1)
a.assemble()
a.setOption(PETSc.Mat.Option.SPD, True)

x, b = a.createVecs()
b.set(1 / n**2)
ksp = PETSc.KSP().create()
ksp.setOperators(a)
ksp.setType("cg")
ksp.setTolerances(rtol=1e-8)
ksp.getPC().setType("tesserachebyshev")
ksp.setFromOptions()
ksp.solve(b, x)
PETSc.Sys.Print(
    f"{ksp.getPC().getType()}: {ksp.getIterationNumber()} iterations, "
    f"reason {ksp.getConvergedReason()}"
)
