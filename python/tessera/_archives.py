"""Compressed files and archives that hold one matrix."""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

_SCIPY = {"format.npy", "shape.npy", "data.npy"}  # What scipy.sparse.save_npz writes.


def is_npz(file: str) -> bool:
    """Whether a file is one of scipy.sparse.save_npz."""
    if not os.path.isfile(file) or not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist()) >= _SCIPY


def _only(names: list[str], file: str) -> str:
    if len(names) != 1:
        found = ", ".join(sorted(names)[:5]) or "none"
        raise ValueError(f"{file}: an archive must hold one file, this one has {len(names)}: {found}")
    return names[0]


@contextmanager
def _opened(file: str) -> Iterator[tuple[IO[bytes], str] | None]:
    """The contents of a compressed file or of the only file of an archive, and its name; None for
    other files, and for pipes, which can be read once."""
    if not os.path.isfile(file):
        yield None
        return
    with open(file, "rb") as stream:
        start = stream.read(6)
    if start.startswith(b"\xfd7zXZ") or start.startswith(b"BZh"):
        opener: Any = lzma.open if start.startswith(b"\xfd") else bz2.open
        with opener(file) as unpacked:
            if not tarfile.is_tarfile(file):
                yield unpacked, os.path.basename(file)
                return
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            name = _only([each for each in archive.namelist() if not each.endswith("/")], file)
            with archive.open(name) as unpacked:
                yield unpacked, os.path.basename(name)
    elif tarfile.is_tarfile(file):
        with tarfile.open(file) as bundle:
            members = {each.name: each for each in bundle.getmembers() if each.isfile()}
            name = _only(list(members), file)
            contents = bundle.extractfile(members[name])
            assert contents is not None
            with contents:
                yield contents, os.path.basename(name)
    else:
        yield None


@contextmanager
def unpacked(file: str) -> Iterator[str]:
    """A path of the file without its compression or archive: its own, or that of a copy which lives
    as long as the context. xz and bzip2, and zip and tar archives with one file.

    Raises ValueError for an archive with another number of files, and OSError, EOFError or
    lzma.LZMAError for one that is damaged.
    """
    with _opened(file) as found:
        if found is None:
            yield file
            return
        contents, name = found
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as copy:
                shutil.copyfileobj(contents, copy)
            yield path
