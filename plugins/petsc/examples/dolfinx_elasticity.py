"""Elasticity of a cube of tetrahedra in DOLFINx 0.5, under its weight, clamped at the bottom.

    PETSC_OPTIONS="-dll_append /path/to/libpetsctessera.so -pc_type tesserachebyshev" \\
        python3 dolfinx_elasticity.py
"""
import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import apply_lifting, assemble_matrix, assemble_vector, set_bc
from mpi4py import MPI
from petsc4py import PETSc

domain = mesh.create_unit_cube(MPI.COMM_WORLD, 8, 8, 8)
v = fem.VectorFunctionSpace(domain, ("Lagrange", 1))
facets = mesh.locate_entities_boundary(domain, 2, lambda x: np.isclose(x[2], 0))
bc = fem.dirichletbc(np.zeros(3), fem.locate_dofs_topological(v, 2, facets), v)
u, w = ufl.TrialFunction(v), ufl.TestFunction(v)


def strain(field):
    return ufl.sym(ufl.grad(field))


stress = 0.58 * ufl.tr(strain(u)) * ufl.Identity(3) + 2 * 0.38 * strain(u)
a = fem.form(ufl.inner(stress, strain(w)) * ufl.dx)
f = fem.form(ufl.dot(fem.Constant(domain, (0.0, 0.0, -1.0)), w) * ufl.dx)
matrix = assemble_matrix(a, bcs=[bc])
matrix.assemble()
matrix.setOption(PETSc.Mat.Option.SPD, True)
b = assemble_vector(f)
apply_lifting(b, [a], [[bc]])
b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
set_bc(b, [bc])
x = fem.Function(v)
ksp = PETSc.KSP().create(domain.comm)
ksp.setOperators(matrix)
ksp.setType("cg")
ksp.setTolerances(rtol=1e-8)
ksp.setFromOptions()
ksp.solve(b, x.vector)
PETSc.Sys.Print(
    f"{ksp.getPC().getType()}: {ksp.getIterationNumber()} iterations, "
    f"reason {ksp.getConvergedReason()}"
)
