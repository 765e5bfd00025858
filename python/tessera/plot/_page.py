"""A page of HTML that stands alone: SVG, tables of the numbers, and a little JavaScript."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from . import _shapes
from ._colours import COLOURS, GROUND, INK, MARK, MUTED, RULE
from ._panels import Curves, Panel
from ._part import PartPicture
from ._pattern import Pattern
from ._svg import svg
from ._table import Table
from ._text import amount

__all__ = ["page"]


def _part(name: str) -> str:
    return Path(__file__).resolve().with_name(name).read_text(encoding="utf-8")


def _variables(theme: int) -> str:
    names = {"ground": GROUND, "ink": INK, "muted": MUTED, "rule": RULE, "mark": MARK}
    colours = {name: colour[theme] for name, colour in names.items()}
    colours.update({f"c{k}": colour[theme] for k, colour in enumerate(COLOURS)})
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def _style() -> str:
    runs = "\n".join(f".c{k} {{ --run: var(--c{k}); }}" for k in range(len(COLOURS)))
    return (
        f":root {{ color-scheme: light dark; {_variables(0)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1)} }} }}\n"
        f"{runs}\n{_part('page.css')}"
    )


def _cell(tag: str, text: str, value: float | None) -> str:
    if value is None:
        return f"<{tag}>{escape(text)}</{tag}>"
    number = repr(float(value)) if math.isfinite(value) else ""
    return f'<{tag} class="number" data-value="{number}">{escape(text)}</{tag}>'


def _table(table: Table) -> str:
    right = {
        k for row in table.rows for k, (_, value) in enumerate(row) if value is not None
    }  # Headings stand over their numbers.
    heads = "".join(
        f'<th scope="col"{" class=number" if k in right else ""}>{escape(head)}</th>'
        for k, head in enumerate(table.headers)
    )
    rows = "\n".join("<tr>" + "".join(_cell("td", *c) for c in row) + "</tr>" for row in table.rows)
    return (
        f'<div class="wide"><table><caption>{escape(table.title)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _rounded(value: float) -> float | None:
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _data(panel: Curves, frame: _shapes.Frame) -> str:
    """What the script shows; "<" cannot end the element early."""
    lines = []
    for line in panel.lines:
        kept = _shapes.kept_points(line)
        lines.append(
            {
                "run": line.number,
                "label": line.label,
                "x": kept.tolist(),
                "y": [_rounded(value) for value in line.y[kept].tolist()],
            }
        )
    data: dict[str, Any] = {
        "left": frame.left, "top": frame.top, "width": frame.width, "height": frame.height,
        "range": frame.last, "last": max(len(line.y) - 1 for line in panel.lines),
        "colours": len(COLOURS), "lines": lines,
    }  # fmt: skip
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def _about(panel: Panel) -> str:
    """The picture in words, for those who do not see it."""
    if isinstance(panel, Curves):
        ends = [
            f"{line.label}: {amount(line.y[-1])} after {len(line.y) - 1} iterations"
            for line in panel.lines
        ]
        return "; ".join(ends)
    if isinstance(panel, (Pattern, PartPicture)):
        return panel.note
    return f"{len([row for row in panel.rows if row.bars])} rows; the table has their numbers"


def _section(panel: Panel, number: int) -> str:
    name = f"{panel.key}-{number}"
    data = attributes = ""
    if isinstance(panel, Curves):
        height, shapes, frame = _shapes.curves(panel)
        data, attributes = _data(panel, frame), " data-curves"
    else:
        height, shapes = _shapes.layout(panel)
    tables = "\n".join(map(_table, panel.tables()))
    note = f"<p>{escape(panel.note)}</p>\n" if panel.note else ""
    return (
        f'<section aria-labelledby="{name}-head">\n'
        f'<h2 id="{name}-head">{escape(panel.title)}</h2>\n'
        f'{note}<div class="pair"><figure{attributes}>\n'
        f"{svg(shapes, height, name, panel.title, _about(panel))}\n{data}</figure>\n"
        f"<details open><summary>Numbers</summary>\n{tables}\n</details></div>\n</section>"
    )


def page(panels: Sequence[Panel], title: str, about: str, summary: Table | None) -> str:
    """The text of the page; `about`: a line under the title."""
    sections = "\n".join(_section(panel, k) for k, panel in enumerate(panels))
    first = f"<section>\n{_table(summary)}\n</section>\n" if summary else ""
    script = f"<script>\n{_part('page.js')}</script>\n" if "<script" in sections else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n<p>{escape(about)}</p>\n{first}{sections}\n</main>\n"
        f"{script}</body>\n</html>\n"
    )
