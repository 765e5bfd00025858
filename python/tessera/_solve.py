"""The function `solve`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import Callback
from ._result import Result
from ._solver import Solver

__all__ = ["solve"]


def solve(
    A: Any,
    b: Any,
    method: str = "auto",
    M: Any = "auto",
    coordinates: Any = None,
    near_null: Any = None,
    *,
    x0: Any = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    maxiter: int = 10000,
    max_seconds: float = np.inf,
    left: bool = False,
    callback: Callback | None = None,
    format: str = "auto",
    device: str | None = None,
    stream: Any = None,
    threads: int = 0,
) -> Result:
    """Solves A x = b; by default the method is chosen by the matrix and the device.

    The parameters are those of `Solver` and of `Solver.solve`.

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
    Waits, with the lock of the interpreter released.
    """
    with Solver(
        A,
        method=method,
        M=M,
        coordinates=coordinates,
        near_null=near_null,
        format=format,
        device=device,
        stream=stream,
        threads=threads,
    ) as solver:
        return solver.solve(
            b,
            x0,
            rtol=rtol,
            atol=atol,
            maxiter=maxiter,
            max_seconds=max_seconds,
            left=left,
            callback=callback,
        )
