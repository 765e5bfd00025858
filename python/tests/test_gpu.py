"""What is particular to devices: streams, copies, memory."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import Arrays, relative_residual, spd, vector

import tessera
from tessera import _contexts, batched
from tessera._arrays import view
from tessera._backend import core


def in_new_thread(work):
    """The result of work(), with contexts of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    assert results
    return results[0]


def test_batches_copy_nothing(arrays):
    a = arrays.array(np.random.default_rng(1).standard_normal((1000, 8, 8)))
    found = view(a, "a")

    def work():
        batched.inv(a)
        return _contexts.call_context(found.kind, found.device).peak_memory_bytes

    assert in_new_thread(work) < 1000 * 8 * 8 * 8


def test_matrices_are_borrowed(arrays):
    a = tessera.problems("poisson3d:20").A
    given = [arrays.array(p) for p in (a.indptr.astype(np.int64), a.indices, a.data)]
    matrix = tessera.matrix(tuple(given))
    assert matrix._matrix.borrows_values
    # The plan of products alone.
    assert matrix._context.memory_bytes < a.data.nbytes
    narrow = tessera.matrix((given[0], given[1], given[2]), dtype=np.float32)
    assert narrow.dtype == np.float32


def test_solves_copy_no_vectors(arrays):
    """The solver allocates its own vectors, and neither b nor x."""
    a = tessera.problems("poisson3d:20").A
    matrix = tessera.matrix(arrays.csr(a))
    b = arrays.array(np.ones(a.shape[0]))
    found = view(b, "b")

    def work():
        assert tessera.cg(matrix, b)[1] == 0
        return _contexts.call_context(found.kind, found.device).peak_memory_bytes

    # cg has seven vectors of its own.
    assert in_new_thread(work) < 7.9 * a.shape[0] * 8


@pytest.fixture(params=["cupy-cuda", "torch-cuda"])
def device(request):
    return Arrays(request.param)


def other_stream(device):
    """A stream that is not the current one, its address, and what makes it current."""
    if device.library == "cupy":
        stream = device.module.cuda.Stream(non_blocking=True)
        return stream, stream.ptr, stream
    stream = device.module.cuda.Stream()
    return stream, stream.cuda_stream, device.module.cuda.stream(stream)


def slow(device, a, b):
    """a @ b by the library of the caller, large enough that an early reader sees old values."""
    for _ in range(20):
        b = a @ b
        b = b / abs(b).max()
    return b


def test_the_current_stream_is_used(device):
    """Arguments that are still being computed on it are read afterwards, without a wait."""
    stream, address, current = other_stream(device)
    large = device.array(np.random.default_rng(1).standard_normal((3000, 3000)))
    eye = device.array(np.eye(3000)[:, :60].copy())
    matrix, m = device.csr(spd()), tessera.jacobi(device.csr(spd()))
    _contexts.call_context(view(large, "large").kind, 0).synchronize()
    for _ in range(5):
        with current:
            computed = slow(device, large, eye)[:60, 0] + 1
            z = m @ computed
            expected = m @ device.array(device.numpy(computed))
            np.testing.assert_array_equal(device.numpy(z), device.numpy(expected))
            x, info = tessera.cg(matrix, slow(device, large, eye)[:60, 0] + 1, rtol=1e-9)
            assert info == 0
            stack = slow(device, large, eye)[:8, :8] + 10 * device.array(np.eye(8))
            inverse = batched.inv(stack)
            np.testing.assert_allclose(
                device.numpy(inverse), np.linalg.inv(device.numpy(stack)), rtol=1e-6, atol=1e-9
            )


def test_a_stream_may_be_given(device):
    stream, address, _ = other_stream(device)

    class Protocol:
        def __cuda_stream__(self):
            return 0, address

    a = np.random.default_rng(1).standard_normal((50, 5, 5))
    for given in (address, Protocol()):
        x = batched.inv(device.array(a), stream=given)
        stream.synchronize()
        np.testing.assert_allclose(device.numpy(x), np.linalg.inv(a), rtol=1e-6, atol=1e-8)
        # Where the library of the arrays works on the results, on its own stream.
        c = batched.cond(device.array(a), stream=given)
        sign = batched.slogdet(device.array(a), stream=given).sign
        stream.synchronize()
        np.testing.assert_allclose(device.numpy(c), np.linalg.cond(a, np.inf), rtol=1e-6)
        np.testing.assert_array_equal(device.numpy(sign), np.linalg.slogdet(a)[0])
        x, info = tessera.cg(device.csr(spd()), device.array(vector(60)), stream=given, rtol=1e-9)
        assert info == 0
        np.testing.assert_allclose(spd() @ device.numpy(x), vector(60), atol=1e-7)
        r = tessera.solve(device.csr(spd()), device.array(vector(60)), stream=given)
        assert r.converged
        b = np.random.default_rng(2).standard_normal((50, 5, 3))
        exact = np.linalg.solve(a, b)
        right = device.array(b)  # Its columns are copied.
        for found, expected in (
            (batched.solve(device.array(a), right, stream=given), exact),
            (batched.matmul(device.array(a), right, stream=given), a @ b),
            (batched.lu(device.array(a)).solve(right, stream=given), exact),
        ):
            np.testing.assert_allclose(device.numpy(found), expected, rtol=1e-6, atol=1e-8)
        lists = [device.array(each) for each in a]
        found = batched.solve(lists, [device.array(each[:, 0].copy()) for each in b], stream=given)
        np.testing.assert_allclose(device.numpy(found[7]), exact[7, :, 0], rtol=1e-6, atol=1e-8)


def test_what_a_call_on_a_stream_needs_stays(device):
    """Copies of arguments and factors, which are released on return, may be read on the stream
    until then alone, as the current one gets their memory next."""
    stream, address, current = other_stream(device)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((4000, 16, 16)) + 16 * np.eye(16)
    b = rng.standard_normal((4000, 16, 5))
    columns = device.array(np.swapaxes(a, 1, 2).copy()).swapaxes(1, 2)
    large = device.array(rng.standard_normal((3000, 3000)))
    for _ in range(5):
        for call, expected in (
            (lambda: batched.solve(device.array(a), device.array(b), stream=address),
             np.linalg.solve(a, b)),
            (lambda: batched.matmul(columns, device.array(b), stream=address), a @ b),
            (lambda: batched.cholesky(device.array(a @ np.swapaxes(a, 1, 2)), stream=address),
             np.linalg.cholesky(a @ np.swapaxes(a, 1, 2))),
            (lambda: batched.inv([device.array(each) for each in a[:50]], stream=address)[0],
             np.linalg.inv(a[0])),
        ):  # fmt: skip
            with current:
                slow(device, large, large)
            found = call()
            # What overwrites memory that was released too early.
            filled = [device.module.full_like(large, np.nan) for _ in range(4)]
            filled += [device.module.full_like(columns, np.nan) for _ in range(4)]
            stream.synchronize()
            np.testing.assert_allclose(device.numpy(found), expected, rtol=1e-6, atol=1e-8)
            del filled


def test_functions_of_the_caller_are_in_order(device):
    """They are called on the current stream, while the solver is on another one."""
    _, address, current = other_stream(device)
    a, b = spd(), vector(60)
    matrix, inverse = device.csr(a), device.array(np.diag(1 / a.diagonal()))
    large = device.array(np.random.default_rng(1).standard_normal((2000, 2000)))

    def late(product):
        def function(v):
            slow(device, large, large[:, :60])  # Which the product waits for.
            return product @ v

        return function

    x, info = tessera.cg(
        late(matrix), device.array(b), rtol=1e-9, M=late(inverse), stream=address
    )
    assert info == 0 and relative_residual(a, device.numpy(x), b) < 1e-8
    with tessera.Solver(late(matrix), M=late(inverse), stream=address) as solver:
        r = solver.solve(device.array(b))
        assert r.converged and relative_residual(a, device.numpy(r.x), b) < 1e-7


def test_recorded_steps_see_updates_of_a_preconditioner(device):
    p = tessera.problems("poisson2d:60")
    weights = np.random.default_rng(1).uniform(0.1, 10, p.b.size)
    scaled = p.A.multiply(weights[:, None]).multiply(weights[None, :]).tocsr()
    a, other, b = device.csr(p.A), device.csr(scaled), device.array(p.b)
    m = tessera.jacobi(a)
    solver = tessera.Solver(other, method="cg", M=m)
    before = [solver.solve(b).iterations for _ in range(3)][-1]
    m.update(other)
    expected = tessera.Solver(other, method="cg", M=tessera.jacobi(other)).solve(b).iterations
    assert expected < before
    assert solver.solve(b).iterations == expected


def test_both_memories_are_an_error(device):
    a, b = spd(), vector(60)
    with pytest.raises(ValueError, match="b: .*on the host"):
        tessera.cg(device.csr(a), b)
    with pytest.raises(ValueError, match="b: .*on GPU 0"):
        tessera.cg(a, device.array(b))
    with pytest.raises(ValueError, match="x: "):
        tessera.jacobi(a) @ device.array(b)
    with pytest.raises(ValueError, match="M: "):
        tessera.cg(device.csr(a), device.array(b), M=tessera.jacobi(a))
    with pytest.raises(ValueError, match="x0: "):
        tessera.cg(device.csr(a), device.array(b), b)
    with pytest.raises(ValueError, match="b: "):
        tessera.solve(a, device.array(b))
    with pytest.raises(TypeError, match="out: "):
        batched.inv(device.array(np.eye(3)), out=np.eye(3))


def test_ten_thousand_solves_leak_no_device_memory(device):
    def free():
        if device.library == "cupy":
            return device.module.cuda.runtime.memGetInfo()[0]
        return device.module.cuda.mem_get_info()[0]

    a, b = device.csr(spd(12)), device.array(vector(12))
    matrix = tessera.matrix(a)

    def work(count):
        for k in range(count):
            assert tessera.cg(matrix, b)[1] == 0
            if k % 20 == 0:
                assert tessera.solve(a, b).converged
                tessera.block_jacobi(a, 3) @ b
                batched.inv(device.array(np.eye(3)))

    work(1000)
    before = free()
    work(10000)
    # Pools grow by 2 MB and more at a time; 500 contexts that stay would be a gigabyte.
    assert before - free() < 64e6


def in_use(device):
    """Bytes of the pool of the caller's library."""
    if device.library == "cupy":
        return device.module.get_default_memory_pool().used_bytes()
    return device.module.cuda.memory_allocated()


def test_solvers_use_the_pool_of_the_caller(device):
    problem = tessera.problems("elasticity3d:8")
    a, b = device.csr(problem.A), device.array(problem.b)
    _, address, current = other_stream(device)
    before = in_use(device)
    for stream in (None, address):
        with tessera.Solver(a, M="amg", coordinates=problem.coordinates, stream=stream) as solver:
            assert in_use(device) - before > problem.A.data.nbytes / 2
            assert solver.solve(b).converged
            with current:
                assert solver.solve(b).converged
        assert in_use(device) == before


def test_the_pool_of_the_caller_ends(device):
    problem = tessera.problems("poisson3d:60")
    a, b = device.csr(problem.A), device.array(problem.b)
    module = device.module
    if device.library == "cupy":
        pool = module.get_default_memory_pool()
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 2**22)
    else:
        module.cuda.empty_cache()
        total = module.cuda.mem_get_info()[1]
        module.cuda.set_per_process_memory_fraction(
            (module.cuda.memory_reserved() + 2**22) / total
        )
    try:
        with pytest.raises(MemoryError, match="out of GPU memory"):
            tessera.solve(a, b, M="amg")
    finally:
        if device.library == "cupy":
            pool.set_limit(size=0)
        else:
            module.cuda.set_per_process_memory_fraction(1.0)
    assert tessera.solve(a, b, M="amg").converged


def test_an_interrupt_of_the_pool_is_put_off():
    device = Arrays("cupy-cuda")
    calls, held = [], {}

    def allocate(size):
        calls.append(size)
        if len(calls) == 1:
            raise KeyboardInterrupt
        held[size] = device.module.cuda.alloc(size)
        return held[size].ptr

    context = core.cuda_context(0, 0, 0, None, (allocate, lambda _: held.clear(), lambda _: 0))
    with pytest.raises(KeyboardInterrupt):
        core.new_array(context, [16], 8)
        for _ in range(1000):
            pass
    assert calls == [128, 128]


def test_torch_matrices_of_all_layouts():
    for place in ("cpu", "cuda"):
        try:
            arrays = Arrays(f"torch-{place}")
        except pytest.skip.Exception as reason:
            if place == "cpu":
                raise
            print(reason)
            continue
        torch = arrays.module
        a, b = spd(), vector(60)
        matrix = arrays.csr(a)
        dense = arrays.array(a.toarray())
        for given in (
            matrix,
            matrix.to_sparse_coo(),
            dense.to_sparse(),
            dense.to_sparse_csc(),
            dense.to_sparse_bsr((3, 3)),
        ):
            x, info = tessera.cg(given, arrays.array(b), rtol=1e-9)
            assert info == 0, given.layout
            np.testing.assert_allclose(a @ arrays.numpy(x), b, atol=1e-7)
        b = torch.from_numpy(b).to(place).requires_grad_()
        assert tessera.cg(matrix, b)[1] == 0


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_matrices_of_warp(place):
    arrays = Arrays(f"warp-{place}")
    sparse = pytest.importorskip("warp.sparse")
    warp = arrays.module
    a, b = spd(), vector(60)
    for block in (1, 3):
        matrix = a.tobsr((block, block))
        kind = warp.float64 if block == 1 else warp.types.matrix((block, block), warp.float64)
        rows = np.repeat(np.arange(60 // block), np.diff(matrix.indptr)).astype(np.int32)
        values = matrix.data if block > 1 else matrix.data.ravel()
        device = "cuda:0" if place == "cuda" else "cpu"
        given = sparse.bsr_zeros(60 // block, 60 // block, kind, device=device)
        sparse.bsr_set_from_triplets(
            given,
            warp.array(rows, device=device),
            warp.array(matrix.indices.astype(np.int32), device=device),
            warp.array(values, dtype=kind, device=device),
        )
        x, info = tessera.cg(given, arrays.array(b), rtol=1e-9)
        assert info == 0
        np.testing.assert_allclose(a @ arrays.numpy(x), b, atol=1e-7)


@pytest.mark.parametrize("a", [
    np.arange(6.0), np.arange(6).astype("M8[s]"), np.ones((4, 4))[:, ::2], np.ones(3, np.float16),
    np.array(["a"]), np.float64(3.0), np.ones(3, ">f8"),
])  # fmt: skip
@pytest.mark.parametrize("writeable", [False, True])
def test_addresses_of_numpy(a, writeable):
    """Also of types that the buffer protocol does not know."""
    if isinstance(a, np.ndarray):
        a = a.copy(order="K")
        a.flags.writeable = writeable
    found = view(a, "a")
    assert found.pointer == found.array.__array_interface__["data"][0] != 0
