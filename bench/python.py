"""Times the Python package: overheads of its calls, solves and inverses against other libraries.

    python3 bench/python.py [--json FILE] [--only NAME]

What is not installed is left out by name. Times are medians, in seconds; on a GPU all work is
waited for. The overhead of a call is its time less that of the same call of the extension with
everything prepared, which is that of C++ and a microsecond.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import threading
import time
from typing import Any

import numpy as np

import tessera
from tessera import _contexts, batched
from tessera._arrays import view
from tessera._backend import core

RESULTS: dict[str, Any] = {}
View = Any


def library(name: str) -> Any:
    """A library, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def note(name: str, value: Any, text: str) -> None:
    RESULTS[name] = value
    print(f"{name:<44} {text}", flush=True)


def median(run: Any, wait: Any = None, repeats: int = 20) -> float:
    """Seconds of one call; the first ones warm up."""
    return medians([run], wait, repeats)[0]


def medians(runs: list[Any], wait: Any = None, repeats: int = 20) -> list[float]:
    """Seconds of one call of each; they take turns, so that what else the machine does and its
    clocks are alike for all."""
    times: list[list[float]] = [[] for _ in runs]
    first = min(3, repeats)
    for k in range(repeats + first):
        for run, samples in zip(runs, times, strict=True):
            if wait:
                wait()
            start = time.perf_counter()
            run()
            if wait:
                wait()
            if k >= first:
                samples.append(time.perf_counter() - start)
    return [statistics.median(samples) for samples in times]


def enqueue_time(run: Any, wait: Any, calls: int = 200) -> float:
    """Seconds that a call takes on the host, its work not waited for."""
    samples = []
    for _ in range(10):
        if wait:
            wait()
        start = time.perf_counter()
        for _ in range(calls):
            run()
        samples.append((time.perf_counter() - start) / calls)
        if wait:
            wait()
    return min(samples)


def places() -> list[tuple[str, Any, Any]]:
    """(name, array of NumPy -> array there, wait)."""
    found: list[tuple[str, Any, Any]] = [("numpy", lambda a: a, None)]
    if not tessera.devices():
        return found
    cupy, torch = library("cupy"), library("torch")
    if cupy is not None:
        found.append(("cupy", cupy.asarray, cupy.cuda.Device().synchronize))
    if torch is not None and torch.cuda.is_available():
        found.append(("torch", lambda a: torch.from_numpy(a).cuda(), torch.cuda.synchronize))
    return found


def overhead_of_inv() -> None:
    for name, place, wait in places():
        a = place(np.random.default_rng(1).standard_normal((100, 4, 4)).astype(np.float32))
        out = place(np.zeros((100, 4, 4), np.float32))
        found, target = view(a, "a"), view(out, "out")
        context = _contexts.call_context(found.kind, found.device)
        batch = core.Batch(100, 4, 0, 0, True)

        def direct(c: Any = context, b: Any = batch, f: View = found, t: View = target) -> None:
            core.invert(c, b, 4, f.pointer, t.pointer, 0)

        base = enqueue_time(direct, wait)
        plain = enqueue_time(lambda a=a: batched.inv(a), wait)
        with_out = enqueue_time(lambda a=a, out=out: batched.inv(a, out=out), wait)
        note(
            f"overhead of batched.inv, {name}",
            {"direct": base, "inv": plain, "inv_out": with_out},
            f"{1e6 * (plain - base):.1f} us, with out= {1e6 * (with_out - base):.1f} us "
            f"(the call of the extension {1e6 * base:.1f} us)",
        )


def overhead_of_cg() -> None:
    problem = tessera.problems("poisson2d:30")
    for name, place, wait in places():
        given = (place(problem.A.indptr), place(problem.A.indices), place(problem.A.data))
        a, b = tessera.matrix(given), place(problem.b)
        m = tessera.jacobi(given)
        x = place(np.zeros_like(problem.b))
        found, out = view(b, "b"), view(x, "x")
        context = _contexts.call_context(found.kind, found.device)
        options = core.Options(1e-5, 0.0, 10 * len(problem.b), np.inf, 2000, False, True, None)
        prepared = (context, "cg", a._map, m._map, found.pointer, 0, out.pointer, options)
        base, full, raw = medians(
            [
                lambda prepared=prepared: core.solve_once(*prepared),
                lambda a=a, b=b, m=m: tessera.cg(a, b, M=m),
                lambda g=given, b=b, m=m: tessera.cg(g, b, M=m),
            ],
            wait,
            200,
        )
        note(
            f"overhead of cg, {name}",
            {"direct": base, "cg": full, "cg_of_arrays": raw},
            f"{1e6 * (full - base):.1f} us of {1e6 * full:.0f} us; with a matrix that is looked at "
            f"in each call {1e6 * (raw - base):.0f} us",
        )


def peak_of_inv(a: Any) -> int:
    """Most bytes that a call of batched.inv takes, in a thread of its own."""
    found, peaks = view(a, "a"), []

    def work() -> None:
        batched.inv(a)
        peaks.append(_contexts.call_context(found.kind, found.device).peak_memory_bytes)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return int(peaks[0])


def inverses() -> None:
    """1,000,000 matrices of 4 rows in FP32 on a GPU, 10,000 on the CPU."""
    for name, place, wait in places():
        count = 10000 if name == "numpy" else 1000000
        rng = np.random.default_rng(1)
        host = (rng.standard_normal((count, 4, 4)) + 4 * np.eye(4)).astype(np.float32)
        a = place(host)
        module = importlib.import_module(name)
        ours = median(lambda a=a: batched.inv(a), wait)
        theirs = median(lambda a=a, m=module: m.linalg.inv(a), wait, 10)
        note(
            f"{count} inverses of 4 rows, {name}",
            {"tessera": ours, "linalg.inv": theirs},
            f"{1e3 * ours:.3f} ms, {name}.linalg.inv {1e3 * theirs:.3f} ms: "
            f"{theirs / ours:.1f} times",
        )
        peak = peak_of_inv(a)
        note(f"memory beside the result, {name}", peak, f"{peak} bytes")


def dense_solves() -> None:
    """Systems with one right-hand side in FP64, general and positive definite: about 0.25 GB on a
    GPU, 2 MB on the CPU."""
    for name, place, wait in places():
        module = importlib.import_module(name)
        for n in (8, 16, 32, 64, 128):
            count = int((2e6 if name == "numpy" else 2.5e8) / (8 * n * (n + 2)))
            rng = np.random.default_rng(1)
            a = place(rng.standard_normal((count, n, n)))
            b = place(rng.standard_normal((count, n, 1)))
            definite = a @ a.swapaxes(1, 2) / n + place(np.eye(n))
            found = {
                "tessera": median(lambda a=a, b=b: batched.solve(a, b), wait),
                "linalg.solve": median(lambda a=a, b=b, m=module: m.linalg.solve(a, b), wait, 5),
                "tessera_definite": median(
                    lambda a=definite, b=b: batched.solve(a, b, assume_a="pos"), wait
                ),
            }
            if name == "torch":
                found["cholesky_solve"] = median(
                    lambda a=definite, b=b, m=module: m.cholesky_solve(b, m.linalg.cholesky(a)),
                    wait,
                    5,
                )
            note(
                f"{count} solves of {n} equations, {name}",
                found,
                ", ".join(f"{which} {1e3 * seconds:.3f} ms" for which, seconds in found.items()),
            )


def elastic_solves(size: int = 90) -> None:
    """elasticity3d:90 as CuPy CSR, setup included, to 1e-8."""
    cupy = library("cupy")
    if cupy is None or not tessera.devices():
        print("elasticity3d on a GPU is left out: CuPy or a GPU is missing")
        return
    sparse = importlib.import_module("cupyx.scipy.sparse")
    linalg = importlib.import_module("cupyx.scipy.sparse.linalg")
    problem = tessera.problems(f"elasticity3d:{size}")
    scipy_sparse = importlib.import_module("scipy.sparse")
    a, b = sparse.csr_matrix(scipy_sparse.csr_matrix(problem.A)), cupy.asarray(problem.b)
    wait = cupy.cuda.Device().synchronize

    def theirs() -> Any:
        inverse = 1 / a.diagonal()
        m = linalg.LinearOperator(a.shape, matvec=lambda r: inverse * r, dtype=a.dtype)
        try:
            return linalg.cg(a, b, rtol=1e-8, maxiter=10000, M=m)
        except TypeError:  # CuPy before 14
            return linalg.cg(a, b, tol=1e-8, maxiter=10000, M=m)

    base = median(theirs, wait, 3)
    residual = float(cupy.linalg.norm(b - a @ theirs()[0]) / cupy.linalg.norm(b))
    for label, points in (("with", problem.coordinates), ("without", None)):
        result = tessera.solve(a, b, coordinates=points)
        ours = median(lambda p=points: tessera.solve(a, b, coordinates=p), wait, 5)
        note(
            f"elasticity3d:{size}, {label} coordinates",
            {"tessera": ours, "cupy": base, "chosen": result.preconditioner},
            f"{ours:.3f} s ({result.preconditioner}, {result.true_residual:.1e}), CuPy's cg with "
            f"the diagonal {base:.3f} s ({residual:.1e}): {base / ours:.1f} times",
        )


def cpu_solves() -> None:
    """Cubes of some 100,000 unknowns of scikit-fem on two threads, setup included, to 1e-8."""
    try:
        cubes = importlib.import_module("scikit_fem_cubes")
    except ImportError as error:
        print(f"the CPU solves are left out: {error.name} is missing")
        return
    for name in cubes.CUBES:
        row = cubes.race(name)
        ways = row["ways"]
        note(name, row, f"{row['rows']:,} unknowns, {row['nonzeros']:,} nonzeros")
        for way, one in ways.items():
            print(
                f"  {way:<22} {one['seconds']:7.3f} s ({one['fastest']:.3f} to "
                f"{one['slowest']:.3f}), {one['iterations']} iterations, "
                f"{one['true_relative_residual']:.1e} {one.get('preconditioner', '')}",
                flush=True,
            )


def from_host() -> None:
    """A matrix of SciPy that a GPU solves: the setup, and new values."""
    if not tessera.devices():
        return
    name = "elasticity3d:60"
    problem = tessera.problems(name)
    a = problem.A.tocsr()

    def setup() -> Any:
        return tessera.Solver(a, M="amg", device="cuda", coordinates=problem.coordinates)

    kept = setup()
    first, update = medians([setup, lambda: kept.update(a.data)], None, 7)
    note(
        f"{name} of SciPy on a GPU",
        {"setup": first, "update": update, "bytes": a.data.nbytes + a.indices.nbytes},
        f"setup with amg {1e3 * first:.0f} ms, new values {1e3 * update:.0f} ms",
    )


PARTS = {
    "inv": overhead_of_inv,
    "cg": overhead_of_cg,
    "inverses": inverses,
    "dense": dense_solves,
    "elastic": elastic_solves,
    "host": from_host,
    "cpu": cpu_solves,
}


LIBRARIES = ("numpy", "scipy", "cupy", "torch", "skfem", "pyamg")


def device() -> str:
    """The GPU, or what the CPU backend uses."""
    problem = tessera.problems("poisson2d:5")
    return (tessera.devices() or [tessera.solve(problem.A, problem.b, threads=2).device])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="writes the numbers to this file")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be repeated")
    arguments = parser.parse_args()
    print(f"tessera {tessera.__version__}, {tessera.devices() or 'no GPU'}")
    for name, part in PARTS.items():
        if arguments.only is None or name in arguments.only:
            part()
    if arguments.json:
        found = {name: library(name) for name in LIBRARIES}
        head = {
            "schema": "tessera-python/1",
            "version": tessera.__version__,
            "device": device(),
            "versions": {name: each.__version__ for name, each in found.items() if each},
        }
        with open(arguments.json, "w") as file:
            json.dump({**head, "results": RESULTS}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
