"""Pictures of histories with gaps or many values, and of patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from plot_support import RUNS, Page, axes_of, changed, page_of

from tessera import plot
from tessera.plot import _panels, _place, _runs
from tessera.plot._command import main


@pytest.mark.parametrize(
    "residuals, shown",
    [
        ([1.0], [1.0]),
        ([0.5, None, 0.25], [0.5, None, 0.25]),
        ([1.0, math.nan, math.inf, 1e-3], [1.0, None, None, 1e-3]),
        ([1, 0], [1, 0]),
        ([1e-320, 1e308, 5e-324], [1e-320, 1e308, 5e-324]),
        ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
    ],
)
def test_odd_histories_are_drawn(tmp_path, residuals, shown):
    path = changed(tmp_path, residuals=residuals, iterations=len(residuals) - 1)
    page = page_of(tmp_path, path, only=["residuals"])
    found = page.curves[0]["lines"][0]["y"]
    assert [y is None for y in found] == [y is None for y in shown]
    found, shown = ([y for y in values if y is not None] for values in (found, shown))
    assert found == pytest.approx(shown, rel=1e-8)
    numbers = [value for _, name, value in page.attributes if name == "d"]
    assert not any(word in value for value in numbers for word in ("nan", "inf"))
    if len(residuals) == 1:
        assert ("circle", "class", "dot c0") in page.attributes
    axes_of(plot.residuals, path)


def test_gaps_are_counted_and_interrupt_the_line(tmp_path):
    page = page_of(tmp_path, changed(tmp_path, residuals=[1, 0.5, None, 0.1, 0.05]))
    (line,) = (v for t, n, v in page.attributes if t == "path" and n == "d" and v.count("L") == 2)
    assert line.count("M") == 2
    text = (tmp_path / "page.html").read_text()
    assert "1 residual is not finite" in text


@pytest.mark.parametrize("residuals", [[], [None, None], [0, -1]])
def test_runs_without_residuals_have_no_curve(tmp_path, capsys, residuals):
    path = changed(tmp_path, residuals=residuals)
    page = page_of(tmp_path, path, RUNS / "amg.json")
    assert [each["label"] for each in page.curves[0]["lines"]] == ["fcg + amg, elasticity3d:5"]
    assert main([str(path), "-o", str(tmp_path / "a.html"), "--only", "residuals"]) == 2
    assert capsys.readouterr().err == (f"tessera: {path}: there is nothing to draw: no residuals\n")
    assert not (tmp_path / "a.html").exists()


def test_true_residuals_that_are_missing_have_no_ring(tmp_path):
    page = page_of(tmp_path, changed(tmp_path, true_relative_residual=None), only=["residuals"])
    assert not [v for _, n, v in page.attributes if n == "class" and v.startswith("ring")]
    assert "ring: true" not in (tmp_path / "page.html").read_text()


def test_long_histories_are_decimated_with_their_extremes(tmp_path):
    rng = np.random.default_rng(1)
    residuals = np.exp(rng.standard_normal(100_000) - np.linspace(0, 20, 100_000))
    residuals[[41_234, 77_777]] = 1e6, 1e-30
    path = changed(tmp_path, residuals=residuals.tolist(), iterations=99_999)
    (data,) = page_of(tmp_path, path).curves
    (line,) = data["lines"]
    assert len(line["x"]) < 2600
    assert (line["x"][0], line["x"][-1]) == (0, 99_999)
    kept = dict(zip(line["x"], line["y"], strict=True))
    assert kept[41_234] == 1e6 and kept[77_777] == 1e-30
    np.testing.assert_allclose(line["y"], residuals[line["x"]], rtol=1e-8)
    assert (tmp_path / "page.html").stat().st_size < 250_000


@pytest.mark.parametrize("seed", range(20))
def test_decimation_keeps_the_picture(seed):
    """Of each interval between ticks of the picture the range of the values is the same."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5000))
    y = np.exp(5 * rng.standard_normal(size))
    y[rng.random(size) < 0.1 * (seed % 3)] = rng.choice([np.nan, 0, -1, np.inf])
    if seed % 4 == 3:
        y[size // 4 : size // 2] = np.nan
    kept = _place.decimate(y, 400)
    assert (np.diff(kept) > 0).all() and kept[0] == 0 and kept[-1] == size - 1
    if size <= 400:
        assert kept.tolist() == list(range(size))
        return
    assert len(kept) <= 400 + 2
    bounds = np.linspace(0, size, 101).astype(int)
    for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
        values = y[begin:end][_place.drawable(y[begin:end])]
        inside = y[kept[(kept >= begin) & (kept < end)]]
        assert inside.size > 0, "an interval would be bridged by a line"
        inside = inside[_place.drawable(inside)]
        assert inside.size == 0 if values.size == 0 else (
            (inside.min(), inside.max()) == (values.min(), values.max()))  # fmt: skip


def test_pattern_counts_the_entries():
    rng = np.random.default_rng(0)
    a = sp.random(1000, 334, 0.02, "csr", random_state=rng)
    for form in (a, a.tocsc(), a.tocoo(), a.todok(), a.tolil(), a.tobsr((2, 2))):
        (panel,) = _panels.panels([_runs.take(form)])
        assert panel.cells.sum() == form.tocoo().nnz
        assert panel.cells.shape == (480, 160)
        there = form.tocoo()
        edges = [np.arange(n + 1) * size / n for n, size in ((480, 1000), (160, 334))]
        expected, _, _ = np.histogram2d(there.row, there.col, edges)
        np.testing.assert_array_equal(panel.cells, expected)
    small = sp.csr_matrix(np.array([[1.0, 0], [2, 3], [0, 4]]))
    (panel,) = _panels.panels([_runs.take(small)])
    assert panel.cells.tolist() == [[1, 0], [1, 1], [0, 1]]
    ax = axes_of(plot.spy, small)
    (image,) = ax.get_images()
    assert image.get_array()[..., 3].tolist() == [[1, 0], [1, 1], [0, 1]]


def test_blocks_are_squares_and_small_ones_are_joined():
    a = sp.eye(9600, format="csr")
    blocks = np.arange(0, 9601, 32)
    (panel,) = _panels.panels([_runs.take(a)], blocks=blocks)
    assert panel.squares[0] == (0, 64) and panel.squares[-1] == (9536 + 0, 9600)
    assert "a square joins several" in panel.note
    assert ("blocks", 300) in panel.numbers
    (panel,) = _panels.panels([_runs.take(a)], blocks=blocks, rows=(320, 420))
    assert panel.squares == [(320, 352), (352, 384), (384, 416)]
    assert panel.cells.sum() == 100
    assert "joins" not in panel.note


@pytest.mark.parametrize("blocks", [[0], [1, 5], [0, 3, 3, 5], [0, 7], [0.0, 5.0], [[0, 5]], []])
def test_blocks_that_do_not_fit_are_refused(blocks):
    with pytest.raises(plot.PlotError, match="blocks: offsets"):
        plot.spy(sp.eye(5), blocks)


@pytest.mark.parametrize("rows", [(0, 6), (3, 3), (4, 2), (-1, 3)])
def test_rows_outside_are_refused(rows):
    with pytest.raises(plot.PlotError, match="not inside 0:5"):
        plot.spy(sp.eye(5), rows=rows)


def test_matrix_files_with_blocks(tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.eye(6))
    (tmp_path / "sizes.txt").write_text("1 2\n3\n")
    words = [str(tmp_path / "a.mtx"), "--blocks", str(tmp_path / "sizes.txt")]
    assert main([*words, "-o", str(tmp_path / "a.html")]) == 0
    page = Page((tmp_path / "a.html").read_text())
    assert {n: c[0][1] for n, c in page.table("number").items()} == {
        "rows": 6, "columns": 6, "entries": 6, "blocks": 3, "rows of the largest block": 3
    }  # fmt: skip
    squares = [v for t, n, v in page.attributes if t == "path" and n == "class" and "square" in v]
    assert len(squares) == 3
