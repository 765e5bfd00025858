"""Reads the results of structures that Tessera wrote as VTU files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ._error import PlotError

__all__ = ["Field", "Part", "read_vtu"]

_TYPES = {"Float64": "<f8", "Float32": "<f4", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1"}
_ANOTHER = "this is not a VTU file that Tessera wrote"


@dataclass(eq=False)
class Field:
    """Numbers for each node or element, of shape (n, k), and the names of the k components."""

    values: Any
    components: tuple[str, ...]


@dataclass(eq=False)
class Part:
    """A mesh with results. `points`: (n, 3); `cells`: by VTK's number of a shape, the elements of
    that shape, as their numbers (m,) and their nodes (m, k)."""

    source: str
    points: Any
    cells: dict[int, tuple[Any, Any]]
    node_fields: dict[str, Field] = field(default_factory=dict)
    element_fields: dict[str, Field] = field(default_factory=dict)


def _arrays(path: str, data: bytes) -> dict[str, dict[str, Field]]:
    """All arrays, by the XML element that contains them and by name."""
    start = data.find(b"<AppendedData")
    begin = data.find(b"_", start)
    if start < 0 or begin < 0 or b"</Piece>" not in data[:start]:
        raise PlotError(f"{path}: {_ANOTHER}")
    try:
        root = ElementTree.fromstring(data[:start] + b"</VTKFile>")
    except ElementTree.ParseError as error:
        raise PlotError(f"{path}: {_ANOTHER} ({error})") from None
    piece = root.find("./UnstructuredGrid/Piece")
    if piece is None or root.get("header_type") != "UInt64" or root.get("compressor"):
        raise PlotError(f"{path}: {_ANOTHER}")
    found: dict[str, dict[str, Field]] = {}
    for group in piece:
        for array in group.iter("DataArray"):
            width = int(array.get("NumberOfComponents") or 1)
            at = begin + 1 + int(array.get("offset") or 0)
            kind = np.dtype(_TYPES.get(array.get("type") or "", "V1"))
            size = int.from_bytes(data[at : at + 8], "little")
            if kind.kind == "V" or array.get("format") != "appended" or at + 8 + size > len(data):
                raise PlotError(f"{path}: {_ANOTHER}, or its end is missing")
            values = np.frombuffer(data, kind, size // kind.itemsize, at + 8)
            names = tuple(array.get(f"ComponentName{k}") or "xyz"[k : k + 1] or str(k)
                          for k in range(width))  # fmt: skip
            found.setdefault(group.tag, {})[array.get("Name") or ""] = Field(
                values.reshape(-1, width), names
            )
    return found


def read_vtu(path: str) -> Part:
    """Reads a file.

    Raises
    ------
    PlotError
        One sentence that begins with the name of the file.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from None
    try:
        arrays = _arrays(path, data)
        points = arrays["Points"]["Points"].values
        nodes, ends, types = (
            arrays["Cells"][name].values[:, 0] for name in ("connectivity", "offsets", "types")
        )
        cells = {}
        begins = np.append(0, ends[:-1]) if ends.size else ends
        for kind in np.unique(types):
            numbers = np.flatnonzero(types == kind)
            size = ends[numbers[0]] - begins[numbers[0]]
            cells[int(kind)] = numbers, nodes[begins[numbers, None] + np.arange(size)]
        node_fields, element_fields = (arrays.get(f"{of}Data", {}) for of in ("Point", "Cell"))
        wrong = (
            points.shape[1] != 3
            or any(found.max(initial=-1) >= len(points) for _, found in cells.values())
            or any(len(each.values) != len(points) for each in node_fields.values())
            or any(len(each.values) != len(types) for each in element_fields.values())
        )
    except (KeyError, ValueError, IndexError):
        wrong = True
    if wrong:
        raise PlotError(f"{path}: {_ANOTHER}")
    return Part(os.path.basename(path), points, cells, node_fields, element_fields)
