"""Arrays of JAX."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .base import HOST, View
from .interface import InterfaceKind


class JaxKind(InterfaceKind):
    """Immutable arrays; JAX has no current stream, so calls wait before and after."""

    name = "JAX"

    def ready(self, array: Any) -> None:
        if hasattr(array, "block_until_ready"):
            array.block_until_ready()

    def view(self, array: Any) -> View:
        self.ready(array)
        on_host = isinstance(array, np.ndarray)
        if hasattr(array, "devices"):
            on_host = next(iter(array.devices())).platform == "cpu"
        if not on_host:
            return super().view(array)
        a = np.asarray(array)
        pointer = a.__array_interface__["data"][0]
        return View(pointer, a.shape, a.dtype, HOST, a.flags.c_contiguous, a, self)

    def device_of(self, array: Any) -> int:
        return int(next(iter(array.devices())).local_hardware_id)

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        if isinstance(array, np.ndarray) or self.view(array).device == HOST:
            return np.ascontiguousarray(array, dtype)  # JAX may lack float64.
        result = array.astype(dtype)
        if result.dtype != dtype:
            raise TypeError(f"values of type {dtype} need the setting jax_enable_x64")
        return result

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
