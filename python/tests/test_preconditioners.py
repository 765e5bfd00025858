"""Preconditioners and matrices as linear operators, and multigrid."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import elastic, general, relative_residual, vector

import tessera


def make(name):
    return {
        "jacobi": tessera.jacobi,
        "block_jacobi": tessera.block_jacobi,
        "uniform": lambda a: tessera.block_jacobi(a, 3, "working"),
        "polynomial": tessera.polynomial,
        "block_ldlt": tessera.block_ldlt,
        "ilu": tessera.ilu,
        "multigrid": tessera.smoothed_aggregation_solver,
    }[name]


NAMES = ["jacobi", "block_jacobi", "uniform", "polynomial", "block_ldlt", "ilu", "multigrid"]


@pytest.mark.parametrize("name", NAMES)
def test_preconditioners_are_linear_operators(arrays, name):
    a, b, _ = elastic(4)
    n = a.shape[0]
    m = make(name)(arrays.csr(a))
    assert m.shape == (n, n) and m.dtype == np.float64 and m.ndim == 2
    z = m @ arrays.array(b)
    assert arrays.is_ours(z)
    expected = arrays.numpy(z)
    np.testing.assert_array_equal(arrays.numpy(m.matvec(arrays.array(b))), expected)
    column = arrays.numpy(m.matvec(arrays.array(b[:, None])))
    np.testing.assert_array_equal(column, expected[:, None])
    wide = np.stack([b, 2 * b, -b], axis=1)
    for order in "CF":
        many = arrays.numpy(m @ arrays.array(np.array(wide, order=order)))
        # Sums of several vectors may be rounded differently on a GPU.
        np.testing.assert_allclose(many[:, 0], expected, rtol=1e-5, atol=1e-6 * abs(expected).max())
        np.testing.assert_allclose(
            many[:, 2], -expected, rtol=1e-5, atol=1e-6 * abs(expected).max()
        )
    assert arrays.numpy(m @ arrays.array(b.astype(np.float32))).dtype == np.float64
    # The transpose: x^T (M y) == (M^T x)^T y.
    x, y = vector(n, 5), vector(n, 6)
    left = x @ arrays.numpy(m.matvec(arrays.array(y)))
    right = arrays.numpy(m.rmatvec(arrays.array(x))) @ y
    assert left == pytest.approx(right, rel=1e-4, abs=1e-4 * abs(expected).max())
    assert arrays.numpy(m.T @ arrays.array(x)) @ y == right and m.T.T is m and m.H.shape == (n, n)
    assert m.text.split(":")[0].split(",")[0] in repr(m)
    assert isinstance(m.report, dict)


def test_block_jacobi_of_a_nonsymmetric_matrix():
    a = general()
    m = tessera.block_jacobi(a, 6, "working")
    blocks = sp.block_diag(
        [np.linalg.inv(a[k : k + 6, k : k + 6].toarray()) for k in range(0, 60, 6)]
    )
    x = vector(60)
    np.testing.assert_allclose(m @ x, blocks @ x, rtol=1e-10)
    np.testing.assert_allclose(m.rmatvec(x), blocks.T @ x, rtol=1e-10)
    np.testing.assert_allclose(m.rmatmat(x[:, None]), blocks.T @ x[:, None], rtol=1e-10)


def test_polynomials_are_transposed_where_the_matrix_is_symmetric():
    a, x = general(), vector(60)
    m = tessera.preconditioner(a, "chebyshev:4")
    with pytest.raises(ValueError, match="the matrix is not symmetric"):
        m.T @ x
    m = tessera.preconditioner(a + a.T, "chebyshev:4")
    np.testing.assert_array_equal(m.T @ x, m @ x)
    m = tessera.preconditioner(a, "jacobi")
    np.testing.assert_array_equal(m.T @ x, m @ x)


def test_matrices_are_linear_operators(arrays):
    a = general()
    m = tessera.matrix(arrays.csr(a))
    x, many = vector(60), np.random.default_rng(1).standard_normal((60, 3))
    np.testing.assert_allclose(arrays.numpy(m @ arrays.array(x)), a @ x, rtol=1e-12)
    np.testing.assert_allclose(arrays.numpy(m.rmatvec(arrays.array(x))), a.T @ x, rtol=1e-12)
    np.testing.assert_allclose(
        arrays.numpy(m.T @ arrays.array(many)), a.T @ many, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        arrays.numpy(m @ arrays.array(many)), a @ many, rtol=1e-12, atol=1e-12
    )
    assert m.nnz == a.nnz
    m.update(arrays.array(a.data * 2))
    np.testing.assert_allclose(arrays.numpy(m @ arrays.array(x)), 2 * (a @ x), rtol=1e-12)
    if arrays.name != "jax-cuda":  # Takes no functions.
        y, info = tessera.gmres(m.T, arrays.array(x), rtol=1e-10, M=tessera.jacobi(arrays.csr(a)).T)
        assert info == 0
        np.testing.assert_allclose(2 * (a.T @ arrays.numpy(y)), x, rtol=1e-6, atol=1e-8)
    sliced = tessera.matrix(arrays.csr(a), format="sell")
    np.testing.assert_allclose(arrays.numpy(sliced @ arrays.array(x)), a @ x, rtol=1e-12)


def test_options_of_ilu():
    a = sp.csr_matrix(tessera.problems("convection2d:20").A)
    b = vector(a.shape[0])
    m = tessera.ilu(
        a, 4, fill=1, method="jacobi", sweeps=5, matching=True, ordering="rcm", epsilon=1e-3,
        delta=0.5, safeguard=False, solve_sweeps=3, precision="f32", pivoting="partial", outer=True,
        outer_threshold=0.02,
    )  # fmt: skip
    assert m.text == tessera.preconditioner(
        a, "ilu:4,fill=1,method=jacobi,sweeps=5,matching=on,ordering=rcm,epsilon=1e-3,delta=0.5,"
        "safeguard=off,solve_sweeps=3,precision=f32,pivoting=partial,outer=on,outer_threshold=0.02"
    ).text
    assert tessera.ilu(a).text == tessera.preconditioner(a, "ilu").text
    for ordering in ("amd", "rcm", "natural"):
        m = tessera.ilu(a, 4, ordering=ordering)
        assert m.report["values"]["ilu"]["ordering"] == ordering
        assert tessera.gmres(a, b, M=m)[1] == 0
    full, half = tessera.ilu(a, 4), tessera.ilu(a, 4, precision="f32")
    assert half.report["values"]["ilu"]["bytes"] < 0.7 * full.report["values"]["ilu"]["bytes"]
    x, y = full @ b, half @ b
    # Stored in float32: the numbers differ, by little.
    assert 0 < abs(x - y).max() <= 1e-4 * abs(x).max()


@pytest.mark.parametrize("name", NAMES)
def test_in_scipy(name):
    a, b, _ = elastic()
    m = make(name)(a)
    theirs, ours = [], []
    x, info = sl.cg(a, b, M=m, atol=0, callback=theirs.append)
    assert info == 0
    assert relative_residual(a, x, b) <= 1.1e-5
    assert tessera.cg(a, b, M=m, callback=ours.append)[1] == 0
    assert abs(len(theirs) - len(ours)) <= 2
    operator = sl.aslinearoperator(m)
    np.testing.assert_array_equal(operator.matvec(b), m @ b)
    x, info = tessera.cg(a, b, M=operator)
    assert info == 0


def test_in_cupy():
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg", reason="cupy is not installed")
    if not tessera.devices():
        pytest.skip("no CUDA device")
    import cupy
    import cupyx.scipy.sparse

    a, b, points = elastic()
    matrix, right = cupyx.scipy.sparse.csr_matrix(sp.csr_matrix(a)), cupy.asarray(b)
    for m in (
        tessera.block_jacobi(matrix),
        tessera.smoothed_aggregation_solver(matrix, coordinates=points),
    ):
        x, info = linalg.cg(matrix, right, M=m)
        assert info == 0
        assert relative_residual(a, x.get(), b) <= 1.1e-5
        x, info = tessera.cg(linalg.aslinearoperator(matrix), right, M=m)
        assert info == 0


@pytest.mark.parametrize("name", NAMES)
def test_updates_of_preconditioners(arrays, name):
    a, b, _ = elastic(4)
    m = make(name)(arrays.csr(a))
    z = arrays.numpy(m @ arrays.array(b))
    m.update(arrays.array(2 * a.data))
    np.testing.assert_allclose(
        arrays.numpy(m @ arrays.array(b)), z / 2, rtol=1e-3, atol=1e-4 * abs(z).max()
    )


def test_multigrid_like_pyamg(arrays):
    a, b, points = elastic(10)
    ml = tessera.smoothed_aggregation_solver(arrays.csr(a), tessera.rigid_body_modes(points))
    residuals: list[float] = []
    x = ml.solve(arrays.array(b), tol=1e-9, residuals=residuals)
    assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-9
    assert residuals[0] == 1 and residuals[-1] <= 1e-9
    assert ml.aspreconditioner() is ml
    assert len(ml.levels) >= 2 and ml.levels[0]["nodes"] * 3 == a.shape[0]
    assert 1 < ml.operator_complexity() < 3
    assert "levels" in str(ml) and "operator complexity" in str(ml)
    assert 1 < ml.grid_complexity() < 2
    for accel in ("fcg", "gmres", "bicgstab", "minres", None):
        x, info = ml.solve(arrays.array(b), tol=1e-6, accel=accel, return_info=True)
        assert info == 0, accel
        assert relative_residual(a, arrays.numpy(x), b) <= 1.1e-6
    seen: list[float] = []  # In the order of pyamg's arguments.
    ml.solve(arrays.array(b), None, 1e-5, 100, "V", "gmres", seen.append, residuals)
    assert seen == residuals[1:]
    small = tessera.smoothed_aggregation_solver(arrays.csr(a), max_coarse=a.shape[0])
    assert len(small.levels) == 1 and small.grid_complexity() == 1
    ml.update(arrays.array(4 * a.data))
    x = ml.solve(arrays.array(b), tol=1e-9)
    assert relative_residual(4 * a, arrays.numpy(x), b) <= 1.1e-9


def test_rigid_body_modes():
    a, _, points = elastic()
    free = tessera.problems("elasticity3d:3,free")
    count = free.A.shape[0] // 3
    modes = tessera.rigid_body_modes(np.random.default_rng(1).random((count, 3)))
    assert modes.shape == (3 * count, 6)
    assert np.linalg.matrix_rank(modes) == 6
    # Translations are in the kernel of a free body wherever its nodes are.
    assert abs(free.A @ modes[:, :3]).max() <= 1e-12 * abs(free.A).max()
    points = np.random.default_rng(2).random((4, 2))
    modes = tessera.rigid_body_modes(points)
    assert modes.shape == (8, 3)
    np.testing.assert_array_equal(tessera.rigid_body_modes((points, [1, 6])), modes[[1, 6]])
    for none in ([], np.array([], int)):
        assert tessera.rigid_body_modes((points, none)).shape == (0, 3)


@pytest.mark.parametrize(
    "name", ["jacobi", "block_jacobi", "polynomial", "block_ldlt", "ilu", "multigrid"]
)
def test_a_failed_update_leaves_a_usable_object(name):
    a, b, _ = elastic(4)
    m = make(name)(a)
    bad = a.data.copy()
    bad[:] = np.nan
    for _ in range(3):
        try:
            m.update(bad.copy())
        except ValueError:
            pass
    with pytest.raises(ValueError, match="the latest update failed"):
        m @ b
    with pytest.raises(ValueError, match="M: the latest update failed"):
        tessera.cg(a, b, M=m)
    m.update(a.data)
    x, info = tessera.cg(a, b, M=m)
    assert info == 0
    solver = tessera.Solver(a, method="cg", M=m.text.split(",")[0])
    for _ in range(3):
        try:
            solver.update(bad.copy())
            assert not solver.solve(b).converged
        except ValueError:
            pass
    solver.update(a.data)
    assert solver.solve(b).converged
