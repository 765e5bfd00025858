"""Pictures by Matplotlib, which is imported when something is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _shapes as shapes_of
from ._colours import COLOURS, DASHES, INK, MARK, MUTED, RULE
from ._panels import Curves, Panel
from ._place import drawable
from ._runs import PlotError
from ._shapes import FONT, WIDTH, Image, Mark, Path, Picture, Rect, Shape, Text

__all__ = ["draw", "new_axes", "save"]

_POINTS = 0.72  # Per unit.
_TITLE = 46.0  # Height of title and note.
_GAP = 26.0


def _need(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        if not (error.name or "").startswith("matplotlib"):
            raise
        raise PlotError(
            "png, svg and pdf are drawn by Matplotlib; install it with: python3 -m pip install "
            "matplotlib (.html needs nothing)"
        ) from None


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)][0]


def _dash(number: int) -> Any:
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    return (0, dash) if dash else "-"


def _text(axes: Any, text: Text) -> None:
    colour = {"muted": MUTED[0], "run": _colour(text.number)}.get(text.style, INK[0])
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(
        text.x, text.y, text.text, color=colour, fontsize=FONT * _POINTS,
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor], va="center",
        weight="bold" if text.style in ("strong", "run") else "normal", parse_math=False,
        bbox=ground if text.style == "value" else None,
    )  # fmt: skip


def _path(axes: Any, path: Path) -> None:
    x, y = path.points.T
    if path.style == "square":
        axes.fill(x, y, facecolor=MARK[0] + "30", edgecolor=MARK[0], lw=0.9)
        return
    if path.style == "line":
        axes.plot(x, y, color=_colour(path.number), ls=_dash(path.number), lw=1.5)
        return
    style = {"grid": (RULE[0], 0.6), "axis": (MUTED[0], 0.8), "limit": (INK[0], 1.0)}
    colour, width = style[path.style]
    axes.plot(x, y, color=colour, lw=width, ls="--" if path.style == "limit" else "-")


def _mark(axes: Any, mark: Mark) -> None:
    form, size = {"dot": ("o", 4.5), "ring": ("o", 8.0), "diamond": ("D", 5.5)}[mark.kind]
    fill = "none" if mark.kind == "ring" else _colour(mark.number)
    axes.plot(
        [mark.x],
        [mark.y],
        form,
        ms=size,
        mfc=fill,
        mec=_colour(mark.number),
        mew=1.3,
        clip_on=False,
    )


def _draw_shapes(axes: Any, height: float, width: float, shapes: Sequence[Shape]) -> None:
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for shape in shapes:
        if isinstance(shape, Text):
            _text(axes, shape)
        elif isinstance(shape, Rect):
            axes.bar(
                shape.x, shape.height, shape.width, shape.y, align="edge",
                color=_colour(shape.number), alpha=0.4 if shape.style == "pale" else 1.0, lw=0,
            )  # fmt: skip
        elif isinstance(shape, Path):
            _path(axes, shape)
        elif isinstance(shape, Mark):
            _mark(axes, shape)
        else:
            if isinstance(shape, Picture):
                rgba = np.empty((*shape.opacity.shape, 4))
                rgba[..., :3] = [int(COLOURS[0][0][k : k + 2], 16) / 255 for k in (1, 3, 5)]
                rgba[..., 3] = shape.opacity
            axes.imshow(
                shape.pixels if isinstance(shape, Image) else rgba,
                interpolation="antialiased" if isinstance(shape, Image) else "nearest",
                aspect="auto",
                extent=(shape.x, shape.x + shape.width, shape.y + shape.height, shape.y),
            )  # fmt: skip
            axes.set_xlim(0, width)
            axes.set_ylim(height, 0)


def _draw_curves(panel: Curves, axes: Any) -> None:
    """Real axes, so that a caller can change them."""
    box = axes.get_window_extent()
    scale = 100 / axes.figure.dpi
    frame = shapes_of.frame_of(panel, 0, 0, box.width * scale, box.height * scale)
    axes.set_xlim(0, frame.last)
    axes.set_ylim(10.0**frame.low, 10.0**frame.high)
    axes.set_yscale("log")
    for line in panel.lines:
        fits = drawable(line.y)
        y = np.where(fits, line.y, np.nan)
        dots = "o" if np.count_nonzero(fits) == 1 else None
        axes.plot(
            np.arange(len(y)), y, color=_colour(line.number), ls=_dash(line.number), lw=1.5,
            marker=dots, ms=4.5, label=line.label, gid=f"residuals-{line.number}",
        )  # fmt: skip
        at = [k for k, _ in line.changes]
        axes.plot(at, y[at], "D", ms=5.5, color=_colour(line.number), gid=f"changes-{line.number}")
        axes.plot(
            [len(y) - 1], [line.end if line.end > 0 else np.nan], "o", ms=8, mfc="none", mew=1.3,
            mec=_colour(line.number), clip_on=False, gid=f"true-{line.number}",
        )  # fmt: skip
    axes.set_xlabel("iteration", color=MUTED[0], fontsize=FONT * _POINTS)
    axes.set_ylabel("relative residual", color=MUTED[0], fontsize=FONT * _POINTS)
    axes.grid(axis="y", color=RULE[0], lw=0.6)
    axes.minorticks_off()
    axes.tick_params(colors=MUTED[0], labelsize=FONT * _POINTS)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED[0])
    for text in shapes_of.curve_labels(panel, frame, FONT):
        axes.annotate(
            text.text, (text.x / frame.width, 1 - text.y / frame.height), xycoords="axes fraction",
            color=_colour(text.number), fontsize=FONT * _POINTS, va="center", weight="bold",
            parse_math=False, bbox={"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.75},
        )  # fmt: skip


def draw(panel: Panel, axes: Any) -> None:
    """Draws one picture on axes of any size."""
    if isinstance(panel, Curves):
        _draw_curves(panel, axes)
        return
    width = axes.get_window_extent().width * 100 / axes.figure.dpi
    height, shapes = shapes_of.layout(panel, width)
    _draw_shapes(axes, height, width, shapes)


def _height(panel: Panel) -> float:
    if isinstance(panel, Curves):
        return 384.0
    return shapes_of.layout(panel)[0]


def _add(figure: Any, panel: Panel, top: float, total: float) -> Any:
    """Axes and title of a picture whose upper end is `top` units below that of the figure."""
    height, whole = _height(panel), WIDTH + 40
    left, width, above, below = 20.0, WIDTH, 0.0, 0.0
    if isinstance(panel, Curves):
        left, width, above, below = 78.0, WIDTH - 58 - 12, 8.0, 46.0
    note = _TITLE if panel.note else _TITLE - 18
    bottom = top + note + height - below
    axes = figure.add_axes(
        (left / whole, 1 - bottom / total, width / whole, (height - above - below) / total)
    )
    figure.text(
        20 / whole, 1 - (top + 10) / total, panel.title, fontsize=15 * _POINTS, weight="bold",
        va="center", color=INK[0], parse_math=False,
    )  # fmt: skip
    figure.text(
        20 / whole, 1 - (top + 30) / total, panel.note, fontsize=12 * _POINTS, va="center",
        color=MUTED[0], parse_math=False,
    )  # fmt: skip
    draw(panel, axes)
    return axes


def _size(panels: Sequence[Panel]) -> float:
    notes = [_TITLE if panel.note else _TITLE - 18 for panel in panels]
    return sum(map(_height, panels)) + sum(notes) + _GAP * (len(panels) - 1) + 32


def new_axes(panel: Panel) -> Any:
    """One picture in a figure of pyplot, which notebooks show; returns its axes."""
    pyplot = _need("matplotlib.pyplot")
    total = _size([panel])
    figure = pyplot.figure(figsize=((WIDTH + 40) / 100, total / 100))
    return _add(figure, panel, 14, total)


def save(panels: Sequence[Panel], path: str, ending: str, title: str) -> None:
    """Writes all pictures below each other; the same input gives the same bytes."""
    figure_module = _need("matplotlib.figure")
    settings = {
        "svg.fonttype": "none",  # Text stays text.
        "svg.hashsalt": "tessera",
        "font.family": ["DejaVu Sans"],
    }
    with _need("matplotlib").rc_context(settings):
        total = _size(panels)
        figure = figure_module.Figure(figsize=((WIDTH + 40) / 100, total / 100))
        top = 14.0
        for panel in panels:
            _add(figure, panel, top, total)
            top += _height(panel) + (_TITLE if panel.note else _TITLE - 18) + _GAP
        dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
        dpi = min(200, int(6e6 / total))  # A side has less than 65,536 pixels.
        with warnings.catch_warnings():
            # Letters that the font lacks are boxes in png and pdf, and remain letters in svg.
            warnings.filterwarnings("ignore", "Glyph .* missing")
            figure.savefig(path, format=ending, dpi=dpi, metadata={"Title": title, **dates})
