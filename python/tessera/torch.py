"""Inverses and solves for torch with gradients, as operators of ``torch.library``.

``torch.compile`` takes them as they are; at a sparse solve, whose matrix torch does not trace, its
graph is split. A CUDA graph takes the dense ones, as in ``torch.cuda.graph(graph)``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import batched
from ._factors import structure_word
from ._solver import Solver
from ._torch_setups import setups, transposed

__all__ = ["inv", "solve"]


@torch.library.custom_op("tessera::inv", mutates_args=())
def _inv(a: Tensor) -> Tensor:
    result: Tensor = batched.inv(a.detach().contiguous())
    return result


def _empty(like: Tensor, a: Tensor) -> Tensor:
    """`a` in the type of results: its own, or float64 for integers."""
    dtype = a.dtype if a.dtype.is_floating_point else torch.float64
    return torch.empty_like(like, dtype=dtype, memory_format=torch.contiguous_format)


@_inv.register_fake
def _(a: Tensor) -> Tensor:
    return _empty(a, a)


def _inv_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _inv_backward(ctx: Any, gradient: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    t: Tensor = x.mT
    result: Tensor = -(t @ gradient @ t)
    return result


_inv.register_autograd(_inv_backward, setup_context=_inv_context)


@torch.library.custom_op("tessera::solve", mutates_args=())
def _dense(a: Tensor, b: Tensor, assume_a: str) -> Tensor:
    result: Tensor = batched.solve(a.detach(), b.detach(), assume_a=assume_a)
    return result.contiguous()


@_dense.register_fake
def _(a: Tensor, b: Tensor, assume_a: str) -> Tensor:
    return _empty(b, a)


def _dense_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)
    ctx.assume_a = inputs[2]


def _dense_gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    a, x = ctx.saved_tensors
    general = structure_word(ctx.assume_a) == "general"
    of_b = _dense(a.mT if general else a, gradient, ctx.assume_a)
    if not ctx.needs_input_grad[0]:
        return None, of_b, None
    if x.dim() < a.dim():
        of_a = -(of_b.unsqueeze(-1) * x.unsqueeze(-2))
    else:
        of_a = -(of_b @ x.mT)
    return of_a if general else (of_a + of_a.mT) / 2, of_b, None


_dense.register_autograd(_dense_gradients, setup_context=_dense_context)


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
    number: int = 0,
) -> tuple[Tensor, Tensor]:
    """x, and for the backward pass the number of the setup and of updates before. `number`: of a
    solver of the caller, which has the values; -1: of none, and no backward pass follows."""
    setup = setups.find(number) if number > 0 else None
    if setup is None:
        solver: Solver | None = Solver(
            (crow, col, values.detach().contiguous()),
            method=method,
            M=M,
            coordinates=points if points.numel() else None,
        )
        assert solver is not None
        x = _checked(solver, b.detach(), rtol, maxiter)
        return x, torch.tensor([0 if number < 0 else setups.keep(solver), 0])
    with setup.lock:
        solver = setup.solver()
        assert solver is not None
        x = _checked(solver, b.detach(), rtol, maxiter)
        return x, torch.tensor([number, solver._updates])


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
    number: int = 0,
) -> tuple[Tensor, Tensor]:
    x = _empty(b, values)
    return x, torch.empty(2, dtype=torch.int64, device="cpu")


@torch.library.custom_op("tessera::sparse_adjoint", mutates_args=())
def _adjoint(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    gradient: Tensor,
    points: Tensor,
    kept: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
    number: int,
) -> Tensor:
    """The solve with the transpose."""
    found, updates = kept.tolist()
    setup = setups.find(found)
    if setup is None:
        if number > 0:
            raise RuntimeError("solver: it was released before the backward pass")
        solver = Solver(
            transposed(crow, col, values.detach()),
            method=method,
            M=M,
            coordinates=points if points.numel() else None,
        )
        return _checked(solver, gradient.detach(), rtol, maxiter)
    with setup.lock:
        used = setup.solver()
        if used is None or used._closed:
            raise RuntimeError("solver: it was closed before the backward pass")
        if used._updates != updates:
            raise RuntimeError("solver: it was updated between the forward and the backward pass")
        return _checked(setup.adjoint(crow, col, values.detach()), gradient.detach(), rtol, maxiter)


@_adjoint.register_fake
def _(
    crow: Tensor,
    col: Tensor,
    values: Tensor,
    gradient: Tensor,
    points: Tensor,
    kept: Tensor,
    method: str,
    M: str,
    rtol: float,
    maxiter: int,
    number: int,
) -> Tensor:
    return _empty(gradient, values)


def _sparse_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    crow, col, values, _, points, method, m, rtol, maxiter, number = inputs
    x, kept = output
    ctx.save_for_backward(crow, col, values, points, x, kept)
    ctx.mark_non_differentiable(kept)
    ctx.options = method, m, rtol, maxiter, number


def _sparse_backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    crow, col, values, points, x, kept = ctx.saved_tensors
    of_b = _adjoint(crow, col, values, gradient.contiguous(), points, kept, *ctx.options)
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
    return None, None, of_values, of_b, None, None, None, None, None, None


_sparse.register_autograd(_sparse_backward, setup_context=_sparse_context)


def _require_no_tangents(**tensors: Tensor) -> None:
    """Operators of torch.library would take the derivatives of the forward mode for zero."""
    if torch.compiler.is_compiling():
        return
    unpack_dual: Any = forward_ad.unpack_dual  # Its types are those of torch's version.
    for name, tensor in tensors.items():
        if unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(
                f"{name}: derivatives in the forward mode are not available; use those of the "
                "reverse mode, such as torch.autograd.grad"
            )


def inv(a: Tensor) -> Tensor:
    """Inverses, differentiable, also twice; see `tessera.batched.inv`.

    Parameters
    ----------
    a : Tensor
        ``(*batch, n, n)`` with n at most 128, float32 or float64.

    Returns
    -------
    x : Tensor
        In the shape of `a`. Singular matrices give NaN. Does not wait.
    """
    _require_no_tangents(a=a)
    result: Tensor = _inv(a)
    return result


def solve(
    a: Tensor,
    b: Tensor,
    *,
    assume_a: str = "gen",
    method: str = "auto",
    M: str = "auto",
    coordinates: Any = None,
    rtol: float | None = None,
    maxiter: int = 10000,
    solver: Solver | None = None,
) -> Tensor:
    """Solves a x = b, differentiably.

    Parameters
    ----------
    a : Tensor
        Dense ``(*batch, n, n)`` with n at most 128; or sparse n x n (``torch.sparse_csr``,
        ``torch.sparse_bsr``), float32 or float64.
    b : Tensor
        ``(*batch, n)`` or ``(*batch, n, k)``; (n,) or (n, k) for a sparse matrix. Converted to the
        type of `a`.
    assume_a : {"gen", "sym", "pos"}
        For dense matrices, see `tessera.batched.solve`: "sym" and "pos" read one triangle.
    method, M, coordinates, rtol, maxiter
        For sparse matrices, see `tessera.solve`; `coordinates` are points alone.
    solver : tessera.Solver, optional
        Solver of the sparse matrix `a`, with the values that it has now, in place of `method`, `M`
        and `coordinates`: its setup serves all calls and their backward passes. After a change of
        the values call its `update`.

    Returns
    -------
    x : Tensor
        In the shape of `b`. Dense: does not wait, differentiable also twice. Sparse: waits.

    Raises
    ------
    RuntimeError
        If a sparse solve, or the one of its backward pass, does not converge; if `solver` was
        updated between both passes.

    Notes
    -----
    The backward pass of a sparse solve is one solve with the transpose; that of a symmetric matrix
    uses the preconditioner of the forward pass. The gradient of `a` is that of its stored values;
    with "sym" and "pos" it is symmetric, as that of `torch.linalg.cholesky`.
    """
    if a.layout == torch.strided:
        _require_no_tangents(a=a, b=b)
        if solver is not None:
            raise ValueError("solver: a is dense; leave it out")
        structure_word(assume_a)
        dense: Tensor = _dense(a, b, assume_a)
        return dense
    if structure_word(assume_a) != "general":
        raise ValueError("assume_a: a is sparse; leave it out")
    if a.layout not in (torch.sparse_csr, torch.sparse_bsr):
        raise TypeError(f"a: the layout {a.layout} is not supported; use sparse_csr or sparse_bsr")
    _require_no_tangents(b=b)
    if rtol is None:
        rtol = 1e-8 if a.dtype == torch.float64 else 1e-4  # As in Solver.solve.
    result: Tensor = _solve_sparse(a, b, method, M, coordinates, rtol, maxiter, solver)
    return result


@torch.compiler.disable  # Sparse tensors are not traced.
def _solve_sparse(
    a: Tensor,
    b: Tensor,
    method: str,
    M: str,
    coordinates: Any,
    rtol: float,
    maxiter: int,
    solver: Solver | None,
) -> Tensor:
    differentiable = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    number = 0 if differentiable else -1
    if solver is not None:
        _check_solver(solver, a, (method, M, coordinates) == ("auto", "auto", None))
        number = setups.number_of(solver)
    if isinstance(coordinates, tuple):
        raise TypeError("coordinates: pairs of points and unknowns need solver=")
    points = torch.empty(0) if coordinates is None else torch.as_tensor(coordinates)
    x: Tensor = _sparse(
        a.crow_indices(), a.col_indices(), a.values(), b, points, method, M, rtol, maxiter, number
    )[0]
    return x


def _check_solver(solver: Any, a: Tensor, alone: bool) -> None:
    if not isinstance(solver, Solver):
        raise TypeError(f"solver: expected a tessera.Solver, got {type(solver).__name__}")
    if solver._matrix is None:
        raise ValueError("solver: it has no matrix, or is closed")
    if solver.shape != tuple(a.shape) or solver._parts.data_shape != tuple(a.values().shape):
        raise ValueError("solver: its matrix has another shape or pattern than a")
    if not alone:
        raise ValueError("solver: it has its method, M and coordinates; leave those out")
