"""The command ``python -m tessera plot``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import ENDINGS, KINDS, PlotError, save

__all__ = ["main", "parser"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(f"{message} (see python -m tessera plot --help)")


def _rows(text: str) -> tuple[int, int]:
    first, colon, end = text.partition(":")
    if not (colon and first.isdecimal() and end.isdecimal()):
        raise argparse.ArgumentTypeError(f"give FIRST:END, not '{text}'")
    return int(first), int(end)


def _view(text: str) -> tuple[float, float]:
    try:
        azimuth, elevation = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"give AZIMUTH,ELEVATION, not '{text}'") from None
    return azimuth, elevation


def _blocks(path: str) -> Any:
    """Offsets of a file of block sizes, as ``block_jacobi:blocks=FILE`` reads."""
    try:
        with open(path, encoding="utf-8") as file:
            words = file.read().split()
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        words = ["?"]
    wrong = next((word for word in words if not word.isdecimal() or len(word) > 18), None)
    if wrong is not None or not words:
        raise PlotError(f"{path}: sizes of blocks are needed, whole numbers between blanks")
    return np.cumsum([0, *map(int, words)])


def parser() -> argparse.ArgumentParser:
    """The options, which ``tessera plot`` has, too."""
    options = _Parser(
        prog="python -m tessera plot", allow_abbrev=False,
        description="Draws what tessera solve, tune and info wrote.",
    )  # fmt: skip
    options.add_argument(
        "files", nargs="+", metavar="FILE",
        help="JSON of tessera solve, tune or info, several to compare runs; a matrix (.mtx); or "
        "results of a structure (.vtu)",
    )  # fmt: skip
    options.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help=f"picture to write: {', '.join(ENDINGS)}",
    )  # fmt: skip
    options.add_argument(
        "--label", action="append", metavar="TEXT",
        help="name of a run, in the order of the files; may be repeated",
    )  # fmt: skip
    options.add_argument(
        "--only", metavar="WORDS", help=f"draw these only: {', '.join(KINDS)}, separated by commas"
    )
    options.add_argument(
        "--blocks", metavar="FILE", help="file of block sizes, drawn over the matrix"
    )
    options.add_argument(
        "--rows", type=_rows, metavar="FIRST:END",
        help="draw these rows and columns of the matrix only",
    )  # fmt: skip
    options.add_argument(
        "--field", metavar="NAME[:COMPONENT]",
        help="field that colours a part, as stress:xx (default: von_mises)",
    )  # fmt: skip
    options.add_argument(
        "--deformation", type=float, metavar="FACTOR",
        help="how many times displacements of a part are drawn",
    )  # fmt: skip
    options.add_argument(
        "--view", type=_view, metavar="AZIMUTH,ELEVATION",
        help="degrees from where a part is seen (default: -60,25)",
    )  # fmt: skip
    return options


def main(words: Sequence[str]) -> int:
    """Runs the command; returns its exit code: 0, or 2 after a sentence on stderr."""
    try:
        given = parser().parse_args(words)
        blocks = _blocks(given.blocks) if given.blocks else None
        only = given.only.split(",") if given.only is not None else None
        save(
            given.output, *given.files, labels=given.label, only=only, blocks=blocks,
            rows=given.rows, field=given.field, deformation=given.deformation, view=given.view,
        )  # fmt: skip
    except PlotError as error:
        text = "".join(c if c.isprintable() else f"\\x{ord(c) & 0xFF:02x}" for c in str(error))
        print(f"tessera: {text}", file=sys.stderr)
        return 2
    return 0
