"""Batches of small matrices against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera
from tessera import batched


def random(*shape, dtype=np.float64, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def symmetric(*shape, dtype=np.float64):
    a = random(*shape, dtype=dtype)
    return a + np.swapaxes(a, -1, -2)


def definite(*shape, dtype=np.float64):
    a = random(*shape, dtype=dtype)
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def close(x, y, a=None, factor=1.0):
    """Whether arrays agree to rounding: 100 n eps times the condition number of `a`."""
    x, y = np.asarray(x), np.asarray(y)
    kappa = 1.0 if a is None or a.size == 0 else np.linalg.cond(a.astype(float)).max()
    scale = abs(y).max() if y.size else 1
    n = x.shape[-1] if x.ndim else 1
    return abs(x - y).max(initial=0) <= factor * 100 * n * np.finfo(x.dtype).eps * kappa * scale


def turned(a):
    """The same matrices with contiguous columns."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)


SHAPES = [(5, 4, 4), (3, 3), (2, 3, 7, 7), (4, 33, 33), (3, 1, 1), (0, 4, 4), (2, 0, 0)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_inv(arrays, shape, dtype):
    a = random(*shape, dtype=dtype)
    x, info = batched.inv(arrays.array(a), return_info=True)
    assert arrays.is_ours(x)
    got = arrays.numpy(x)
    assert got.dtype == dtype and got.shape == shape
    assert close(got, np.linalg.inv(a), a)
    info = arrays.numpy(info)
    batch = shape[:-2] or ((1,) if arrays.library == "warp" else ())
    assert info.shape == batch and info.dtype == np.int32 and not info.any()


@pytest.mark.parametrize("make", [turned, lambda a: a[::2], lambda a: a[:, ::-1, ::-1],
                                  lambda a: np.tile(a, (1, 2, 2))[:, :5, :5]])  # fmt: skip
def test_strides(arrays, make):
    if arrays.library in ("warp", "jax", "torch") and make is not turned:
        pytest.skip(f"{arrays.name}: NumPy's strides are not kept")
    a = make(random(6, 5, 5))
    given_array = arrays.array(a)
    if make is turned and arrays.library in ("torch", "jax"):
        given_array = arrays.array(np.ascontiguousarray(np.swapaxes(a, -1, -2))).swapaxes(-1, -2)
    kept = a.copy()
    b = random(a.shape[0], 5, seed=2)
    assert close(arrays.numpy(batched.inv(given_array)), np.linalg.inv(a), a)
    x = arrays.numpy(batched.solve(given_array, arrays.array(b)))
    assert close(x, np.linalg.solve(a, b[..., None])[..., 0], a)
    assert close(arrays.numpy(batched.norm(given_array)), abs(a).sum(axis=-1).max(axis=-1))
    assert close(arrays.numpy(batched.norm(given_array, 1)), abs(a).sum(axis=-2).max(axis=-1))
    y = arrays.numpy(batched.matmul(given_array, arrays.array(b)))
    assert close(y, (a @ b[..., None])[..., 0])
    np.testing.assert_array_equal(a, kept)


def test_out(arrays):
    a = random(6, 5, 5)
    given_array = arrays.array(a.copy())
    if arrays.library == "jax":
        with pytest.raises(TypeError, match="out: arrays of JAX are immutable"):
            batched.inv(given_array, out=given_array)
        return
    out = arrays.array(np.zeros_like(a))
    assert batched.inv(given_array, out=out) is out
    assert close(arrays.numpy(out), np.linalg.inv(a), a)
    batched.inv(given_array, out=given_array)
    np.testing.assert_array_equal(arrays.numpy(given_array), arrays.numpy(out))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3), (4, 5, 5)])
def test_out_of_vectors(arrays, shape):
    if arrays.library == "jax":
        pytest.skip(f"{arrays.name}: arrays are immutable")
    a, b = random(4, 5, 5), random(*shape, seed=2)
    full = b if len(shape) == 3 else b[..., None]
    given_array, right = arrays.array(a), arrays.array(b.copy())
    out = arrays.array(np.zeros(shape))
    assert batched.solve(given_array, right, out=out) is out
    assert close(arrays.numpy(out), np.linalg.solve(a, full).reshape(shape), a)
    assert batched.matmul(given_array, right, out=out) is out
    assert close(arrays.numpy(out), (a @ full).reshape(shape), factor=10)
    if shape != (4, 5, 3):  # Whose columns are copied.
        with pytest.raises(ValueError, match="out: it overlaps"):
            batched.matmul(given_array, right, out=right)
    batched.solve(given_array, right, out=right)
    assert close(arrays.numpy(right), np.linalg.solve(a, full).reshape(shape), a)


@pytest.mark.parametrize("number", [int, float, np.int64, np.uint8, np.float32, np.float64])
def test_norms_named_by_numbers_of_numpy(number):
    a = random(3, 4, 4)
    for call in (batched.norm, batched.cond):
        np.testing.assert_array_equal(call(a, number(1)), call(a, 1))
        if number(0.5):  # Not a whole number.
            np.testing.assert_array_equal(call(a, number(np.inf)), call(a))


def test_overlap_is_an_error():
    memory = random(8, 3, 3)
    with pytest.raises(ValueError, match="out: it overlaps"):
        batched.inv(memory[:6], out=memory[2:])
    x = random(8, 3, seed=2)
    for make in (lambda a: a, turned):
        a = make(memory.copy())
        inside = a.reshape(-1)[:24] if a.flags.c_contiguous else a.swapaxes(1, 2).reshape(-1)[9:33]
        with pytest.raises(ValueError, match="out: it overlaps"):
            batched.matmul(a, x, out=inside.reshape(8, 3))
        np.testing.assert_array_equal(a, memory)
    factors = batched.lu(memory)
    inside = factors._own_factor().swapaxes(1, 2).reshape(-1)[:24].reshape(8, 3)
    with pytest.raises(ValueError, match="out: it overlaps"):
        factors.solve(x, out=inside)
    values = memory[:4].reshape(-1)
    with pytest.raises(ValueError, match="out: it overlaps"):
        batched.matmul(values, x[:4].reshape(-1), out=values[24:], sizes=[3, 3, 3, 3])
    frozen = memory[:2].copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out: it is read-only"):
        batched.inv(memory[:2], out=frozen)
    assert close(batched.inv(frozen), np.linalg.inv(memory[:2]), memory[:2])


def test_singular_matrices_are_data(arrays):
    a = random(4, 3, 3)
    a[1] = 0
    a[2, 2] = a[2, 0] = 0
    x, info = batched.inv(arrays.array(a), return_info=True)
    info = arrays.numpy(info)
    assert info[0] == info[3] == 0 and info[1] == 1 and info[2] > 0
    assert np.isnan(arrays.numpy(x)[1:3]).all() and np.isfinite(arrays.numpy(x)[[0, 3]]).all()
    x, info = batched.solve(arrays.array(a), arrays.array(random(4, 3)), return_info=True)
    assert (arrays.numpy(info) > 0).tolist() == [False, True, True, False]
    sign, logarithm = batched.slogdet(arrays.array(a))
    assert arrays.numpy(sign)[1] == 0 and arrays.numpy(logarithm)[1] == -np.inf
    if arrays.library != "warp":
        assert np.isinf(arrays.numpy(batched.cond(arrays.array(a)))[1])
    assert arrays.numpy(batched.cond(arrays.array(a), reciprocal=True))[1] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, 1, 3, 7])
def test_solve_and_matmul(arrays, dtype, columns):
    a = random(2, 3, 7, 7, dtype=dtype)
    shape = (2, 3, 7) if columns is None else (2, 3, 7, columns)
    b = random(*shape, dtype=dtype, seed=3)
    full = b[..., None] if columns is None else b
    x = batched.solve(arrays.array(a), arrays.array(b))
    assert arrays.is_ours(x)
    assert close(arrays.numpy(x), np.linalg.solve(a, full).reshape(shape), a)
    y = arrays.numpy(batched.matmul(arrays.array(a), arrays.array(b)))
    assert y.shape == shape and close(y, (a @ full).reshape(shape), factor=10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 32, 40])
def test_solve_by_structure(arrays, dtype, n):
    half = random(5, n, n, dtype=dtype)
    definite = half @ half.swapaxes(-1, -2) + np.eye(n, dtype=dtype)
    symmetric = half + half.swapaxes(-1, -2)
    b = random(5, n, dtype=dtype, seed=2)
    for a, words in ((symmetric, ("sym", "symmetric")), (definite, ("pos", "positive definite"))):
        upper = np.where(np.tri(n, k=-1, dtype=bool), np.nan, a).astype(dtype)
        for word in words:
            x, info = batched.solve(
                arrays.array(upper), arrays.array(b), assume_a=word, return_info=True
            )
            assert not arrays.numpy(info).any()
            assert close(arrays.numpy(x), np.linalg.solve(a, b[..., None])[..., 0], a)
    given = definite.copy()
    given[2] = -given[2]
    info = batched.solve(
        arrays.array(given), arrays.array(b), assume_a="pos", return_info=True
    )[1]
    assert arrays.numpy(info).tolist() == [0, 0, 1, 0, 0]
    with pytest.raises(ValueError, match="assume_a: 'her' is none of 'gen', 'sym', 'pos'"):
        batched.solve(arrays.array(definite), arrays.array(b), assume_a="her")


@pytest.mark.parametrize("n", [2, 9, 32, 40])
def test_info_of_nearly_singular_matrices(arrays, n):
    a = random(60, n, n)
    a[:, -1] = a[:, 0]  # Singular, but the last pivot may be a rounding error.
    b = random(60, n, seed=2)
    info = batched.solve(arrays.array(a), arrays.array(b), return_info=True)[1]
    assert ((arrays.numpy(info) > 0) & (arrays.numpy(info) <= n + 1)).all()
    scaled = np.eye(n)[None] * np.array([1.0, 1e-30])[:, None, None]
    scaled[0, -1, -1] = n * np.finfo(np.float64).eps / 2
    info = batched.solve(arrays.array(scaled), arrays.array(b[:2]), return_info=True)[1]
    assert arrays.numpy(info).tolist() == [n + 1, 0]


def test_slogdet_cond_norm(arrays):
    a = random(5, 6, 6)
    sign, logarithm = batched.slogdet(arrays.array(a))
    expected = np.linalg.slogdet(a)
    np.testing.assert_array_equal(arrays.numpy(sign), expected[0])
    np.testing.assert_allclose(arrays.numpy(logarithm), expected[1], rtol=1e-9, atol=1e-9)
    for p in (1, np.inf):
        np.testing.assert_allclose(
            arrays.numpy(batched.norm(arrays.array(a), p)), np.linalg.norm(a, p, axis=(-2, -1))
        )
        if arrays.library != "warp":
            got = batched.cond(arrays.array(a), p)
            np.testing.assert_allclose(arrays.numpy(got), np.linalg.cond(a, p), rtol=1e-6)


def permuted(a, rows, columns):
    a = np.take_along_axis(a, rows[..., :, None], -2)
    return np.take_along_axis(a, columns[..., None, :], -1)


def test_lu(arrays):
    a = random(4, 6, 6)
    b = random(4, 6, 2, seed=2)
    for pivoting in ("partial", "full", "static"):
        f = batched.lu(arrays.array(a), pivoting)
        same = np.tile(np.arange(6), (4, 1))
        rows = same if f.rows is None else arrays.numpy(f.rows)
        columns = same if f.columns is None else arrays.numpy(f.columns)
        if arrays.library != "warp":
            product = arrays.numpy(f.L) @ arrays.numpy(f.U)
            assert close(product, permuted(a, rows, columns), a)
        assert close(arrays.numpy(f.solve(arrays.array(b))), np.linalg.solve(a, b), a, 100)
        x = f.solve(arrays.array(b), transposed=True)
        assert close(arrays.numpy(x), np.linalg.solve(np.swapaxes(a, -1, -2), b), a, 100)
        assert close(arrays.numpy(f.inv()), np.linalg.inv(a), a, 100)
        assert not arrays.numpy(f.info).any() and "ldu" in repr(f)


def test_cholesky(arrays):
    a = definite(4, 6, 6)
    lower, info = batched.cholesky(arrays.array(a), return_info=True)
    if arrays.library != "warp":
        assert close(arrays.numpy(lower), np.linalg.cholesky(a), a)
    assert not arrays.numpy(info).any()
    f = batched.cholesky(arrays.array(a), return_factors=True)
    assert close(
        arrays.numpy(f.solve(arrays.array(random(4, 6)))),
        np.linalg.solve(a, random(4, 6)[..., None])[..., 0],
        a,
    )
    assert close(arrays.numpy(f.inv()), np.linalg.inv(a), a)
    assert (arrays.numpy(batched.cholesky(arrays.array(-a), return_info=True)[1]) == 1).all()


@pytest.mark.parametrize("order", [np.array, turned])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_lower_triangle_is_read(arrays, order, dtype):
    a = definite(4, 6, 6, dtype=dtype)
    given_array = order(np.tril(a) + np.triu(np.full_like(a, np.nan), 1))
    if order is turned and arrays.library in ("torch", "jax"):
        given_array = arrays.array(np.swapaxes(given_array, -1, -2).copy()).swapaxes(-1, -2)
    elif order is turned and arrays.library == "warp":
        pytest.skip(f"{arrays.name}: NumPy's strides are not kept")
    else:
        given_array = arrays.array(given_array)
    f = batched.cholesky(given_array, return_factors=True)
    for found in (f, batched.ldlt(given_array)):
        assert not arrays.numpy(found.info).any()
        assert close(arrays.numpy(found.inv()), np.linalg.inv(a), a)
    if arrays.library != "warp":
        lower = arrays.numpy(batched.cholesky(given_array))
        assert close(lower, np.linalg.cholesky(a.astype(float)).astype(dtype), a)


@pytest.mark.parametrize("pivoting", ["rook", "bunch_kaufman", "full", "static"])
def test_ldlt(arrays, pivoting):
    a = symmetric(4, 6, 6)
    b = random(4, 6, seed=5)
    f = batched.ldlt(arrays.array(a), pivoting)
    rows = arrays.numpy(f.rows)
    if arrays.library != "warp":
        lower = arrays.numpy(f.L)
        product = lower @ arrays.numpy(f.D) @ np.swapaxes(lower, -1, -2)
        assert close(product, permuted(a, rows, rows), a)
    expected = np.linalg.solve(a, b[..., None])[..., 0]
    assert close(arrays.numpy(f.solve(arrays.array(b))), expected, a, 100)
    assert close(arrays.numpy(f.inv()), np.linalg.inv(a), a, 100)


def test_lists_of_various_sizes(arrays):
    sizes = [3, 1, 8, 3, 33]
    lists = [random(n, n, seed=n + k) for k, n in enumerate(sizes)]
    spds = [definite(n, n) for n in sizes]
    vectors = [random(n, seed=n) for n in sizes]
    given_list, right = [arrays.array(a) for a in lists], [arrays.array(v) for v in vectors]
    inverses, info = batched.inv(given_list, return_info=True)
    assert isinstance(inverses, list) and not arrays.numpy(info).any()
    for a, x in zip(lists, inverses, strict=True):
        assert close(arrays.numpy(x), np.linalg.inv(a), a)
    for a, v, x in zip(lists, vectors, batched.solve(given_list, right), strict=True):
        assert close(arrays.numpy(x), np.linalg.solve(a, v), a)
    for a, v, y in zip(lists, vectors, batched.matmul(given_list, right), strict=True):
        assert close(arrays.numpy(y), a @ v, factor=10)
    expected = [np.linalg.norm(a, np.inf) for a in lists]
    np.testing.assert_allclose(arrays.numpy(batched.norm(given_list)), expected)
    sign, logarithm = batched.slogdet(given_list)
    np.testing.assert_array_equal(arrays.numpy(sign), [np.linalg.slogdet(a)[0] for a in lists])
    if arrays.library == "warp":
        return
    f = batched.lu(given_list)
    for a, lower, upper, rows in zip(lists, f.L, f.U, f.rows, strict=True):
        product = arrays.numpy(lower) @ arrays.numpy(upper)
        assert close(product, a[arrays.numpy(rows)], a)
    for a, v, x in zip(lists, vectors, f.solve(right), strict=True):
        assert close(arrays.numpy(x), np.linalg.solve(a, v), a)
    for a, lower in zip(spds, batched.cholesky([arrays.array(a) for a in spds]), strict=True):
        assert close(arrays.numpy(lower), np.linalg.cholesky(a), a)


@pytest.mark.parametrize("none", [[], ()])
def test_lists_of_no_matrices(none):
    x, info = batched.inv(none, return_info=True)
    assert x == [] and info.shape == (0,)
    assert batched.solve(none, []) == [] and batched.matmul(none, []) == []
    assert batched.cholesky(none) == []
    for numbers in (batched.norm(none), batched.cond(none), *batched.slogdet(none)):
        assert numbers.shape == (0,) and numbers.dtype == np.float64
    for f in (batched.lu(none), batched.ldlt(none)):
        assert f.inv() == f.L == f.rows == f.solve([]) == []
    with pytest.raises(ValueError, match="^b: expected a list of 0 vectors"):
        batched.solve(none, [np.ones(3)])


def test_packed_vectors_of_matrices(arrays):
    sizes = np.array([2, 5, 3])
    lists = [random(n, n, seed=n) for n in sizes]
    packed = arrays.array(np.concatenate([a.ravel() for a in lists]))
    right = arrays.array(np.concatenate([a[0] for a in lists]))
    x = arrays.numpy(batched.inv(packed, sizes=sizes))
    expected = np.concatenate([np.linalg.inv(a).ravel() for a in lists])
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-10)
    x = arrays.numpy(batched.solve(packed, right, sizes=sizes))
    expected = np.concatenate([np.linalg.solve(a, a[0]) for a in lists])
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="a: the shape"):
        batched.inv(packed, sizes=[2, 5])
    with pytest.raises(ValueError, match="sizes: "):
        batched.inv(packed, sizes=[-2, 5])
    with pytest.raises(TypeError, match="sizes: "):
        batched.inv(packed, sizes=[2.0])
    with pytest.raises(ValueError, match="b: the shape"):
        batched.solve(packed, packed, sizes=sizes)


def test_factors_of_packed_vectors(arrays):
    sizes = [2, 5, 0, 3]
    lists = [definite(n, n) for n in sizes]
    packed = arrays.array(np.concatenate([a.ravel() for a in lists]))
    right = np.concatenate([random(n, seed=n) for n in sizes])

    def whole(parts):
        return np.concatenate([arrays.numpy(part).ravel() for part in parts])

    listed = [arrays.array(a) for a in lists if a.size]
    for factor in (batched.lu, batched.ldlt):
        f, expected = factor(packed, sizes=sizes), factor(listed)
        x = arrays.numpy(f.solve(arrays.array(right)))
        exact = [np.linalg.solve(a, random(len(a), seed=len(a))) for a in lists]
        np.testing.assert_allclose(x, np.concatenate(exact), rtol=1e-8, atol=1e-10)
        inverses = np.concatenate([np.linalg.inv(a).ravel() for a in lists])
        np.testing.assert_allclose(arrays.numpy(f.inv()), inverses, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(arrays.numpy(f.factor), whole(expected.factor))
        if arrays.library != "warp":
            np.testing.assert_array_equal(arrays.numpy(f.L), whole(expected.L))
            np.testing.assert_array_equal(arrays.numpy(f.U), whole(expected.U))
    lower = arrays.numpy(batched.cholesky(packed, sizes=sizes))
    exact = np.concatenate([np.linalg.cholesky(a).ravel() for a in lists])
    if arrays.library != "warp":
        np.testing.assert_allclose(lower, exact, rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="^return_info: "):
        batched.cholesky(packed, sizes=sizes, return_info=True, return_factors=True)


def test_nested_lists_of_right_hand_sides():
    a, b = random(2, 3, 3), random(2, 3, 2, seed=2)
    for call in (batched.solve, batched.matmul):
        np.testing.assert_array_equal(call(a, b.tolist()), call(a, b))
        np.testing.assert_array_equal(call(a.tolist(), b.tolist()), call(a, b))
        np.testing.assert_array_equal(call(a, b[..., 0].tolist()), call(a, b[..., 0]))
        np.testing.assert_array_equal(call(a, a.tolist()), call(a, a))


def test_integers_become_float64():
    a = np.array([[2, 1], [1, 1]])
    np.testing.assert_allclose(batched.inv(a), [[1, -1], [-1, 2]])


@given(
    batch=st.lists(st.integers(0, 3), max_size=3),
    n=st.integers(0, 34),
    k=st.integers(0, 4),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 100),
    columns_first=st.booleans(),
)
def test_shapes(batch, n, k, dtype, seed, columns_first):
    rng = np.random.default_rng(seed)
    a = (rng.standard_normal((*batch, n, n)) + 2 * n * np.eye(n)).astype(dtype)
    b = rng.standard_normal((*batch, n, k)).astype(dtype)
    given_array = turned(a) if columns_first else a
    x = batched.solve(given_array, b)
    assert x.shape == b.shape and close(x, np.linalg.solve(a, b), a)
    assert close(batched.inv(given_array), np.linalg.inv(a), a)
    assert close(batched.matmul(given_array, b), a @ b, factor=10)
    assert batched.norm(given_array).shape == tuple(batch)
    f = batched.lu(given_array)
    assert close(f.L @ f.U, permuted(a, f.rows, np.broadcast_to(np.arange(n), f.rows.shape)), a)


def test_largest_size():
    a = random(2, 128, 128)
    assert close(tessera.batched.inv(a), np.linalg.inv(a), a)


@pytest.mark.parametrize("make", [
    lambda a: batched.lu(a), lambda a: batched.lu(a, "full"), lambda a: batched.ldlt(a),
    lambda a: batched.cholesky(a, return_factors=True),
])  # fmt: skip
def test_factors_cannot_be_changed(make):
    """The arrays are those that `solve` reads."""
    a = 9 * np.eye(4) + np.ones((3, 4, 4))
    for given in (a, list(a)):
        f = make(given)
        for array in (f.factor, f.rows, f.columns):
            for each in array if isinstance(array, list) else [array]:
                assert each is None or not each.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        make(a).factor[0] = 1
    assert make(a).L.flags.writeable and batched.cholesky(a).flags.writeable
