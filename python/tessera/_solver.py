"""Solves of one matrix, one after another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ._arguments import (
    Callback,
    flag,
    number,
    options_of,
    progress_hook,
    size_of,
    systems_of,
    whole,
)
from ._arrays import FLOAT32, HOST, Kind, View, real_type, view
from ._backend import core
from ._contexts import call_context, new_context, place_of, place_text, setup_context
from ._coordinates import (
    check_coordinates,
    coordinates_of,
    near_null_array,
    null_space_array,
    require_use,
)
from ._devices import group_solver, is_one, memory_of, require_for_group, require_on_host
from ._errors import raise_named, refuse_pickle
from ._maps import map_solver, operator_map, operator_type
from ._matrices import (
    OtherPattern,
    build,
    is_matrix,
    owners,
    values_or_pattern,
    without_values,
)
from ._operators import LinearOperator, SparseMatrix, parts_of
from ._preconditioners import Preconditioner
from ._result import Result, Setup, name_non_finite_row, result_of
from ._texts import checked_text
from ._typing import Array, Coordinates, Matrix, Preconditioning

__all__ = ["Solver"]


class Solver:
    """A matrix, a preconditioner and a method for one solve after another.

    Parameters
    ----------
    A : sparse matrix, LinearOperator or callable
        Square; see `cg`. A callable needs ``b`` of the first solve to know its size. Arrays of a
        matrix must not change but by `update`.
    method : str
        "auto", or one of "cg", "fcg", "bicgstab", "gmres:50", "minres", "idr:8", "sqmr",
        "richardson" (docs/guide/options.md).
    M : str, preconditioner, LinearOperator, callable, sparse matrix or None
        "auto", a text such as "amg" or "block_jacobi:32", an object of this package, of SciPy or
        CuPy, or a function; None: no preconditioner.
    coordinates : array of shape (nodes, 2 or 3), optional
        Positions of the nodes, whose unknowns are consecutive rows; (points, unknowns) as in
        `preconditioner`. In float64 on the host they are not copied, and must not change.
    near_null : array of shape (n, k), optional
        Near-null vectors for multigrid, which `M` then is: "auto" or "amg", with options.
    nullspace : "constant", "rigid_body" or array of shape (n, k), optional
        Vectors z with ``A @ z = 0``, A symmetric. Their part of b is left out
        (`Result.null_space_part`), and x is orthogonal to them. By default constants and rigid
        motions for which the product vanishes up to rounding, if a word is "auto".
    format : str
        Format of the matrix in products: "auto", "csr", "sbell:3", ...
    device : str, optional
        "cuda:0" or "auto" copies a matrix of the host to a GPU and solves there; x is where b is.
        By default the solve is where the arrays are. With `devices` "cpu", "cuda" or "auto".
    devices : int, str or list of str, optional
        Several GPUs that solve together, as in `solve`: A, b and x are in host memory, in float64.
        One thread a device lives as long as the solver.
    stream : int or object with ``__cuda_stream__``, optional
        By default the stream that is current in the library of `A` now; all solves use it. Of an
        int the stream must live until the solver is closed.
    threads : int
        Threads of the CPU; 0: as many as OMP_NUM_THREADS or the affinity of the process allow.
    max_seconds : float
        Longest time of the setup, in seconds; where it is over, the first `solve` begins it again.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit; the message names the argument.
    MemoryError, DeviceError

    Notes
    -----
    The setup blocks. One call at a time may use a solver: a `solve` or an `update` of another
    thread meanwhile, or of a callback, is a RuntimeError and changes nothing.

    Examples
    --------
    >>> import numpy as np, tessera
    >>> p = tessera.problems("poisson2d:50")
    >>> with tessera.Solver(p.A, method="cg", M="amg") as solver:
    ...     first = solver.solve(p.b)
    ...     solver.update(2 * p.A.data)
    ...     second = solver.solve(p.b)
    >>> first.converged, np.allclose(second.x, first.x / 2)
    (True, True)
    """

    def __init__(
        self,
        A: Matrix,
        *,
        method: str = "auto",
        M: Preconditioning = "auto",
        coordinates: Coordinates = None,
        near_null: Array | None = None,
        nullspace: str | Array | None = None,
        format: str = "auto",
        device: str | None = None,
        devices: int | str | list[str] | None = None,
        stream: Any = None,
        threads: int = 0,
        max_seconds: float = np.inf,
    ) -> None:
        start = time.perf_counter()
        self._method = checked_text(method, "method")
        self._format = checked_text(format, "format")
        if M is None:
            M = "none"
        if isinstance(M, str):
            checked_text(M, "M")
        self._m = M
        self._threads = whole(threads, "threads", 0, 1024)
        self._coordinates = coordinates
        self._points, self._unknowns = coordinates_of(coordinates)
        self._near_null = near_null
        self._null_space = nullspace
        self._seconds = number(max_seconds, "max_seconds")
        self._closed = False
        self._seen = 0  # Updates of the operators before the latest solve.
        self._operator: Any = None
        self._setup_seconds = 0.0
        self._notes: list[str] = []  # What the next result says about the setup.
        self._core: Any = None
        own = isinstance(A, SparseMatrix)
        with_matrix = own or (is_matrix(A) and not isinstance(A, LinearOperator))
        self._devices = None if is_one(devices) else devices
        if self._devices is not None:
            require_for_group(with_matrix, M, nullspace, stream, device)
            self._group_device, device = device, None
        if with_matrix:
            self._take_matrix(A, device, stream, start)
        else:
            self._take_operator(A, device, stream)

    def _take_matrix(self, a: Any, device: Any, stream: Any, start: float) -> None:
        parts, self.dtype = parts_of(a)
        if parts.shape[0] != parts.shape[1]:
            raise ValueError(f"A: a square matrix is needed, the shape is {parts.shape}")
        self._size: int | None = parts.shape[0]
        self._device = parts.device  # The device of b and x.
        if self._devices is not None:
            require_on_host(parts.device, self.dtype)
        self._context = setup_context(parts.kind, parts.device, device, stream, self._threads)
        self._place = place_of(self._context)
        self._matrix = build(parts, self._context, self.dtype)
        check_coordinates(self._points, self._unknowns, self._matrix)
        self._parts = without_values(parts, self._matrix)
        self._setup_matrix(parts.kind, max(0.0, self._seconds - (time.perf_counter() - start)))
        self._setup_seconds = time.perf_counter() - start

    def _setup_matrix(self, kind: Kind, seconds: float) -> None:
        text, m, near_null = self._m, None, None
        if self._near_null is not None:
            if not isinstance(text, str) or text.split(",")[0] not in ("auto", "amg"):
                raise ValueError(f"near_null: only 'amg' uses near-null vectors, M is {text!r}")
            if ",near_null=" in text:
                raise ValueError(f"near_null: M names near-null vectors, too: {text!r}")
            text = "amg" if text == "auto" else text
            near_null = near_null_array(self._near_null, "near_null", self._matrix.rows)
        elif isinstance(text, str):
            require_use(self._points, text, "M")
        else:
            if self._points is not None:
                raise ValueError("coordinates: they are of no use, as M is no text; leave them out")
            assert self._size is not None
            m = operator_map(
                self._m, self._size, self.dtype, kind, self._place, self._context, "M"
            )
            text = "none"
        if self._devices is not None:
            self._setup_group(text, near_null, seconds)
            return
        self._core = core.Solver(self._context, self._method, text, self._format)
        self._core.__dict__["maps"] = m  # Keeps functions of Python.
        try:
            null_space = null_space_array(
                self._null_space, self._matrix.rows, self._points, self._unknowns
            )
            unknowns = self._unknowns or []
            self._core.setup(self._matrix, self._points, unknowns, near_null, null_space, m, seconds)
        except ValueError as error:
            name = "A" if self._m in ("auto", "none") or near_null is not None else "M"
            raise_named(error, name, self._matrix, preconditioner=name)

    def _setup_group(self, m: str, near_null: Any, seconds: float) -> None:
        try:
            self._core = group_solver(
                self._devices, self._group_device, self._threads, self._method, m, self._format
            )
            self._core.setup(self._matrix, self._points, self._unknowns or [], near_null, seconds)
        except ValueError as error:
            raise_named(
                error, "A", self._matrix, devices="devices", device="device", preconditioner="M",
                solver="method", format="format",
            )  # fmt: skip

    def _take_operator(self, a: Any, device: Any, stream: Any) -> None:
        if device is not None:
            raise ValueError("device: an operator is not copied; leave it out")
        if self._null_space is not None:
            raise ValueError("nullspace: it needs a matrix, A is an operator")
        if self._near_null is not None:
            raise ValueError("near_null: multigrid needs a matrix, A is an operator")
        if self._points is not None:
            raise ValueError("coordinates: multigrid needs a matrix, A is an operator")
        if self._format != "auto":
            raise ValueError("format: A is an operator, which has its own; leave it out")
        if isinstance(self._m, str) and self._m not in ("auto", "none"):
            raise ValueError(f"M: {self._m!r} needs a matrix, A is an operator")
        if isinstance(a, str) or not (hasattr(a, "matvec") or callable(a)):
            raise TypeError(
                f"A: expected a matrix, a LinearOperator or a callable, got {type(a).__name__}"
            )
        self._operator = a
        self._stream = stream
        self._matrix = None
        shape = getattr(a, "shape", None)
        if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
            raise ValueError(f"A: a square matrix is needed, the shape is {tuple(shape)}")
        self._size = None if shape is None else int(shape[0])
        self._wanted = operator_type(a, "A")

    def _setup_operator(self, b: View) -> None:
        """The first right-hand side decides kind, device and type."""
        size = size_of(self._operator, b)
        self._size = size
        wanted = real_type(b.dtype, "b")
        single = wanted == FLOAT32 and (self._wanted is None or self._wanted == FLOAT32)
        self.dtype = FLOAT32 if single else np.dtype(np.float64)
        if isinstance(self._operator, LinearOperator):
            self.dtype = self._operator.dtype
        self._device = self._place = b.device
        self._context = new_context(b.kind, b.device, self._stream, self._threads)
        args = (size, self.dtype, b.kind, b.device, self._context)
        a = operator_map(self._operator, *args, "A")
        m = None if isinstance(self._m, str) else operator_map(self._m, *args, "M")
        self._core = map_solver(self._context, self._method, a, m)

    @property
    def shape(self) -> tuple[int, int] | None:
        """Shape of the matrix; None for a callable before the first solve."""
        return None if self._size is None else (self._size, self._size)

    def update(self, values: Any, *, strict: bool = False) -> None:
        """Sets new values, and sets the preconditioner up for them.

        Parameters
        ----------
        values : array or sparse matrix
            In the order of the values given first, or a matrix. Where no conversion is needed the
            array is borrowed. For a matrix with entries in other places, or in another format, the
            solver is set up anew, which takes longer; `Result.warnings` of the next solve says so.
        strict : bool
            Whether a matrix with another pattern or format is a ValueError.

        Raises
        ------
        TypeError, ValueError
            For values that do not fit, or that the preconditioner cannot be set up for.
        RuntimeError
            If another thread, or a solve that calls this from its callback, uses the solver, which
            keeps its values.

        Notes
        -----
        Blocks until the work is complete. A preconditioner passed as an object is not updated.
        """
        self._require_open()
        start = time.perf_counter()
        strict = flag(strict, "strict")
        if self._matrix is None:
            raise ValueError("values: the solver has an operator, which is not updated")
        found = values_or_pattern(self._parts, values, self.dtype, "values")
        if isinstance(found, OtherPattern):
            if strict:
                raise found.error("values")
            self._replace_matrix(found)
        else:
            self._wait_for(found.kind, found.device)
            with self._named_values():
                self._core.update(found.pointer, owners(self._parts, found))
            self._notes = []
        self._setup_seconds = time.perf_counter() - start

    def _replace_matrix(self, other: OtherPattern) -> None:
        parts = other.parts
        if parts.device != self._parts.device:
            raise ValueError("values: the matrix is on another device than that of the setup")
        self._wait_for(parts.kind, parts.device)
        matrix = build(parts, self._context, self.dtype, "values")
        check_coordinates(self._points, self._unknowns, matrix)
        with self._named_values(matrix):
            self._core.replace_matrix(matrix)
        self._matrix = matrix
        self._parts = without_values(parts, matrix)
        self._notes = [f"in the update {other.change}: the solver was set up anew"]

    def _wait_for(self, kind: Kind, device: int) -> None:
        if device != HOST:
            call_context(kind, device).synchronize()

    @contextmanager
    def _named_values(self, matrix: Any = None) -> Iterator[None]:
        """Errors of an update are about its values."""
        try:
            yield
        except ValueError as error:
            at_fault = self._matrix if matrix is None else matrix
            raise_named(error, "values", at_fault, matrix="values", preconditioner="values")
        finally:
            self._require_open()  # Another thread may have closed it.

    @property
    def _updates(self) -> int:
        return 0 if self._core is None else int(self._core.updates)

    def solve(
        self,
        b: Array,
        x0: Array | None = None,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        maxiter: int = 10000,
        max_seconds: float = np.inf,
        left: bool = False,
        callback: Callback | None = None,
    ) -> Result:
        """Solves A x = b, or A X = B for the columns of an (n, k) array.

        Parameters
        ----------
        b : array of shape (n,) or (n, k)
            Converted to the type of the matrix. Columns are copied unless the array is in Fortran's
            order.
        x0 : array, optional
            Start, of the shape of `b`; by default zero.
        rtol, atol : float
            Stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``. Both are finite. By default
            `rtol` is 1e-8, for float32 1e-4.
        maxiter : int
            Maximum number of iterations.
        max_seconds : float
            Longest time of the solve, in seconds, with the setups that it needs.
        left : bool
            Preconditioning from the left, for gmres, idr, bicgstab and richardson; "auto" chooses
            among such methods.
        callback : callable, optional
            Called with a `Progress` after each iteration; False ends the solve.

        Returns
        -------
        Result

        Raises
        ------
        RuntimeError
            If another call uses the solver.
        KeyboardInterrupt
            For Ctrl-C, after the iterations that run; the solver stays usable.

        Notes
        -----
        Blocks until the solve ends, with the lock of the interpreter released.
        """
        self._require_open()
        found = view(b, "b")
        if self._core is None:
            self._setup_operator(found)
        assert self._size is not None
        left = flag(left, "left")
        options = options_of(
            rtol, atol, whole(maxiter, "maxiter", 0), progress_hook(callback), max_seconds,
            left,
        )  # fmt: skip
        if left and self._devices is None and self._method != "auto" and not core.allows_left(self._method):
            raise ValueError(f"left: {self._method} takes preconditioners from the right alone")
        if self._devices is not None:
            require_on_host(found.device)
        if found.device != self._device:
            raise ValueError(
                f"b: it is {place_text(found.device)}, the matrix {place_text(self._device)}; "
                "move one"
            )
        x, systems, right = systems_of(b, found, x0, self._size, self.dtype)
        try:
            reports, setup = self._run(systems, options)
            del right  # It owns what the systems read.
        except ValueError as error:
            raise_named(error, "A")
        self._require_open()  # A callback may have closed it.
        name_non_finite_row(self._matrix, reports)
        result = found.kind.finished(x, self._context)
        seconds, self._setup_seconds = self._setup_seconds, 0.0
        notes, self._notes = self._notes, []
        shares = [] if self._devices is None else self._core.devices()
        made = result_of(
            found.kind.transposed(result) if len(reports) > 1 else result, reports, setup, seconds,
            memory_of(self._core, shares) if shares else self._context, notes,
        )  # fmt: skip
        made.devices = shares
        return made

    def _run(self, systems: Any, options: Any) -> tuple[list[dict[str, Any]], Setup]:
        made = self._core
        if made is None:  # Another thread has closed it.
            self._require_open()
        if self._devices is not None:
            reports, method, precond, format, about = made.solve(systems, options)
            return reports, Setup(method, precond, format, about, [], 0)
        operators = [self._operator, self._m]
        updates = sum(each._updates for each in operators if isinstance(each, LinearOperator))
        reports, chosen, attempt, precond, format, about = made.solve(
            systems, options, updates != self._seen
        )
        self._seen = updates
        method = chosen[attempt][0] if chosen else self._method
        if isinstance(self._m, Preconditioner):
            precond, about = self._m.text, self._m.report
        elif not isinstance(self._m, str):
            precond = repr(self._m)
        return reports, Setup(method, precond, format, about, chosen, attempt)

    def _require_open(self) -> None:
        if self._closed:
            self.close()  # Releases what a call has made since another thread closed the solver.
            raise RuntimeError("the solver is closed")

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        if self._closed:
            return "<Solver, closed>"
        m = self._m if isinstance(self._m, str) else type(self._m).__name__
        return f"<Solver of shape {self.shape}, method {self._method!r}, M {m!r}>"

    def close(self) -> None:
        """Releases the matrix, the preconditioner and all memory."""
        self._closed = True
        self._core = self._matrix = self._context = None

    def __enter__(self) -> Solver:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
