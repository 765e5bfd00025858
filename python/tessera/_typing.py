"""Types of arguments: what arrays and matrices of NumPy, SciPy, CuPy, torch, JAX and Warp have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Union


class Array(Protocol):
    """An array of any library, or a sparse matrix."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


class HasMatvec(Protocol):
    """A LinearOperator of SciPy, CuPy or this package, or an object like it."""

    @property
    def shape(self) -> Any: ...

    def matvec(self, x: Any, /) -> Any: ...


Matrix = Union[Array, HasMatvec, tuple[Array, Array, Array], Callable[[Any], Any]]
"""A sparse matrix, (indptr, indices, data), an operator, or a function of a vector."""

Preconditioning = Union[str, Array, HasMatvec, Callable[[Any], Any], None]
"""A text such as "amg", a preconditioner, an operator, a function, or None."""

Coordinates = Union[Array, tuple[Array, Any], None]
"""Positions of nodes, or (positions, unknowns)."""
