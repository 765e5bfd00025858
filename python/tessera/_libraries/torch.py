"""Tensors of torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .base import HOST, Kind, Memory, View


class _CudaVector:
    """Memory of a GPU by ``__cuda_array_interface__``."""

    def __init__(self, pointer: int, size: int, dtype: np.dtype[Any]) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": dtype.str,
            "data": (pointer, False),
            "version": 3,
        }


class TorchKind(Kind):
    name = "torch"

    def __init__(self) -> None:
        self._numpy: dict[Any, np.dtype[Any]] = {}
        self._torch: dict[np.dtype[Any], Any] = {}
        self._places: dict[int, Any] = {}
        self._stream_of: Any = None

    def _fill(self) -> None:
        torch = sys.modules["torch"]
        names = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8")
        of_numpy = {np.dtype(name): getattr(torch, name) for name in names}
        of_torch = {found: dtype for dtype, found in of_numpy.items()}
        of_torch[torch.bool] = np.dtype(bool)
        of_torch[torch.complex64] = np.dtype(np.complex64)
        of_torch[torch.complex128] = np.dtype(np.complex128)
        # Whole ones, as another thread may look at them.
        self._torch, self._numpy = of_numpy, of_torch

    def numpy_type(self, dtype: Any) -> np.dtype[Any]:
        if not self._numpy:
            self._fill()
        found = self._numpy.get(dtype)
        if found is None:
            raise TypeError(f"values of type {dtype} are not supported; use float32 or float64")
        return found

    def torch_type(self, dtype: np.dtype[Any]) -> Any:
        if not self._torch:
            self._fill()
        return self._torch[dtype]

    def view(self, array: Any) -> View:
        if not (array.is_cpu or array.is_cuda):
            raise ValueError(
                f"a tensor on the device {array.device} is neither on the CPU nor on CUDA"
            )
        if array.is_neg():  # Its memory holds the values with the other sign.
            array = array.resolve_neg()
        return View(
            array.data_ptr(),
            tuple(array.shape),
            self.numpy_type(array.dtype),
            array.get_device() if array.is_cuda else HOST,
            array.is_contiguous(),
            array,
            self,
        )

    def tracks(self, array: Any) -> bool:
        """Whether autograd expects the derivative of what is computed from a tensor."""
        return bool(array.requires_grad and sys.modules["torch"].is_grad_enabled())

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        torch = sys.modules["torch"]
        place = self._places.get(device)
        if place is None:
            place = torch.device("cpu" if device == HOST else f"cuda:{device}")
            self._places[device] = place
        return torch.empty(shape, dtype=self.torch_type(dtype), device=place)

    def empty_like(self, found: View) -> Any:
        return sys.modules["torch"].empty_like(found.array)

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.detach().to(self.torch_type(dtype)).contiguous()

    def assign(self, to: Any, array: Any) -> None:
        to.copy_(array)

    def module(self) -> Any:
        return sys.modules["torch"]

    def placed(self, array: Any, device: int) -> Any:
        tensor = sys.modules["torch"].from_numpy(array)
        return tensor if device == HOST else tensor.to(f"cuda:{device}")

    def eye(self, n: int, like: Any) -> Any:
        return sys.modules["torch"].eye(n, dtype=like.dtype, device=like.device)

    def stream(self, device: int) -> tuple[int, Any]:
        if self._stream_of is None:
            torch = sys.modules["torch"]
            # Without an object for the stream, where this torch has such a function.
            self._stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
                lambda device: torch.cuda.current_stream(device).cuda_stream
            )
        return self._stream_of(device), None

    def memory(self, device: int, stream: int) -> Memory:
        cuda = sys.modules["torch"].cuda
        return Memory(
            lambda size: cuda.caching_allocator_alloc(size, device, stream),
            cuda.caching_allocator_delete,
            lambda _: cuda.memory_reserved(device) - cuda.memory_allocated(device),
        )

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        vector = _CudaVector(pointer, size, dtype)
        return sys.modules["torch"].as_tensor(vector, device=f"cuda:{device}")
