#!/usr/bin/env python3
"""Solves 228 graphs and matrices that are no meshes by what auto chooses, by four words, by SciPy.

usage: graph_bars.py --run FILE [--device cpu|cuda] [--threads N] [--seconds N] [--jobs N]
                     [--program FILE] [NAME...]
       graph_bars.py FILE...

--run measures the systems, or those whose names begin with a NAME, and writes FILE. Each solve runs
in a process of its own, which is ended after N seconds (20; SciPy 3); its memory is what the process gains
at its peak, on a GPU what the library reports. Times are those of tessera.solve, or of SciPy's
spsolve, from a matrix in host memory. It needs numpy, scipy and the Python module of Tessera;
with --program FILE, the command line program tessera, not the module: times are its setup and solve
then. N jobs share the device.

Without --run, FILEs are compared with the limits: auto takes at most 3 times the best of its words
and 0.1 s on 95 % of the systems, 10 times and 0.1 s on all, and at most 12 times the memory of the
matrix (of 10 MB, where that has less).
"""
import argparse
import concurrent.futures
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

WORDS = {
    "auto": {},
    "cg jacobi": {"method": "cg", "M": "jacobi,singular=identity"},
    "bicgstab": {"method": "bicgstab", "M": "block_jacobi:8,singular=identity"},
    "cg amg": {"method": "cg", "M": "amg"},
    "sqmr block_ldlt": {"method": "sqmr", "M": "block_ldlt"},
}
SIZES = (10_000, 30_000, 100_000, 300_000)


def laplacian(n, i, j, weights=None, shift=1e-3):
    """Of a graph with the edges (i, j), plus shift times the identity."""
    i, j = np.asarray(i), np.asarray(j)
    w = np.ones(len(i)) if weights is None else weights
    keep = i != j
    a = sp.coo_array((w[keep], (i[keep], j[keep])), shape=(n, n)).tocsr()
    a = a + a.T
    return sp.diags_array(np.asarray(a.sum(1)).ravel() + shift) - a


def preferential(r, n, m):
    """Barabasi and Albert: each node joins m earlier ones, drawn by their degrees."""
    ends = np.empty(2 * m * n, dtype=np.int64)
    ends[:2] = 0, 1
    filled, i, j = 2, [0], [1]
    draws = r.random((n, m))
    for node in range(2, n):
        for k in range(m):
            other = ends[int(draws[node, k] * filled)]
            i.append(node)
            j.append(other)
        for k in range(m):
            ends[filled], ends[filled + 1] = node, j[len(j) - m + k]
            filled += 2
    return np.array(i), np.array(j)


def rmat(r, n, edges):
    """Recursive: each bit of both ends is drawn with the chances 0.57, 0.19, 0.19, 0.05."""
    bits = int(np.ceil(np.log2(n)))
    i = np.zeros(edges, dtype=np.int64)
    j = i.copy()
    for _ in range(bits):
        quarter = np.searchsorted([0.57, 0.76, 0.95], r.random(edges))
        i, j = 2 * i + quarter // 2, 2 * j + quarter % 2
    return i % n, j % n


def grid(n):
    side = int(np.sqrt(n))
    g = np.arange(side * side).reshape(side, side)
    i = np.concatenate([g[:, :-1].ravel(), g[:-1].ravel()])
    j = np.concatenate([g[:, 1:].ravel(), g[1:].ravel()])
    return side * side, i, j


def families(r):
    """Name and maker of each kind: make(n) gives a matrix of about n rows."""
    def edges(make):
        return lambda n: laplacian(n, *make(n))

    def powers(m):
        return edges(lambda n: preferential(r, n, m))

    def regular(degree):
        def make(n):
            ends = [r.permutation(n) for _ in range(degree // 2)]
            return np.tile(np.arange(n), degree // 2), np.concatenate(ends)
        return edges(make)

    def small_world(degree, rewired):
        def make(n):
            i = np.repeat(np.arange(n), degree // 2)
            j = (i + np.tile(np.arange(1, degree // 2 + 1), n)) % n
            far = r.random(len(j)) < rewired
            j[far] = r.integers(0, n, far.sum())
            return i, j
        return edges(make)

    def star(hubs):
        def make(n):
            path = np.arange(n - 1)
            spokes = [np.arange(h, n, h + 1) for h in range(hubs)]
            i = np.concatenate([path] + [np.full(len(s), h) for h, s in enumerate(spokes)])
            return i, np.concatenate([path + 1] + spokes)
        return edges(make)

    def arrow(width):
        def make(n):
            a = sp.lil_array((n, n))
            a[:width, :] = r.standard_normal((width, n))
            a = sp.csr_array(a + a.T + sp.diags_array(np.full(n, 4.0 * width)))
            return a + sp.diags_array(np.r_[np.full(width, 4.0 * n), np.zeros(n - width)])
        return make

    def banded(dense):
        def make(n):
            a = sp.diags_array([-np.ones(n - k) for k in (1, 2)], offsets=[1, 2], shape=(n, n))
            rows = np.repeat(r.integers(0, n, dense), n // 4)
            w = sp.coo_array((-r.random(len(rows)), (rows, r.integers(0, n, len(rows)))), shape=(n, n))
            a = sp.csr_array(a + w)
            a = a + a.T
            return sp.csr_array(sp.diags_array(np.asarray(abs(a).sum(1)).ravel() + 0.01) + a)
        return make

    def cliques(size):
        def make(n):
            k = np.arange(n // size)
            u, v = np.triu_indices(size, 1)
            i = (size * k[:, None] + u).ravel()
            j = (size * k[:, None] + v).ravel()
            return np.r_[i, size * k[:-1]], np.r_[j, size * k[1:] + 1]
        return edges(make)

    def hypercube(n):
        bits = int(np.log2(n))
        i = np.arange(2**bits)
        return laplacian(2**bits, np.tile(i, bits), np.concatenate([i ^ (1 << b) for b in range(bits)]))

    def tree(kind):
        def make(n):
            k = np.arange(1, n)
            parents = {"random": (r.random(n - 1) * k).astype(np.int64), "binary": (k - 1) // 2,
                       "caterpillar": np.where(k % 3 == 0, k - 3, k - k % 3)}
            return k, parents[kind]
        return edges(make)

    def rectangular(n, per_row):
        m = 3 * n
        return sp.coo_array((r.standard_normal(m * per_row),
                             (np.repeat(np.arange(m), per_row), r.integers(0, n, m * per_row))),
                            shape=(m, n)).tocsr()

    def normal(n):
        b = rectangular(n, 3).tocsc()
        unused = r.integers(0, n, 5)
        b = b @ sp.diags_array(np.where(np.isin(np.arange(n), unused), 0.0, 1.0))
        a = sp.csr_array(b.T @ b)
        a.eliminate_zeros()
        return a

    def augmented(n):
        b = rectangular(n // 4, 3)
        return sp.block_array([[sp.eye_array(b.shape[0]), b], [b.T, None]])

    def circuit(n):
        n, i, j = grid(n)
        far = r.integers(0, n, (2, n // 20))
        i, j = np.r_[i, far[0]], np.r_[j, far[1]]
        a = sp.csr_array(laplacian(n, i, j, 10.0 ** r.uniform(-3, 1, len(i)), 1e-6))
        gains = sp.coo_array((r.uniform(0, 0.5, n // 10), r.integers(0, n, (2, n // 10))), shape=(n, n))
        return a + sp.csr_array(gains)

    def hub(share):
        def make(n):
            n, i, j = grid(n)
            spokes = np.flatnonzero(r.random(n) < share)
            return laplacian(n, np.r_[i, np.zeros(len(spokes), int)], np.r_[j, spokes])
        return make

    def erdos(degree):
        return edges(lambda n: (r.integers(0, n, n * degree // 2), r.integers(0, n, n * degree // 2)))

    return {
        "power law 1": powers(1), "power law 2": powers(2), "power law 4": powers(4),
        "rmat 4": edges(lambda n: rmat(r, n, 2 * n)), "rmat 16": edges(lambda n: rmat(r, n, 8 * n)),
        "expander 4": regular(4), "expander 6": regular(6), "expander 10": regular(10),
        "erdos 3": erdos(3), "erdos 4": erdos(4), "erdos 8": erdos(8),
        "small world 4, 5 %": small_world(4, 0.05), "small world 8, 5 %": small_world(8, 0.05),
        "small world 6, 30 %": small_world(6, 0.3),
        "star 1": star(1), "star 20": star(20), "arrow 1": arrow(1), "arrow 5": arrow(5),
        "banded, 1 dense row": banded(1), "banded, 20 dense rows": banded(20),
        "cliques 10": cliques(10), "cliques 50": cliques(50), "hypercube": hypercube,
        "tree, random": tree("random"), "tree, binary": tree("binary"),
        "tree, caterpillar": tree("caterpillar"), "normal equations": normal,
        "augmented": augmented, "circuit": circuit, "grid with a hub": hub(0.3),
        "grid with a small hub": hub(0.003),
        "diagonal": lambda n: sp.diags_array(10.0 ** r.uniform(-4, 4, n)),
    }


def systems():
    """(name, maker) of all, smaller and larger; makers draw the same numbers in every run."""
    names = list(families(np.random.default_rng(0)))
    for seed in range(2):
        for n in SIZES:
            for name in names if seed == 0 else names[:25]:
                def make(name=name, n=n, seed=seed):
                    a = sp.csr_array(families(np.random.default_rng(seed))[name](n))
                    a.sort_indices()
                    return a
                yield f"{name}, {n:,} rows" + (", another" if seed else ""), make


def peak_memory():
    lines = open("/proc/self/status").read().split("\n")
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def solve_in_child(a, b, word, arguments):
    """A dictionary of what one solve does, from a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(int(arguments.seconds * (0.1 if word == "spsolve" else 1.25)) + 1)
        resource.setrlimit(resource.RLIMIT_AS, (64 << 30 if arguments.device == "cuda" else 9 << 30,) * 2)
        row = {}
        try:
            if word == "spsolve":
                import scipy.sparse.linalg as sl
                columns = a.tocsc()
                start = time.perf_counter()
                x = sl.spsolve(columns, b)
                row = {"status": "converged", "seconds": time.perf_counter() - start}
            else:
                import tessera
                keywords = dict(WORDS[word], max_seconds=arguments.seconds,
                                device=arguments.device, threads=arguments.threads)
                tessera.solve(sp.eye_array(64).tocsr(), np.ones(64), **keywords)
                open("/proc/self/clear_refs", "w").write("5")
                before = peak_memory()
                start = time.perf_counter()
                result = tessera.solve(a, b, **keywords)
                row = {"status": result.status, "seconds": time.perf_counter() - start,
                       "solver": result.solver, "preconditioner": result.preconditioner}
                on_host = arguments.device == "cpu"
                row["memory"] = peak_memory() - before if on_host else result.memory
                x = result.x
            residual = np.linalg.norm(b - a @ x) / np.linalg.norm(b)
            row["residual"] = float(residual) if np.isfinite(residual) else None
        except (MemoryError, ValueError, RuntimeError) as error:
            row = {"status": type(error).__name__, "message": str(error)[:200]}
        os.write(writer, json.dumps(row).encode())
        os._exit(0)
    os.close(writer)
    text = b""
    while part := os.read(reader, 65536):
        text += part
    os.close(reader)
    os.waitpid(child, 0)
    return json.loads(text) if text else {"status": "ended"}


def solve_by_program(file, word, arguments):
    """A dictionary of what one solve of the command line program does."""
    command = [arguments.program, "solve", file, "--device", arguments.device, "--threads",
               str(arguments.threads), "--max-seconds", str(arguments.seconds), "--quiet", "--json", "-"]
    if "method" in WORDS[word]:
        command += ["--solver", WORDS[word]["method"], "--precond", WORDS[word]["M"]]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=1.25 * arguments.seconds + 9)
    except subprocess.TimeoutExpired:
        return {"status": "ended"}
    if not run.stdout:
        return {"status": f"exit {run.returncode}", "message": run.stderr.strip()[:200]}
    report = json.loads(run.stdout)
    return {"status": report["status"],
            "seconds": report["seconds"]["setup"] + report["seconds"]["solve"],
            "solver": report["solver"], "preconditioner": report["preconditioner"],
            "memory": report["peak_memory_bytes"], "residual": report["true_relative_residual"]}


def write_petsc(file, a, b):
    """The matrix and the right-hand side in PETSc's binary format."""
    file.write(np.array([1211216, *a.shape, a.nnz], ">i4").tobytes())
    file.write(np.diff(a.indptr).astype(">i4").tobytes() + a.indices.astype(">i4").tobytes())
    file.write(a.data.astype(">f8").tobytes())
    file.write(np.array([1211214, len(b)], ">i4").tobytes() + b.astype(">f8").tobytes())
    file.flush()


def measure(name, make, arguments):
    a = make()
    b = a @ np.random.default_rng(7).standard_normal(a.shape[0])
    bytes_of_a = 12 * a.nnz + 8 * (a.shape[0] + 1)
    row = {"system": name, "rows": a.shape[0], "nonzeros": int(a.nnz), "bytes": bytes_of_a}
    if arguments.program:
        with tempfile.NamedTemporaryFile(suffix=".petsc") as file:
            write_petsc(file, a, b)
            for word in WORDS:
                row[word] = solve_by_program(file.name, word, arguments)
    else:
        for word in WORDS:
            row[word] = solve_in_child(a, b, word, arguments)
    row["spsolve"] = solve_in_child(a, b, "spsolve", arguments)
    return row


def seconds(row, word):
    """Time of a solve that ended with a solution; infinite for others."""
    solved = row[word]["status"] in ("converged", "rounding_limit", "least_squares")
    return row[word].get("seconds", np.inf) if solved else np.inf


def judge(path):
    rows = json.load(open(path))["systems"]
    best = [min(seconds(row, word) for word in WORDS) for row in rows]
    auto = [seconds(row, "auto") for row in rows]
    within = {factor: [t <= factor * s + 0.1 or s == np.inf for t, s in zip(auto, best)]
              for factor in (3, 10)}
    memory = [row["auto"].get("memory", 0) / max(row["bytes"], 1e7) for row in rows]
    print(f"{path}: {len(rows)} systems, {sum(t < np.inf for t in auto)} solved by auto; within 3 times "
          f"the best + 0.1 s: {sum(within[3])}, 10 times: {sum(within[10])}; "
          f"memory up to {max(memory):.1f} times the matrix")
    for row, t, s, good, m in zip(rows, auto, best, within[3], memory):
        if good and m <= 12 and t < np.inf:
            continue
        others = ", ".join(f"{word} {seconds(row, word):.2f}" for word in [*WORDS, "spsolve"][1:])
        print(f"  {row['system']}: auto {row['auto']['status']} {t:.2f} s, memory {m:.1f}; {others} "
              f"({row['auto'].get('solver')}, {row['auto'].get('preconditioner')})")
    return sum(within[3]) >= 0.95 * len(rows) and all(within[10]) and max(memory) <= 12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", metavar="FILE")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--program")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.run is None:
        sys.exit(0 if all([judge(path) for path in arguments.names]) else 1)
    rows = []
    wanted = [(name, make) for name, make in systems()
              if not arguments.names or any(name.startswith(start) for start in arguments.names)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda system: measure(*system, arguments), wanted):
            rows.append(row)
            print(row["system"], *(f"{word} {row[word]['status']} {row[word].get('seconds', 0):.2f};"
                                   for word in [*WORDS, "spsolve"]), flush=True)
            with open(arguments.run, "w") as file:
                json.dump({"device": arguments.device, "threads": arguments.threads, "systems": rows},
                          file)
    sys.exit(0 if judge(arguments.run) else 1)


if __name__ == "__main__":
    main()
