"""Arguments in unusual forms, and what becomes of a solver in unusual hands."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import Arrays, general, relative_residual, spd, vector
from scipy.sparse.linalg import aslinearoperator

import tessera
from tessera import _libraries, batched
from tessera.plot import _runs

A, B = spd(), vector(60)


def test_float32_systems(arrays):
    a, b = spd(dtype=np.float32), vector(60, dtype=np.float32)
    r = tessera.solve(arrays.csr(a), arrays.array(b), rtol=1e-5)
    assert r.converged and arrays.numpy(r.x).dtype == np.float32
    r = tessera.solve(arrays.csr(a), arrays.array(b))  # To 1e-4: float cannot reach 1e-8.
    assert r.converged and 1e-8 < r.true_residual <= 1e-4


def test_an_operator_of_float64_is_solved_in_float64():
    a = general()
    r = tessera.solve(aslinearoperator(a), B.astype(np.float32), M=None, rtol=1e-10)
    assert r.converged and r.x.dtype == np.float64
    r = tessera.solve(aslinearoperator(a.astype(np.float32)), B.astype(np.float32), rtol=1e-4)
    assert r.converged and r.x.dtype == np.float32


@pytest.mark.parametrize("false", [False, np.False_])
def test_what_a_callback_returns(false):
    """False ends a solve; SciPy ignores it, and so do the functions with its names."""
    calls = []

    def stop(given):
        calls.append(given)
        return false

    assert tessera.solve(A, B, rtol=1e-12, callback=stop).status == "interrupted"
    assert len(calls) == 1
    for other in (None, 0, np.True_):
        assert tessera.solve(A, B, callback=lambda _, answer=other: answer).converged
    p = tessera.problems("poisson2d:60")
    multigrid = tessera.smoothed_aggregation_solver(p.A)
    for call in (tessera.cg, tessera.gmres, lambda _, b, **given: multigrid.solve(b, **given)):
        calls.clear()
        call(p.A, p.b, callback=stop)
        assert len(calls) > 1


def test_masked_arrays_without_masked_entries():
    x, info = tessera.cg(A, np.ma.masked_array(B, False), rtol=1e-9)
    assert info == 0 and relative_residual(A, x, B) < 1e-8


def test_right_hand_sides_without_columns():
    for call in (tessera.solve, tessera.cg):
        with pytest.raises(ValueError, match=r"^b: the shape \(60, 0\) has no column$"):
            call(A, np.zeros((60, 0)))


def test_lists_of_columns():
    m = tessera.matrix(A)
    columns = np.stack([B, 2 * B], 1)
    np.testing.assert_array_equal(m @ columns.tolist(), m @ columns)
    np.testing.assert_array_equal(m @ B.tolist(), m @ B)


def test_a_solver_tells_what_it_is():
    solver = tessera.Solver(A, M="jacobi")
    assert repr(solver) == "<Solver of shape (60, 60), method 'auto', M 'jacobi'>"
    solver.close()
    assert repr(solver) == "<Solver, closed>"


def test_a_solver_that_its_callback_closes():
    solver = tessera.Solver(A, M="jacobi")
    with pytest.raises(RuntimeError, match="closed"):
        solver.solve(B, callback=lambda progress: solver.close())


@pytest.mark.parametrize("near_null", [None, np.ones(60)])
def test_a_failed_update_is_told_until_the_next(near_null):
    solver = tessera.Solver(A, method="fcg", M="amg", near_null=near_null, format="csr")
    with pytest.raises(ValueError, match="values: "):
        solver.update(-A.data)
    with pytest.raises(RuntimeError, match="the latest update failed"):
        solver.solve(B)
    solver.update(2 * A.data)
    assert relative_residual(2 * A, solver.solve(B).x, B) < 1e-7


def test_values_of_another_kind_get_another_method():
    """auto chose methods for a symmetric matrix; the values are no longer those of one."""
    solver = tessera.Solver(A)
    solver.update(A.data * np.random.default_rng(1).uniform(-1, 1, A.nnz))
    result = solver.solve(B)
    assert result.converged, result.message
    solver.update(A.data)
    assert solver.solve(B).converged


def test_sizes_of_any_type():
    values = np.concatenate([np.eye(n).ravel() for n in (3, 100)])
    for sizes in (np.array([3, 100], np.int8), np.array([3, 100], np.uint64), [3, 100]):
        np.testing.assert_array_equal(batched.norm(values, sizes=sizes), [1, 1])
    assert batched.inv(np.zeros(0), sizes=[]).shape == (0,)


def test_lists_of_arrays_and_lists():
    first, second = np.array([[2.0, 1], [1, 3]]), np.array([[4.0]])
    mixed = [first, second.tolist()]
    for found in (batched.inv(mixed), batched.lu(mixed).inv()):
        np.testing.assert_allclose(found[0], np.linalg.inv(first))
        np.testing.assert_allclose(found[1], [[0.25]])


def test_tensors_that_are_stored_with_the_other_sign():
    torch = Arrays("torch-cpu").module
    b = torch.from_numpy(B.copy())
    negative = torch._neg_view(b)
    assert negative.is_neg()
    x = tessera.cg(A, negative, rtol=1e-10)[0]
    assert relative_residual(A, x, -B) < 1e-9
    a = torch.from_numpy(np.eye(3)[None])
    np.testing.assert_array_equal(batched.inv(torch._neg_view(a)), -np.eye(3)[None])
    with pytest.raises(ValueError, match="out: "):
        batched.inv(a, out=torch._neg_view(torch.zeros(1, 3, 3, dtype=torch.float64)))


def test_layouts_of_torch_that_are_not_taken():
    torch = Arrays("torch-cpu").module
    with pytest.raises(TypeError, match="A: the layout torch.sparse_bsc is not supported"):
        tessera.matrix(torch.eye(6).to_sparse_bsc((3, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, float, "f4", int, np.dtype("f8"), None])
def test_the_dtype_of_an_operator_may_be_a_type(dtype):
    class Doubles:
        shape = (60, 60)

        def matvec(self, x):
            return 2 * x

    operator = Doubles()
    operator.dtype = dtype
    b = vector(60)
    for x, info in (tessera.cg(operator, b), tessera.cg(spd(), b, M=operator)):
        assert info == 0 and x.dtype == np.float64
    assert tessera.solve(operator, b).converged
    assert tessera.Solver(operator).solve(b.astype(np.float32)).converged


def test_modules_of_torch_are_operators():
    torch = Arrays("torch-cpu").module
    linear = torch.nn.Linear(60, 60, bias=False, dtype=torch.float64)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(A.toarray()))
    x, info = tessera.cg(linear, torch.from_numpy(B), rtol=1e-9)
    assert info == 0 and relative_residual(A, x, B) < 1e-8


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_factors_are_not_copied(used, listed):
    """They hold addresses; a shallow copy shares the memory."""
    a = [spd(n).toarray() for n in (20, 30)] if listed else np.stack([spd(20).toarray()] * 2)
    for factors in (batched.lu(a), batched.ldlt(a), batched.cholesky(a, return_factors=True)):
        if used:
            factors.inv()
        for call in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot pickle 'Factors' object"):
                call(factors)
        shared = copy.copy(factors)
        del factors
        for inverse, each in zip(shared.inv(), a, strict=True):
            np.testing.assert_allclose(inverse @ each, np.eye(len(each)), atol=1e-12)


def test_kinds_are_compared_by_identity():
    for kind in (_libraries.NUMPY, _libraries.TORCH, _libraries.OTHER):
        assert copy.copy(kind) is kind and copy.deepcopy([kind])[0] is kind


def test_objects_with_arrays_are_compared_by_identity():
    result, p = tessera.solve(A, B), tessera.problems("poisson2d:5")
    for each in (result, p, _runs.take(result), _runs.take(A)):
        assert each == each and each in [copy.copy(each), each]
        assert each != copy.deepcopy(each)


def test_objects_that_hold_memory_say_how_to_take_them_along():
    solver = tessera.Solver(A)
    for held in (tessera.matrix(A), tessera.jacobi(A), solver):
        for call in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"{type(held).__name__} cannot be pickled"):
                call(held)
    m = tessera.jacobi(A)
    assert np.array_equal(copy.copy(m) @ B, m @ B)
    result = tessera.solve(A, B)
    assert np.array_equal(pickle.loads(pickle.dumps(result)).x, result.x)


def test_products_are_written_as_of_scipy():
    m = tessera.jacobi(A)
    assert np.array_equal(m * B, m @ B)
    with pytest.raises(TypeError, match="aslinearoperator"):
        m * 2


FLAGS = {
    "left": lambda flag: tessera.solve(A, B, left=flag),
    "strict": lambda flag: tessera.Solver(A).update(A.data, strict=flag),
    "symmetric": lambda flag: tessera.direct(A, symmetric=flag),
    "positive_definite": lambda flag: tessera.block_ldlt(A, positive_definite=flag),
    "outer": lambda flag: tessera.ilu(A, outer=flag),
    "unit_diagonal": lambda flag: tessera.block_triangular_solve(
        sp.tril(A, format="csr"), unit_diagonal=flag
    ),
    "single_precision": lambda flag: tessera.smoothed_aggregation_solver(A, single_precision=flag),
    "natural": lambda flag: tessera.find_blocks(A, natural=flag),
    "transposed": lambda flag: batched.lu(np.eye(2)).solve(np.ones(2), transposed=flag),
    "reciprocal": lambda flag: batched.cond(np.eye(2), reciprocal=flag),
    "return_info": lambda flag: batched.inv(np.eye(2), return_info=flag),
    "return_factors": lambda flag: batched.cholesky(np.eye(2), return_factors=flag),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_are_true_or_false(name):
    for flag in (True, np.False_, 0):
        FLAGS[name](flag)
    for word in ("no", None, 2, [False]):
        with pytest.raises(TypeError, match=f"^{name}: expected True or False, got "):
            FLAGS[name](word)
