"""Generated systems, files, and what a matrix looks like."""

from __future__ import annotations

import errno
import importlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._archives import Damaged, is_npz, read_npz, unpacked
from ._arguments import flag, whole
from ._arrays import HOST, NUMPY, named_type, real_type, values, view
from ._backend import core
from ._contexts import host_context, new_context
from ._coordinates import check_coordinates, coordinates_of
from ._errors import ParseError, raise_named
from ._matrices import build, take_apart
from ._operators import SparseMatrix
from ._texts import require_utf8, text_of_path

__all__ = ["Problem", "find_blocks", "info", "problems", "read", "read_vector", "write"]


@dataclass(eq=False)  # For arrays == is no bool.
class Problem:
    """A generated system A x = b.

    Attributes
    ----------
    A : scipy.sparse.csr_array, or tuple
        ``(indptr, indices, data)`` where SciPy is not installed.
    b : numpy.ndarray
    coordinates : numpy.ndarray of shape (nodes, 2 or 3), tuple or None
        Positions of the nodes, as `solve` takes them.
    block : int
        Unknowns of a node; 1 if they vary.
    name : str
    """

    A: Any
    b: Any
    coordinates: Any
    block: int
    name: str

    def __repr__(self) -> str:
        rows = self.b.shape[0]
        return f"<Problem {self.name}: {rows} rows, {self.block} unknowns per node>"


def _matrix(arrays: tuple[Any, ...]) -> Any:
    rows, columns, indptr, indices, data = arrays
    try:
        sparse = importlib.import_module("scipy.sparse")
    except ImportError:
        if rows != columns:
            raise ImportError(
                f"the matrix has {rows} rows and {columns} columns, which (indptr, indices, data) "
                "cannot say; pip install scipy"
            ) from None
        return indptr, indices, data
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns), copy=False)


def problems(name: str, dtype: Any = np.float64) -> Problem:
    """Generates a system by name.

    Parameters
    ----------
    name : str
        Such as "elasticity3d:20", "poisson3d:50", "cantilever3d:8,length=8", "kkt:1000";
        ``tessera.problem_names()`` lists all, docs/guide/options.md their options.
    dtype : float32 or float64
        Type of `A` and `b`.

    Returns
    -------
    Problem
        On the host.

    Raises
    ------
    TypeError, ValueError
        For an unknown name or option, or another type; the message names the argument.

    Examples
    --------
    >>> import tessera
    >>> p = tessera.problems("elasticity2d:4")
    >>> p
    <Problem elasticity2d:4: 40 rows, 2 unknowns per node>
    >>> p.A.shape, p.b.shape, p.coordinates.shape
    ((40, 40), (40,), (20, 2))
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected a text, got {type(name).__name__}")
    require_utf8(name, "name")
    chosen = named_type(dtype)
    try:
        arrays, load, points, unknowns, text, block = core.generate(
            host_context(), name, chosen.itemsize
        )
    except ValueError as error:
        raise ValueError(f"name: {error}") from None
    coordinates = points if unknowns is None else (points, unknowns)
    return Problem(_matrix(arrays), load, coordinates, block, text)


def _existing(path: Any) -> str:
    found = text_of_path(path, "path")
    if not os.path.exists(found):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), found)
    return found


def read(path: str | os.PathLike[str], dtype: Any = np.float64) -> Any:
    """Reads a sparse matrix: Matrix Market, Harwell-Boeing, Rutherford-Boeing, PETSc binary, systems
    of AMGX, also compressed by gzip, xz or bzip2, or alone in a zip or tar archive, or NAME.mtx
    beside NAME_b.mtx there, as in the SuiteSparse collection; and what scipy.sparse.save_npz
    writes. Recognised by content.

    Parameters
    ----------
    path : path
        Path of the file.
    dtype : float32 or float64
        Type of the values.

    Returns
    -------
    scipy.sparse.csr_array, or tuple
        On the host; ``(indptr, indices, data)`` where SciPy is not installed.

    Raises
    ------
    ParseError
        A ValueError with the file and the first bad line.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the path is not UTF-8.
    ImportError
        Without SciPy for a file of scipy.sparse.save_npz, and for a matrix that is not square.

    Examples
    --------
    >>> import os, tempfile
    >>> import scipy.sparse as sp, tessera
    >>> path = os.path.join(tempfile.mkdtemp(), "a.mtx")
    >>> tessera.write(path, sp.csr_array([[2.0, 0.0], [1.0, 3.0]]))
    >>> tessera.read(path).toarray()
    array([[2., 0.],
           [1., 3.]])
    """
    file = _existing(path)
    chosen = named_type(dtype)
    try:
        if is_npz(file):
            return read_npz(file, chosen)
        with unpacked(file) as path_on_disk:
            try:
                return _matrix(core.read_matrix(host_context(), path_on_disk, chosen.itemsize))
            except ParseError as error:
                if "$MeshFormat" in str(error):
                    raise ParseError(
                        f"{file} is a mesh, not a matrix: tessera.structures.Structure(path, "
                        "fix=..., load=...) makes its system"
                    ) from None
                if path_on_disk == file:
                    raise
                raise ParseError(str(error).replace(path_on_disk, file)) from None
    except Damaged as error:
        raise ParseError(str(error)) from None


def read_vector(path: str | os.PathLike[str], dtype: Any = np.float64) -> Any:
    """Reads a vector: Matrix Market with one column or row, PETSc binary, or text with numbers
    alone.

    Parameters
    ----------
    path : path
        Path of the file.
    dtype : float32 or float64
        Type of the values.

    Returns
    -------
    numpy.ndarray of shape (n,)
        On the host.

    Raises
    ------
    ParseError, FileNotFoundError, ValueError
        As `read`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tessera
    >>> path = os.path.join(tempfile.mkdtemp(), "b.mtx")
    >>> tessera.write(path, np.array([1.0, 2.5]))
    >>> tessera.read_vector(path)
    array([1. , 2.5])
    """
    file = _existing(path)
    chosen = named_type(dtype)
    return core.read_vector(host_context(), file, chosen.itemsize)


def write(path: str | os.PathLike[str], a: Any, symmetry: str = "general") -> None:
    """Writes a sparse matrix or a vector of the host.

    Parameters
    ----------
    path : path
        The ending chooses the format: .mtx, .mtx.gz (Matrix Market; numbers read back bitwise) or
        .petsc. A file is replaced as a whole or not at all.
    a : sparse matrix or vector
        One on a GPU is a ValueError.
    symmetry : {"general", "symmetric", "skew_symmetric"}
        Other than general: the lower triangle is written.

    Raises
    ------
    ValueError
        If the matrix does not have that symmetry, for another ending, for values that are not
        finite, and for a path that is not UTF-8.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import scipy.sparse as sp, tessera
    >>> path = os.path.join(tempfile.mkdtemp(), "a.mtx")
    >>> tessera.write(path, sp.csr_array([[2.0, 1.0], [1.0, 3.0]]), symmetry="symmetric")
    >>> print(open(path).read().splitlines()[0])
    %%MatrixMarket matrix coordinate real symmetric
    """
    if not isinstance(symmetry, str):
        raise TypeError(f"symmetry: expected a text, got {type(symmetry).__name__}")
    if symmetry not in ("general", "symmetric", "skew_symmetric"):
        raise ValueError(f"symmetry: {symmetry!r} is none of general, symmetric, skew_symmetric")
    file = text_of_path(path, "path")
    try:
        if (np.ndim(a) if isinstance(a, list) else getattr(a, "ndim", 0)) == 1:
            given = view(a, "a")
            _require_host(given.device)
            found = values(a, real_type(given.dtype, "a"), "a")
            core.write_vector(
                host_context(), file, found.pointer, found.shape[0], found.dtype.itemsize
            )
            return
        if isinstance(a, SparseMatrix):
            _require_host(a._device)
            matrix = a._matrix
        else:
            parts = take_apart(a, "a")
            _require_host(parts.device)
            matrix = build(parts, new_context(NUMPY, HOST), parts.dtype, "a")
        core.write_matrix(matrix, file, symmetry)
    except ValueError as error:
        raise_named(error, "a", matrix="a", vector="a", path="path")


def _require_host(device: int) -> None:
    if device != HOST:
        raise ValueError("a: it is on a GPU; copy it to the host first")


def _built(a: Any) -> Any:
    if isinstance(a, SparseMatrix):
        return a._matrix
    parts = take_apart(a)
    return build(parts, new_context(parts.kind, parts.device), parts.dtype)


def info(A: Any, coordinates: Any = None) -> dict[str, Any]:
    """What a square matrix looks like, and what "auto" chooses for it.

    Parameters
    ----------
    A : sparse matrix
        See `solve`; on the host or on a GPU.
    coordinates : array of shape (nodes, 2 or 3), optional
        Positions of the nodes, as in `solve`.

    Returns
    -------
    dict
        rows, nonzeros, symmetric (up to rounding), positive_diagonal, natural_blocks (of at most 8
        rows of equal pattern), largest_natural_block, rows_per_node, and attempts: (solver,
        preconditioner, format, reason) in the order in which they are tried.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.

    Notes
    -----
    Costs about as much as a few products with the matrix. Blocks until the work is complete.

    Examples
    --------
    >>> import tessera
    >>> found = tessera.info(tessera.problems("elasticity2d:8").A)
    >>> found["symmetric"], found["rows_per_node"]
    (True, 2)
    >>> solver, preconditioner, format, reason = found["attempts"][0]
    """
    points, unknowns = coordinates_of(coordinates)
    matrix = _built(A)
    if matrix.rows != matrix.columns:
        raise ValueError(
            f"A: a square matrix is needed, the shape is {(matrix.rows, matrix.columns)}"
        )
    check_coordinates(points, unknowns, matrix)
    result: dict[str, Any] = matrix.facts(points, unknowns or [])
    return result


def find_blocks(A: Any, bound: int = 32, natural: bool = False) -> Any:
    """Consecutive diagonal blocks of a square matrix: rows of equal pattern.

    Parameters
    ----------
    A : sparse matrix
        See `solve`; on the host or on a GPU.
    bound : int
        Maximum number of rows of a block, 1 to 64.
    natural : bool
        If False, adjacent groups are joined while they fit into `bound` rows.

    Returns
    -------
    numpy.ndarray of int32
        First row of each block, and the number of rows; on the host.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tessera
    >>> A = sp.block_diag([np.ones((2, 2)), np.ones((3, 3))], format="csr")
    >>> tessera.find_blocks(A, natural=True)
    array([0, 2, 5], dtype=int32)
    """
    most = whole(bound, "bound", 1, 64)
    natural = flag(natural, "natural")
    matrix = _built(A)
    if matrix.rows != matrix.columns:
        raise ValueError(
            f"A: a square matrix is needed, the shape is {(matrix.rows, matrix.columns)}"
        )
    return matrix.blocks(most, natural)


def problem_names() -> list[str]:
    """The names that `problems` knows.

    Returns
    -------
    list of str
        Without options, such as "elasticity3d".

    Examples
    --------
    >>> import tessera
    >>> "elasticity3d" in tessera.problem_names()
    True
    """
    return list(core.generator_names())
