#!/usr/bin/env python3
"""Measures smoothed aggregation of pyamg on an elasticity matrix, beside Tessera's.

usage: pyamg_elasticity.py A.mtx NODES.mtx B.mtx --json FILE [--name NAME] [--runs R]
       pyamg_elasticity.py --cube N NODES.mtx B.mtx

The first form reads a matrix with the unknowns of a node in consecutive rows, an array with the 2
or 3 coordinates of each node in a row, and a right-hand side. It runs
pyamg.smoothed_aggregation_solver on the matrix in BSR with the rigid body modes as near-null
vectors and every other option at its default, then conjugate gradients to a relative residual of
1e-8, R times, and writes FILE of schema tessera-bench/1 with a row for each run. Reading and the
conversion to BSR do not count. pyamg uses one thread, save in BLAS.
`tessera convert elasticity3d:N A.mtx` writes the matrix of a generated problem, the second form its
nodes and load; bench/multigrid.sh runs all of it.
Needs numpy, scipy and pyamg.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy
from scipy import io


def rigid_body_modes(nodes):
    """A row for each unknown: translations, then rotations about the centre of the nodes."""
    count, d = nodes.shape
    planes = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (2, 0)]
    modes = numpy.zeros((count, d, d + len(planes)))
    for axis in range(d):
        modes[:, axis, axis] = 1
    from_centre = nodes - nodes.mean(axis=0)
    for k, (i, j) in enumerate(planes, start=d):
        modes[:, i, k] = -from_centre[:, j]
        modes[:, j, k] = from_centre[:, i]
    return modes.reshape(count * d, -1)


def write_cube(cells, nodes_file, load_file):
    """Of elasticity3d:CELLS: x from the first cell on, z numbered fastest; traction (0, -1, 0)."""
    along = numpy.arange(cells + 1) / cells
    x, y, z = numpy.meshgrid(along[1:], along, along, indexing="ij")
    ends = numpy.where((along == 0) | (along == 1), 0.5, 1) / cells
    load = numpy.zeros((*x.shape, 3))
    load[-1, :, :, 1] = -numpy.outer(ends, ends)
    io.mmwrite(nodes_file, numpy.stack([x, y, z], axis=-1).reshape(-1, 3), precision=17)
    io.mmwrite(load_file, load.reshape(-1, 1), precision=17)


def measure(matrix_file, nodes_file, right_hand_side_file, name, runs):
    import pyamg

    nodes = numpy.asarray(io.mmread(nodes_file))
    b = numpy.asarray(io.mmread(right_hand_side_file)).ravel()
    a = io.mmread(matrix_file).tocsr()
    nonzeros, d = a.nnz, nodes.shape[1]
    if a.shape[0] != nodes.size or b.size != nodes.size:
        sys.exit(f"{matrix_file} has {a.shape[0]} rows, {nodes_file} {nodes.size} unknowns")
    a = a.tobsr(blocksize=(d, d))
    modes = rigid_body_modes(nodes)
    # Rows away from supports map rigid body modes to rounding errors.
    free = numpy.isclose(abs(a @ modes).max(axis=1), 0, atol=1e-9 * abs(a.data).max()).mean()
    if free < 0.5:
        sys.exit(f"rigid body modes do not fit: A maps them to 0 in {free:.0%} of the rows only")
    rows = []
    for _ in range(runs):
        start = time.perf_counter()
        hierarchy = pyamg.smoothed_aggregation_solver(a, B=modes)
        middle = time.perf_counter()
        residuals = []
        x = hierarchy.solve(b, tol=1e-8, accel="cg", maxiter=1000, residuals=residuals)
        end = time.perf_counter()
        residual = float(numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b))
        rows.append(
            {
                "op": "solve",
                "implementation": f"pyamg {pyamg.__version__}",
                "matrix": name,
                "rows": a.shape[0],
                "nonzeros": nonzeros,
                "solver": "cg",
                "preconditioner": "smoothed_aggregation",
                "format": f"bsr:{d}",
                "rtol": 1e-8,
                "status": "converged" if residual <= 1e-8 else "not_converged",
                "iterations": len(residuals) - 1,
                "true_relative_residual": residual,
                "setup_seconds": middle - start,
                "seconds": end - middle,
                "operator_complexity": float(hierarchy.operator_complexity()),
                "levels": len(hierarchy.levels),
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def main():
    if sys.argv[1:2] == ["--cube"] and len(sys.argv) == 5:
        return write_cube(int(sys.argv[2]), *sys.argv[3:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("matrix", "nodes", "right_hand_side"):
        parser.add_argument(name)
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--name")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    files = options.matrix, options.nodes, options.right_hand_side
    rows = measure(*files, options.name or options.matrix, options.runs)
    document = {"schema": "tessera-bench/1", "bench": "solve", "device": "CPU", "rows": rows}
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
