"""Pictures: their numbers are those of the files and objects."""

from __future__ import annotations

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from plot_support import RUNS, axes_of, changed, load, many_runs, page_of, run_named

from tessera import plot
from tessera.plot import _colours, _panels, _place, _runs, _shapes, _text


def test_curves_of_the_page_are_the_residuals_of_the_files(tmp_path):
    page = page_of(tmp_path, RUNS / "block_jacobi.json", RUNS / "amg.json")
    (data,) = page.curves
    for line, name in zip(data["lines"], ("block_jacobi", "amg"), strict=True):
        expected = load(name)["residuals"]
        assert line["x"] == list(range(len(expected)))
        np.testing.assert_allclose(line["y"], expected, rtol=1e-8)
    rows = page.table("iteration")
    for k, name in enumerate(("block_jacobi", "amg")):
        run = load(name)
        for iteration, cells in rows.items():
            value = cells[k][1]
            if iteration == "true residual":
                assert value == run["true_relative_residual"]
            elif int(iteration) < len(run["residuals"]):
                assert value == run["residuals"][int(iteration)]
            else:
                assert value is None
        assert str(len(run["residuals"]) - 1) in rows


def test_curves_of_the_page_lie_where_their_values_are(tmp_path):
    page = page_of(tmp_path, RUNS / "block_jacobi.json", RUNS / "amg.json", only=["residuals"])
    (data,) = page.curves
    paths = [v for t, n, v in page.attributes if t == "path" and n == "d"]
    lines = [v for v in paths if v.count("L") > 3]
    assert len(lines) == 2
    for path, line in zip(lines, data["lines"], strict=True):
        words = path.replace("M", " ").replace("L", " ").split()
        x, y = np.array(words, dtype=float).reshape(-1, 2).T
        across = data["left"] + data["width"] * np.array(line["x"]) / data["range"]
        np.testing.assert_allclose(x, across, atol=0.006)
        # The axis has the decades from 1e-9 to 10.
        down = data["top"] + data["height"] * (1 - np.log10(line["y"])) / 10
        np.testing.assert_allclose(y, down, atol=0.006)
    text = (tmp_path / "page.html").read_text()
    ticks = re.findall(r'<text[^>]* y="([0-9.]*)"[^>]*>1e-8</text>', text)
    assert float(ticks[0]) == pytest.approx(data["top"] + data["height"] * 0.9, abs=0.006)


def test_curve_of_svg_by_matplotlib_is_the_history(tmp_path):
    pytest.importorskip("matplotlib")
    plot.save(tmp_path / "a.svg", RUNS / "block_jacobi.json", only=["residuals"])
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    (group,) = (g for g in root.iter() if g.get("id") == "residuals-0")
    words = group[0].get("d").replace("M", "").replace("L", "").split()
    points = np.array(words, dtype=float).reshape(-1, 2)
    decades = np.log10(load("block_jacobi")["residuals"])
    assert len(points) == len(decades)
    # Affine: pixels over iterations, and over decades.
    k = int(decades.argmin())
    per_decade = (points[k, 1] - points[0, 1]) / (decades[k] - decades[0])
    np.testing.assert_allclose(
        points[:, 1], points[0, 1] + per_decade * (decades - decades[0]), atol=2e-5
    )
    np.testing.assert_allclose(np.diff(points[:, 0]), points[1, 0] - points[0, 0], atol=2e-5)
    texts = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
    assert "cg + block_jacobi:16" in texts


def test_axes_have_the_history_the_true_residual_and_the_attempts():
    ax = axes_of(plot.residuals, RUNS / "attempts.json")
    run = load("attempts")
    lines = {line.get_gid(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["residuals-0"].get_ydata(), run["residuals"])
    assert lines["residuals-0"].get_label() == "minres"
    assert lines["true-0"].get_xydata().tolist() == [[12, run["true_relative_residual"]]]
    # The second attempt made no iteration.
    assert [a["iterations"] for a in run["attempts"]] == [2, 2, 12]
    assert lines["changes-0"].get_xydata().tolist() == [[2, run["residuals"][2]]]
    assert "auto: cg + jacobi up to here" in [text.get_text() for text in ax.texts]
    assert ax.get_yscale() == "log"


def test_phases_are_times_and_shares(tmp_path):
    rows = page_of(tmp_path, RUNS / "amg.json", only=["phases"]).table("share of the copy rate")
    phases = load("amg")["phases"]
    assert len(rows) == len(phases)
    for phase in phases:
        (_, seconds), (text, share) = rows[phase["name"]]
        assert seconds == phase["seconds"]
        assert share == phase["fraction_of_copy"]
        assert text == ("-" if share is None else f"{100 * share:.0f} %")


def test_bars_are_proportional_to_their_values():
    (panel,) = _panels.panels([_runs.read(RUNS / "amg.json")], only=["phases"])
    _, shapes = _shapes.bars(panel)
    phases = load("amg")["phases"]
    bars = [s for s in shapes if isinstance(s, _shapes.Rect)]
    times = {s.hover.split(": time")[0]: s.width for s in bars if ": time" in s.hover}
    longest = max(phases, key=lambda p: p["seconds"])
    for phase in phases:
        expected = times[longest["name"]] * phase["seconds"] / longest["seconds"]
        assert times[phase["name"]] == pytest.approx(max(expected, 1.0), rel=1e-12)
    # The line of the copy rate is where a share of 1 would end.
    (limit,) = (s for s in shapes if isinstance(s, _shapes.Path) and s.style == "limit")
    share = next(s for s in bars if s.hover.startswith("spmv: share"))
    value = next(p["fraction_of_copy"] for p in phases if p["name"] == "spmv")
    assert limit.points[0, 0] - share.x == pytest.approx(share.width / value, rel=1e-12)


def test_conditions_count_the_blocks_and_name_the_worst(tmp_path):
    rows = page_of(tmp_path, RUNS / "block_jacobi.json", only=["conditions"]).table("blocks")
    blocks = load("block_jacobi")["blocks"]
    assert [cells[0][1] for cells in rows.values()] == blocks["condition_decades"][:2]
    worst = blocks["worst"][0]
    last = worst["first_row"] + worst["rows"] - 1
    assert rows["10 to 100"][1][0] == (
        f"worst: block {worst['block']}, {worst['condition']:.3g} "
        f"(rows {worst['first_row']} to {last})"
    )


def test_singular_blocks_are_counted(tmp_path):
    blocks = {**load("block_jacobi")["blocks"], "singular": 2}
    page = page_of(tmp_path, changed(tmp_path, blocks=blocks), only=["conditions"])
    assert page.tables[-1][0] == "cg + block_jacobi:16: plate_hole:8, 19 blocks, 2 singular"


def test_hierarchy_has_rows_blocks_and_entries(tmp_path):
    rows = page_of(tmp_path, RUNS / "amg.json", only=["hierarchy"]).table("entries")
    levels = load("amg")["amg"]["levels"]
    for k, level in enumerate(levels):
        b = level["block"]
        cells = rows[f"level {k}, {b} x {b}"]
        expected = [level["nodes"] * b, level["blocks"], level["blocks"] * b * b]
        assert [value for _, value in cells] == expected
    assert rows["level 0, 3 x 3"][2][1] == load("amg")["matrix"]["nonzeros"]


def test_trials_are_ranked_and_the_failed_ones_last(tmp_path):
    tune = load("tune")
    tune["trials"][0]["status"] = "max_iterations"
    tune["trials"][1]["status"] = "stopped (slower)"
    tune["trials"][1].pop("total_seconds")
    rows = page_of(tmp_path, tune).table("iterations")
    times = [cells[0][1] for cells in rows.values()]
    assert len(rows) == len(tune["trials"])
    assert times[:-2] == sorted(t["total_seconds"] for t in tune["trials"][2:])
    assert times[-2:] == [tune["trials"][0]["total_seconds"], None]
    notes = [cells[2][0] for cells in rows.values()]
    assert notes[-3:] == ["", "max iterations", "stopped (slower)"]


def test_info_has_blocks_and_formats(tmp_path):
    info = load("info")
    page = page_of(tmp_path, info)
    blocks, formats = page.table("memory of their inverses"), page.table("a product reads")
    for size, number in info["natural_blocks"]["sizes"].items():
        assert blocks[f"natural, of {size} row{'s' * (size != '1')}"][0][1] == number
    for each in info["agglomerated_blocks"]:
        values = [value for _, value in blocks[f"joined, up to {each['bound']} rows"]]
        assert values == [each["count"], each["inverse_bytes"]]
    for each in info["formats"]:
        assert [value for _, value in formats[each["format"]]] == [
            each["bytes"],
            each["read_bytes"],
        ]


def test_summary_has_each_run(tmp_path):
    rows = page_of(tmp_path, RUNS / "block_jacobi.json", RUNS / "amg.json").table("outcome")
    for label, name in (("cg + block_jacobi:16, plate_hole:8", "block_jacobi"),
                        ("fcg + amg, elasticity3d:5", "amg")):  # fmt: skip
        run = load(name)
        matrix, size, outcome, iterations, true, setup, solve = rows[label]
        assert (matrix[0], outcome[0]) == (run["matrix"]["name"], "converged")
        assert size[1] == run["matrix"]["rows"]
        assert iterations[1] == run["iterations"]
        assert true[1] == run["true_relative_residual"]
        assert [setup[1], solve[1]] == [run["seconds"]["setup"], run["seconds"]["solve"]]


def test_what_the_package_returns_is_drawn():
    levels = [{"nodes": 10, "block": 3, "blocks": 40}, {"nodes": 2, "block": 6, "blocks": 4}]
    result = SimpleNamespace(
        x=np.ones(3), status="converged", iterations=2, residuals=[1.0, 0.1, 1e-9],
        true_residual=2e-9, timings={"setup": 0.5, "solve": 1.0}, solver="cg",
        preconditioner="block_jacobi:4,singular=stop", format="csr", device="CPU",
        report={"blocks": 7, "values": {
            "blocks": {"condition_decades": [5, 2], "worst": []}, "amg": {"levels": levels}}},
    )  # fmt: skip
    ax = axes_of(plot.residuals, result, [1, 0.5], np.array([1, 0.25], np.float32))
    curves = [each for each in ax.get_lines() if each.get_gid().startswith("residuals")]
    assert [each.get_label() for each in curves] == [
        "cg + block_jacobi:4",
        "history (1)",
        "history (2)",
    ]
    assert curves[2].get_ydata().tolist() == [1, 0.25]
    run = _runs.take(result)
    assert (run.blocks, run.decades, run.true_residual) == (7, [5, 2], 2e-9)
    hierarchy = SimpleNamespace(levels=levels, text="amg,block=3")
    for thing in (result, hierarchy):
        assert [each.entries for each in _runs.take(thing).levels] == [360, 144]
        axes_of(plot.hierarchy, thing)
    axes_of(plot.conditions, result)


@pytest.mark.parametrize("thing", [3, None, object(), ["a"], [[1.0]], np.ones((2, 2)), [True]])
def test_other_objects_are_refused(thing):
    with pytest.raises(TypeError, match=f"^runs: expected .* got {type(thing).__name__}$"):
        plot.residuals(thing)


def test_new_axes_are_made_by_pyplot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "Agg")
        pyplot.switch_backend("Agg")
        ax = plot.phases(RUNS / "amg.json")
    assert pyplot.get_fignums() == [*before, ax.figure.number]
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    "runs, names",
    [
        ([("cg", "none")], ["cg"]),
        ([("cg", "amg,block=3")], ["cg + amg"]),
        ([("cg", "amg,block=3"), ("cg", "amg,block=2")], ["cg + amg,block=3", "cg + amg,block=2"]),
        ([("cg", "amg,a=1,b=1"), ("cg", "amg,b=1")], ["cg + amg,a=1", "cg + amg"]),
        ([("cg", "jacobi"), ("gmres:50", "jacobi")], ["cg + jacobi", "gmres:50 + jacobi"]),
        ([("cg", "jacobi"), ("cg", "jacobi")], ["cg + jacobi (1)", "cg + jacobi (2)"]),
        ([("", "")], ["a.json"]),
    ],
)  # fmt: skip
def test_names_are_as_short_as_they_can_be(runs, names):
    assert _text.name_all([run_named(*words) for words in runs]) == names


def test_names_tell_runs_apart():
    runs = [run_named("cg", "jacobi", matrix=m, format=f, device=d, source=s) for m, f, d, s in
            [("A", "csr", "CPU", "1"), ("A", "sbell", "CPU", "2"), ("B", "csr", "CPU", "3"),
             ("B", "csr", "GPU", "4"), ("B", "csr", "GPU", "5")]]  # fmt: skip
    names = _text.name_all(runs)
    assert names[:3] == ["cg + jacobi, A, csr", "cg + jacobi, A, sbell", "cg + jacobi, B, CPU"]
    assert names[3:] == ["cg + jacobi, B, GPU, 4", "cg + jacobi, B, GPU, 5"]


def test_labels_replace_names(tmp_path):
    files = [RUNS / "amg.json", RUNS / "block_jacobi.json"]
    page = page_of(tmp_path, *files, labels=["one"])
    assert page.curves[0]["lines"][0]["label"] == "one"
    with pytest.raises(plot.PlotError, match="3 labels are given for 2 runs"):
        plot.save(tmp_path / "a.html", *files, labels=["a", "b", "c"])
    with pytest.raises(TypeError, match="labels"):
        plot.save(tmp_path / "a.html", *files, labels="ab")


def test_labels_of_curves_do_not_overlap_and_stay_inside():
    (panel,) = _panels.panels(many_runs(), only=["residuals"])
    _, _, frame = _shapes.curves(panel)
    labels = _shapes.curve_labels(panel, frame, _shapes.FONT)
    assert [label.text for label in labels] == [line.label for line in panel.lines]
    boxes = [(t.x, t.y, _place.text_width(t.text, _shapes.FONT), _shapes.FONT) for t in labels]
    for k, (x, y, w, h) in enumerate(boxes):
        assert frame.left <= x and x + w <= frame.left + frame.width
        assert frame.top <= y - h / 2 and y + h / 2 <= frame.top + frame.height
        for x2, y2, w2, h2 in boxes[:k]:
            assert x >= x2 + w2 or x2 >= x + w or abs(y - y2) >= (h + h2) / 2


def test_runs_beyond_the_colours_have_dashes(tmp_path):
    page = page_of(tmp_path, *many_runs())
    lines = [value for tag, name, value in page.attributes if tag == "path" and name == "class"]
    assert lines.count("line c0") == 2
    dashes = [value for tag, name, value in page.attributes if name == "stroke-dasharray"]
    assert len(dashes) == 8 - len(_colours.COLOURS)
