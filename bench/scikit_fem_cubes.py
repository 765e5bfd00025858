"""Cubes of some 100,000 unknowns from scikit-fem: Tessera beside SciPy and pyamg on a CPU.

Imported by bench/python.py. Each way to solve starts from the CSR matrix that scikit-fem returns,
and its time holds all that it needs: conversion, setup, solve to a relative residual of 1e-8. pyamg
is timed on CSR and on BSR; the rows keep both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyamg
import scipy.sparse.linalg as linalg
import skfem
from skfem.models import elasticity, poisson

import tessera

RTOL = 1e-8
THREADS = 2


class Cube(NamedTuple):
    """A system A x = b; block: unknowns of a node; nodes: their positions."""

    A: Any
    b: Any
    nodes: Any
    block: int


def _free(a: Any, b: Any, fixed: Any, points: Any, block: int) -> Cube:
    """Without the nodes whose unknowns are given (all of them zero)."""
    free = skfem.condense(a, b, D=fixed)
    nodes = points[np.unique(free[3] // block)]
    return Cube(free[0], free[1], nodes, block)


def elastic_cube(mesh: Any, element: Any) -> Cube:
    """Clamped at x = 0, under its own weight; Poisson's ratio 0.3."""
    basis = skfem.Basis(mesh, skfem.ElementVector(element), intorder=3)
    a = elasticity.linear_elasticity(*elasticity.lame_parameters(1.0, 0.3)).assemble(basis)
    b = skfem.LinearForm(lambda v, w: -v[2]).assemble(basis)
    return _free(a, b, basis.get_dofs(lambda x: x[0] == 0), mesh.p.T, 3)


def poisson_cube(mesh: Any, element: Any) -> Cube:
    """Zero on the surface, unit load."""
    basis = skfem.Basis(mesh, element, intorder=3)
    a, b = poisson.laplace.assemble(basis), poisson.unit_load.assemble(basis)
    return _free(a, b, basis.get_dofs(), mesh.p.T, 1)


def _tetrahedra(cells: int) -> Any:
    return skfem.MeshTet.init_tensor(*[np.linspace(0, 1, cells + 1)] * 3)


CUBES: dict[str, Callable[[], Cube]] = {
    "elasticity, 32^3 x 6 tetrahedra": lambda: elastic_cube(_tetrahedra(32), skfem.ElementTetP1()),
    # Refined five times: its nodes are numbered level by level.
    "elasticity, 32^3 hexahedra": lambda: elastic_cube(
        skfem.MeshHex().refined(5), skfem.ElementHex1()
    ),
    "Poisson, 47^3 x 6 tetrahedra": lambda: poisson_cube(_tetrahedra(47), skfem.ElementTetP1()),
}


def _own(cube: Cube, **options: Any) -> tuple[Any, dict[str, Any]]:
    result = tessera.solve(cube.A, cube.b, rtol=RTOL, threads=THREADS, **options)
    facts = {
        "iterations": result.iterations,
        "solver": result.solver,
        "preconditioner": result.preconditioner,
        "attempts": result._attempt + 1,
        "setup_seconds": result.timings["setup"],
    }
    return result.x, facts


def _scipy(cube: Cube) -> tuple[Any, dict[str, Any]]:
    inverse = 1 / cube.A.diagonal()
    m = linalg.LinearOperator(cube.A.shape, matvec=lambda r: inverse * r, dtype=cube.A.dtype)
    steps: list[None] = []
    x, _ = linalg.cg(cube.A, cube.b, rtol=RTOL, M=m, callback=lambda _: steps.append(None))
    return x, {"iterations": len(steps)}


def _pyamg(cube: Cube, blocks: bool) -> tuple[Any, dict[str, Any]]:
    start = time.perf_counter()
    a = cube.A.tobsr((cube.block, cube.block)) if blocks else cube.A
    modes = tessera.rigid_body_modes(cube.nodes) if cube.block > 1 else None
    ml = pyamg.smoothed_aggregation_solver(a, B=modes)
    setup = time.perf_counter() - start
    residuals: list[float] = []
    x = ml.solve(cube.b, tol=RTOL, accel="cg", residuals=residuals)
    return x, {"iterations": len(residuals) - 1, "setup_seconds": setup}


def _ways(cube: Cube) -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    ways: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
        "tessera, coordinates": lambda: _own(cube, coordinates=cube.nodes),
        "tessera": lambda: _own(cube),
        "scipy cg, diagonal": lambda: _scipy(cube),
        "pyamg, CSR": lambda: _pyamg(cube, False),
    }
    if cube.block > 1:
        ways["pyamg, BSR"] = lambda: _pyamg(cube, True)
    return ways


def race(name: str, repeats: int = 7) -> dict[str, Any]:
    """Each way in turn, `repeats` times; medians in seconds."""
    cube = CUBES[name]()
    ways = _ways(cube)
    times: dict[str, list[float]] = {way: [] for way in ways}
    found: dict[str, Any] = {}
    for k in range(repeats + 1):  # The first one warms up.
        for way, run in ways.items():
            start = time.perf_counter()
            x, facts = run()
            seconds = time.perf_counter() - start
            if k > 0:
                times[way].append(seconds)
            residual = float(np.linalg.norm(cube.b - cube.A @ x) / np.linalg.norm(cube.b))
            found[way] = {**facts, "true_relative_residual": residual}
    for way, seconds_of in times.items():
        found[way] = {
            "seconds": statistics.median(seconds_of),
            "fastest": min(seconds_of),
            "slowest": max(seconds_of),
            **found[way],
        }
    return {
        "rows": cube.A.shape[0],
        "nonzeros": cube.A.nnz,
        "repeats": repeats,
        "ways": found,
    }
