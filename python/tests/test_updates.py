"""Other values for a matrix that was set up: what fits, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import relative_residual, spd, vector

import tessera

A, B = spd(), vector(60)


def other_order(a):
    """The same matrix with the entries of each row backwards."""
    a = sp.csr_matrix(a)
    indices, data = a.indices.copy(), a.data.copy()
    for start, end in zip(a.indptr[:-1], a.indptr[1:], strict=True):
        indices[start:end], data[start:end] = indices[start:end][::-1], data[start:end][::-1]
    return sp.csr_matrix((data, indices, a.indptr.copy()), a.shape)


def moved(a):
    """A matrix with as many entries in other places."""
    order = np.random.default_rng(5).permutation(a.shape[0])
    return sp.csr_matrix(a[order][:, order])


OBJECTS = [
    tessera.matrix, tessera.Solver, tessera.jacobi, tessera.smoothed_aggregation_solver,
    lambda a: tessera.Solver(a, M=lambda x: x), lambda a: tessera.Solver(a, near_null=np.ones(60)),
]  # fmt: skip


@pytest.mark.parametrize("make", OBJECTS)
@pytest.mark.parametrize("change", [other_order, moved])
@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.coo_matrix])
def test_another_pattern_is_an_error(make, change, convert):
    made = make(convert(A))
    with pytest.raises(ValueError, match="values: the entries are in other places"):
        made.update(convert(change(2 * A)))
    made.update(convert(2 * A))


def test_another_pattern_of_any_library_is_an_error(arrays):
    if arrays.library == "warp" and arrays.on_gpu:
        pytest.skip("warp-cuda: patterns are not compared")
    solver = tessera.Solver(arrays.csr(A))
    with pytest.raises(ValueError, match="values: the entries"):
        solver.update(arrays.csr(moved(A)))
    solver.update(arrays.csr(2 * A))
    x = arrays.numpy(solver.solve(arrays.array(B)).x)
    assert relative_residual(2 * A, x, B) < 1e-7


def test_rows_that_are_not_sorted():
    solver = tessera.Solver(other_order(A))
    solver.update(other_order(3 * A))
    assert relative_residual(3 * A, solver.solve(B).x, B) < 1e-7


@pytest.mark.parametrize("make", OBJECTS)
def test_rows_that_are_sorted_in_place_later(make):
    a = other_order(A)
    made = make(a)
    a.sort_indices()
    with pytest.raises(ValueError, match="values: the entries"):
        made.update(a)
    made.update(other_order(2 * A))


@pytest.mark.parametrize("make", OBJECTS)
def test_values_of_a_sparse_matrix(make):
    made = make(tessera.matrix(A))
    made.update(tessera.matrix(2 * A))
    if isinstance(made, tessera.Solver):
        assert relative_residual(2 * A, made.solve(B).x, B) < 1e-7
    with pytest.raises(ValueError, match="values: the entries"):
        made.update(tessera.matrix(moved(A)))


def test_a_sparse_matrix_in_another_format_and_type():
    m = tessera.matrix(tessera.matrix(A), format="sell", dtype=np.float32)
    assert m.format == "sell" and m.dtype == np.float32
    np.testing.assert_allclose(m @ B, A @ B, rtol=1e-4, atol=1e-4)
    m.update(2 * A)
    again = tessera.matrix(m)
    assert again.dtype == np.float32 and again.format == "csr"
    np.testing.assert_allclose(again @ B, 2 * A @ B, rtol=1e-4, atol=1e-4)
