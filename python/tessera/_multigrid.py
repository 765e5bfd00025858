"""Multigrid by smoothed aggregation, in the shape of pyamg."""

from __future__ import annotations

import warnings
from typing import Any

from ._arguments import (
    checked_vector,
    flag,
    info_of,
    number,
    options_of,
    scipy_hook,
    start_of,
    whole,
)
from ._arrays import HOST, values, view
from ._backend import core
from ._contexts import call_context
from ._coordinates import check_coordinates, coordinates_of, near_null_array, points_of
from ._errors import raise_named
from ._maps import map_solver
from ._preconditioners import Preconditioner
from ._typing import Array, Coordinates, Matrix

__all__ = ["MultilevelSolver", "rigid_body_modes", "smoothed_aggregation_solver"]


def rigid_body_modes(coordinates: Any) -> Any:
    """Translations and rotations of nodes: what an elastic body does without energy.

    Parameters
    ----------
    coordinates : array of shape (nodes, 2 or 3), or pair
        Positions of the nodes, of any library; one on a GPU is copied. (points, unknowns) as in
        `preconditioner`: the rows of these unknowns alone.

    Returns
    -------
    numpy.ndarray
        (2 nodes, 3) or (3 nodes, 6) float64: a column for each motion, the unknowns of a node in
        consecutive rows.

    Examples
    --------
    >>> import numpy as np, tessera
    >>> tessera.rigid_body_modes(np.array([[0.0, 0.0], [1.0, 0.0]])).shape
    (4, 3)
    """
    points, unknowns = coordinates_of(coordinates)
    modes: Any = core.rigid_body_modes(points_of(coordinates) if points is None else points)
    return modes if unknowns is None else modes[unknowns]


class MultilevelSolver(Preconditioner):
    """A hierarchy of matrices; made by `smoothed_aggregation_solver`.

    As an operator it is one V-cycle, symmetric and positive definite.
    """

    def solve(
        self,
        b: Array,
        x0: Array | None = None,
        tol: float = 1e-5,
        maxiter: int = 100,
        cycle: str = "V",
        accel: str | None = "cg",
        callback: Any = None,
        residuals: list[float] | None = None,
        *,
        return_info: bool = False,
    ) -> Any:
        """Solves A x = b by the cycle, inside a Krylov method. In pyamg `accel` is None by default,
        and residuals are absolute.

        Parameters
        ----------
        b : array of shape (n,) or (n, 1)
            Right-hand side, on the device of the matrix.
        x0 : array, optional
            Start, by default zero.
        tol : float
            Relative residual that ends the solve; finite.
        maxiter : int
            Maximum number of iterations.
        cycle : {"V"}
            There is no other.
        accel : {"cg", "fcg", "gmres", "bicgstab", "minres", None}
            The Krylov method; None: the cycles alone.
        callback : callable, optional
            See `tessera.cg`, and `tessera.gmres` with "gmres".
        residuals : list, optional
            Receives the relative residuals, the initial one first.
        return_info : bool
            Also returns `info` as `tessera.cg` does.

        Returns
        -------
        x : array
            In the kind of `b`, on its device; with `return_info` the pair (x, info).

        Raises
        ------
        TypeError, ValueError
            For arguments that do not fit; the message names the argument.

        Warns
        -----
        RuntimeWarning
            If the solve fails, unless by `maxiter`; not with `return_info`.

        Notes
        -----
        Blocks until the work is complete.
        """
        return_info = flag(return_info, "return_info")
        if cycle != "V":
            raise ValueError(f"cycle: {cycle!r} is not available; the cycle is 'V'")
        methods = ("cg", "fcg", "gmres", "bicgstab", "minres")
        if accel is not None and accel not in methods:
            raise ValueError(f"accel: {accel!r} is none of {', '.join(methods)} and None")
        if residuals is not None and not isinstance(residuals, list):
            raise TypeError(f"residuals: expected a list, got {type(residuals).__name__}")
        found = view(b, "b")
        size = self.shape[0]
        checked_vector(found, size, "b")
        kind = found.kind
        if found.device != self._device:
            raise ValueError("b: it is on another device than the matrix; move one")
        context = call_context(kind, found.device)
        method = accel or "richardson"
        hook, iterate = scipy_hook(callback, method, found, self.dtype, context)
        most = whole(maxiter, "maxiter", 0)
        options = options_of(number(tol, "tol", finite=True), 0.0, most, hook, iterate=iterate)
        right = values(b, self.dtype, "b")
        x, pointer = start_of(x0, found, self.dtype, context)
        solver = map_solver(context, method, self._operator(), self._map)
        systems = core.Systems(size, 1, right.pointer, size, pointer, size, False)
        report = solver.solve(systems, options)[0][0]
        if residuals is not None:
            residuals[:] = report["residuals"]
        x = kind.finished(x, context)
        if return_info:
            return x, info_of(report["status"], report["iterations"])
        if report["status"] not in ("converged", "max_iterations"):
            warnings.warn(f"the solve failed: {report['status']}", RuntimeWarning, stacklevel=2)
        return x

    def _operator(self) -> Any:
        if self._product is None:
            self._product = core.matrix_operator(self._map.context, self._matrix, "csr")
        return self._product

    _product: Any = None

    def aspreconditioner(self, cycle: str = "V") -> Preconditioner:
        """This object: one V-cycle as a `LinearOperator`.

        Parameters
        ----------
        cycle : {"V"}
            There is no other.

        Returns
        -------
        Preconditioner
            The hierarchy itself, no copy.
        """
        if cycle != "V":
            raise ValueError(f"cycle: {cycle!r} is not available; the cycle is 'V'")
        return self

    def update(self, values: Any) -> None:
        self._product = None
        super().update(values)

    update.__doc__ = Preconditioner.update.__doc__

    @property
    def levels(self) -> list[dict[str, Any]]:
        """For each level its nodes, unknowns of a node, blocks of the matrix and the bound of the
        spectrum of the scaled matrix (0: solved directly)."""
        names = ("nodes", "block", "blocks", "spectrum", "transfers")
        return [dict(zip(names, level, strict=True)) for level in self._map.levels()[0]]

    def operator_complexity(self) -> float:
        """Entries of all levels over those of the first.

        Returns
        -------
        float
            1 for a single level.
        """
        return float(self._map.levels()[1])

    def grid_complexity(self) -> float:
        """Unknowns of all levels over those of the first.

        Returns
        -------
        float
            1 for a single level.
        """
        unknowns = [level["nodes"] * level["block"] for level in self.levels]
        return float(sum(unknowns) / max(unknowns[0], 1))

    def __repr__(self) -> str:
        levels = self.levels
        lines = [
            "MultilevelSolver",
            f"  text                 {self.text}",
            f"  device               {'CPU' if self._device == HOST else f'cuda:{self._device}'}",
            f"  levels               {len(levels)}",
            f"  operator complexity  {self.operator_complexity():.3f}",
            "  level     unknowns      nonzeros  unknowns per node",
        ]
        for k, level in enumerate(levels):
            block = level["block"]
            unknowns, nonzeros = level["nodes"] * block, level["blocks"] * block * block
            lines.append(f"  {k:5d}  {unknowns:11d}  {nonzeros:12d}  {block}")
        lines += [f"  warning: {warning}" for warning in self.report["warnings"]]
        return "\n".join(lines)

    __str__ = __repr__


def _hierarchy(
    coordinates: Any, near_null: Any, name: str, block: int = 0, theta: float = 0.02,
    steps: int = 2, coarse: int = 0, levels: int = 10, single: bool = True,
) -> Any:  # fmt: skip
    """A function that makes the hierarchy of a matrix. `near_null` is one vector or an array
    (rows, k), which errors call `name`."""
    points, unknowns = coordinates_of(coordinates)

    def make(context: Any, matrix: Any) -> Any:
        check_coordinates(points, unknowns, matrix)
        vectors = None if near_null is None else near_null_array(near_null, name, matrix.rows)
        try:
            return core.multigrid(
                context, matrix, points, unknowns or [], vectors, block, theta, steps, coarse,
                levels, single,
            )  # fmt: skip
        except ValueError as error:
            raise_named(
                error, "A", matrix, preconditioner="A", near_null=name,
                block="block" if block else "A",
            )  # fmt: skip

    return make


def smoothed_aggregation_solver(
    A: Matrix,
    B: Any = None,
    coordinates: Coordinates = None,
    *,
    block: int | None = None,
    theta: float = 0.02,
    smoothing_steps: int = 2,
    max_levels: int = 10,
    max_coarse: int | None = None,
    single_precision: bool = True,
    dtype: Any = None,
    stream: Any = None,
    device: str | None = None,
) -> MultilevelSolver:
    """Multigrid by smoothed aggregation for symmetric positive definite `A`.

    Parameters
    ----------
    A : sparse matrix
        See `tessera.cg`; the unknowns of a node are consecutive rows.
    B : array of shape (n, k), optional
        Near-null vectors, k at most 8: what `A` maps to almost nothing. By default those of
        `coordinates`, or the constant of each unknown of a node.
    coordinates : array of shape (nodes, 2 or 3), optional
        Positions of the nodes: strengths of couplings, and rigid body modes for elasticity;
        (points, unknowns) as in `preconditioner`. In float64 on the host they are not copied, and
        must not change.
    block : int, optional
        Unknowns of a node, 1 to 8, by default found.
    theta : float
        Bound of strong couplings, 0 to 1.
    smoothing_steps : int
        Products of the smoother before and after the coarse correction, 2 to 16.
    max_levels : int
        Maximum number of levels.
    max_coarse : int, optional
        A level of no more rows is solved directly.
    single_precision : bool
        Whether the cycle is in float32, with its matrices stored in 16 bits where that costs
        hardly any iterations; the setup is always in float64.
    dtype, stream, device
        See `preconditioner`.

    Returns
    -------
    MultilevelSolver

    Raises
    ------
    TypeError, ValueError
        For arrays and numbers that do not fit, and for a matrix with a diagonal block that is not
        positive definite. The message names the argument.

    Notes
    -----
    Blocks until the work is complete.

    Examples
    --------
    >>> import numpy as np, tessera
    >>> p = tessera.problems("poisson2d:50")
    >>> ml = tessera.smoothed_aggregation_solver(p.A)
    >>> len(ml.levels) > 1, ml.operator_complexity() < 2
    (True, True)
    >>> x = ml.solve(p.b, tol=1e-8)
    >>> bool(np.linalg.norm(p.b - p.A @ x) <= 1e-8 * np.linalg.norm(p.b))
    True
    >>> tessera.cg(p.A, p.b, M=ml)[1]
    0
    """
    make = _hierarchy(
        coordinates, B, "B",
        0 if block is None else whole(block, "block", 1, 8),
        number(theta, "theta", 0, 1),
        whole(smoothing_steps, "smoothing_steps", 2, 16),
        0 if max_coarse is None else whole(max_coarse, "max_coarse", 1, 2**31 - 1),
        whole(max_levels, "max_levels", 1, 2**31 - 1),
        flag(single_precision, "single_precision"),
    )  # fmt: skip
    return MultilevelSolver(A, make, dtype, stream, device)
