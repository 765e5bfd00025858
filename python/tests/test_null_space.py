"""Singular systems: null spaces that are found or named."""

from __future__ import annotations

import numpy as np
import pytest

import tessera

sp = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
N = 30
ROD = sp.diags([-np.ones(N - 1), np.r_[1, 2 * np.ones(N - 2), 1.0], -np.ones(N - 1)], [-1, 0, 1])
A = sp.csr_array(sp.kron(ROD, sp.eye(N)) + sp.kron(sp.eye(N), ROD))
X = np.random.default_rng(0).standard_normal(N * N)
B = A @ X


@pytest.mark.parametrize("nullspace", [None, "constant", np.ones(N * N)])
def test_the_constant_is_left_out(nullspace):
    for imbalance in (0.0, 1e-6):
        b = B + imbalance * np.linalg.norm(B) / N
        result = tessera.solve(A, b, nullspace=nullspace)
        assert result.converged, result.message
        assert result.null_space_part == pytest.approx(imbalance, abs=1e-12)
        assert abs(result.x.mean()) < 1e-12 * np.abs(result.x).max()
        assert np.linalg.norm(result.x - (X - X.mean())) < 1e-5 * np.linalg.norm(X)
        assert bool(result.warnings) == (imbalance > 0)


def test_a_load_without_supports():
    found = tessera.solve(A, B + 1)
    assert found.status == "least_squares"
    assert not found.converged
    assert tessera.solve(A, B + 1, nullspace="constant").converged
    assert tessera.solve(A, B + 1, method="cg", M="jacobi", nullspace="constant").converged


def test_minres_ends_at_the_least_squares_solution():
    b = B + 0.1 * np.linalg.norm(B) / N
    x, info = tessera.minres(A, b, rtol=1e-8)
    assert info == 0  # As in SciPy.
    error = x - X
    assert np.linalg.norm(error - error.mean()) < 1e-4 * np.linalg.norm(X)


def test_arguments():
    with pytest.raises(ValueError, match="nullspace: 'motions' is neither"):
        tessera.solve(A, B, nullspace="motions")
    with pytest.raises(ValueError, match="nullspace: 'rigid_body' needs the coordinates"):
        tessera.solve(A, B, nullspace="rigid_body")
    with pytest.raises(ValueError, match="nullspace: the shape"):
        tessera.solve(A, B, nullspace=np.ones(3))
    with pytest.raises(ValueError, match="^nullspace: A times vector 0 is not 0"):
        tessera.solve(A, B, nullspace=X)
    with pytest.raises(ValueError, match="nullspace: it needs a matrix"):
        tessera.Solver(lambda x: A @ x, nullspace="constant")
