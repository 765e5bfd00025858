"""Colours for light and dark backgrounds, told apart with every common colour blindness."""

from __future__ import annotations

__all__ = ["COLOURS", "DASHES", "GROUND", "INK", "MARK", "MUTED", "RULE"]

# (on light, on dark) of the runs; further runs have them again with the next dashes.
COLOURS = (
    ("#0b5bd0", "#4b8fea"),
    ("#a85800", "#f07c1a"),
    ("#c2188f", "#f2a0dc"),
    ("#14232b", "#eef3f3"),
    ("#737467", "#8c8f80"),
)
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 2), (2, 2))

GROUND = ("#ffffff", "#15181c")
INK = ("#1b1f24", "#e8ebee")
MUTED = ("#57606a", "#a3acb5")
RULE = ("#dfe3e8", "#333a42")
MARK = ("#a85800", "#f07c1a")  # Blocks over a pattern.
