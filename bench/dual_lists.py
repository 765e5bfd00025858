#!/usr/bin/env python3
"""Measures what separate block lists of L and U are worth in an incomplete LU.

usage: dual_lists.py FILE [--matrices FOLDER] [--max-rows N] [--only NAME]...

For every square real matrix (NAME.mtx.gz) of FOLDER (default: $TESSERA_TEST_MATRICES) with at most N
rows (default: 3000) whose values are not symmetric, and blocks of 1 and of 4 rows, an incomplete LU
without fill is computed twice: on the blocks of A (dual lists: L and U have patterns of their own),
and on those of A and A^T (one list for both, as `ilu` of Tessera has). Rows and columns are divided
by their largest entries, and stay in their order; singular values of a diagonal block below 1e-8 of
its largest are raised to that. A x = b, b = ones, is then solved by gmres:50 of the Python package
to ||b - A x|| <= 1e-8 ||b||, in at most 500 iterations. FILE of schema tessera-bench/1 gets one row
for each matrix, size of blocks and pattern, with the blocks of both triangles.
"""
import argparse
import json
import os
import pathlib
import sys

import numpy as np
import scipy.sparse as sp

import tessera

BLOCKS = (1, 4)


def scaled(a):
    """Rows, then columns, divided by their largest entries."""
    for axis in (1, 0):
        largest = np.asarray(abs(a).max(axis=axis).todense()).ravel()
        scale = sp.diags_array(1 / np.where(largest > 0, largest, 1))
        a = scale @ a if axis else a @ scale
    return sp.csr_array(a)


def block_rows(a, k, both):
    """For each block row a dict {block column: block}; `both`: also of the blocks of A^T."""
    count = -(-a.shape[0] // k)
    padded = sp.block_diag([a, sp.eye_array(count * k - a.shape[0])], format="csr")
    bsr = sp.bsr_array(padded, blocksize=(k, k))
    bsr.sum_duplicates()
    rows = [{i: np.zeros((k, k))} for i in range(count)]
    for i in range(count):
        for e in range(bsr.indptr[i], bsr.indptr[i + 1]):
            j = int(bsr.indices[e])
            rows[i][j] = bsr.data[e].copy()
    if both:
        for i in range(count):
            for j in list(rows[i]):
                rows[j].setdefault(i, np.zeros((k, k)))
    return rows


def inverse(d):
    """Of a diagonal block whose small singular values are raised, and this block."""
    u, s, v = np.linalg.svd(d)
    s = np.maximum(s, 1e-8 * s[0] if s[0] > 0 else 1e-8)
    return (v.T / s) @ u.T, (u * s) @ v


def factor(rows):
    """Incomplete LU in place: L with unit diagonal below the diagonal, U on and above it."""
    inverses = []
    for i, row in enumerate(rows):
        for k in sorted(j for j in row if j < i):
            row[k] = row[k] @ inverses[k]
            for j, block in rows[k].items():
                if j > k and j in row:
                    row[j] -= row[k] @ block
        found, row[i] = inverse(row[i])
        inverses.append(found)


def triangle(rows, k, lower):
    blocks = {(i, j): block for i, row in enumerate(rows) for j, block in row.items()
              if (j < i if lower else j >= i)}
    if lower:
        blocks |= {(i, i): np.eye(k) for i in range(len(rows))}
    keys = sorted(blocks)
    data = np.array([blocks[key] for key in keys])
    columns = np.array([j for _, j in keys])
    offsets = np.searchsorted([i for i, _ in keys], np.arange(len(rows) + 1))
    return sp.bsr_array((data, columns, offsets), shape=(len(rows) * k,) * 2)


def measure(a, k, both):
    rows = block_rows(a, k, both)
    blocks = sum(len(row) for row in rows)
    n = a.shape[0]
    try:
        factor(rows)
        lower = tessera.block_triangular_solve(triangle(rows, k, True), k, unit_diagonal=True)
        upper = tessera.block_triangular_solve(triangle(rows, k, False), k, lower=False)
    except (ValueError, np.linalg.LinAlgError) as error:  # Numbers overflow.
        return {"blocks": blocks, "status": "refused", "message": str(error)[:100]}

    def apply(r):
        padded = np.zeros(len(rows) * k)
        padded[:n] = r
        return (upper @ (lower @ padded))[:n]

    result = tessera.solve(a, np.ones(n), "gmres:50", apply, rtol=1e-8, maxiter=500, device="cpu",
                           threads=1)
    residual = np.linalg.norm(1 - a @ result.x) / np.sqrt(n)
    return {"blocks": blocks, "status": result.status, "iterations": result.iterations,
            "true_relative_residual": residual if np.isfinite(residual) else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--matrices", default=os.environ.get("TESSERA_TEST_MATRICES", ""))
    parser.add_argument("--max-rows", type=int, default=3000)
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.matrices)
    if not arguments.matrices or not folder.is_dir():
        sys.exit("name the folder of real matrices by --matrices or TESSERA_TEST_MATRICES")
    rows = []
    np.seterr(all="ignore")
    for path in sorted(folder.glob("*.mtx.gz")):
        name = path.name.removesuffix(".mtx.gz")
        if arguments.only and name not in arguments.only:
            continue
        try:
            a = sp.csr_array(tessera.read(path))
        except (ValueError, RuntimeError):
            continue
        if a.shape[0] != a.shape[1] or a.shape[0] > arguments.max_rows or (a != a.T).nnz == 0:
            continue
        a = scaled(a)
        for k in BLOCKS:
            for both in (False, True):
                row = {"op": "solve", "matrix": name, "rows": a.shape[0], "nonzeros": a.nnz,
                       "block": k, "lists": "one" if both else "dual"}
                rows.append(row | measure(a, k, both))
        print(name, [row.get("iterations") for row in rows[-4:]], file=sys.stderr, flush=True)
        document = {"schema": "tessera-bench/1", "bench": "dual_lists",
                    "version": tessera.__version__, "max_rows": arguments.max_rows,
                    "max_iterations": 500}
        text = ",\n".join(json.dumps(row) for row in rows)
        pathlib.Path(arguments.file).write_text(
            f'{json.dumps(document)[:-1]}, "rows": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
