"""Numbers of a picture as a table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cell", "Table"]

# The text of a cell, and the number that it shows.
Cell = tuple[str, float | None]


@dataclass
class Table:
    """Rows of cells under headers; `title` stands above."""

    title: str
    headers: list[str]
    rows: list[list[Cell]]
