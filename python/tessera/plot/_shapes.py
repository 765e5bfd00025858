"""Pictures as shapes in units of 1/100 inch, y downwards; SVG and Matplotlib draw the same list."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._panels import Bars, Curves, Line, Panel, Row
from ._part import PartPicture, colours_of
from ._pattern import Pattern
from ._place import decimate, drawable, place_labels, text_width
from ._text import amount, count, linear_ticks, log_ticks

__all__ = ["FONT", "WIDTH", "Frame", "Image", "Mark", "Path", "Picture", "Rect", "Shape", "Text",
           "bars", "curve_labels", "curves", "frame_of", "kept_points", "layout", "part",
           "spy"]  # fmt: skip

WIDTH = 760.0
FONT = 13.0
_POINTS = 2400  # Points of a line, about.


@dataclass
class Rect:
    """A bar ("bar", or "pale" with its "part"). `hover`: its values as text."""

    x: float
    y: float
    width: float
    height: float
    style: str
    number: int
    hover: str = ""


@dataclass
class Text:
    """A line of text around the height y; styles "text", "muted", "strong", "run", and "value"
    on ground of its own."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    style: str = "text"
    number: int = 0
    hover: str = ""


@dataclass
class Path:
    """Polylines, NaN is a gap; styles "line", "grid", "axis", "limit", "square" (closed)."""

    points: Any
    style: str
    number: int = 0


@dataclass
class Mark:
    """A "dot", "ring" or "diamond" on a line."""

    x: float
    y: float
    kind: str
    number: int
    hover: str = ""


@dataclass
class Picture:
    """A grid of opacities from 0 to 1."""

    x: float
    y: float
    width: float
    height: float
    opacity: Any


@dataclass
class Image:
    """Pixels: (rows, columns, 4) bytes of red, green, blue and opacity."""

    x: float
    y: float
    width: float
    height: float
    pixels: Any


Shape = Rect | Text | Path | Mark | Picture | Image


@dataclass
class Frame:
    """Where curves lie, and the range of their axes (y: decades)."""

    left: float
    top: float
    width: float
    height: float
    last: float
    low: int
    high: int

    def points(self, x: Any, y: Any) -> Any:
        """Shape (n, 2); NaN where y is not drawable."""
        fits = drawable(y)
        decades = np.log10(np.where(fits, y, 1.0)).clip(self.low, self.high)
        across = self.left + self.width * np.asarray(x, dtype=float) / self.last
        down = self.top + self.height * (self.high - decades) / (self.high - self.low)
        return np.column_stack([across, np.where(fits, down, math.nan)])


def frame_of(panel: Curves, left: float, top: float, width: float, height: float) -> Frame:
    """Whole decades around all values; at least one, and such that their ends are doubles."""
    low, high = math.inf, -math.inf
    for line in panel.lines:
        values = np.append(line.y, line.end)
        values = values[drawable(values)]
        low, high = min(low, values.min()), max(high, values.max())
    floor = min(max(math.floor(math.log10(low) + 1e-9), -307), 307)
    ceiling = min(max(math.ceil(math.log10(high) - 1e-9), floor + 1), 308)
    last = max(1, *(len(line.y) - 1 for line in panel.lines))
    return Frame(left, top, width, height, last * 1.02, floor, ceiling)


def kept_points(line: Line) -> Any:
    return decimate(np.asarray(line.y, dtype=float), _POINTS)


def _curve_marks(line: Line, frame: Frame) -> Iterator[Mark]:
    for at, text in line.changes:
        (x, y), *_ = frame.points([at], line.y[[at]])
        if math.isfinite(y):
            yield Mark(x, y, "diamond", line.number, f"auto: {text} up to iteration {count(at)}")
    (x, y), *_ = frame.points([len(line.y) - 1], np.array([line.end]))
    if math.isfinite(y):
        yield Mark(x, y, "ring", line.number, f"{line.label}: true residual {amount(line.end)}")
    if np.count_nonzero(drawable(line.y)) == 1:  # A line of one point is not visible.
        at = int(np.flatnonzero(drawable(line.y))[0])
        (x, y), *_ = frame.points([at], line.y[[at]])
        yield Mark(x, y, "dot", line.number, f"{line.label}: {amount(line.y[at])}")


def curve_labels(panel: Curves, frame: Frame, font: float) -> list[Text]:
    """The name of each line beside it, and of each attempt beside its diamond."""
    lines = [frame.points(kept := kept_points(line), line.y[kept]) for line in panel.lines]
    wanted: list[tuple[int, Any, str]] = []
    for k, (line, points) in enumerate(zip(panel.lines, lines, strict=True)):
        visible = points[np.isfinite(points[:, 1])]
        order = np.linspace(len(visible) - 1, 0, min(len(visible), 24)).astype(int)
        wanted.append((k, visible[order], line.label))
        for at, text in line.changes:
            wanted.append((k, frame.points([at], line.y[[at]]), f"auto: {text} up to here"))
    corner = np.array([frame.left, frame.top])
    marks = [mark for line in panel.lines for mark in _curve_marks(line, frame)]
    places = place_labels(
        [points - corner for points in lines],
        [(k, anchors - corner, text) for k, anchors, text in wanted],
        [(mark.x - frame.left, mark.y - frame.top) for mark in marks],
        (frame.width, frame.height),
        font,
    )
    return [
        Text(frame.left + p[0], frame.top + p[1], text, "start", "run", panel.lines[k].number)
        for (k, _, text), p in zip(wanted, places, strict=True)
        if p is not None
    ]


def curves(panel: Curves) -> tuple[float, list[Shape], Frame]:
    """Height, shapes, and where the curves lie."""
    frame = frame_of(panel, 58, 8, WIDTH - 58 - 12, 330)
    bottom, right = frame.top + frame.height, frame.left + frame.width
    shapes: list[Shape] = []
    for power in log_ticks(frame.low, frame.high, 9):
        y = frame.top + frame.height * (frame.high - power) / (frame.high - frame.low)
        shapes.append(Path(np.array([(frame.left, y), (right, y)]), "grid"))
        shapes.append(Text(frame.left - 8, y, f"1e{power}" if power else "1", "end", "muted"))
    for tick in linear_ticks(0, frame.last, 8):
        if tick != int(tick):
            continue
        x = frame.left + frame.width * tick / frame.last
        shapes.append(Path(np.array([(x, bottom), (x, bottom + 5)]), "axis"))
        shapes.append(Text(x, bottom + 16, count(tick), "middle", "muted"))
    shapes.append(Path(np.array([(frame.left, bottom), (right, bottom)]), "axis"))
    shapes.append(Text(frame.left + frame.width / 2, bottom + 36, "iteration", "middle", "muted"))
    for line in panel.lines:
        kept = kept_points(line)
        shapes.append(Path(frame.points(kept, line.y[kept]), "line", line.number))
    for line in panel.lines:
        shapes += _curve_marks(line, frame)
    shapes += curve_labels(panel, frame, FONT)
    return bottom + 46, shapes, frame


def _cut(text: str, width: float) -> str:
    """The text, with its middle left out where it is too wide."""
    if text_width(text, FONT) <= width:
        return text
    most = max(5, int(width / text_width("m", FONT)))
    tail = (most - 1) // 3
    return text[: most - 1 - tail] + "…" + text[len(text) - tail :]


def _columns(panel: Bars, width: float) -> tuple[float, list[float], float]:
    """Width of the names, left end of each column, and width of a column."""
    names = max(text_width(r.label, FONT) for r in panel.rows if r.bars)
    names = min(max(names, text_width(panel.first, FONT)) + 15, 0.48 * width)
    # Bold notes stand after the last bar.
    notes = max(1.12 * text_width(row.note, FONT) if row.bars else 0 for row in panel.rows)
    notes = min(notes, 0.45 * width)
    each = (width - names - notes) / len(panel.columns)
    return names, [names + k * each for k in range(len(panel.columns))], each


def _bar_shapes(
    panel: Bars, row: Row, k: int, at: tuple[float, float, float, float]
) -> list[Shape]:
    """Bar, value and hover text of column k; `at`: left end, y, longest bar, greatest value."""
    x, y, longest, greatest = at
    bar = row.bars[k]
    shapes: list[Shape] = []
    end = x
    if math.isfinite(bar.value) and bar.value > 0:
        length = max(longest * bar.value / greatest, 1.0)
        hover = f"{row.label}: {panel.columns[k]} {bar.text}"
        shapes.append(
            Rect(x, y - 7, length, 14, "pale" if bar.part > 0 else "bar", row.number, hover)
        )
        if bar.part > 0:
            part = min(length, longest * bar.part / greatest)
            shapes.append(Rect(x, y - 7, part, 14, "bar", row.number, hover))
        end = x + length
    shapes.append(Text(end + 6, y, bar.text, style="value"))
    if k == len(panel.columns) - 1 and row.note:
        shapes.append(Text(end + 14 + text_width(bar.text, FONT), y, row.note, style="strong"))
    return shapes


def bars(panel: Bars, width: float = WIDTH) -> tuple[float, list[Shape]]:
    """Height and shapes."""
    names, lefts, each = _columns(panel, width)
    values = [[r.bars[k].value for r in panel.rows if r.bars] for k in range(len(lefts))]
    texts = [[r.bars[k].text for r in panel.rows if r.bars] for k in range(len(lefts))]
    shapes: list[Shape] = [Text(0, 11, panel.first, style="muted")]
    greatest, longest = [], []
    for k, title in enumerate(panel.columns):
        shapes.append(Text(lefts[k], 11, title, style="muted"))
        finite = [v for v in [*values[k], panel.limit[k]] if math.isfinite(v)]
        greatest.append(max(finite, default=0.0) or 1.0)
        room = max((text_width(t, FONT) for t in texts[k]), default=0.0) + 26
        longest.append(max(each - room, 20.0))
    y = 24.0
    tops: list[float] = []
    texts_of_bars: list[Shape] = []
    for row in panel.rows:
        if not row.bars:
            y += 8 if len(tops) else 0
            label = _cut(row.label, width)
            shapes.append(Text(0, y + 10, label, style="run", number=row.number))
            after = 1.1 * text_width(label, FONT) + 10 if label else 0
            shapes.append(Text(after, y + 10, _cut(row.note, width - after), style="muted"))
            y += 22
            continue
        tops.append(y)
        hover = row.label if text_width(row.label, FONT) > names - 14 else ""
        shapes.append(Text(0, y + 11, _cut(row.label, names - 14), hover=hover))
        for k in range(len(lefts)):
            at = (lefts[k], y + 11, longest[k], greatest[k])
            for shape in _bar_shapes(panel, row, k, at):
                (shapes if isinstance(shape, Rect) else texts_of_bars).append(shape)
        y += 22
    for k, limit in enumerate(panel.limit):
        if math.isfinite(limit):
            x = lefts[k] + longest[k] * limit / greatest[k]
            spans = [[(x, top), (x, top + 22), (math.nan, math.nan)] for top in tops]
            shapes.append(Path(np.array(spans).reshape(-1, 2), "limit"))
    return y + 6, shapes + texts_of_bars


def spy(panel: Pattern, width: float = WIDTH) -> tuple[float, list[Shape]]:
    """Height and shapes. The grid is opaque where many entries fall into a cell."""
    rows, columns = panel.cells.shape
    left, top = 70.0, 24.0
    side = min(480.0, width - left - 20)
    unit = side / max(rows, columns)
    wide, high = columns * unit, rows * unit
    most = panel.cells.max()
    shown = panel.cells > 0
    opacity = np.where(shown, 1.0, 0.0)
    if most > 1:
        opacity[shown] = 0.35 + 0.65 * np.log(panel.cells[shown]) / math.log(most)
    shapes: list[Shape] = [Picture(left, top, wide, high, opacity)]
    corners = np.array([(0, 0), (wide, 0), (wide, high), (0, high), (0, 0)]) + (left, top)
    shapes.append(Path(corners, "axis"))
    spans = (panel.last[0] - panel.first, panel.last[1] - panel.first)
    for tick in linear_ticks(panel.first, panel.last[1], 5):
        if tick == int(tick) and tick < panel.last[1]:
            x = left + wide * (tick - panel.first) / spans[1]
            shapes.append(Path(np.array([(x, top - 5), (x, top)]), "axis"))
            shapes.append(Text(x, top - 13, count(tick), "middle", "muted"))
    for tick in linear_ticks(panel.first, panel.last[0], 5):
        if tick == int(tick) and tick < panel.last[0]:
            y = top + high * (tick - panel.first) / spans[0]
            shapes.append(Path(np.array([(left - 5, y), (left, y)]), "axis"))
            shapes.append(Text(left - 9, y, count(tick), "end", "muted"))
    per_row, per_column = high / spans[0], wide / spans[1]
    for begin, end in panel.squares:
        x0, x1 = (left + (at - panel.first) * per_column for at in (begin, end))
        y0, y1 = (top + (at - panel.first) * per_row for at in (begin, end))
        shapes.append(Path(np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]), "square"))
    y = top + 10
    for name, value in panel.numbers:
        if left + wide + 190 <= width:
            shapes.append(Text(left + wide + 18, y, f"{name} {count(value)}", style="muted"))
            y += 20
    return top + high + 12, shapes


def part(panel: PartPicture, width: float = WIDTH) -> tuple[float, list[Shape]]:
    """Height and shapes: the part, the directions of its axes, and the scale of its colours."""
    rows, columns = panel.pixels.shape[:2]
    unit = min(1.0, (width - 110) / (columns / 2)) / 2
    wide, high = columns * unit, rows * unit
    shapes: list[Shape] = [Image(0, 0, wide, high, panel.pixels)]
    bar, top = wide + 22, 12.0
    tall = max(120.0, min(high - 24, 300.0))
    ramp = np.full((256, 1, 4), 255, np.uint8)
    ramp[:, 0, :3] = np.round(colours_of(np.linspace(1, 0, 256)))
    shapes.append(Image(bar, top, 14, tall, ramp))
    span = panel.high - panel.low
    ticks = linear_ticks(panel.low, panel.high, 8) if 0 < span < math.inf else [panel.low]
    for tick in ticks:
        y = top + tall * ((panel.high - tick) / span if span > 0 else 1)
        shapes.append(Path(np.array([(bar + 14, y), (bar + 19, y)]), "axis"))
        shapes.append(Text(bar + 24, y, amount(tick), style="muted"))
    corner = (30.0, high + 44)
    for name, across, down in panel.axes:
        if math.hypot(across, down) > 0.05:
            end = (corner[0] + 24 * across, corner[1] + 24 * down)
            shapes.append(Path(np.array([corner, end]), "axis"))
            shapes.append(
                Text(corner[0] + 33 * across, corner[1] + 33 * down, name, "middle", "muted")
            )
    return max(high + 80, top + tall + 12), shapes


def layout(panel: Panel, width: float = WIDTH) -> tuple[float, list[Shape]]:
    """Height and shapes of any picture."""
    if isinstance(panel, Curves):
        return curves(panel)[:2]
    if isinstance(panel, Pattern):
        return spy(panel, width)
    return part(panel, width) if isinstance(panel, PartPicture) else bars(panel, width)
