"""Generated systems, files, and what matrices look like."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from conftest import general, spd, vector

import tessera


def test_every_problem_has_its_name():
    assert "elasticity3d" in tessera.problem_names()
    p = tessera.problems("elasticity3d:4")
    n = p.A.shape[0]
    assert p.b.shape == (n,) and p.block == 3 and p.coordinates.shape == (n // 3, 3)
    assert p.name.startswith("elasticity3d:4") and "elasticity3d:4" in repr(p)
    assert abs(p.A - p.A.T).max() == 0
    assert tessera.problems("poisson2d:4", np.float32).A.dtype == np.float32
    assert tessera.problems("poisson2d:4").coordinates is None


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".petsc"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_of_files(tmp_path, ending, dtype):
    a = general(dtype=dtype)
    path = tmp_path / f"a{ending}"
    tessera.write(path, a)
    back = tessera.read(path, dtype)
    assert back.dtype == dtype
    assert (abs(sp.csr_matrix(back) - a)).max() == 0
    tessera.write(path, tessera.matrix(a))
    assert abs(sp.csr_matrix(tessera.read(path, dtype)) - a).max() == 0


def test_symmetric_files_hold_one_triangle(tmp_path):
    a = spd()
    tessera.write(tmp_path / "a.mtx", a, "symmetric")
    tessera.write(tmp_path / "b.mtx", a)
    assert (tmp_path / "a.mtx").stat().st_size < (tmp_path / "b.mtx").stat().st_size
    assert abs(sp.csr_matrix(tessera.read(tmp_path / "a.mtx")) - a).max() == 0
    with pytest.raises(ValueError):
        tessera.write(tmp_path / "c.mtx", general(), "symmetric")


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".petsc"])
def test_vectors_of_files(arrays, tmp_path, ending):
    b = vector(20)
    path = tmp_path / f"b{ending}"
    if arrays.on_gpu:
        with pytest.raises(ValueError, match="a: it is on a GPU"):
            tessera.write(path, arrays.array(b))
        return
    for given in (b.tolist(), arrays.array(b)):
        tessera.write(path, given)
        np.testing.assert_array_equal(tessera.read_vector(path), b)


def test_matrices_without_scipy(tmp_path, monkeypatch):
    tessera.write(tmp_path / "a.mtx", np.eye(3))
    tessera.write(tmp_path / "tall.mtx", np.eye(3)[:, :2])
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    assert [len(array) for array in tessera.read(tmp_path / "a.mtx")] == [4, 3, 3]
    with pytest.raises(ImportError, match="3 rows and 2 columns"):
        tessera.read(tmp_path / "tall.mtx")


def test_paths_in_bytes(tmp_path):
    path = bytes(tmp_path / "a.mtx")
    tessera.write(path, spd())
    assert tessera.read(path).shape == (60, 60)


@pytest.mark.parametrize("name", [b"\xff.mtx", "\udcff.mtx", "a.mtx\0b.mtx"])
def test_paths_that_the_library_cannot_be_passed(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if b"\0" not in os.fsencode(name):
        (tmp_path / os.fsdecode(name)).write_text(
            "%%MatrixMarket matrix coordinate real general\n1 1 0\n"
        )
    before = sorted(os.listdir())
    for call in (tessera.read, tessera.read_vector, lambda path: tessera.write(path, spd(3))):
        with pytest.raises(ValueError, match="^path: '.*' (is not UTF-8|has a null character)$"):
            call(name)
    assert sorted(os.listdir()) == before


def test_info(arrays):
    p = tessera.problems("elasticity3d:4")
    found = tessera.info(arrays.csr(p.A))
    assert found["rows"] == p.A.shape[0] and found["nonzeros"] == p.A.nnz
    assert found["symmetric"] and found["positive_diagonal"]
    assert found["natural_blocks"] * 3 == p.A.shape[0] and found["rows_per_node"] == 3
    assert found["attempts"]
    assert not tessera.info(arrays.csr(general()))["symmetric"]


def test_info_of_no_rows():
    found = tessera.info(sp.csr_matrix((0, 0)))
    assert found["rows"] == 0 and found["symmetric"] and found["positive_diagonal"]
    result = tessera.solve(sp.csr_matrix((0, 0)), np.zeros(0))
    assert result.converged and result.iterations == 0


def test_find_blocks(arrays):
    a = sp.csr_matrix(sl.block_diag(np.ones((2, 2)), np.ones((3, 3)), np.ones((1, 1))))
    np.testing.assert_array_equal(tessera.find_blocks(arrays.csr(a), natural=True), [0, 2, 5, 6])
    np.testing.assert_array_equal(tessera.find_blocks(arrays.csr(a), 4, True), [0, 2, 5, 6])
    np.testing.assert_array_equal(tessera.find_blocks(arrays.csr(a), 6), [0, 6])
