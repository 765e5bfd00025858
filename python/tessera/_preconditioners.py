"""Preconditioners: approximate inverses as linear operators."""

from __future__ import annotations

from typing import Any

from ._arguments import flag, number, whole
from ._arrays import HOST, named_type
from ._backend import core
from ._contexts import call_context, place_of, setup_context
from ._coordinates import check_coordinates, coordinates_of, require_use
from ._errors import fault, raise_named
from ._matrices import build, checked_values, owners, without_values
from ._operators import LinearOperator, parts_of
from ._texts import checked_text
from ._typing import Coordinates, Matrix

__all__ = [
    "Preconditioner",
    "block_jacobi",
    "block_ldlt",
    "ilu",
    "jacobi",
    "polynomial",
    "preconditioner",
]


class Preconditioner(LinearOperator):
    """An approximate inverse of a matrix: ``M @ r`` is about ``solve(A, r)``.

    A `LinearOperator`; also accepted by ``scipy.sparse.linalg.cg(A, b, M=M)`` and by
    ``cupyx.scipy.sparse.linalg.cg``.
    """

    def __init__(
        self, a: Any, make: Any, dtype: Any, stream: Any, device: Any, context: Any = None
    ) -> None:
        parts, of_matrix = parts_of(a)
        chosen = of_matrix if dtype is None else named_type(dtype)
        if context is None:  # One of its own, so that several threads may apply it.
            context = setup_context(parts.kind, parts.device, device, stream)
        self._matrix = build(parts, context, chosen)
        self._parts = without_values(parts, self._matrix)
        if self._matrix.rows != self._matrix.columns:
            shape = (self._matrix.rows, self._matrix.columns)
            raise ValueError(f"A: a square matrix is needed, the shape is {shape}")
        self._context = context
        super().__init__(make(context, self._matrix), parts.kind, place_of(context))
        self._look("A")

    def _look(self, name: str) -> None:
        """Reads the report of a setup while no other call uses the object. Raises ValueError, which
        names the argument, if solves must not start."""
        self._report: dict[str, Any] | None = self._map.report()
        unusable = self._report["unusable"]
        if unusable:
            raise ValueError(f"{name}: {fault(self._matrix, unusable)}")

    def update(self, values: Any) -> None:
        """Sets up again for other values on the same pattern.

        Parameters
        ----------
        values : array or sparse matrix
            In the order of the values given first, or a matrix of the same format and pattern.

        Raises
        ------
        TypeError, ValueError
            For values that do not fit, or that have singular blocks. Values that do not fit change
            nothing; after another error the object cannot be applied until an update succeeds.
        RuntimeError
            If another thread, or a solve that calls this from its callback, uses the object.

        Notes
        -----
        Waits.
        """
        found = checked_values(self._parts, values, self.dtype, "values")
        if found.device != HOST:
            call_context(found.kind, found.device).synchronize()
        self._updates += 1
        try:
            self._map.update(found.pointer, owners(self._parts, found))
        except ValueError as error:
            self._report = None
            raise_named(error, "values", self._matrix, matrix="values", preconditioner="values")
        self._look("values")

    @property
    def text(self) -> str:
        """Name and options, as the command line takes them: "block_jacobi:32,singular=stop"."""
        return str(self._map.describe())

    @property
    def report(self) -> dict[str, Any]:
        """What the latest setup or update found: numbers of blocks, condition numbers, levels,
        warnings."""
        if self._report is None:
            self._report = self._map.report()
        return self._report

    def __repr__(self) -> str:
        return f"<{self.text} of shape {self.shape}, {self.dtype}>"


def preconditioner(
    A: Matrix, text: str, *, coordinates: Coordinates = None, dtype: Any = None, stream: Any = None,
    device: str | None = None,
) -> Preconditioner:  # fmt: skip
    """The preconditioner that a text names.

    Parameters
    ----------
    A : sparse matrix
        Square; see `tessera.cg`. Its arrays must not change but by `update`.
    text : str
        "jacobi", "block_jacobi:24,precision=adaptive", "chebyshev:6,values=f16",
        "block_ldlt:8,fill=1", "amg"; docs/guide/options.md lists all.
    coordinates : array of shape (nodes, 2 or 3), optional
        Positions of the nodes, for amg. Where some nodes have fewer unknowns than directions, as on
        planes of symmetry, these are found, or given by (points, unknowns): for each row
        ``node * dimensions + axis``, ascending, which are the numbers of the rows that are left of a
        matrix with all unknowns. In float64 on the host they are not copied, and must not change.
    dtype : float32 or float64, optional
        By default that of `A`.
    stream : int or object with ``__cuda_stream__``, optional
        Stream of the setup; by default the current one.
    device : str, optional
        "cuda:0" copies a matrix of the host to a GPU.

    Returns
    -------
    Preconditioner

    Raises
    ------
    TypeError, ValueError
        For a text or a matrix that does not fit, and for singular blocks unless the text says what
        to do with them. The message names the argument.

    Notes
    -----
    Blocks until the work is complete.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("poisson2d:20")
    >>> M = tessera.preconditioner(p.A, "block_jacobi:8")
    >>> M.text
    'block_jacobi:8,singular=stop'
    >>> x, info = tessera.cg(p.A, p.b, M=M)
    >>> info
    0
    """
    checked_text(text, "text", "M", auto=False)
    if text == "none":
        raise ValueError("text: 'none' is no preconditioner")
    require_use(coordinates, text, "text")
    return _of_text(A, text, "text", dtype, stream, device, coordinates)


def _of_text(
    a: Any, text: str, name: str, dtype: Any, stream: Any, device: Any, coordinates: Any = None
) -> Preconditioner:
    """`name`: the argument that errors of the setup name."""
    points, unknowns = coordinates_of(coordinates)

    def make(context: Any, matrix: Any) -> Any:
        check_coordinates(points, unknowns, matrix)
        try:
            return core.preconditioner(context, matrix, text, points, unknowns or [])
        except ValueError as error:
            raise_named(error, name, matrix, preconditioner=name)

    return Preconditioner(a, make, dtype, stream, device)


def jacobi(
    A: Any, *, dtype: Any = None, stream: Any = None, device: str | None = None
) -> Preconditioner:
    """The inverse of the diagonal of `A`.

    Parameters
    ----------
    A : sparse matrix
        See `preconditioner`.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    Preconditioner

    Raises
    ------
    TypeError, ValueError
        As `preconditioner`; also for a diagonal with zeros.

    Notes
    -----
    Blocks until the work is complete.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tessera
    >>> tessera.jacobi(sp.csr_array([[2.0, 1.0], [1.0, 4.0]])) @ np.array([1.0, 1.0])
    array([0.5 , 0.25])
    """
    return _of_text(A, "jacobi", "A", dtype, stream, device)


def block_jacobi(
    A: Matrix,
    block_size: int | None = None,
    storage: str = "adaptive",
    *,
    bound: int = 32,
    singular: str = "stop",
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> Preconditioner:
    """Inverses of diagonal blocks of `A`.

    Parameters
    ----------
    A : sparse matrix
        See `preconditioner`.
    block_size : int, optional
        All blocks have this many rows, 1 to 64. By default consecutive rows of equal pattern,
        joined up to `bound` rows.
    storage : {"adaptive", "working", "f64", "f32", "bf16", "f16"}
        How inverses are stored; adaptive: each in the smallest format that its condition number
        allows.
    bound : int
        Maximum number of rows of a block, 1 to 64, if `block_size` is not given.
    singular : {"stop", "identity", "shift", "generalised"}
        What to do with a singular block; stop: ValueError.
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
    >>> p = tessera.problems("elasticity3d:4")
    >>> M = tessera.block_jacobi(p.A, 3)
    >>> M.report["largest_block"], M.report["blocks"] == p.b.size // 3
    (3, True)
    >>> tessera.cg(p.A, p.b, M=M)[1]
    0
    """
    if block_size is not None:
        size = whole(block_size, "block_size", 1, 64)
        text = f"block_jacobi:{size},blocks=uniform:{size}"
    else:
        most = whole(bound, "bound", 1, 64)
        text = f"block_jacobi:{most}"
    formats = ("adaptive", "working", "f64", "f32", "bf16", "f16")
    if storage not in formats:
        raise ValueError(f"storage: {storage!r} is none of {', '.join(formats)}")
    policies = ("stop", "identity", "shift", "generalised")
    if singular not in policies:
        raise ValueError(f"singular: {singular!r} is none of {', '.join(policies)}")
    text += f",precision={storage},singular={singular}"
    return _of_text(A, text, "A", dtype, stream, device)


def polynomial(
    A: Matrix,
    kind: str = "chebyshev",
    degree: int = 6,
    *,
    values: str = "working",
    format: str | None = None,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> Preconditioner:
    """A polynomial of the scaled matrix, for symmetric positive definite `A`.

    Parameters
    ----------
    A : sparse matrix
        See `preconditioner`.
    kind : {"chebyshev", "chebyshev4", "chebyshev4_optimal", "least_squares", "neumann"}
        Which one (docs/guide/options.md).
    degree : int
        Products with the matrix in one application, 1 to 16; even ones are better.
    values : {"working", "f32", "f16", "bf16"}
        Type that values are stored in.
    format : str, optional
        Format of the products, such as "sbell:3"; by default "csr", and "sbell" for other `values`.
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
    >>> steps = []
    >>> x, info = tessera.cg(p.A, p.b, M=tessera.polynomial(p.A, degree=4), callback=steps.append)
    >>> plain = []
    >>> x, info = tessera.cg(p.A, p.b, callback=plain.append)
    >>> len(steps) < len(plain) / 2
    True
    """
    kinds = ("chebyshev", "chebyshev4", "chebyshev4_optimal", "least_squares", "neumann")
    if kind not in kinds:
        raise ValueError(f"kind: {kind!r} is none of {', '.join(kinds)}")
    steps = whole(degree, "degree", 1, 16)
    if values not in ("working", "f32", "f16", "bf16"):
        raise ValueError(f"values: {values!r} is none of working, f32, f16, bf16")
    if format is None and values != "working":
        format = "sbell"
    text = f"{kind}:{steps}" + (f",values={values}" if values != "working" else "")
    if format is not None:
        checked_text(format, "format", auto=False)
        text += f",format={format}"
    return _of_text(A, text, "A", dtype, stream, device)


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
        least = number(epsilon, "epsilon", finite=True)
        text += f",epsilon={least!r}"
    if flag(positive_definite, "positive_definite"):
        text += ",positive_definite"
    return _of_text(A, text, "A", dtype, stream, device)


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
    size = 0 if block_size is None else whole(block_size, "block_size", 1, 32)
    text = f"ilu:{size},fill={whole(fill, 'fill', 0, 1000)},method={method}"
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
        least = number(epsilon, "epsilon", finite=True)
        text += f",epsilon={least!r}"
    return _of_text(A, text, "A", dtype, stream, device)
