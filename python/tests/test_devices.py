"""solve over several devices: groups of threads."""

from __future__ import annotations

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
