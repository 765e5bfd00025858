"""Pictures of solves: residuals, phases, condition numbers of blocks, multigrid, patterns, parts.

Each function takes runs in any of these forms: a file that ``tessera solve --json FILE`` (or
``tune``, ``info``) wrote, its parsed dict, a `tessera.Result`, a `tessera.MultilevelSolver`, or a
list of residuals. It returns Matplotlib's axes, those that it was given or new ones. `save` writes
all that the runs hold to a file, as ``python -m tessera plot`` does; pages of HTML need no
Matplotlib.

>>> from tessera import plot
>>> axes = plot.residuals("cg.json", "amg.json")
>>> plot.save("runs.html", "cg.json", "amg.json")

Nothing here needs a GPU.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._panels import KINDS, panels, summary
from ._runs import Matrix, PlotError, Run, path_text, read, take
from ._vtu import Part

__all__ = ["ENDINGS", "KINDS", "PlotError", "conditions", "hierarchy", "part", "phases", "read",
           "residuals", "save", "spy"]  # fmt: skip

ENDINGS = (".html", ".svg", ".png", ".pdf")


def _draw(
    kind: str, runs: Sequence[Any], labels: Sequence[str] | None, ax: Any, **options: Any
) -> Any:
    if ax is not None and not hasattr(ax, "get_window_extent"):
        raise TypeError(f"ax: expected axes of Matplotlib, got {type(ax).__name__}")
    panel, *_ = panels([take(run) for run in runs], labels, [kind], **options)
    from . import _matplotlib  # Wrong arguments are named also without Matplotlib.

    if ax is None:
        return _matplotlib.new_axes(panel)
    _matplotlib.draw(panel, ax)
    return ax


def residuals(*runs: Any, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Relative residuals over iterations, on a logarithmic axis.

    Parameters
    ----------
    *runs
        See the module. Residuals that are not finite or not positive are gaps.
    labels : list of str, optional
        Names of the runs; by default solver and preconditioner, and what tells the runs apart.
    ax : matplotlib.axes.Axes, optional
        By default new ones, in a figure of their own.

    Returns
    -------
    matplotlib.axes.Axes
        With one line for each run. A ring marks the true residual, a diamond where "auto" went on
        with another attempt.

    Raises
    ------
    PlotError
        A ValueError: a file cannot be read, no run has residuals, or Matplotlib is not installed.
    TypeError
        For an argument of another type, which the message names.
    """
    return _draw("residuals", runs, labels, ax)


def phases(*runs: Any, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Time of each phase, and the share of the measured copy rate that its memory traffic reached.
    A share above 100 % comes from caches.

    Parameters
    ----------
    *runs, labels, ax
        As in `residuals`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PlotError, TypeError
        As `residuals`.
    """
    return _draw("phases", runs, labels, ax)


def conditions(*runs: Any, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Numbers of diagonal blocks by the decade of their condition number; names the worst block.
    Runs with block Jacobi have them.

    Parameters
    ----------
    *runs, labels, ax
        As in `residuals`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PlotError, TypeError
        As `residuals`.
    """
    return _draw("conditions", runs, labels, ax)


def hierarchy(*runs: Any, labels: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Rows, blocks and entries of each level of multigrid.

    Parameters
    ----------
    *runs, labels, ax
        As in `residuals`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PlotError, TypeError
        As `residuals`.
    """
    return _draw("hierarchy", runs, labels, ax)


def spy(A: Any, blocks: Any = None, *, rows: tuple[int, int] | None = None, ax: Any = None) -> Any:
    """The pattern of a sparse matrix, with its diagonal blocks over it.

    Parameters
    ----------
    A : sparse matrix of SciPy, or path of a Matrix Market file
        Needs its pattern only. Where many entries share a pixel, darker means more.
    blocks : array of int, optional
        The first row of each block, and the number of rows, as `tessera.find_blocks` returns them.
        Blocks smaller than three pixels are joined in the picture.
    rows : (first, end), optional
        Draws these rows and columns only.
    ax : matplotlib.axes.Axes, optional
        By default new ones, in a figure of their own.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    PlotError
        A ValueError: the file cannot be read, `rows` or `blocks` do not fit the matrix.
    TypeError
        For an argument of another type, which the message names.
    """
    if not isinstance(A, (Matrix, str, bytes, os.PathLike)) and not hasattr(A, "tocoo"):
        raise TypeError(
            f"A: expected a sparse matrix of SciPy or a file, got {type(A).__name__}; "
            "scipy.sparse.csr_array makes one of a dense array, or of (data, indices, indptr)"
        )
    return _draw("spy", [A], None, ax, blocks=blocks, rows=rows)


def part(
    file: Any,
    field: str | None = None,
    *,
    deformation: float | None = None,
    view: tuple[float, float] | None = None,
    ax: Any = None,
) -> Any:
    """A structure with its results: the deformed shape, coloured by a field.

    Parameters
    ----------
    file : path
        VTU file that ``tessera solve MESH --vtu FILE`` or `tessera.structures` wrote.
    field : str, optional
        A field of nodes or elements; of a vector the length, or NAME:COMPONENT, as "stress:xx" or
        "displacement:z". By default von Mises stresses.
    deformation : float, optional
        How many times displacements are drawn; by default such that the largest is about a
        twentieth of the part.
    view : (azimuth, elevation), optional
        Degrees: from where the part is seen. By default (-60, 25), and (-90, 90) for a plane.
    ax : matplotlib.axes.Axes, optional
        By default new ones, in a figure of their own.

    Returns
    -------
    matplotlib.axes.Axes
        Lines are edges of elements, darker where faces meet at more than 30 degrees; thin lines
        beside the part, its shape without loads.

    Raises
    ------
    PlotError
        A ValueError: the file cannot be read, has no such field, or Matplotlib is not installed.
    TypeError
        For an argument of another type, which the message names.
    """
    if not isinstance(file, (Part, str, bytes, os.PathLike)):
        raise TypeError(f"file: expected a path, got {type(file).__name__}")
    return _draw("part", [file], None, ax, field=field, deformation=deformation, view=view)


def _titles(things: Sequence[Any]) -> tuple[str, str]:
    """Title of a page: the matrix, or how many; and the devices."""
    names = list(dict.fromkeys(getattr(t, "matrix", "") or t.source for t in things))
    devices = dict.fromkeys(getattr(t, "device", "") for t in things)
    title = names[0] if len(names) == 1 else f"{len(things)} files, {len(names)} matrices"
    return title or "Tessera", "; ".join(device for device in devices if device)


def _ending(path: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise PlotError(f"{path}: the ending is none of {', '.join(ENDINGS)}")
    return ending


def _write(path: str, write: Any) -> None:
    """Calls write(name) with a new file in the same folder, which then replaces `path`; what is no
    regular file is written in place."""
    try:
        real = os.path.realpath(path)
        if os.path.exists(real) and not os.path.isfile(real):
            write(real)
            return
        handle, name = tempfile.mkstemp(prefix=".tessera-", dir=os.path.dirname(real))
        os.close(handle)
        try:
            write(name)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o666 & ~mask)
            os.replace(name, real)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from None


def save(
    file: str | os.PathLike[str],
    *runs: Any,
    labels: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    blocks: Any = None,
    rows: tuple[int, int] | None = None,
    field: str | None = None,
    deformation: float | None = None,
    view: tuple[float, float] | None = None,
) -> None:
    """Writes pictures of all that the runs hold.

    Parameters
    ----------
    file : path
        The ending chooses the form: .html (a page that stands alone), .svg, .png or .pdf. A file is
        replaced as a whole or not at all.
    *runs
        See the module; also sparse matrices, and paths of Matrix Market and VTU files.
    labels : list of str, optional
        Names of the runs, in their order.
    only : list of str, optional
        Some of `KINDS`, in the order in which they are drawn; by default all that there are.
    blocks, rows
        Of a matrix; see `spy`.
    field, deformation, view
        Of a VTU file; see `part`.

    Raises
    ------
    PlotError
        A ValueError of one sentence that names the file.
    TypeError
        For an argument of another type, which the message names.
    """
    path = path_text(file, "file")
    ending = _ending(path)
    things = [take(run) for run in runs]
    made = panels(
        things, labels, only, blocks, rows, field=field, deformation=deformation, view=view
    )
    title, about = _titles(things)
    if ending == ".html":
        from ._page import page

        solves = [thing for thing in things if isinstance(thing, Run)]
        text = page(made, title, about, summary(solves))
        _write(path, lambda name: Path(name).write_text(text, encoding="utf-8"))
        return
    from ._matplotlib import save as save_picture

    _write(path, lambda name: save_picture(made, name, ending[1:], title))
