"""Solves of one system over several devices."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._arguments import Callback, flag, options_of, progress_hook, systems_of, whole
from ._arrays import HOST, view
from ._backend import core
from ._contexts import host_context
from ._coordinates import check_coordinates, coordinates_of, near_null_array, require_use
from ._errors import raise_named
from ._matrices import build, is_matrix
from ._operators import LinearOperator, SparseMatrix, parts_of
from ._result import Result, Setup, name_non_finite_row, result_of
from ._texts import checked_text

__all__ = ["is_one", "solve_on_devices"]


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


def solve_on_devices(
    a: Any, b: Any, devices: Any, method: str, m: Any, coordinates: Any, near_null: Any,
    null_space: Any, x0: Any, rtol: Any, atol: Any, maxiter: int, max_seconds: float, left: bool,
    callback: Callback | None, format: str, device: Any, stream: Any, threads: int,
) -> Result:  # fmt: skip
    """`solve` by several devices; the matrix is dealt out from host memory."""
    start = time.perf_counter()
    m = "none" if m is None else m
    if null_space is not None:
        raise ValueError("nullspace: several devices solve systems without one; leave it out")
    if stream is not None:
        raise ValueError("stream: several devices have their own; leave it out")
    if not isinstance(m, str):
        raise ValueError("M: over several devices it is 'amg', with its options, or 'auto'")
    own = isinstance(a, SparseMatrix)
    if not own and (isinstance(a, LinearOperator) or not is_matrix(a)):
        raise ValueError("A: several devices need a matrix, not an operator")
    for text, name in ((method, "method"), (m, "M"), (format, "format")):
        checked_text(text, name)
    parts, dtype = parts_of(a)
    if parts.shape[0] != parts.shape[1]:
        raise ValueError(f"A: a square matrix is needed, the shape is {parts.shape}")
    found = view(b, "b")
    if parts.device != HOST or found.device != HOST:
        raise ValueError("devices: A and b are dealt out from host memory; move them there")
    if dtype != np.dtype(np.float64):
        raise ValueError("devices: several devices solve in float64; convert A")
    points, unknowns = coordinates_of(coordinates)
    require_use(points, m, "M")
    if near_null is not None and m == "auto":
        m = "amg"
    matrix = build(parts, host_context(threads), dtype)
    check_coordinates(points, unknowns, matrix)
    vectors = None if near_null is None else near_null_array(near_null, "near_null", matrix.rows)
    options = options_of(
        rtol, atol, whole(maxiter, "maxiter", 0), progress_hook(callback),
        max(0.0, float(max_seconds) - (time.perf_counter() - start)), flag(left, "left"),
    )  # fmt: skip
    x, systems, right = systems_of(b, found, x0, matrix.rows, dtype)
    place = "auto" if device is None else device
    if not isinstance(place, str):
        raise TypeError(f"device: expected a text such as 'cpu', got {type(device).__name__}")
    try:
        reports, solver, precond, used_format, about, seconds, description, shares = (
            core.solve_on_devices(
                matrix, devices_text(devices), place, whole(threads, "threads", 0, 1024), method,
                m, format, points, unknowns or [], vectors, systems, options,
            )
        )  # fmt: skip
        del right  # It owns what the systems read.
    except ValueError as error:
        raise_named(error, "A", matrix, devices="devices", device="device")
    name_non_finite_row(matrix, reports)
    memory = sum(share["peak_memory_bytes"] for share in shares)
    group = SimpleNamespace(peak_memory_bytes=memory, description=description)
    setup = Setup(solver, precond, used_format, about, [], 0)
    result = found.kind.finished(x, host_context(threads))
    made = result_of(
        found.kind.transposed(result) if len(reports) > 1 else result, reports, setup, seconds,
        group, [],
    )  # fmt: skip
    made.devices = shares
    return made
