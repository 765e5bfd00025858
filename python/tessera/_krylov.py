"""Krylov methods with SciPy's names and meaning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ._arguments import (
    FAILURES,
    checked_vector,
    given_start,
    info_of,
    options_of,
    scipy_hook,
    size_of,
    whole,
)
from ._arrays import FLOAT32, FLOAT64, Kind, View, real_type, values, view
from ._backend import core
from ._contexts import call_context
from ._errors import raise_named
from ._maps import operator_map, operator_type
from ._matrices import Parts, build, checked_device, is_matrix, take_apart
from ._operators import LinearOperator
from ._texts import checked_text
from ._typing import Array, Matrix, Preconditioning

__all__ = ["bicgstab", "cg", "fcg", "gmres", "idr", "minres", "sqmr"]


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _type_of(a: Any, parts: Parts | None, b: View) -> np.dtype[Any]:
    """The type of the solve: float32 where A and b are, if A is no object of this package."""
    wanted = real_type(b.dtype, "b")
    if isinstance(a, LinearOperator):
        return a.dtype
    if parts is not None:
        return FLOAT32 if parts.dtype == wanted == FLOAT32 else FLOAT64
    single = operator_type(a, "A") in (None, FLOAT32)
    return FLOAT32 if single and wanted == FLOAT32 else FLOAT64


def _solve(
    method: str,
    a: Any,
    b: Array,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    m: Any,
    callback: Callable[[Any], Any] | None,
    stream: Any,
) -> tuple[Any, int]:
    found = view(b, "b")
    own = isinstance(a, LinearOperator)
    parts = take_apart(a, "A") if not own and is_matrix(a) else None
    size = size_of(a if parts is None else parts, found)
    checked_vector(found, size, "b")
    dtype = _type_of(a, parts, found)
    kind, device = found.kind, found.device
    most = 10 * size if maxiter is None else whole(maxiter, "maxiter", 0)
    right = found if found.dtype == dtype and found.contiguous else values(b, dtype, "b")
    start = given_start(x0, found, dtype)
    context = call_context(kind, device, stream)  # After conversions, for which it waits.
    hook, iterate = scipy_hook(callback, method, found, dtype, context)
    if rtol is None:  # As in `tessera.solve`.
        raise TypeError("rtol: expected a number, got NoneType")
    options = options_of(rtol, atol, most, hook, iterate=iterate)
    matrix = None
    if parts is not None:
        checked_device(parts, found, "b")
        matrix = build(parts, context, dtype)
        if stream is not None:
            call_context(kind, device, stream)  # Its values may have been converted.
        a_map = core.matrix_operator(context, matrix, "csr")
    else:
        a_map = operator_map(a, size, dtype, kind, device, context, "A")
    m_map = _preconditioner(m, a, matrix, size, dtype, kind, device, context)
    x = kind.empty_like(right)
    try:
        status, iterations, error_of_rows, row = core.solve_once(
            context, method, a_map, m_map, right.pointer, 0 if start is None else start.pointer,
            kind.address(x), options, matrix,
        )  # fmt: skip
    except ValueError as error:
        raise_named(error, "A")
    info = info_of(status, iterations)
    if atol == 0 and 0 < 100 * rtol < error_of_rows:
        warnings.warn(
            f"norm(b - A @ x) is small, but in row {row} the residual is {error_of_rows:.1e} of the "
            "sum of its terms: other rows are so much larger that they alone decide the norm; scale "
            "the equations to one size, or use tessera.solve, which looks at each row",
            UserWarning,
            stacklevel=3,
        )
    if info == FAILURES["singular_block"]:
        given = getattr(a, "_matrix", None) if matrix is None else matrix
        if given is not None and given.non_finite_row() >= 0:
            info = FAILURES["non_finite"]
    return kind.finished(x, context), info


def _preconditioner(
    m: Any,
    a: Any,
    matrix: Any,
    size: int,
    dtype: np.dtype[Any],
    kind: Kind,
    device: int,
    context: Any,
) -> Any:
    """M as a map: None, a text, a preconditioner, a matrix, a LinearOperator or a callable."""
    if m is None or (isinstance(m, str) and m == "none"):
        return None
    if not isinstance(m, str):
        return operator_map(m, size, dtype, kind, device, context, "M")
    if matrix is None:
        matrix = getattr(a, "_matrix", None)
    if matrix is None:
        raise ValueError(f"M: {m!r} needs a matrix, A is an operator; pass a preconditioner")
    checked_text(m, "M", auto=False)
    try:
        return core.preconditioner(context, matrix, m, None, [])
    except ValueError as error:
        raise_named(error, "M", matrix)


_ABOUT = """

    Parameters
    ----------
    A : sparse matrix, LinearOperator or callable
        n x n: of scipy.sparse, cupyx.scipy.sparse, torch (sparse_csr, sparse_bsr) or Warp
        (BsrMatrix), a tuple ``(indptr, indices, data)`` with data of shape (nnz,) or
        (nblocks, b, b), a `SparseMatrix`, a LinearOperator of SciPy or CuPy, or a function
        ``A(x)``.
    b : array of shape (n,) or (n, 1)
        Right-hand side. The solve is in float32 if `A` and `b` are, else in float64; in the type of
        `A`, if that is an object of this package.
    x0 : array, optional
        Start, by default zero. It is not changed.
    rtol, atol : float
        Stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``. Both are finite.
    maxiter : int, optional
        Maximum number of iterations, by default ``10 * n``.
    M : preconditioner, LinearOperator, callable, sparse matrix or str, optional
        Approximates the inverse of `A`: an object of this package, of SciPy or CuPy, a function, or
        a text such as ``"block_jacobi:32"``, which is set up for this call.
    callback : callable, optional
        Called after each iteration with x, a new array of shape (n,); `gmres` calls it with the
        relative residual. What it returns is ignored; that of `tessera.solve` may end the solve.
    stream : int or object with ``__cuda_stream__``, optional
        By default the current stream of the library that `b` belongs to.

    Returns
    -------
    x : array
        In the kind and shape of `b`, on its device. Without convergence the last iterate, or
        the initial guess, or that of the last restart, if its residual is smaller.
    info : int
        0: converged, the true residual was checked. Positive: not converged, the number of
        iterations. Negative: -1 breakdown, -2 NaN or infinity, -3 M has a singular block.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.
    MemoryError, DeviceError
        If memory runs out, or CUDA fails.
    KeyboardInterrupt
        For Ctrl-C, after the iterations that run.

    Notes
    -----
    Waits: `info` is a number of Python. The lock of the interpreter is released meanwhile.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("poisson2d:20")
    >>> x, info = tessera.{name}(p.A, p.b, M="jacobi")
    >>> info, bool(abs(p.b - p.A @ x).max() < 1e-4 * abs(p.b).sum())
    (0, True)
"""


def _documented(function: _Function) -> _Function:
    function.__doc__ = (function.__doc__ or "") + _ABOUT.replace("{name}", function.__name__)
    return function


@_documented
def cg(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Conjugate gradients, for symmetric positive definite A and M."""
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def fcg(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Flexible conjugate gradients: as `cg`, and M may change from one iteration to the next."""
    return _solve("fcg", A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def bicgstab(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Stabilised biconjugate gradients, for any A."""
    return _solve("bicgstab", A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def gmres(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = 30,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    callback_type: str | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Generalised minimal residuals with restarts after `restart` steps, for any A. Iterations,
    also those of `maxiter`, are inner steps; M is applied from the right. ``restart=None`` is 20,
    the default of SciPy; `callback_type` is None, "legacy" or "pr_norm", which mean the same, as x
    is not known before a restart."""
    if callback_type not in (None, "legacy", "pr_norm"):
        raise ValueError(
            f"callback_type: {callback_type!r} is neither 'pr_norm' nor 'legacy'; x is not known "
            "before a restart"
        )
    method = f"gmres:{20 if restart is None else whole(restart, 'restart', 1, 10000)}"
    return _solve(method, A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def minres(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Minimal residuals, for symmetric A, also indefinite, and positive definite M."""
    return _solve("minres", A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def idr(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    s: int = 4,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """IDR(s) with `s` shadow vectors, 1 to 16, for any A. An iteration has s + 1 products."""
    method = f"idr:{whole(s, 's', 1, 16)}"
    return _solve(method, A, b, x0, rtol, atol, maxiter, M, callback, stream)


@_documented
def sqmr(
    A: Matrix,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Preconditioning = None,
    callback: Callable[[Any], Any] | None = None,
    stream: Any = None,
) -> tuple[Any, int]:
    """Symmetric quasi-minimal residuals, for symmetric A and M, both may be indefinite."""
    return _solve("sqmr", A, b, x0, rtol, atol, maxiter, M, callback, stream)
