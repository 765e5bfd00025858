"""The error of this package."""

from __future__ import annotations

__all__ = ["PlotError"]


class PlotError(ValueError):
    """Input that cannot be drawn, or output that cannot be written; names the file."""
