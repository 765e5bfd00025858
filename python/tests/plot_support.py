"""Recorded runs, and what the tests of pictures read from pages and axes."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tessera import plot
from tessera.plot import _runs

RUNS = Path(__file__).with_name("runs")


def load(name: str) -> dict:
    return json.loads((RUNS / f"{name}.json").read_text())


def changed(tmp_path: Path, name: str = "block_jacobi", file: str = "run.json", **values) -> Path:
    """A recorded run with other values, as a file."""
    run = load(name)
    run.update(values)
    path = tmp_path / file
    path.write_text(json.dumps(run))
    return path


class Page(HTMLParser):
    """Tables as (caption, headers, rows of (text, value)), data of curves, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list = []
        self.curves: list = []
        self.attributes: list = []
        self.tags: set = set()
        self.open: list = []
        self.feed(text)
        self.close()
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += [(tag, *each) for each in attributes]
        if tag == "table":
            self.tables.append(["", [], []])
        elif tag == "tr" and "tbody" in self.open:
            self.tables[-1][2].append([])
        elif tag == "td":
            value = dict(attributes).get("data-value")
            self.tables[-1][2][-1].append(["", float(value) if value else None])
        elif tag == "th":
            self.tables[-1][1].append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        if tag == "caption":
            self.tables[-1][0] += data
        elif tag == "td":
            self.tables[-1][2][-1][-1][0] += data
        elif tag == "th":
            self.tables[-1][1][-1] += data
        elif tag == "script" and data.startswith("{"):
            self.curves.append(json.loads(data))

    def table(self, header: str) -> dict:
        """The rows of the first table with that header, by the text of their first cell."""
        found = next(t for t in self.tables if header in t[1])
        return {row[0][0]: row[1:] for row in found[2]}


def page_of(tmp_path: Path, *things, **options) -> Page:
    plot.save(tmp_path / "page.html", *things, **options)
    return Page((tmp_path / "page.html").read_text(encoding="utf-8"))


def axes_of(draw, *things, **options):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(8, 5))
    ax = figure.add_subplot()
    assert draw(*things, ax=ax, **options) is ax
    return ax


def run_named(solver: str, preconditioner: str, **others) -> _runs.Run:
    return _runs.Run(
        source=others.pop("source", "a.json"),
        solver=solver,
        preconditioner=preconditioner,
        **others,
    )


def many_runs() -> list[_runs.Run]:
    rng = np.random.default_rng(3)
    return [
        run_named("cg", f"block_jacobi:{k}", residuals=10 ** -np.linspace(0, 8, 20 + 9 * k)
                  * np.exp(0.3 * rng.standard_normal(20 + 9 * k)), true_residual=1e-8)
        for k in range(8)
    ]  # fmt: skip
