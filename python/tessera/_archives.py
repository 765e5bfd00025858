"""Compressed files and archives that hold one matrix."""

from __future__ import annotations

import bz2
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

_SCIPY = {"format.npy", "shape.npy", "data.npy"}  # What scipy.sparse.save_npz writes.


def is_npz(file: str) -> bool:
    """Whether a file is one of scipy.sparse.save_npz."""
    if not os.path.isfile(file) or not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist()) >= _SCIPY


class Damaged(ValueError):
    """A compressed file or an archive cannot be unpacked."""


@contextmanager
def _named_damage(file: str) -> Iterator[None]:
    """Makes errors of the modules that unpack a file a Damaged; other errors pass through."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as error:
        raise Damaged(f"{file}: it is damaged, or not complete: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise Damaged(f"{file}: it is damaged, or not complete: {error}") from None


def _matrix_among(names: list[str], file: str) -> str:
    """The only file, or the matrix NAME.mtx whose right-hand sides and notes are NAME_b.mtx, ..., as
    in the archives of the SuiteSparse collection."""
    for name in names:
        stem, ending = os.path.splitext(name)
        if ending == ".mtx" and all(each == name or each.startswith(stem + "_") for each in names):
            return name
    if len(names) != 1:
        found = ", ".join(sorted(names)[:5]) or "none"
        raise Damaged(
            f"{file}: an archive must hold one file, or NAME.mtx beside NAME_b.mtx and the like; "
            f"this one has {len(names)}: {found}"
        )
    return names[0]


def read_npz(file: str, dtype: Any) -> Any:
    """The matrix of scipy.sparse.save_npz as a csr_array; Damaged where it is none of real numbers."""
    try:
        import scipy.sparse as sp
    except ModuleNotFoundError:
        raise ImportError(f"{file}: SciPy reads such files; pip install scipy") from None

    with _named_damage(file):
        try:
            found = sp.load_npz(file)
            if found.format in ("csr", "csc", "bsr"):
                found.check_format(full_check=True)  # Conversions would read and write anywhere.
        except ValueError as error:
            raise Damaged(f"{file}: {error}") from None
    if found.dtype.kind not in "fiub":
        raise Damaged(f"{file}: values of type {found.dtype} are not supported")
    return sp.csr_array(found, dtype=dtype)


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
            name = _matrix_among([each for each in archive.namelist() if not each.endswith("/")], file)
            with archive.open(name) as unpacked:
                yield unpacked, os.path.basename(name)
    elif tarfile.is_tarfile(file):
        with tarfile.open(file) as bundle:
            members = {each.name: each for each in bundle.getmembers() if each.isfile()}
            name = _matrix_among(list(members), file)
            contents = bundle.extractfile(members[name])
            assert contents is not None
            with contents:
                yield contents, os.path.basename(name)
    else:
        yield None


@contextmanager
def unpacked(file: str) -> Iterator[str]:
    """A path of the file without its compression or archive: its own, or that of a copy which lives
    as long as the context. xz and bzip2, and zip and tar archives with one file or a matrix of the
    SuiteSparse collection.

    Raises Damaged for other archives, and what cannot be unpacked.
    """
    with ExitStack() as stack:
        with _named_damage(file):
            found = stack.enter_context(_opened(file))
            path = file
            if found is not None:
                contents, name = found
                path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), name)
                with open(path, "wb") as copy:
                    shutil.copyfileobj(contents, copy)
        yield path
