"""Many small dense matrices at once: inverses, factors, solves, products, norms.

Arguments are arrays of shape ``(*batch, n, n)`` with n at most 128, of NumPy, CuPy, torch, JAX or
Warp; lists, which may be empty, of square matrices of various sizes; or, with ``sizes=``, a vector
that holds the matrices one after the other. float32 and float64 are computed as they are, integers
as float64. Results are arrays of the caller's kind on the caller's device.

On a GPU the functions return before their work is done, in the order of the current stream; those
for various sizes wait once, to sort the sizes. Where `stream` is given and is not the current one,
they wait for the current stream before, and for `stream` at the end. Failures are data: with
``return_info=True`` an int32 array, on the device, has 0 for each matrix that succeeded.

Batches are not broadcast: for one matrix and many right-hand sides these are columns. Tensors of
torch that require gradients are a RuntimeError; `tessera.torch` has `inv` and `solve` for them.
"""

from __future__ import annotations

from typing import Any

from ._arguments import flag
from ._arrays import view
from ._backend import core
from ._batches import Batch, require_apart, require_untracked, take_batch, take_out
from ._contexts import settle
from ._factors import (
    Factors,
    factored,
    info_array,
    pivoting_word,
    run_vectors,
    solve_systems,
    structure_word,
    turned,
)
from ._norms import SlogdetResult, cond, norm, slogdet

__all__ = [
    "Factors",
    "SlogdetResult",
    "cholesky",
    "cond",
    "inv",
    "ldlt",
    "lu",
    "matmul",
    "norm",
    "slogdet",
    "solve",
]


def inv(
    a: Any, *, out: Any = None, return_info: bool = False, sizes: Any = None, stream: Any = None
) -> Any:
    """Inverses, by Gauss-Jordan elimination with partial pivoting.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        Square matrices of at most 128 rows.
    out : array, optional
        For the results: contiguous, of the shape and type of the results; may be `a`.
    return_info : bool
        Also returns an int32 array of shape `batch`: 0, or k where the k-th pivot is zero or not
        finite. Such an inverse is NaN. A matrix that is singular but for rounding, such as one
        of two equal rows, may have pivots that are not zero and an inverse of large numbers:
        ``cond(a, reciprocal=True)`` is then below the epsilon of the type.
    sizes : sequence of int, optional
        Rows of each matrix in the vector `a`.
    stream : int or object with ``__cuda_stream__``, optional
        By default the current stream of the library that `a` belongs to.

    Returns
    -------
    x : array, or list of arrays
        With `return_info` the pair (x, info). Does not wait unless sizes vary.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> a = np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 0.0]]])
    >>> x, info = batched.inv(a, return_info=True)
    >>> info
    array([0, 2], dtype=int32)
    >>> np.diagonal(x[0])
    array([0.5 , 0.25])
    """
    batch = take_batch(a, sizes)
    if out is not None and batch.listed:
        raise TypeError("out: lists of matrices have lists of new arrays as results")
    if out is not None and batch.turned:
        turned_back = batch.kind.transposed(batch.found.array)
        batch = take_batch(batch.kind.converted(turned_back, batch.dtype))
    context = batch.context(stream)
    if out is None:
        x, pointer = batch.empty()
    else:
        target = take_out(out, batch, batch.found.shape, batch.dtype)
        require_apart(target, batch.found, in_place=True)
        x, pointer = out, target.pointer
    info, info_pointer = info_array(batch, return_info)
    core.invert(
        context, batch.core(), batch.dtype.itemsize, batch.found.pointer, pointer, info_pointer
    )
    if stream is not None:
        settle(context, batch.kind, stream)
    result = batch.matrices(x, context, batch.turned)
    return (result, batch.kind.finished(info, context)) if return_info else result


def lu(
    a: Any, pivoting: str = "partial", *, sizes: Any = None, stream: Any = None
) -> Factors:
    """Factors ``a[rows][:, columns] == L @ U``.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`. Copied unless columns are contiguous.
    pivoting : {"partial", "full", "static"}
        Rows are exchanged, rows and columns, or neither.
    sizes, stream
        See `inv`.

    Returns
    -------
    Factors
        Does not wait unless sizes vary.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> a = np.array([[[0.0, 2.0], [4.0, 1.0]]])
    >>> f = batched.lu(a)
    >>> f.rows
    array([[1, 0]], dtype=int32)
    >>> np.array_equal(a[0][f.rows[0]], f.L[0] @ f.U[0])
    True
    >>> f.solve(np.array([[2.0, 9.0]]))
    array([[2., 1.]])
    """
    word = pivoting_word(pivoting, ("partial", "full", "static"))
    return factored(turned(a, sizes), "ldu", word, stream, word != "static", word == "full")


def cholesky(
    a: Any,
    *,
    return_info: bool = False,
    return_factors: bool = False,
    sizes: Any = None,
    stream: Any = None,
) -> Any:
    """Lower triangular L with ``a == L @ L.T`` of symmetric positive definite matrices.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        Symmetric; the lower triangle is read. Copied unless columns are contiguous.
    return_info : bool
        Also returns an int32 array: k where the pivot in position k is not positive; such factors
        are meaningless.
    return_factors : bool
        Returns `Factors` instead, for solves; they have the info.
    sizes, stream
        See `inv`.

    Returns
    -------
    L : array, list, or vector
        Columns are contiguous. Does not wait unless sizes vary.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> batched.cholesky(np.array([[[4.0, 2.0], [2.0, 5.0]]]))
    array([[[2., 0.],
            [1., 2.]]])
    """
    return_info = flag(return_info, "return_info")
    return_factors = flag(return_factors, "return_factors")
    if return_factors and return_info:
        raise ValueError("return_info: the factors have it; leave it out")
    factors = factored(turned(a, sizes), "llt", "static", stream, False, False)
    if return_factors:
        return factors
    lower = factors._own_factor()  # Nobody else has it.
    return (lower, factors.info) if return_info else lower


def ldlt(a: Any, pivoting: str = "rook", *, sizes: Any = None, stream: Any = None) -> Factors:
    """Factors ``a[rows][:, rows] == L @ D @ L.T`` of symmetric matrices, also indefinite; D has
    1 x 1 and 2 x 2 blocks.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        Symmetric; the lower triangle is read. Copied unless columns are contiguous.
    pivoting : {"rook", "bunch_kaufman", "full", "static"}
        How pivots are searched for; static: not at all.
    sizes, stream
        See `inv`.

    Returns
    -------
    Factors
        Does not wait unless sizes vary.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> f = batched.ldlt(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    >>> f.solve(np.array([[3.0, 5.0]]))
    array([[5., 3.]])
    """
    word = pivoting_word(pivoting, ("rook", "bunch_kaufman", "full", "static"))
    return factored(turned(a, sizes), "ldlt", word, stream, True, False)


def solve(
    a: Any,
    b: Any,
    *,
    assume_a: str = "gen",
    out: Any = None,
    return_info: bool = False,
    sizes: Any = None,
    stream: Any = None,
) -> Any:
    """Solves a x = b by elimination. Unless ``assume_a="sym"``, matrices are factored and solved at
    once, without storing factors, on a GPU with up to four columns, on a CPU with up to 32 rows.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`.
    b : array of shape ``(*batch, n)`` or ``(*batch, n, k)``; list of vectors; vector
        Converted to the type of `a`. k columns are copied unless they are contiguous.
    assume_a : {"gen", "sym", "pos"}
        As in `scipy.linalg.solve`, also in its long words: "general": partial pivoting;
        "symmetric": LDL^T with rook pivoting; "positive definite": Cholesky, without pivoting.
        Of a matrix that is not general one triangle is read, as by SciPy the upper one; the
        lower one where columns, not rows, are contiguous.
    out : array, optional
        For the results: contiguous, of the shape of `b` and the type of the results; may be `b`.
    return_info : bool
        Also returns an int32 array: 0; or k where the k-th pivot is zero or not finite ("pos": or
        negative), and the solution is not finite; or n + 1 where all pivots are usable, but one
        is below ``n * eps * abs(a).max()``, eps that of the type: then the matrix is singular but
        for rounding, or badly scaled, and the solution may be wrong in all digits.
        ``cond(a, reciprocal=True)`` gives an estimate.
    sizes : sequence of int, optional
        Rows of each matrix in the vector `a`.
    stream : int or object with ``__cuda_stream__``, optional
        By default the current stream of the library that `a` belongs to.

    Returns
    -------
    x : array of the shape of `b`, or list
        With `return_info` the pair (x, info). Does not wait unless sizes vary.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.

    Notes
    -----
    The computed x solves (a + e) x = b exactly, with e below 3 n^2 eps g max |a_ij|; g, the growth
    of elements in the elimination, is 1 for "pos" (Higham, Accuracy and Stability of Numerical
    Algorithms, chapters 9 to 11). On a GPU, with more than 32 rows, times the condition number of
    triangles of eight rows of L, which is small.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> a = np.array([[[0.0, 2.0], [4.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]])
    >>> batched.solve(a, np.array([[2.0, 9.0], [3.0, 4.0]]))
    array([[2., 1.],
           [3., 2.]])
    >>> batched.solve(a[1], np.array([3.0, 4.0]), assume_a="pos", return_info=True)
    (array([3., 2.]), array(0, dtype=int32))
    """
    return_info = flag(return_info, "return_info")
    structure = structure_word(assume_a)
    x, info = solve_systems(take_batch(a, sizes), b, structure, return_info, out, stream)
    return (x, info) if return_info else x


def matmul(a: Any, x: Any, *, out: Any = None, sizes: Any = None, stream: Any = None) -> Any:
    """Products of each matrix with its vectors, or with a matrix.

    Parameters
    ----------
    a : array of shape ``(*batch, n, n)``, list of matrices, or vector with `sizes`
        See `inv`.
    x : array of shape ``(*batch, n)`` or ``(*batch, n, k)``; list of vectors; vector
        Converted to the type of `a`. Columns are copied unless k = n, or they are contiguous.
    out : array, optional
        For the results: contiguous, of the shape of `x` and the type of the results; it does not
        overlap an argument.
    sizes, stream
        See `inv`.

    Returns
    -------
    y : array of the shape of `x`, or list
        Does not wait unless sizes vary.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera import batched
    >>> batched.matmul(np.array([[[1.0, 2.0], [3.0, 4.0]]]), np.array([[1.0, 1.0]]))
    array([[3., 7.]])
    """
    batch = take_batch(a, sizes)
    size = batch.dtype.itemsize
    if not batch.ragged and not batch.turned and batch.n:
        found = view(x, "x")
        square = (*batch.shape, batch.n, batch.n)
        same = found.kind is batch.kind and found.device == batch.device
        if same and found.shape == square and found.contiguous and found.dtype == batch.dtype:
            # Row i of the product is x^T times row i of a: both are read as they are.
            require_untracked(found, "x")
            context = batch.context(stream)
            if out is None:
                y, pointer = batch.empty()
            else:
                target = take_out(out, batch, square, batch.dtype)
                require_apart(target, found, in_place=False)
                require_apart(target, batch.found, in_place=False)
                y, pointer = out, target.pointer
            core.multiply(
                context, batch.core(False), size, False, found.pointer, batch.n, 0,
                batch.found.pointer, pointer,
            )  # fmt: skip
            settle(context, batch.kind, stream)
            return batch.matrices(y, context)
    return run_vectors(
        batch, batch.found, x, "x", stream,
        lambda context, vectors, given, y: core.multiply(
            context, batch.core(not batch.turned), size, False, batch.found.pointer, vectors,
            batch.vector_offsets(), given, y,
        ),
        out, in_place=False,
    )  # fmt: skip
