"""Finite-element meshes, and those of other packages."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._backend import core
from ._contexts import host_context
from ._coordinates import points_of
from ._errors import ParseError
from ._texts import require_utf8

# The names of meshio, by those of the library.
_NAMES = {
    "point": "vertex",
    "segment": "line",
    "segment3": "line3",
    "triangle": "triangle",
    "triangle6": "triangle6",
    "quadrilateral": "quad",
    "quadrilateral8": "quad8",
    "quadrilateral9": "quad9",
    "tetrahedron": "tetra",
    "tetrahedron10": "tetra10",
    "prism": "wedge",
    "prism15": "wedge15",
    "pyramid": "pyramid",
    "hexahedron": "hexahedron",
    "hexahedron20": "hexahedron20",
    "hexahedron27": "hexahedron27",
}
_SHAPES = {name: shape for shape, name in _NAMES.items()}
_COUNTS = (1, 2, 3, 3, 6, 4, 8, 9, 4, 10, 6, 15, 5, 8, 20, 27)
_NODES = dict(zip(_SHAPES, _COUNTS, strict=True))  # The nodes of a cell by its type.
_PLANE = ("triangle", "quad")
_EDGES = ("line",)


def _dimensions(name: str) -> int:
    if name == "vertex":
        return 0
    if name.startswith(_EDGES):
        return 1
    return 2 if name.startswith(_PLANE) else 3


def _corners(face: str) -> int:
    return 2 if _dimensions(face) == 1 else 3 if face.startswith("triangle") else 4


_Cells = list[tuple[str, Any]]


def _cells(given: Any, name: str) -> _Cells:
    """Pairs of a type of meshio and an array of one row of nodes per cell."""
    pairs = given.items() if isinstance(given, Mapping) else given
    result = []
    for pair in pairs:
        try:
            kind, nodes = pair
        except (TypeError, ValueError):
            raise TypeError(f"{name}: expected pairs of a cell type and an array") from None
        if kind not in _SHAPES:
            raise ValueError(f"{name}: the cell type {kind!r} is none of {', '.join(_SHAPES)}")
        array = np.asarray(nodes)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{name}: expected numbers of nodes, got {array.dtype}")
        if array.ndim != 2:
            raise ValueError(f"{name}: expected one row of nodes per cell, got {array.shape}")
        if array.shape[1] != _NODES[kind]:
            raise ValueError(f"{name}: {kind} has {_NODES[kind]} nodes, not {array.shape[1]}")
        if array.size and not 0 <= array.min() <= array.max() < 2**31:
            raise ValueError(f"{name}: a node is negative or beyond 2**31 - 1")
        result.append((kind, np.ascontiguousarray(array, np.int32)))
    return result


def _refuse_elements_twice(blocks: _Cells, name: str) -> None:
    """An element that is there twice is twice as stiff, and its faces are no surface; a face has
    twice the load."""
    for kind in dict.fromkeys(kind for kind, _ in blocks):
        nodes = np.concatenate([cells for of, cells in blocks if of == kind])
        ordered = np.sort(nodes, axis=1).astype(np.int64)
        keys = ordered @ (np.int64(0x9E3779B97F4A7C1) ** np.arange(1, 1 + nodes.shape[1]))
        order = np.argsort(keys, kind="stable")
        alike = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
        same = (ordered[order[alike]] == ordered[order[alike + 1]]).all(axis=1)
        if same.any():
            place = alike[np.argmax(same)]
            first, second = sorted((int(order[place]), int(order[place + 1])))
            raise ValueError(
                f"{name}: {kind} {first} and {second} have the same nodes; an element that is "
                "there twice would count twice"
            )


def _selection(chosen: Any, points: Any, name: str) -> Any:
    """Numbers of nodes, a mask, or a function of the points that returns one, as a mask."""
    if callable(chosen):
        chosen = chosen(points)
    array = np.asarray(chosen)
    mask = np.zeros(len(points), bool)
    if array.dtype == bool:
        if array.shape != mask.shape:
            raise ValueError(f"{name}: the mask has the shape {array.shape}, not {mask.shape}")
        return array
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name}: expected numbers of nodes, a mask or a function of the points")
    if array.size and not 0 <= array.min() <= array.max() < len(points):
        raise ValueError(f"{name}: there are {len(points)} nodes, counted from 0")
    mask[array.astype(int)] = True  # An empty list is one of floats.
    return mask


class Mesh:
    """A mesh of plane or solid elements of first or second order, and its named groups.

    Nodes of cells are ordered as VTK, meshio, Abaqus and CalculiX do.

    Parameters
    ----------
    points : array of shape (nodes, 2 or 3)
        Positions; two coordinates for plane elements.
    cells : dict, or list of pairs, of a type of meshio and an array of one row of nodes per cell
        The elements: "triangle", "triangle6", "quad", "quad8", "quad9", or "tetra", "tetra10",
        "hexahedron", "hexahedron20", "hexahedron27", "wedge", "wedge15", "pyramid".
    nodes : dict, optional
        Groups of nodes by name: numbers of nodes, a mask, or a function of `points` that returns
        one.
    faces : dict, optional
        Groups of edges of plane, of faces of solid elements: cells as above ("line",
        "triangle6", ...), or a choice of nodes as in `nodes`: the faces of the surface whose
        corners are all chosen.
    elements : dict, optional
        Groups of elements by name: their numbers, in the order of `cells`, or a mask.

    Attributes
    ----------
    points, cells
        As given; `cells` as a list, rows of mirrored elements in the right order.
    groups : list of str
        Names of groups and regions.

    Raises
    ------
    TypeError, ValueError
        The message names the argument.

    Examples
    --------
    >>> from tessera.structures import Mesh
    >>> mesh = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]},
    ...             nodes={"left": [0, 3]}, faces={"right": lambda p: p[:, 0] == 1})
    >>> mesh
    <Mesh of 4 nodes and 1 element: left, right>
    """

    def __init__(
        self,
        points: Any,
        cells: Any,
        *,
        nodes: Mapping[str, Any] | None = None,
        faces: Mapping[str, Any] | None = None,
        elements: Mapping[str, Any] | None = None,
    ) -> None:
        at = points_of(points, "points")
        blocks = _cells(cells, "cells")
        axes = at.shape[1]
        for kind, _ in blocks:
            if _dimensions(kind) != axes:
                raise ValueError(f"cells: {kind} are no elements of points in {axes} dimensions")
        _refuse_elements_twice(blocks, "cells")
        names = [*(nodes or {}), *(faces or {}), *(elements or {})]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"nodes, faces, elements: {', '.join(sorted(twice))} is there twice")
        groups: list[tuple[str, int, _Cells]] = []
        for name, chosen in (nodes or {}).items():
            mask = _selection(chosen, at, f"nodes[{name!r}]")
            groups.append((name, 0, [("vertex", np.flatnonzero(mask).astype(np.int32)[:, None])]))
        for name, chosen in (faces or {}).items():
            what = f"faces[{name!r}]"
            is_cells = isinstance(chosen, Mapping) or (
                isinstance(chosen, (list, tuple)) and len(chosen) > 0 and not np.isscalar(chosen[0])
            )
            found = (
                _cells(chosen, what)
                if is_cells
                else self._surface(at, blocks, _selection(chosen, at, what), what)
            )
            groups.append((name, axes - 1, found))
        for name, chosen in (elements or {}).items():
            groups.append((name, axes, _elements(blocks, chosen, f"elements[{name!r}]")))
        self._set(_made(at, blocks, groups))

    def _set(self, made: Any) -> None:
        self._core = made
        self.points = made.points
        self.cells = [(_NAMES[shape], cells) for shape, cells in made.cells]
        self.groups = [name for name, _, _ in made.groups]
        self.groups += [name for name in made.region_names if name and name not in self.groups]

    @classmethod
    def _of_core(cls, made: Any) -> Mesh:
        mesh = cls.__new__(cls)
        mesh._set(made)
        return mesh

    @staticmethod
    def _surface(points: Any, blocks: _Cells, mask: Any, what: str) -> _Cells:
        found = []
        for shape, cells in core.surface(host_context(), _made(points, blocks, [])):
            name = _NAMES[shape]
            chosen = cells[mask[cells[:, : _corners(name)]].all(axis=1)]
            if len(chosen):
                found.append((name, chosen))
        if not found:
            raise ValueError(f"{what}: no face of the surface has all its corners in it")
        return found

    def nodes(self, group: str) -> Any:
        """The nodes of a group, ascending.

        Parameters
        ----------
        group : str
            Its name.

        Returns
        -------
        numpy.ndarray of int

        Raises
        ------
        KeyError
            If there is no such group.
        """
        for name, _, cells in self._core.groups:
            if name == group:
                return np.unique(
                    np.concatenate([np.empty(0, np.int32), *(c.ravel() for _, c in cells)])
                )
        names = list(self._core.region_names)
        if group in names:
            every = [row for _, cells in self.cells for row in cells]
            chosen = self._core.regions == names.index(group)
            return np.unique(
                np.concatenate([row for row, is_in in zip(every, chosen, strict=False) if is_in])
            )
        raise KeyError(f"no group {group!r}; there are {', '.join(self.groups) or 'none'}")

    def __repr__(self) -> str:
        count = sum(len(cells) for _, cells in self.cells)
        plural = "" if count == 1 else "s"
        names = f": {', '.join(self.groups)}" if self.groups else ""
        return f"<Mesh of {len(self.points)} nodes and {count} element{plural}{names}>"


def _elements(blocks: _Cells, chosen: Any, what: str) -> _Cells:
    count = sum(len(cells) for _, cells in blocks)
    array = np.asarray(chosen)
    mask = np.zeros(count, bool)
    if array.dtype == bool and array.shape != mask.shape:
        raise ValueError(f"{what}: the mask has the shape {array.shape}, not {mask.shape}")
    if array.size == 0:
        array = mask  # An empty list is one of floats.
    if array.dtype != bool and (array.ndim != 1 or array.dtype.kind not in "iu"):
        raise TypeError(f"{what}: expected numbers of elements or a mask")
    if array.dtype != bool and array.size and not 0 <= array.min() <= array.max() < count:
        raise ValueError(f"{what}: there are {count} elements, counted from 0")
    mask[array] = True
    found, first = [], 0
    for kind, cells in blocks:
        part = cells[mask[first : first + len(cells)]]
        first += len(cells)
        if len(part):
            found.append((kind, part))
    if not found:
        raise ValueError(f"{what}: it has no elements")
    return found


def _made(points: Any, blocks: _Cells, groups: list[tuple[str, int, _Cells]]) -> Any:
    def flat(cells: _Cells) -> list[tuple[str, Any]]:
        return [(_SHAPES[kind], np.ascontiguousarray(nodes).ravel()) for kind, nodes in cells]

    for name, _, cells in groups:
        if not isinstance(name, str):
            raise TypeError(f"nodes, faces, elements: {name!r} is no text, as names of groups are")
        require_utf8(name, "nodes, faces, elements")
        _refuse_elements_twice([pair for pair in cells if pair[0] != "vertex"], f"group {name!r}")
    return core.make_mesh(
        points, flat(blocks), [], [], [(name, axes, flat(cells)) for name, axes, cells in groups]
    )


def _is_any(chosen: Any) -> bool:
    """Whether numbers or a mask choose anything."""
    array = np.asarray(chosen)
    return bool(array.any() if array.dtype == bool else array.size)


def _of_meshio(mesh: Any) -> Mesh:
    points = np.asarray(mesh.points, float)
    known = [(block.type, np.asarray(block.data)) for block in mesh.cells]
    axes = max((_dimensions(kind) for kind, _ in known if kind in _SHAPES), default=0)
    for kind, _ in known:
        if kind not in _SHAPES:
            raise ValueError(f"mesh: the cell type {kind!r} is none of {', '.join(_SHAPES)}")
    if axes < 2:
        raise ValueError("mesh: it has no plane or solid cells")
    if axes == 2 and points.shape[1] == 3:
        if np.ptp(points[:, 2]) > 1e-12 * np.ptp(points):
            raise ValueError("mesh: plane cells must lie in a plane z = constant")
        points = points[:, :2]
    blocks = [(kind, cells) for kind, cells in known if _dimensions(kind) == axes]
    # Sets of cells by name: of meshio, or physical groups of Gmsh.
    sets: dict[str, list[Any]] = {
        name: parts
        for name, parts in (mesh.cell_sets or {}).items()
        if not name.startswith("gmsh:")
    }
    tags: Any = (mesh.cell_data or {}).get("gmsh:physical")
    for name, field in (mesh.field_data or {}).items() if tags is not None else ():
        if name in sets or np.size(field) != 2:
            continue
        tag, dimension = field
        sets[name] = [
            np.flatnonzero(np.asarray(of_block) == tag)
            if _dimensions(kind) == dimension
            else np.empty(0, int)
            for (kind, _), of_block in zip(known, tags, strict=False)
        ]
    groups: list[tuple[str, int, _Cells]] = []
    point_sets = getattr(mesh, "point_sets", None) or {}
    for name, parts in sets.items():
        if len(parts) != len(known):
            raise ValueError(f"mesh: the set {name!r} has {len(parts)} parts, not {len(known)}")
        cells = [
            pair
            for block, part in zip(known, parts, strict=False)
            if part is not None and _is_any(part)
            for pair in _elements([block], part, f"mesh: the set {name!r}")
        ]
        # Abaqus writes sets of nodes and of elements with one name.
        if name in point_sets and all(_dimensions(kind) == axes for kind, _ in cells):
            groups.append((name, 0, [("vertex", np.asarray(point_sets[name])[:, None])]))
        if cells:
            dimension = max(_dimensions(kind) for kind, _ in cells)
            same = [pair for pair in cells if _dimensions(pair[0]) == dimension]
            groups.append((name, dimension, same))
    for name, chosen in point_sets.items():
        if name not in sets:
            groups.append((name, 0, [("vertex", np.asarray(chosen)[:, None])]))
    checked = [(name, axes_of, _cells(cells, f"mesh: {name}")) for name, axes_of, cells in groups]
    elements = _cells(blocks, "mesh")
    _refuse_elements_twice(elements, "mesh")
    return Mesh._of_core(_made(points_of(points, "mesh"), elements, checked))


def _of_skfem(mesh: Any) -> Mesh:
    try:
        plain = importlib.import_module("skfem.io.meshio").to_meshio(mesh)
    except ModuleNotFoundError:
        raise ImportError(
            "mesh: that of scikit-fem is taken by the package meshio, which is not installed: pip "
            "install meshio"
        ) from None
    except KeyError:
        raise TypeError(f"mesh: {type(mesh).__name__} has no form in meshio") from None
    blocks = [(block.type, np.asarray(block.data)) for block in plain.cells]
    axes = max(_dimensions(kind) for kind, _ in blocks)
    blocks = [(kind, cells) for kind, cells in blocks if _dimensions(kind) == axes]
    points = np.asarray(plain.points, float)[:, :axes]
    checked = _cells(blocks, "mesh")
    _refuse_elements_twice(checked, "mesh")
    surface = core.surface(host_context(), _made(points, checked, []))
    groups: list[tuple[str, int, _Cells]] = []
    for name, facets in (mesh.boundaries or {}).items():
        # The corners of facets are sorted by scikit-fem; those of the surface are in order.
        wanted = {tuple(sorted(corners)) for corners in mesh.facets[:, np.asarray(facets)].T}
        chosen = []
        for shape, cells in surface:
            kind = _NAMES[shape]
            is_in = [tuple(sorted(row)) in wanted for row in cells[:, : _corners(kind)]]
            if any(is_in):
                chosen.append((kind, cells[np.asarray(is_in)]))
        found = sum(len(cells) for _, cells in chosen)
        if found != len(wanted):
            raise ValueError(f"mesh: {len(wanted) - found} facets of {name!r} are inside the mesh")
        groups.append((name, axes - 1, chosen))
    for name, elements in (mesh.subdomains or {}).items():
        groups.append((name, axes, _elements(checked, elements, f"mesh: {name}")))
    return Mesh._of_core(_made(points, checked, groups))


def _of_gmsh(gmsh: Any) -> Mesh:
    if not gmsh.isInitialized():
        raise ValueError("mesh: gmsh has no model; call gmsh.initialize() and make one with a mesh")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.msh")
        gmsh.write(path)
        try:
            return _read(path)
        except ParseError as error:
            raise ParseError(str(error).replace(path, "the model of gmsh")) from None


def _read(path: str) -> Mesh:
    require_utf8(path, "mesh")
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return Mesh._of_core(core.read_mesh(host_context(), path))


def mesh_of(mesh: Any) -> Mesh:
    """A Mesh of what a user has."""
    if isinstance(mesh, Mesh):
        return mesh
    if isinstance(mesh, (str, os.PathLike)):
        return _read(os.fspath(mesh))
    if mesh is sys.modules.get("gmsh", ...):
        return _of_gmsh(mesh)
    package = type(mesh).__module__.partition(".")[0]
    makers: dict[str, Callable[[Any], Mesh]] = {"meshio": _of_meshio, "skfem": _of_skfem}
    if package in makers:
        return makers[package](mesh)
    raise TypeError(
        "mesh: expected a Mesh, the path of a Gmsh file, a mesh of meshio or scikit-fem, or the "
        f"module gmsh, got {type(mesh).__name__}"
    )
