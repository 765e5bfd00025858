"""The pattern of a sparse matrix as a small grid of counts, with the diagonal blocks over it."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._runs import Matrix, PlotError
from ._table import Cell, Table
from ._text import count

__all__ = ["Pattern", "pattern"]

_CELLS = 480  # Most cells along a side.


@dataclass
class Pattern:
    """`cells[i, j]`: entries in that part of rows and columns `first` up to `last`. `squares`:
    (begin, end) of diagonal blocks, small ones joined."""

    key: str
    title: str
    note: str
    cells: Any
    first: int
    last: tuple[int, int]
    squares: list[tuple[int, int]]
    numbers: list[tuple[str, int]]

    def tables(self) -> list[Table]:
        rows: list[list[Cell]] = [
            [(name, None), (count(value), value)] for name, value in self.numbers
        ]
        return [Table(self.title, ["", "number"], rows)]


def _checked_blocks(blocks: Any, rows: int) -> Any:
    """Offsets: the first row of each block, and the number of rows."""
    offsets = np.asarray(blocks)
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size < 1:
        raise PlotError("blocks: offsets are needed: the first row of each, and the number of rows")
    offsets = offsets.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) <= 0).any():
        raise PlotError(
            f"blocks: offsets must increase from 0 to the number of rows, {rows}; they go from "
            f"{offsets[0]} to {offsets[-1]}"
        )
    return offsets


def _squares(
    offsets: Any, first: int, last: int, least: float
) -> tuple[list[tuple[int, int]], int]:
    """Blocks inside [first, last), adjacent ones joined until they have `least` rows."""
    bounds = offsets[(offsets >= first) & (offsets <= last)]
    joined: list[tuple[int, int]] = []
    begin = None
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        begin = low if begin is None else begin
        if high - begin >= least:
            joined.append((int(begin), int(high)))
            begin = None
    if begin is not None:
        joined.append((int(begin), int(bounds[-1])))
    return joined, max(0, len(bounds) - 1)


def _checked_rows(rows: Any) -> tuple[int, int]:
    try:
        first, last = (operator.index(each) for each in rows)
    except (TypeError, ValueError):
        raise TypeError(f"rows: expected (first, end), got {rows!r}") from None
    return first, last


def pattern(matrix: Matrix, blocks: Any = None, rows: tuple[int, int] | None = None) -> Pattern:
    """The grid of a matrix, or of its rows and columns ``rows[0]`` up to ``rows[1]``.

    Raises
    ------
    PlotError
        For a matrix without rows, for `rows` outside it and for blocks that do not fit.
    TypeError
        For `rows` that are no pair of whole numbers.
    """
    height, width = matrix.shape
    if min(height, width) < 1:
        raise PlotError(f"{matrix.source or 'the matrix'}: it has no rows or no columns")
    first, last = (0, max(height, width)) if rows is None else _checked_rows(rows)
    if not 0 <= first < last <= max(height, width):
        raise PlotError(f"rows {first}:{last} are not inside 0:{max(height, width)}")
    end = (min(last, height), min(last, width))
    if first >= min(end):
        raise PlotError(f"rows {first}:{last} are outside the matrix, {height} x {width}")
    spans = (end[0] - first, end[1] - first)
    scale = min(1.0, _CELLS / max(spans))
    shape = tuple(max(1, round(span * scale)) for span in spans)
    inside = (
        (matrix.row >= first) & (matrix.row < end[0])
        & (matrix.column >= first) & (matrix.column < end[1])
    )  # fmt: skip
    i = (matrix.row[inside].astype(np.int64) - first) * shape[0] // spans[0]
    j = (matrix.column[inside].astype(np.int64) - first) * shape[1] // spans[1]
    cells = np.bincount(i * shape[1] + j, minlength=shape[0] * shape[1]).reshape(shape)
    numbers = [("rows", height), ("columns", width), ("entries", len(matrix.row))]
    if rows is not None:
        numbers += [("first row and column drawn", first), ("entries drawn", int(cells.sum()))]
    squares: list[tuple[int, int]] = []
    found = 0
    if blocks is not None:
        if height != width:
            raise PlotError(f"blocks are of a square matrix; the shape is {height} x {width}")
        offsets = _checked_blocks(blocks, height)
        squares, found = _squares(offsets, first, min(end), 3 * max(spans) / _CELLS)
        largest = int(np.diff(offsets).max())
        numbers += [("blocks", len(offsets) - 1), ("rows of the largest block", largest)]
    name = matrix.label or matrix.source
    note = f"{count(height)} x {count(width)}, {count(len(matrix.row))} entries"
    if blocks is not None:
        note += f", {count(len(offsets) - 1)} diagonal blocks"
        if len(squares) < found:
            note += "; a square joins several"
    title = f"Pattern of {name}" if name else "Pattern of the matrix"
    return Pattern("spy", title, note, cells, first, end, squares, numbers)
