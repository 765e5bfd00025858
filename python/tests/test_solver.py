"""solve and Solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import elastic, general, relative_residual, spd, vector

import tessera


def test_solve(arrays):
    a, b, points = elastic()
    r = tessera.solve(arrays.csr(a), arrays.array(b), coordinates=points)
    assert r.converged and r.status == "converged" and r.message == ""
    assert arrays.is_ours(r.x)
    assert relative_residual(a, arrays.numpy(r.x), b) == pytest.approx(r.true_residual, rel=0.01)
    assert r.true_residual <= 1.01e-8
    assert len(r.residuals) >= r.iterations and r.residuals[-1] <= 1e-8
    assert r.memory > 0 and set(r.timings) == {"setup", "solve"}
    text = repr(r)
    for word in ("converged in", "solver", "preconditioner", "iterations", "seconds", "memory"):
        assert word in text


@pytest.mark.parametrize("method, m", [
    ("cg", "amg"), ("cg", "block_jacobi:24"), ("minres", None), ("idr:8", "jacobi"),
    ("gmres:20", "block_ldlt:8"), ("auto", "chebyshev:4"),
    ("bicgstab", "auto"),
])  # fmt: skip
def test_texts(arrays, method, m):
    a, b, _ = elastic()
    r = tessera.solve(arrays.csr(a), arrays.array(b), method, m)
    assert r.converged, r
    assert relative_residual(a, arrays.numpy(r.x), b) <= 1.1e-8


def test_auto_solves_from_the_left(arrays):
    a, b, _ = elastic()
    r = tessera.solve(arrays.csr(a), arrays.array(b), left=True)
    assert r.converged and r.solver.split(":")[0] in ("gmres", "idr", "bicgstab", "richardson"), r
    assert relative_residual(a, arrays.numpy(r.x), b) <= 1.1e-8


def test_auto_applies_a_given_preconditioner_from_the_left(arrays):
    a, b, _ = elastic()
    a = arrays.csr(a)
    r = tessera.solve(a, arrays.array(b), M=tessera.jacobi(a), left=True)
    assert r.converged and r.solver.startswith("gmres"), r
    by_name = {left: tessera.solve(a, arrays.array(b), r.solver, tessera.jacobi(a), left=left)
               for left in (True, False)}  # fmt: skip
    # gmres reports residuals of the preconditioned system where it is applied from the left.
    assert r.residuals[1] == by_name[True].residuals[1] != by_name[False].residuals[1]


def test_an_inverse_out_of_its_range_is_an_error(arrays):
    for scale in (1e-50, 1e50):
        with pytest.raises(ValueError, match="use precision=adaptive"):
            tessera.solve(arrays.csr(scale * spd()), arrays.array(vector(60)), "cg",
                          "block_jacobi:4,precision=f16")  # fmt: skip


@pytest.mark.parametrize("scale", [1e-8, 2e11])
def test_inverses_out_of_the_range_of_f16_alone(arrays, scale):
    r = tessera.solve(arrays.csr(scale * spd()), arrays.array(vector(60)), "cg",
                      "block_jacobi:4,precision=f16")  # fmt: skip
    assert r.converged and "f16" in r.preconditioner, r
    assert relative_residual(scale * spd(), arrays.numpy(r.x), vector(60)) <= 1.1e-8


@pytest.mark.parametrize("scale", [1e-250, 1e-110, 1e80, 1e300])
@pytest.mark.parametrize("method", ["cg", "minres", "gmres", "bicgstab", "idr", "sqmr"])
def test_functions_without_a_preconditioner_at_any_scale(method, scale):
    a, b = spd(), vector(60)
    expected, info = getattr(tessera, method)(a, b, rtol=1e-9)
    assert info == 0
    for given in (scale * a, sl.aslinearoperator(scale * a)):
        x, info = getattr(tessera, method)(given, scale * b, rtol=1e-9)
        assert info == 0
        assert np.linalg.norm(x - expected) <= 1e-7 * np.linalg.norm(expected)


def test_a_failed_solve_says_why():
    a, b, _ = elastic()
    r = tessera.solve(a, b, "cg", None, maxiter=3)
    assert not r.converged and r.status == "max_iterations" and r.iterations == 3
    assert r.message and "not converged" in repr(r)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 7])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("m", ["auto", None, "jacobi", "block_jacobi:8", "amg", "chebyshev:4"])
def test_a_matrix_that_is_not_finite_is_named(arrays, bad, row, diagonal, m):
    a, b = spd(), vector(60)
    columns = a.indices[a.indptr[row] : a.indptr[row + 1]]
    a.data[a.indptr[row] + np.flatnonzero((columns == row) == diagonal)[0]] = bad
    said = f"A: row {row} holds NaN or infinity"
    try:
        result = tessera.solve(arrays.csr(a), arrays.array(b), M=m)
    except ValueError as error:
        assert m == "amg" and str(error) == said
        return
    assert result.status == "non_finite" and result.message == said
    if m not in ("auto", "amg"):
        assert tessera.cg(arrays.csr(a), arrays.array(b), M=m)[1] == -2


def test_values_that_are_not_finite_are_named(arrays):
    a, b = spd(), vector(60)
    bad = np.where(np.arange(a.nnz) == a.nnz - 1, np.nan, a.data)
    solver = tessera.Solver(arrays.csr(a), M="amg")
    with pytest.raises(ValueError, match="^values: row 59 holds NaN or infinity$"):
        solver.update(arrays.array(bad))
    solver.update(arrays.array(a.data))
    assert solver.solve(arrays.array(b)).converged
    m = tessera.block_ldlt(arrays.csr(a), 4)
    with pytest.raises(ValueError, match="^values: row 59 holds NaN or infinity$"):
        m.update(arrays.array(bad))


def test_several_right_hand_sides(arrays):
    a, _, _ = elastic(4)
    wanted = np.random.default_rng(3).standard_normal((a.shape[0], 5))
    for order in "CF":
        b = np.array(a @ wanted, order=order)
        r = tessera.solve(arrays.csr(a), arrays.array(b), "cg", "jacobi", rtol=1e-10)
        assert r.converged and len(r.columns) == 5
        x = arrays.numpy(r.x)
        np.testing.assert_allclose(x, wanted, rtol=1e-6, atol=1e-8)
        start = tessera.solve(arrays.csr(a), arrays.array(b), "cg", "jacobi", x0=r.x)
        assert start.iterations == 0


def test_solver_updates(arrays):
    a, b = spd(), vector(60)
    with tessera.Solver(arrays.csr(a), method="cg", M="jacobi") as solver:
        assert solver.shape == (60, 60)
        first = solver.solve(arrays.array(b))
        solver.update(arrays.array(2 * a.data))
        second = solver.solve(arrays.array(b))
        solver.update(arrays.csr(3 * a))
        third = solver.solve(arrays.array(b))
    x = arrays.numpy(first.x)
    np.testing.assert_allclose(arrays.numpy(second.x), x / 2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(arrays.numpy(third.x), x / 3, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("near_null", [False, True])
@pytest.mark.parametrize("layout", ["csr", "bsr", "csc", "coo"])
def test_updates_of_converted_matrices(layout, near_null):
    a = sp.bsr_matrix(spd(), blocksize=(3, 3)).asformat(layout)
    b = vector(60)
    space = np.ones((60, 1)) if near_null else None
    solver = tessera.Solver(a, method="cg", M="amg", near_null=space)
    x = solver.solve(b).x
    if layout == "csc":  # Converted by SciPy: a matrix, not its values.
        solver.update(a * 2)
    else:
        solver.update(a.data * 2)
    np.testing.assert_allclose(solver.solve(b).x, x / 2, rtol=1e-6, atol=1e-9)


def test_objects_of_a_matrix_keep_its_values(arrays):
    a, b = spd(), vector(60)
    matrix = tessera.matrix(arrays.csr(a))
    solver = tessera.Solver(matrix, method="cg", M="none")
    m = tessera.polynomial(matrix)
    x, z = solver.solve(arrays.array(b)).x, m @ arrays.array(b)
    for factor in range(2, 6):  # The arrays given before are released, and their memory used again.
        matrix.update(arrays.array(a.data * factor))
    again = arrays.numpy(solver.solve(arrays.array(b)).x)
    np.testing.assert_array_equal(again, arrays.numpy(x))
    np.testing.assert_array_equal(arrays.numpy(m @ arrays.array(b)), arrays.numpy(z))
    m.update(arrays.array(a.data * 2))
    y = arrays.numpy(matrix @ arrays.array(b))
    np.testing.assert_allclose(y, 5 * (a @ b), rtol=1e-12)


def test_values_are_borrowed():
    a = sp.csr_matrix(spd())
    assert tessera.matrix(a)._matrix.borrows_values
    assert tessera.matrix((a.indptr.astype(np.int64), a.indices, a.data))._matrix.borrows_values
    assert not tessera.matrix(sp.coo_matrix(a))._matrix.borrows_values


def test_objects_as_preconditioners(arrays):
    a, b, points = elastic()
    matrix, right = arrays.csr(a), arrays.array(b)
    for m in (
        tessera.block_jacobi(matrix),
        tessera.smoothed_aggregation_solver(matrix, coordinates=points),
        tessera.polynomial(matrix, degree=4),
    ):
        r = tessera.solve(matrix, right, M=m)
        assert r.converged and r.solver == "cg" and r.preconditioner == m.text
        assert relative_residual(a, arrays.numpy(r.x), b) <= 1.1e-8


def test_operators_in_solve():
    a, b = general(), vector(60)
    for given in (sl.aslinearoperator(a), lambda v: a @ v, tessera.matrix(a)):
        r = tessera.solve(given, b, M=None)
        assert r.converged
        assert relative_residual(a, r.x, b) <= 1.1e-8
    with tessera.Solver(lambda v: a @ v, M=lambda v: v / 3) as solver:
        assert solver.shape is None
        assert solver.solve(b).converged and solver.shape == (60, 60)


def test_near_null(arrays):
    a, b, points = elastic(10)
    plain = tessera.solve(arrays.csr(a), arrays.array(b), "cg", "amg")
    modes = tessera.rigid_body_modes(points)
    given = tessera.solve(arrays.csr(a), arrays.array(b), near_null=modes)
    assert given.converged and given.iterations < plain.iterations
    assert relative_residual(a, arrays.numpy(given.x), b) <= 1.1e-8


def test_roller_supports():
    p = tessera.problems("plate_hole:8")
    assert isinstance(p.coordinates, tuple)
    r = tessera.solve(p.A, p.b, M="amg", coordinates=p.coordinates)
    assert r.converged


def test_points_of_nodes_that_lack_unknowns(arrays):
    """What is missing is found."""
    p = tessera.problems("plate_hole:20")
    points, unknowns = p.coordinates
    assert len(unknowns) < points.size
    a, b = arrays.csr(p.A), arrays.array(p.b)
    told = tessera.solve(a, b, M="amg", coordinates=(points, unknowns))
    found = tessera.solve(a, b, M="amg", coordinates=points)
    assert found.converged and found.iterations == told.iterations
    assert tessera.info(a, points)["rows_per_node"] == 2
    with pytest.raises(ValueError, match="coordinates: .* nodes do not fit"):
        tessera.solve(a, b, coordinates=points[1:])
    with pytest.raises(ValueError, match="coordinates: they are of no use"):
        tessera.solve(a, b, M=tessera.jacobi(a), coordinates=points)


def test_host_matrices_on_a_gpu():
    if not tessera.devices():
        pytest.skip("no CUDA device, or tessera_cu13 is not installed")
    a, b, points = elastic(10)
    r = tessera.solve(a, b, coordinates=points, device="cuda")
    assert r.converged and type(r.x) is np.ndarray and "NVIDIA" in r.device
    assert relative_residual(a, r.x, b) <= 1.1e-8
    r = tessera.solve(a, np.stack([b, 2 * b], axis=1), M="amg", device="cuda:0")
    assert r.converged
    assert relative_residual(a, r.x[:, 1], 2 * b) <= 1.1e-8
    r = tessera.solve(a, b, near_null=tessera.rigid_body_modes(points), device="cuda")
    assert r.converged
    with tessera.Solver(a, device="cuda") as solver:
        x = solver.solve(b).x
        solver.update(a.data * 2)
        np.testing.assert_allclose(solver.solve(b).x, x / 2, rtol=1e-5, atol=1e-8 * abs(x).max())
