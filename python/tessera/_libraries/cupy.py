"""Arrays of CuPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Kind, Memory, View


class _Stream:
    """A stream by its address, as CuPy takes it."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


def _external_stream(cuda: Any, device: int, address: int) -> Any:
    if address == 0:
        return cuda.Stream.null
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Stream(address))
    return cuda.ExternalStream(address, device)  # Before CuPy 14.


def _allocator(
    cuda: Any, device: int, stream: int, held: dict[int, Any]
) -> Callable[[int], int]:
    """CuPy's current allocator for one stream; `held` owns the memory that it returns."""

    def allocate(size: int) -> int:
        if cuda.get_current_stream().ptr == stream:
            memory = cuda.alloc(size)
        else:
            with _external_stream(cuda, device, stream):
                memory = cuda.alloc(size)
        held[memory.ptr] = memory
        return int(memory.ptr)

    return allocate


class CupyKind(Kind):
    name = "CuPy"

    def view(self, array: Any) -> View:
        data = array.data
        contiguous = array.flags.c_contiguous
        return View(data.ptr, array.shape, array.dtype, data.device_id, contiguous, array, self)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == device:
            return cupy.ndarray(shape, dtype)
        with cupy.cuda.Device(device):
            return cupy.ndarray(shape, dtype)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return sys.modules["cupy"].ascontiguousarray(array, dtype).reshape(array.shape)

    def module(self) -> Any:
        return sys.modules["cupy"]

    def placed(self, array: Any, device: int) -> Any:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return cupy.asarray(array)

    def stream(self, device: int) -> tuple[int, Any]:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == device:
            stream = cupy.cuda.get_current_stream()
        else:
            with cupy.cuda.Device(device):
                stream = cupy.cuda.get_current_stream()
        return stream.ptr, stream

    def memory(self, device: int, stream: int) -> Memory:
        cupy = sys.modules["cupy"]
        held: dict[int, Any] = {}
        pool = cupy.get_default_memory_pool()
        return Memory(
            _allocator(cupy.cuda, device, stream, held), held.pop, lambda _: pool.free_bytes()
        )

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        cupy = sys.modules["cupy"]
        memory = cupy.cuda.UnownedMemory(pointer, size * dtype.itemsize, None, device)
        return cupy.ndarray((size,), dtype, cupy.cuda.MemoryPointer(memory, 0))
