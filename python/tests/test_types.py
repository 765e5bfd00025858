"""Types: the package and the examples under mypy's strict rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tessera

ROOT = Path(__file__).parents[2]


def run_mypy(*arguments: str) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    package = Path(tessera.__file__).parent
    if not (package / "_core.pyi").exists():
        pytest.skip("the extension has no stub here")
    options = ["--strict", "--no-error-summary", "--cache-dir=/dev/null"]
    if (ROOT / "pyproject.toml").exists():
        options.append(f"--config-file={ROOT / 'pyproject.toml'}")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *arguments],
        capture_output=True,
        text=True,
        cwd=package.parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed():
    assert (Path(tessera.__file__).parent / "py.typed").exists()
    run_mypy("-p", "tessera")


def test_errors_are_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tessera\n\n\n"
        "def f(one: tessera.DeviceError, other: tessera.ParseError) -> str:\n"
        "    return f'{one} {other}'\n"
    )
    run_mypy(str(program))


def test_modules_are_listed():
    assert {"batched", "plot", "torch", "solve"} <= set(dir(tessera))


def test_the_examples_are_typed():
    examples = sorted((ROOT / "examples").glob("*.py"))
    if not examples:
        pytest.skip("the examples are not here")
    run_mypy(*map(str, examples))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_the_examples_run(path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_lines_of_the_readme_run():
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("README.md is not here")
    code = readme.read_text().split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("converged")


def test_arguments_of_other_types_are_refused(tmp_path):
    lines = {
        "tessera.solve(A, b, M='amg')": True,
        "tessera.solve(A, b, M=lambda r: r)": True,
        "tessera.cg((A, A, A), b, M=tessera.preconditioner(A, 'jacobi'))": True,
        "tessera.Solver(A, coordinates=(A, [0, 1]))": True,
        "tessera.solve(A, b, M=3)": False,
        "tessera.solve(A, 3)": False,
        "tessera.solve(3, b)": False,
        "tessera.gmres(A, b, M=2.5)": False,
        "tessera.solve(A, b, nullspace=1)": False,
    }
    head = "import numpy as np\nimport tessera\n\nA, b = np.eye(3), np.ones(3)\n"
    for line, fits in lines.items():
        program = tmp_path / "program.py"
        program.write_text(head + line + "\n")
        if fits:
            run_mypy(str(program))
        else:
            with pytest.raises(AssertionError, match="arg-type"):
                run_mypy(str(program))
