"""The result of a solve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._arguments import FAILURES, SOLVED

__all__ = ["Result"]


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


@dataclass(repr=False, eq=False)  # For arrays == is no bool.
class Result:
    """The result of `solve`; ``repr`` prints it as a table.

    With several right-hand sides the numbers are those of the one that ended worst, and `columns`
    has all.

    Attributes
    ----------
    x : array
        In the kind and shape of b, on its device.
    converged : bool
        Whether ``norm(b - A @ x) <= max(rtol * norm(b), atol)`` and the residual of each row is
        small as well (`backward_error`); or whether x is as accurate as its type allows (status
        "rounding_limit").
    status : str
        "converged", "max_iterations", "max_seconds", "accuracy_lost", "stagnated", "breakdown",
        "non_finite", "singular_block", "interrupted", "unbalanced", "rounding_limit",
        "least_squares" or "singular".
    message : str
        One sentence unless it converged.
    iterations : int
        Sum over all attempts.
    residuals : list of float
        Relative recursive residuals, the initial one first.
    true_residual : float
        ``norm(b - A @ x) / norm(b)``.
    backward_error : float
        Largest ``abs(b - A @ x) / (abs(A) @ abs(x) + abs(b))``; NaN where `A` is an operator.
    null_space_part : float
        The part of b in the null space of A, over the norm of b: it was left out, and residuals are
        relative to what remains. 0 where no null space is known.
    timings : dict of str to float
        Seconds of "setup" (0 where it was done before) and "solve".
    memory : int
        Peak number of bytes allocated by the solver, on its device.
    solver, preconditioner, format : str
        In use; what "auto" chose.
    chosen : list of tuple
        (solver, preconditioner, format, reason) of each attempt of "auto".
    device : str
    report : dict
        What the setup of the preconditioner found: numbers of blocks, condition numbers, levels.
    warnings : list of str
        What made the setup or the solve slow, and the remedy.
    devices : list of dict
        For each of several devices: device, rows, nonzeros, neighbours, received_bytes (in a product
        with A), peak_memory_bytes, deal_seconds, setup_seconds, wait_seconds (for the others).
        `backward_error` is then NaN.
    columns : list of dict
        Status, message, iterations, residuals, true_residual, backward_error and null_space_part of
        each right-hand side.
    """

    x: Any
    converged: bool
    status: str
    message: str
    iterations: int
    residuals: list[float]
    true_residual: float
    backward_error: float
    null_space_part: float
    timings: dict[str, float]
    memory: int
    solver: str
    preconditioner: str
    format: str
    device: str
    chosen: list[tuple[str, str, str, str]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    devices: list[dict[str, Any]] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    _recursive: float = 0.0
    _attempt: int = 0
    _products: int = 0
    _restarts: int = 0

    def __repr__(self) -> str:
        rows = [
            ("solver", self.solver),
            ("preconditioner", self.preconditioner),
            ("format", self.format),
        ]
        if self.chosen:
            rows.append(("reason", self.chosen[self._attempt][3]))
        rows += [
            ("device", self.device),
            *(
                (f"device {k}", f"{each['rows']} rows, {each['neighbours']} neighbours")
                for k, each in enumerate(self.devices)
            ),
            (
                "iterations",
                f"{self.iterations} ({self._products} products with A, {self._restarts} restarts)",
            ),
            ("residual", f"{self.true_residual:.3e} (recursive {self._recursive:.3e})"),
            ("backward error", f"{self.backward_error:.3e} (by rows)"),
            ("seconds", ", ".join(f"{name} {each:.3f}" for name, each in self.timings.items())),
            ("peak memory", _bytes(self.memory)),
        ]
        if len(self.columns) > 1:
            ended = sum(column["status"] in SOLVED for column in self.columns)
            rows.insert(0, ("right sides", f"{len(self.columns)}, {ended} converged"))
        rows += [("warning", text) for text in self.warnings]
        first = f"converged in {self.iterations} iterations"
        if self.status == "rounding_limit":
            first = f"solved in {self.iterations} iterations: {self.message}"
        if not self.converged:
            first = f"not converged: {self.message}"
        return "\n".join([first] + [f"  {name:<15} {text}" for name, text in rows])

    def plot(self, *args: Any, **kwargs: Any) -> Any:
        """Draws the residuals.

        Parameters
        ----------
        *args, **kwargs
            Further runs, and the options of `tessera.plot.residuals`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        PlotError
            A ValueError: Matplotlib is not installed.
        """
        import importlib

        return importlib.import_module("tessera.plot").residuals(self, *args, **kwargs)


_ORDER = (
    "converged",
    "rounding_limit",
    "unbalanced",
    "least_squares",
    "singular",
    "max_iterations",
    "max_seconds",
    "stagnated",
    "accuracy_lost",
    "interrupted",
    "breakdown",
    "singular_block",
    "non_finite",
)


def worst(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """The report of the right-hand side that ended worst; of equals the one of most iterations."""
    return max(reports, key=lambda each: (_ORDER.index(each["status"]), each["iterations"]))


class Setup(NamedTuple):
    """What a solve used."""

    method: str
    preconditioner: str
    format: str
    report: dict[str, Any]
    chosen: list[tuple[str, str, str, str]]
    attempt: int


def null_space_notes(report: dict[str, Any]) -> list[str]:
    part = report["null_space_part"]
    if not part > 1e-10:
        return []
    return [f"A is singular: {part:.1e} of b is in the null space and was left out"]


def result_of(
    x: Any, reports: list[dict[str, Any]], setup: Setup, setup_seconds: float, context: Any,
    notes: list[str],
) -> Result:  # fmt: skip
    report = worst(reports)
    names = ("status", "message", "iterations", "residuals")

    def column(each: dict[str, Any]) -> dict[str, Any]:
        return {name: each[name] for name in names} | {
            "true_residual": each["true_relative_residual"],
            "backward_error": each["backward_error"],
            "null_space_part": each["null_space_part"],
        }

    return Result(
        x=x,
        converged=report["status"] in SOLVED,
        **column(report),
        timings={
            "setup": setup_seconds + report["setup_seconds"],
            "solve": report["seconds"],
        },
        memory=context.peak_memory_bytes,
        solver=setup.method,
        preconditioner=setup.preconditioner,
        format=setup.format,
        device=context.description,
        chosen=setup.chosen,
        report=setup.report,
        warnings=list(setup.report.get("warnings", [])) + notes + null_space_notes(report),
        columns=[column(each) for each in reports],
        _recursive=report["relative_residual"],
        _attempt=setup.attempt,
        _products=report["operator_applications"],
        _restarts=report["restarts"],
    )


def name_non_finite_row(matrix: Any, reports: list[dict[str, Any]]) -> None:
    """Says so in the reports of failed solves if the matrix (None: an operator) holds NaN or
    infinity; only then its values are looked at."""
    failed = [each for each in reports if each["status"] in FAILURES]
    row = matrix.non_finite_row() if failed and matrix is not None else -1
    for report in failed if row >= 0 else []:
        report["status"] = "non_finite"
        report["message"] = f"A: row {row} holds NaN or infinity"
