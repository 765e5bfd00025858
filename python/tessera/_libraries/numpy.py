"""Arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import core
from .base import HOST, Kind, View


class NumpyKind(Kind):
    name = "NumPy"

    def view(self, array: Any) -> View:
        a = array if type(array) is np.ndarray else np.asarray(array)
        if a is not array and isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise TypeError("entries are masked; call filled() with what they are")
        dtype = a.dtype
        if dtype.byteorder == ">":
            a = a.astype(dtype.newbyteorder("="))
            dtype = a.dtype
        return View(self.address(a), a.shape, dtype, HOST, a.flags.c_contiguous, a, self)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: int) -> Any:
        return np.empty(shape, dtype)

    def address(self, array: Any) -> int:
        return core.buffer_address(array) or int(array.__array_interface__["data"][0])

    def converted(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return np.ascontiguousarray(array, dtype).reshape(array.shape)

    def module(self) -> Any:
        return np

    def placed(self, array: Any, device: int) -> Any:
        return array


NUMPY = NumpyKind()
