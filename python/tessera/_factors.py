"""Factors of batches of matrices, and operations on vectors of each matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import flag
from ._arrays import HOST, INT32, View, source_of, turned_values, values, view
from ._backend import core
from ._batches import Batch, require_apart, require_untracked, take_batch, take_out
from ._contexts import in_order, settle

__all__ = ["Factors"]


def info_array(batch: Batch, wanted: bool) -> tuple[Any, int]:
    """An array of `return_info`, and its address, if it is wanted."""
    if wanted is False or not flag(wanted, "return_info"):
        return None, 0
    return batch.empty_each(INT32)


def right_sides(b: Any, batch: Batch, name: str) -> tuple[View, int, bool]:
    """Vectors of each matrix one after the other, their number, and whether each is a matrix."""
    kind = batch.kind
    if batch.listed:
        if not isinstance(b, (list, tuple)) or len(b) != batch.count:
            raise ValueError(f"{name}: expected a list of {batch.count} vectors, as a is a list")
        parts = []
        for k, each in enumerate(b):
            found = values(each, batch.dtype, f"{name}[{k}]")
            if found.shape != (int(batch.sizes[k]),):
                raise ValueError(f"{name}[{k}]: the shape {found.shape} is not ({batch.sizes[k]},)")
            if found.kind is not kind or found.device != batch.device:
                raise ValueError(f"{name}[{k}]: it is of another library or device than a")
            require_untracked(found, f"{name}[{k}]")
            parts.append(found.array)
        joined = kind.joined(parts) if parts else kind.empty((0,), batch.dtype, batch.device)
        return kind.view(joined), 1, False
    found = view(b, name)
    if found.kind is not kind or found.device != batch.device:
        raise ValueError(f"{name}: it is of another library or device than a")
    require_untracked(found, name)
    wanted = (batch.vector_total(),) if batch.ragged else (*batch.shape, batch.n)
    if found.shape == wanted:
        return values(b, batch.dtype, name), 1, False
    if not batch.ragged and len(found.shape) == len(wanted) + 1 and found.shape[:-1] == wanted:
        return turned_values(b, batch.dtype, name), found.shape[-1], True
    raise ValueError(
        f"{name}: the shape {found.shape} is neither {wanted}"
        + ("" if batch.ragged else f" nor {wanted} and a number of columns")
    )


def run_vectors(
    batch: Batch,
    matrices: View,
    b: Any,
    name: str,
    stream: Any,
    run: Any,
    out: Any = None,
    in_place: bool = True,
) -> Any:
    """run(context, vectors, pointer of b, pointer of x) on right-hand sides, which reads
    `matrices`; x in the form of b, or in `out`, which may be b if `in_place`."""
    found, vectors, columns = right_sides(b, batch, name)
    context = batch.context(stream)  # After conversions, for which it waits.
    kind = batch.kind
    if out is not None and batch.listed:
        raise TypeError("out: lists of matrices have lists of new arrays as results")
    if not columns:
        if out is None:
            x, to = batch.empty_vectors(batch.dtype)
        else:
            target = take_out(out, batch, found.shape, batch.dtype)
            require_apart(target, found, in_place)
            require_apart(target, matrices, in_place=False)
            x, to = out, target.pointer
        run(context, 1, found.pointer, to)
        settle(context, kind, stream)
        return batch.vectors(x, context)
    if out is not None:
        take_out(out, batch, (*batch.shape, batch.n, vectors), batch.dtype)
    x = kind.empty((*batch.shape, vectors, batch.n), batch.dtype, batch.device)
    if batch.count:
        run(context, vectors, found.pointer, kind.address(x))
    settle(context, kind, stream)
    if out is None:
        return kind.transposed(kind.finished(x, context))
    with in_order(context, kind):
        kind.assign(out, kind.transposed(x))
    return out


def _read_only(arrays: Any) -> Any:
    """Views of arrays of NumPy, or a list of them, that cannot be written."""
    if isinstance(arrays, list):
        return [_read_only(each) for each in arrays]
    if isinstance(arrays, np.ndarray):
        arrays = arrays.view()
        arrays.flags.writeable = False
    return arrays


class Factors:
    """Factors of a batch, made by `lu`, `cholesky` with ``return_factors`` and `ldlt`.

    Attributes
    ----------
    kind : {"ldu", "llt", "ldlt"}
    factor : array of shape ``(*batch, n, n)``, or list
        L strictly below the diagonal, of which ``L`` has ones; D on the diagonal; of ldu U strictly
        above it; of ldlt the off-diagonal element of a 2 x 2 pivot just above it. llt: L alone.
    rows, columns : array of shape ``(*batch, n)``, list or None
        ``a[rows[s], columns[t]]`` is in position (s, t); None: not exchanged. ldlt and llt exchange
        rows and columns alike.
    info : array of shape `batch`
        0, or k: the pivot in position k (from 1) is the first that is zero (llt: not positive) or
        not finite.

    Notes
    -----
    `factor`, `rows` and `columns` are the memory that `solve` reads. Arrays of NumPy are read-only;
    those of CuPy, torch and Warp must not be changed: copy them first.
    ``copy.copy`` shares the factors; ``copy.deepcopy`` and pickling are a TypeError.
    """

    def __init__(
        self, kind: str, batch: Batch, f: Any, rows: Any, columns: Any, info: Any, context: Any
    ) -> None:
        self.kind = kind
        self._batch = batch
        finished = batch.kind.finished(f, context)
        # JAX may lack float64: the factors are then kept as they were computed.
        self._f = finished if batch.kind.view(finished).dtype == batch.dtype else f
        self._rows = rows if rows is None else batch.kind.finished(rows, context)
        self._columns = columns if columns is None else batch.kind.finished(columns, context)
        self.info = batch.kind.finished(info, context)

    def _own_factor(self) -> Any:
        return self._batch.matrices(self._f, None, True)

    @property
    def factor(self) -> Any:
        return _read_only(self._own_factor())

    @property
    def rows(self) -> Any:
        return None if self._rows is None else _read_only(self._batch.vectors(self._rows, None))

    @property
    def columns(self) -> Any:
        if self._columns is None:
            return None
        return _read_only(self._batch.vectors(self._columns, None))

    def _each(self, f: Any) -> Any:
        batch, kind, factor = self._batch, self._batch.kind, self._own_factor()
        if batch.listed:
            return [f(each) for each in factor]
        if not batch.ragged:
            return f(factor)
        parts = [kind.reshaped(f(a), (a.shape[0] ** 2,)) for a in batch.cut(factor)]
        return kind.joined(parts) if parts else factor

    def _lower(self, f: Any) -> Any:
        kind, module = self._batch.kind, self._batch.kind.module()
        if self.kind == "llt":
            return module.tril(f)
        return module.tril(f, -1) + kind.eye(f.shape[-1], f)

    @property
    def L(self) -> Any:
        """The lower triangular factors; with ones on the diagonal but of llt."""
        return self._each(self._lower)

    @property
    def U(self) -> Any:
        """For ldu D U, so that ``a[rows][:, columns] == L @ U``; of the others the transpose of
        L."""
        kind, module = self._batch.kind, self._batch.kind.module()
        if self.kind != "ldu":
            return self._each(lambda f: kind.transposed(self._lower(f)))

        def upper(f: Any) -> Any:
            d = module.diagonal(f, 0, -2, -1)
            unit = module.triu(f, 1) + kind.eye(f.shape[-1], f)
            return d[..., :, None] * unit

        return self._each(upper)

    @property
    def D(self) -> Any:
        """For ldlt the block diagonal matrices: ``a[rows][:, rows] == L @ D @ L.T``."""
        if self.kind != "ldlt":
            raise AttributeError("only the factors of ldlt have D")
        kind, module = self._batch.kind, self._batch.kind.module()

        def middle(f: Any) -> Any:
            identity = kind.eye(f.shape[-1], f)
            above = module.triu(f, 1)
            return f * identity + above + kind.transposed(above)

        return self._each(middle)

    def _permutations(self) -> Any:
        kind = self._batch.kind
        rows = 0 if self._rows is None else kind.view(self._rows).pointer
        columns = 0 if self._columns is None else kind.view(self._columns).pointer
        return core.Permutations(rows, columns, self._batch.vector_offsets())

    def solve(
        self, b: Any, *, transposed: bool = False, out: Any = None, stream: Any = None
    ) -> Any:
        """Solves a x = b, or the same with the transpose of a, with the factors.

        Parameters
        ----------
        b : array of shape ``(*batch, n)`` or ``(*batch, n, k)``; list of vectors; vector
            Converted to the type of the factors. k columns are copied unless they are contiguous.
        transposed : bool
            Whether the transpose of a is meant.
        out : array, optional
            For the results, as in `tessera.batched.solve`; may be `b`.
        stream : int or object with ``__cuda_stream__``, optional
            By default the current stream of the library that the matrices belong to.

        Returns
        -------
        x : array of the shape of `b`, or list
            Does not wait unless sizes vary.
        """
        transposed = flag(transposed, "transposed")
        batch = self._batch
        f = batch.kind.view(self._f)
        return run_vectors(
            batch, f, b, "b", stream,
            lambda context, vectors, given, x: core.solve_factored(
                context, batch.core(), batch.dtype.itemsize, self.kind, transposed, f.pointer,
                self._permutations(), vectors, batch.vector_offsets(), given, x,
            ),
            out,
        )  # fmt: skip

    def inv(self, *, stream: Any = None) -> Any:
        """The inverses, from the factors; exactly symmetric for llt and ldlt.

        Parameters
        ----------
        stream : int or object with ``__cuda_stream__``, optional
            By default the current stream of the library that the matrices belong to.

        Returns
        -------
        x : array of shape ``(*batch, n, n)``, or list
            Does not wait unless sizes vary.
        """
        batch = self._batch
        context = batch.context(stream)
        x, pointer = batch.empty()
        core.inverse_from_factors(
            context, batch.core(), batch.dtype.itemsize, self.kind,
            batch.kind.view(self._f).pointer, self._permutations(), pointer,
        )  # fmt: skip
        settle(context, batch.kind, stream)
        return batch.matrices(x, context, True)

    def __repr__(self) -> str:
        return f"<Factors {self.kind} of {self._batch.count} matrices, {self._batch.dtype}>"


def turned(a: Any, sizes: Any) -> Batch:
    """The matrices with contiguous columns: a copy unless they are so already."""
    batch = take_batch(a, sizes)
    if batch.turned:
        return batch
    kind = batch.kind
    if batch.ragged:
        batch.found = kind.view(batch.turned_around(batch.found.array))
    else:
        batch.found = turned_values(source_of(a, batch.found), batch.dtype, "a")
    batch.turned = True
    return batch


_STRUCTURES = {
    "gen": "general",
    "sym": "symmetric",
    "pos": "positive definite",
}
_FUSED = 32  # Rows up to which the library factors and solves at once on a CPU,
_FUSED_COLUMNS = 4  # and right-hand sides up to which it does so on a GPU.


def structure_word(assume_a: Any) -> str:
    for short, word in _STRUCTURES.items():
        if assume_a in (short, word):
            return word.replace(" ", "_")
    words = ", ".join(repr(short) for short in _STRUCTURES)
    raise ValueError(f"assume_a: {assume_a!r} is none of {words}")


def solve_systems(
    batch: Batch, b: Any, structure: str, return_info: bool, out: Any, stream: Any
) -> tuple[Any, Any]:
    """x and info, or None: at once where the library can, else by factors."""
    largest = int(batch.sizes.max(initial=0)) if batch.ragged else batch.n
    shape: tuple[int, ...] = () if batch.ragged else view(b, "b").shape
    many = len(shape) > len(batch.shape) + 1 and shape[-1] > _FUSED_COLUMNS
    at_once = largest <= _FUSED if batch.device == HOST else not many
    if structure != "symmetric" and at_once:
        info, pointer = info_array(batch, return_info)
        x = run_vectors(
            batch, batch.found, b, "b", stream,
            lambda context, vectors, given, to: core.solve_systems(
                context, batch.core(not batch.turned), batch.dtype.itemsize, structure,
                batch.found.pointer, vectors, batch.vector_offsets(), given, to, pointer,
            ),
            out,
        )  # fmt: skip
        return x, info if info is None else batch.kind.finished(info, batch.context(stream))
    kind, pivoting = {
        "general": ("ldu", "partial"), "symmetric": ("ldlt", "rook"),
        "positive_definite": ("llt", "static"),
    }[structure]  # fmt: skip
    factors = factored(
        batch, kind, pivoting, stream, kind != "llt", False, structure if return_info else ""
    )
    # Rows that are contiguous were factored as the columns of the transpose.
    x = factors.solve(b, transposed=not batch.turned, out=out, stream=stream)
    return x, factors.info if return_info else None


def factored(
    batch: Batch,
    kind: str,
    pivoting: str,
    stream: Any,
    rows: bool,
    columns: bool,
    structure: str = "",
) -> Factors:
    """The factors; with `structure` their info has n + 1 for matrices that are nearly singular."""
    context = batch.context(stream)
    f, pointer = batch.empty()
    first, row_order = batch.empty_vectors(INT32) if rows else (None, 0)
    second, column_order = batch.empty_vectors(INT32) if columns else (None, 0)
    info, info_pointer = batch.empty_each(INT32)
    _smallest, smallest_pointer = batch.empty_each(batch.dtype) if structure else (None, 0)
    order = core.Permutations(row_order, column_order, batch.vector_offsets() if rows else 0)
    core.factor(
        context, batch.core(), batch.dtype.itemsize, kind, pivoting, batch.found.pointer,
        pointer, order, info_pointer, 0, 0, 0, smallest_pointer,
    )  # fmt: skip
    if structure and batch.count:
        core.mark_near_singular(
            context, batch.core(), batch.dtype.itemsize, structure, batch.found.pointer,
            smallest_pointer, info_pointer,
        )  # fmt: skip
    settle(context, batch.kind, stream)
    return Factors(kind, batch, f, first, second, info, context)


def pivoting_word(word: Any, choices: tuple[str, ...]) -> str:
    if word not in choices:
        raise ValueError(f"pivoting: {word!r} is none of {', '.join(choices)}")
    return str(word)
