"""Preconditioners: approximate inverses as linear operators."""

from __future__ import annotations

from typing import Any

from ._arguments import whole
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
    return of_text(A, text, "text", dtype, stream, device, coordinates)


def of_text(
    a: Any, text: str, name: str, dtype: Any, stream: Any, device: Any, coordinates: Any = None
) -> Preconditioner:
    """The preconditioner of a text. `name`: the argument that errors of the setup name."""
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
    return of_text(A, "jacobi", "A", dtype, stream, device)


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
        rows = whole(bound, "bound", 1, 64)
        text = f"block_jacobi:{rows}"
    formats = ("adaptive", "working", "f64", "f32", "bf16", "f16")
    if storage not in formats:
        raise ValueError(f"storage: {storage!r} is none of {', '.join(formats)}")
    policies = ("stop", "identity", "shift", "generalised")
    if singular not in policies:
        raise ValueError(f"singular: {singular!r} is none of {', '.join(policies)}")
    text += f",precision={storage},singular={singular}"
    return of_text(A, text, "A", dtype, stream, device)


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
    return of_text(A, text, "A", dtype, stream, device)
