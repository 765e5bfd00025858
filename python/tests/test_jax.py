"""Arrays of JAX where it has no float64, as by default."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Arrays, general, relative_residual, vector

import tessera
from tessera import batched


@pytest.fixture
def arrays():
    found = Arrays("jax-cpu")
    found.module.config.update("jax_enable_x64", False)
    yield found
    found.module.config.update("jax_enable_x64", True)


def test_solves_in_double_have_results_in_single(arrays):
    a, b = general(), vector(60)
    x, info = tessera.gmres(a, arrays.array(b), rtol=1e-9, M="jacobi")
    assert info == 0 and x.dtype == np.float32
    assert relative_residual(a, x, b) < 1e-6
    seen = []
    tessera.gmres(
        lambda v: a.astype(np.float32) @ np.asarray(v), arrays.array(b), callback=seen.append
    )
    tessera.cg(a, arrays.array(b), maxiter=2, callback=seen.append)
    assert np.isfinite(seen[-1]).all()
    r = tessera.solve(a, arrays.array(np.stack([b, 2 * b], 1)))
    assert r.converged and relative_residual(a, r.x[:, 1], 2 * b) < 1e-6


def test_integers_are_computed_in_double(arrays):
    a = np.array([[2, 1], [1, 3]])
    expected = np.linalg.inv(a)
    for found in (batched.inv(arrays.array(a[None]))[0], batched.inv([arrays.array(a)])[0],
                  batched.lu(arrays.array(a)).inv()):  # fmt: skip
        assert arrays.is_ours(found) and found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    sign, logarithm = batched.slogdet(arrays.array(a[None]))
    assert arrays.is_ours(sign) and arrays.is_ours(logarithm)
    np.testing.assert_allclose(logarithm, [np.log(5)], rtol=1e-6)
    assert float(sign[0]) == 1


def test_traced_arrays_are_refused_by_name(arrays):
    with pytest.raises(TypeError, match="a: "):
        arrays.module.jit(batched.inv)(np.eye(2)[None])


def test_sparse_matrices_of_jax_are_refused_by_name(arrays):
    sparse = pytest.importorskip("jax.experimental.sparse")
    matrix = sparse.BCOO.fromdense(arrays.array(np.eye(3)))
    for call in (tessera.solve, tessera.cg):
        with pytest.raises(TypeError, match="A: expected an array, got BCOO"):
            call(matrix, np.ones(3))
