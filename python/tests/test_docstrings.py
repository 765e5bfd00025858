"""The examples in docstrings show what they say, and all functions have one."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import tessera
from tessera import batched

MODULES = sorted(
    file.stem
    for file in Path(tessera.__file__).parent.glob("*.py")
    if ">>>" in file.read_text() and file.stem not in ("__init__", "torch")
)


@pytest.mark.parametrize("name", ["tessera", *(f"tessera.{name}" for name in MODULES)])
def test_examples(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0


def test_examples_of_torch():
    pytest.importorskip("torch", reason="torch is not installed")
    assert doctest.testmod(importlib.import_module("tessera.torch")).failed == 0


WITHOUT = {"devices"}  # What it shows depends on the machine.


@pytest.mark.parametrize("module", [tessera, batched])
def test_functions_have_examples(module):
    functions = {
        name for name in module.__all__
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
    } | ({"Solver"} if module is tessera else set())  # fmt: skip
    lacking = {name for name in functions if ">>>" not in (getattr(module, name).__doc__ or "")}
    assert lacking <= WITHOUT
