"""What Tessera does with the arrays of each library: NumPy, CuPy, torch, JAX, Warp, others.

No library is imported here that the caller has not imported: one whose array was passed is in
``sys.modules``. Results are made by the library of the caller on the caller's device.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from ._backend import core

HOST = -1  # In place of the number of a CUDA device.

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)


class View(NamedTuple):
    """An array: where it is, and what it is."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int  # HOST, or the number of a CUDA device
    contiguous: bool  # in C order
    array: Any  # keeps the memory
    kind: Kind


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
    """What Tessera does with the arrays of one library."""

    name = "array"

    def view(self, array: Any) -> View:
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        raise NotImplementedError

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

    def eye(self, n: int, like: Any) -> Any:
        return self.module().eye(n, dtype=like.dtype)

    def stream(self, device: int) -> tuple[int, Any]:
        """The current stream, and what keeps it alive."""
        return 0, None

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        """Memory of a GPU as a vector of this library, for the time of a call."""
        raise TypeError(f"functions on arrays of {self.name} are not supported on a GPU")

    def finished(self, array: Any, context: Any) -> Any:
        """A result, written by `context`, as the caller gets it."""
        return array

    def ready(self, array: Any) -> None:
        """Waits until the array can be read where that is not in the order of a stream."""


class NumpyKind(Kind):
    name = "NumPy"

    def view(self, array: Any) -> View:
        a = array if type(array) is np.ndarray else np.asarray(array)
        flags = a.flags
        if a.dtype.byteorder == ">":
            a = a.astype(a.dtype.newbyteorder("="))
        return View(
            a.__array_interface__["data"][0], a.shape, a.dtype, HOST, flags.c_contiguous, a, self
        )

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        return np.empty(shape, dtype)

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return np.ascontiguousarray(array, dtype).reshape(array.shape)

    def module(self) -> Any:
        return np

    def placed(self, array: Any, device: int) -> Any:
        return array


class CupyKind(Kind):
    name = "CuPy"

    def view(self, array: Any) -> View:
        return View(
            array.data.ptr,
            array.shape,
            array.dtype,
            array.device.id,
            array.flags.c_contiguous,
            array,
            self,
        )

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == device:
            return cupy.empty(shape, dtype)
        with cupy.cuda.Device(device):
            return cupy.empty(shape, dtype)

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

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        cupy = sys.modules["cupy"]
        memory = cupy.cuda.UnownedMemory(pointer, size * dtype.itemsize, None, device)
        return cupy.ndarray((size,), dtype, cupy.cuda.MemoryPointer(memory, 0))


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

    def _fill(self) -> None:
        torch = sys.modules["torch"]
        for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"):
            self._numpy[getattr(torch, name)] = np.dtype(name)
            self._torch[np.dtype(name)] = getattr(torch, name)
        self._numpy[torch.bool] = np.dtype(bool)
        self._numpy[torch.complex64] = np.dtype(np.complex64)
        self._numpy[torch.complex128] = np.dtype(np.complex128)

    def numpy_type(self, dtype: Any) -> np.dtype[Any]:
        if not self._numpy:
            self._fill()
        if dtype not in self._numpy:
            raise TypeError(f"values of type {dtype} are not supported; use float32 or float64")
        return self._numpy[dtype]

    def torch_type(self, dtype: np.dtype[Any]) -> Any:
        if not self._torch:
            self._fill()
        return self._torch[dtype]

    def view(self, array: Any) -> View:
        device = array.device
        if device.type not in ("cpu", "cuda"):
            raise ValueError(f"a tensor on the device {device} is neither on the CPU nor on CUDA")
        return View(
            array.data_ptr(),
            tuple(array.shape),
            self.numpy_type(array.dtype),
            HOST if device.type == "cpu" else device.index,
            array.is_contiguous(),
            array,
            self,
        )

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        torch = sys.modules["torch"]
        place = self._places.get(device)
        if place is None:
            place = torch.device("cpu" if device == HOST else f"cuda:{device}")
            self._places[device] = place
        return torch.empty(shape, dtype=self.torch_type(dtype), device=place)

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
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream, None

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        vector = _CudaVector(pointer, size, dtype)
        return sys.modules["torch"].as_tensor(vector, device=f"cuda:{device}")


class _InterfaceKind(Kind):
    """Arrays seen by ``__cuda_array_interface__``, ``__array_interface__`` or DLPack."""

    def view(self, array: Any) -> View:
        self.ready(array)
        interface = getattr(array, "__cuda_array_interface__", None)
        device = HOST
        if interface is not None:
            device = self.device_of(array)
            stream = interface.get("stream")
            if stream is not None and stream != 1:  # Not in the order of the default stream.
                core.cuda_context(device, int(stream)).synchronize()
        else:
            interface = getattr(array, "__array_interface__", None)
        if interface is None:
            return self.exchanged(array)
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        contiguous = is_contiguous(shape, interface.get("strides"), dtype.itemsize)
        return View(interface["data"][0] or 0, shape, dtype, device, contiguous, array, self)

    def exchanged(self, array: Any) -> View:
        pointer, shape, strides, code, bits, device, owner = core.view_array(array)
        if code > 2 and code not in (5, 6):
            raise TypeError("values of this type are not supported; use float32 or float64")
        letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[code]
        dtype = np.dtype(f"{letter}{bits // 8}")
        return View(
            pointer, shape, dtype, device, is_contiguous(shape, strides, 1), (array, owner), self
        )

    def device_of(self, array: Any) -> int:
        if hasattr(array, "__dlpack_device__"):
            return int(array.__dlpack_device__()[1])
        return 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        if device == HOST:
            return np.empty(shape, dtype)
        # With a context of its own: the memory may be released by any thread.
        context = core.cuda_context(device, 0)
        made = core.new_array(context, list(shape), dtype.itemsize, dtype.kind == "i")
        context.synchronize()
        return made

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        found = self.view(array)
        if found.contiguous and found.dtype == dtype:
            return array
        if found.device == HOST:
            return np.ascontiguousarray(np.asarray(array), dtype)
        raise TypeError(
            f"an array of {type(array).__name__} on a GPU must be contiguous and of type {dtype}"
        )

    def reshaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        if hasattr(array, "reshape"):
            return array.reshape(shape)
        return array

    def finished(self, array: Any, context: Any) -> Any:
        context.synchronize()
        return array


class JaxKind(_InterfaceKind):
    """Immutable arrays; JAX has no current stream, so calls wait before and after."""

    name = "JAX"

    def ready(self, array: Any) -> None:
        if hasattr(array, "block_until_ready"):
            array.block_until_ready()

    def view(self, array: Any) -> View:
        self.ready(array)
        if hasattr(array, "devices"):
            device = next(iter(array.devices()))
            if device.platform == "cpu":
                a = np.asarray(array)
                pointer = a.__array_interface__["data"][0]
                return View(pointer, a.shape, a.dtype, HOST, a.flags.c_contiguous, a, self)
        return super().view(array)

    def device_of(self, array: Any) -> int:
        return int(next(iter(array.devices())).local_hardware_id)

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        if isinstance(array, np.ndarray):
            return np.ascontiguousarray(array, dtype)
        return array.astype(dtype)

    def transposed(self, array: Any) -> Any:
        if hasattr(array, "swapaxes"):
            return array.swapaxes(-1, -2)
        return self.finished(array, None).swapaxes(-1, -2)

    def module(self) -> Any:
        return sys.modules["jax"].numpy

    def joined(self, parts: list[Any]) -> Any:
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate(parts)
        return self.module().concatenate(parts)

    def placed(self, array: Any, device: int) -> Any:
        if device == HOST:
            return array
        jax = sys.modules["jax"]
        return jax.device_put(array, jax.devices("gpu")[device])

    def finished(self, array: Any, context: Any) -> Any:
        if context is not None:
            context.synchronize()
        jax = sys.modules["jax"]
        if isinstance(array, np.ndarray):  # Not on the default device, which may be a GPU.
            return jax.device_put(array, jax.devices("cpu")[0])
        if hasattr(array, "devices"):
            return array
        return jax.dlpack.from_dlpack(array)


class WarpKind(_InterfaceKind):
    name = "Warp"

    def device_of(self, array: Any) -> int:
        return int(array.device.ordinal)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        warp = sys.modules["warp"]
        place = "cpu" if device == HOST else f"cuda:{device}"
        # Arrays of Warp have at least one dimension.
        return warp.empty(shape or (1,), dtype=warp.dtype_from_numpy(dtype), device=place)

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        found = self.view(array)
        if found.contiguous and found.dtype == dtype:
            return array
        # Through the host, so it waits.
        given = array if isinstance(array, np.ndarray) else array.numpy()
        return self.placed(np.ascontiguousarray(given, dtype), found.device)

    def joined(self, parts: list[Any]) -> Any:
        warp = sys.modules["warp"]
        first = parts[0]
        result = warp.empty(sum(p.size for p in parts), dtype=first.dtype, device=first.device)
        start = 0
        for part in parts:
            warp.copy(result, part, dest_offset=start, count=part.size)
            start += part.size
        return result

    def placed(self, array: Any, device: int) -> Any:
        warp = sys.modules["warp"]
        place = "cpu" if device == HOST else f"cuda:{device}"
        return warp.array(array, device=place)

    def transposed(self, array: Any) -> Any:
        axes = list(range(array.ndim))
        axes[-2:] = axes[-1], axes[-2]
        return array.transpose(axes)

    def assign(self, to: Any, array: Any) -> None:
        sys.modules["warp"].copy(to, array)

    def stream(self, device: int) -> tuple[int, Any]:
        stream = sys.modules["warp"].get_stream(f"cuda:{device}")
        return stream.cuda_stream, stream

    def wrapped(self, pointer: int, size: int, dtype: np.dtype[Any], device: int) -> Any:
        warp = sys.modules["warp"]
        return warp.array(
            ptr=pointer,
            shape=(size,),
            dtype=warp.dtype_from_numpy(dtype),
            device=f"cuda:{device}",
        )

    def finished(self, array: Any, context: Any) -> Any:
        return array


NUMPY = NumpyKind()
CUPY = CupyKind()
TORCH = TorchKind()
JAX = JaxKind()
WARP = WarpKind()
OTHER = _InterfaceKind()
