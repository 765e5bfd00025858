"""Matrices in compressed files and archives."""

from __future__ import annotations

import bz2
import lzma
import sys
import tarfile
import zipfile

import numpy as np
import pytest

import tessera

sp = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
A = sp.csr_array(sp.diags([-1.0, 4.0, -2.0], [-1, 0, 1], shape=(20, 20)))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "a.mtx"
    tessera.write(path, A)
    return path


def same(path) -> bool:
    return abs(sp.csr_array(tessera.read(path)) - A).max() == 0


def test_compressed_files(text, tmp_path):
    for name, module in (("a.mtx.xz", lzma), ("a.mtx.bz2", bz2)):
        path = tmp_path / name
        path.write_bytes(module.compress(text.read_bytes()))
        assert same(path)


def test_archives_with_one_file(text, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(text, "folder/a.mtx")
    assert same(tmp_path / "a.zip")
    for ending, mode in ((".tar", "w"), (".tar.gz", "w:gz"), (".tar.xz", "w:xz")):
        path = tmp_path / ("a" + ending)
        with tarfile.open(path, mode) as archive:
            archive.add(text, "folder/a.mtx")
        assert same(path)
        with tarfile.open(path, mode) as archive:
            archive.add(text, "a.mtx")
            archive.add(text, "b.mtx")
        with pytest.raises(ValueError, match="this one has 2: a.mtx, b.mtx"):
            tessera.read(path)


def test_archives_of_the_suitesparse_collection(text, tmp_path):
    (tmp_path / "right.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n1\n")
    for names in (("a/a.mtx", "a/a_b.mtx", "a/a_coord.mtx"), ("a_b.mtx", "a.mtx")):
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                is_matrix = name.endswith("a.mtx")
                archive.add(text if is_matrix else tmp_path / "right.mtx", name)
        assert same(path)


def test_damaged_files_are_named(text, tmp_path):
    contents = text.read_bytes() * 50
    with tarfile.open(tmp_path / "whole.tar.gz", "w:gz") as archive:
        archive.add(text, "a.mtx")
    with zipfile.ZipFile(tmp_path / "whole.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(text, "a.mtx")
    packed = (tmp_path / "whole.zip").read_bytes()
    damaged = {
        "a.xz": lzma.compress(contents)[:-40],
        "a.bz2": bz2.compress(contents)[:-10],
        "b.bz2": b"BZh9" + bytes(60),
        "a.zip": packed[:60] + bytes(20) + packed[80:],
    }
    sp.save_npz(tmp_path / "whole.npz", A)
    packed = (tmp_path / "whole.npz").read_bytes()
    damaged["a.npz"] = packed[:300] + bytes(40) + packed[340:]
    for name, found in damaged.items():
        (tmp_path / name).write_bytes(found)
        with pytest.raises(tessera.ParseError, match=f"^{tmp_path / name}: "):
            tessera.read(tmp_path / name)


def test_indices_of_scipy_beyond_the_matrix_are_refused(tmp_path):
    for kind in ("csr", "csc", "bsr"):  # SciPy converts the last two without a look at the arrays.
        wrong = A.asformat(kind, copy=True)
        wrong.indices[1] = 50_000_000
        sp.save_npz(tmp_path / "a.npz", wrong)
        with pytest.raises(tessera.ParseError, match="a.npz: .*ind"):
            tessera.read(tmp_path / "a.npz")
    wrong = A.tocsc()
    wrong.indices[1] = 50_000_000
    with pytest.raises(ValueError, match="A: .*ind"):
        tessera.solve(wrong, np.ones(wrong.shape[0]))


def test_complex_matrices_of_scipy_are_refused(tmp_path):
    sp.save_npz(tmp_path / "a.npz", A * 1j)
    with pytest.raises(tessera.ParseError, match="complex128 are not supported"):
        tessera.read(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_matrices_of_scipy(kind, tmp_path):
    path = tmp_path / "a.npz"
    sp.save_npz(path, A.asformat(kind))
    assert same(path)
    assert tessera.read(path, np.float32).dtype == np.float32


def test_errors_name_the_file_that_was_given(tmp_path):
    path = tmp_path / "a.mtx.xz"
    path.write_bytes(lzma.compress(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 3\n"))
    with pytest.raises(tessera.ParseError, match=f"^{path}:3: column 2"):
        tessera.read(path)


def test_files_of_scipy_without_scipy(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "a.npz", A)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="a.npz: SciPy reads such files; pip install scipy"):
        tessera.read(tmp_path / "a.npz")
