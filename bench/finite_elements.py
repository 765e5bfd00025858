#!/usr/bin/env python3
"""Writes systems of finite elements that scikit-fem assembles: what its users bring.

usage: finite_elements.py FOLDER [NAME...]

Matrices with fixed unknowns left out, as Matrix Market files FOLDER/NAME.mtx.gz, for auto_bars.py
--matrices FOLDER. Needs scikit-fem and SciPy.
"""
import gzip
import pathlib
import sys

import numpy as np
import scipy.io
import scipy.sparse as sp
import skfem
from skfem.helpers import curl, dd, ddot, div, dot, grad, sym_grad
from skfem.models.elasticity import lame_parameters, linear_elasticity


def square(refinements):
    return skfem.MeshTri().refined(refinements)


def cube(refinements):
    return skfem.MeshTet().refined(refinements)


@skfem.BilinearForm
def laplace(u, v, _):
    return dot(grad(u), grad(v))


@skfem.BilinearForm
def mass(u, v, _):
    return u * v


def inside(a, basis, sides=None):
    """Without the unknowns of the boundary, or of some of its sides."""
    fixed = basis.get_dofs(sides).all()
    return skfem.condense(a, D=fixed, expand=False)


def diffusion(mesh, element):
    basis = skfem.Basis(mesh, element)
    return inside(laplace.assemble(basis), basis)


def elasticity(mesh, element, side=lambda x: x[0] == 0):
    basis = skfem.Basis(mesh, element)
    return inside(linear_elasticity(*lame_parameters(1e3, 0.3)).assemble(basis), basis, side)


def heat_step():
    basis = skfem.Basis(square(8), skfem.ElementTriP1())
    return inside(mass.assemble(basis) + 1e-3 * laplace.assemble(basis), basis)


def plate():
    """Biharmonic, of Morley's elements."""
    basis = skfem.Basis(square(6), skfem.ElementTriMorley())

    @skfem.BilinearForm
    def bending(u, v, _):
        return ddot(dd(u), dd(v))
    return inside(bending.assemble(basis), basis)


def magnetic_field():
    """curl curl and a mass, of Nedelec's edges."""
    basis = skfem.Basis(cube(4), skfem.ElementTetN0())

    @skfem.BilinearForm
    def form(u, v, _):
        return dot(curl(u), curl(v)) + 1e-2 * dot(u, v)
    return inside(form.assemble(basis), basis)


def convection():
    basis = skfem.Basis(square(7), skfem.ElementTriP1())

    @skfem.BilinearForm
    def form(u, v, w):
        return 1e-2 * dot(grad(u), grad(v)) + ((w.x[1] - 0.5) * grad(u)[0] - (w.x[0] - 0.5) * grad(u)[1]) * v
    return inside(form.assemble(basis), basis)


def waves():
    basis = skfem.Basis(square(7), skfem.ElementTriP1())
    return inside(laplace.assemble(basis) - 30.0**2 * mass.assemble(basis), basis)


def stokes():
    """Taylor and Hood's pair; one pressure is left out."""
    mesh = square(5)
    velocity = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP2()))
    pressure = velocity.with_element(skfem.ElementTriP1())

    @skfem.BilinearForm
    def viscous(u, v, _):
        return ddot(sym_grad(u), sym_grad(v))

    @skfem.BilinearForm
    def constraint(u, q, _):
        return -div(u) * q
    a, b = viscous.assemble(velocity), constraint.assemble(velocity, pressure)
    system = sp.block_array([[a, b.T], [b, None]]).tocsr()
    fixed = np.r_[velocity.get_dofs().all(), a.shape[0]]
    return skfem.condense(system, D=fixed, expand=False)


def mixed_diffusion():
    """Fluxes of Raviart and Thomas, one pressure in an element."""
    mesh = square(6)
    flux = skfem.Basis(mesh, skfem.ElementTriRT0())
    pressure = flux.with_element(skfem.ElementTriP0())

    @skfem.BilinearForm
    def resistance(u, v, _):
        return dot(u, v)

    @skfem.BilinearForm
    def sources(u, q, _):
        return div(u) * q
    a, b = resistance.assemble(flux), sources.assemble(flux, pressure)
    return sp.block_array([[a, b.T], [b, None]]).tocsr()


SYSTEMS = {
    "fe_diffusion_p2": lambda: diffusion(square(8), skfem.ElementTriP2()),
    "fe_diffusion_p4": lambda: diffusion(square(5), skfem.ElementTriP4()),
    "fe_diffusion_tet_p2": lambda: diffusion(cube(4), skfem.ElementTetP2()),
    "fe_elasticity_tet": lambda: elasticity(cube(4), skfem.ElementVector(skfem.ElementTetP1())),
    "fe_elasticity_tri_p2": lambda: elasticity(square(6), skfem.ElementVector(skfem.ElementTriP2())),
    "fe_heat_step": heat_step, "fe_plate": plate, "fe_magnetic_field": magnetic_field,
    "fe_convection": convection, "fe_waves": waves, "fe_stokes": stokes,
    "fe_mixed_diffusion": mixed_diffusion,
}


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or SYSTEMS:
        a = sp.csr_array(SYSTEMS[name]())
        a.sum_duplicates()
        difference = abs(a - a.T).max()
        symmetric = difference <= 1e-13 * abs(a).max()
        with gzip.open(folder / f"{name}.mtx.gz", "wb", compresslevel=1) as file:
            scipy.io.mmwrite(file, (a + a.T) / 2 if symmetric else a,
                             symmetry="symmetric" if symmetric else "general")
        print(f"{name}: {a.shape[0]} rows, {a.nnz} entries, {'' if symmetric else 'not '}symmetric")


if __name__ == "__main__":
    main()
