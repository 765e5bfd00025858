"""Solves with block triangular matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import vector

import tessera


def lower_blocks(n: int, block: int, seed: int = 1) -> sp.csr_matrix:
    """Dense diagonal blocks that dominate, and a few blocks below each."""
    random = np.random.default_rng(seed)
    count = n // block
    pattern = sp.random(count, count, density=min(1, 4 / count), random_state=random)
    blocks = sp.kron(sp.tril(pattern, -1), np.ones((block, block))).tocsr()
    blocks.data = random.uniform(-1, 1, blocks.nnz)
    diagonal = sp.block_diag(
        [random.uniform(-1, 1, (block, block)) + 3 * block * np.eye(block) for _ in range(count)]
    )
    return sp.csr_matrix(blocks + diagonal)


def bound(a: sp.csr_matrix, block: int, x: np.ndarray, dtype: type) -> np.ndarray:
    """Of |b - A x|, by the inverses of the diagonal blocks."""
    n = a.shape[0]
    dense = [a[k : k + block, k : k + block].toarray() for k in range(0, n, block)]
    d = sp.block_diag([abs(each) for each in dense])
    inverse = sp.block_diag([abs(np.linalg.inv(each)) for each in dense])
    terms = 2 * np.diff(sp.csr_matrix(a).indptr).max() + 4 * block
    unit = terms * np.finfo(dtype).eps
    size = abs(x)
    of_x = inverse @ (abs(a) @ size)
    norms = [
        max(np.linalg.norm(each, p) for p in (1, np.inf)) ** 2
        * max(np.linalg.norm(np.linalg.inv(each), p) for p in (1, np.inf))
        for each in dense
    ]
    inverted = np.array(norms) * of_x.reshape(-1, block).max(axis=1)
    return unit * (
        2 * (abs(a) @ (inverse @ (d @ size))) + d @ of_x + np.repeat(inverted, block)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [1, 3, 8, 16])
def test_solves(arrays, block, dtype):
    n = 48 * block
    lower = lower_blocks(n, block).astype(dtype)
    b = vector(n).astype(dtype)
    for a, is_lower in ((lower, True), (sp.csr_matrix(lower.T), False)):
        s = tessera.block_triangular_solve(arrays.csr(a), block, lower=is_lower)
        assert s.shape == (n, n) and s.dtype == dtype
        x = arrays.numpy(s @ arrays.array(b)).astype(np.float64)
        double = sp.csr_matrix(a, dtype=np.float64)
        assert (abs(b - double @ x) <= bound(double, block, x, dtype)).all()
        y = arrays.numpy(s.rmatvec(arrays.array(b))).astype(np.float64)
        assert (abs(b - double.T @ y) <= bound(double.T.tocsr(), block, y, dtype)).all()
        many = np.stack([b, 2 * b], axis=1)
        both = arrays.numpy(s @ arrays.array(many))
        np.testing.assert_array_equal(both[:, 1], 2 * both[:, 0])
        both = arrays.numpy(s.T @ arrays.array(many))
        np.testing.assert_array_equal(both[:, 0], y.astype(dtype))


def test_like_scipy():
    a = sp.csr_matrix(sp.tril(lower_blocks(60, 4)))
    b = vector(60)
    for unit in (False, True):
        expected = sl.spsolve_triangular(a, b, lower=True, unit_diagonal=unit)
        for block in (None, 1, 4, 7, 32):
            s = tessera.block_triangular_solve(a, block, unit_diagonal=unit)
            np.testing.assert_allclose(s @ b, expected, rtol=1e-10, atol=1e-10 * abs(expected).max())
    # The factors of a sparse LU.
    general = sp.csc_matrix(lower_blocks(60, 4) + lower_blocks(60, 4, 2).T)
    factors = sl.splu(general, permc_spec="NATURAL", diag_pivot_thresh=0)
    lower = tessera.block_triangular_solve(factors.L, 8, unit_diagonal=True)
    upper = tessera.block_triangular_solve(factors.U, 8, lower=False)
    y = np.empty(60)
    y[factors.perm_r] = b
    x = upper @ (lower @ y)
    np.testing.assert_allclose(general @ x, b, rtol=1e-10, atol=1e-10)


def test_blocks_of_a_bsr_matrix_and_of_different_sizes():
    a = lower_blocks(60, 5)
    b = vector(60)
    s = tessera.block_triangular_solve(sp.bsr_matrix(a, blocksize=(5, 5)))
    assert "5,blocks=uniform:5" in s.text and s.report["largest_block"] == 5
    np.testing.assert_array_equal(s @ b, tessera.block_triangular_solve(a, 5) @ b)
    offsets = [0, 5, 15, 20, 50, 60]
    merged = tessera.block_triangular_solve(a, blocks=offsets)
    np.testing.assert_allclose(merged @ b, s @ b, rtol=1e-10, atol=1e-12)
    assert merged.report["blocks"] == 5
    merged = tessera.block_triangular_solve(a, blocks=np.array(offsets))
    np.testing.assert_allclose(merged.T @ b, s.T @ b, rtol=1e-10, atol=1e-12)


def test_updates(arrays):
    a = lower_blocks(64, 8)
    b = vector(64)
    s = tessera.block_triangular_solve(arrays.csr(a), 8)
    x = arrays.numpy(s @ arrays.array(b))
    s.update(arrays.array(2 * a.data))
    np.testing.assert_array_equal(arrays.numpy(s @ arrays.array(b)), x / 2)


def test_preconditions_solvers():
    a = sp.csr_matrix(tessera.problems("convection2d:30").A)
    b = vector(a.shape[0])
    s = tessera.block_triangular_solve(sp.tril(a, format="csr"))  # Gauss-Seidel.
    plain: list[float] = []
    better: list[float] = []
    assert tessera.gmres(a, b, callback=plain.append)[1] == 0
    assert tessera.gmres(a, b, M=s, callback=better.append)[1] == 0
    assert len(better) < len(plain)


def test_errors():
    a = lower_blocks(40, 4).tolil()
    make = tessera.block_triangular_solve
    for wrong in (0, 33):
        with pytest.raises(ValueError, match="block_size"):
            make(a.tocsr(), wrong)
    for blocks, message in (
        ([0, 4, 39], "from 0 to 39, not from 0 to 40"),
        ([0, 4, 4, 40], "from row 4 on has 0 rows"),
        ([0, 40], "has 40 rows, not 1 to 32"),
        ([], "expected the first row"),
        ([0.0, 40.0], "expected the first row"),
        ([[0, 40]], "expected the first row"),
    ):
        with pytest.raises(ValueError, match=f"^blocks: .*{message}"):
            make(a.tocsr(), blocks=blocks)
    with pytest.raises(ValueError, match="blocks: block_size is given, too"):
        make(a.tocsr(), 4, blocks=[0, 40])
    for flag in ("lower", "unit_diagonal"):
        with pytest.raises(TypeError, match=flag):
            make(a.tocsr(), 4, **{flag: "yes"})
    with pytest.raises(ValueError, match="A: a square matrix is needed"):
        make(sp.csr_matrix(np.ones((2, 3))))
    with pytest.raises(ValueError, match="^A: row 0 has an entry in column .*, above"):
        make(a.T.tocsr(), 4)
    with pytest.raises(ValueError, match="^A: row .* has an entry in column .*, below"):
        make(a.tocsr(), 4, lower=False)
    missing = a.copy()
    missing[8:12, 8:12] = 0
    with pytest.raises(ValueError, match="^A: the diagonal block of rows 8 to 11 has no entry"):
        make(missing.tocsr(), 4)
    singular = a.copy()
    singular[8:12, 8:12] = np.ones((4, 4))
    with pytest.raises(ValueError, match="^A: 1 of 10 diagonal blocks is singular, .*rows 8 to 11"):
        make(singular.tocsr(), 4)
    s = make(a.tocsr(), 4)
    with pytest.raises(ValueError, match="^values: 1 of 10 diagonal blocks is singular"):
        s.update(singular.tocsr().data)
    with pytest.raises(ValueError, match="the latest update failed"):
        s @ np.ones(40)
    bad = a.tocsr()
    bad.data[bad.indptr[7]] = np.nan
    with pytest.raises(ValueError, match="^A: row 7 holds NaN"):
        make(bad, 4)
    s.update(a.tocsr().data)
    np.testing.assert_array_equal(s @ np.ones(40), make(a.tocsr(), 4) @ np.ones(40))
