"""Other values for a matrix that was set up: what fits, and what does not."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

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


def refuses_another_pattern(made, values, message):
    """Solvers do so if they are asked to, the others always."""
    strict = {"strict": True} if isinstance(made, tessera.Solver) else {}
    with pytest.raises(ValueError, match=message):
        made.update(values, **strict)


@pytest.mark.parametrize("make", OBJECTS)
@pytest.mark.parametrize("change", [other_order, moved])
@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.coo_matrix])
def test_another_pattern_is_an_error(make, change, convert):
    made = make(convert(A))
    refuses_another_pattern(
        made, convert(change(2 * A)), "values: the entries are in other places"
    )
    made.update(convert(2 * A))


def test_another_pattern_of_any_library_is_an_error(arrays):
    if arrays.library == "warp" and arrays.on_gpu:
        pytest.skip("warp-cuda: patterns are not compared")
    solver = tessera.Solver(arrays.csr(A))
    refuses_another_pattern(solver, arrays.csr(moved(A)), "values: the entries")
    solver.update(arrays.csr(2 * A))
    x = arrays.numpy(solver.solve(arrays.array(B)).x)
    assert relative_residual(2 * A, x, B) < 1e-7


def fewer(a):
    """Without some entries of both triangles, as where zeros are dropped."""
    a = sp.coo_array(a)
    kept = (a.row + a.col) % 5 > 0
    kept |= a.row == a.col
    return sp.csr_matrix((a.data[kept], (a.row[kept], a.col[kept])), a.shape)


@pytest.mark.parametrize("options", [
    {}, {"method": "cg", "M": "jacobi"}, {"method": "cg", "M": tessera.jacobi(A)},
    {"near_null": np.ones(60)}, {"method": "cg", "M": "block_jacobi:4", "format": "sell"},
])  # fmt: skip
@pytest.mark.parametrize("change", [other_order, moved, fewer, sp.coo_matrix, sp.csc_matrix])
def test_a_solver_is_set_up_anew_for_another_pattern(options, change):
    solver = tessera.Solver(A, **options)
    solver.solve(B)
    other = change(3 * A)
    solver.update(other)
    r = solver.solve(B)
    assert r.converged and relative_residual(other, r.x, B) < 1e-7
    says = [each for each in r.warnings if "the solver was set up anew" in each]
    assert len(says) == (change is not sp.csc_matrix)
    assert r.timings["setup"] > 0
    # The pattern is now that of the update.
    second = sp.csr_matrix(other) if change is fewer else other
    solver.update(2 * second, strict=change is not sp.csc_matrix)
    r = solver.solve(B)
    assert relative_residual(2 * other, r.x, B) < 1e-7
    assert not any("anew" in each for each in r.warnings)


def test_what_differs_is_said():
    solver = tessera.Solver(A)
    with pytest.raises(ValueError, match=f"^values: the matrix has {fewer(A).nnz} entries, not"):
        solver.update(fewer(A), strict=True)
    with pytest.raises(ValueError, match="^values: the matrix is in coo, that of the setup in csr"):
        solver.update(sp.coo_matrix(A), strict=True)
    with pytest.raises(ValueError, match=r"^values: the shape \(5, 5\) is not that of the setup"):
        solver.update(sp.csr_matrix(A[:5, :5]))
    assert relative_residual(A, solver.solve(B).x, B) < 1e-7


def test_a_matrix_of_another_pattern_that_cannot_be_set_up():
    solver = tessera.Solver(A, method="cg", M="amg")
    bad = sp.csr_matrix(fewer(A))
    bad[7, 7] = -1
    with pytest.raises(ValueError, match="^values: "):
        solver.update(bad)
    with pytest.raises(RuntimeError, match="the latest update failed"):
        solver.solve(B)
    solver.update(2 * A.data)  # In the order of the pattern before.
    assert relative_residual(2 * A, solver.solve(B).x, B) < 1e-7
    with pytest.raises(ValueError):
        solver.update(bad)
    solver.update(fewer(3 * A))
    assert relative_residual(fewer(3 * A), solver.solve(B).x, B) < 1e-7


@pytest.mark.parametrize("make", [
    lambda a: tessera.Solver(a, method="cg", M="amg"), tessera.jacobi,
])  # fmt: skip
def test_failed_updates_keep_the_latest_array_alone(make):
    made = make(A)
    gone = []
    for row in range(5):
        values = A.data * (np.repeat(np.arange(60), np.diff(A.indptr)) != row)
        gone.append(weakref.ref(values))
        with pytest.raises(ValueError):
            made.update(values)
        del values
    gc.collect()
    assert [each() for each in gone[:4]] == [None] * 4
    made.update(2 * A.data)
    gc.collect()
    assert gone[4]() is None


def test_rows_that_are_not_sorted():
    solver = tessera.Solver(other_order(A))
    solver.update(other_order(3 * A))
    assert relative_residual(3 * A, solver.solve(B).x, B) < 1e-7


@pytest.mark.parametrize("make", OBJECTS)
def test_rows_that_are_sorted_in_place_later(make):
    a = other_order(A)
    made = make(a)
    a.sort_indices()
    refuses_another_pattern(made, a, "values: the entries")
    made.update(other_order(2 * A))


@pytest.mark.parametrize("make", OBJECTS)
def test_values_of_a_sparse_matrix(make):
    made = make(tessera.matrix(A))
    made.update(tessera.matrix(2 * A))
    if isinstance(made, tessera.Solver):
        assert relative_residual(2 * A, made.solve(B).x, B) < 1e-7
    refuses_another_pattern(made, tessera.matrix(moved(A)), "values: the entries")


def test_a_sparse_matrix_in_another_format_and_type():
    m = tessera.matrix(tessera.matrix(A), format="sell", dtype=np.float32)
    assert m.format == "sell" and m.dtype == np.float32
    np.testing.assert_allclose(m @ B, A @ B, rtol=1e-4, atol=1e-4)
    m.update(2 * A)
    again = tessera.matrix(m)
    assert again.dtype == np.float32 and again.format == "csr"
    np.testing.assert_allclose(again @ B, 2 * A @ B, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", OBJECTS)
def test_values_of_a_dense_matrix(make):
    made = make(A.toarray())
    made.update(3 * A.toarray())
    made.update((2 * A.toarray()).tolist())
    if isinstance(made, tessera.Solver):
        assert relative_residual(2 * A, made.solve(B).x, B) < 1e-7
    refuses_another_pattern(made, moved(A).toarray(), "^values: it has entries where")
    with pytest.raises(ValueError, match="^values: the shape"):
        made.update(A.toarray()[:5])
    with pytest.raises(ValueError, match="^values: the matrix was given as a dense"):
        made.update(A.data)


def test_singular_values_are_an_error():
    singular = A.data * (np.repeat(np.arange(60), np.diff(A.indptr)) != 7)
    for m in (tessera.block_jacobi(A, 4), tessera.jacobi(A)):
        with pytest.raises(ValueError, match="^values: "):
            m.update(singular)
        m.update(2 * A.data)
        assert relative_residual(2 * A, tessera.cg(2 * A, B, M=m, rtol=1e-9)[0], B) < 1e-8


def test_the_report_of_an_update_is_there_during_a_solve():
    m = tessera.block_jacobi(A, 4)
    m.update(2 * A.data)
    reports = []
    assert tessera.cg(A, B, M=m, callback=lambda _: reports.append(m.report))[1] == 0
    assert reports[0]["blocks"] == 15


def test_a_solver_learns_of_updates_of_its_operators():
    """So that it records its steps for a GPU again."""
    m = tessera.jacobi(A)
    for solver in (tessera.Solver(A, M=m), tessera.Solver(m, M=m)):
        solver.solve(B)
        core, seen = solver._core, []

        class Spy:
            def solve(self, systems, options, changed, core=core, seen=seen):
                seen.append(changed)
                return core.solve(systems, options, changed)

        solver._core = Spy()
        solver.solve(B)
        m.update(2 * A.data)
        solver.solve(B)
        solver.solve(B)
        assert seen == [False, True, False]


SOLVERS = [
    lambda: tessera.Solver(A, method="cg", M="jacobi"),
    lambda: tessera.Solver(A, method="cg", M=tessera.jacobi(A)),
    lambda: tessera.Solver(A, M=lambda x: x),
    lambda: tessera.Solver(A, near_null=np.ones(60)),
]


@pytest.mark.parametrize("make", SOLVERS)
@pytest.mark.parametrize("of_thread", [False, True])
def test_a_solver_in_use_refuses_calls(make, of_thread):
    solver, caught = make(), []
    x = solver.solve(B).x

    def attempt():
        for call in (lambda: solver.update(3 * A.data), lambda: solver.solve(B)):
            try:
                call()
            except RuntimeError as error:
                caught.append(str(error))

    def interfere(_):
        if not caught:
            if not of_thread:
                return attempt()
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()

    np.testing.assert_array_equal(solver.solve(B, callback=interfere).x, x)
    assert caught == 2 * ["the solver is in use by another call"]
    # What was refused has changed nothing.
    np.testing.assert_array_equal(solver.solve(B).x, x)
    solver.update(2 * A.data)
    assert relative_residual(2 * A, solver.solve(B).x, B) < 1e-7


def test_a_solver_closed_during_an_update_keeps_nothing(monkeypatch):
    solver = tessera.Solver(A, M=tessera.jacobi(A))

    def close_first(parts, data, owners=tessera._solver.owners):
        thread = threading.Thread(target=solver.close)
        thread.start()
        thread.join()
        return owners(parts, data)

    monkeypatch.setattr(tessera._solver, "owners", close_first)
    with pytest.raises(RuntimeError, match="^the solver is closed$"):
        solver.update(2 * A.data)
    assert solver._core is None and solver._matrix is None and solver._context is None


def test_a_refused_solve_does_not_hide_an_update_of_an_operator():
    m = tessera.jacobi(A)
    solver = tessera.Solver(A, M=m)
    seen = []

    class Busy:
        def solve(self, systems, options, changed):
            seen.append(changed)
            raise RuntimeError("M is in use by another call")

    solver._core = Busy()
    m.update(2 * A.data)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="in use"):
            solver.solve(B)
    assert seen == [True, True]


def test_a_result_is_that_of_the_setup_that_was_solved_with(monkeypatch):
    """Another thread may update the solver before the result is made."""
    solver = tessera.Solver(A, method="cg", M="block_jacobi:4,singular=identity")
    singular = A.data * (np.repeat(np.arange(60), np.diff(A.indptr)) != 7)
    monkeypatch.setattr(
        "tessera._solver.name_non_finite_row", lambda *_: solver.update(singular)
    )
    assert solver.solve(B).report["first_singular"] == []
    monkeypatch.undo()
    assert len(solver.solve(B).report["first_singular"]) == 1


def test_a_look_during_an_update_is_an_error():
    p = tessera.problems("elasticity3d:12")
    ml = tessera.smoothed_aggregation_solver(p.A, coordinates=p.coordinates)
    for look in (lambda: ml.text, lambda: ml.levels):
        caught = []

        def work(caught=caught):
            for _ in range(20):
                if not caught:
                    ml.update(p.A.data)

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive() and not caught:
            try:
                look()
            except RuntimeError as error:
                caught.append(str(error))
        thread.join()
        assert caught and "in use" in caught[0]


def test_coordinates_are_kept_and_not_copied():
    p = tessera.problems("elasticity3d:6")
    points = np.array(p.coordinates)
    before = sys.getrefcount(points)
    solver = tessera.Solver(p.A, M="amg", coordinates=points)
    assert sys.getrefcount(points) > before
    first = solver.solve(p.b, rtol=1e-8)
    solver.update(2 * p.A.data)
    assert solver.solve(p.b, rtol=1e-8).iterations == first.iterations
    del first
    solver.close()
    del solver
    gc.collect()
    assert sys.getrefcount(points) == before
    # They are not read where they are given in another type.
    ml = tessera.smoothed_aggregation_solver(p.A, coordinates=points.astype(np.float32))
    assert sys.getrefcount(points) == before and ml.levels
