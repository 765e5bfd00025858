"""Runs notebooks from top to bottom, and checks what they show.

    notebooks.py [--write] NOTEBOOK...

Without --write the stored outputs are checked as well, and stay; with it the new ones are stored. A
notebook that imports what is not installed is skipped by name.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

# An absolute path: of the machine, as nothing else has one.
PATH = re.compile(r"(?<![\w./:])/[\w.-]+/[\w.-]+")


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def missing_imports(notebook: Any) -> list[str]:
    """Names of packages that a notebook imports and that are not there."""
    names = set()
    for cell in code_cells(notebook):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


def texts(output: Any) -> Iterator[str]:
    """What an output shows in words."""
    if output.output_type == "stream":
        yield output.text
    for kind, content in output.get("data", {}).items():
        if kind.startswith("text/"):
            yield content


def faults(notebook: Any) -> list[str]:
    """What the outputs of a notebook should not show."""
    found = []
    for number, cell in enumerate(code_cells(notebook), 1):
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(f"code cell {number}: {output.get('text', output.get('ename'))}")
            for text in texts(output):
                for line in text.splitlines():
                    if PATH.search(line) or "Warning" in line:
                        found.append(f"code cell {number} shows a path or a warning: {line}")
    return found


def unlike(stored: Any, run: Any) -> list[str]:
    """Where the outputs of a file are not those of a whole run, by their kinds."""
    found = []
    for number, (old, new) in enumerate(zip(code_cells(stored), code_cells(run), strict=True), 1):
        kinds = [[each.output_type for each in cell.outputs] for cell in (old, new)]
        if old.execution_count != number or kinds[0] != kinds[1]:
            found.append(f"code cell {number}: the stored outputs are not of a whole run; --write")
    return found


def run(path: Path, write: bool) -> list[str]:
    """The faults of a notebook."""
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    executed = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = folder
        NotebookClient(
            executed,
            config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
            coalesce_streams=True,
            kernel_name="python3",
            timeout=170,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    found = faults(executed)
    if not write:
        return found + faults(stored) + unlike(stored, executed)
    executed.metadata["language_info"] = {"name": "python"}
    if not found:
        nbformat.write(executed, path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("notebooks", nargs="+", type=Path)
    arguments = parser.parse_args()
    if importlib.util.find_spec("matplotlib"):
        importlib.import_module("matplotlib.font_manager")  # Says so where it looks for fonts.
    failed = False
    for path in arguments.notebooks:
        missing = missing_imports(nbformat.read(path, as_version=4))
        if missing:
            print(f"SKIPPED {path.stem}: {missing[0]} is not installed", flush=True)
            continue
        found = run(path, arguments.write)
        print(f"{path.name}: {'; '.join(found) if found else 'as it should be'}", flush=True)
        failed |= bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
