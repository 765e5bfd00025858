"""Shapes as inline SVG, whose colours are variables of the page."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ._colours import COLOURS, DASHES
from ._shapes import WIDTH, Image, Mark, Path, Picture, Rect, Shape, Text

__all__ = ["svg"]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(pixels: Any) -> str:
    """A PNG of bytes (rows, columns, 2: grey and opacity, or 4: colour and opacity), as a data
    URI."""
    rows, columns, channels = pixels.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, {2: 4, 4: 6}[channels], 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _class(style: str, number: int) -> str:
    return f'class="{style} c{number % len(COLOURS)}"'


def _run(number: int) -> str:
    return f'data-run="{number}"'


def _title(hover: str) -> str:
    return f"<title>{escape(hover)}</title>" if hover else ""


def _path(path: Path) -> str:
    words = []
    pen = False
    for x, y in path.points:
        if not (math.isfinite(x) and math.isfinite(y)):
            pen = False
            continue
        words.append(f"{'L' if pen else 'M'}{_number(x)} {_number(y)}")
        pen = True
    end = "z" if path.style == "square" else ""
    dash = DASHES[path.number // len(COLOURS) % len(DASHES)] if path.style == "line" else ()
    dashes = f' stroke-dasharray="{" ".join(map(str, dash))}"' if dash else ""
    run = f" {_run(path.number)}" if path.style == "line" else ""
    return f'<path {_class(path.style, path.number)}{run}{dashes} d="{"".join(words)}{end}"/>'


def _mark(mark: Mark) -> str:
    x, y = _number(mark.x), _number(mark.y)
    radius = 5 if mark.kind == "ring" else 3
    form = f'<circle {_class(mark.kind, mark.number)} cx="{x}" cy="{y}" r="{radius}">'
    end = "</circle>"
    if mark.kind == "diamond":
        form = f'<path {_class("dot", mark.number)} d="M{x} {_number(mark.y - 5)}l5 5 -5 5 -5 -5z">'
        end = "</path>"
    return f"<g {_run(mark.number)}>{form}{_title(mark.hover)}{end}</g>"


def _shape(shape: Shape) -> str:
    if isinstance(shape, Text):
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        run = f" {_run(shape.number)}" if shape.style == "run" else ""
        return (
            f'<text {_class(shape.style, shape.number)}{run}{anchor} x="{_number(shape.x)}" '
            f'y="{_number(shape.y)}" dy=".35em">{escape(shape.text)}{_title(shape.hover)}</text>'
        )
    if isinstance(shape, Rect):
        return (
            f'<rect {_class(shape.style, shape.number)} x="{_number(shape.x)}" '
            f'y="{_number(shape.y)}" width="{_number(shape.width)}" '
            f'height="{_number(shape.height)}">{_title(shape.hover)}</rect>'
        )
    if isinstance(shape, Path):
        return _path(shape)
    if isinstance(shape, Mark):
        return _mark(shape)
    if isinstance(shape, Image):
        return f'<image {_box(shape)} preserveAspectRatio="none" href="{_png(shape.pixels)}"/>'
    return _picture(shape)


def _box(shape: Picture | Image) -> str:
    return " ".join(
        f'{side}="{_number(getattr(shape, side))}"' for side in ("x", "y", "width", "height")
    )


def _picture(picture: Picture) -> str:
    """The opacities as a mask, so that the colour follows the page's theme."""
    pixels = np.full((*picture.opacity.shape, 2), 255, np.uint8)
    pixels[..., 1] = np.round(255 * picture.opacity)
    data = _png(pixels)
    name = f"cells-{zlib.crc32(data.encode()):08x}"
    box = _box(picture)
    return (
        f'<mask id="{name}" maskUnits="userSpaceOnUse" {box}><image class="cells" {box} '
        f'preserveAspectRatio="none" href="{data}"/></mask>'
        f'<rect class="bar c0" mask="url(#{name})" {box}/>'
    )


def svg(shapes: Sequence[Shape], height: float, name: str, title: str, about: str) -> str:
    """An element <svg> with title and description; `name`: prefix of its ids."""
    tall = math.ceil(height)
    return (
        f'<svg viewBox="0 0 {_number(WIDTH)} {tall}" width="{_number(WIDTH)}" height="{tall}" '
        f'role="img" aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-about">{escape(about)}</desc>\n'
        + "\n".join(map(_shape, shapes))
        + "\n</svg>"
    )
