"""What is drawn: runs from JSON files and from objects in memory, in one form."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._error import PlotError
from ._vtu import Part, read_vtu

__all__ = ["Info", "Level", "Matrix", "Phase", "PlotError", "Run", "Trial", "Tune", "read", "take"]


@dataclass
class Phase:
    """Time of one kind of work; `share` of the measured copy rate, NaN where no bytes are known."""

    name: str
    calls: int
    seconds: float
    share: float


@dataclass
class Level:
    """One level of multigrid; the matrix has `entries` numbers in `blocks` of `block` rows."""

    rows: int
    block: int
    blocks: int

    @property
    def entries(self) -> int:
        return self.blocks * self.block * self.block


@dataclass(eq=False)  # For arrays == is no bool.
class Run:
    """One solve. `attempts`: (solver, preconditioner, iterations after it) of "auto"."""

    source: str
    matrix: str = ""
    rows: int = 0
    nonzeros: int = 0
    solver: str = ""
    preconditioner: str = ""
    format: str = ""
    device: str = ""
    status: str = ""
    iterations: int = 0
    residuals: Any = field(default_factory=lambda: np.zeros(0))
    true_residual: float = math.nan
    seconds: dict[str, float] = field(default_factory=dict)
    phases: list[Phase] = field(default_factory=list)
    copy_rate: float = math.nan
    attempts: list[tuple[str, str, int]] = field(default_factory=list)
    blocks: int = 0
    singular: int = 0
    decades: list[int] = field(default_factory=list)
    worst: list[dict[str, float]] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    label: str = ""


@dataclass
class Trial:
    """One way to solve that `tessera tune` measured."""

    solver: str
    preconditioner: str
    format: str
    is_auto: bool
    status: str
    iterations: int
    setup: float
    total: float


@dataclass
class Tune:
    """The trials of `tessera tune` for one matrix."""

    source: str
    matrix: str
    device: str
    trials: list[Trial]
    label: str = ""


@dataclass
class Info:
    """What `tessera info` says of a matrix. `bounds`: (bound, blocks, bytes of their inverses);
    `formats`: (name, bytes stored, bytes that a product reads)."""

    source: str
    matrix: str
    rows: int
    nonzeros: int
    natural: dict[int, int]
    bounds: list[tuple[int, int, float]]
    formats: list[tuple[str, float, float]]
    label: str = ""


@dataclass(eq=False)
class Matrix:
    """The pattern of a sparse matrix: row and column of each stored entry."""

    source: str
    shape: tuple[int, int]
    row: Any
    column: Any
    label: str = ""


class _Json:
    """A JSON object whose members are read with a check of their type."""

    def __init__(self, value: Any, source: str, name: str = "") -> None:
        self.source, self.name = source, name
        if not isinstance(value, dict):
            raise PlotError(f"{source}: {name or 'the file'} is not a JSON object")
        self.value = value

    def _wrong(self, key: str, expected: str) -> PlotError:
        return PlotError(f"{self.source}: {self.name}{key} is not {expected}")

    def text(self, key: str) -> str:
        value = self.value.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def number(self, key: str, missing: float = math.nan) -> float:
        value = self.value.get(key)
        if value is None:
            return missing
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a number that can be drawn") from None

    def count(self, key: str) -> int:
        value = self.number(key, 0)
        if not (0 <= value < 2.0**63 and value == math.floor(value)):
            raise self._wrong(key, "a whole number, 0 or more")
        return int(value)

    def items(self, key: str) -> Sequence[Any]:
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def numbers(self, key: str) -> Any:
        values = self.items(key)
        try:
            return _history([math.nan if v is None else v for v in values])
        except (TypeError, ValueError):
            raise self._wrong(key, "a list of numbers") from None

    def counts(self, key: str) -> list[int]:
        return [_Json({"": v}, self.source, self.name + key).count("") for v in self.items(key)]

    def object(self, key: str) -> _Json:
        return _Json(self.value.get(key, {}), self.source, f"{self.name}{key}.")

    def objects(self, key: str) -> list[_Json]:
        return [_Json(v, self.source, f"an item of {self.name}{key}") for v in self.items(key)]


def _history(values: Any) -> Any:
    """A history as float64; refuses texts, which NumPy would convert."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "fiu"):
        raise TypeError("not a list of numbers")
    return array.astype(np.float64)


def _take_report(run: Run, values: _Json) -> None:
    """Blocks and levels, as a preconditioner reports them."""
    if isinstance(values.value.get("blocks"), dict):
        blocks = values.object("blocks")
        run.blocks = blocks.count("count") or run.blocks
        run.singular = blocks.count("singular")
        run.decades = blocks.counts("condition_decades")
        run.worst = [
            {name: each.number(name) for name in ("block", "first_row", "rows", "condition")}
            for each in blocks.objects("worst")
        ]
    if "amg" in values.value:
        run.levels = [_level(each) for each in values.object("amg").objects("levels")]


def _level(json: _Json) -> Level:
    block = json.count("block")
    return Level(json.count("nodes") * block, block, json.count("blocks"))


def _run_of(json: _Json) -> Run:
    if json.text("status") == "error":
        raise PlotError(f"{json.source}: the run failed: {json.text('message')}")
    matrix, seconds = json.object("matrix"), json.object("seconds")
    run = Run(
        source=json.source,
        matrix=matrix.text("name"),
        rows=matrix.count("rows"),
        nonzeros=matrix.count("nonzeros"),
        solver=json.text("solver"),
        preconditioner=json.text("preconditioner"),
        format=matrix.text("format"),
        device=json.text("device"),
        status=json.text("status"),
        iterations=json.count("iterations"),
        residuals=json.numbers("residuals"),
        true_residual=json.number("true_relative_residual"),
        seconds={name: seconds.number(name) for name in seconds.value},
        copy_rate=json.number("copy_bytes_per_second"),
    )
    run.phases = [
        Phase(p.text("name"), p.count("calls"), p.number("seconds"), p.number("fraction_of_copy"))
        for p in json.objects("phases")
    ]
    run.attempts = [
        (a.text("solver"), a.text("preconditioner"), a.count("iterations"))
        for a in json.objects("attempts")
    ]
    _take_report(run, json)
    return run


def _tune_of(json: _Json) -> Tune:
    trials = [
        Trial(
            t.text("solver"),
            t.text("preconditioner"),
            t.text("format"),
            t.value.get("auto") is True,
            t.text("status"),
            t.count("iterations"),
            t.number("setup_seconds"),
            t.number("total_seconds"),
        )
        for t in json.objects("trials")
    ]
    return Tune(json.source, json.text("matrix"), json.text("device"), trials)


def _info_of(json: _Json) -> Info:
    natural = {}
    if "natural_blocks" in json.value:
        sizes = json.object("natural_blocks").object("sizes")
        for size in sizes.value:
            if not size.isdecimal():
                raise PlotError(f"{json.source}: natural_blocks.sizes has a key {size!r}, no size")
            natural[int(size)] = sizes.count(size)
    bounds = [
        (each.count("bound"), each.count("count"), each.number("inverse_bytes"))
        for each in json.objects("agglomerated_blocks")
    ]
    formats = [
        (each.text("format"), each.number("bytes"), each.number("read_bytes"))
        for each in json.objects("formats")
    ]
    matrix = (json.text("name"), json.count("rows"), json.count("nonzeros"))
    return Info(json.source, *matrix, natural, bounds, formats)


# What is drawn has the same keys in tessera-run/1.
_SCHEMAS: dict[str, Callable[[_Json], Run | Tune | Info]] = {
    "tessera-run/1": _run_of,
    "tessera-run/2": _run_of,
    "tessera-tune/2": _tune_of,
    "tessera-info/2": _info_of,
}


def _of_json(value: Any, source: str) -> Run | Tune | Info:
    json = _Json(value, source)
    schema = json.value.get("schema")
    make = _SCHEMAS.get(schema) if isinstance(schema, str) else None
    if make is None:
        found = f"its schema is {schema!r}" if isinstance(schema, str) else "it has no schema"
        raise PlotError(
            f"{source}: this is not JSON of tessera solve, tune or info ({found}); write it with "
            "--json FILE"
        )
    return make(json)


def _read_matrix(path: str) -> Matrix:
    from .._backend import core
    from .._contexts import host_context

    if not os.path.exists(path):
        raise PlotError(f"{path}: {os.strerror(errno.ENOENT)}")
    try:
        path.encode()
        rows, columns, offsets, indices, _ = core.read_matrix(host_context(), path, 8)
    except UnicodeEncodeError:
        raise PlotError(f"{path}: the name is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise PlotError(str(error)) from None
    return Matrix(path, (rows, columns), np.repeat(np.arange(rows), np.diff(offsets)), indices)


def path_text(path: Any, name: str) -> str:
    """The path; errors name the argument."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(path).__name__}") from None


def read(path: str | os.PathLike[str]) -> Run | Tune | Info | Matrix | Part:
    """Reads JSON of ``tessera solve``, ``tune`` or ``info``, a Matrix Market file (.mtx, .mtx.gz),
    or results of a structure (.vtu).

    Parameters
    ----------
    path : path
        Of the file.

    Returns
    -------
    Run, Tune, Info, Matrix or Part
        As the functions of `tessera.plot` take it.

    Raises
    ------
    PlotError
        One sentence that begins with the name of the file.
    TypeError
        For what is no path.
    """
    name = path_text(path, "path")
    if name.endswith((".mtx", ".mtx.gz")):
        return _read_matrix(name)
    if name.endswith(".vtu"):
        return read_vtu(name)
    try:
        with open(name, encoding="utf-8") as file:
            value = json.load(file)
    except OSError as error:
        raise PlotError(f"{name}: {error.strerror or error}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise PlotError(f"{name}: this is not JSON ({place})") from None
    except (ValueError, RecursionError):  # Bytes that are not UTF-8, numbers or nesting too long.
        raise PlotError(f"{name}: this is not JSON") from None
    return _of_json(value, name)


def _matrix_of(matrix: Any) -> Matrix:
    triplets = matrix.tocoo()
    return Matrix("", tuple(triplets.shape), np.asarray(triplets.row), np.asarray(triplets.col))


def _run_of_result(result: Any) -> Run:
    """A run from a `tessera.Result`, or from an object that has some of its attributes."""
    run = Run(
        source=type(result).__name__,
        solver=str(getattr(result, "solver", "")),
        preconditioner=str(getattr(result, "preconditioner", "")),
        format=str(getattr(result, "format", "")),
        device=str(getattr(result, "device", "")),
        status=str(getattr(result, "status", "")),
        residuals=_history(getattr(result, "residuals", [])),
        true_residual=float(getattr(result, "true_residual", math.nan)),
        seconds=dict(getattr(result, "timings", {})),
    )
    run.iterations = int(getattr(result, "iterations", max(0, len(run.residuals) - 1)))
    report = getattr(result, "report", None) or {}
    if isinstance(report.get("blocks"), int):
        run.blocks = report["blocks"]
    _take_report(run, _Json(report.get("values") or {}, "report"))
    return run


def take(thing: Any) -> Run | Tune | Info | Matrix | Part:
    """What `thing`, one of the runs, holds: a path, parsed JSON, a `Result`, a `MultilevelSolver`,
    a sparse matrix, or a list of residuals.

    Raises
    ------
    TypeError
        For anything else.
    PlotError
        As `read`.
    """
    if isinstance(thing, (Run, Tune, Info, Matrix, Part)):
        return thing
    if isinstance(thing, (str, bytes, os.PathLike)):
        return read(os.fsdecode(thing))
    if hasattr(thing, "tocoo"):  # Also SciPy's matrices that are dicts.
        return _matrix_of(thing)
    if isinstance(thing, dict):
        return _of_json(thing, "the dict")
    if hasattr(thing, "residuals") and not callable(thing.residuals):
        return _run_of_result(thing)
    levels = getattr(thing, "levels", None)
    if isinstance(levels, list) and all(isinstance(level, dict) for level in levels):
        run = Run(source=type(thing).__name__, preconditioner=str(getattr(thing, "text", "amg")))
        run.levels = [_level(_Json(level, "levels")) for level in levels]
        return run
    try:
        history = _history(thing)
    except (TypeError, ValueError):
        raise TypeError(
            "runs: expected files, their dicts, results, multigrid solvers, sparse matrices or "
            f"lists of residuals, got {type(thing).__name__}"
        ) from None
    return Run("history", iterations=max(0, history.size - 1), residuals=history)
