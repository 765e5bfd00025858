"""Gradients, torch.compile and CUDA graphs."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import general, spd

import tessera

torch = pytest.importorskip("torch", reason="torch is not installed")
tt = pytest.importorskip("tessera.torch")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not (torch.cuda.is_available() and tessera.devices()):
        pytest.skip("torch-cuda: no CUDA device, or tessera_cu13 is not installed")
    return request.param


def dense(device, *shape):
    torch.manual_seed(1)
    a = torch.randn(*shape, dtype=torch.float64) + 3 * torch.eye(shape[-1], dtype=torch.float64)
    return a.to(device).requires_grad_()


def test_inv(device):
    a = dense(device, 3, 4, 4)
    torch.testing.assert_close(tt.inv(a), torch.linalg.inv(a))
    assert torch.autograd.gradcheck(tt.inv, (a,))
    assert torch.autograd.gradgradcheck(tt.inv, (a,))


@pytest.mark.parametrize("columns", [None, 2])
def test_solve(device, columns):
    a = dense(device, 3, 4, 4)
    shape = (3, 4) if columns is None else (3, 4, columns)
    b = torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True)
    full = b if columns else b.unsqueeze(-1)
    torch.testing.assert_close(tt.solve(a, b), torch.linalg.solve(a, full).reshape(shape))
    assert torch.autograd.gradcheck(tt.solve, (a, b))
    assert torch.autograd.gradgradcheck(tt.solve, (a, b))


@pytest.mark.parametrize("make", [spd, general])
@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("columns", [None, 2])
def test_sparse_solve(device, make, block, columns):
    n = 12
    matrix = make(n)
    if block > 1:
        matrix = matrix.tobsr((block, block))
        layout = torch.sparse_bsr_tensor
    else:
        layout = torch.sparse_csr_tensor
    crow = torch.from_numpy(matrix.indptr).to(device)
    col = torch.from_numpy(matrix.indices).to(device)
    values = torch.from_numpy(np.array(matrix.data)).to(device).requires_grad_()
    shape = (n,) if columns is None else (n, columns)
    b = torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True)

    def run(values, b):
        a = layout(crow, col, values, (n, n))
        return tt.solve(a, b, rtol=1e-13)

    x = run(values, b)
    expected = torch.linalg.solve(torch.from_numpy(matrix.toarray()).to(device), b.detach())
    torch.testing.assert_close(x.detach(), expected)

    # The stored values are the leaves: sparse tensors do not pass gradcheck's perturbations.
    def raw(values, b):
        points = torch.empty(0)
        return tt._sparse(crow, col, values, b, points, "auto", "auto", 1e-13, 10000)[0]

    assert torch.autograd.gradcheck(raw, (values, b))
    x.sum().backward()
    assert b.grad is not None


def test_one_setup_serves_both_passes(device, monkeypatch):
    made = []
    build = tt.Solver.__init__

    def counted(self, *args, **kwargs):
        made.append(1)
        build(self, *args, **kwargs)

    monkeypatch.setattr(tt.Solver, "__init__", counted)
    matrix = spd(12)
    parts = [torch.from_numpy(p).to(device) for p in (matrix.indptr, matrix.indices, matrix.data)]
    parts[2].requires_grad_()
    b = torch.ones(12, dtype=torch.float64, device=device)
    tt._sparse(*parts, b, torch.empty(0), "auto", "auto", 1e-8, 100)[0].sum().backward()
    assert parts[2].grad is not None and len(made) == 1


def test_a_solve_that_fails_is_an_error(device):
    matrix = tessera.problems("poisson2d:20").A
    parts = [torch.from_numpy(p).to(device) for p in (matrix.indptr, matrix.indices, matrix.data)]
    a = torch.sparse_csr_tensor(*parts, matrix.shape)
    b = torch.ones(400, dtype=torch.float64, device=device)
    with pytest.raises(RuntimeError, match="did not converge"):
        tt.solve(a, b, method="cg", M="none", maxiter=2)
    with pytest.raises(TypeError, match="a: the layout"):
        tt.solve(a.to_sparse_coo(), b)


def test_operators_are_registered_rightly(device):
    a = dense(device, 3, 4, 4)
    b = torch.randn(3, 4, dtype=torch.float64, device=device, requires_grad=True)
    torch.library.opcheck(tt._inv, (a,))
    torch.library.opcheck(tt._dense, (a, b))


def test_compile(device):
    a = dense(device, 3, 4, 4)
    b = torch.randn(3, 4, dtype=torch.float64, device=device, requires_grad=True)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def run(a, b):
        return (tt.inv(a) @ tt.solve(a, b).unsqueeze(-1)).sum()

    value = run(a, b)
    value.backward()
    compiled = a.grad.clone()
    a.grad = None
    x = torch.linalg.inv(a) @ torch.linalg.solve(a, b.unsqueeze(-1))
    torch.testing.assert_close(value, x.sum())
    x.sum().backward()
    torch.testing.assert_close(compiled, a.grad)


def test_cuda_graph():
    if not (torch.cuda.is_available() and tessera.devices()):
        pytest.skip("torch-cuda: no CUDA device, or tessera_cu13 is not installed")
    a = dense("cuda", 100, 8, 8).detach()
    b = torch.randn(100, 8, dtype=torch.float64, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        tt.inv(a), tt.solve(a, b)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        x, y = tt.inv(a), tt.solve(a, b)
    a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(x, torch.linalg.inv(a))
    torch.testing.assert_close(y, torch.linalg.solve(a, b.unsqueeze(-1)).squeeze(-1))


@pytest.mark.parametrize("text", ["jacobi", "block_jacobi:8", "chebyshev:4", "amg"])
def test_preconditioners_in_a_cuda_graph(text):
    if not (torch.cuda.is_available() and tessera.devices()):
        pytest.skip("torch-cuda: no CUDA device, or tessera_cu13 is not installed")
    p = tessera.problems("elasticity3d:6")
    parts = [torch.from_numpy(each).cuda() for each in (p.A.indptr, p.A.indices, p.A.data)]
    r = torch.from_numpy(p.b).cuda()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        m = tessera.preconditioner(tuple(parts), text, coordinates=p.coordinates)
        m @ r
        m @ r
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        z = m @ r
    r.mul_(3)
    graph.replay()
    torch.cuda.synchronize()
    expected = m @ r
    torch.testing.assert_close(z, expected, rtol=1e-5, atol=1e-6 * float(abs(expected).max()))
