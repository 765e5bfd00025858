"""The function `solve`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ._arguments import Callback
from ._result import Result
from ._solver import Solver
from ._typing import Array, Coordinates, Matrix, Preconditioning

__all__ = ["solve"]


def solve(
    A: Matrix,
    b: Array,
    method: str = "auto",
    M: Preconditioning = "auto",
    coordinates: Coordinates = None,
    near_null: Array | None = None,
    nullspace: str | Array | None = None,
    *,
    x0: Array | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int = 10000,
    max_seconds: float = np.inf,
    left: bool = False,
    callback: Callback | None = None,
    format: str = "auto",
    device: str | None = None,
    stream: Any = None,
    threads: int = 0,
    devices: int | str | list[str] | None = None,
) -> Result:
    """Solves A x = b; by default the method is chosen by the matrix and the device.

    Parameters
    ----------
    A : sparse matrix, LinearOperator or callable
        n x n: of scipy.sparse, cupyx.scipy.sparse, torch or Warp, a tuple ``(indptr, indices,
        data)``, a `SparseMatrix`, or an operator; see `cg`.
    b : array of shape (n,) or (n, k)
        Right-hand sides, on the device of `A`.
    method, M : str
        "auto", or one of docs/guide/options.md: "cg", "gmres:50", ...; "amg", "block_jacobi:32",
        ... `M` may also be a preconditioner, a LinearOperator, a callable or None.
    coordinates : array of shape (nodes, 2 or 3), optional
        Positions of the nodes, whose unknowns are consecutive rows: give them in elasticity. Where
        many nodes lack unknowns (points, unknowns), as in `preconditioner`.
    near_null : array of shape (n, k), optional
        Near-null vectors for multigrid, which `M` then is: "auto" or "amg", with options.
    nullspace : "constant", "rigid_body" or array of shape (n, k), optional
        Vectors z with ``A @ z = 0``, A symmetric. Their part of b is left out
        (`Result.null_space_part`), and x is orthogonal to them. By default constants and rigid
        motions for which the product vanishes up to rounding, if a word is "auto".
    x0 : array, optional
        Start, of the shape of `b`; by default zero.
    rtol, atol : float
        Stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``. Both are finite. By default
        `rtol` is 1e-8, for float32 1e-4.
    maxiter
        See `Solver.solve`.
    max_seconds : float
        Longest time of setup and solve, in seconds.
    left, callback
        See `Solver.solve`.
    format, device, stream, threads
        See `Solver`.
    devices : int, str or list of str, optional
        Several GPUs that solve together: their number, "all", or names such as ["cuda:0",
        "cuda:2"]; with ``device="cpu"`` a number of groups of threads. For symmetric positive
        definite matrices of float64 in host memory: `method` "cg" or "fcg", `M` "amg" with its
        options. 1 is as without.

    Returns
    -------
    Result
        x, converged, status, message, iterations, residuals, true_residual, timings, memory.
        ``print(result)`` shows the table.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.
    MemoryError, DeviceError
    KeyboardInterrupt
        For Ctrl-C, after the iterations that run.

    Notes
    -----
    Blocks until the solve ends, with the lock of the interpreter released.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("elasticity3d:6")
    >>> r = tessera.solve(p.A, p.b, coordinates=p.coordinates)
    >>> r.converged, r.status, r.true_residual <= 1e-8
    (True, 'converged', True)
    >>> tessera.solve(p.A, p.b, method="cg", M="jacobi", maxiter=3).status
    'max_iterations'
    """
    start = time.perf_counter()
    with Solver(
        A,
        method=method,
        M=M,
        coordinates=coordinates,
        near_null=near_null,
        nullspace=nullspace,
        format=format,
        device=device,
        devices=devices,
        stream=stream,
        threads=threads,
        max_seconds=max_seconds,
    ) as solver:
        return solver.solve(
            b,
            x0,
            rtol=rtol,
            atol=atol,
            maxiter=maxiter,
            max_seconds=max(0.0, float(max_seconds) - (time.perf_counter() - start)),
            left=left,
            callback=callback,
        )
