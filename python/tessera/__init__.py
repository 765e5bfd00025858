"""Tessera solves sparse linear systems made of small dense blocks, on GPUs and CPUs.

>>> import tessera
>>> p = tessera.problems("elasticity3d:8")
>>> r = tessera.solve(p.A, p.b, coordinates=p.coordinates)
>>> r.converged
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import Progress
from ._backend import core as _core
from ._direct import Direct, Inertia, Slogdet, direct
from ._incomplete import block_ldlt, ilu
from ._krylov import bicgstab, cg, fcg, gmres, idr, minres, sqmr
from ._multigrid import MultilevelSolver, rigid_body_modes, smoothed_aggregation_solver
from ._operators import LinearOperator, SparseMatrix, matrix
from ._preconditioners import (
    Preconditioner,
    block_jacobi,
    jacobi,
    polynomial,
    preconditioner,
)
from ._problems import (
    Problem,
    find_blocks,
    info,
    problem_names,
    problems,
    read,
    read_vector,
    write,
)
from ._result import Result
from ._solve import solve
from ._solver import Solver
from ._triangular import BlockTriangularSolve, block_triangular_solve

__version__: str = _core.version()

if TYPE_CHECKING:

    class DeviceError(RuntimeError):
        """A GPU cannot be used, or failed."""

    class ParseError(ValueError):
        """A file cannot be read."""
else:
    DeviceError, ParseError = _core.DeviceError, _core.ParseError


def devices() -> list[str]:
    """Names of the CUDA devices that can be used; starts CUDA.

    Returns
    -------
    list of str
        Empty without any, or without the package tessera_cu13.
    """
    return list(_core.cuda_devices()[0])


def _core_file() -> str:
    """Path of the extension in use."""
    return str(_core.__file__)


def __getattr__(name: str) -> Any:
    # Modules that not everybody needs.
    if name in ("batched", "plot", "structures", "torch"):
        import importlib

        return importlib.import_module(f"tessera.{name}")
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "batched", "plot", "structures", "torch"})


__all__ = [
    "BlockTriangularSolve",
    "DeviceError",
    "Direct",
    "Inertia",
    "LinearOperator",
    "MultilevelSolver",
    "ParseError",
    "Preconditioner",
    "Problem",
    "Progress",
    "Result",
    "Slogdet",
    "Solver",
    "SparseMatrix",
    "bicgstab",
    "block_jacobi",
    "block_ldlt",
    "block_triangular_solve",
    "cg",
    "devices",
    "direct",
    "fcg",
    "find_blocks",
    "gmres",
    "idr",
    "ilu",
    "info",
    "jacobi",
    "matrix",
    "minres",
    "polynomial",
    "preconditioner",
    "problem_names",
    "problems",
    "read",
    "read_vector",
    "rigid_body_modes",
    "smoothed_aggregation_solver",
    "solve",
    "sqmr",
    "write",
]
