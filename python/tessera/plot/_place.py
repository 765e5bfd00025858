"""Geometry of curves: fewer points with the same picture, and places of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["decimate", "drawable", "place_labels", "text_width"]

_LETTER = 0.57  # Mean width of a letter over the size of the font, for wide fonts.


def text_width(text: str, size: float) -> float:
    return _LETTER * size * len(text)


def drawable(y: Any) -> Any:
    """Which values have a place on a logarithmic axis."""
    with np.errstate(invalid="ignore"):
        return np.isfinite(y) & (y > 0)


def decimate(y: Any, most: int) -> Any:
    """Indices of at most about `most` values that give the same picture on a logarithmic axis.

    Parameters
    ----------
    y : array of shape (n,)
        Values that are not finite or not positive are gaps.
    most : int

    Returns
    -------
    array of int
        Increasing; all if there are no more than `most`. Of each of `most` / 4 parts of equal
        length the first, the last, the least and the greatest drawable value, or a gap where there
        is none; the first and the last index.
    """
    size = len(y)
    if size <= most:
        return np.arange(size)
    keep = {0, size - 1}
    fits = drawable(y)
    bounds = np.linspace(0, size, max(1, most // 4) + 1).astype(int)
    for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
        inside = begin + np.flatnonzero(fits[begin:end])
        if inside.size == 0:
            keep.add(int(begin))
            continue
        least, greatest = y[inside].argmin(), y[inside].argmax()
        keep.update(int(inside[k]) for k in (0, -1, least, greatest))
    return np.array(sorted(keep))


def _sampled(points: Any, step: float) -> Any:
    """Points along the polyline at most `step` apart; NaN rows are gaps."""
    parts = [points]
    starts, ends = points[:-1], points[1:]
    lengths = np.hypot(*(ends - starts).T)
    for k in np.flatnonzero(lengths > step):
        t = np.linspace(0, 1, int(lengths[k] / step) + 2)[1:-1, None]
        parts.append(starts[k] + t * (ends[k] - starts[k]))
    all_points = np.concatenate(parts)
    return all_points[np.isfinite(all_points).all(axis=1)]


def place_labels(
    curves: Sequence[Any],
    labels: Sequence[tuple[int, Any, str]],
    marks: Sequence[tuple[float, float]],
    size: tuple[float, float],
    font: float,
) -> list[tuple[float, float] | None]:
    """A place for each label near its point, away from curves, other labels and the border.

    Greedy: labels in order, each to the candidate of least cost. Deterministic.

    Parameters
    ----------
    curves : list of arrays of shape (n, 2)
        In units of the picture, y downwards, inside ``[0, width] x [0, height]``.
    labels : list of (curve, anchors, text)
        `anchors`, shape (m, 2): points that the label may stand beside, the preferred first.
    marks : list of (x, y)
        Rings and the like, which labels do not cover.
    size : (width, height)
    font : float
        Size of the text.

    Returns
    -------
    list of (x, y) or None
        Left end of the middle line of each text; None where all anchors are undefined.
    """
    width, height = size
    samples = [_sampled(c, font / 2) if len(c) > 1 else c for c in curves]
    taken = [(x - 5.0, y - 5.0, x + 5.0, y + 5.0) for x, y in marks]
    places: list[tuple[float, float] | None] = []
    for own, anchors, text in labels:
        w, h, gap = text_width(text, font), 1.3 * font, 0.75 * font
        best: tuple[float, tuple[float, float]] | None = None
        shifts = ((gap, 0), (gap, -h), (gap, h), (-w / 2, -h), (-w / 2, h), (-w - gap, 0),
                  (-w - gap, -h), (-w - gap, h), (gap, 1.6 * h), (gap, -1.6 * h),
                  (-w / 2, 1.6 * h), (-w / 2, -1.6 * h), (-w - gap, 1.6 * h))  # fmt: skip
        for rank, (px, py) in enumerate(anchors):
            if not (np.isfinite(px) and np.isfinite(py)):
                continue
            for turn, (dx, dy) in enumerate(shifts):
                x, y = px + dx, py + dy
                box = (x - 2, y - h / 2, x + w + 2, y + h / 2)
                if box[0] < 0 or box[2] > width or box[1] < 0 or box[3] > height:
                    continue
                cost = 0.35 * rank + 0.05 * turn
                for other in taken:
                    across = min(box[2], other[2]) - max(box[0], other[0])
                    down = min(box[3], other[3]) - max(box[1], other[1])
                    cost += 100.0 if across > 0 and down > 0 else 0.0
                for k, points in enumerate(samples):
                    near = _count_inside(points, box, 0)
                    cost += (2.0 if k == own else 5.0) * min(near, 12)
                    if k != own:  # Nearer to another curve than to its own: misleading.
                        cost += 0.8 * min(_count_inside(points, box, 0.7 * gap), 12)
                if best is None or cost < best[0]:
                    best = (cost, (x, y))
        places.append(best[1] if best else None)
        if best:
            x, y = best[1]
            taken.append((x - 2, y - h / 2, x + w + 2, y + h / 2))
    return places


def _count_inside(points: Any, box: tuple[float, float, float, float], margin: float) -> int:
    x, y = points[:, 0], points[:, 1]
    return int(
        np.count_nonzero(
            (x > box[0] - margin)
            & (x < box[2] + margin)
            & (y > box[1] - margin)
            & (y < box[3] + margin)
        )
    )
