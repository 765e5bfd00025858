"""From runs to pictures without a form yet: curves, rows of bars, patterns; and their tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._part import PartPicture, part_picture
from ._pattern import Pattern, pattern
from ._place import drawable
from ._runs import Info, Matrix, PlotError, Run, Tune
from ._table import Cell, Table
from ._text import amount, bytes_text, count, name_all, seconds_text
from ._vtu import Part

__all__ = ["KINDS", "Bar", "Bars", "Curves", "Line", "Panel", "Row", "panels", "summary"]


@dataclass
class Line:
    """A residual history. `changes`: (iteration, solver and preconditioner) where "auto" left an
    attempt for the next one; `end`: the true residual."""

    label: str
    number: int
    y: Any
    end: float
    changes: list[tuple[int, str]]


@dataclass
class Curves:
    """Histories over iterations, on a logarithmic axis."""

    key: str
    title: str
    note: str
    lines: list[Line]

    def tables(self) -> list[Table]:
        """At most about 25 rows: iterations equally far apart, and the last of each run."""
        longest = max(len(line.y) for line in self.lines)
        step = next(s * 10**p for p in range(19) for s in (1, 2, 5) if longest / (s * 10**p) <= 20)
        chosen = set(range(0, longest, step)) | {len(line.y) - 1 for line in self.lines}
        rows = []
        for k in sorted(chosen):
            cells: list[Cell] = [(count(k), k)]
            for line in self.lines:
                value = float(line.y[k]) if k < len(line.y) else None
                cells.append(("", None) if value is None else (amount(value), value))
            rows.append(cells)
        ends: list[Cell] = [("true residual", None)]
        ends += [(amount(each.end), each.end) for each in self.lines]
        headers = ["iteration", *(line.label for line in self.lines)]
        return [Table("Relative residuals", headers, [*rows, ends])]


@dataclass
class Bar:
    """A value with its text; `part` of it is drawn darker."""

    value: float
    text: str
    part: float = 0.0


@dataclass
class Row:
    """A name with a bar in each column, or a heading without bars in the colour of a run."""

    label: str
    bars: list[Bar] = field(default_factory=list)
    note: str = ""
    number: int = 0


@dataclass
class Bars:
    """Rows of bars. `limit`: for each column a value that a line marks, NaN for none."""

    key: str
    title: str
    note: str
    first: str
    columns: list[str]
    rows: list[Row]
    limit: list[float]

    def tables(self) -> list[Table]:
        notes = any(row.note for row in self.rows if row.bars)
        tables: list[Table] = []
        for row in self.rows:
            if not row.bars:
                text = ": ".join(t for t in (row.label, row.note) if t)
                tables.append(Table(text, [self.first, *self.columns], []))
                continue
            if not tables:
                tables.append(Table(self.title, [self.first, *self.columns], []))
            cells: list[Cell] = [(row.label, None), *((b.text, b.value) for b in row.bars)]
            tables[-1].rows.append([*cells, (row.note, None)] if notes else cells)
        for table in tables:
            table.headers += ["note"] if notes else []
        return tables


def _headed(runs: Sequence[Any], make: Callable[[Any], list[Row]], about: Any) -> list[Row]:
    """The rows of all runs, those of each under its name and matrix."""
    rows = []
    for k, run in runs:
        of_run = make(run)
        for row in of_run:
            row.number = k
        matrix = run.matrix if run.matrix not in run.label else ""
        rows.append(Row(run.label, note=", ".join(t for t in (matrix, about(run)) if t), number=k))
        rows += of_run
    return rows


def _residuals(runs: list[tuple[int, Run]]) -> Curves | None:
    runs = [(k, run) for k, run in runs if drawable(run.residuals).any()]
    if not runs:
        return None
    lines = []
    for k, run in runs:
        last = len(run.residuals) - 1
        changes: list[tuple[int, str]] = []
        for *words, end in run.attempts[:-1]:
            if end > (changes[-1][0] if changes else 0) and end <= last:  # It made iterations.
                parts = [word.split(",")[0] for word in words if word not in ("none", "")]
                changes.append((end, " + ".join(parts)))
        lines.append(Line(run.label, k, run.residuals, run.true_residual, changes))
    names = {run.matrix for _, run in runs}
    marks = [*names] if len(names) == 1 and names != {""} else []
    if any(drawable(np.array(line.end)) for line in lines):
        marks.append("ring: true residual at the end")
    if any(line.changes for line in lines):
        marks.append("diamond: auto goes on with another attempt")
    gaps = sum(int((~np.isfinite(line.y)).sum()) for line in lines)
    if gaps:
        marks.append(f"{count(gaps)} residual{' is' if gaps == 1 else 's are'} not finite")
    return Curves("residuals", "Relative residual over iterations", "; ".join(marks), lines)


def _phases(runs: list[tuple[int, Run]]) -> Bars | None:
    runs = [(k, run) for k, run in runs if run.phases]
    if not runs:
        return None

    def rows(run: Run) -> list[Row]:
        made = []
        for phase in run.phases:
            share = f"{100 * phase.share:.0f} %" if math.isfinite(phase.share) else "-"
            time = Bar(phase.seconds, seconds_text(phase.seconds))
            made.append(Row(phase.name, [time, Bar(phase.share, share)]))
        return made

    def about(run: Run) -> str:
        parts = [(name, run.seconds.get(name, 0.0)) for name in ("setup", "solve")]
        times = [f"{name} {seconds_text(t)}" for name, t in parts if t > 0]
        rate = [f"copy rate {bytes_text(run.copy_rate)}/s"] if run.copy_rate > 0 else []
        return ", ".join(times + rate)

    note = "share: least memory traffic over time, of the measured copy rate; more: from caches"
    return Bars(
        "phases", "Time of the phases, and share of the copy rate", note, "phase",
        ["time", "share of the copy rate"], _headed(runs, rows, about), [math.nan, 1.0],
    )  # fmt: skip


def _decade(power: int) -> str:
    names = ["1", "10", "100", "1,000", "10,000"]
    low, high = (names[p] if p < len(names) else f"1e{p}" for p in (power, power + 1))
    return f"{low} to {high}"


def _condition_rows(run: Run) -> list[Row]:
    filled = [p for p, number in enumerate(run.decades) if number]
    shown = range(filled[0], filled[-1] + 1)
    rows = [Row(_decade(p), [Bar(run.decades[p], count(run.decades[p]))]) for p in shown]
    if run.worst:
        worst = run.worst[0]
        condition, first = worst["condition"], worst["first_row"]
        at = len(rows) - 1
        if condition >= 1 and math.isfinite(condition):
            at = min(max(int(math.log10(condition)) - filled[0], 0), at)
        rows[at].note = f"worst: block {worst['block']:.0f}, {amount(condition)}"
        if math.isfinite(first) and math.isfinite(worst["rows"]):
            rows[at].note += f" (rows {first:.0f} to {first + worst['rows'] - 1:.0f})"
    return rows


def _conditions(runs: list[tuple[int, Run]]) -> Bars | None:
    runs = [(k, run) for k, run in runs if any(run.decades)]
    if not runs:
        return None

    def about(run: Run) -> str:
        singular = f", {count(run.singular)} singular" if run.singular else ""
        return f"{count(run.blocks)} blocks{singular}"

    return Bars(
        "conditions", "Condition numbers of the diagonal blocks", "", "condition number",
        ["blocks"], _headed(runs, _condition_rows, about), [math.nan],
    )  # fmt: skip


def _hierarchy(runs: list[tuple[int, Run]]) -> Bars | None:
    runs = [(k, run) for k, run in runs if run.levels]
    if not runs:
        return None

    def rows(run: Run) -> list[Row]:
        return [
            Row(
                f"level {k}, {level.block} x {level.block}",
                [Bar(n, count(n)) for n in (level.rows, level.blocks, level.entries)],
            )
            for k, level in enumerate(run.levels)
        ]

    def about(run: Run) -> str:
        total, first = sum(each.entries for each in run.levels), run.levels[0].entries
        return f"{total / first:.2f} times the entries of level 0 in all" if first else ""

    return Bars(
        "hierarchy", "Levels of multigrid", "", "level and its blocks",
        ["rows", "blocks", "entries"], _headed(runs, rows, about), [math.nan] * 3,
    )  # fmt: skip


def _trials(tunes: list[tuple[int, Tune]]) -> Bars | None:
    tunes = [(k, tune) for k, tune in tunes if tune.trials]
    if not tunes:
        return None

    def rows(tune: Tune) -> list[Row]:
        named = [_Named(t.solver, t.preconditioner, t.format) for t in tune.trials]
        others = [each for each, t in zip(named, tune.trials, strict=True) if not t.is_auto]
        names = iter(name_all(others))
        ranked = []
        for trial, words in zip(tune.trials, named, strict=True):
            # What auto chose often is one of the other trials.
            name = "auto: " + name_all([words])[0] if trial.is_auto else next(names)
            solved = trial.status in ("converged", "rounding_limit")
            note = "" if solved else trial.status.replace("_", " ")
            time = Bar(trial.total, seconds_text(trial.total), trial.setup)
            key = (bool(note), math.inf if math.isnan(trial.total) else trial.total)
            steps = Bar(trial.iterations, count(trial.iterations))
            ranked.append((key, Row(name, [time, steps], note)))
        return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]

    return Bars(
        "trials", "Trials of tessera tune", "dark: setup", "trial",
        ["time", "iterations"], _headed(tunes, rows, lambda _: ""), [math.nan] * 2,
    )  # fmt: skip


@dataclass
class _Named:
    solver: str
    preconditioner: str
    format: str
    matrix: str = ""
    device: str = ""
    source: str = ""


def _blocks(infos: list[tuple[int, Info]]) -> Bars | None:
    infos = [(k, info) for k, info in infos if info.natural or info.bounds]
    if not infos:
        return None

    def rows(info: Info) -> list[Row]:
        made = [
            Row(f"natural, of {size} row{'s' * (size != 1)}", [Bar(n, count(n)), Bar(math.nan, "")])
            for size, n in sorted(info.natural.items())
        ]
        made += [
            Row(f"joined, up to {bound} rows", [Bar(n, count(n)), Bar(size, bytes_text(size))])
            for bound, n, size in info.bounds
        ]
        return made

    return Bars(
        "blocks", "Diagonal blocks of equal rows", "", "found as",
        ["blocks", "memory of their inverses"], _headed(infos, rows, lambda _: ""), [math.nan] * 2,
    )  # fmt: skip


def _formats(infos: list[tuple[int, Info]]) -> Bars | None:
    infos = [(k, info) for k, info in infos if info.formats]
    if not infos:
        return None

    def rows(info: Info) -> list[Row]:
        return [Row(f[0], [Bar(v, bytes_text(v)) for v in f[1:]]) for f in info.formats]

    return Bars(
        "formats", "Formats of the matrix", "", "format", ["memory", "a product reads"],
        _headed(infos, rows, lambda _: ""), [math.nan] * 2,
    )  # fmt: skip


KINDS = ("residuals", "phases", "conditions", "hierarchy", "trials", "blocks", "formats", "spy",
         "part")  # fmt: skip
Panel = Curves | Bars | Pattern | PartPicture


def _texts(words: Any, name: str) -> list[str]:
    """Texts, as a caller gives them; errors name the argument."""
    if words is None:
        return []
    try:
        found = None if isinstance(words, str) else list(words)
    except TypeError:
        found = None
    if found is None or not all(isinstance(word, str) for word in found):
        raise TypeError(f"{name}: expected a list of texts, got {words!r}")
    return found


def panels(
    things: Sequence[Run | Tune | Info | Matrix | Part],
    labels: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    blocks: Any = None,
    rows: tuple[int, int] | None = None,
    **of_part: Any,
) -> list[Panel]:
    """All pictures that `things` hold, in the order of `KINDS`; sets their labels. `of_part`:
    field, deformation and view of parts."""
    labels, only = _texts(labels, "labels"), _texts(only, "only")
    named = [thing for thing in things if not isinstance(thing, (Matrix, Part))]
    if len(labels) > len(named):
        raise PlotError(f"{len(labels)} labels are given for {len(named)} runs")
    solves = [thing for thing in named if isinstance(thing, Run)]
    for run, label in zip(solves, name_all(solves), strict=True):
        run.label = label
    for thing in named:
        if not isinstance(thing, Run):
            thing.label = thing.matrix or thing.source
    for thing, label in zip(named, labels, strict=False):
        thing.label = label
    runs = list(enumerate(solves))
    tunes = list(enumerate(thing for thing in things if isinstance(thing, Tune)))
    infos = list(enumerate(thing for thing in things if isinstance(thing, Info)))
    matrices = [thing for thing in things if isinstance(thing, Matrix)]
    if not matrices and (blocks is not None or rows is not None):
        raise PlotError("blocks and rows are of a matrix; name a .mtx file, too")
    parts = [thing for thing in things if isinstance(thing, Part)]
    if not parts and any(value is not None for value in of_part.values()):
        raise PlotError("field, deformation and view are of a part; name a .vtu file, too")
    makers: dict[str, Callable[[], list[Any]]] = {
        "residuals": lambda: [_residuals(runs)],
        "phases": lambda: [_phases(runs)],
        "conditions": lambda: [_conditions(runs)],
        "hierarchy": lambda: [_hierarchy(runs)],
        "trials": lambda: [_trials(tunes)],
        "blocks": lambda: [_blocks(infos)],
        "formats": lambda: [_formats(infos)],
        "spy": lambda: [pattern(matrix, blocks, rows) for matrix in matrices],
        "part": lambda: [part_picture(part, **of_part) for part in parts],
    }
    for word in only:
        if word not in makers:
            raise PlotError(f"{word!r} is none of {', '.join(KINDS)}")
    made = [each for kind in only or KINDS for each in makers[kind]() if each is not None]
    if not made:
        names = ", ".join(dict.fromkeys(thing.source or "the matrix" for thing in things))
        what = " and ".join(only) if only else "residuals, phases or blocks"
        raise PlotError(f"{names or 'runs'}: there is nothing to draw: no {what}")
    return made


def summary(things: Sequence[Any]) -> Table | None:
    """One row for each solve."""
    runs = [thing for thing in things if isinstance(thing, Run)]
    if not runs:
        return None
    headers = ["run", "matrix", "rows", "outcome", "iterations", "true residual", "setup", "solve"]
    rows: list[list[Cell]] = []
    for run in runs:
        setup, solve = (run.seconds.get(name, math.nan) for name in ("setup", "solve"))
        rows.append(
            [
                (run.label, None),
                (run.matrix, None),
                (count(run.rows) if run.rows else "", run.rows),
                (run.status.replace("_", " "), None),
                (count(run.iterations), run.iterations),
                (amount(run.true_residual) if run.true_residual >= 0 else "-", run.true_residual),
                (seconds_text(setup), setup),
                (seconds_text(solve), solve),
            ]
        )
    return Table("Runs", headers, rows)
