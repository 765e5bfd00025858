"""Positions of nodes, and small arrays of any library on the host."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._arrays import FLOAT64, HOST, kind_of, real_type, view
from ._backend import core


def points_of(coordinates: Any, name: str = "coordinates") -> Any:
    """An (n, 2) or (n, 3) array of float64 on the host."""
    found = host_array(coordinates, name)
    if found.ndim != 2 or found.shape[1] not in (2, 3):
        raise ValueError(f"{name}: expected the shape (nodes, 2) or (nodes, 3), got {found.shape}")
    if not len(found):
        raise ValueError(f"{name}: they are empty; give the position of each node")
    return found


def host_array(array: Any, name: str) -> Any:
    """A small array of finite numbers as one of NumPy in float64; one on a GPU is copied."""
    found = real_array(array, name)
    with np.errstate(all="ignore"):
        total = found.sum()
    # A sum that is finite has finite terms, and takes a third of the time.
    if not np.isfinite(total) and not np.isfinite(found).all():
        raise ValueError(f"{name}: it holds NaN or infinity")
    return found


def real_array(array: Any, name: str) -> Any:
    """As `host_array`, also with NaN and infinities."""
    kind = kind_of(array, name)
    if kind.name == "CuPy":
        array = array.get()
    elif kind.name == "torch":
        array = array.detach().cpu().numpy()
    elif kind.name == "Warp":
        array = array.numpy()
    elif kind.name in ("NumPy", "array"):
        found = view(array, name)
        if found.device != HOST:
            raise TypeError(f"{name}: expected an array of the host, or of a library that copies")
        array = found.array
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    real_type(array.dtype, name)
    return np.asarray(array, FLOAT64, order="C")


def near_null_array(vectors: Any, name: str, rows: int) -> Any:
    """Near-null vectors of a matrix as an array of (rows, k); one alone may have one dimension."""
    found = host_array(vectors, name)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or found.shape[0] != rows or not 1 <= found.shape[1] <= 8:
        raise ValueError(
            f"{name}: the shape {found.shape} does not fit ({rows}, k) with k from 1 to 8"
        )
    return found


def coordinates_of(coordinates: Any) -> tuple[Any, list[int] | None]:
    """Points, and the unknowns of rows where nodes have fewer than directions: a pair, or points
    alone (None)."""
    if coordinates is None:
        return None, None
    if not (isinstance(coordinates, tuple) and len(coordinates) == 2):
        return points_of(coordinates), None
    numbers = np.asarray(coordinates[1])
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise TypeError(
            "coordinates: the second of a pair has for each row the number of its unknown, "
            "node * dimensions + axis"
        )
    points = points_of(coordinates[0])
    wrong = (numbers < 0) | (numbers >= points.size)
    wrong[1:] |= numbers[1:] <= numbers[:-1]
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"coordinates: the unknowns of rows ascend from 0 to {points.size - 1}; row {row} has "
            f"{numbers[row]}"
        )
    return points, numbers.tolist()


def check_coordinates(points: Any, unknowns: list[int] | None, matrix: Any) -> None:
    """ValueError unless these are the nodes of a matrix, whose unknowns are found where some lack
    a few."""
    if points is None:
        return
    rows, nodes = matrix.rows, points.shape[0]
    if unknowns is not None:
        if len(unknowns) != rows:
            raise ValueError(f"coordinates: {len(unknowns)} unknowns of rows, A has {rows} rows")
    elif nodes == 0 or rows % nodes or rows // nodes > 8:
        offsets = matrix.blocks(8, True) if nodes < rows < points.size else np.zeros(1)
        if len(offsets) == nodes + 1 and np.diff(offsets).max() == points.shape[1]:
            return
        raise ValueError(
            f"coordinates: {nodes} nodes do not fit a matrix of {rows} rows, whose nodes have "
            "equally many rows, at most 8, or are not seen in its pattern; where nodes lack "
            "unknowns, give (points, unknowns)"
        )


def null_space_array(
    vectors: Any, rows: int, points: Any, unknowns: list[int] | None
) -> np.ndarray[Any, Any] | None:
    """Vectors of the null space: "constant", "rigid_body" (of `points`), an array, or None."""
    if isinstance(vectors, str):
        if vectors == "constant":
            vectors = np.ones((rows, 1))
        elif vectors == "rigid_body":
            if points is None or unknowns is not None:
                raise ValueError("nullspace: 'rigid_body' needs the coordinates of all nodes")
            vectors = core.rigid_body_modes(points)
        else:
            raise ValueError(f"nullspace: {vectors!r} is neither 'constant' nor 'rigid_body'")
    return None if vectors is None else near_null_array(vectors, "nullspace", rows)


def require_use(coordinates: Any, text: str, name: str) -> None:
    """ValueError unless a preconditioner named by its text uses coordinates, if there are any."""
    if coordinates is not None and re.split("[:,]", text)[0] not in ("auto", "amg"):
        raise ValueError(f"coordinates: only 'amg' uses them, {name} is {text!r}; leave them out")
