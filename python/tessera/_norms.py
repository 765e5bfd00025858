"""Numbers of each matrix of a batch: norms, condition numbers and determinants."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ._arguments import flag
from ._arrays import INT32, about
from ._backend import core
from ._batches import Batch, take_batch
from ._contexts import in_order, settle
from ._factors import info_array

__all__ = ["SlogdetResult", "cond", "norm", "slogdet"]


class SlogdetResult(NamedTuple):
    """Signs (1, -1 or 0) and logarithms of the absolute values of determinants."""

    sign: Any
    logabsdet: Any


def _norms(batch: Batch, stream: Any, flipped: bool, run: Any) -> tuple[Any, Any]:
    context = batch.context(stream)
    numbers, pointer = batch.empty_each(batch.dtype)
    run(context, batch.core(batch.turned == flipped), pointer)
    settle(context, batch.kind, stream)
    return batch.kind.finished(numbers, context), context


def _is_one_norm(given: Any, name: str, function: str) -> bool:
    """Whether this is the one norm rather than the infinity norm."""
    if isinstance(given, Real) and not isinstance(given, bool) and given in (1, np.inf):
        return bool(given == 1)
    raise ValueError(
        f"{name}: {given!r} is not supported, only 1 and inf are; linalg.{function} of NumPy, CuPy "
        "and torch has others"
    )


def norm(a: Any, ord: Any = np.inf, *, sizes: Any = None, stream: Any = None) -> Any:
    """Norms: ``ord=inf`` the largest sum of a row of absolute values, ``ord=1`` of a column.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`.
    ord : {inf, 1}
        Which norm; the default of NumPy, the Frobenius norm, is not available.
    sizes, stream
        See `inv`.

    Returns
    -------
    array of shape `batch`
        NaN where an element is NaN. Does not wait unless sizes vary.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit, also for other norms; the message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> batched.norm(np.array([[[1.0, -2.0], [0.0, 4.0]]], float))
    array([4.])
    >>> batched.norm(np.array([[[1.0, -2.0], [0.0, 4.0]]], float), 1)
    array([6.])
    """
    one = _is_one_norm(ord, "ord", "norm")
    batch = take_batch(a, sizes)
    return _norms(
        batch, stream, False,
        lambda at, view, to: core.norm(
            at, view, batch.dtype.itemsize, one, batch.found.pointer, to
        ),
    )[0]  # fmt: skip


def cond(
    a: Any,
    p: Any = np.inf,
    *,
    reciprocal: bool = False,
    return_info: bool = False,
    sizes: Any = None,
    stream: Any = None,
) -> Any:
    """Condition numbers ``norm(a, p) * norm(inv(a), p)`` for p = inf or 1.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`.
    p : {inf, 1}
        Which norm; the default of NumPy, the 2-norm, is not available.
    reciprocal : bool
        Returns their reciprocals, which are 0 for singular matrices.
    return_info : bool
        Also returns the info of `inv`.
    sizes, stream
        See `inv`.

    Returns
    -------
    array of shape `batch`
        inf for singular matrices, and where an element is not finite. Does not wait unless sizes
        vary.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit, also for other norms; the message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> batched.cond(np.array([[[1.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]]))
    array([ 4., inf])
    """
    one = _is_one_norm(p, "p", "cond")
    reciprocal = flag(reciprocal, "reciprocal")
    batch = take_batch(a, sizes)
    info: Any = None
    if not reciprocal:
        with about("a"):
            batch.kind.module()  # Which divides.

    def run(at: Any, described: Any, to: int) -> None:
        nonlocal info
        info, pointer = info_array(batch, return_info)
        core.condition(at, described, batch.dtype.itemsize, batch.found.pointer, to, pointer)

    # The one norm is the infinity norm of the transpose.
    result, context = _norms(batch, stream, one, run)
    if not reciprocal:
        with in_order(context, batch.kind), np.errstate(divide="ignore"):
            result = 1 / result
    return (result, batch.kind.finished(info, context)) if return_info else result


def slogdet(a: Any, *, sizes: Any = None, stream: Any = None) -> SlogdetResult:
    """Signs and logarithms of the absolute values of determinants.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`.
    sizes, stream
        See `inv`.

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet`` of shape `batch` and the type of the values; 0 and -inf for
        singular matrices, 0 and NaN for those with NaN, unless a column of NaN and zeros makes
        them singular first. Where rounding leaves a singular matrix a small pivot, its determinant
        is that rounding error, of either sign: see `cond`. Does not wait unless sizes vary.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> sign, logarithm = batched.slogdet(np.array([[[0.0, 2.0], [4.0, 1.0]]]))
    >>> sign * np.exp(logarithm).round(12)
    array([-8.])
    """
    batch = take_batch(a, sizes)
    context = batch.context(stream)
    f, f_pointer = batch.empty()
    rows, order = batch.empty_vectors(INT32)
    sign, sign_pointer = batch.empty_each(INT32)
    logarithm, log_pointer = batch.empty_each(batch.dtype)
    core.factor(
        context, batch.core(), batch.dtype.itemsize, "ldu", "partial", batch.found.pointer,
        f_pointer, core.Permutations(order, 0, batch.vector_offsets()), 0, 0,
        log_pointer, sign_pointer,
    )  # fmt: skip
    kind = batch.kind
    with about("a"), in_order(context, kind):
        signs = kind.converted(kind.finished(sign, context), batch.dtype)
    return SlogdetResult(kind.finished(signs, context), kind.finished(logarithm, context))
