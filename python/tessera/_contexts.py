"""Contexts of the library: one for each thread, device and stream."""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._arrays import HOST, Kind
from ._backend import core

_MAX_STREAMS = 16


class _Local(threading.local):
    def __init__(self) -> None:
        self.host: dict[int, Any] = {}
        # (device, stream) -> context, the latest last.
        self.streams: OrderedDict[tuple[int, int], Any] = OrderedDict()
        # Contexts on streams of a caller, which may be gone when the context ends.
        self.given: set[tuple[int, int]] = set()


_local = _Local()


def _drop_oldest() -> None:
    key, context = _local.streams.popitem(last=False)
    if key in _local.given:
        _local.given.remove(key)
        core.abandon(context)


def _forget() -> None:
    _local.host.clear()
    while _local.streams:
        _drop_oldest()


atexit.register(_forget)


def _forget_in_child() -> None:
    """A child must not release what belongs to the CUDA of its parent."""
    global _local
    _kept.append(_local)
    _local = _Local()


_kept: list[Any] = []
os.register_at_fork(after_in_child=_forget_in_child)


def stream_number(stream: Any) -> int:
    """The address of a stream: an int, or an object with ``__cuda_stream__``."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        if stream < 0:
            raise ValueError(f"stream: {stream} is no address of a stream")
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        pair = protocol() if callable(protocol) else protocol
        return int(pair[1])
    raise TypeError(
        f"stream: expected an int or an object with __cuda_stream__, got {type(stream).__name__}"
    )


def new_context(kind: Kind, device: int, stream: Any = None, threads: int = 0) -> Any:
    """A context for an object, which keeps it: with memory from the pool of the caller's library."""
    if device == HOST:
        if stream is not None:
            stream_number(stream)
        return core.cpu_context(threads)
    number, owner = kind.stream(device) if stream is None else (stream_number(stream), stream)
    return core.cuda_context(device, number, threads, owner, kind.memory(device, number))


def _device_number(device: Any) -> int:
    """The context of a device by name: "cpu", "cuda", "cuda:K" or "auto"."""
    if not isinstance(device, str):
        raise TypeError(f"device: expected a text such as 'cuda:0', got {type(device).__name__}")
    if device == "cpu":
        return HOST
    if device == "auto":
        return 0 if core.cuda_devices()[0] else HOST
    name, _, index = device.partition(":")
    if name != "cuda" or not (index == "" or (index.isdecimal() and len(index) < 6)):
        raise ValueError(f"device: {device!r} is none of 'cpu', 'cuda', 'cuda:K' and 'auto'")
    return int(index or 0)


def setup_context(
    kind: Kind, place: int, device: Any, stream: Any = None, threads: int = 0
) -> Any:
    """A context for an object that is made of arrays on `place`: there, or on the device that is
    named, which arrays of the host are copied to."""
    if device is None or (place != HOST and device == "auto"):
        return new_context(kind, place, stream, threads)
    number = _device_number(device)
    if place != HOST:
        if number != place:
            raise ValueError(f"device: the matrix is on GPU {place}; copy it, or leave device out")
        return new_context(kind, place, stream, threads)
    address = 0 if stream is None else stream_number(stream)
    if number == HOST:
        return core.cpu_context(threads)
    return core.cuda_context(number, address, threads, stream)


def place_of(context: Any) -> int:
    """HOST, or the number of a CUDA device."""
    return int(context.device) if context.on_gpu else HOST


def place_text(device: int) -> str:
    return "on the host" if device == HOST else f"on GPU {device}"


def host_context(threads: int = 0) -> Any:
    """The context of this thread on the CPU."""
    found = _local.host.get(threads)
    if found is None:
        found = _local.host[threads] = core.cpu_context(threads)
    return found


def call_context(kind: Kind, device: int, stream: Any = None) -> Any:
    """The context of this thread for one call on the current stream, or on `stream`."""
    if device == HOST:
        if stream is not None:
            stream_number(stream)
        return host_context()
    number, owner = kind.stream(device)
    if stream is not None and stream_number(stream) != number:
        call_context(kind, device).synchronize()  # Arguments may still be written there.
        number, owner = stream_number(stream), stream
    key = (device, number)
    streams = _local.streams
    context = streams.get(key)
    if context is None:
        context = streams[key] = core.cuda_context(device, number, 0, owner)
        if stream is not None:
            _local.given.add(key)
        if len(streams) > _MAX_STREAMS:
            _drop_oldest()
    elif len(streams) > 1:
        streams.move_to_end(key)
    return context


def settle(context: Any, kind: Kind, stream: Any) -> None:
    """Waits for work on a stream of the caller that is not the current one. What the call needed
    and what the caller drops goes back to the pool of the caller's library, which gives it away
    again in the order of the current stream."""
    if stream is not None and context.on_gpu:
        if context.stream != kind.stream(context.device)[0]:
            context.synchronize()


@contextmanager
def in_order(context: Any, kind: Kind) -> Iterator[None]:
    """Work of the caller's library, which is on its current stream, after that of `context` and
    before what follows on either stream."""
    apart = context.on_gpu and context.stream != kind.stream(context.device)[0]
    if apart:
        context.synchronize()
    try:
        yield
    finally:
        if apart:
            call_context(kind, context.device).synchronize()
