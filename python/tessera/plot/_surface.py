"""The outside of a mesh, as triangles and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Surface", "surface"]

_TRIANGLE, _SQUARE = ((0, 1, 2),), ((0, 1, 2, 3),)
_TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
_PYRAMID = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
_PRISM = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
_HEXAHEDRON = (
    (0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7),
)  # fmt: skip
# VTK's number of a shape: the corners of its faces, and the edges whose middles are nodes, in the
# order of these nodes, which follow the corners.
_RING3, _RING4 = ((0, 1), (1, 2), (2, 0)), ((0, 1), (1, 2), (2, 3), (3, 0))
_UP4 = ((4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
_SHAPES: dict[int, tuple[Any, Any]] = {
    5: (_TRIANGLE, ()),
    22: (_TRIANGLE, _RING3),
    9: (_SQUARE, ()),
    23: (_SQUARE, _RING4),
    28: (_SQUARE, _RING4),
    10: (_TETRAHEDRON, ()),
    24: (_TETRAHEDRON, (*_RING3, (0, 3), (1, 3), (2, 3))),
    14: (_PYRAMID, ()),
    13: (_PRISM, ()),
    26: (_PRISM, (*_RING3, (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))),
    12: (_HEXAHEDRON, ()),
    25: (_HEXAHEDRON, (*_RING4, *_UP4)),
    29: (_HEXAHEDRON, (*_RING4, *_UP4)),
}
_SOLIDS = (10, 24, 14, 13, 26, 12, 25, 29)
_SHARP = np.cos(np.radians(30))


@dataclass
class Surface:
    """`triangles`: (m, 3) nodes; `elements`: the element behind each. `edges`: (e, 2) nodes of the
    edges of elements; `sharp`: which of them lie between faces more than 30 degrees apart, or at
    the end of a surface."""

    triangles: Any
    elements: Any
    edges: Any
    sharp: Any


def _outer(faces: Any) -> Any:
    """The rows of `faces`, (m, k) corners, that no other row repeats in any order."""
    keys = np.sort(faces, axis=1)
    order = np.lexsort(keys.T)
    equal = (np.diff(keys[order], axis=0) == 0).all(axis=1)
    once = ~(np.append(equal, False) | np.append(False, equal))
    return np.sort(order[once])


def _triangles(corners: Any, middles: Any | None) -> Any:
    """Triangles of faces with these corners, (m, k), and nodes in the middles of their edges."""
    k = corners.shape[1]
    if middles is None:
        fan = [(0, j, j + 1) for j in range(1, k - 1)]
        return corners[:, fan]
    nodes = np.concatenate([corners, middles], axis=1)
    tips = [(j, k + j, k + (j - 1) % k) for j in range(k)]
    inner = [(k, k + j, k + j + 1) for j in range(1, k - 1)]
    return nodes[:, tips + inner]


def _faces(cells: dict[int, tuple[Any, Any]]) -> Any:
    """The faces of the cells of most dimensions: (corners, middles or None, numbers of cells)."""
    solids = any(kind in _SOLIDS for kind in cells)
    for kind, (numbers, nodes) in cells.items():
        if kind not in _SHAPES or (kind in _SOLIDS) != solids:
            continue
        faces, edges = _SHAPES[kind]
        first = 1 + max(max(face) for face in faces)
        between = {frozenset(edge): first + j for j, edge in enumerate(edges)}
        for face in faces:
            around = [frozenset((a, b)) for a, b in zip(face, face[1:] + face[:1], strict=True)]
            middles = nodes[:, [between[edge] for edge in around]] if edges else None
            yield nodes[:, face], middles, numbers


def _edges(corners: list[Any], middles: list[Any], normals: list[Any]) -> tuple[Any, Any]:
    """Edges (through nodes in their middles), and whether they are sharp."""
    ends, through, normal = [], [], []
    for face, between, across in zip(corners, middles, normals, strict=True):
        ends.append(np.stack([face, np.roll(face, -1, axis=1)], axis=2).reshape(-1, 2))
        through.append((np.full(face.shape, -1) if between is None else between).ravel())
        normal.append(np.repeat(across, face.shape[1], axis=0))
    pairs, middle, across = (np.concatenate(each) for each in (ends, through, normal))
    keys = np.sort(pairs, axis=1)
    order = np.lexsort(keys.T)
    keys, middle, across = keys[order], middle[order], across[order]
    new = np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1))
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(keys)))
    second = first + np.minimum(count, 2) - 1
    alike = np.abs(np.einsum("ij,ij->i", across[first], across[second])) > _SHARP
    sharp = (count != 2) | ~alike
    a, b, m = keys[first, 0], keys[first, 1], middle[first]
    straight = m < 0
    halves = [np.stack([a[straight], b[straight]], 1),
              np.stack([a, m], 1)[~straight], np.stack([m, b], 1)[~straight]]  # fmt: skip
    flags = [sharp[straight], sharp[~straight], sharp[~straight]]
    return np.concatenate(halves), np.concatenate(flags)


def surface(points: Any, cells: dict[int, tuple[Any, Any]]) -> Surface | None:
    """The faces of solids that only one of them has, or all elements of a plane mesh; none without
    such elements."""
    by_size: dict[int, list[tuple[Any, Any, Any]]] = {3: [], 4: []}
    flat = not any(kind in _SOLIDS for kind in cells)
    for corners, middles, numbers in _faces(cells):
        by_size[corners.shape[1]].append((corners, middles, numbers))
    triangles, elements, all_corners, all_middles, normals = [], [], [], [], []
    for parts in by_size.values():
        if not parts:
            continue
        kept = np.concatenate([part[0] for part in parts])
        outer = np.arange(len(kept)) if flat else _outer(kept)
        begin = 0
        for corners, middles, numbers in parts:
            some = outer[(outer >= begin) & (outer < begin + len(corners))] - begin
            begin += len(corners)
            corners, numbers = corners[some], numbers[some]
            middles = None if middles is None else middles[some]
            made = _triangles(corners, middles)
            p = points[corners]
            across = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
            length = np.linalg.norm(across, axis=1, keepdims=True)
            triangles.append(made.reshape(-1, 3))
            elements.append(np.repeat(numbers, made.shape[1]))
            all_corners.append(corners)
            all_middles.append(middles)
            normals.append(across / np.where(length > 0, length, 1))
    if not triangles:
        return None
    edges, sharp = _edges(all_corners, all_middles, normals)
    return Surface(np.concatenate(triangles), np.concatenate(elements), edges, sharp)
