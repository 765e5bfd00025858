"""Triangles and lines as pixels; of several the nearest is seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Raster"]

_MOST = 2_000_000  # Numbers of an array at a time.


def _by_size(spans: Any) -> Iterator[tuple[int, Any]]:
    """Powers of two, and the numbers of the triangles that fit squares of such sides, some at a
    time."""
    side = 2
    while True:
        fits = np.flatnonzero((spans <= side) & ((spans > side / 2) | (side == 2)))
        step = max(1, _MOST // side**2)
        for begin in range(0, len(fits), step):
            yield side, fits[begin : begin + step]
        if spans.max(initial=0) <= side:
            return
        side *= 2


class Raster:
    """Rows by columns of pixels, y downwards from the upper left corner. Of each pixel `depth`, how
    far away what is seen there is; `seen`, the triangle, or -1; `weights` (…, 3) of its corners;
    `ink`, from 0 to 1, of lines."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns
        self.depth = np.full(rows * columns, np.inf)
        self.seen = np.full(rows * columns, -1)
        self.weights = np.zeros((rows * columns, 3))
        self.ink = np.zeros(rows * columns)

    def _inside(self, x: Any, y: Any) -> Any:
        return (x >= 0) & (y >= 0) & (x < self.shape[1]) & (y < self.shape[0])

    def triangles(self, corners: Any) -> None:
        """Draws triangles of (m, 3 corners, x y depth)."""
        low = np.floor(corners[..., :2].min(axis=1)).astype(np.int64)
        high = np.ceil(corners[..., :2].max(axis=1)).astype(np.int64)
        for side, some in _by_size((high - low).max(axis=1)):
            a, b, c = corners[some, 0], corners[some, 1], corners[some, 2]
            u, v = b - a, c - a
            area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
            area = np.where(area == 0, np.nan, area)[:, None, None]
            offsets = np.arange(side)
            x = low[some, 0, None, None] + offsets[None, None, :]
            y = low[some, 1, None, None] + offsets[None, :, None]
            dx, dy = x + 0.5 - a[:, 0, None, None], y + 0.5 - a[:, 1, None, None]
            s = (dx * v[:, 1, None, None] - dy * v[:, 0, None, None]) / area
            t = (dy * u[:, 0, None, None] - dx * u[:, 1, None, None]) / area
            with np.errstate(invalid="ignore"):
                hit = (s >= -1e-9) & (t >= -1e-9) & (s + t <= 1 + 1e-9) & self._inside(x, y)
            k, i, j = np.nonzero(hit)
            s, t = s[hit], t[hit]
            depth = a[k, 2] + s * u[k, 2] + t * v[k, 2]
            self._keep((low[some[k], 1] + i) * self.shape[1] + low[some[k], 0] + j, depth, some[k],
                       np.stack([1 - s - t, s, t], axis=1))  # fmt: skip

    def _keep(self, pixels: Any, depth: Any, numbers: Any, weights: Any) -> None:
        np.minimum.at(self.depth, pixels, depth)
        nearest = depth == self.depth[pixels]
        self.seen[pixels[nearest]] = numbers[nearest]
        self.weights[pixels[nearest]] = weights[nearest]

    def lines(self, ends: Any, ink: Any, bias: float, behind: bool = False) -> None:
        """Draws lines of (m, 2 ends, x y depth) where they are not farther than what is seen there
        plus `bias`; with `behind`, where nothing is seen."""
        across = np.abs(ends[:, 1, :2] - ends[:, 0, :2]).max(axis=1)
        count = np.ceil(across).astype(np.int64) + 1
        for begin in range(0, len(ends), 20_000):
            some = slice(begin, begin + 20_000)
            line = np.repeat(np.arange(len(ends))[some], count[some])
            first = np.repeat(np.cumsum(count[some]) - count[some], count[some])
            share = (np.arange(len(line)) - first) / np.maximum(count[line] - 1, 1)
            at = ends[line, 0] + share[:, None] * (ends[line, 1] - ends[line, 0])
            x, y = np.floor(at[:, :2]).astype(np.int64).T
            for right, down in ((0, 0), (1, 0), (0, 1)):  # Lines of two pixels.
                fits = self._inside(x + right, y + down)
                pixels = ((y + down) * self.shape[1] + x + right)[fits]
                shown = at[fits, 2] <= self.depth[pixels] + bias
                if behind:
                    shown = self.seen[pixels] < 0
                np.maximum.at(self.ink, pixels[shown], np.asarray(ink)[line[fits][shown]])
