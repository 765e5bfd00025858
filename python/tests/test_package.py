"""The package itself: what its import does, threads, forks, leaks."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import relative_residual, spd, vector

import tessera
from tessera import _core_file


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_brings_numpy_alone():
    code = """
import numpy, sys
before = set(sys.modules)
import tessera
new = {name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(sorted(new))
"""
    assert set(eval(run(code))) <= {"tessera", "tessera_cu13"}


def calls_of(work):
    """How many functions a call of work() calls, of Python and of extensions, in all."""
    count = 0

    def look(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    work()
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_calls_do_little_in_python():
    """What a call costs beside the work of the library is the number of functions that it calls."""
    a, b, stack = tessera.matrix(spd()), vector(60), np.eye(4)[None].repeat(5, 0)
    m = tessera.jacobi(spd())
    assert calls_of(lambda: tessera.cg(a, b, M=m)) <= 48
    assert calls_of(lambda: tessera.batched.inv(stack)) <= 31


def test_import_starts_no_thread_and_no_cuda():
    code = """
import os
import tessera
print(len(os.listdir('/proc/self/task')))
print(any('nvidia' in os.readlink(f'/proc/self/fd/{f}') for f in os.listdir('/proc/self/fd')
          if os.path.exists(f'/proc/self/fd/{f}')))
"""
    numpy_threads = run("import os, numpy; print(len(os.listdir('/proc/self/task')))").split()
    found = run(code).split()
    assert found == [numpy_threads[0], "False"]


def test_the_extension_uses_the_stable_abi_from_3_12_on():
    """nanobind falls back to one version of Python without a word."""
    name = Path(_core_file()).name
    if sys.version_info >= (3, 12) and os.environ.get("TESSERA_EXPECT_ABI3", "1") == "1":
        assert name == "_core.abi3.so"
    elif sys.version_info < (3, 12):
        assert name == "_core" + sysconfig.get_config_var("EXT_SUFFIX")


def test_only_the_initialisation_is_exported():
    nm = subprocess.run(
        ["nm", "-D", "--defined-only", _core_file()], capture_output=True, text=True
    )
    if nm.returncode != 0:
        pytest.skip("nm is not installed")
    names = [line.split()[-1] for line in nm.stdout.splitlines()]
    assert names == ["PyInit__core"]


def test_versions_agree():
    from tessera import _version

    assert tessera.__version__ == tessera._core.version() == _version.__version__


def test_a_backend_of_another_version_is_left_out(tmp_path):
    package = tmp_path / "tessera_cu13"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_version.py").write_text('__version__ = "0.0.1"')
    (package / "_core.py").write_text('raise ImportError("not this one")')
    code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import tessera
print(len(caught), "tessera_cu13 0.0.1 is left out" in str(caught[0].message))
print(tessera._core_file().endswith("_core.py"))
"""
    if not list(Path(tessera.__file__).parent.glob("_core*.so")):
        pytest.skip("the extension of the CPU alone is not here")
    assert run(code).split() == ["1", "True", "False"]


def test_the_child_of_a_fork_solves():
    code = """
import os
import numpy as np
import tessera
p = tessera.problems("poisson2d:50")
assert tessera.solve(p.A, p.b).converged      # The parent has threads.
child = os.fork()
if child == 0:
    os._exit(0 if tessera.solve(p.A, p.b).converged else 1)
_, status = os.waitpid(child, 0)
assert tessera.solve(p.A, p.b).converged
print(os.waitstatus_to_exitcode(status))
"""
    assert run(code).split() == ["0"]


def test_a_pool_of_processes():
    code = """
import multiprocessing
import tessera
def work(n):
    p = tessera.problems(f"poisson2d:{n}")
    return tessera.solve(p.A, p.b).converged
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(all(pool.map(work, [10, 20, 30, 40])))
"""
    assert run(code).split() == ["True"]


def test_solves_release_the_interpreter():
    """The main thread goes on while another one solves, although the interpreter switches no
    threads by itself."""
    p = tessera.problems("poisson2d:100")
    solver = tessera.Solver(p.A, method="cg", M="none")
    b, x = p.b, np.zeros_like(p.b)
    core = tessera._core
    options = core.Options(1e-8, 0.0, 10000, np.inf, 2000, False, False, None)
    systems = core.Systems(b.size, 1, b.ctypes.data, b.size, x.ctypes.data, b.size, True)
    started, reached, seen = threading.Event(), [], []

    def work():
        started.set()
        for _ in range(1000):
            x[:] = 0
            solver._core.solve(systems, options)
            if reached:
                break
        seen.extend(reached)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        reached.append(True)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert seen == [True]


def test_two_threads_solve_at_once(arrays):
    """Both are inside a solve at the same time, and each gets its own solution."""
    a, results = spd(), {}
    matrix = tessera.matrix(arrays.csr(a))
    m = tessera.block_jacobi(arrays.csr(a))
    barrier = threading.Barrier(2, timeout=60)

    def work(seed):
        b = vector(60, seed)
        met = []

        def meet(progress):
            if not met:
                met.append(barrier.wait())

        for repeat in range(20):
            x, info = tessera.cg(
                matrix, arrays.array(b), rtol=1e-10, M=m, callback=None if repeat else meet
            )
            results[seed, repeat] = info == 0 and relative_residual(a, arrays.numpy(x), b) < 1.1e-10

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 40 and all(results.values())


def test_one_solver_in_two_threads_is_an_error():
    p = tessera.problems("poisson2d:30")
    solver = tessera.Solver(p.A, method="cg", M="jacobi")
    caught = []

    def again(progress):
        if not caught:
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()

    def attempt():
        try:
            solver.solve(p.b)
        except RuntimeError as error:
            caught.append(str(error))

    assert solver.solve(p.b, callback=again).converged
    assert "in use" in caught[0]
    m = tessera.jacobi(p.A)

    def change(progress):
        with pytest.raises(RuntimeError, match="in use"):
            m.update(p.A.data)

    assert tessera.cg(p.A, p.b, M=m, callback=change)[1] == 0


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_solves_leak_nothing():
    a, b = spd(12), vector(12)
    points = np.random.default_rng(1).random((4, 3))

    def work(count):
        for k in range(count):
            x, info = tessera.cg(a, b, M="jacobi")
            assert info == 0
            if k % 10 == 0:
                assert tessera.solve(a, b, callback=lambda p: None).converged
                tessera.cg(lambda v: a @ v, b, M=tessera.block_jacobi(a, 3))
                tessera.smoothed_aggregation_solver(a, coordinates=points).solve(b)
                with pytest.raises(ValueError):
                    tessera.cg(a, b[:3])

    work(1000)
    before = _resident()
    work(10000)
    # 10,000 leaks of one vector of 12 numbers are 1 MB, those of a matrix 5 MB.
    assert _resident() - before < 1_000_000


def test_arrays_are_released():
    import gc
    import weakref

    a = spd(12)
    data = a.data.copy()
    gone = weakref.ref(data)
    solver = tessera.Solver((a.indptr, a.indices, data))
    m = tessera.jacobi((a.indptr, a.indices, data))
    del data
    gc.collect()
    assert gone() is not None
    solver.update(a.data)
    m.update(a.data)
    gc.collect()
    assert gone() is None


def test_cycles_through_functions_are_collected():
    import gc
    import weakref

    class Simulation:
        def __init__(self):
            self.a = spd(12)
            self.solver = tessera.Solver(self.product, M=self.product)

        def product(self, v):
            return self.a @ v

    simulation = Simulation()
    simulation.solver.solve(vector(12), maxiter=3)
    simulation.solver.solve(vector(12), maxiter=3)
    gone = weakref.ref(simulation)
    del simulation
    gc.collect()
    assert gone() is None
