"""Looks at arrays without a copy, and checks their types."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._libraries import (
    CUPY,
    FLOAT32,
    FLOAT64,
    HOST,
    INT32,
    JAX,
    NUMPY,
    OTHER,
    TORCH,
    WARP,
    Kind,
    View,
)

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "HOST",
    "INT32",
    "NUMPY",
    "TORCH",
    "Kind",
    "View",
    "about",
    "kind_of",
    "named_type",
    "real_type",
    "require_real",
    "source_of",
    "turned_values",
    "values",
    "view",
]

_kinds: dict[type, Kind] = {np.ndarray: NUMPY}


def _is_jax_array(array: Any) -> bool:
    """Whether an object of JAX is an array; its sparse matrices are none."""
    jax = sys.modules.get("jax")
    return jax is None or isinstance(array, jax.Array)


def _find_kind(array: Any) -> Kind | None:
    if isinstance(array, (np.ndarray, np.generic, list, tuple, float, int)):
        return NUMPY
    module = type(array).__module__.split(".")[0]
    for name, kind in (("cupy", CUPY), ("jax", JAX), ("jaxlib", JAX), ("warp", WARP)):
        if module == name:
            return None if kind is JAX and not _is_jax_array(array) else kind
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return TORCH
    for attribute in ("__cuda_array_interface__", "__dlpack__", "__array_interface__"):
        if hasattr(array, attribute):
            return OTHER
    return None


def kind_of(array: Any, name: str) -> Kind:
    """The kind of an array; TypeError, which names the argument, if it is none."""
    found = _kinds.get(type(array))
    if found is None:
        found = _find_kind(array)
        if found is None:
            raise TypeError(f"{name}: expected an array, got {type(array).__name__}")
        _kinds[type(array)] = found
    return found


def view(array: Any, name: str) -> View:
    """Looks at an array without a copy. Errors name the argument."""
    kind = _kinds.get(type(array)) or kind_of(array, name)
    try:
        return kind.view(array)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def require_real(dtype: np.dtype[Any], name: str) -> None:
    """TypeError for complex numbers, texts and objects, and for 16-bit and long double numbers."""
    if dtype.kind in "iub":
        return
    if dtype.kind == "c":
        raise TypeError(f"{name}: complex values are not supported")
    if dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise TypeError(f"{name}: values of type {dtype} are not supported; use float32 or float64")


def real_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """float32 for float32, else float64; integers become float64."""
    if dtype is FLOAT64 or dtype is FLOAT32:
        return dtype
    require_real(dtype, name)
    return FLOAT32 if dtype == FLOAT32 else FLOAT64


def named_type(dtype: Any, name: str = "dtype") -> np.dtype[Any]:
    """float32 or float64, by what a caller gave: as `real_type`."""
    try:
        given = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{name}: {dtype!r} is no type; use float32 or float64") from None
    return real_type(given, name)


def source_of(array: Any, found: View) -> Any:
    """The array that `found` is the view of, as functions of its kind take it."""
    return found.array if found.kind is NUMPY else array


def values(array: Any, dtype: np.dtype[Any], name: str) -> View:
    """The view of an array in C order with values of `dtype`, float32 or float64."""
    found = view(array, name)
    if found.dtype == dtype and found.contiguous:
        return found
    require_real(found.dtype, name)
    with about(name):
        return found.kind.view(found.kind.converted(source_of(array, found), dtype))


def turned_values(array: Any, dtype: np.dtype[Any], name: str) -> View:
    """Like `values`, with the last two axes exchanged; a copy unless it is in Fortran's order."""
    found = view(array, name)
    with about(name):
        turned = found.kind.transposed(source_of(array, found))
    return values(turned, dtype, name)


@contextmanager
def about(name: str) -> Iterator[None]:
    """TypeErrors of a library of arrays name the argument."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
