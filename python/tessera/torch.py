"""Inverses and solves for torch with gradients, as operators of ``torch.library``.

``torch.compile`` takes them as they are. A CUDA graph takes the dense ones once they have run on
the stream that captures: ``torch.cuda.graph(graph, stream=s)`` after a call under
``torch.cuda.stream(s)``.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor

from . import batched
from ._solver import Solver

__all__ = ["inv", "solve"]


@torch.library.custom_op("tessera::inv", mutates_args=())
def _inv(a: Tensor) -> Tensor:
    result: Tensor = batched.inv(a.detach().contiguous())
    return result


@_inv.register_fake
def _(a: Tensor) -> Tensor:
    return torch.empty_like(a, memory_format=torch.contiguous_format)


def _inv_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _inv_backward(ctx: Any, gradient: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    t = x.mT
    return -(t @ gradient @ t)


_inv.register_autograd(_inv_backward, setup_context=_inv_context)


@torch.library.custom_op("tessera::solve", mutates_args=())
def _dense(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = batched.solve(a.detach(), b.detach())
    return result.contiguous()


@_dense.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    return torch.empty_like(b, memory_format=torch.contiguous_format)


def _dense_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)


def _dense_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
    a, x = ctx.saved_tensors
    of_b = _dense(a.mT, gradient)
    if not ctx.needs_input_grad[0]:
        return None, of_b
    if x.dim() < a.dim():
        return -(of_b.unsqueeze(-1) * x.unsqueeze(-2)), of_b
    return -(of_b @ x.mT), of_b


_dense.register_autograd(_dense_backward, setup_context=_dense_context)


class _Solvers:
    """Solvers of forward passes, for their backward passes: the latest few, by number."""

    most = 8

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._all: OrderedDict[int, tuple[Solver, bool]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, solver: Solver, symmetric: bool) -> int:
        with self._lock:
            number = next(self._numbers)
            self._all[number] = solver, symmetric
            if len(self._all) > self.most:
                self._all.popitem(last=False)
            return number

    def find(self, number: int) -> tuple[Solver, bool] | None:
        with self._lock:
            return self._all.get(number)


_solvers = _Solvers()


def _checked(solver: Solver, b: Tensor, rtol: float, maxiter: int) -> Tensor:
    result = solver.solve(b, rtol=rtol, maxiter=maxiter)
    if not result.converged:
        raise RuntimeError(f"b: the solve did not converge: {result.message}")
    x: Tensor = result.x
    return x.contiguous()


@torch.library.custom_op("tessera::sparse_solve", mutates_args=())
def _sparse(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    b: Tensor,
    points: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
) -> tuple[Tensor, Tensor]:
    solver = Solver(
        (crow, col, values.detach().contiguous()),
        method=method,
        M=M,
        coordinates=points if points.numel() else None,
    )
    x = _checked(solver, b.detach(), rtol, maxiter)
    number = _solvers.keep(solver, bool(solver._matrix.facts(None, [])["symmetric"]))
    return x, torch.tensor(number)


@_sparse.register_fake
def _(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    b: Tensor,
    points: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
) -> tuple[Tensor, Tensor]:
    x = torch.empty_like(b, memory_format=torch.contiguous_format)
    return x, torch.empty((), dtype=torch.int64, device="cpu")


def _transposed(crow: Tensor, col: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """CSR or BSR of the transpose."""
    size = crow.shape[0] - 1
    rows = torch.repeat_interleave(crow.diff(), output_size=col.shape[0])
    order = torch.argsort(col, stable=True)
    counts = torch.bincount(col, minlength=size)
    starts = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
    turned = values[order]
    return starts, rows[order], (turned.mT if values.dim() == 3 else turned).contiguous()


@torch.library.custom_op("tessera::sparse_adjoint", mutates_args=())
def _adjoint(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    gradient: Tensor,
    points: Tensor,
    number: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
) -> Tensor:
    """The solve with the transpose: of a symmetric matrix by the solver of the forward pass."""
    kept = _solvers.find(int(number))
    if kept is not None and kept[1]:
        return _checked(kept[0], gradient.detach(), rtol, maxiter)
    solver = Solver(
        _transposed(crow, col, values.detach()),
        method=method,
        M=M,
        coordinates=points if points.numel() else None,
    )
    return _checked(solver, gradient.detach(), rtol, maxiter)


@_adjoint.register_fake
def _(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    gradient: Tensor,
    points: Tensor,
    number: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
) -> Tensor:
    return torch.empty_like(gradient, memory_format=torch.contiguous_format)


def _sparse_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    crow, col, values, _, points, method, m, rtol, maxiter = inputs
    x, number = output
    ctx.save_for_backward(crow, col, values, points, x, number)
    ctx.mark_non_differentiable(number)
    ctx.options = method, m, rtol, maxiter


def _sparse_backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    crow, col, values, points, x, number = ctx.saved_tensors
    of_b = _adjoint(crow, col, values, gradient.contiguous(), points, number, *ctx.options)
    of_values = None
    if ctx.needs_input_grad[2]:
        # The derivative of x by a_ij is -(A^-1)_.i x_j.
        rows = torch.repeat_interleave(crow.diff(), output_size=col.shape[0])
        left, right = of_b.reshape(x.shape[0], -1), x.reshape(x.shape[0], -1)
        if values.dim() == 1:
            of_values = -(left[rows] * right[col]).sum(-1)
        else:
            block = values.shape[1]
            left = left.reshape(-1, block, left.shape[1])[rows]
            right = right.reshape(-1, block, right.shape[1])[col]
            of_values = -(left @ right.mT)
    return None, None, of_values, of_b, None, None, None, None, None


_sparse.register_autograd(_sparse_backward, setup_context=_sparse_context)


def inv(a: Tensor) -> Tensor:
    """Inverses, differentiable, also twice; see `tessera.batched.inv`.

    Parameters
    ----------
    a : Tensor
        ``(*batch, n, n)`` with n at most 128, float32 or float64.

    Returns
    -------
    x : Tensor
        Of the shape of `a`. Singular matrices give NaN. Does not wait.
    """
    result: Tensor = _inv(a)
    return result


def solve(
    a: Tensor,
    b: Tensor,
    *,
    method: str = "auto",
    M: str = "auto",
    coordinates: Any = None,
    rtol: float = 1e-8,
    maxiter: int = 10000,
) -> Tensor:
    """Solves a x = b, differentiably.

    Parameters
    ----------
    a : Tensor
        Dense ``(*batch, n, n)`` with n at most 128; or sparse n x n (``torch.sparse_csr``,
        ``torch.sparse_bsr``), float32 or float64.
    b : Tensor
        ``(*batch, n)`` or ``(*batch, n, k)``; (n,) or (n, k) for a sparse matrix.
    method, M, coordinates, rtol, maxiter
        Of sparse matrices, as in `tessera.solve`.

    Returns
    -------
    x : Tensor
        Of the shape of `b`. Dense: does not wait. Sparse: waits.

    Raises
    ------
    RuntimeError
        If a sparse solve, or the one of its backward pass, does not converge.

    Notes
    -----
    The backward pass of a sparse solve is one solve with the transpose; that of a symmetric matrix
    uses the preconditioner of the forward pass. The gradient of `a` is that of its stored values.
    """
    if a.layout == torch.strided:
        dense: Tensor = _dense(a, b)
        return dense
    if a.layout not in (torch.sparse_csr, torch.sparse_bsr):
        raise TypeError(f"a: the layout {a.layout} is not supported; use sparse_csr or sparse_bsr")
    points = torch.empty(0) if coordinates is None else torch.as_tensor(coordinates)
    x: Tensor = _sparse(
        a.crow_indices(), a.col_indices(), a.values(), b, points, method, M, rtol, maxiter
    )[0]
    return x
