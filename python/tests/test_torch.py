"""Gradients, torch.compile and CUDA graphs."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from conftest import general, spd

import tessera
from tessera import batched

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


@pytest.mark.parametrize("assume_a", ["sym", "positive definite"])
@pytest.mark.parametrize("columns", [None, 2])
def test_solve_symmetric(device, assume_a, columns):
    a = dense(device, 3, 4, 4)
    shift = 2 * torch.eye(4, dtype=torch.float64, device=device)
    shift[1, 1] = -30 if assume_a == "sym" else 2
    shape = (3, 4) if columns is None else (3, 4, columns)
    b = torch.randn(*shape, dtype=torch.float64, device=device, requires_grad=True)

    def run(a, b, solve=tt.solve):
        if solve is tt.solve:
            return tt.solve(a @ a.mT + shift, b, assume_a=assume_a)
        full = b if columns else b.unsqueeze(-1)
        return solve(a @ a.mT + shift, full).reshape(shape)

    torch.testing.assert_close(run(a, b), run(a, b, torch.linalg.solve))
    assert torch.autograd.gradcheck(run, (a, b))
    assert torch.autograd.gradgradcheck(run, (a, b))
    c = (a @ a.mT + shift).detach().requires_grad_()
    tt.solve(c, b, assume_a=assume_a).sum().backward()
    assert torch.equal(c.grad, c.grad.mT)
    with pytest.raises(ValueError, match="^assume_a: 'spd' is none of"):
        tt.solve(a, b, assume_a="spd")


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


def sparse_parts(matrix, device):
    parts = (matrix.indptr, matrix.indices, matrix.data)
    return [torch.from_numpy(np.array(part)).to(device) for part in parts]


@pytest.mark.parametrize("make", [spd, general])
@pytest.mark.parametrize("block", [1, 3])
def test_a_solver_serves_many_calls(device, monkeypatch, make, block):
    """In a loop that learns values: one setup, and one of the transpose if that is another."""
    matrix = make(12) if block == 1 else make(12).tobsr((block, block))
    matrix.sort_indices()  # As torch wants it.
    crow, col, data = sparse_parts(matrix, device)
    layout = torch.sparse_csr_tensor if block == 1 else torch.sparse_bsr_tensor
    b = torch.randn(12, 2, dtype=torch.float64, device=device, requires_grad=True)
    solver = tessera.Solver(layout(crow, col, data, (12, 12)), M="block_jacobi:4")
    made = []
    build = tt.Solver.__init__
    monkeypatch.setattr(
        tt.Solver, "__init__", lambda self, *args, **kw: made.append(1) or build(self, *args, **kw)
    )
    for factor in (1.0, 1.0, 2.0, 0.5):
        values = (data * factor).requires_grad_()
        solver.update(values.detach())
        a = layout(crow, col, values, (12, 12))
        x = tt.solve(a, b, rtol=1e-12, solver=solver)
        got = torch.autograd.grad(x.square().sum(), (values, b))
        dense = torch.from_numpy(matrix.toarray()).to(device).mul(factor).requires_grad_()
        y = torch.linalg.solve(dense, b)
        torch.testing.assert_close(x, y)
        of_dense, of_b = torch.autograd.grad(y.square().sum(), (dense, b))
        torch.testing.assert_close(got[1], of_b)
        positions = layout(crow, col, torch.ones_like(data), (12, 12)).to_dense()
        full = layout(crow, col, got[0], (12, 12)).to_dense()
        torch.testing.assert_close(full, of_dense * positions)
    assert len(made) == (make is general)


def test_a_solver_that_changed_is_an_error(device):
    crow, col, data = sparse_parts(spd(12), device)
    a = torch.sparse_csr_tensor(crow, col, data, (12, 12))
    b = torch.ones(12, dtype=torch.float64, device=device, requires_grad=True)
    solver = tessera.Solver(a, M="jacobi")
    x = tt.solve(a, b, solver=solver)
    solver.update(2 * data)
    with pytest.raises(RuntimeError, match="^solver: it was updated between"):
        x.sum().backward()
    x = tt.solve(a, b, solver=solver)
    del solver
    with pytest.raises(RuntimeError, match="^solver: it was released"):
        x.sum().backward()
    solver = tessera.Solver(a, M="jacobi")
    x = tt.solve(a, b, solver=solver)
    solver.close()
    with pytest.raises(RuntimeError, match="^solver: it was closed"):
        x.sum().backward()
    wrong = tessera.Solver(spd(13))
    for arguments, kind, text in (
        ({"solver": wrong}, ValueError, "solver: its matrix has another shape"),
        ({"solver": 3}, TypeError, "solver: expected a tessera.Solver"),
        ({"solver": tessera.Solver(a), "M": "amg"}, ValueError, "solver: it has its method"),
    ):
        with pytest.raises(kind, match=f"^{text}"):
            tt.solve(a, b, **arguments)
    with pytest.raises(ValueError, match="^solver: a is dense"):
        tt.solve(a.to_dense(), b, solver=wrong)
    with pytest.raises(ValueError, match="^assume_a: a is sparse"):
        tt.solve(a, b, assume_a="pos")


def test_a_solver_that_is_dropped_is_released(device):
    crow, col, data = sparse_parts(spd(12), device)
    a = torch.sparse_csr_tensor(crow, col, data, (12, 12))
    b = torch.ones(12, dtype=torch.float64, device=device)
    solver = tessera.Solver(a, M="jacobi")
    tt.solve(a, b, solver=solver)
    alive = weakref.ref(solver)
    del solver
    assert alive() is None


def test_setups_are_kept_for_backward_passes_alone(device):
    kept = tt.setups._latest
    crow, col, data = sparse_parts(spd(12), device)
    b = torch.ones(12, dtype=torch.float64, device=device)
    of_b, of_a = b.clone().requires_grad_(), data.clone().requires_grad_()
    a = torch.sparse_csr_tensor(crow, col, data, (12, 12))
    kept.clear()
    tt.solve(a, b)
    with torch.no_grad():
        tt.solve(a, of_b)
        tt.solve(torch.sparse_csr_tensor(crow, col, of_a, (12, 12)), b)
    assert not kept
    tt.solve(a, of_b).sum().backward()
    tt.solve(torch.sparse_csr_tensor(crow, col, of_a, (12, 12)), b).sum().backward()
    assert len(kept) == 2 and of_b.grad is not None and of_a.grad is not None
    dense = torch.linalg.solve(a.to_dense(), torch.ones_like(b))
    torch.testing.assert_close(of_b.grad, dense)


def test_gradients_are_not_dropped_silently(device):
    a, b = dense(device, 3, 4, 4), torch.randn(3, 4, dtype=torch.float64, device=device)
    right = b.clone().requires_grad_()
    detached = a.detach()
    packed = a.reshape(-1)
    message = "it requires gradients; use tessera.torch, or detach[(][)]$"
    for call, name in (
        (lambda: batched.inv(a), "a"),
        (lambda: batched.solve(a, b), "a"),
        (lambda: batched.solve(detached, right), "b"),
        (lambda: batched.matmul(detached, right), "x"),
        (lambda: batched.matmul(detached, a), "x"),
        (lambda: batched.cholesky(a), "a"),
        (lambda: batched.norm(packed, sizes=[4, 4, 4]), "a"),
        (lambda: batched.slogdet([detached[0], a[1]]), r"a\[1\]"),
        (lambda: batched.solve([detached[0]], [right[0]]), r"b\[0\]"),
    ):
        with pytest.raises(RuntimeError, match=f"^{name}: {message}"):
            call()
        with torch.no_grad():
            call()


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
    torch.library.opcheck(tt._dense, (a, b, "gen"))
    # Results have the type of a, that of integers float64.
    torch.library.opcheck(tt._dense, (a.detach().float(), b.detach(), "gen"))
    torch.library.opcheck(tt._inv, (torch.eye(3, dtype=torch.int64, device=device),))


def test_the_forward_mode_is_refused(device):
    a = dense(device, 4, 4).detach()
    sparse = a.to_sparse_csr()
    b = torch.ones(4, dtype=torch.float64, device=device)
    with pytest.raises(NotImplementedError, match="a: "):
        torch.func.jacfwd(tt.inv)(a)
    with pytest.raises(NotImplementedError, match="b: "):
        torch.func.jacfwd(lambda given: tt.solve(a, given))(b)
    with pytest.raises(NotImplementedError, match="b: "):
        torch.func.jvp(lambda given: tt.solve(sparse, given), (b,), (b,))


def test_coordinates_of_nodes_that_lack_unknowns(device):
    p = tessera.problems("plate_hole:10")
    parts = [torch.from_numpy(x).to(device) for x in (p.A.indptr, p.A.indices, p.A.data)]
    a = torch.sparse_csr_tensor(*parts, p.A.shape)
    b = torch.from_numpy(p.b).to(device)
    with pytest.raises(TypeError, match="coordinates: pairs .* solver="):
        tt.solve(a, b, coordinates=p.coordinates)
    solver = tessera.Solver(a, M="amg", coordinates=p.coordinates)
    x = tt.solve(a, b, solver=solver)
    assert torch.linalg.norm(b - a @ x) <= 1.1e-8 * torch.linalg.norm(b)


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


@pytest.mark.parametrize("given", [False, True])
def test_compile_around_a_sparse_solve(device, given):
    matrix = general(12)
    matrix.sort_indices()
    a = torch.sparse_csr_tensor(*sparse_parts(matrix, device), (12, 12))
    b = torch.randn(12, dtype=torch.float64, device=device, requires_grad=True)
    how = {"solver": tessera.Solver(a, M="jacobi")} if given else {"M": "jacobi"}
    run = torch.compile(
        lambda b: tt.solve(a, 2 * b, rtol=1e-12, **how).square().sum(), backend="eager"
    )
    value = run(b)
    value.backward()
    c = b.detach().requires_grad_()
    expected = torch.linalg.solve(a.to_dense(), 2 * c).square().sum()
    expected.backward()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(b.grad, c.grad)


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


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: batched.inv(a),
        lambda a, b: batched.solve(a, b),
        lambda a, b: batched.solve(a, b, assume_a="pos", return_info=True)[0],
        lambda a, b: batched.solve(a, b, assume_a="sym"),
        lambda a, b: batched.lu(a).solve(b),
        lambda a, b: batched.cholesky(a),
        lambda a, b: batched.matmul(a, b),
        lambda a, b: batched.norm(a),
        lambda a, b: batched.cond(a),
        lambda a, b: batched.slogdet(a)[1],
    ],
)
@pytest.mark.parametrize("n", [3, 16, 40])
def test_cuda_graph_of_a_stream_that_was_not_used(call, n):
    if not (torch.cuda.is_available() and tessera.devices()):
        pytest.skip("torch-cuda: no CUDA device, or tessera_cu13 is not installed")
    half = dense("cuda", 50, n, n).detach()
    a = half @ half.mT + torch.eye(n, dtype=half.dtype, device="cuda")
    b = torch.randn(50, n, dtype=torch.float64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # On a stream of its own, new to the library.
        x = call(a, b)
    a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(x, call(a, b), rtol=0, atol=0)


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
        points = p.coordinates if text == "amg" else None
        m = tessera.preconditioner(tuple(parts), text, coordinates=points)
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
