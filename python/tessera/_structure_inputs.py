"""Arguments of structures as the library takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._arguments import number
from ._backend import core
from ._coordinates import host_array, real_array
from ._meshes import Mesh

Vector = Sequence[float]
PLANES = ("stress", "strain", "axisymmetric")
Fix = float | str | Sequence[float | None]


def _vector(given: Any, axes: int, name: str) -> tuple[float, float, float]:
    """Components, the third one 0 in two dimensions."""
    found = host_array(given, name)
    if found.shape != (axes,):
        raise ValueError(f"{name}: expected {axes} components, got {given!r}")
    return (*found.tolist(), *([0.0] * (3 - axes)))


def fixed_of(mesh: Mesh, group: str, given: Any) -> tuple[str, list[bool], list[float], bool]:
    """A group, which components are fixed, where, and whether along its normals instead."""
    name = f"fix[{group!r}]"
    axes = mesh.points.shape[1]
    if isinstance(given, str) and given == "normal":
        axis = core.normal_axis(mesh._core, group)
        if axis < 0:
            return group, [False] * 3, [0.0] * 3, True
        given = [0.0 if i == axis else None for i in range(axes)]
    components = [given] * axes if np.isscalar(given) else given
    if not isinstance(components, (Sequence, np.ndarray)) or isinstance(components, str):
        raise TypeError(f"{name}: expected a number or {axes} components, got {given!r}")
    if len(components) != axes:
        raise ValueError(f"{name}: expected {axes} components, got {given!r}")
    if any(isinstance(c, (bool, np.bool_)) for c in components):
        raise TypeError(f"{name}: give numbers, and None where it is free, not {given!r}")
    values = [0.0 if c is None else number(c, name, -np.inf, finite=True) for c in components]
    rest = 3 - axes
    fixed = [c is not None for c in components] + [False] * rest
    return group, fixed, values + [0.0] * rest, False


_Material = tuple[str, float, float, float, list[float], tuple[float, float, float]]


def _orthotropic(given: Any) -> list[float]:
    """Nine constants and two directions, or nothing."""
    if given is None:
        return []
    found = host_array(given, "orthotropic").ravel().tolist()
    if len(found) not in (9, 15):
        raise ValueError(f"orthotropic: expected 9 constants, or 15 with directions, got {given!r}")
    return found if len(found) == 15 else [*found, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def _expansion(given: Any) -> tuple[float, float, float]:
    """Along the three directions of a material."""
    found = host_array(given, "expansion").ravel().tolist()
    if len(found) not in (1, 3):
        raise ValueError(f"expansion: expected a number or three, got {given!r}")
    return tuple(found * (3 // len(found)))


def rotation_of(
    mesh: Mesh, group: str, given: Any
) -> tuple[str, float, tuple[float, float, float], tuple[float, float, float]]:
    name = f"rotate[{group!r}]"
    axes = mesh.points.shape[1]
    if not isinstance(given, Sequence) or len(given) != axes:
        what = "(angle, point)" if axes == 2 else "(angle, point, direction)"
        raise ValueError(f"{name}: expected {what}, got {given!r}")
    direction = _vector(given[2], 3, name) if axes == 3 else (0.0, 0.0, 1.0)
    angle = number(given[0], name, -np.inf, finite=True)
    return group, angle, _vector(given[1], axes, name), direction


def materials_of(mesh: Mesh, **given: Any) -> list[_Material]:
    """Each material by its region or group, "" for all others."""
    dicts = {name: value for name, value in given.items() if isinstance(value, Mapping)}
    regions = sorted({group_name(r, name) for name, value in dicts.items() for r in value})
    for name, value in dicts.items():
        is_given = np.zeros(sum(len(cells) for _, cells in mesh.cells), bool)
        for region in value:
            elements: Any = core.elements_of(mesh._core, region)
            is_given[elements] = True
        if not is_given.all():
            element = int(np.argmin(is_given))
            raise ValueError(f"{name}: element {element} is in none of {', '.join(value) or '{}'}")
        if set(value) != set(regions):
            raise ValueError(f"{name}: give it for the same regions as the others, or for all")

    def of(region: str) -> _Material:
        values = {
            name: value[region] if isinstance(value, Mapping) else value
            for name, value in given.items()
        }
        constants = _orthotropic(values.pop("orthotropic"))
        expansion = _expansion(values.pop("expansion"))
        young, poisson, density = (number(v, name, -np.inf) for name, v in values.items())
        return region, young, poisson, density, constants, expansion

    return [of(region) for region in regions or [""]]


def at_nodes(mesh: Mesh, given: Any, name: str) -> Any:
    """One row for each node, one after the other."""
    if given is None:
        return None
    found = real_array(given, name)
    if found.shape != mesh.points.shape:
        raise ValueError(f"{name}: the shape {found.shape} is not {mesh.points.shape}")
    if name == "node_forces" and not np.isfinite(found).all():
        raise ValueError(f"{name}: it holds NaN or infinity")
    if np.isinf(found).any():  # NaN: free.
        raise ValueError(f"{name}: it holds infinity")
    return found.ravel()


def vectors_of(mesh: Mesh, given: Any, name: str) -> list[tuple[str, Sequence[float]]]:
    """A vector of each group; several of one group may follow each other."""
    axes = mesh.points.shape[1]
    return [(g, _vector(f, axes, f"{name}[{g!r}]")) for g, f in pairs_of(given, name)]


def _moment(given: Any, axes: int, name: str) -> tuple[float, float, float]:
    """About z in two dimensions, where it is a number."""
    if axes == 3:
        return _vector(given, 3, name)
    return 0.0, 0.0, number(given, name, -np.inf, finite=True)


def group_name(given: Any, name: str) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name}: {given!r} is no text, as names of groups are")
    return given


def pairs_of(given: Any, name: str) -> list[tuple[str, Any]]:
    """What a dict has for each group; or such pairs, of which several may have one group."""
    if given is None:
        return []
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(pairs, list) or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        raise TypeError(f"{name}: expected a dict by names of groups, got {given!r}")
    return [(group_name(group, name), value) for group, value in pairs]


def joined(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Loads of all cases and of one: those of groups together, others in place of the common."""
    loads = {name: own.get(name, given) for name, given in common.items()}
    for name in ("load", "moment", "traction", "pressure"):
        loads[name] = pairs_of(common[name], name) + pairs_of(own.get(name), name)
    return loads


def equations_of(mesh: Mesh, rigid: Any, couple: Any, tie: Any, equations: Any) -> Any:
    """The groups of rigid bodies, couplings and ties, and the rows of C u = g."""
    if not isinstance(rigid, (str, Sequence)):
        raise TypeError(f"rigid: expected names of groups, got {rigid!r}")
    groups = [rigid] if isinstance(rigid, str) else [group_name(g, "rigid") for g in rigid]
    pairs = pairs_of(couple, "couple")
    ties = [(g, group_name(to, f"tie[{g!r}]")) for g, to in pairs_of(tie, "tie")]
    axes = mesh.points.shape[1]
    for group, given in pairs:
        allowed = "xyz"[:axes]
        is_text = isinstance(given, str) and given
        if given != "plane" and not (is_text and set(given) <= set(allowed)):
            raise ValueError(
                f"couple[{group!r}]: expected letters of {allowed!r}, or 'plane', got {given!r}"
            )
    if equations is None:
        return core.make_equations(groups, pairs, ties, None, None, None, None)
    if not isinstance(equations, Sequence) or len(equations) != 2:
        raise TypeError(f"equations: expected a matrix and numbers (C, g), got {equations!r}")
    matrix, numbers = equations
    offsets, columns, coefficients = _rows_of(matrix, mesh.points.size)
    values = host_array(numbers, "equations")
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(offsets) - 1):
        raise ValueError(f"equations: {len(offsets) - 1} rows, but g has the shape {values.shape}")
    values = np.ascontiguousarray(np.broadcast_to(values, len(offsets) - 1))
    return core.make_equations(groups, pairs, ties, offsets, columns, coefficients, values)


def _rows_of(matrix: Any, size: int) -> tuple[Any, Any, Any]:
    """Starts, columns and values of the rows of a sparse or dense matrix, as floats."""
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr(copy=True)
        rows.sum_duplicates()
        arrays, shape = (rows.indptr, rows.indices, rows.data), rows.shape
    else:
        dense = np.atleast_2d(real_array(matrix, "equations"))
        lines, columns = np.nonzero(dense)
        starts = np.searchsorted(lines, np.arange(len(dense) + 1))
        arrays, shape = (starts, columns, dense[lines, columns]), dense.shape
    if len(shape) != 2 or shape[1] != size:
        raise ValueError(f"equations: C has the shape {shape}, not (m, {size})")
    offsets, columns, values = (real_array(array, "equations") for array in arrays)
    return offsets, columns, values


def _temperatures(mesh: Mesh, given: Any) -> tuple[float, list[tuple[str, float]], Any]:
    """The changes of all elements, of regions, and of nodes."""
    if isinstance(given, Mapping):
        pairs = pairs_of(given, "temperature")
        of = [(g, number(t, f"temperature[{g!r}]", -np.inf, finite=True)) for g, t in pairs]
        return 0.0, of, None
    if np.ndim(given) == 0:
        return number(given, "temperature", -np.inf, finite=True), [], None
    found = host_array(given, "temperature")
    if found.shape != (len(mesh.points),):
        raise ValueError(f"temperature: the shape {found.shape} is not ({len(mesh.points)},)")
    return 0.0, [], found


def _spin(mesh: Mesh, given: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A vector along the axis, and a point of the axis."""
    if given is None:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    axes = mesh.points.shape[1]
    is_alone = bool(np.isscalar(given))
    if is_alone and axes == 2:  # In axisymmetry about y.
        return (0.0, number(given, "spin", -np.inf, finite=True), 0.0), (0.0, 0.0, 0.0)
    if is_alone or len(given) != axes:
        what = "(speed, point)" if axes == 2 else "(speed, point, direction)"
        raise ValueError(f"spin: expected {what}, got {given!r}")
    direction = np.array(_vector(given[2], 3, "spin") if axes == 3 else (0.0, 0.0, 1.0))
    size = np.linalg.norm(direction)
    if not size > 0:
        raise ValueError("spin: the direction has no length")
    speed = number(given[0], "spin", -np.inf, finite=True)
    return tuple((speed / size * direction).tolist()), _vector(given[1], axes, "spin")


def loads_of(mesh: Mesh, given: Mapping[str, Any]) -> Any:
    """The loads of a case, by the names of arguments of Structure."""
    axes = mesh.points.shape[1]
    force, gravity = given["body_force"], given["gravity"]
    spin, point = _spin(mesh, given["spin"])
    everywhere, in_regions, at_all_nodes = _temperatures(mesh, given["temperature"])
    pressures = pairs_of(given["pressure"], "pressure")
    return core.make_loads(
        vectors_of(mesh, given["load"], "load"),
        [(g, _moment(m, axes, f"moment[{g!r}]")) for g, m in pairs_of(given["moment"], "moment")],
        vectors_of(mesh, given["traction"], "traction"),
        [(g, number(p, f"pressure[{g!r}]", -np.inf)) for g, p in pressures],
        None if force is None else _vector(force, axes, "body_force"),
        (0.0, 0.0, 0.0) if gravity is None else _vector(gravity, axes, "gravity"),
        spin,
        point,
        at_nodes(mesh, given["node_forces"], "node_forces"),
        everywhere,
        in_regions,
        at_all_nodes,
    )
