"""Batches of small matrices as the functions of `tessera.batched` take them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._arrays import (
    FLOAT64,
    INT32,
    NUMPY,
    TORCH,
    Kind,
    View,
    about,
    kind_of,
    real_type,
    source_of,
    values,
    view,
)
from ._backend import core
from ._contexts import call_context

LARGEST = core.largest_batched_size
_MOST = 2**31 - 1


class Batch:
    """n x n matrices of one array, or matrices of various sizes one after the other.

    Attributes
    ----------
    kind, device, dtype
        Type of the values.
    shape : tuple of int
        Shape of the batch; for matrices of various sizes their number.
    n : int
        Rows of all; 0 where sizes vary.
    sizes, offsets : numpy.ndarray or None
        Rows of each, and where it begins (one more: the end).
    turned : bool
        Whether columns are contiguous.
    """

    sizes: Any = None
    offsets: Any = None
    turned = False
    listed = False
    _on_device: tuple[Any, ...] = ()

    def __init__(self, found: View, dtype: np.dtype[Any], shape: tuple[int, ...], n: int) -> None:
        self.found = found
        self.kind: Kind = found.kind
        self.device = found.device
        self.dtype = dtype
        self.shape = shape
        self.n = n
        self.count = math.prod(shape)
        if self.count > _MOST:
            raise ValueError(f"a: {self.count} matrices; at most 2^31 - 1")

    def __reduce__(self) -> Any:
        # Views hold addresses, which are wrong in a copy. Batches are parts of factors alone.
        raise TypeError("cannot pickle 'Factors' object")

    @property
    def ragged(self) -> bool:
        return self.sizes is not None

    def context(self, stream: Any) -> Any:
        """The batch of one call, once the sizes are on the device."""
        if self.ragged:
            self._arrays()
        return call_context(self.kind, self.device, stream)

    def core(self, row_major: bool = True) -> Any:
        """For the extension; `row_major`: how the memory is read."""
        if self.sizes is None:
            return core.Batch(self.count, self.n, 0, 0, row_major)
        sizes, offsets = self._arrays()[:2]
        return core.Batch(self.count, 0, sizes.pointer, offsets.pointer, row_major)

    def _arrays(self) -> tuple[Any, ...]:
        """Sizes, offsets of matrices and offsets of vectors in the memory of the values."""
        if not self._on_device:
            vectors = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
            with about("a"):
                self._on_device = tuple(
                    self.kind.view(self.kind.placed(array, self.device))
                    for array in (self.sizes, self.offsets, vectors)
                )
        return self._on_device

    def vector_offsets(self) -> int:
        return int(self._arrays()[2].pointer) if self.ragged else 0

    def vector_total(self) -> int:
        return int(self.sizes.sum()) if self.ragged else self.count * self.n

    def empty(self) -> tuple[Any, int]:
        """A new array for as many matrices, and its address."""
        array = self.kind.empty_like(self.found)
        return array, self.kind.address(array)

    def empty_each(self, dtype: np.dtype[Any]) -> tuple[Any, int]:
        """A new array with a number for each matrix, and its address."""
        return self._new(self.shape, dtype)

    def empty_vectors(self, dtype: np.dtype[Any]) -> tuple[Any, int]:
        """A new array with a number for each row, and its address."""
        return self._new((self.vector_total(),) if self.ragged else (*self.shape, self.n), dtype)

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, int]:
        array = self.kind.empty(shape, dtype, self.device)
        return array, self.kind.address(array)

    def matrices(self, array: Any, context: Any, turned: bool = False) -> Any:
        """An array of `empty` as results: `turned`, if columns are contiguous in it."""
        array = self.kind.finished(array, context)
        if not self.ragged:
            return self.kind.transposed(array) if turned else array
        if not self.listed:
            return self.turned_around(array) if turned else array
        return self.cut(array, turned)

    def cut(self, array: Any, turned: bool = False) -> list[Any]:
        """The matrices of a packed vector as a list."""
        parts = self._cut(array, self.offsets, lambda n: (n, n))
        return [self.kind.transposed(part) for part in parts] if turned else parts

    def turned_around(self, array: Any) -> Any:
        """A packed vector with rows and columns of each matrix exchanged."""
        n = np.repeat(self.sizes.astype(np.int64), np.diff(self.offsets))
        start = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        local = np.arange(n.size) - start
        positions = start + local % np.maximum(n, 1) * n + local // np.maximum(n, 1)
        with about("a"):
            return self.kind.reordered(array, positions, self.device)

    def vectors(self, array: Any, context: Any) -> Any:
        array = self.kind.finished(array, context)
        if not self.listed:
            return array
        return self._cut(array, np.concatenate([[0], np.cumsum(self.sizes)]), lambda n: (n,))

    def _cut(self, array: Any, offsets: Any, shape: Any) -> list[Any]:
        return [
            self.kind.reshaped(array[int(offsets[k]) : int(offsets[k + 1])], shape(int(n)))
            for k, n in enumerate(self.sizes)
        ]


def require_untracked(found: View, name: str) -> None:
    """RuntimeError for tensors whose gradients would be lost."""
    if found.kind is TORCH and TORCH.tracks(found.array):
        raise RuntimeError(f"{name}: it requires gradients; use tessera.torch, or detach()")


def _require_square(shape: tuple[int, ...], name: str) -> int:
    if len(shape) < 2:
        raise ValueError(f"{name}: expected the shape (*batch, n, n), got {shape}")
    if shape[-1] != shape[-2]:
        raise ValueError(f"{name}: the matrices are not square: {shape[-2:]}")
    if shape[-1] > LARGEST:
        raise ValueError(f"{name}: the matrices have {shape[-1]} rows; at most {LARGEST}")
    return int(shape[-1])


def _listed(a: list[Any] | tuple[Any, ...]) -> Batch:
    if not a:
        batch = _with_sizes(Batch(NUMPY.view(np.empty(0)), FLOAT64, (0,), 0), np.empty(0, INT32))
        batch.listed = True
        return batch
    views = [view(each, f"a[{k}]") for k, each in enumerate(a)]
    kind, dtype = views[0].kind, real_type(views[0].dtype, "a[0]")
    sizes = []
    for k, found in enumerate(views):
        if len(found.shape) != 2:
            raise ValueError(f"a[{k}]: expected a matrix, got the shape {found.shape}")
        sizes.append(_require_square(found.shape, f"a[{k}]"))
        require_untracked(found, f"a[{k}]")
        if found.kind is not kind or found.device != views[0].device:
            raise ValueError(f"a[{k}]: it is of another library or device than a[0]")
        if real_type(found.dtype, f"a[{k}]") != dtype:
            raise ValueError(f"a[{k}]: values of type {found.dtype}, those of a[0] are {dtype}")
    parts = [
        kind.reshaped(values(each, dtype, f"a[{k}]").array, (sizes[k] ** 2,))
        for k, each in enumerate(a)
    ]
    with about("a"):
        batch = Batch(kind.view(kind.joined(parts)), dtype, (len(sizes),), 0)
    batch.listed = True
    return _with_sizes(batch, np.array(sizes, INT32))


def _with_sizes(batch: Batch, sizes: Any) -> Batch:
    batch.sizes = sizes
    squares = sizes.astype(np.int64) ** 2
    batch.offsets = np.concatenate([[0], np.cumsum(squares)]).astype(np.int64)
    return batch


def _packed(a: Any, sizes: Any) -> Batch:
    given = np.asarray(sizes)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError("sizes: expected a vector of whole numbers")
    if given.size and (int(given.min()) < 0 or int(given.max()) > LARGEST):
        raise ValueError(f"sizes: they are between 0 and {LARGEST}")
    found = view(a, "a")
    require_untracked(found, "a")
    dtype = real_type(found.dtype, "a")
    batch = _with_sizes(Batch(values(a, dtype, "a"), dtype, given.shape, 0), given.astype(INT32))
    if found.shape != (int(batch.offsets[-1]),):
        raise ValueError(
            f"a: the shape {found.shape}; matrices of these sizes have {batch.offsets[-1]} values"
        )
    return batch


def take_batch(a: Any, sizes: Any = None) -> Batch:
    """The matrices in `a`; a copy only where neither rows nor columns are contiguous."""
    if sizes is not None:
        return _packed(a, sizes)
    if isinstance(a, (list, tuple)):
        if not a or not isinstance(a[0], (list, tuple, int, float)):
            return _listed(a)
    found = view(a, "a")
    if found.kind is TORCH:
        require_untracked(found, "a")
    n = _require_square(found.shape, "a")
    dtype = real_type(found.dtype, "a")
    turned = False
    if found.dtype != dtype:
        found = values(a, dtype, "a")
    elif not found.contiguous:
        with about("a"):
            other = found.kind.view(found.kind.transposed(source_of(a, found)))
        turned = other.contiguous
        found = other if turned else values(a, dtype, "a")
    batch = Batch(found, dtype, found.shape[:-2], n)
    batch.turned = turned
    return batch


def take_out(out: Any, batch: Batch, shape: tuple[int, ...], dtype: np.dtype[Any]) -> View:
    """The caller's array for results; errors name `out`."""
    kind = kind_of(out, "out")
    if kind is not batch.kind or isinstance(out, (list, tuple)):
        raise TypeError(f"out: expected an array of {batch.kind.name}, got {type(out).__name__}")
    if kind.name == "JAX":
        raise TypeError("out: arrays of JAX are immutable")
    found = kind.view(out)
    if found.shape != shape:
        raise ValueError(f"out: the shape {found.shape} is not {shape}")
    if found.dtype != dtype:
        raise ValueError(f"out: values of type {found.dtype}, the results are {dtype}")
    if found.device != batch.device:
        raise ValueError("out: it is on another device than a")
    if not found.contiguous:
        raise ValueError("out: it is not contiguous")
    if kind.address(out) != found.pointer:
        raise ValueError("out: its values have another order of bytes, or another sign, in memory")
    if kind.name == "NumPy" and not out.flags.writeable:
        raise ValueError("out: it is read-only")
    return found


def require_apart(out: View, other: View, in_place: bool) -> None:
    """ValueError where `out` overlaps an argument and is not the same array."""
    if out.device != other.device or (in_place and out.pointer == other.pointer):
        return
    size = math.prod(out.shape) * out.dtype.itemsize
    length = math.prod(other.shape) * other.dtype.itemsize
    if size and length:
        if out.pointer < other.pointer + length and other.pointer < out.pointer + size:
            raise ValueError("out: it overlaps an argument")
