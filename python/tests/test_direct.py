"""Exact factors."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tessera


def square(random, n, density=0.05):
    shuffled = sp.eye(n).tocsr()[random.permutation(n)]
    return (sp.random(n, n, density, random_state=random) + shuffled).tocsr()


def gamma(k, dtype=np.float64):
    return k * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trans", ["N", "T"])
def test_solves(dtype, trans):
    random = np.random.RandomState(1)
    A = square(random, 80).astype(dtype)
    F = tessera.direct(A)
    B = A if trans == "N" else A.T
    for b in (random.rand(80).astype(dtype), random.rand(80, 3).astype(dtype)):
        x = F.solve(b, trans)
        assert x.shape == b.shape and x.dtype == dtype
        size = abs(B) @ abs(x) + abs(b)
        assert (abs(b - B @ x) <= gamma(90, dtype) * size).all()


def test_determinant_inertia_and_condition():
    random = np.random.RandomState(2)
    A = square(random, 30)
    sign, logarithm = np.linalg.slogdet(A.toarray())
    found = tessera.direct(A).slogdet()
    condition = np.linalg.cond(A.toarray(), 1)
    assert found.sign == sign
    assert abs(found.logabsdet - logarithm) <= gamma(900) * condition
    assert 1 / 3 <= 1 / tessera.direct(A).rcond() / condition <= 1 + gamma(900) * condition
    S = (A + A.T).tocsr()
    values = np.linalg.eigvalsh(S.toarray())
    assert tessera.direct(S).inertia() == ((values > 0).sum(), (values < 0).sum(), 0)
    with pytest.raises(ValueError, match="inertia: the factors are L U"):
        tessera.direct(A).inertia()


def test_singular():
    F = tessera.direct(sp.csr_matrix(np.array([[1.0, 2.0], [1.0, 2.0]])))
    assert F.slogdet() == (0, -np.inf)
    assert F.rcond() == 0
    with pytest.raises(np.linalg.LinAlgError, match="1 of its 2 columns has no pivot"):
        F.solve(np.ones(2))


def test_singular_to_working_precision():
    F = tessera.direct(sp.csr_matrix(np.array([[1.0, 3.0], [1.0, 3.0 + 4e-16]])))
    with pytest.warns(RuntimeWarning, match="singular to working precision"):
        F.solve(np.ones(2))


def test_a_solution_beyond_the_range_is_warned_of():
    F = tessera.direct(sp.diags([1.0, 1e-300]))
    with pytest.warns(RuntimeWarning, match="few of its digits are right"):
        x = F.solve(np.full(2, 1e10))
    assert not np.isfinite(x).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isnan(F.solve(np.array([np.nan, 0.0]))).any()


def solved_in_float(text):
    """The relative error of x for loads of one, and the messages of warnings."""
    A = sp.csr_matrix(tessera.problems(text).A).astype(np.float32)
    b = np.ones(A.shape[0], np.float32)
    exact = tessera.direct(A.astype(float)).solve(b.astype(float))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = tessera.direct(A).solve(b)
    return np.linalg.norm(x - exact) / np.linalg.norm(exact), [str(one.message) for one in caught]


def test_warns_where_few_digits_are_right():
    error, messages = solved_in_float("tridiagonal:10000")
    assert error > 0.01
    assert len(messages) == 1 and "ill-conditioned for float32" in messages[0]
    error, messages = solved_in_float("circuit:50")
    assert error < 1e-3 and messages == []


def test_new_values():
    random = np.random.RandomState(3)
    A = square(random, 40)
    F = tessera.direct(A)
    B = A * 2
    F.update(B.data)
    b = random.rand(40)
    assert (F.solve(b) == tessera.direct(B).solve(b)).all()


def test_arguments():
    A = sp.eye(3).tocsr()
    with pytest.raises(ValueError, match="threshold"):
        tessera.direct(A, threshold=0.7)
    with pytest.raises(ValueError, match="trans: 'H'"):
        tessera.direct(A).solve(np.ones(3), "H")
    assert tessera.direct(A).solve([1.0, 2, 3]).tolist() == [1, 2, 3]
    for b, error in ((np.ones(4), ValueError), (np.ones((3, 1, 1)), ValueError),
                     (1j * np.ones(3), TypeError), (None, TypeError)):  # fmt: skip
        with pytest.raises(error, match="^b: "):
            tessera.direct(A).solve(b)
    P = tessera.problems("poisson2d:20").A
    with pytest.raises(ValueError, match="max_flops"):
        tessera.direct(P, max_flops=10)
    assert tessera.direct(P, max_flops=1e9).text == "direct,max_flops=1e09"


def test_preconditions_a_solver_of_scipy():
    A = tessera.problems("convection3d:6").A
    b = np.ones(A.shape[0])
    x, info = spla.gmres(A, b, M=tessera.direct(A), atol=0)
    assert info == 0
    assert np.linalg.norm(b - A @ x) <= 1e-5 * np.linalg.norm(b)
