"""Texts that name methods, preconditioners, formats and files."""

from __future__ import annotations

import os
from typing import Any

from ._backend import core


def require_utf8(word: str, name: str) -> None:
    """ValueError for a text that the library cannot be passed; the message names the argument."""
    try:
        word.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {word!r} is not UTF-8") from None
    if "\0" in word:
        raise ValueError(f"{name}: {word!r} has a null character")


def text_of_path(path: Any, name: str) -> str:
    """The path of a file as a text; errors name the argument."""
    try:
        found = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(path).__name__}") from None
    require_utf8(found, name)
    return found


def checked_text(word: Any, name: str, kind: str = "", auto: bool = True) -> str:
    """A text of this kind (method, M or format); errors name the argument. `auto`: whether that is
    one of the methods, and the like."""
    if not isinstance(word, str):
        raise TypeError(f"{name}: expected a text, got {type(word).__name__}")
    require_utf8(word, name)
    try:
        core.check_text(kind or name, word, auto)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return word
