"""Use of an object by one call at a time."""

from __future__ import annotations

import threading
from types import TracebackType


class Exclusive:
    """The time of a call that uses an object alone: a second call, of another thread or of a
    callback of the first one, does not wait but gets a RuntimeError."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{self._what} is in use by another call")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
