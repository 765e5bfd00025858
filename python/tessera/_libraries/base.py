"""What the package does with arrays, whatever their library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

HOST = -1  # In place of the number of a CUDA device.

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)


class View(NamedTuple):
    """An array: where it is, and what it is."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int  # HOST, or the number of a CUDA device
    contiguous: bool  # in C order
    array: Any  # keeps the memory
    kind: Kind


class Memory(NamedTuple):
    """Functions that give and take memory of a GPU in the order of a stream."""

    allocate: Callable[[int], int]  # Bytes -> address; raises without memory.
    release: Callable[[int], Any]  # Address.
    ready: Callable[[int], int]  # Unused argument -> bytes that the pool has ready.


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, item: int) -> bool:
    """Whether strides (in the unit of `item`) are those of C order; None means that they are."""
    if strides is None:
        return True
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


class Kind:
    """What Tessera does with the arrays of one library. There is one object of each class, which is
    compared by identity; a copy is the object itself."""

    name = "array"

    def __copy__(self) -> Kind:
        return self

    def __deepcopy__(self, memo: Any) -> Kind:
        return self

    def view(self, array: Any) -> View:
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        raise NotImplementedError

    def empty_like(self, found: View) -> Any:
        """A new array with the shape, the type and the device of one in C order."""
        return self.empty(found.shape, found.dtype, found.device)

    def address(self, array: Any) -> int:
        """The address of a new array."""
        return self.view(array).pointer

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """The array in C order with this type; a copy only where it differs."""
        raise NotImplementedError

    def transposed(self, array: Any) -> Any:
        """The array with its last two axes exchanged; no copy."""
        return array.swapaxes(-1, -2)

    def reshaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        """No copy where the order allows it."""
        return array.reshape(shape)

    def assign(self, to: Any, array: Any) -> None:
        to[...] = array

    def module(self) -> Any:
        """Functions such as tril and concatenate."""
        raise TypeError(
            f"arrays of {self.name} have no such functions; use NumPy, CuPy, torch or JAX"
        )

    def joined(self, parts: list[Any]) -> Any:
        """Vectors one after the other."""
        return self.module().concatenate(parts)

    def placed(self, array: Any, device: int) -> Any:
        """An array of NumPy on a device; waits."""
        raise TypeError(f"arrays of {self.name} in lists are not supported")

    def reordered(self, array: Any, positions: Any, device: int) -> Any:
        """A vector with its numbers in another order; `positions` is an array of NumPy."""
        return array[self.placed(positions, device)]

    def eye(self, n: int, like: Any) -> Any:
        return self.module().eye(n, dtype=like.dtype)

    def stream(self, device: int) -> tuple[int, Any]:
        """The current stream, and what keeps it alive."""
        return 0, None

    def memory(self, device: int, stream: int) -> Memory | None:
        """What a solver allocates with, from the library's own pool; None: a pool for itself."""
        return None

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        """Memory of a GPU as a vector of this library, for the time of a call."""
        raise TypeError(f"functions on arrays of {self.name} are not supported on a GPU")

    def finished(self, array: Any, context: Any) -> Any:
        """A result, written by `context`, as the caller gets it."""
        return array

    def ready(self, array: Any) -> None:
        """Waits until the array can be read where that is not in the order of a stream."""
