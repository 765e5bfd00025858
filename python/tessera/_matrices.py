"""Sparse matrices of SciPy, CuPy, torch and Warp, and plain arrays, as matrices of the library."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np

from ._arrays import HOST, NUMPY, Kind, View, real_type, values, view
from ._backend import core
from ._contexts import place_text
from ._errors import raise_named


class Parts(NamedTuple):
    """The arrays of a matrix, as they were given."""

    layout: str  # csr, bsr or coo
    shape: tuple[int, int]
    block: int
    first: View  # row offsets, of coo the rows
    indices: View
    data: Any
    dtype: np.dtype[Any]  # of the library: float32 or float64
    device: int
    kind: Kind
    data_shape: tuple[int, ...]
    converted: str = ""  # The format that it was given in, where that has another order of values


def is_matrix(a: Any) -> bool:
    """Whether this is one of the matrices that `take_apart` knows."""
    if isinstance(a, tuple):
        return True
    if hasattr(a, "tocsr") or hasattr(a, "crow_indices") or _is_warp(a):
        return True
    return getattr(a, "ndim", 0) == 2 and not hasattr(a, "matvec")


def _is_warp(a: Any) -> bool:
    """A warp.sparse.BsrMatrix, which is a struct of Warp."""
    return all(hasattr(a, name) for name in ("nrow", "ncol", "offsets", "columns", "values"))


def _is_sparse(a: Any) -> bool:
    """A matrix of SciPy, CuPy or torch, or a tuple, and no array of values."""
    if hasattr(a, "crow_indices"):
        return str(a.layout) != "torch.strided"
    return isinstance(a, tuple) or hasattr(a, "tocsr") or _is_warp(a)


def _index_view(array: Any, name: str) -> View:
    found = view(array, name)
    if found.dtype.kind not in "iu" or found.dtype.itemsize not in (4, 8):
        if found.dtype.kind in "iu" and found.kind is NUMPY:
            return NUMPY.view(np.ascontiguousarray(found.array, np.int64))
        raise TypeError(f"{name}: expected 32- or 64-bit integers, got {found.dtype}")
    if len(found.shape) != 1:
        raise ValueError(f"{name}: expected one dimension, got the shape {found.shape}")
    if not found.contiguous:
        found = found.kind.view(found.kind.converted(array, found.dtype))
    return found


def _csr(
    shape: tuple[int, int] | None, indptr: Any, indices: Any, data: Any, name: str
) -> Parts:
    """CSR, or BSR with data of three dimensions; without a shape it is square."""
    offsets = _index_view(indptr, f"{name}: indptr")
    columns = _index_view(indices, f"{name}: indices")
    found = view(data, f"{name}: data")
    dtype = real_type(found.dtype, f"{name}: data")
    if len({offsets.device, columns.device, found.device}) != 1:
        raise ValueError(f"{name}: indptr, indices and data are on different devices")
    if offsets.shape[0] < 1:
        raise ValueError(f"{name}: indptr is empty; it has a number for each row and one more")
    block = 1
    if len(found.shape) == 3:
        block = found.shape[1]
        if found.shape[2] != block:
            raise ValueError(f"{name}: the blocks of data are not square: {found.shape[1:]}")
        if block < 1:
            raise ValueError(f"{name}: the blocks of data are empty")
        if shape is not None and (shape[0] % block or shape[1] % block):
            raise ValueError(f"{name}: blocks of {block} rows do not divide the shape {shape}")
    elif len(found.shape) != 1:
        raise ValueError(f"{name}: data has {len(found.shape)} dimensions; expected 1 or 3")
    if shape is None:
        shape = (block * (offsets.shape[0] - 1),) * 2
    if columns.shape[0] != found.shape[0]:
        raise ValueError(
            f"{name}: indices and data have {columns.shape[0]} and {found.shape[0]} entries"
        )
    if offsets.shape[0] * block != shape[0] + block:
        raise ValueError(
            f"{name}: indptr has {offsets.shape[0]} numbers; {shape[0]} rows need "
            f"{shape[0] // block + 1}"
        )
    return Parts(
        "csr" if block == 1 else "bsr",
        shape,
        block,
        offsets,
        columns,
        data,
        dtype,
        found.device,
        found.kind,
        found.shape,
    )


def _coo(shape: tuple[int, int], rows: Any, columns: Any, data: Any, name: str) -> Parts:
    first, second = _index_view(rows, f"{name}: row"), _index_view(columns, f"{name}: col")
    if first.dtype.itemsize != second.dtype.itemsize:
        second = _index_view(second.kind.converted(columns, first.dtype), f"{name}: col")
    found = view(data, f"{name}: data")
    dtype = real_type(found.dtype, f"{name}: data")
    if not (first.shape == second.shape == found.shape):
        raise ValueError(f"{name}: row, col and data have different lengths")
    if len({first.device, second.device, found.device}) != 1:
        raise ValueError(f"{name}: row, col and data are on different devices")
    return Parts("coo", shape, 1, first, second, data, dtype, found.device, found.kind, found.shape)


def _torch(a: Any, name: str) -> Parts:
    if len(a.shape) != 2:
        raise ValueError(f"{name}: expected two dimensions, got the shape {tuple(a.shape)}")
    shape = (int(a.shape[0]), int(a.shape[1]))
    layout = str(a.layout)
    converted = ""
    if layout == "torch.sparse_coo":
        converted = "" if a.is_coalesced() else "tensor that is not coalesced"
        a = a.coalesce()
        indices = a.indices()
        parts = _coo(shape, indices[0], indices[1], a.values(), name)
        return parts._replace(converted=converted)
    if layout not in ("torch.sparse_csr", "torch.sparse_bsr"):
        try:
            a, converted = a.to_sparse_csr(), layout
        except RuntimeError:
            raise TypeError(f"{name}: the layout {layout} is not supported") from None
    data = a.values()
    if data.ndim == 3 and data.shape[1] != data.shape[2]:
        raise ValueError(f"{name}: the blocks are not square: {tuple(data.shape[1:])}")
    parts = _csr(shape, a.crow_indices(), a.col_indices(), data, name)
    return parts._replace(converted=converted)


def _warp(a: Any, name: str) -> Parts:
    height, width = a.block_shape
    if height != width:
        raise ValueError(f"{name}: the blocks are not square: {(height, width)}")
    nonzeros = int(a.nnz_sync()) if hasattr(a, "nnz_sync") else int(a.nnz)
    shape = (int(a.nrow) * height, int(a.ncol) * width)
    return _csr(shape, a.offsets, a.columns[:nonzeros], a.values[:nonzeros], name)


def _dense_array(a: Any, name: str) -> Any:
    """A dense matrix as an array of NumPy."""
    found = view(a, name)
    if found.kind is not NUMPY:
        raise TypeError(
            f"{name}: a dense {type(a).__name__} is no sparse matrix; convert it to CSR"
        )
    if len(found.shape) != 2:
        raise ValueError(f"{name}: expected two dimensions, got the shape {found.shape}")
    return found.array


def _dense(a: Any, name: str) -> Parts:
    array = _dense_array(a, name)
    dtype = real_type(array.dtype, name)
    rows, columns = np.nonzero(array)
    offsets = np.zeros(array.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=array.shape[0]), out=offsets[1:])
    data = np.ascontiguousarray(array[rows, columns], dtype)
    parts = _csr(array.shape, offsets, columns.astype(np.int64), data, name)
    return parts._replace(converted="dense array")


def take_apart(a: Any, name: str = "A") -> Parts:
    """The arrays of a matrix; formats that the library lacks are converted by their own library."""
    if isinstance(a, tuple):
        if len(a) != 3:
            raise ValueError(f"{name}: expected (indptr, indices, data), got {len(a)} items")
        return _csr(None, *a, name)
    if _is_warp(a):
        return _warp(a, name)
    if hasattr(a, "crow_indices") and hasattr(a, "layout"):
        if not str(a.layout).startswith("torch.sparse"):
            raise TypeError(f"{name}: a dense tensor is no sparse matrix; call its to_sparse_csr()")
        return _torch(a, name)
    if hasattr(a, "tocsr"):
        return _scipy(a, name)
    if isinstance(a, list) or (hasattr(a, "ndim") and not hasattr(a, "matvec")):
        return _dense(a, name)
    raise TypeError(f"{name}: expected a sparse matrix, got {type(a).__name__}")


def _scipy(a: Any, name: str) -> Parts:
    """Matrices and arrays of scipy.sparse and cupyx.scipy.sparse."""
    if len(a.shape) != 2:
        raise ValueError(f"{name}: expected two dimensions, got the shape {a.shape}")
    if a.dtype.kind == "c":
        raise TypeError(f"{name}: complex values are not supported")
    shape = (int(a.shape[0]), int(a.shape[1]))
    layout = a.format
    if layout == "coo" and hasattr(a, "row"):  # As that of the package sparse has not.
        return _coo(shape, a.row, a.col, a.data, name)
    if layout == "bsr":
        height, width = a.blocksize
        if height == width > 1:
            return _csr(shape, a.indptr, a.indices, a.data, name)
    converted = "" if layout == "csr" else f"{layout} matrix"
    if converted:
        if layout in ("csc", "bsr") and hasattr(a, "check_format"):
            try:
                a.check_format(full_check=True)  # tocsr would read and write anywhere.
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        a = a.tocsr()
    return _csr(shape, a.indptr, a.indices, a.data, name)._replace(converted=converted)


def build(parts: Parts, context: Any, dtype: np.dtype[Any], name: str = "A") -> Any:
    """The matrix in the memory of `context`. What needs no conversion is borrowed."""
    data = values(parts.data, dtype, f"{name}: data")
    arrays = owners(parts, data)
    rows, columns = parts.shape
    if max(rows, columns) >= 2**31:
        raise ValueError(f"{name}: more than 2^31 - 1 rows or columns")
    on_host = parts.device == HOST
    first, indices = parts.first, parts.indices
    size = dtype.itemsize
    try:
        if parts.layout == "coo":
            return core.coo(
                context, size, on_host, rows, columns, indices.shape[0], indices.dtype.itemsize,
                first.pointer, indices.pointer, data.pointer, arrays,
            )  # fmt: skip
        if parts.layout == "bsr":
            block = parts.block
            return core.bsr(
                context, size, on_host, rows // block, columns // block, block, indices.shape[0],
                first.pointer, first.dtype.itemsize, indices.pointer, indices.dtype.itemsize,
                data.pointer, arrays,
            )  # fmt: skip
        return core.csr(
            context, size, on_host, rows, columns, indices.shape[0], first.pointer,
            first.dtype.itemsize, indices.pointer, indices.dtype.itemsize, data.pointer, arrays,
        )  # fmt: skip
    except ValueError as error:
        raise_named(error, name)


def without_values(parts: Parts, matrix: Any) -> Parts:
    """The parts for later updates of the `matrix` of the core; they do not own the first values."""
    if parts.layout != "coo" and parts.indices.kind is NUMPY and matrix.was_unsorted:
        # SciPy sorts them in place, in spsolve for example; values came in the order they have now.
        return parts._replace(data=None, indices=NUMPY.view(parts.indices.array.copy()))
    return parts._replace(data=None)


def _on_host(found: View) -> Any:
    """What a view of the host shows, as an array of NumPy."""
    size = math.prod(found.shape) * found.dtype.itemsize
    return np.frombuffer(
        memoryview((ctypes.c_char * size).from_address(found.pointer)), found.dtype
    )


def _same_indices(one: View, other: View) -> bool:
    """Whether both hold the same indices; of two libraries on a GPU only the shapes are seen."""
    if one.shape != other.shape or one.device != other.device:
        return False
    if one.pointer == other.pointer or math.prod(one.shape) == 0:
        return True
    if one.device == HOST:
        return bool(np.array_equal(_on_host(one), _on_host(other)))
    if one.kind is not other.kind or one.kind.name not in ("CuPy", "torch", "JAX"):
        return True
    return bool((one.array == other.array).all())


def _stored_values(parts: Parts, dense: Any, name: str) -> Any:
    """The entries of a dense array at the positions of `parts`; None if another one is not zero."""
    array = _dense_array(dense, name)
    if array.shape != parts.shape:
        raise ValueError(f"{name}: the shape {array.shape} is not that of A, {parts.shape}")
    rows = np.repeat(np.arange(parts.shape[0]), np.diff(parts.first.array))
    found = array[rows, parts.indices.array]
    return found if np.count_nonzero(array) == np.count_nonzero(found) else None


class OtherPattern(NamedTuple):
    """A matrix with another pattern than that of a setup, and how it differs."""

    parts: Parts
    change: str

    def error(self, name: str) -> ValueError:
        return ValueError(
            f"{name}: {self.change}; an update on the same pattern needs the same entries"
        )


def _other_pattern(parts: Parts, other: Parts, name: str) -> str:
    """How the pattern of a matrix differs from `parts`; "" if it does not."""
    if other.shape != parts.shape:
        raise ValueError(f"{name}: the shape {other.shape} is not that of the setup, {parts.shape}")
    if (other.layout, other.block) != (parts.layout, parts.block):
        return f"the matrix is in {_format_of(other)}, that of the setup in {_format_of(parts)}"
    one, two = other.indices.shape[0], parts.indices.shape[0]
    if one != two:
        return f"the matrix has {one} {'entries' if other.block == 1 else 'blocks'}, not {two}"
    if _same_indices(parts.first, other.first) and _same_indices(parts.indices, other.indices):
        return ""
    return "the entries are in other places, or in another order, than in the matrix of the setup"


def _format_of(parts: Parts) -> str:
    return parts.layout if parts.block == 1 else f"{parts.layout} with blocks of {parts.block}"


def checked_values(parts: Parts, given: Any, dtype: np.dtype[Any], name: str) -> View:
    """`values_or_pattern`; ValueError for a matrix of another pattern."""
    found = values_or_pattern(parts, given, dtype, name)
    if isinstance(found, OtherPattern):
        raise found.error(name)
    return found


def values_or_pattern(
    parts: Parts, given: Any, dtype: np.dtype[Any], name: str
) -> View | OtherPattern:
    """Other values for the pattern of `parts`: an array like that of its data, or the values of a
    matrix of the same format and pattern, or of a dense one where that was dense. OtherPattern: the
    matrix that was given instead."""
    own = getattr(given, "parts", None)  # A SparseMatrix.
    if isinstance(own, Parts) or _is_sparse(given):
        other = own if isinstance(own, Parts) else take_apart(given, name)
        change = _other_pattern(parts, other, name)
        if change:
            return OtherPattern(other, change)
        given = other.data
    elif parts.converted == "dense array" and np.ndim(given) == 2:
        stored = _stored_values(parts, given, name)
        if stored is None:
            change = "it has entries where the matrix of the setup has zeros"
            return OtherPattern(take_apart(given, name), change)
        given = stored
    elif parts.converted:
        raise ValueError(
            f"{name}: the matrix was given as a {parts.converted}, whose values have another order;"
            " pass a matrix"
        )
    found = values(given, dtype, name)
    if math.prod(found.shape) != math.prod(parts.data_shape):
        raise ValueError(
            f"{name}: the shape {found.shape} is not that of the values, {parts.data_shape}"
        )
    if found.device != parts.device:
        raise ValueError(f"{name}: the values are on another device than the matrix")
    return found


def owners(parts: Parts, data: View) -> tuple[Any, ...]:
    """The arrays that own the memory of a matrix."""
    return parts.first.array, parts.indices.array, data.array


def checked_device(parts: Parts, other: View, name: str) -> None:
    """ValueError unless both are in the same memory."""
    if parts.device != other.device:
        raise ValueError(
            f"{name}: {place_text(other.device)}, but the matrix is {place_text(parts.device)}; "
            "move one"
        )
