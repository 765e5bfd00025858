"""Where a solve is, and which argument an error is about."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import Arrays, spd, vector

import tessera

A, B = spd(), vector(60)
POINTS = np.random.default_rng(1).random((20, 3))


@pytest.mark.parametrize("m", ["jacobi", "chebyshev:4", "block_jacobi:3", None])
def test_coordinates_that_are_not_used_are_an_error(m):
    with pytest.raises(ValueError, match="^coordinates: only 'amg' uses them, M is "):
        tessera.solve(A, B, M=m, coordinates=POINTS)
    if m is not None:
        with pytest.raises(ValueError, match="^coordinates: only 'amg' uses them, text is "):
            tessera.preconditioner(A, m, coordinates=POINTS)


@pytest.mark.parametrize("m", ["auto", "amg", "amg,block=3"])
def test_coordinates_that_are_used(m):
    assert tessera.solve(A, B, M=m, coordinates=POINTS).converged
    if m != "auto":
        tessera.preconditioner(A, m, coordinates=POINTS)


def test_errors_are_about_the_option():
    parts = (A.indptr, A.indices, A.data)
    for call, name in (
        (lambda: tessera.smoothed_aggregation_solver(A, block=7), "block"),
        (lambda: tessera.smoothed_aggregation_solver(parts, np.ones((5, 1))), "B"),
        (lambda: tessera.solve(A, B, M="amg,block=7"), "M"),
        (lambda: tessera.cg(A, B, M="amg,block=7"), "M"),
        (lambda: tessera.preconditioner(A, "amg,block=7"), "text"),
        (lambda: tessera.solve(A, B, near_null=np.ones((5, 1))), "near_null"),
        (lambda: tessera.polynomial(-A), "A"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            call()


def test_a_matrix_that_is_not_finite_is_named_before_the_option():
    bad = sp.csr_matrix(A)
    bad.data = bad.data.copy()
    bad.data[0] = np.nan
    for call in (
        lambda: tessera.smoothed_aggregation_solver(bad, block=7),
        lambda: tessera.solve(bad, B, M="amg,block=7"),
        lambda: tessera.preconditioner(bad, "amg,block=7"),
    ):
        with pytest.raises(ValueError, match="^A: row 0 holds NaN or infinity$"):
            call()


def test_modes_of_nodes_that_lack_unknowns():
    p = tessera.problems("plate_hole:8")
    points, unknowns = p.coordinates
    modes = tessera.rigid_body_modes(p.coordinates)
    np.testing.assert_array_equal(modes, tessera.rigid_body_modes(points)[unknowns])
    assert tessera.solve(p.A, p.b, near_null=modes).converged
    r = tessera.solve(p.A, p.b, M="amg,theta=0.04,levels=2", near_null=modes)
    assert r.converged and "theta=0.04" in r.preconditioner, r
    assert r.report["values"]["amg"]["near_null"] == "given"
    with pytest.raises(ValueError, match="^near_null: M names near-null vectors, too"):
        tessera.solve(p.A, p.b, M="amg,near_null=translations", near_null=modes)
    with pytest.raises(ValueError, match="^coordinates: the unknowns of rows ascend"):
        tessera.rigid_body_modes((points, [points.size]))


def test_a_stream_beside_a_device_is_checked():
    for call in (
        lambda: tessera.Solver(A, device="cpu", stream="s"),
        lambda: tessera.jacobi(A, device="cpu", stream="s"),
        lambda: tessera.solve(A, B, near_null=np.ones(60), stream="s"),
    ):
        with pytest.raises(TypeError, match="^stream: "):
            call()


def test_every_preconditioner_takes_a_device():
    for make in (tessera.jacobi, tessera.block_jacobi, tessera.polynomial, tessera.block_ldlt):
        np.testing.assert_array_equal(make(A, device="cpu") @ B, make(A) @ B)
        with pytest.raises(ValueError, match="^device: 'tpu'"):
            make(A, device="tpu")


def test_near_null_vectors_have_the_context_of_the_solver():
    """Its threads and its stream; the memory of a result is that of both."""
    p = tessera.problems("poisson3d:16")
    ones = np.ones(p.b.size)
    solver = tessera.Solver(p.A, near_null=ones, threads=1)
    held = tessera.smoothed_aggregation_solver(p.A, ones)._context.memory_bytes
    assert solver._context.threads == 1
    assert solver.solve(p.b).memory > held > 0


@pytest.fixture(params=["cupy-cuda", "torch-cuda"])
def device(request):
    return Arrays(request.param)


def test_a_matrix_on_a_gpu_stays_there(device):
    a, b = device.csr(A), device.array(B)
    for name in ("cuda", "cuda:0", "auto"):
        assert tessera.solve(a, b, device=name).converged
        assert tessera.jacobi(a, device=name)._device == 0
    for name in ("cuda:1", "cpu"):
        for call in (
            lambda name=name: tessera.Solver(a, device=name),
            lambda name=name: tessera.jacobi(a, device=name),
        ):
            with pytest.raises(ValueError, match="^device: the matrix is on GPU 0"):
                call()
    with pytest.raises(ValueError, match="^device: 'cudaX'"):
        tessera.Solver(a, device="cudaX")


def test_a_stream_is_used_beside_a_device(device):
    stream = device.module.cuda.Stream()
    address = stream.ptr if device.library == "cupy" else stream.cuda_stream
    with tessera.Solver(A, device="cuda", stream=address) as solver:
        assert solver._context.stream == address and solver.solve(B).converged
    with tessera.Solver(device.csr(A), near_null=np.ones(60), stream=address) as solver:
        assert solver._preconditioner._context.stream == address
        assert solver.solve(device.array(B)).converged


def test_what_is_on_the_host_is_named():
    if not tessera.devices():
        pytest.skip("no CUDA device, or tessera_cu13 is not installed")
    with pytest.raises(ValueError, match="^M: it is on the host, the solve on GPU 0; make it with"):
        tessera.solve(A, B, M=tessera.jacobi(A), device="cuda")
    with pytest.raises(ValueError, match="^M: it is on the host, the solve on GPU 0; leave device"):
        tessera.solve(A, B, M=lambda r: r, device="cuda")
    assert tessera.solve(A, B, M=tessera.jacobi(A, device="cuda"), device="cuda").converged
