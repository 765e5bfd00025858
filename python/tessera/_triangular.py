"""Solves with block triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import flag, whole
from ._backend import core
from ._errors import raise_named
from ._operators import parts_of
from ._preconditioners import Preconditioner
from ._typing import Matrix

__all__ = ["BlockTriangularSolve", "block_triangular_solve"]


class BlockTriangularSolve(Preconditioner):
    """The inverse of a block triangular matrix: ``S @ b`` solves ``A @ x = b``; see
    `block_triangular_solve`.
    """

    @property
    def text(self) -> str:
        """Name and options, which no other function takes."""
        return str(self._map.describe())


def _check_blocks(offsets: list[int], rows: int) -> None:
    if not offsets:
        return
    if offsets[0] != 0 or offsets[-1] != rows:
        raise ValueError(f"blocks: they go from {offsets[0]} to {offsets[-1]}, not from 0 to {rows}")
    for first, end in zip(offsets, offsets[1:]):
        if not 1 <= end - first <= 32:
            raise ValueError(f"blocks: the block from row {first} on has {end - first} rows, not 1 to 32")


def block_triangular_solve(
    A: Matrix,
    block_size: int | None = None,
    *,
    lower: bool = True,
    unit_diagonal: bool = False,
    blocks: Any = None,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> BlockTriangularSolve:
    """Takes a block triangular matrix for solves with it and with its transpose.

    Parameters
    ----------
    A : sparse matrix
        Square; see `preconditioner`. Diagonal blocks may be dense, triangular or diagonal.
    block_size : int, optional
        Rows of a block, 1 to 32; the last block may be smaller. By default that of a BSR matrix, 1
        of others. Blocks are stored with 1, 4, 8, 16 or 32 rows; on a GPU those of 5 rows and more
        are fastest.
    lower : bool
        Whether the matrix is block lower or upper triangular.
    unit_diagonal : bool
        Whether the main diagonal is 1 whatever its entries, which must be finite; those of a
        diagonal block beside it are read.
    blocks : sequence of int, optional
        Blocks of different sizes instead, up to 32 rows: the first row of each, and at last the
        number of rows.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    BlockTriangularSolve
        A `LinearOperator`: ``S @ b``, ``S.T @ b``, also with several columns;
        ``S.update(values)`` takes new values on the same pattern.

    Raises
    ------
    TypeError, ValueError
        For an entry on the wrong side of the diagonal blocks, a diagonal block that is singular or
        has no entry; the message has the row. For arguments that do not fit.

    Notes
    -----
    Blocks until the work is complete. Diagonal blocks are inverted: the residual is about that of
    substitution times their largest condition number.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tessera
    >>> A = sp.csr_array([[2.0, 1.0, 0.0], [0.0, 4.0, 0.0], [6.0, 0.0, 2.0]])
    >>> S = tessera.block_triangular_solve(A, blocks=[0, 2, 3])
    >>> S @ np.array([4.0, 8.0, 10.0])
    array([1., 2., 2.])
    >>> S.T @ np.array([8.0, 5.0, 2.0])
    array([1., 1., 1.])
    """
    upper = not flag(lower, "lower")
    unit = flag(unit_diagonal, "unit_diagonal")
    offsets: list[int] = []
    size = 1
    if blocks is not None:
        if block_size is not None:
            raise ValueError("blocks: block_size is given, too")
        found = np.asarray(blocks)
        if found.ndim != 1 or found.dtype.kind not in "iu" or found.size == 0:
            raise ValueError("blocks: expected the first row of each block and the number of rows")
        offsets = [whole(row, "blocks", 0, 2**31 - 1) for row in found.tolist()]
    else:
        size = parts_of(A)[0].block if block_size is None else block_size
        size = whole(size, "block_size", 1, 32)

    def make(context: Any, matrix: Any) -> Any:
        _check_blocks(offsets, matrix.rows)
        try:
            return core.block_triangular_solve(context, matrix, size, offsets, upper, unit)
        except ValueError as error:
            raise_named(error, "A")

    return BlockTriangularSolve(A, make, dtype, stream, device)
