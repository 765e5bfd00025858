"""Linear operators: matrices and preconditioners of the library, and functions of the caller."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ._arguments import columns_of
from ._arrays import HOST, Kind, View, named_type, values, view
from ._backend import core
from ._contexts import call_context, new_context, place_text
from ._errors import raise_named, refuse_pickle
from ._matrices import Parts, build, checked_values, take_apart, without_values
from ._texts import checked_text

__all__ = ["LinearOperator", "SparseMatrix", "matrix"]


class LinearOperator:
    """A map of the library, with the products of ``scipy.sparse.linalg.LinearOperator``: sums and
    multiples are those of ``scipy.sparse.linalg.aslinearoperator(M)``.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : numpy.dtype
        float32 or float64: the type of results; arguments are converted to it.

    Notes
    -----
    Results are arrays of the caller's kind on the caller's device. On a GPU a call returns before
    its work is done, in the order of the current stream. Several threads may apply one operator.
    """

    __array_ufunc__ = None
    ndim = 2
    _updates = 0  # How often its map got other values.

    def __init__(self, map: Any, kind: Kind, device: int, keep: Any = None) -> None:
        self._map = map
        self._kind = kind
        self._device = device
        self._keep = keep
        self.shape: tuple[int, int] = (map.rows, map.columns)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if map.bytes == 4 else np.float64)

    def _checked(self, found: View, name: str) -> None:
        if found.device != self._device:
            raise ValueError(
                f"{name}: an array {place_text(found.device)}, but the operator is "
                f"{place_text(self._device)}"
            )

    def _vector(self, x: Any, transposed: bool) -> Any:
        found = values(x, self.dtype, "x")
        self._checked(found, "x")
        rows, columns = self.shape if not transposed else self.shape[::-1]
        if found.shape != (columns,) and found.shape != (columns, 1):
            raise ValueError(f"x: the shape {found.shape} does not fit {(columns,)}")
        kind = found.kind
        shape = (rows,) if len(found.shape) == 1 else (rows, 1)
        result = kind.empty(shape, self.dtype, found.device)
        context = call_context(kind, found.device)
        to = kind.address(result)
        self._map.apply(context, transposed, 1, found.pointer, columns, to, rows)
        return kind.finished(result, context)

    def _vectors(self, x: Any, transposed: bool) -> Any:
        found = view(x, "X")
        rows, columns = self.shape if not transposed else self.shape[::-1]
        if len(found.shape) != 2 or found.shape[0] != columns:
            raise ValueError(f"X: the shape {found.shape} does not fit ({columns}, k)")
        self._checked(found, "X")
        turned = columns_of(x, self.dtype, "X")
        kind, count = found.kind, found.shape[1]
        result = kind.empty((count, rows), self.dtype, found.device)
        if count:
            context = call_context(kind, found.device)
            to = kind.address(result)
            self._map.apply(context, transposed, count, turned.pointer, columns, to, rows)
            result = kind.finished(result, context)
        return kind.transposed(result)

    def matvec(self, x: Any) -> Any:
        """The product with a vector.

        Parameters
        ----------
        x : array of shape (n,) or (n, 1)
            On the device of the operator; converted to its dtype.

        Returns
        -------
        y : array of shape (m,) or (m, 1)
            In the kind of `x`. Does not wait.
        """
        return self._vector(x, False)

    def rmatvec(self, x: Any) -> Any:
        """The product of the transpose with a vector.

        Parameters
        ----------
        x : array of shape (n,) or (n, 1)
            On the device of the operator; converted to its dtype.

        Returns
        -------
        y : array of shape (m,) or (m, 1)
            In the kind of `x`. Does not wait.
        """
        return self._vector(x, True)

    def matmat(self, X: Any) -> Any:
        """The product with each column of an array.

        Parameters
        ----------
        X : array of shape (n, k)
            Copied unless it is in Fortran's order.

        Returns
        -------
        Y : array of shape (m, k)
            In the kind of `X`, in Fortran's order. Does not wait.
        """
        return self._vectors(X, False)

    def rmatmat(self, X: Any) -> Any:
        """The product of the transpose with each column of an array.

        Parameters
        ----------
        X : array of shape (n, k)
            Copied unless it is in Fortran's order.

        Returns
        -------
        Y : array of shape (m, k)
            In the kind of `X`, in Fortran's order. Does not wait.
        """
        return self._vectors(X, True)

    def dot(self, x: Any) -> Any:
        """`matvec` or `matmat`, by the dimensions of `x`.

        Parameters
        ----------
        x : array of shape (n,) or (n, k)
            As there.

        Returns
        -------
        y : array of shape (m,) or (m, k)
            In the kind of `x`. Does not wait.
        """
        return self @ x

    @property
    def T(self) -> LinearOperator:
        """The transpose, which shares the values."""
        return _Transposed(self)

    @property
    def H(self) -> LinearOperator:
        """The adjoint: the transpose, as values are real."""
        return self.T

    def __matmul__(self, x: Any) -> Any:
        dimensions = x.ndim if hasattr(x, "ndim") else len(view(x, "x").shape)
        return self.matvec(x) if dimensions == 1 else self.matmat(x)

    def __mul__(self, x: Any) -> Any:
        """The product, as of SciPy's operators; multiples are those of ``aslinearoperator``."""
        if np.ndim(x) == 0:
            raise TypeError(
                "a multiple of this operator: use scipy.sparse.linalg.aslinearoperator(M) * number"
            )
        return self @ x

    def __copy__(self) -> LinearOperator:
        shared = object.__new__(type(self))
        shared.__dict__.update(self.__dict__)
        return shared

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __call__(self, x: Any) -> Any:
        return self @ x

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}, {self.dtype}>"


class _Transposed(LinearOperator):
    """The transpose of an operator; solvers take it as a function of the caller."""

    def __init__(self, of: LinearOperator) -> None:
        self._of = of
        self._map = None
        self._kind = of._kind
        self._device = of._device
        self.shape = of.shape[::-1]
        self.dtype = of.dtype

    @property
    def _updates(self) -> int:  # type: ignore[override]
        return self._of._updates

    @property
    def T(self) -> LinearOperator:
        return self._of

    def _vector(self, x: Any, transposed: bool) -> Any:
        return self._of._vector(x, not transposed)

    def _vectors(self, x: Any, transposed: bool) -> Any:
        return self._of._vectors(x, not transposed)

    def __repr__(self) -> str:
        return f"<transpose of {self._of!r}>"


class SparseMatrix(LinearOperator):
    """A matrix taken once, for products and solves one after the other; see `matrix`."""

    def __init__(self, a: Any, format: str, dtype: Any, stream: Any) -> None:
        parts, own = parts_of(a)
        chosen = own if dtype is None else named_type(dtype)
        self._context = new_context(parts.kind, parts.device, stream)
        self._matrix = build(parts, self._context, chosen)
        self._parts = without_values(parts, self._matrix)
        self._data = parts.data
        self.format = format
        super().__init__(self._map_of(self._matrix), parts.kind, parts.device)
        self._transposed: Any = None

    @property
    def nnz(self) -> int:
        """The number of entries, zeros that are stored included."""
        return int(self._matrix.nonzeros)

    def _map_of(self, matrix: Any) -> Any:
        try:
            return core.matrix_operator(self._context, matrix, self.format)
        except ValueError as error:
            raise_named(error, "format")

    def _transposed_map(self) -> Any:
        if self._transposed is None:
            self._transposed = self._map_of(self._matrix.transposed())
        return self._transposed

    def _vector(self, x: Any, transposed: bool) -> Any:
        if not transposed:
            return super()._vector(x, False)
        turned = LinearOperator(self._transposed_map(), self._kind, self._device)
        return turned._vector(x, False)

    def _vectors(self, x: Any, transposed: bool) -> Any:
        if not transposed:
            return super()._vectors(x, False)
        turned = LinearOperator(self._transposed_map(), self._kind, self._device)
        return turned._vectors(x, False)

    def update(self, values: Any) -> None:
        """Sets new values on the same pattern. Solvers and preconditioners that were made of
        this object keep the values that it had.

        Parameters
        ----------
        values : array or sparse matrix
            In the order of the values given first, or a matrix of the same format and pattern.

        Raises
        ------
        TypeError, ValueError
            For values that do not fit.

        Notes
        -----
        Blocks until the work is complete.
        """
        # A new matrix: objects that were made of the old one keep that.
        found = checked_values(self._parts, values, self.dtype, "values")
        if found.device != HOST:
            call_context(found.kind, found.device).synchronize()
        self._data = found.array
        self._matrix = build(self.parts, self._context, self.dtype)
        self._map = self._map_of(self._matrix)
        self._transposed = None

    @property
    def parts(self) -> Parts:
        """Its arrays, for objects that are made of it."""
        return self._parts._replace(data=self._data)


def parts_of(a: Any) -> tuple[Parts, np.dtype[Any]]:
    """The arrays of a matrix, and the type of its values."""
    if isinstance(a, SparseMatrix):
        return a.parts, a.dtype
    parts = take_apart(a)
    return parts, parts.dtype


def matrix(A: Any, *, format: str = "csr", dtype: Any = None, stream: Any = None) -> SparseMatrix:
    """Takes a sparse matrix once, so that later calls do not look at its arrays again.

    Parameters
    ----------
    A : sparse matrix
        See `solve`; also a `SparseMatrix`. Its arrays are not copied where the library can use
        them as they are: 64-bit offsets, 32-bit columns, sorted and unique in each row, float32 or
        float64 values. They must not change but by `update`.
    format : str
        Format of the products: "csr", "sell", "sbell:3", ... (see docs/guide/options.md).
    dtype : float32 or float64, optional
        Type of the values; by default that of `A`, float64 for integers.
    stream : int or object with ``__cuda_stream__``, optional
        By default the current stream of the library that `A` belongs to.

    Returns
    -------
    SparseMatrix
        A `LinearOperator`, which all functions take in place of `A`.

    Raises
    ------
    TypeError, ValueError
        For arrays that are no real matrix; the message names the argument.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tessera
    >>> A = tessera.matrix(sp.csr_array([[2.0, 1.0], [0.0, 3.0]]))
    >>> A @ np.array([1.0, 10.0])
    array([12., 30.])
    >>> A.T @ np.array([1.0, 10.0])
    array([ 2., 31.])
    >>> tessera.gmres(A, np.array([12.0, 30.0]))[0].round(6)
    array([ 1., 10.])
    """
    checked_text(format, "format", auto=False)
    return SparseMatrix(A, format, dtype, stream)
