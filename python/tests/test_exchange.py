"""Arrays of libraries that only exchange them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import Arrays, general, vector

import tessera
from tessera import batched
from tessera._arrays import view
from tessera._backend import core


class Exchanged:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Described:
    """An array that is known by ``__array_interface__`` alone."""

    def __init__(self, array):
        self._array = array
        self.__array_interface__ = array.__array_interface__


K = np.array([[[4.0, 1, 0], [1, 3, 1], [0, 1, 5]], [[2.0, 1, 1], [1, 4, 0], [1, 0, 3]]])
RIGHT = np.random.default_rng(1).standard_normal((2, 3, 2))


@pytest.mark.parametrize("kind", [Exchanged, Described])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_functions_take_arrays_of_the_host(kind, order):
    """Results are arrays of NumPy."""
    a = K if order == "C" else np.swapaxes(np.swapaxes(K, 1, 2).copy(), 1, 2)
    calls = [
        batched.inv, batched.cholesky, batched.norm, batched.cond, batched.slogdet,
        lambda a: batched.ldlt(a).rows, lambda a: batched.ldlt(a).D, lambda a: batched.lu(a).U,
        lambda a: batched.lu(a).inv(),
    ]  # fmt: skip
    for call in calls:
        for found, expected in zip(np.atleast_1d(call(kind(a))), call(a), strict=True):
            assert isinstance(found, (np.ndarray, np.number))
            np.testing.assert_array_equal(found, expected)
    for call in (batched.solve, batched.matmul, lambda a, b: batched.lu(a).solve(b)):
        for b in (RIGHT, RIGHT[:, :, 0].copy()):
            expected = call(a, b)
            for found in (call(kind(a), kind(b)), call(a, kind(b)), call(kind(a), b)):
                np.testing.assert_array_equal(found, expected)
    inverses = batched.inv([kind(each) for each in K])
    np.testing.assert_array_equal(inverses[1], batched.inv(K)[1])
    packed = batched.inv(kind(K.ravel()), sizes=[3, 3])
    np.testing.assert_array_equal(packed.reshape(K.shape), batched.inv(K))
    a, b = general(), np.stack([vector(60), vector(60, 3)], 1)
    np.testing.assert_array_equal(tessera.solve(a, kind(b)).x, tessera.solve(a, b).x)
    np.testing.assert_array_equal(tessera.matrix(a) @ kind(b), tessera.matrix(a) @ b)
    points = np.random.default_rng(1).random((4, 3))
    modes = tessera.rigid_body_modes(points)
    np.testing.assert_array_equal(tessera.rigid_body_modes(kind(points)), modes)


def test_dlpack_on_the_host():
    a, b = general(), vector(60)
    x, info = tessera.gmres(a, Exchanged(b), rtol=1e-9)
    assert info == 0 and type(x) is np.ndarray
    np.testing.assert_allclose(a @ x, b, atol=1e-7)
    inverse = batched.inv(Exchanged(np.eye(3) * 2))
    np.testing.assert_allclose(inverse, np.eye(3) / 2)
    with pytest.raises(TypeError, match="b: complex"):
        tessera.gmres(a, Exchanged(1j * b))


def test_arrays_of_the_library_are_exchanged():
    """Results for callers whose library cannot make them, such as JAX on a GPU."""
    context = core.cpu_context(1)
    for integers, kind in ((False, np.float32), (True, np.int32)):
        made = core.new_array(context, [3, 4], 4, integers)
        found = view(made, "made")
        assert found.shape == (3, 4) and found.dtype == kind and found.contiguous
        core.fill_zero(context, found.pointer, 12, 4)
        back = np.from_dlpack(made)
        assert back.dtype == kind and not back.any()
        assert back.__array_interface__["data"][0] == found.pointer


def test_dlpack_on_a_gpu():
    arrays = Arrays("cupy-cuda")
    a, b = general(), vector(60)
    given = arrays.array(b)
    x, info = tessera.gmres(arrays.csr(a), Exchanged(given), rtol=1e-9)
    assert info == 0
    back = arrays.numpy(arrays.module.from_dlpack(x))
    np.testing.assert_allclose(a @ back, b, atol=1e-7)


def test_what_an_exchanged_array_of_a_gpu_cannot_do_names_it():
    arrays = Arrays("cupy-cuda")
    given, columns = Exchanged(arrays.array(K)), Exchanged(arrays.array(RIGHT))
    matrix = Exchanged(arrays.array(K[0]))
    for call, name in (
        (batched.cond, "a"), (batched.cholesky, "a"), (batched.lu, "a"), (batched.ldlt, "a"),
        (lambda a: batched.solve(a, columns), "b"), (lambda _: batched.inv([matrix, matrix]), "a"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{name}: "):
            call(given)
    back = arrays.module.from_dlpack(batched.inv(given))
    np.testing.assert_allclose(arrays.numpy(back), np.linalg.inv(K))
    batched.cond(given, reciprocal=True)


def test_coordinates_of_other_libraries():
    """A matrix in the format "coo" whose arrays have other names, as of the package sparse."""

    class Coordinates:
        def __init__(self, matrix):
            self.shape, self.dtype, self.format = matrix.shape, matrix.dtype, "coo"
            self.tocsr = matrix.tocsr

    a = sp.csr_array([[2.0, 1.0], [0.0, 4.0]])
    np.testing.assert_array_equal(tessera.matrix(Coordinates(a)) @ np.ones(2), [3, 4])
