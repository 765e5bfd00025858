"""Programs around the package: threads at the end of the interpreter, imports, signals, locales,
limits of memory, and arrays that functions of Python keep. Each runs in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


def run(code: str, *options: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("keep", ["x", "x[1:]", "x.reshape(2, -1)", "memoryview(x)"])
@pytest.mark.parametrize("role", ["A", "M"])
def test_functions_may_keep_their_vectors(keep, role):
    """Those that are kept hold what they held, also when the solver and its memory are gone."""
    code = f"""
import gc
import numpy as np, tessera
n = 400_000
d, b = np.linspace(1, 2, n), np.ones(n)
kept = []
def work(x):
    kept.append(({keep}, x.copy()))
    return d * x if {role!r} == "A" else x
a = work if {role!r} == "A" else (np.arange(n + 1), np.arange(n), d)
m = work if {role!r} == "M" else None
x, info = tessera.cg(a, b, rtol=1e-8, maxiter=10, M=m)
solver = tessera.Solver(a, method="cg", M=m)
solver.solve(b, maxiter=5)
del x, solver
gc.collect()
print(all(np.array_equal(np.ravel(one), two[-np.size(one):]) for one, two in kept), len(kept) > 10)
"""
    assert run(code).split() == ["True", "True"]


def test_vectors_that_are_not_kept_are_used_again():
    code = """
import numpy as np, tessera
seen = set()
def work(x):
    seen.add(x.ctypes.data)
    return 2 * x[::-1][::-1]
assert tessera.cg(work, np.linspace(1, 2, 1000), rtol=1e-8)[1] == 0
assert tessera.gmres(lambda x: np.linspace(1, 2, 1000) * x, np.ones(1000), M=work)[1] == 0
print(len(seen))
"""
    assert int(run(code)) <= 4


@pytest.mark.parametrize("work", [
    "tessera.solve(p.A, b, method='cg', M=None, rtol=1e-14, callback=lambda _: None)",
    "tessera.cg(lambda x: p.A @ x, b, rtol=1e-14, maxiter=10**6)",
    "m @ b",
    "tessera.problems('elasticity3d:6')",
    "tessera.Solver(p.A).solve(b)",
    "m.update(p.A.data)",
    "tessera.batched.inv(np.eye(4)[None].repeat(1000, 0))",
])  # fmt: skip
def test_a_daemon_thread_does_not_end_the_process(work):
    code = f"""
import threading, time
import numpy as np, tessera
p = tessera.problems("poisson2d:100")
b, m = np.asarray(p.b), tessera.jacobi(p.A)
rounds = []
def forever():
    while True:
        {work}
        rounds.append(1)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
print("ends")
"""
    for _ in range(2):
        assert run(code).split() == ["ends"]


def test_import_again_after_the_modules_were_dropped():
    code = """
import gc, sys
import tessera
p = tessera.problems("poisson2d:10")
solver = tessera.Solver(p.A)
error = tessera.ParseError
for name in [name for name in sys.modules if name.split(".")[0].startswith("tessera")]:
    del sys.modules[name]
del tessera
gc.collect()
import tessera
print(tessera.solve(p.A, p.b).status, solver.solve(p.b).status, tessera.ParseError is error)
"""
    assert run(code).split() == ["converged", "converged", "True"]


def test_a_subinterpreter_is_refused():
    code = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
made = interpreters.create()
interpreters.run_string(made, f'''
import sys
sys.path[:] = {sys.path!r}
try:
    import tessera
except ImportError as error:
    print(error, flush=True)
''')
"""
    assert "tessera works in the main interpreter of a process alone" in run(code)


SLOW_PIPE = """
import os, signal, sys, tempfile, threading, time
import tessera
path = os.path.join(tempfile.mkdtemp(), "f.mtx")
os.mkfifo(path)
def write():
    time.sleep(0.3)
    with open(path, "w") as f:
        f.write("%%MatrixMarket matrix coordinate real general\\n3 3 3\\n")
        f.flush()
        for i in (1, 2, 3):
            time.sleep(0.1)
            f.write(f"{i} {i} 2\\n")
            f.flush()
"""


def test_signals_do_not_end_the_reading_of_a_pipe():
    code = SLOW_PIPE + """
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.02)
threading.Thread(target=write, daemon=True).start()
a = tessera.read(path)
during = len(calls)
signal.setitimer(signal.ITIMER_REAL, 0)
print(a.nnz, during > 0)
"""
    assert run(code).split() == ["3", "True"]


@pytest.mark.parametrize("opened", [False, True])
def test_ctrl_c_ends_the_reading_of_a_pipe(opened):
    code = SLOW_PIPE + f"""
if {opened}:
    file = os.open(path, os.O_RDWR)
    os.write(file, b"%%MatrixMarket matrix")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    tessera.read(path)
except KeyboardInterrupt:
    print("interrupted")
"""
    assert run(code).split() == ["interrupted"]


def test_ctrl_c_ends_the_writing_of_a_pipe():
    code = """
import os, signal, tempfile, threading
import numpy as np, tessera
path = os.path.join(tempfile.mkdtemp(), "f.mtx")
os.mkfifo(path)
file = os.open(path, os.O_RDWR)
calls = []
def handler(*_):
    calls.append(1)
    if len(calls) > 5:
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
try:
    tessera.write(path, np.ones(100_000))
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(calls))
"""
    assert run(code).split() == ["6"]


@pytest.fixture(scope="session")
def decimal_commas(tmp_path_factory):
    """A folder of locales with one that writes decimal commas."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not installed, which makes a locale with decimal commas")
    folder = tmp_path_factory.mktemp("locales")
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")],
        capture_output=True, text=True,
    )  # fmt: skip
    if not (folder / "de_DE.UTF-8").is_dir():
        pytest.skip(f"localedef makes no locale de_DE: {made.stderr.strip()}")
    return folder


def test_texts_are_those_of_the_locale_c(decimal_commas):
    code = """
import locale, sys
import tessera
p = tessera.problems("poisson2d:12")
texts = ["amg,theta=0.125", "block_ldlt:4,epsilon=0.125,delta=0.75",
         "block_jacobi:8,precision=adaptive,accuracy=0.125", "direct,threshold=0.125",
         "chebyshev:4,bound=gershgorin,lower=ratio:20.125"]
def described():
    found = [tessera.preconditioner(p.A, text).text for text in texts]
    short = tessera.solve(p.A, p.b, method="cg", M="amg,theta=0.125", maxiter=1)
    found += [short.message, short.preconditioner]
    try:
        tessera.preconditioner(p.A, "direct,threshold=1.5")
    except ValueError as error:
        found.append(str(error))
    return found
usual = described()
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
assert described() == usual, (described(), usual)
for text in usual[:5]:
    assert tessera.preconditioner(p.A, text).text == text
print("same")
"""
    assert run(code, LOCPATH=str(decimal_commas)).split() == ["same"]


@pytest.mark.parametrize("matrix", [
    "sp.coo_array((np.ones(1), (np.zeros(1, np.int32),) * 2), shape=(2**31 - 1,) * 2)",
    "sp.csr_array((np.ones(4 * 10**7), np.tile(np.int32([1, 0]), 2 * 10**7),"
    " np.arange(0, 4 * 10**7 + 1, 2)), shape=(2 * 10**7, 2))",
])  # fmt: skip
def test_matrices_that_memory_cannot_hold(matrix):
    code = f"""
import resource
import numpy as np, scipy.sparse as sp, tessera
a = {matrix}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9))
try:
    tessera.matrix(a)
except MemoryError as error:
    print(error)
"""
    found = run(code)
    assert "needs about" in found and "GB of host memory, but" in found


def test_without_docstrings_and_assertions():
    code = """
import tessera
from tessera import batched
p = tessera.problems("poisson2d:20")
print(tessera.cg(p.A, p.b)[1], tessera.solve(p.A, p.b).status, batched.inv.__doc__)
"""
    assert run(code, "-OO").split() == ["0", "converged", "None"]
