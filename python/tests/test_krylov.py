"""The functions with SciPy's names."""

from __future__ import annotations

import signal
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import general, relative_residual, spd, vector
from hypothesis import given
from hypothesis import strategies as st

import tessera

METHODS = ["cg", "fcg", "bicgstab", "gmres", "minres", "idr", "sqmr"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solves_like_scipy(arrays, method, dtype):
    a, b = spd(dtype=dtype), vector(60, dtype=dtype)
    tol = 1e-4 if dtype == np.float32 else 1e-10
    x, info = getattr(tessera, method)(arrays.csr(a), arrays.array(b), rtol=tol)
    assert info == 0
    assert arrays.is_ours(x)
    x = arrays.numpy(x)
    assert x.dtype == dtype and x.shape == (60,)
    assert relative_residual(a, x, b) <= 1.1 * tol


@pytest.mark.parametrize("method", ["bicgstab", "gmres", "idr"])
def test_nonsymmetric(arrays, method):
    a, b = general(), vector(60)
    x, info = getattr(tessera, method)(arrays.csr(a), arrays.array(b), rtol=1e-9)
    assert info == 0
    assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-9


@pytest.mark.parametrize("convert", [
    sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.bsr_matrix, sp.csr_array, sp.csc_array,
    sp.coo_array, sp.bsr_array, sp.lil_matrix, sp.dok_matrix, sp.dia_matrix,
    lambda a: sp.bsr_matrix(a, blocksize=(3, 3)), lambda a: sp.bsr_matrix(a, blocksize=(2, 3)),
    lambda a: a.toarray(), lambda a: (a.indptr, a.indices, a.data), sl.aslinearoperator,
    tessera.matrix,
    lambda a: (lambda v: a @ v),
])  # fmt: skip
def test_takes_every_matrix(convert):
    a, b = general(), vector(60)
    x, info = tessera.gmres(convert(a), b, rtol=1e-9)
    assert info == 0
    assert relative_residual(a, x, b) <= 1.1e-9


def test_blocks_of_plain_arrays(arrays):
    a = sp.bsr_matrix(spd(), blocksize=(3, 3))
    b = vector(60)
    given = tuple(arrays.array(part) for part in (a.indptr, a.indices, a.data))
    x, info = tessera.cg(given, arrays.array(b), rtol=1e-9)
    assert info == 0
    assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-9


@pytest.mark.parametrize("offsets", [np.int32, np.int64])
@pytest.mark.parametrize("indices", [np.int32, np.int64, np.uint16])
def test_index_types(offsets, indices):
    a, b = spd(), vector(60)
    x, info = tessera.cg((a.indptr.astype(offsets), a.indices.astype(indices), a.data), b)
    assert info == 0
    assert relative_residual(a, x, b) <= 1.1e-5


def test_unsorted_and_duplicate_columns_are_sorted_in_a_copy():
    indptr, indices = np.array([0, 3, 5]), np.array([1, 0, 0, 1, 0])
    data = np.array([1.0, 2.0, 2.0, 5.0, 1.0])
    kept = indices.copy(), data.copy()
    x, info = tessera.cg((indptr, indices, data), np.array([6.0, 11.0]), rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(x, np.linalg.solve([[4, 1], [1, 5]], [6, 11]), rtol=1e-9)
    np.testing.assert_array_equal(indices, kept[0])
    np.testing.assert_array_equal(data, kept[1])


def test_integers_become_float64():
    a = sp.csr_matrix(np.array([[4, 1], [1, 3]]))
    x, info = tessera.cg(a, np.array([1, 2]), rtol=1e-12)
    assert info == 0 and x.dtype == np.float64
    np.testing.assert_allclose(x, [1 / 11, 7 / 11], rtol=1e-9)


def test_mixed_types_are_float64():
    a = spd(dtype=np.float32)
    assert tessera.cg(a, vector(60))[0].dtype == np.float64
    assert tessera.cg(spd(), vector(60, dtype=np.float32))[0].dtype == np.float64


def test_info(arrays):
    a, b = sp.csr_matrix(tessera.problems("poisson2d:20").A), np.ones(400)
    x, info = tessera.cg(arrays.csr(a), arrays.array(b), rtol=1e-12, maxiter=3)
    assert info == 3
    zero = sp.csr_matrix((np.zeros(2), ([0, 1], [0, 1])), shape=(2, 2))
    assert tessera.cg(zero, np.ones(2))[1] < 0
    nan = sp.csr_matrix((np.array([np.nan, 1.0]), ([0, 1], [0, 1])), shape=(2, 2))
    assert tessera.cg(nan, np.ones(2))[1] == -2


def test_start(arrays):
    a, b = spd(), vector(60)
    exact = np.linalg.solve(a.toarray(), b)
    start = arrays.array(exact)
    calls = []
    x, info = tessera.cg(arrays.csr(a), arrays.array(b), start, rtol=1e-6, callback=calls.append)
    assert info == 0 and not calls
    np.testing.assert_array_equal(arrays.numpy(start), exact)
    np.testing.assert_allclose(arrays.numpy(x), exact)


def test_column(arrays):
    a, b = spd(), vector(60).reshape(60, 1)
    x, info = tessera.cg(arrays.csr(a), arrays.array(b))
    assert info == 0
    assert arrays.numpy(x).shape == (60, 1)


def test_zero_right_hand_side(arrays):
    x, info = tessera.cg(arrays.csr(spd()), arrays.array(np.zeros(60)))
    assert info == 0
    assert not arrays.numpy(x).any()


def test_callback_sees_every_iteration(arrays):
    a, b = arrays.csr(tessera.problems("poisson2d:20").A), arrays.array(np.ones(400))
    seen = []
    assert tessera.solve(a, b, "cg", None, rtol=1e-8, callback=seen.append).converged
    counts = [each.iterations for each in seen]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert seen[-1].relative_residual <= seen[-1].target == 1e-8
    r = tessera.solve(a, b, "cg", None, rtol=1e-8, callback=lambda each: each.iterations < 5)
    assert r.iterations == 5 and r.status == "interrupted"


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_as_in_scipy(arrays, method):
    a, b = spd(), vector(60)
    matrix, right, seen = arrays.csr(a), arrays.array(b), []
    solve = getattr(tessera, method)
    x, info = solve(matrix, right, rtol=1e-9, M="jacobi", callback=seen.append)
    assert info == 0 and len(seen) > 2
    if method == "gmres":
        assert all(type(each) is float for each in seen) and seen[-1] <= 1e-9
    else:
        assert all(arrays.is_ours(each) for each in seen)
        np.testing.assert_array_equal(arrays.numpy(seen[-1]), arrays.numpy(x))
        second, _ = solve(matrix, right, rtol=1e-9, M="jacobi", maxiter=2)
        np.testing.assert_array_equal(arrays.numpy(seen[1]), arrays.numpy(second))


def test_gmres_takes_what_scipy_takes():
    a, b = general(), vector(60)
    for given in ({"restart": None}, {"callback_type": "legacy"}, {"callback_type": "pr_norm"}):
        seen = []
        x, info = tessera.gmres(a, b, rtol=1e-9, callback=seen.append, **given)
        assert info == 0 and relative_residual(a, x, b) <= 1.1e-9 and seen[-1] <= 1e-9
    some = tessera.gmres(a, b, restart=20)[0]
    np.testing.assert_array_equal(tessera.gmres(a, b, restart=None)[0], some)
    with pytest.raises(ValueError, match="^callback_type: 'x'"):
        tessera.gmres(a, b, callback_type="x")


def test_callbacks_see_what_scipy_shows():
    a, b = spd(), vector(60)
    theirs, ours = [], []
    sl.cg(a, b, atol=0, callback=lambda x: theirs.append(np.linalg.norm(b - a @ x)))
    tessera.cg(a, b, callback=lambda x: ours.append(np.linalg.norm(b - a @ x)))
    count = min(len(ours), len(theirs))
    assert count > 3 and abs(len(ours) - len(theirs)) <= 1
    np.testing.assert_allclose(ours[:count], theirs[:count], rtol=1e-6)


def test_preconditioners_of_all_kinds(arrays):
    a = sp.csr_matrix(tessera.problems("poisson2d:20").A)
    b = np.ones(400)
    matrix, right = arrays.csr(a), arrays.array(b)
    inverse = sp.diags(1 / a.diagonal()).tocsr()
    kinds = [None, "jacobi", tessera.jacobi(matrix), arrays.csr(inverse)]
    if arrays.library in ("numpy", "torch", "cupy"):
        kinds.append(lambda r: r * 0.25)
    for m in kinds:
        x, info = tessera.cg(matrix, right, rtol=1e-8, M=m)
        assert info == 0, m
        assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-8, m


def test_operators_on_device(arrays):
    if arrays.library not in ("numpy", "torch", "cupy"):
        pytest.skip(f"{arrays.name}: no sparse product to call")
    a, b = spd(), vector(60)
    matrix, calls = arrays.csr(a), []

    def product(v):
        calls.append(arrays.is_ours(v))
        return matrix @ v

    x, info = tessera.cg(product, arrays.array(b), rtol=1e-9)
    assert info == 0 and all(calls) and len(calls) > 3
    assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-9


def test_an_error_in_a_function_is_passed_on():
    class Special(Exception):
        pass

    def fail(v):
        raise Special("here")

    b = np.ones(5)
    for call in (
        lambda: tessera.cg(fail, b),
        lambda: tessera.cg(sp.identity(5, format="csr") * 2, b, M=fail),
        lambda: tessera.cg(spd(5), b, callback=fail),
    ):
        with pytest.raises(Special, match="here"):
            call()


def test_an_interrupt_ends_a_solve():
    a = tessera.problems("poisson2d:100").A
    b = np.ones(a.shape[0])

    def handler(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    solver = tessera.Solver(a, method="richardson", M="jacobi")
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            solver.solve(b, rtol=0, maxiter=10**9, max_seconds=100)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert solver.solve(b, rtol=0.5).converged


@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from([np.float32, np.float64, np.int32, np.int64]),
    index=st.sampled_from([np.int32, np.int64]),
    layout=st.sampled_from(["csr", "csc", "coo", "bsr"]),
    stride=st.sampled_from([1, 2, -1]),
    order=st.sampled_from(["C", "F"]),
)
def test_shapes_strides_and_types(n, seed, dtype, index, layout, stride, order):
    a = sp.csr_matrix(general(n, seed) * 4, dtype=dtype)
    a.setdiag(np.asarray(abs(a).sum(axis=1)).ravel() + 1)
    if layout == "csr":
        given_matrix = a.indptr.astype(index), a.indices.astype(index), a.data
    else:
        given_matrix = a.asformat(layout)
    wide = np.zeros(2 * n, dtype)
    wide[:] = np.random.default_rng(seed).integers(-5, 6, 2 * n)
    b = wide[::stride][:n]
    kept = b.copy()
    tol = 1e-4 if dtype == np.float32 else 1e-9
    x, info = tessera.gmres(given_matrix, b, rtol=tol, maxiter=1000)
    assert info == 0
    np.testing.assert_array_equal(b, kept)
    assert x.dtype == (np.float32 if dtype == np.float32 else np.float64)
    if b.any():
        assert relative_residual(a, x, b) <= 1.1 * tol
    columns = np.array(wide.reshape(n, 2), order=order)
    result = tessera.solve(a, columns, method="gmres", M=None, rtol=tol)
    assert result.converged and result.x.shape == (n, 2)
    for j in range(2):
        if columns[:, j].any():
            assert relative_residual(a, result.x[:, j], columns[:, j]) <= 1.1 * tol


@given(n=st.integers(0, 3))
def test_tiny_systems(n):
    a = sp.csr_matrix(2 * np.eye(n))
    x, info = tessera.cg((a.indptr, a.indices, a.data), np.ones(n))
    assert info == 0
    np.testing.assert_allclose(x, 0.5 * np.ones(n))


def test_rows_that_the_norm_hides_are_warned_of(arrays):
    a, b = spd(), vector(60)
    a = a.tolil()
    a[0, 0] = b[0] = 1e20  # A condition by a penalty: x_0 = 1.
    a = arrays.csr(a.tocsr())
    with pytest.warns(UserWarning, match="in row .* the residual is"):
        _, info = tessera.cg(a, arrays.array(b), maxiter=2)
    assert info == 0
    r = tessera.solve(a, arrays.array(b))
    assert r.converged and r.backward_error <= 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tessera.cg(arrays.csr(spd()), arrays.array(vector(60)))[1] == 0


def test_rounding_errors_that_hide_the_residual_are_no_convergence():
    """Rows of different sizes: info is 0 for the true residual, whatever double makes of it."""
    random = np.random.default_rng(5)
    told = 0
    for _ in range(100):
        n = int(random.integers(2, 30))
        scales = 10.0 ** random.uniform(-8, 8, n)
        a = random.random((n, n)) * (random.random((n, n)) < 3 / n) + 2 * np.eye(n)
        a = sp.csr_array(scales[:, np.newaxis] * a)
        b = random.standard_normal(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, info = tessera.gmres(a, b, rtol=1e-3, M="direct")
        exact = [[Fraction(float(v)) for v in row] for row in a.toarray()]
        r = [
            Fraction(float(b[i])) - sum(v * Fraction(float(x[j])) for j, v in enumerate(row))
            for i, row in enumerate(exact)
        ]
        residual = np.linalg.norm([float(v) for v in r]) / np.linalg.norm(b)
        told += info == 0
        assert info != 0 or residual <= 1.02e-3
    assert told > 50
