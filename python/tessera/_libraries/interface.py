"""Arrays of libraries that only exchange them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import core
from .base import HOST, Kind, View, is_contiguous
from .numpy import NUMPY

_HOST_TYPES = (1, 3)  # In DLPack: the CPU, and pinned memory.


class InterfaceKind(Kind):
    """Arrays seen by ``__cuda_array_interface__``, ``__array_interface__`` or DLPack. Those of the
    host are taken as arrays of NumPy, which results are then, too."""

    def view(self, array: Any) -> View:
        self.ready(array)
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            return self.exchanged(array)
        device = self.device_of(array)
        stream = interface.get("stream")
        if stream is not None and stream != 1:  # Not in the order of the default stream.
            core.cuda_context(device, int(stream)).synchronize()
        return self.described(array, interface, device)

    def described(self, array: Any, interface: Any, device: int) -> View:
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        contiguous = is_contiguous(shape, interface.get("strides"), dtype.itemsize)
        return View(interface["data"][0] or 0, shape, dtype, device, contiguous, array, self)

    def exchanged(self, array: Any) -> View:
        if hasattr(array, "__array_interface__"):
            return NUMPY.view(np.asarray(array))
        device = getattr(array, "__dlpack_device__", None)
        if device is not None and device()[0] in _HOST_TYPES:
            try:
                return NUMPY.view(np.from_dlpack(array))
            except (BufferError, RuntimeError) as error:
                raise TypeError(str(error)) from None
        pointer, shape, strides, code, bits, number, owner = core.view_array(array)
        if code > 2 and code not in (5, 6):
            raise TypeError("values of this type are not supported; use float32 or float64")
        letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[code]
        dtype = np.dtype(f"{letter}{bits // 8}")
        return View(
            pointer, shape, dtype, number, is_contiguous(shape, strides, 1), (array, owner), self
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
        raise TypeError(
            f"an array of {type(array).__name__} on a GPU must be contiguous and of type {dtype}"
        )

    def transposed(self, array: Any) -> Any:
        if not hasattr(array, "swapaxes"):
            raise TypeError(
                f"an array of {type(array).__name__} on a GPU cannot be transposed here; pass one "
                "of CuPy, torch, JAX or Warp"
            )
        return array.swapaxes(-1, -2)

    def reshaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        if hasattr(array, "reshape"):
            return array.reshape(shape)
        return array

    def finished(self, array: Any, context: Any) -> Any:
        if context is not None:
            context.synchronize()
        return array
