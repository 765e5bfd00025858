"""Incomplete factors as preconditioners."""

from __future__ import annotations

from typing import Any

from ._arguments import flag, number, whole
from ._preconditioners import Preconditioner, of_text
from ._typing import Matrix

__all__ = ["block_ldlt", "ilu"]


def block_ldlt(
    A: Matrix,
    block_size: int = 8,
    *,
    fill: int = 0,
    method: str = "jacobi",
    epsilon: float | None = None,
    positive_definite: bool = False,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> Preconditioner:
    """Incomplete factors L D L^T in blocks, for symmetric `A`, also indefinite.

    Parameters
    ----------
    A : sparse matrix
        See `preconditioner`; both triangles are stored.
    block_size : {1, 4, 8, 16, 32}
        Rows of a block.
    fill : int
        Levels of block fill.
    method : {"jacobi", "level"}
        Sweeps over all blocks at once, or level by level.
    epsilon : float, optional
        Lower bound of pivots, over the largest entry of the scaled matrix.
    positive_definite : bool
        Uses the absolute values of D, as `minres` needs.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    Preconditioner

    Notes
    -----
    Blocks until the work is complete.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("poisson2d:20")
    >>> tessera.minres(p.A, p.b, M=tessera.block_ldlt(p.A, positive_definite=True))[1]
    0
    """
    if isinstance(block_size, bool) or block_size not in (1, 4, 8, 16, 32):
        raise ValueError(f"block_size: {block_size!r} is none of 1, 4, 8, 16, 32")
    if method not in ("jacobi", "level"):
        raise ValueError(f"method: {method!r} is neither 'jacobi' nor 'level'")
    text = f"block_ldlt:{block_size},fill={whole(fill, 'fill', 0, 1000)},method={method}"
    if epsilon is not None:
        bound = number(epsilon, "epsilon", finite=True)
        text += f",epsilon={bound!r}"
    if flag(positive_definite, "positive_definite"):
        text += ",positive_definite"
    return of_text(A, text, "A", dtype, stream, device)


def ilu(
    A: Matrix,
    block_size: int | None = None,
    *,
    fill: int = 0,
    method: str = "level",
    sweeps: int = 8,
    matching: bool | None = None,
    ordering: str | None = None,
    pivoting: str = "complete",
    outer: bool = False,
    outer_threshold: float = 0.01,
    drop: float | None = None,
    max_entries: float = 40,
    epsilon: float | None = None,
    delta: float = 0.95,
    safeguard: bool | None = None,
    solve_sweeps: int = 0,
    precision: str = "working",
    max_levels: int | None = None,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> Preconditioner:
    """Incomplete factors L D U in blocks, for any square `A`.

    Parameters
    ----------
    A : sparse matrix
        See `preconditioner`.
    block_size : int, optional
        Rows of a block, 1 to 32, stored as the next of 1, 4, 8, 16 and 32; by default those of the
        natural blocks, if all have the same, or 4, on a GPU 8; with matching 8.
    fill : int
        Levels of block fill.
    method : {"level", "jacobi"}
        Level by level, or sweeps over all blocks at once.
    sweeps : int
        How many, 1 to 1000.
    matching : bool, optional
        Whether rows are permuted so that large entries are on the diagonal, and scaled; by default
        where the diagonal has entries that are small, or zero.
    ordering : {"amd", "rcm", "natural"}, optional
        Order of the rows: minimum degree, reverse Cuthill-McKee, or as they are; by default the
        last, unless entries are far from the diagonal or rows are permuted.
    pivoting : {"complete", "partial", "static"}
        Within diagonal blocks.
    outer : bool
        Pivoting between block rows: those with a pivot below `outer_threshold` times the largest
        entry are ordered last, and setup starts again.
    outer_threshold : float
        0 to 1.
    drop : float, optional
        Drops entries by value instead of by pattern, with blocks of one row: those up to `drop`
        times the mean of their row (1e-4).
    max_entries : float
        With `drop`, each row of L and of U keeps the ``max(10, max_entries / 2 * k)`` largest
        entries, k the number of entries of that row of `A`.
    epsilon : float, optional
        Lower bound of pivots, over the largest entry of the scaled matrix.
    delta : float
        `epsilon` is multiplied by it after each sweep, 0 to 1.
    safeguard : bool, optional
        Whether the factor is tested, and replaced by a simpler one if it is bad; by default for
        `method` "jacobi".
    solve_sweeps : int
        Jacobi iterations in place of each triangular solve, 0 to 1000; 0: exact solves.
    precision : {"working", "f32"}
        f32: the factor is computed and stored in float32, in half of the memory, unless numbers
        are beyond its range.
    max_levels : int, optional
        Refuses factors of more levels, which a triangular solve passes one after another.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    Preconditioner

    Notes
    -----
    Blocks until the work is complete. ``M.update(values)`` factors new values on the same pattern.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("convection2d:20")
    >>> tessera.bicgstab(p.A, p.b, M=tessera.ilu(p.A))[1]
    0
    """
    if method not in ("level", "jacobi"):
        raise ValueError(f"method: {method!r} is neither 'level' nor 'jacobi'")
    if ordering not in (None, "amd", "rcm", "natural"):
        raise ValueError(f"ordering: {ordering!r} is none of 'amd', 'rcm', 'natural'")
    if pivoting not in ("complete", "partial", "static"):
        raise ValueError(f"pivoting: {pivoting!r} is none of 'complete', 'partial', 'static'")
    if precision not in ("working", "f32"):
        raise ValueError(f"precision: {precision!r} is neither 'working' nor 'f32'")
    size = "" if block_size is None else f":{whole(block_size, 'block_size', 1, 32)}"
    text = f"ilu{size},fill={whole(fill, 'fill', 0, 1000)},method={method}"
    text += f",sweeps={whole(sweeps, 'sweeps', 1, 1000)},delta={number(delta, 'delta', 0, 1)!r}"
    text += f",solve_sweeps={whole(solve_sweeps, 'solve_sweeps', 0, 1000)},precision={precision}"
    for name, choice in (("matching", matching), ("safeguard", safeguard)):
        if choice is not None:
            text += f",{name}={'on' if flag(choice, name) else 'off'}"
    if max_levels is not None:
        text += f",max_levels={whole(max_levels, 'max_levels', 1, 2**31 - 1)}"
    text += f",pivoting={pivoting}"
    if flag(outer, "outer"):
        text += f",outer=on,outer_threshold={number(outer_threshold, 'outer_threshold', 0, 1)!r}"
    if ordering is not None:
        text += f",ordering={ordering}"
    if drop is not None:
        share = number(drop, "drop", finite=True)
        text += f",drop={share!r},max={number(max_entries, 'max_entries', finite=True)!r}"
    if epsilon is not None:
        bound = number(epsilon, "epsilon", finite=True)
        text += f",epsilon={bound!r}"
    return of_text(A, text, "A", dtype, stream, device)
