"""Operators of the caller, of any library, as maps of the extension."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from ._arrays import HOST, NUMPY, Kind, about
from ._backend import core
from ._contexts import in_order, place_text
from ._matrices import build, is_matrix, take_apart
from ._operators import LinearOperator
from ._preconditioners import Preconditioner


def _references() -> int:
    own = object()
    return getrefcount(own)


_ALONE = _references()  # The count of an object that one variable alone holds.


def operator_type(a: Any, name: str) -> np.dtype[Any] | None:
    """The type of an operator of any library, if it says one; TypeError for complex numbers."""
    given = getattr(a, "dtype", None)
    if given is None:
        return None
    try:
        found: np.dtype[Any] = np.dtype(given)
    except TypeError:  # torch.float32, and types that NumPy has not.
        try:
            found = np.dtype(str(given).split(".")[-1])
        except TypeError:
            raise TypeError(f"{name}: the dtype {given!r} is no type of numbers") from None
    if found.kind == "c":
        raise TypeError(f"{name}: complex numbers are not supported, the dtype is {found}")
    return found


def function_of(a: Any, name: str) -> Callable[[Any], Any]:
    """The product with a vector of a LinearOperator of any library, or a callable."""
    found = getattr(a, "matvec", None)
    if found is None and callable(a):
        found = a
    if found is None:
        raise TypeError(
            f"{name}: expected a matrix, a LinearOperator or a callable, got {type(a).__name__}"
        )
    result: Callable[[Any], Any] = found
    return result


def _checked_result(y: Any, size: int, name: str) -> None:
    if not hasattr(y, "shape"):
        raise TypeError(f"{name}: the function returned {type(y).__name__}; expected an array")
    shape = tuple(y.shape)
    if shape not in ((size,), (size, 1)):
        raise ValueError(f"{name}: the function returned the shape {shape}; expected {(size,)}")


def function_map(
    a: Any, size: int, dtype: np.dtype[Any], kind: Kind, device: int, context: Any, name: str
) -> Any:
    """A function of the caller as a map on vectors of `kind`."""
    function = function_of(a, name)
    operator_type(a, name)
    free: list[Any] = []  # Vectors that no function has kept.

    def given(x: int) -> Any:
        """A copy of the vector at an address, as that is in memory of a solver."""
        try:
            own = free.pop()
        except IndexError:  # Also where another thread has taken the last one.
            own = kind.empty((size,), dtype, device)
        if kind is NUMPY:
            own.flags.writeable = False
        if device == HOST:
            core.copy_on_host(x, kind.address(own), size * dtype.itemsize)
        else:
            core.copy_values(context, x, kind.address(own), size, dtype.itemsize)
        return own

    def on_host(x: int, y: int) -> None:
        own = given(x)
        result = function(kind.finished(own, None))
        _checked_result(result, size, name)
        # Tensors of torch may need gradients, such as the results of modules.
        with about(name):
            numbers = NUMPY.view(result.detach() if hasattr(result, "detach") else result).array
        if numbers.dtype.kind == "c":
            raise TypeError(
                f"{name}: complex numbers are not supported, the function returned some"
            )
        numbers = np.ascontiguousarray(numbers, dtype)
        core.copy_on_host(NUMPY.address(numbers), y, size * dtype.itemsize)
        del result, numbers  # They may be the vector itself, or a part of it.
        if kind is NUMPY and getrefcount(own) == _ALONE:
            free.append(own)

    def on_gpu(x: int, y: int) -> None:
        out = kind.wrapped(y, size, dtype, device)
        own = given(x)
        with in_order(context, kind):
            result = function(kind.finished(own, context))
            _checked_result(result, size, name)
            kind.assign(out, kind.reshaped(result, (size,)))

    return core.python_operator(
        context, dtype.itemsize, size, size, on_host if device == HOST else on_gpu
    )


def map_solver(context: Any, method: str, a: Any, m: Any) -> Any:
    """A Krylov method on maps, which it keeps with the functions of Python in them."""
    made = core.Solver(context, method, "none", "csr")
    made.setup_operators(a, m)
    made.__dict__["maps"] = a, m
    return made


def operator_map(
    a: Any,
    size: int,
    dtype: np.dtype[Any],
    kind: Kind,
    device: int,
    context: Any,
    name: str,
) -> Any:
    """Anything that is a linear map of `size` rows as a map of the library."""
    shape = getattr(a, "shape", None)
    if shape is not None and tuple(shape) != (size, size):
        raise ValueError(f"{name}: the shape {tuple(shape)} does not fit ({size}, {size})")
    if isinstance(a, LinearOperator) and a._map is not None:
        if a._device != device:
            movable = isinstance(a, Preconditioner) and a._device == HOST
            remedy = "make it with device='cuda'" if movable else "move one"
            raise _elsewhere(name, a._device, device, remedy)
        if a.dtype != dtype:
            raise ValueError(
                f"{name}: values of type {a.dtype}, but the system is in {dtype}; make both alike"
            )
        return a._map
    if is_matrix(a):
        parts = take_apart(a, name)
        if parts.shape != (size, size):
            raise ValueError(f"{name}: the shape {parts.shape} does not fit ({size}, {size})")
        if parts.device != device:
            raise _elsewhere(name, parts.device, device, "move one")
        return core.matrix_operator(context, build(parts, context, dtype, name), "csr")
    function_of(a, name)
    if kind is NUMPY and device != HOST:
        raise _elsewhere(name, HOST, device, "leave device out")
    return function_map(a, size, dtype, kind, device, context, name)


def _elsewhere(name: str, own: int, device: int, remedy: str) -> ValueError:
    return ValueError(f"{name}: it is {place_text(own)}, the solve {place_text(device)}; {remedy}")
