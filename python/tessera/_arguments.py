"""Arguments that solves share: options, right-hand sides and starts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._arrays import HOST, View, source_of, turned_values, values, view
from ._backend import core
from ._contexts import call_context, in_order

__all__ = ["Progress"]


class Progress(NamedTuple):
    """What a callback of `solve` and of `Solver.solve` is given.

    Attributes
    ----------
    iterations : int
    relative_residual : float
        Norm of the recursive residual over that of b.
    target : float
        The relative residual that ends the solve.
    seconds : float
        Since the start of the solve.
    column : int
        Number of the right-hand side, where there are several.
    """

    iterations: int
    relative_residual: float
    target: float
    seconds: float
    column: int


Callback = Callable[[Progress], Any]

# Statuses of a right-hand side that is solved.
SOLVED = ("converged", "rounding_limit")

# SciPy's convention: 0 converged, negative: the method broke down.
FAILURES = {"breakdown": -1, "non_finite": -2, "singular_block": -3}


def info_of(status: str, iterations: int) -> int:
    """SciPy's info: 0 converged, the number of iterations without convergence, < 0 breakdown."""
    if status in (*SOLVED, "least_squares"):  # As scipy.sparse.linalg.minres.
        return 0
    return FAILURES.get(status, max(1, iterations))


def number(
    value: Any, name: str, least: float = 0.0, most: float = np.inf, finite: bool = False
) -> float:
    """A number from `least` to `most`, which may be infinite unless `finite`."""
    try:
        if isinstance(value, (str, bytes)):  # Which float takes.
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}") from None
    except OverflowError:  # A whole number.
        raise ValueError(f"{name}: the number is beyond the range of float64") from None
    if not result >= least:
        what = "a number" if least == -np.inf else f"at least {least:g}"
        raise ValueError(f"{name}: {value} is not {what}")
    if result > most:
        raise ValueError(f"{name}: {value} is not at most {most:g}")
    if finite and np.isinf(result):
        raise ValueError(f"{name}: it is infinite")
    return result


def whole(value: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected a whole number, got {type(value).__name__}")
    result = value.__index__()
    if result < least:
        raise ValueError(f"{name}: {result} is below {least}")
    if result > most:
        raise ValueError(f"{name}: {result} is above {most}")
    return int(result)


def flag(value: Any, name: str) -> bool:
    """True or False, also NumPy's, or 1 or 0."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_) or (hasattr(value, "__index__") and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name}: expected True or False, got {value!r:.40}")


Hook = Callable[..., Any]  # Called with the numbers of a Progress.


def _require_callable(callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"callback: {type(callback).__name__} is not callable")


def progress_hook(callback: Callback | None) -> Hook | None:
    """Calls a callback with a `Progress`; False, also that of NumPy, ends the solve."""
    if callback is None:
        return None
    _require_callable(callback)

    def hook(*progress: Any) -> bool:
        answer = callback(Progress(*progress))
        return not (isinstance(answer, (bool, np.bool_)) and not answer)

    return hook


def scipy_hook(
    callback: Callable[[Any], Any] | None,
    method: str,
    b: View,
    dtype: np.dtype[Any],
    context: Any,
) -> tuple[Hook | None, int]:
    """Calls a callback as SciPy does, with x, or with the relative residual in gmres, whatever it
    returns; and the address of an array that x is copied to before, if it is."""
    if callback is None:
        return None, 0
    _require_callable(callback)
    if method.startswith("gmres"):

        def residual_hook(_: int, residual: float, *__: Any) -> None:
            callback(residual)

        return residual_hook, 0
    kind, size = b.kind, b.shape[0]
    kept = kind.empty((size,), dtype, b.device)
    address = kind.address(kept)

    def hook(*_: Any, owner: Any = kept) -> None:
        x = kind.empty((size,), dtype, b.device)
        core.copy_values(context, address, kind.address(x), size, dtype.itemsize)
        with in_order(context, kind):
            callback(kind.finished(x, context))

    return hook, address


def options_of(
    rtol: Any,
    atol: Any,
    maxiter: int,
    hook: Hook | None,
    max_seconds: Any = np.inf,
    left: bool = False,
    iterate: int = 0,
) -> Any:
    """The options of a solve; errors name the argument. `iterate`: of `scipy_hook`."""
    main = threading.current_thread() is threading.main_thread()
    options = core.Options(
        None if rtol is None else number(rtol, "rtol", finite=True),
        number(atol, "atol", finite=True),
        maxiter,
        number(max_seconds, "max_seconds"),
        2000,
        left,
        main,
        hook,
    )
    if iterate:
        options.iterate = iterate
    return options


def size_of(a: Any, b: View) -> int:
    """Rows of the system; ValueError unless A is square."""
    shape = getattr(a, "shape", None)
    if shape is None:
        return b.shape[0] if b.shape else 0
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"A: a square matrix is needed, the shape is {tuple(shape)}")
    return int(shape[0])


def checked_vector(found: View, size: int, name: str) -> None:
    """ValueError unless this is a vector of `size` numbers."""
    if found.shape != (size,) and found.shape != (size, 1):
        several = len(found.shape) == 2 and found.shape[0] == size and found.shape[1] > 1
        if found.shape == (size, 0):
            raise ValueError(f"{name}: the shape {found.shape} has no column")
        raise ValueError(
            f"{name}: the shape {found.shape} does not fit a system of {size} rows"
            + (
                "; for several right-hand sides use tessera.solve or tessera.Solver"
                if name == "b" and several
                else ""
            )
        )


def given_start(x0: Any, found: View, dtype: np.dtype[Any]) -> View | None:
    """The caller's start for a right-hand side, if there is one, with values of `dtype`."""
    if x0 is None:
        return None
    start = view(x0, "x0")
    if start.shape not in (found.shape, (found.shape[0],), (found.shape[0], 1)):
        raise ValueError(f"x0: the shape {start.shape} does not fit {found.shape}")
    if start.device != found.device:
        raise ValueError("x0: it is on another device than b")
    return values(x0, dtype, "x0")


def start_of(x0: Any, found: View, dtype: np.dtype[Any], context: Any) -> tuple[Any, int]:
    """A new array for the solution that holds the start, and its address."""
    start = given_start(x0, found, dtype)
    result = found.kind.empty(found.shape, dtype, found.device)
    pointer = found.kind.address(result)
    size = math.prod(found.shape)
    if start is None:
        core.fill_zero(context, pointer, size, dtype.itemsize)
    else:
        core.copy_values(context, start.pointer, pointer, size, dtype.itemsize)
    return result, pointer


def columns_of(array: Any, dtype: np.dtype[Any], name: str) -> View:
    """The columns of an (n, k) array one after the other: a view of (k, n); a copy where the array
    is not in Fortran's order already."""
    found = view(array, name)
    if len(found.shape) == 2 and found.shape[1] == 1 and found.contiguous:
        row = found.kind.reshaped(source_of(array, found), (1, found.shape[0]))
        return values(row, dtype, name)
    return turned_values(array, dtype, name)


def starts_of(
    x0: Any, found: View, count: int, dtype: np.dtype[Any], context: Any
) -> tuple[Any, int]:
    """As `start_of` for several right-hand sides: an array of shape (count, n)."""
    kind = found.kind
    size = found.shape[0] * count
    x = kind.empty((count, found.shape[0]), dtype, found.device)
    pointer = kind.address(x)
    if x0 is None:
        core.fill_zero(context, pointer, size, dtype.itemsize)
        return x, pointer
    start = view(x0, "x0")
    if start.shape != found.shape or start.device != found.device:
        raise ValueError(f"x0: the shape {start.shape} or the device is not that of b")
    turned = columns_of(x0, dtype, "x0")
    core.copy_values(context, turned.pointer, pointer, size, dtype.itemsize)
    return x, pointer


def systems_of(
    b: Any, found: View, x0: Any, size: int, dtype: np.dtype[Any]
) -> tuple[Any, Any, View]:
    """A new array for x, which holds the start, the systems of a solve, and the view of `b` that
    they read: that of the vector `b`, seen as `found`, or those of the columns of an (n, k) array,
    whose x is (k, n)."""
    context = call_context(found.kind, found.device)
    count = 1
    if len(found.shape) == 2 and found.shape[0] == size and found.shape[1] > 1:
        count = found.shape[1]
        right = columns_of(b, dtype, "b")
        x, pointer = starts_of(x0, found, count, dtype, context)
    else:
        checked_vector(found, size, "b")
        right = values(b, dtype, "b")
        x, pointer = start_of(x0, found, dtype, context)
    if found.device != HOST:
        context.synchronize()  # The solver has a stream of its own choice.
    on_host = found.device == HOST
    return x, core.Systems(size, count, right.pointer, size, pointer, size, on_host), right
