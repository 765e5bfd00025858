"""Preconditioners: approximate inverses as linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import number, whole
from ._arrays import FLOAT64, HOST, kind_of, named_type, real_type, view
from ._backend import core
from ._contexts import call_context, new_context
from ._matrices import build, checked_values, fault, owners, without_values
from ._operators import LinearOperator, parts_of
from ._texts import checked_text

__all__ = [
    "Preconditioner",
    "block_jacobi",
    "block_ldlt",
    "jacobi",
    "polynomial",
    "preconditioner",
]


class Preconditioner(LinearOperator):
    """An approximate inverse of a matrix: ``M @ r`` is about ``solve(A, r)``.

    A `LinearOperator`; also accepted by ``scipy.sparse.linalg.cg(A, b, M=M)`` and by
    ``cupyx.scipy.sparse.linalg.cg``.
    """

    def __init__(self, a: Any, make: Any, dtype: Any, stream: Any, device: Any) -> None:
        # Set up on a context of its own, so that several threads may apply it.
        parts, of_matrix = parts_of(a)
        chosen = of_matrix if dtype is None else named_type(dtype)
        kind, place = parts.kind, parts.device
        if device is not None and place == HOST:
            context = device_context(device)
            place = context.device if context.on_gpu else HOST
        else:
            context = new_context(kind, place, stream)
        self._matrix = build(parts, context, chosen)
        self._parts = without_values(parts)
        if self._matrix.rows != self._matrix.columns:
            shape = (self._matrix.rows, self._matrix.columns)
            raise ValueError(f"A: a square matrix is needed, the shape is {shape}")
        self._context = context
        try:
            made = make(context, self._matrix)
        except ValueError as error:
            if str(error).startswith("coordinates: "):
                raise
            raise ValueError(f"A: {fault(self._matrix, error)}") from None
        super().__init__(made, kind, place)
        self._report: dict[str, Any] | None = None
        if self.report["unusable"]:
            raise ValueError(f"A: {fault(self._matrix, self.report['unusable'])}")

    def update(self, values: Any) -> None:
        """Sets up again for other values on the same pattern.

        Parameters
        ----------
        values : array or sparse matrix
            In the order of the values given first, or a matrix of the same format and pattern.

        Raises
        ------
        RuntimeError
            If another thread, or a solve that calls this from its callback, uses the object.
        """
        found = checked_values(self._parts, values, self.dtype, "values")
        if found.device != HOST:
            call_context(found.kind, found.device).synchronize()
        self._report = None
        try:
            self._map.update(found.pointer, owners(self._parts, found))
        except ValueError as error:
            raise ValueError(f"values: {fault(self._matrix, error)}") from None

    @property
    def text(self) -> str:
        """Name and options, as the command line takes them: "block_jacobi:32,singular=stop"."""
        return str(self._map.describe())

    @property
    def report(self) -> dict[str, Any]:
        """What the latest setup or update found: numbers of blocks, condition numbers, levels,
        warnings. Waits at the first look."""
        if self._report is None:
            self._report = self._map.report()
        return self._report

    def __repr__(self) -> str:
        return f"<{self.text} of shape {self.shape}, {self.dtype}>"


def device_context(device: Any, threads: int = 0) -> Any:
    """The context of a device by name: None or "cpu", "cuda", "cuda:K", "auto"."""
    if device is None or device == "cpu":
        return core.cpu_context(threads)
    if not isinstance(device, str):
        raise TypeError(f"device: expected a text such as 'cuda:0', got {type(device).__name__}")
    name, _, index = device.partition(":")
    if device == "auto":
        return (
            core.cuda_context(0, 0, threads)
            if core.cuda_devices()[0]
            else core.cpu_context(threads)
        )
    if name != "cuda" or not (index == "" or (index.isdecimal() and len(index) < 6)):
        raise ValueError(f"device: {device!r} is none of 'cpu', 'cuda', 'cuda:K' and 'auto'")
    return core.cuda_context(int(index or 0), 0, threads)


def points_of(coordinates: Any, name: str = "coordinates") -> Any:
    """An (n, 2) or (n, 3) array of float64 on the host."""
    found = host_array(coordinates, name)
    if found.ndim != 2 or found.shape[1] not in (2, 3):
        raise ValueError(f"{name}: expected the shape (nodes, 2) or (nodes, 3), got {found.shape}")
    return found


def host_array(array: Any, name: str) -> Any:
    """A small array as one of NumPy in float64; one on a GPU is copied."""
    kind = kind_of(array, name)
    if kind.name == "CuPy":
        array = array.get()
    elif kind.name == "torch":
        array = array.detach().cpu().numpy()
    elif kind.name == "Warp":
        array = array.numpy()
    elif kind.name == "array":
        found = view(array, name)
        if found.device != HOST:
            raise TypeError(f"{name}: expected an array of the host, or of a library that copies")
        array = found.array
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    real_type(array.dtype, name)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: it holds NaN or infinity")
    return np.ascontiguousarray(array, FLOAT64)


def coordinates_of(coordinates: Any) -> tuple[Any, list[int]]:
    """Points, and the unknowns of rows where nodes have fewer than directions: a pair, or points
    alone."""
    if coordinates is None:
        return None, []
    if isinstance(coordinates, tuple) and len(coordinates) == 2:
        unknowns = np.asarray(coordinates[1])
        if unknowns.ndim != 1 or unknowns.dtype.kind not in "iu":
            raise TypeError(
                "coordinates: the second of a pair has for each row the number of its unknown, "
                "node * dimensions + axis"
            )
        return points_of(coordinates[0]), unknowns.tolist()
    return points_of(coordinates), []


def check_coordinates(points: Any, unknowns: list[int], matrix: Any) -> None:
    """ValueError unless these are the nodes of a matrix, whose unknowns are found where some lack
    a few."""
    if points is None:
        return
    rows, nodes = matrix.rows, points.shape[0]
    if unknowns:
        if len(unknowns) != rows:
            raise ValueError(f"coordinates: {len(unknowns)} unknowns of rows, A has {rows} rows")
        count, numbers = points.size, np.array(unknowns)
        wrong = (numbers < 0) | (numbers >= count)
        wrong[1:] |= numbers[1:] <= numbers[:-1]
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"coordinates: the unknowns of rows ascend from 0 to {count - 1}; row {row} has "
                f"{unknowns[row]}"
            )
    elif nodes == 0 or rows % nodes or rows // nodes > 8:
        offsets = matrix.blocks(8, True) if nodes < rows < points.size else np.zeros(1)
        if len(offsets) == nodes + 1 and np.diff(offsets).max() == points.shape[1]:
            return
        raise ValueError(
            f"coordinates: {nodes} nodes do not fit a matrix of {rows} rows, whose nodes have "
            "equally many rows, at most 8, or are not seen in its pattern; where nodes lack "
            "unknowns, give (points, unknowns)"
        )


def preconditioner(
    A: Any, text: str, *, coordinates: Any = None, dtype: Any = None, stream: Any = None,
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
        matrix with all unknowns.
    dtype : float32 or float64, optional
        By default that of `A`.
    stream : int or object with ``__cuda_stream__``, optional
        Of the setup; by default the current one.
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
    Waits.
    """
    checked_text(text, "text", "M", auto=False)
    if text == "none":
        raise ValueError("text: 'none' is no preconditioner")
    points, unknowns = coordinates_of(coordinates)

    def make(context: Any, matrix: Any) -> Any:
        check_coordinates(points, unknowns, matrix)
        return core.preconditioner(context, matrix, text, points, unknowns)

    return Preconditioner(A, make, dtype, stream, device)


def jacobi(A: Any, *, dtype: Any = None, stream: Any = None) -> Preconditioner:
    """The inverse of the diagonal of `A`.

    Parameters
    ----------
    A : sparse matrix
        As in `preconditioner`.
    dtype, stream
        As in `preconditioner`.

    Returns
    -------
    Preconditioner

    Raises
    ------
    TypeError, ValueError
        As `preconditioner`; also for a diagonal with zeros.

    Notes
    -----
    Waits.
    """
    return preconditioner(A, "jacobi", dtype=dtype, stream=stream)


def block_jacobi(
    A: Any,
    block_size: int | None = None,
    storage: str = "adaptive",
    *,
    bound: int = 32,
    singular: str = "stop",
    dtype: Any = None,
    stream: Any = None,
) -> Preconditioner:
    """Inverses of diagonal blocks of `A`.

    Parameters
    ----------
    A : sparse matrix
        As in `preconditioner`.
    block_size : int, optional
        All blocks have this many rows, 1 to 64. By default consecutive rows of equal pattern,
        joined up to `bound` rows.
    storage : {"adaptive", "working", "f64", "f32", "bf16", "f16"}
        How inverses are stored; adaptive: each in the smallest format that its condition number
        allows.
    bound : int
        Most rows of a block, 1 to 64, where `block_size` is not given.
    singular : {"stop", "identity", "shift", "generalised"}
        What to do with a singular block; stop: ValueError.
    dtype, stream
        As in `preconditioner`.

    Returns
    -------
    Preconditioner

    Notes
    -----
    Waits.
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
    return preconditioner(A, text, dtype=dtype, stream=stream)


def polynomial(
    A: Any,
    kind: str = "chebyshev",
    degree: int = 6,
    *,
    values: str = "working",
    format: str | None = None,
    dtype: Any = None,
    stream: Any = None,
) -> Preconditioner:
    """A polynomial of the scaled matrix, for symmetric positive definite `A`.

    Parameters
    ----------
    A : sparse matrix
        As in `preconditioner`.
    kind : {"chebyshev", "chebyshev4", "chebyshev4_optimal", "least_squares", "neumann"}
        Which one (docs/guide/options.md).
    degree : int
        Products with the matrix in one application, 1 to 16; even ones are better.
    values : {"working", "f32", "f16", "bf16"}
        Type that values are stored in.
    format : str, optional
        Of the products, such as "sbell:3"; by default "csr", and "sbell" for other `values`.
    dtype, stream
        As in `preconditioner`.

    Returns
    -------
    Preconditioner

    Notes
    -----
    Waits.
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
    return preconditioner(A, text, dtype=dtype, stream=stream)


def block_ldlt(
    A: Any,
    block_size: int = 8,
    *,
    fill: int = 0,
    method: str = "jacobi",
    epsilon: float | None = None,
    positive_definite: bool = False,
    dtype: Any = None,
    stream: Any = None,
) -> Preconditioner:
    """Incomplete factors L D L^T in blocks, for symmetric `A`, also indefinite.

    Parameters
    ----------
    A : sparse matrix
        As in `preconditioner`; both triangles are stored.
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
    dtype, stream
        As in `preconditioner`.

    Returns
    -------
    Preconditioner

    Notes
    -----
    Waits.
    """
    if isinstance(block_size, bool) or block_size not in (1, 4, 8, 16, 32):
        raise ValueError(f"block_size: {block_size!r} is none of 1, 4, 8, 16, 32")
    if method not in ("jacobi", "level"):
        raise ValueError(f"method: {method!r} is neither 'jacobi' nor 'level'")
    text = f"block_ldlt:{block_size},fill={whole(fill, 'fill', 0, 1000)},method={method}"
    if epsilon is not None:
        least = number(epsilon, "epsilon")
        if least == np.inf:
            raise ValueError("epsilon: it is infinite")
        text += f",epsilon={least!r}"
    if positive_definite:
        text += ",positive_definite"
    return preconditioner(A, text, dtype=dtype, stream=stream)
