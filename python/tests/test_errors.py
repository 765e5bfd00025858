"""Wrong arguments are exceptions that name the argument."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import spd, vector
from scipy.sparse.linalg import aslinearoperator

import tessera
from tessera import batched

A = spd(12)
B = vector(12)
WIDE = sp.csr_matrix(np.ones((3, 4)))
EYE = np.eye(3)[None]
POINTS = np.zeros((4, 3))


def csr(**changed):
    parts = {"indptr": A.indptr, "indices": A.indices, "data": A.data} | changed
    return parts["indptr"], parts["indices"], parts["data"]


def with_entry(array, position, value):
    result = np.array(array)
    result[position] = value
    return result


class Shaped:
    """A LinearOperator of a shape."""

    def __init__(self, *shape):
        self.shape = shape

    def matvec(self, x):
        return x


def solver():
    return tessera.Solver(A)


def multigrid():
    return tessera.smoothed_aggregation_solver(A)


def typed(dtype):
    """A LinearOperator with a dtype, which need not be one of NumPy."""
    operator = Shaped(12, 12)
    operator.dtype = dtype
    return operator


CASES = [
    # The matrix.
    (lambda: tessera.cg(None, B), TypeError, "A: expected"),
    (lambda: tessera.cg("A", B), TypeError, "A: expected"),
    (lambda: tessera.cg(3.0, B), TypeError, "A: expected"),
    (lambda: tessera.cg(A * 1j, B), TypeError, "A: complex"),
    (lambda: tessera.cg(A.tocoo() * 1j, B), TypeError, "A: complex"),
    (lambda: tessera.cg(aslinearoperator(A * 1j), B), TypeError, "A: complex"),
    (lambda: tessera.solve(aslinearoperator(A * 1j), B), TypeError, "A: complex"),
    (lambda: tessera.Solver(typed(np.complex128)), TypeError, "A: complex"),
    (lambda: tessera.cg(typed(np.complex64), B), TypeError, "A: complex"),
    (lambda: tessera.cg(A, B, M=aslinearoperator(A * 1j)), TypeError, "M: complex"),
    (lambda: tessera.cg(A, B, M=typed(complex)), TypeError, "M: complex"),
    (lambda: tessera.cg(A, B, M=A * 1j), TypeError, "M: complex"),
    (lambda: tessera.cg(typed("words"), B), TypeError, "A: the dtype 'words' is no type"),
    (lambda: tessera.cg(A, B * 1j), TypeError, "b: complex"),
    (lambda: tessera.solve(A, B, x0=B * 1j), TypeError, "x0: complex"),
    (lambda: tessera.cg(lambda x: x * 1j, B), TypeError, "A: complex"),
    (lambda: tessera.cg(csr(data=A.data * 1j), B), TypeError, "A: data: complex"),
    (lambda: tessera.cg(csr(data=A.data.astype(np.float16)), B), TypeError, "A: data: values of"),
    (lambda: tessera.cg(csr(data=A.data.astype(np.longdouble)), B), TypeError, "A: data: values"),
    (lambda: tessera.cg(csr(data=A.data.astype(object)), B), TypeError, "A: data"),
    (lambda: tessera.cg(WIDE, B), ValueError, "A: a square matrix"),
    (lambda: tessera.cg(A[:5], B), ValueError, "A: a square matrix"),
    (lambda: tessera.cg((A.indptr, A.indices), B), ValueError, r"A: expected \(indptr"),
    (lambda: tessera.cg((*csr(), 1), B), ValueError, r"A: expected \(indptr"),
    (lambda: tessera.cg(csr(indptr=A.indptr * 1.0), B), TypeError, "A: indptr: expected 32"),
    (lambda: tessera.cg(csr(indices=A.indices * 1.0), B), TypeError, "A: indices: expected 32"),
    (lambda: tessera.cg(csr(indptr=None), B), TypeError, "A: indptr: expected an array"),
    (lambda: tessera.cg(csr(indices=None), B), TypeError, "A: indices: expected an array"),
    (lambda: tessera.cg(csr(data=None), B), TypeError, "A: data: expected an array"),
    (lambda: tessera.cg(csr(indptr=A.indptr[None]), B), ValueError, "A: indptr"),
    (lambda: tessera.cg(csr(indices=A.indices[None]), B), ValueError, "A: indices: expected one"),
    (lambda: tessera.cg(csr(data=A.data[None]), B), ValueError, "A: data has 2 dim"),
    (lambda: tessera.cg(csr(data=A.data[:-1]), B), ValueError, "A: indices and data have"),
    (lambda: tessera.cg(csr(indices=A.indices[:-1]), B), ValueError, "A: indices and data have"),
    (lambda: tessera.cg(csr(indptr=np.array([], int)), B), ValueError, "A: indptr is empty"),
    (lambda: tessera.cg(csr(indptr=with_entry(A.indptr, 0, 1)), B), ValueError, "A: .*offset"),
    (lambda: tessera.cg(csr(indptr=with_entry(A.indptr, 3, 999)), B), ValueError, "A: .*row"),
    (lambda: tessera.cg(csr(indptr=with_entry(A.indptr, -1, 2)), B), ValueError, "A: .*"),
    (
        lambda: tessera.cg(csr(indices=with_entry(A.indices, 2, 12)), B),
        ValueError,
        "A: row .*column",
    ),
    (lambda: tessera.cg(csr(indices=with_entry(A.indices, 2, -1)), B), ValueError, "A: .*column"),
    (
        lambda: tessera.cg(([0, 1], [0], np.ones((1, 2, 3))), np.ones(2)),
        ValueError,
        "A: the blocks",
    ),
    (
        lambda: tessera.cg(([0, 1], [0], np.ones((1, 0, 0))), np.ones(2)),
        ValueError,
        "A: the blocks",
    ),
    (
        lambda: tessera.cg(([0, 1], [0], np.ones((1, 1, 1, 1))), np.ones(1)),
        ValueError,
        "A: data has",
    ),
    (lambda: tessera.cg(np.ones((2, 2, 2)), B), ValueError, "A: .*dimensions|A: a square"),
    (lambda: tessera.cg(np.ones((2, 3)), B), ValueError, "A: a square"),
    (lambda: tessera.cg(np.eye(2) * 1j, np.ones(2)), TypeError, "A: complex"),
    (lambda: tessera.cg(Shaped(3, 4), np.ones(3)), ValueError, "A: a square"),
    (lambda: tessera.cg(lambda x: x[:2], np.ones(3)), ValueError, "A: the function returned"),
    (lambda: tessera.matrix(A, format="none such"), ValueError, "format: "),
    (lambda: tessera.matrix(A, dtype=np.complex64), TypeError, "dtype: comp"),
    (lambda: tessera.matrix(A).update(A.data[:3]), ValueError, "values: the shape"),
    (lambda: tessera.matrix(A).update(A.tobsr((2, 2))), ValueError, "values: the matrix is in bsr"),
    (lambda: tessera.matrix(A).update(A.data * 1j), TypeError, "values: complex"),
    (lambda: tessera.matrix(A) @ np.ones(5), ValueError, "x: the shape"),
    (lambda: tessera.matrix(A) @ np.ones((5, 2)), ValueError, "X: the shape"),
    (lambda: tessera.matrix(A) @ (1j * B), TypeError, "x: complex"),
    # Vectors.
    (lambda: tessera.cg(A, None), TypeError, "b: expected an array"),
    (lambda: tessera.cg(A, "b"), TypeError, "b: expected an array"),
    (lambda: tessera.cg(A, B[:5]), ValueError, "b: the shape"),
    (lambda: tessera.cg(A, 1.0), ValueError, "b: the shape"),
    (lambda: tessera.cg(A, np.ones((12, 2))), ValueError, "b: .*several right-hand sides"),
    (lambda: tessera.cg(A, np.ones((1, 12))), ValueError, "b: the shape"),
    (lambda: tessera.cg(A, B * 1j), TypeError, "b: complex"),
    (lambda: tessera.cg(A, B.astype(np.float16)), TypeError, "b: values of type float16"),
    (lambda: tessera.cg(A, B.astype(str)), TypeError, "b: values of type"),
    (lambda: tessera.cg(A, B, B[:5]), ValueError, "x0: the shape"),
    (lambda: tessera.cg(A, B, B * 1j), TypeError, "x0: complex"),
    (lambda: tessera.cg(A, B, "x"), TypeError, "x0: expected an array"),
    # Options.
    (lambda: tessera.cg(A, B, rtol=-1), ValueError, "rtol: -1"),
    (lambda: tessera.cg(A, B, rtol=np.nan), ValueError, "rtol: nan"),
    (lambda: tessera.cg(A, B, rtol="small"), TypeError, "rtol: expected a number"),
    (lambda: tessera.cg(A, B, atol=-1.0), ValueError, "atol: -1"),
    (lambda: tessera.cg(A, B, atol=None), TypeError, "atol: expected a number"),
    (lambda: tessera.cg(A, B, maxiter=-1), ValueError, "maxiter: -1"),
    (lambda: tessera.cg(A, B, maxiter=1.5), TypeError, "maxiter: expected a whole"),
    (lambda: tessera.cg(A, B, callback=3), TypeError, "callback: int"),
    (lambda: tessera.cg(A, B, stream="s"), TypeError, "stream: expected an int"),
    (lambda: tessera.cg(A, B, stream=-4), ValueError, "stream: -4"),
    (lambda: tessera.gmres(A, B, restart=0), ValueError, "restart: 0"),
    (lambda: tessera.gmres(A, B, restart=2.5), TypeError, "restart: expected a whole"),
    (lambda: tessera.idr(A, B, s=0), ValueError, "s: 0"),
    (lambda: tessera.idr(A, B, s=17), ValueError, "s: 17"),
    # Preconditioners.
    (lambda: tessera.cg(A, B, M="no_such"), ValueError, "M: unknown preconditioner .*optimal$"),
    (lambda: tessera.cg(A, B, M="block_jacobi:900"), ValueError, "M: "),
    (lambda: tessera.cg(A, B, M=3), TypeError, "M: expected"),
    (lambda: tessera.cg(A, B, M=sp.identity(5, format="csr")), ValueError, "M: the shape"),
    (lambda: tessera.cg(A, B, M=Shaped(3, 3)), ValueError, "M: the shape"),
    (lambda: tessera.cg(A, B, M=lambda r: r[:3]), ValueError, "M: the function returned"),
    (lambda: tessera.cg(A, B, M=tessera.jacobi(spd(13))), ValueError, "M: the shape"),
    (lambda: tessera.cg(A, B, M=tessera.jacobi(A, dtype=np.float32)), ValueError, "M: values of"),
    (lambda: tessera.cg(Shaped(12, 12), B, M="jacobi"), ValueError, "M: 'jacobi' needs a matrix"),
    (lambda: tessera.preconditioner(A, "no_such"), ValueError, "text: unknown preconditioner"),
    (lambda: tessera.preconditioner(A, 5), TypeError, "text: expected a text"),
    (lambda: tessera.jacobi(WIDE), ValueError, "A: a square matrix"),
    (lambda: tessera.jacobi(B), ValueError, "A: expected two dim"),
    (lambda: tessera.block_jacobi(A, 0), ValueError, "block_size: 0"),
    (lambda: tessera.block_jacobi(A, 65), ValueError, "block_size: 65"),
    (lambda: tessera.block_jacobi(A, 2.0), TypeError, "block_size: expected a whole"),
    (lambda: tessera.block_jacobi(A, storage="f8"), ValueError, "storage: 'f8'"),
    (lambda: tessera.block_jacobi(A, singular="go"), ValueError, "singular: 'go'"),
    (lambda: tessera.block_jacobi(A, bound=99), ValueError, "bound: 99"),
    (lambda: tessera.block_jacobi(A * 0), ValueError, "A: "),
    (lambda: tessera.polynomial(A, "taylor"), ValueError, "kind: 'taylor'"),
    (lambda: tessera.polynomial(A, degree=17), ValueError, "degree: 17"),
    (lambda: tessera.polynomial(A, degree="6"), TypeError, "degree: expected a whole"),
    (lambda: tessera.polynomial(A, values="f8"), ValueError, "values: 'f8'"),
    (lambda: tessera.polynomial(A, format="cst"), ValueError, "format: "),
    (lambda: tessera.block_ldlt(A, 3), ValueError, "block_size: 3"),
    (lambda: tessera.block_ldlt(A, method="fast"), ValueError, "method: 'fast'"),
    (lambda: tessera.block_ldlt(A, fill=-1), ValueError, "fill: -1"),
    (lambda: tessera.block_ldlt(A, epsilon="x"), TypeError, "epsilon: expected a number"),
    (lambda: tessera.ilu(A, ordering="any"), ValueError, "ordering: 'any'"),
    (lambda: tessera.ilu(A, pivoting="rook"), ValueError, "pivoting: 'rook'"),
    (lambda: tessera.ilu(A, outer=True, outer_threshold=2), ValueError, "outer_threshold: 2"),
    (lambda: tessera.ilu(A, precision="f16"), ValueError, "precision: 'f16'"),
    (lambda: tessera.ilu(A, sweeps=0), ValueError, "sweeps: 0"),
    (lambda: tessera.ilu(A, delta=2), ValueError, "delta: 2"),
    (lambda: tessera.ilu(A, solve_sweeps=-1), ValueError, "solve_sweeps: -1"),
    (lambda: tessera.jacobi(A).update(A.data[:2]), ValueError, "values: the shape"),
    # Multigrid.
    (lambda: tessera.rigid_body_modes(np.ones(5)), ValueError, "coordinates: expected the shape"),
    (lambda: tessera.rigid_body_modes(np.zeros((0, 2))), ValueError, "coordinates: they are empty"),
    (lambda: tessera.rigid_body_modes(np.ones((5, 4))), ValueError, "coordinates: expected"),
    (lambda: tessera.rigid_body_modes("x"), TypeError, "coordinates: expected an array"),
    (
        lambda: tessera.rigid_body_modes(np.full((2, 3), np.nan)),
        ValueError,
        "coordinates: it holds",
    ),
    (lambda: tessera.smoothed_aggregation_solver(A, np.ones((5, 1))), ValueError, "B: the shape"),
    (lambda: tessera.smoothed_aggregation_solver(A, np.ones((12, 9))), ValueError, "B: the shape"),
    (lambda: tessera.smoothed_aggregation_solver(A, block=9), ValueError, "block: 9"),
    (lambda: tessera.smoothed_aggregation_solver(A, theta=-1), ValueError, "theta: -1"),
    (lambda: tessera.smoothed_aggregation_solver(A, theta=1.5), ValueError, "theta: 1.5 is not at"),
    (lambda: tessera.smoothed_aggregation_solver(A, theta=np.inf), ValueError, "theta: inf is not"),
    (lambda: tessera.smoothed_aggregation_solver(A, smoothing_steps=1), ValueError, "smoothing_st"),
    (lambda: tessera.smoothed_aggregation_solver(A, max_levels=0), ValueError, "max_levels: 0"),
    (lambda: multigrid().solve(B, cycle="W"), ValueError, "cycle: 'W'"),
    (lambda: multigrid().solve(B, accel="none"), ValueError, "accel: 'none'"),
    (lambda: multigrid().solve(B, residuals=3), TypeError, "residuals: expected a list"),
    (lambda: multigrid().solve(B[:3]), ValueError, "b: the shape"),
    (lambda: multigrid().aspreconditioner("W"), ValueError, "cycle: 'W'"),
    # Solver.
    (
        lambda: tessera.solve(A, B, method="newton"),
        ValueError,
        "method: unknown solver 'newton'. Valid: cg, .*, richardson, auto$",
    ),
    (lambda: tessera.solve(A, B, method="auto:3"), ValueError, "method: auto takes no value, not '3'"),
    (lambda: tessera.solve(A, B, method=3), TypeError, "method: expected a text"),
    (
        lambda: tessera.solve(A, B, M="no_such"),
        ValueError,
        "M: unknown preconditioner 'no_such'. Valid: none, .*, auto$",
    ),
    (
        lambda: tessera.solve(A, B, format="cst"),
        ValueError,
        "format: unknown format 'cst'; did you mean 'csr'[?] Valid: csr, .*, auto$",
    ),
    (lambda: tessera.solve(A, B, format=None), TypeError, "format: expected a text"),
    (lambda: tessera.solve(A, B, threads=-1), ValueError, "threads: -1"),
    (lambda: tessera.solve(A, B, device="tpu"), ValueError, "device: 'tpu'"),
    (lambda: tessera.solve(A, B, device=0), TypeError, "device: expected a text"),
    (lambda: tessera.solve(WIDE, np.ones(3)), ValueError, "A: a square matrix"),
    (lambda: tessera.solve(A, B[:4]), ValueError, "b: the shape"),
    (lambda: tessera.solve(A, np.ones((4, 3))), ValueError, "b: the shape"),
    (lambda: tessera.solve(A, np.ones((12, 0))), ValueError, "b: the shape"),
    (lambda: tessera.solve(A, B, max_seconds=-1), ValueError, "max_seconds: -1"),
    (lambda: tessera.solve(A, B, coordinates=np.ones(12)), ValueError, "coordinates: expected"),
    (
        lambda: tessera.solve(A, B, "cg", "jacobi", near_null=np.ones((12, 1))),
        ValueError,
        "near_nu",
    ),
    (lambda: tessera.solve(lambda x: x, B, M="amg"), ValueError, "M: 'amg' needs a matrix"),
    (lambda: tessera.solve(lambda x: x, B, near_null=np.ones(12)), ValueError, "near_null: multi"),
    (lambda: tessera.solve(A, B, coordinates=np.ones((5, 3))), ValueError, "coordinates: 5 nodes"),
    (lambda: tessera.info(A, np.ones((7, 2))), ValueError, "coordinates: 7 nodes"),
    (
        lambda: tessera.smoothed_aggregation_solver(A, coordinates=(POINTS, [1, 2])),
        ValueError,
        "coordinates: 2 unknowns",
    ),
    (lambda: tessera.info(A, (POINTS, [])), ValueError, "coordinates: 0 unknowns of rows, A has"),
    (lambda: tessera.solve(A, B, coordinates=(POINTS, [])), ValueError, "coordinates: 0 unknowns"),
    (lambda: tessera.smoothed_aggregation_solver(-A), ValueError, "A: amg"),
    (lambda: tessera.solve(-A, B, method="fcg", M="amg", format="csr"), ValueError, "M: amg"),
    (lambda: tessera.solve(A, B, "cg", left=True), ValueError, "left: cg takes"),
    (lambda: tessera.preconditioner(A, "none"), ValueError, "text: 'none'"),
    (lambda: solver().update(A.data[:3]), ValueError, "values: the shape"),
    (lambda: solver().solve(B, maxiter=None), TypeError, "maxiter: expected a whole"),
    (lambda: solver().solve(np.ones((12, 2)), np.ones(12)), ValueError, "x0: the shape"),
    # Problems and files.
    (lambda: tessera.problems("no_such:3"), ValueError, "name: "),
    (lambda: tessera.problems("poisson2d:3\udcff"), ValueError, "name: '.*' is not UTF-8"),
    (lambda: tessera.solve(A, B, M="amg\udcff"), ValueError, "M: '.*' is not UTF-8"),
    (lambda: tessera.problems(3), TypeError, "name: expected a text"),
    (lambda: tessera.problems("poisson2d:3", np.complex64), TypeError, "dtype"),
    (lambda: tessera.read("/no/such/file.mtx"), FileNotFoundError, ".*file.mtx"),
    (lambda: tessera.read_vector("/no/such/b.mtx"), FileNotFoundError, ".*b.mtx"),
    (lambda: tessera.Solver(A.tocsc()).update(A.data), ValueError, "values: the matrix was given"),
    (
        lambda: tessera.matrix(A.toarray()).update(A.data),
        ValueError,
        "values: the matrix was given",
    ),
    (lambda: tessera.write("/no/such/folder/a.mtx", A), OSError, ".*a.mtx"),
    (lambda: tessera.write("a.xyz", A), ValueError, ".*a.xyz"),
    (lambda: tessera.write("a.mtx", A, "hermitian"), ValueError, "symmetry: 'hermitian'"),
    (lambda: tessera.info(WIDE), ValueError, "A: a square matrix"),
    (lambda: tessera.find_blocks(A, 0), ValueError, "bound: 0"),
    (lambda: tessera.find_blocks(A, 65), ValueError, "bound: 65"),
    (lambda: tessera.find_blocks(WIDE), ValueError, "A: a square matrix"),
    # Batches.
    (lambda: batched.inv(None), TypeError, "a: expected an array"),
    (lambda: batched.inv(np.ones(4)), ValueError, "a: expected"),
    (lambda: batched.inv(np.ones((2, 3))), ValueError, "a: the matrices are not square"),
    (lambda: batched.inv(EYE * 1j), TypeError, "a: complex"),
    (lambda: batched.inv(np.ones((1, 129, 129))), ValueError, "a: the matrices have 129 rows"),
    (lambda: batched.inv(EYE, out=np.ones(9)), ValueError, "out: the shape"),
    (lambda: batched.inv(EYE, out=np.ones((1, 3, 3), np.float32)), ValueError, "out: values of"),
    (lambda: batched.inv(EYE, out=[[[1]]]), TypeError, "out: expected an array of NumPy"),
    (lambda: batched.inv(EYE, out=np.ones((1, 6, 6))[:, ::2, ::2]), ValueError, "out: "),
    (lambda: batched.inv([np.eye(2), np.ones((2, 3))]), ValueError, r"a\[1\]: the matrices"),
    (lambda: batched.solve(EYE, np.ones((1, 4))), ValueError, "b: the shape"),
    (lambda: batched.solve(EYE, np.ones(3)), ValueError, "b: the shape"),
    (lambda: batched.solve(EYE, None), TypeError, "b: expected an array"),
    (lambda: batched.solve(EYE, 1j * np.ones((1, 3))), TypeError, "b: complex"),
    (lambda: batched.matmul(EYE, np.ones((1, 4))), ValueError, "x: the shape"),
    (lambda: batched.norm(EYE, 2), ValueError, "ord: 2 is not supported, only 1 and inf are"),
    (lambda: batched.norm(EYE, "fro"), ValueError, "ord: 'fro' is not supported, only 1 and inf"),
    (lambda: batched.norm(EYE, True), ValueError, "ord: True is not supported, only 1 and inf"),
    (lambda: batched.norm(EYE, None), ValueError, "ord: None is not supported, only 1 and inf"),
    (lambda: batched.norm(EYE, -np.inf), ValueError, "ord: -inf is not supported"),
    (lambda: batched.norm(EYE, EYE), ValueError, "ord: array"),
    (lambda: batched.cond(EYE, 2), ValueError, "p: 2 is not supported, only 1 and inf are"),
    (lambda: batched.cond(EYE, None), ValueError, "p: None is not supported, only 1 and inf"),
    (lambda: batched.lu(EYE, pivoting="rook"), ValueError, "pivoting: 'rook'"),
    (lambda: batched.ldlt(EYE, pivoting="partial"), ValueError, "pivoting: 'partial'"),
    # Numbers that no memory holds, texts for numbers.
    (lambda: tessera.cg(A, B, maxiter=2**63), ValueError, "maxiter: .* is above"),
    (lambda: tessera.cg(A, B, rtol="1e-3"), TypeError, "rtol: expected a number, got str"),
    (lambda: tessera.cg(A, B, rtol=np.inf), ValueError, "rtol: it is infinite"),
    (lambda: tessera.gmres(A, B, atol=np.inf), ValueError, "atol: it is infinite"),
    (lambda: solver().solve(B, rtol=np.float32(np.inf)), ValueError, "rtol: it is infinite"),
    (lambda: tessera.solve(A, B, atol=np.inf), ValueError, "atol: it is infinite"),
    (lambda: multigrid().solve(B, tol=np.inf), ValueError, "tol: it is infinite"),
    (lambda: tessera.gmres(A, B, restart=10001), ValueError, "restart: 10001 is above"),
    (lambda: tessera.idr(A, B, s=17), ValueError, "s: 17 is above 16"),
    (lambda: tessera.solve(A, B, threads=10**12), ValueError, "threads: .* is above"),
    (lambda: tessera.solve(A, B, device="cuda:" + 20 * "9"), ValueError, "device: 'cuda:9"),
    (
        lambda: tessera.smoothed_aggregation_solver(A, max_levels=2**31),
        ValueError,
        "max_levels: .* is above",
    ),
    # Types, formats, paths.
    (lambda: tessera.matrix(A, dtype="foo"), TypeError, "dtype: 'foo' is no type"),
    (lambda: tessera.problems("poisson2d:3", "foo"), TypeError, "dtype: 'foo' is no type"),
    (lambda: tessera.matrix(A, format=3), TypeError, "format: expected a text"),
    (lambda: tessera.block_ldlt(A, True), ValueError, "block_size: True"),
    (lambda: tessera.block_ldlt(A, fill=1001), ValueError, "fill: 1001"),
    (lambda: tessera.block_ldlt(A, epsilon=np.inf), ValueError, "epsilon: it is infinite"),
    (lambda: tessera.info(aslinearoperator(A)), TypeError, "A: expected a sparse matrix"),
    (lambda: tessera.read(None), TypeError, "path: expected a path"),
    (lambda: tessera.write(3, A), TypeError, "path: expected a path"),
    (lambda: tessera.write("/tmp/a.mtx", A * np.nan), ValueError, "a: .*not finite"),
    (lambda: tessera.write("/tmp/a.mtx", WIDE, "symmetric"), ValueError, "a: .*not symmetric"),
    # Coordinates of nodes that lack unknowns.
    (
        lambda: tessera.solve(A, B, coordinates=np.zeros((5, 3))),
        ValueError,
        r"coordinates: 5 nodes .* lack unknowns, give \(points, unknowns\)",
    ),
    (
        lambda: tessera.solve(A, B, coordinates=(np.zeros((5, 3)), np.arange(4, 16))),
        ValueError,
        "coordinates: the unknowns of rows ascend from 0 to 14; row 11 has 15",
    ),
    (
        lambda: tessera.info(A, (np.zeros((5, 3)), with_entry(np.arange(12), 3, 2))),
        ValueError,
        "coordinates: .* row 3 has 2",
    ),
    (
        lambda: tessera.info(A, (np.zeros((5, 3)), np.arange(12) - 1)),
        ValueError,
        "coordinates: .* row 0 has -1",
    ),
    (
        lambda: tessera.info(A, (np.zeros((5, 3)), np.arange(12) + 2**40)),
        ValueError,
        "coordinates: .* row 0 has 1099511627776",
    ),
    (
        lambda: tessera.info(A, (np.zeros((4, 3)), np.ones(12, bool))),
        TypeError,
        "coordinates: .* node [*] dimensions [+] axis",
    ),
    (lambda: tessera.info(A, [np.zeros((4, 3)), [1]]), ValueError, "coordinates: "),
    # What would have been left out silently.
    (lambda: tessera.cg(A, np.ma.masked_less(B, 0)), TypeError, "b: entries are masked"),
    (
        lambda: tessera.rigid_body_modes(np.ma.masked_equal(np.eye(5, 2), 1)),
        TypeError,
        "coordinates: entries are masked",
    ),
    (
        lambda: tessera.solve(A, B, M=tessera.jacobi(A), near_null=np.ones(12)),
        ValueError,
        "near_null: only 'amg'",
    ),
    (lambda: tessera.solve(A, B, near_null=np.ones((12, 9))), ValueError, "near_null: the shape"),
    (
        lambda: tessera.solve(lambda x: x, B, coordinates=POINTS),
        ValueError,
        "coordinates: multigrid needs a matrix",
    ),
    (lambda: tessera.solve(lambda x: x, B, format="sell"), ValueError, "format: A is an operator"),
    (lambda: tessera.solve(A, np.ones((12, 0))), ValueError, "b: the shape .* has no column$"),
    (lambda: tessera.cg(A, B, rtol=None), TypeError, "rtol: expected a number, got NoneType"),
    (lambda: tessera.cg(A, B, atol=10**400), ValueError, "atol: the number is beyond the range"),
    (lambda: tessera.cg(lambda x: np.ma.masked_less(x, 9), B), TypeError, "A: entries are masked"),
    (lambda: tessera.write("a.mtx", A, B), TypeError, "symmetry: expected a text, got ndarray"),
    (lambda: tessera.cg(lambda x: None, B), TypeError, "A: the function returned NoneType"),
    (lambda: tessera.cg(A, B, M=list), TypeError, "M: the function returned list"),
    (lambda: batched.inv([EYE[0]], out=np.zeros(9)), TypeError, "out: lists of matrices"),
    (lambda: batched.inv(EYE, out=np.zeros(EYE.shape, ">f8")), ValueError, "out: its values"),
    (lambda: batched.inv(np.zeros(9), sizes=np.int8([127])), ValueError, "a: the shape"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_names_the_argument(number):
    call, kind, text = CASES[number]
    with pytest.raises(kind, match=f"^{text}") as caught:
        call()
    assert type(caught.value) is kind


def test_an_error_of_a_callback_is_raised_as_it_is():
    def callback(_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        solver().solve(B, callback=callback)


def test_there_are_many():
    assert len(CASES) >= 80


def test_a_failed_call_leaves_a_solver_usable():
    s = solver()
    with pytest.raises(ValueError):
        s.solve(B[:3])
    with pytest.raises(ValueError):
        s.update(A.data[:3])
    assert s.solve(B).converged
    s.close()
    with pytest.raises(RuntimeError, match="closed"):
        s.solve(B)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n")
    with pytest.raises(tessera.ParseError, match="bad.mtx:3"):
        tessera.read(path)
    assert issubclass(tessera.ParseError, ValueError)
    assert issubclass(tessera.DeviceError, RuntimeError)


def test_a_device_that_is_missing():
    if tessera.devices():
        pytest.skip("there is a CUDA device")
    with pytest.raises(tessera.DeviceError):
        tessera.solve(A, B, device="cuda")
    assert tessera.solve(A, B, device="auto").converged
