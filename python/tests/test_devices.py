"""solve over several devices: groups of threads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse.linalg as sl
from conftest import general, relative_residual

import tessera


@pytest.fixture(scope="module")
def problem():
    return tessera.problems("elasticity3d:8")


def test_solves_as_one_does(problem):
    alone = tessera.solve(problem.A, problem.b, "fcg", "amg", problem.coordinates)
    for devices in (2, "3"):
        r = tessera.solve(
            problem.A, problem.b, coordinates=problem.coordinates, device="cpu", devices=devices
        )
        assert r.converged and r.solver == "fcg" and r.preconditioner == "amg,block=3", r
        assert abs(r.iterations - alone.iterations) <= 2
        assert relative_residual(problem.A, r.x, problem.b) <= 1.001e-8
        assert len(r.devices) == int(devices)
        assert sum(each["rows"] for each in r.devices) == len(problem.b)
        assert all(each["neighbours"] > 0 for each in r.devices)
        assert all(each["wait_seconds"] > 0 for each in r.devices)
        assert r.memory == sum(each["peak_memory_bytes"] for each in r.devices)
        assert "device 1" in repr(r) and np.isnan(r.backward_error)


def test_one_is_as_without(problem):
    r = tessera.solve(problem.A, problem.b, devices=1)
    assert r.converged and r.devices == []
    assert np.array_equal(r.x, tessera.solve(problem.A, problem.b).x)


def test_columns_starts_and_callbacks(problem):
    b = np.column_stack([problem.b, 2 * problem.b + 1])
    options = {"coordinates": problem.coordinates, "device": "cpu", "devices": 2}
    r = tessera.solve(problem.A, b, rtol=1e-9, **options)
    assert r.converged and r.x.shape == b.shape and len(r.columns) == 2
    again = tessera.solve(problem.A, b, x0=r.x, **options)
    assert again.iterations == 0
    seen = []

    def stop(progress):
        seen.append(progress.iterations)
        return progress.iterations < 3

    ended = tessera.solve(problem.A, problem.b, callback=stop, **options)
    assert ended.status == "interrupted" and ended.iterations == 3 and seen[-1] == 3

    def fail(progress):
        raise KeyError("in the callback")

    with pytest.raises(KeyError, match="in the callback"):
        tessera.solve(problem.A, problem.b, callback=fail, **options)


def test_near_null_vectors(problem):
    vectors = tessera.rigid_body_modes(problem.coordinates)
    r = tessera.solve(problem.A, problem.b, near_null=vectors, device="cpu", devices=2)
    assert r.converged and r.report["values"]["amg"]["near_null"] == "given"


@pytest.mark.parametrize("change, message", [
    ({"method": "gmres"}, "method: .*fcg or cg, not gmres"),
    ({"M": "jacobi"}, "M: .*amg, not jacobi"),
    ({"M": None}, "M: .*amg, not none"),
    ({"M": lambda r: r}, "M: over several devices"),
    ({"format": "sell"}, "format: .*leave out format"),
    ({"left": True}, "right"),
    ({"nullspace": "constant"}, "nullspace"),
    ({"stream": 0}, "stream"),
    ({"A": general()}, "A: .*not symmetric"),
    ({"A": sl.aslinearoperator(general())}, "A: .*a matrix, not an operator"),
    ({"devices": "two"}, "devices"),
    ({"devices": 0}, "devices"),
    ({"device": "cuda:0"}, "device"),
])  # fmt: skip
def test_says_what_is_not_possible(problem, change, message):
    given = {"A": problem.A, "device": "cpu", "devices": 2} | change
    b = np.ones(given["A"].shape[0])
    with pytest.raises(ValueError, match=message):
        tessera.solve(b=b, **given)


def test_single_precision_is_an_error(problem):
    with pytest.raises(ValueError, match="float64"):
        tessera.solve(problem.A.astype(np.float32), problem.b, device="cpu", devices=2)
    for devices in ([], [1], True, 1.5):
        with pytest.raises(TypeError, match="devices"):
            tessera.solve(problem.A, problem.b, devices=devices)


def test_solver_keeps_its_setup(problem):
    given = {"coordinates": problem.coordinates, "device": "cpu", "devices": 2}
    with tessera.Solver(problem.A, **given) as solver:
        first = solver.solve(problem.b)
        assert first.converged and len(first.devices) == 2
        assert np.array_equal(first.x, tessera.solve(problem.A, problem.b, **given).x)
        assert np.array_equal(solver.solve(problem.b).x, first.x)
        solver.update(4 * problem.A.data)
        r = solver.solve(problem.b)
        assert r.converged and relative_residual(4 * problem.A, r.x, problem.b) <= 1.001e-8
        assert r.timings["setup"] > 0
        solver.update(problem.A)
        assert np.array_equal(solver.solve(problem.b).x, first.x)
        both = solver.solve(np.column_stack([problem.b, 3 * problem.b]), x0=None)
        assert len(both.columns) == 2 and np.array_equal(both.x[:, 0], first.x)
        # Another pattern is set up anew.
        other = problem.A.copy().tolil()
        other[0, -1] = other[-1, 0] = 1e-3 * problem.A[0, 0]
        solver.update(other.tocsr())
        r = solver.solve(problem.b)
        assert r.converged and any("set up anew" in each for each in r.warnings)
        with pytest.raises(ValueError, match="values"):
            solver.update(np.full(other.nnz, np.nan))
        with pytest.raises(RuntimeError, match="update failed"):
            solver.solve(problem.b)
        solver.update(problem.A)
        assert np.array_equal(solver.solve(problem.b).x, first.x)
    with pytest.raises(RuntimeError, match="closed"):
        solver.solve(problem.b)


def test_solver_ends_in_time_and_from_callbacks(problem):
    given = {"coordinates": problem.coordinates, "device": "cpu", "devices": 2}
    with tessera.Solver(problem.A, max_seconds=0, **given) as solver:
        late = solver.solve(problem.b, max_seconds=0)
        assert late.status == "max_seconds" and late.iterations == 0 and not late.x.any()
        assert solver.solve(problem.b).converged

        def fail(progress):
            raise KeyError("in the callback")

        with pytest.raises(KeyError, match="in the callback"):
            solver.solve(problem.b, callback=fail)

        def call(progress):
            with pytest.raises(RuntimeError, match="in use|being used|another"):
                solver.solve(problem.b)

        assert solver.solve(problem.b, callback=call).converged


def test_solvers_end_with_the_interpreter():
    program = """if True:
        import os, signal, threading, time
        import tessera
        p = tessera.problems("elasticity3d:8")
        left = tessera.Solver(p.A, coordinates=p.coordinates, device="cpu", devices=3)
        assert left.solve(p.b).converged
        if os.fork() == 0:
            assert left.solve(p.b).converged
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        def stop(progress):
            if progress.iterations == 2:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
        try:
            left.solve(p.b, callback=stop)
        except KeyboardInterrupt:
            print("stopped")
        assert left.solve(p.b).converged
    """
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0 and ended.stdout == "stopped\n", ended.stderr
