#!/usr/bin/env python3
"""Compares `tessera solve` with CalculiX, scikit-fem and known solutions.

usage: run.py [--program TESSERA] [--out FILE] [PART...]

Computes the parts named (comparisons, formulations, exact, speed; by default all but speed, which
takes half an hour and needs two idle cores) and puts them into FILE (bench/results/validation.json), whose
tables bench/readme.py writes to docs/validation.md. Needs ccx (Debian's calculix-ccx), and gmsh,
meshio, numpy, pyamg, scikit-fem and scipy from PyPI.
"""
import argparse
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import comparisons
import exact
import formulations
import speed

root = pathlib.Path(__file__).resolve().parent.parent.parent


def versions():
    found = {name: importlib.metadata.version(name) for name in ("gmsh", "numpy", "scipy", "scikit-fem", "pyamg")}
    words = subprocess.run(["ccx", "-v"], capture_output=True, text=True).stdout
    return {"CalculiX": re.search(r"Version (\S+)", words)[1], **found}


def commit(program_file):
    """The one that the program was built from."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        subprocess.run([program_file, "solve", "poisson2d:4", "--quiet", "--json", file], check=True)
        return json.loads(file.read_text())["commit"]


def compared(program_file):
    words = subprocess.run([program_file, "solve", "--help"], capture_output=True, text=True).stdout
    return (comparisons.compare(program_file, case) for case in comparisons.cases_of(words))


def logged(rows):
    found = []
    for row in rows:
        print(json.dumps(row), file=sys.stderr, flush=True)
        found.append(row)
    return found


PARTS = {"comparisons": compared, "formulations": formulations.rows, "exact": exact.rows, "speed": speed.rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(root / "tessera"))
    parser.add_argument("--out", type=pathlib.Path, default=root / "bench/results/validation.json")
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    document = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    document |= {"schema": "tessera-validation/1", "versions": versions()}
    for name in arguments.parts or [part for part in PARTS if part != "speed"]:
        rows = logged(PARTS[name](arguments.program))
        document[name] = {"commit": commit(arguments.program), "rows": rows}
        arguments.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
