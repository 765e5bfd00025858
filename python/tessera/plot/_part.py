"""A part with its results: its deformed shape, coloured by a field, with a scale of colours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._error import PlotError
from ._raster import Raster
from ._surface import Surface, surface
from ._table import Cell, Table
from ._text import amount
from ._vtu import Field, Part

__all__ = ["PartPicture", "colours_of", "part_picture"]

# The colours of viridis (CC0): their lightness grows evenly with the number.
_SCALE = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")
_WIDE, _HIGH = 640, 440  # Most units of the picture.
_PIXELS = 2  # Per unit; each is the mean of as many squared.
_NAMES = {"von_mises": "von Mises stress", "error": "error estimate of elements"}
_FIELDS = ("displacement", "stress", "von_mises", "error")  # Names in each load case.
_INK = 0x1B, 0x1F, 0x24
View = tuple[float, float]


@dataclass
class PartPicture:
    """`pixels`: (rows, columns, 4) bytes. `low`, `high`: the ends of the scale. `axes`: names of
    the directions and where they point to in the picture, x to the right and y downwards."""

    key: str
    title: str
    note: str
    pixels: Any
    low: float
    high: float
    axes: list[tuple[str, float, float]]
    numbers: list[tuple[str, str]]

    def tables(self) -> list[Table]:
        rows: list[list[Cell]] = [[(name, None), (text, None)] for name, text in self.numbers]
        return [Table(self.title, ["", "value"], rows)]


def colours_of(shares: Any) -> Any:
    """Red, green and blue from 0 to 255, of numbers from 0 to 1."""
    table = np.array([[int(word[k : k + 2], 16) for k in (0, 2, 4)] for word in _SCALE])
    places = np.linspace(0, 1, len(table))
    return np.stack([np.interp(shares, places, table[:, k]) for k in range(3)], axis=-1)


def _component(field: Field, name: str, component: str) -> Any:
    """One number for each node or element; of a vector without a component its length."""
    width = field.values.shape[1]
    values = field.values.astype(float)
    if component:
        if component not in field.components:
            raise PlotError(f"the field {name} has the components {', '.join(field.components)}, "
                            f"not {component!r}")  # fmt: skip
        return values[:, field.components.index(component)]
    if width == 1:
        return values[:, 0]
    if width <= 3:
        return np.linalg.norm(values, axis=1)
    raise PlotError(
        f"the field {name} has {width} components; name one: "
        + ", ".join(f"{name}:{each}" for each in field.components)
    )


def _case(part: Part, name: str) -> str:
    """The load case of a field; empty: there are none."""
    start = "displacement_"
    cases = [each.removeprefix(start) for each in part.node_fields if each.startswith(start)]
    return next((case for case in cases for of in _FIELDS if name == f"{of}_{case}"), "")


def _field(part: Part, words: str | None) -> tuple[str, Any, bool, str]:
    """Name, numbers, whether they are of elements, and the load case."""
    if words is None:
        names = [*part.node_fields, *part.element_fields]
        if not names:
            raise PlotError(f"{part.source}: there are no fields to draw")
        wanted = ("von_mises", "displacement")  # Or the first load case's.
        words = next(
            (n for w in wanted for n in names if n == w or n.startswith(f"{w}_")), names[0]
        )
    name, _, component = words.partition(":")
    of_elements = name not in part.node_fields
    fields = part.element_fields if of_elements else part.node_fields
    if name not in fields:
        names = list(dict.fromkeys([*part.node_fields, *part.element_fields]))
        raise PlotError(f"{part.source}: there is no field {name!r}, but {', '.join(names)}")
    case = _case(part, name)
    base = name.removesuffix(f"_{case}") if case else name
    title = _NAMES.get(base, base.replace("_", " "))
    title += f", {component}" if component else ""
    title += f", load case {case}" if case else ""
    return title, _component(fields[name], name, component), of_elements, case


def _number(value: Any, name: str) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise PlotError(f"{name}: expected a number, got {value!r}")
    return float(value)


def _directions(view: Any, flat: bool) -> tuple[Any, Any, Any]:
    """To the right, upwards, and towards the eye."""
    if view is None:
        view = (-90.0, 90.0) if flat else (-60.0, 25.0)
    try:
        azimuth, elevation = (math.radians(_number(angle, "view")) for angle in view)
    except (TypeError, ValueError) as error:
        if isinstance(error, PlotError):
            raise
        raise PlotError("view: expected two angles in degrees, azimuth and elevation") from None
    ca, sa, ce, se = math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation)
    return (
        np.array([-sa, ca, 0]),
        np.array([-se * ca, -se * sa, ce]),
        np.array([ce * ca, ce * sa, se]),
    )


def _deformation(part: Part, case: str, factor: Any, size: float) -> tuple[float, Any]:
    """How many times displacements are drawn, by default such that the largest is a twentieth of
    the part; and the displacements, as many times."""
    displacement = part.node_fields.get(f"displacement_{case}" if case else "displacement")
    if displacement is None or displacement.values.shape[1] != 3:
        if factor:
            raise PlotError(f"{part.source}: there is no displacement")
        return 0.0, np.zeros_like(part.points)
    largest = np.linalg.norm(displacement.values, axis=1).max(initial=0)
    if factor is None:
        wanted = size / 20 / largest if largest > 0 and math.isfinite(largest) else 0.0
        power = 10.0 ** math.floor(math.log10(wanted)) if wanted > 0 else 0.0
        factor = max((s * power for s in (1, 2, 5) if s * power <= wanted), default=0.0)
    factor = _number(factor, "deformation")
    return factor, factor * displacement.values


def _placed(moved: Any, given: Any) -> tuple[Any, Any, int, int]:
    """Places (x y depth) of nodes, deformed and not, in pixels; numbers of rows and columns."""
    both = np.concatenate([moved, given])
    low, high = both.min(axis=0), both.max(axis=0)
    span = np.maximum(high - low, 1e-30)
    unit, margin = min(_WIDE / span[0], _HIGH / span[1]) * _PIXELS**2, 3 * _PIXELS
    columns, rows = (math.ceil((unit * side + 2 * margin) / _PIXELS) * _PIXELS for side in span[:2])
    sign = np.array([1, -1, 1])
    origin = np.array([low[0], high[1], 0])
    at, before = (
        sign * (points - origin) * unit + (margin, margin, 0) for points in (moved, given)
    )
    return at, before, rows, columns


def _draw_lines(raster: Raster, shown: Surface, at: Any, before: Any) -> None:
    ends = at[shown.edges]
    length = np.median(np.linalg.norm(ends[:, 1, :2] - ends[:, 0, :2], axis=1))
    fine = 0.3 if length > 8 * _PIXELS else 0.0
    raster.lines(ends, np.where(shown.sharp, 0.8, fine), 0.004 * max(raster.shape))
    outline = before[shown.edges[shown.sharp]]
    raster.lines(outline, np.full(len(outline), 0.45), 0, behind=True)


def _light(corners: Any) -> Any:
    """1 of triangles that face the eye, 0.7 of those seen from the side."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    return 0.7 + 0.3 * np.abs(normal[:, 2]) / np.where(length > 0, length, 1)


def _coloured(raster: Raster, light: Any, found: Any, ends: tuple[float, float]) -> Any:
    """The pixels; `found`: the numbers where a triangle is seen, grey where they are not finite."""
    covered = raster.seen >= 0
    share = (found - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0 * found
    grey = ~np.isfinite(share)
    colour = np.full((covered.size, 3), _INK, float)
    colour[covered] = np.where(grey[:, None], 128, colours_of(np.where(grey, 0, share)))
    colour[covered] *= light[raster.seen[covered], None]
    ink = raster.ink[:, None]
    colour = colour * (1 - ink) + np.array(_INK) * ink
    opacity = np.where(covered[:, None], 1.0, ink)
    rows, columns = (side // _PIXELS for side in raster.shape)
    blocks = (rows, _PIXELS, columns, _PIXELS, -1)
    opaque = opacity.reshape(blocks).mean(axis=(1, 3))
    mixed = (colour * opacity).reshape(blocks).mean(axis=(1, 3)) / np.maximum(opaque, 1e-9)
    return np.round(np.concatenate([mixed, 255 * opaque], axis=2)).astype(np.uint8)


def _draw(
    shown: Surface,
    moved: Any,
    given: Any,
    values: Any,
    of_elements: bool,
    ends: tuple[float, float],
) -> Any:
    """The pixels. `moved` and `given`: the nodes (right, up, away from the eye), deformed and
    not."""
    at, before, rows, columns = _placed(moved, given)
    raster = Raster(rows, columns)
    corners = at[shown.triangles]
    raster.triangles(corners)
    _draw_lines(raster, shown, at, before)
    covered = raster.seen >= 0
    seen = raster.seen[covered]
    if of_elements:
        found = values[shown.elements[seen]]
    else:
        found = (values[shown.triangles[seen]] * raster.weights[covered]).sum(axis=1)
    return _coloured(raster, _light(corners), found, ends)


def part_picture(
    part: Part, field: str | None = None, deformation: float | None = None, view: Any = None
) -> PartPicture:
    """Draws a part."""
    shown = surface(part.points, part.cells)
    if shown is None:
        raise PlotError(f"{part.source}: there are no elements with a surface")
    title, values, of_elements, case = _field(part, field)
    used = np.unique(shown.triangles)
    points = part.points[used]
    size = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    factor, moves = _deformation(part, case, deformation, size)
    flat = not np.ptp(part.points[:, 2]) and not np.ptp(moves[:, 2])
    right, up, towards = _directions(view, flat)
    turned = np.stack([right, up, -towards], axis=1)
    outside = values[np.unique(shown.elements) if of_elements else used]
    finite = outside[np.isfinite(outside)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    begin = 0.0 if 0 < low < 0.3 * high else low  # The scale begins there.
    index = np.full(len(part.points), -1)
    index[used] = np.arange(len(used))
    shown.triangles, shown.edges = index[shown.triangles], index[shown.edges]
    moved = (part.points + moves)[used] @ turned
    shown_values = values if of_elements else values[used]
    pixels = _draw(shown, moved, points @ turned, shown_values, of_elements, (begin, high))
    numbers = [("largest shown", amount(high)), ("smallest shown", amount(low))]
    note = f"{part.source}, {len(part.points):,} nodes"
    if factor:
        numbers.append(("displacements drawn", f"{amount(factor)} times"))
        note += f"; displacements drawn {amount(factor)} times"
    axes = [(name, float(right[k]), -float(up[k])) for k, name in enumerate("xyz")]
    if not title.startswith("von "):
        title = title[:1].upper() + title[1:]
    return PartPicture("part", title, note, pixels, begin, high, axes, numbers)
