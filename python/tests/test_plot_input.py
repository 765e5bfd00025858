"""Pictures: wrong input ends with a sentence, and writes nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from plot_support import RUNS

import tessera
from tessera import plot
from tessera.plot._command import main

BROKEN = {
    "empty.json": "",
    "word.json": "converged",
    "list.json": "[1, 2]",
    "number.json": "3",
    "cut.json": '{"schema": "tessera-run/2"',
    "schemaless.json": '{"residuals": [1]}',
    "bench.json": '{"schema": "tessera-bench/1", "rows": []}',
    "future.json": '{"schema": "tessera-run/9", "residuals": [1]}',
    "schema_list.json": '{"schema": ["tessera-run/2"]}',
    "failed.json": '{"schema": "tessera-run/2", "status": "error", "message": "no device"}',
    "nothing.json": '{"schema": "tessera-run/2"}',
    "text.json": '{"schema": "tessera-run/2", "residuals": "1"}',
    "texts.json": '{"schema": "tessera-run/2", "residuals": [1, "a"]}',
    "nested.json": '{"schema": "tessera-run/2", "residuals": [[1], [2]]}',
    "bools.json": '{"schema": "tessera-run/2", "residuals": [true]}',
    "huge.json": '{"schema": "tessera-run/2", "residuals": [1' + 400 * "0" + "]}",
    "huge_one.json": '{"schema": "tessera-run/2", "true_relative_residual": 1' + 400 * "0" + "}",
    "solver.json": '{"schema": "tessera-run/2", "solver": 3}',
    "matrix.json": '{"schema": "tessera-run/2", "matrix": "A"}',
    "phase.json": '{"schema": "tessera-run/2", "phases": [3]}',
    "calls.json": '{"schema": "tessera-run/2", "phases": [{"calls": -1}]}',
    "decades.json": '{"schema": "tessera-run/2", "blocks": {"condition_decades": [-1]}}',
    "half.json": '{"schema": "tessera-run/2", "blocks": {"condition_decades": [0.5]}}',
    "nan.json": '{"schema": "tessera-run/2", "iterations": NaN}',
    "inf.json": '{"schema": "tessera-run/2", "iterations": Infinity}',
    "levels.json": '{"schema": "tessera-run/2", "amg": {"levels": {"nodes": 3}}}',
    "amg.json": '{"schema": "tessera-run/2", "amg": 3}',
    "trials.json": '{"schema": "tessera-tune/2", "trials": [{"total_seconds": "3"}]}',
    "no_trials.json": '{"schema": "tessera-tune/2"}',
    "sizes.json": '{"schema": "tessera-info/2", "natural_blocks": {"sizes": {"x": 3}}}',
    "deep.json": 100_000 * "[",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
    "short.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
    "outside.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
    "word.mtx": "hello\n",
    "void.mtx": "",
    "zipped.mtx.gz": "no gzip",
}


@pytest.mark.parametrize(
    "name", [*BROKEN, "missing.json", "missing.mtx", "folder.json", "bytes.json"]
)
def test_wrong_files_are_named(tmp_path, capsys, name):
    path = tmp_path / name
    if name in BROKEN:
        path.write_text(BROKEN[name])
    elif name == "folder.json":
        path.mkdir()
    elif name == "bytes.json":
        path.write_bytes(b'{"schema": "\xff\xfe"}')
    out = tmp_path / "a.html"
    out.write_text("before")
    good = str(RUNS / "amg.json")
    words = [good, str(path)] if "nothing" not in name and "no_trials" not in name else [str(path)]
    assert main([*words, "-o", str(out)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"tessera: {path}:") and output.err.count("\n") == 1
    for word in ("unpack", "literal", "Expecting", "Errno", "char"):  # Of Python.
        assert word not in output.err
    assert out.read_text() == "before"
    assert not list(tmp_path.glob(".tessera-*"))


@pytest.mark.parametrize("name", [name for name in BROKEN if ".mtx" in name])
def test_matrices_are_refused_as_by_read(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_text(BROKEN[name])
    with pytest.raises(tessera.ParseError) as error:
        tessera.read(path)
    assert main([str(path), "-o", str(tmp_path / "a.html")]) == 2
    assert capsys.readouterr().err == f"tessera: {error.value}\n"


@pytest.mark.parametrize(
    "words, message",
    [
        (["-o", "a.html"], "required: FILE"),
        (["R"], "required: -o/--output"),
        (["R", "-o", "fig.bmp"], "fig.bmp: the ending is none of .html, .svg, .png, .pdf"),
        (["R", "-o", "fig"], "fig: the ending is none of"),
        (["R", "-o", "missing/a.html"], "missing/a.html: No such file or directory"),
        (["R", "-o", "a.html", "--only", "residual"], "'residual' is none of residuals, phases"),
        (["R", "-o", "a.html", "--only", "spy"], "there is nothing to draw: no spy"),
        (["R", "-o", "a.html", "--rows", "3"], "give FIRST:END, not '3'"),
        (["R", "-o", "a.html", "--rows", "0:3"], "name a .mtx file, too"),
        (["R", "-o", "a.html", "--blocks", "none.txt"], "none.txt: No such file"),
        (["R", "-o", "a.html", "--blocks", "B"], "sizes of blocks are needed"),
        (["M", "-o", "a.html", "--blocks", "S"], "increase from 0 to the number of rows, 6"),
        (["M", "-o", "a.html", "--rows", "5:9"], "rows 5:9 are not inside 0:6"),
        (["R", "-o", "a.html", "--wrong"], "unrecognized arguments: --wrong"),
        (["R", "-o", "a.html", "--label", "a", "--label", "b"], "2 labels are given for 1 runs"),
    ],
)  # fmt: skip
def test_wrong_words_end_with_a_sentence(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("m.mtx", sp.eye(6))
    Path("bad.txt").write_text("3 x")
    Path("sizes.txt").write_text("3 4")
    files = {"R": str(RUNS / "amg.json"), "M": "m.mtx", "B": "bad.txt", "S": "sizes.txt"}
    assert main([files.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tessera: ") and error.count("\n") == 1 and message in error
    assert sorted(os.listdir()) == ["bad.txt", "m.mtx", "sizes.txt"]


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: plot.spy(np.eye(5)), TypeError, "A: expected a sparse matrix .* got ndarray"),
        (lambda: plot.spy(([0, 1], [0], [1.0])), TypeError, "A: expected a .* got tuple"),
        (lambda: plot.spy([1, 0.5]), TypeError, "A: expected a sparse matrix .* got list"),
        (lambda: plot.spy(sp.eye(3), rows=3), TypeError, r"rows: expected \(first, end\), got 3"),
        (lambda: plot.spy(sp.eye(3), rows="ab"), TypeError, "rows: expected"),
        (lambda: plot.spy(sp.eye(3), rows=(0, 1, 2)), TypeError, "rows: expected"),
        (lambda: plot.residuals([1, 0.5], ax=3), TypeError, "ax: expected axes .* got int"),
        (lambda: plot.residuals([1, 0.5], labels=[3]), TypeError, "labels: expected a list of"),
        (lambda: plot.save("a.html", [1], only="residuals"), TypeError, "only: expected a list of"),
        (lambda: plot.save("a.html", [1], only=3), TypeError, "only: expected a list of texts"),
        (lambda: plot.save(3, [1]), TypeError, "file: expected a path, got int"),
        (lambda: plot.read(3), TypeError, "path: expected a path, got int"),
        (lambda: plot.residuals(), plot.PlotError, "runs: there is nothing to draw: no residuals"),
        (lambda: plot.save("a.html"), plot.PlotError, "runs: there is nothing to draw"),
        (lambda: plot.residuals(sp.eye(3)), plot.PlotError, "the matrix: there is nothing to draw"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, kind, message):
    with pytest.raises(kind, match=f"^{message}"):
        call()


def test_paths_in_bytes(tmp_path):
    plot.save(bytes(tmp_path / "a.html"), bytes(RUNS / "amg.json"))
    assert (tmp_path / "a.html").exists()


def test_names_of_files_cannot_write_to_the_terminal(tmp_path, capsys):
    assert main([str(tmp_path / "a\x1b[31m\n.json"), "-o", "a.html"]) == 2
    error = capsys.readouterr().err
    assert "\\x1b[31m\\x0a.json: No such file" in error and "\x1b" not in error


def test_names_of_matrices_are_utf_8(tmp_path, capsys):
    path = os.fsdecode(bytes(tmp_path) + b"/\xff.mtx")
    Path(path).write_text("%%MatrixMarket matrix coordinate real general\n1 1 0\n")
    assert main([path, "-o", str(tmp_path / "a.html")]) == 2
    assert capsys.readouterr().err == f"tessera: {tmp_path}/\\xff.mtx: the name is not UTF-8\n"


def test_without_matplotlib_only_pages_are_written(tmp_path, monkeypatch, capsys):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "tessera.plot._matplotlib", raising=False)
    words = [str(RUNS / "amg.json"), "-o"]
    assert main([*words, str(tmp_path / "a.html")]) == 0
    assert main([*words, str(tmp_path / "a.png")]) == 2
    assert "python3 -m pip install matplotlib" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["a.html"]
    with pytest.raises(plot.PlotError, match="pip install matplotlib"):
        plot.residuals(RUNS / "amg.json")
