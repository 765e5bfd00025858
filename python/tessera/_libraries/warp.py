"""Arrays of Warp."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .base import HOST, View
from .interface import InterfaceKind


class WarpKind(InterfaceKind):
    name = "Warp"

    def exchanged(self, array: Any) -> View:
        return self.described(array, array.__array_interface__, HOST)

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
        if found.dtype == dtype and not isinstance(array, np.ndarray):
            return array.contiguous()
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

    def reordered(self, array: Any, positions: Any, device: int) -> Any:
        return self.placed(array.numpy()[positions], device)

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
