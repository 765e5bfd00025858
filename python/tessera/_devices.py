"""Solvers over several devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ._arguments import whole
from ._arrays import HOST
from ._backend import core

__all__ = [
    "devices_text",
    "group_solver",
    "is_one",
    "memory_of",
    "require_for_group",
    "require_on_host",
]


def devices_text(devices: Any) -> str:
    """A number, "all" or a list as the text that the library knows."""
    if isinstance(devices, (list, tuple)):
        if not devices or not all(isinstance(each, str) for each in devices):
            raise TypeError("devices: a list has texts such as 'cuda:0'")
        return ",".join(devices)
    if isinstance(devices, str):
        return devices
    return str(whole(devices, "devices", 1))


def is_one(devices: Any) -> bool:
    """Whether there is one device, that of the other arguments."""
    return devices is None or devices_text(devices) == "1"


def require_for_group(is_matrix: bool, m: Any, null_space: Any, stream: Any, device: Any) -> None:
    """Raises for arguments that do not go with several devices."""
    if null_space is not None:
        raise ValueError("nullspace: several devices solve systems without one; leave it out")
    if stream is not None:
        raise ValueError("stream: several devices have their own; leave it out")
    if not isinstance(m, str):
        raise ValueError("M: over several devices it is 'amg', with its options, or 'auto'")
    if not is_matrix:
        raise ValueError("A: several devices need a matrix, not an operator")
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device: expected a text such as 'cpu', got {type(device).__name__}")


def require_on_host(device: int, dtype: Any = None) -> None:
    if device != HOST:
        raise ValueError("devices: A and b are dealt out from host memory; move them there")
    if dtype is not None and dtype != np.dtype(np.float64):
        raise ValueError("devices: several devices solve in float64; convert A")


def group_solver(
    devices: Any, device: Any, threads: int, method: str, m: str, format: str
) -> Any:
    """The core of a `Solver` over several devices."""
    place = "auto" if device is None else device
    return core.GroupSolver(devices_text(devices), place, threads, method, m, format)


def memory_of(group: Any, shares: list[dict[str, Any]]) -> Any:
    """What a result says about the devices, as of a context."""
    memory = sum(share["peak_memory_bytes"] for share in shares)
    return SimpleNamespace(peak_memory_bytes=memory, description=group.description)
