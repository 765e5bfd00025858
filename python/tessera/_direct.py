"""Exact factors of a matrix."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ._arguments import flag, number, whole
from ._arrays import require_real, source_of, view
from ._backend import core
from ._errors import raise_named
from ._operators import LinearOperator
from ._preconditioners import Preconditioner
from ._typing import Array, Matrix

__all__ = ["Direct", "Inertia", "Slogdet", "direct"]


class Slogdet(NamedTuple):
    """A determinant, as ``numpy.linalg.slogdet`` gives it: ``sign * exp(logabsdet)``."""

    sign: float
    logabsdet: float


class Inertia(NamedTuple):
    """The numbers of eigenvalues of each sign."""

    positive: int
    negative: int
    zero: int


class Direct(Preconditioner):
    """Exact factors of a matrix: ``F @ b`` is its inverse times b; see `direct`."""

    _products: tuple[LinearOperator | None, LinearOperator | None] = (None, None)

    def _product(self, transposed: bool) -> LinearOperator:
        found = self._products[transposed]
        if found is None:
            matrix = self._matrix.transposed() if transposed else self._matrix
            map = core.matrix_operator(self._context, matrix, "csr")
            found = LinearOperator(map, self._kind, self._device)
            plain, turned = self._products
            self._products = (plain, found) if transposed else (found, turned)
        return found

    def update(self, values: Any) -> None:
        """Factors other values on the same pattern, in the order of elimination of the first ones.

        Parameters
        ----------
        values : array
            See `Preconditioner.update`.
        """
        self._products = (None, None)
        super().update(values)

    def solve(self, b: Array, trans: str = "N", *, refinements: int = 2) -> Any:
        """Solves ``A @ x = b``.

        Parameters
        ----------
        b : array of shape (n,) or (n, k)
            On the device of the matrix.
        trans : {"N", "T"}
            "T" solves with the transpose.
        refinements : int
            Steps ``x += F @ (b - A @ x)``, which bring residuals to rounding error.

        Returns
        -------
        x : array
            In the kind and shape of `b`.

        Raises
        ------
        numpy.linalg.LinAlgError
            If columns have no pivot: the matrix is singular.

        Warns
        -----
        RuntimeWarning
            If a pivot is a rounding error of zero, or the last refinement changes a solution by more
            than 1 %: few digits are right, as the matrix is singular to working precision, or nearly.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> A = sp.csr_matrix(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> direct(A).solve(np.array([2.0, 9.0]))
        array([2., 1.])
        """
        if trans not in ("N", "T"):
            raise ValueError(f"trans: {trans!r} is neither 'N' nor 'T'")
        steps = whole(refinements, "refinements", 0, 100)
        found = view(b, "b")
        require_real(found.dtype, "b")
        if len(found.shape) not in (1, 2) or found.shape[0] != self.shape[0]:
            raise ValueError(f"b: the shape {found.shape} does not fit {self.shape[:1]}")
        b = source_of(b, found)
        if self.report["unusable"]:
            raise ValueError(self.report["unusable"])
        singular = self.report["singular"]
        if self.report["values"]["direct"]["null_pivots"] > 0:
            raise np.linalg.LinAlgError(singular)
        transposed = trans == "T"
        several = len(b.shape) == 2

        def times(operator: LinearOperator, x: Any, turned: bool) -> Any:
            if several:
                return operator.rmatmat(x) if turned else operator.matmat(x)
            return operator.rmatvec(x) if turned else operator.matvec(x)

        x = times(self, b, transposed)
        change = None
        for _ in range(steps):
            change = times(self, b - times(self._product(transposed), x, False), transposed)
            with np.errstate(invalid="ignore"):  # Infinities.
                x = x + change
        pivot = self.report["values"]["direct"]["smallest_pivot"]
        if singular and (change is None or pivot <= 16 * np.finfo(self.dtype).eps):
            warnings.warn(f"{singular}; x may have no correct digit", RuntimeWarning, stacklevel=2)
            return x
        if change is None:
            return x
        given: Any = b
        small = abs(change).sum(0) <= 0.01 * abs(x).sum(0)  # Not where the change is NaN.
        if bool((~small & (abs(given).sum(0) < np.inf)).any()):
            warnings.warn(
                "the last refinement changed x by more than 1 %: few of its digits are right, as "
                f"the matrix is ill-conditioned for {self.dtype} (see rcond)",
                RuntimeWarning, stacklevel=2,
            )
        return x

    def slogdet(self) -> Slogdet:
        """Sign and natural logarithm of the determinant; (0, -inf) where columns have no pivot.

        Returns
        -------
        Slogdet

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> sign, logarithm = direct(sp.csr_matrix(np.array([[0.0, 2.0], [4.0, 1.0]]))).slogdet()
        >>> round(float(sign * np.exp(logarithm)))
        -8
        """
        return Slogdet(*self._map.slogdet())

    def inertia(self) -> Inertia:
        """The numbers of positive, negative and zero eigenvalues of a symmetric matrix.

        Returns
        -------
        Inertia

        Raises
        ------
        ValueError
            If the matrix is not symmetric.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp
        >>> direct(sp.csr_matrix(np.array([[0.0, 2.0], [2.0, 1.0]]))).inertia()
        Inertia(positive=1, negative=1, zero=0)
        """
        return Inertia(*self._map.inertia())

    def rcond(self) -> float:
        """An estimate of ``1 / (norm(A, 1) * norm(inv(A), 1))``, seldom more than three times too
        large; 0 where columns have no pivot.

        Returns
        -------
        float
        """
        return float(self._map.rcond())


def direct(
    A: Matrix,
    *,
    threshold: float | None = None,
    symmetric: bool = True,
    max_flops: float | None = None,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> Direct:
    """Exact factors L D L^T of symmetric `A`, L U of others, with threshold pivoting.

    Parameters
    ----------
    A : sparse matrix
        Square; see `preconditioner`.
    threshold : float, optional
        A pivot is accepted if it is at least this times the largest entry of its column, 0 to 0.5;
        by default 0.01.
    symmetric : bool
        False: L U also of symmetric matrices.
    max_flops : float, optional
        Refuses a factorisation that takes more operations.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    Direct
        A `LinearOperator` with `Direct.solve`, `Direct.slogdet`, `Direct.inertia` and
        `Direct.rcond`.

    Notes
    -----
    Factors are made in host memory by all threads, also of a matrix on a GPU. Blocks until they are
    complete.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> F = direct(sp.diags([2.0, 4.0]).tocsr())
    >>> F @ np.ones(2)
    array([0.5 , 0.25])
    """
    text = "direct"
    if threshold is not None:
        text += f",threshold={number(threshold, 'threshold', 0, 0.5)!r}"
    if not flag(symmetric, "symmetric"):
        text += ",symmetric=off"
    if max_flops is not None:
        text += f",max_flops={number(max_flops, 'max_flops', finite=True)!r}"

    def make(context: Any, matrix: Any) -> Any:
        try:
            return core.preconditioner(context, matrix, text, None, [])
        except ValueError as error:
            raise_named(error, "A", matrix, preconditioner="max_flops")

    return Direct(A, make, dtype, stream, device)
