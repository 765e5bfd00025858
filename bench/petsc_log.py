#!/usr/bin/env python3
"""Puts runs of the PETSc example `elast` on GPUs into a result file.

usage: petsc_log.py FILE DEVICE LOG...

A LOG holds, for each run, a line "== elast OPTIONS" and what `elast OPTIONS -solves N -log_view`
printed, one rank per GPU. FILE gets seconds per later solve (new values, the same pattern): those of
KSPSolve from a run as it is, those of PCSetUp from another one with -log_view_gpu_time, which waits
after each event. Runs that FILE has already stay; one with the same options on as many GPUs is
replaced.
"""
import json
import pathlib
import re
import sys

option = re.compile(
    r"-(pc_type|mg_levels_pc_type|(?:mg_levels_)?pc_\w+_(?:product|values|spec|precision|messages)"
    r"|nodes_per_block|elements) (\S+)")


def run_of(options, lines):
    """Options and results of a run as a dict; None if it did not end."""
    run = {re.sub(r"^(?:mg_levels_)?pc_\w+_(product|values|spec|precision|messages)$", r"\1", name): value
           for name, value in option.findall(options)}
    seconds = {}
    for line in lines:
        if match := re.match(r"ranks (\d+) rows (\d+) iterations (\d+) reason (\w+)", line):
            ranks, rows, iterations = (int(text) for text in match.groups()[:3])
            run |= {"rows": rows, "iterations": iterations, "ranks": ranks, "reason": match[4]}
        elif match := re.match(r"(PCSetUp|KSPSolve) +(\d+) \S+ +(\S+)", line):
            # The last stage, "Later solves", is printed last.
            seconds[match[1]] = match[3], int(match[2])
    if "KSPSolve" not in seconds:
        return None
    # Times of events that are not waited for are "n/a".
    name = "KSPSolve" if seconds.get("PCSetUp", ("n/a",))[0] == "n/a" else "PCSetUp"
    time, calls = seconds[name]
    return run | {f"{name}_seconds": float(time) / calls}


def runs_of(path):
    runs, options, lines = [], "", []
    for line in [*path.read_text().splitlines(), "== "]:
        if line.startswith("== "):
            if "-log_view" in options:
                runs.append(run_of(options, lines))
            options, lines = line, []
        else:
            lines.append(line)
    return [run for run in runs if run]


def identity(run):
    results = ("rows", "iterations", "reason", "PCSetUp_seconds", "KSPSolve_seconds")
    return tuple(sorted((key, value) for key, value in run.items() if key not in results))


def order(run):
    return run["rows"], run["ranks"], run["pc_type"], json.dumps(run, sort_keys=True)


def main(arguments):
    if len(arguments) < 3:
        sys.exit(__doc__)
    file, device, *logs = arguments
    document = {"schema": "tessera-bench/1", "bench": "petsc", "device": device, "petsc": "3.26.1"}
    runs = {}
    if pathlib.Path(file).exists():
        before = json.loads(pathlib.Path(file).read_text())
        for key in document:
            if before[key] != document[key]:
                sys.exit(f"{file}: {key} is {before[key]!r}, not {document[key]!r}")
        runs = {identity(run): run for run in before["rows"]}
    for log in logs:
        for run in runs_of(pathlib.Path(log)):
            runs[identity(run)] = runs.get(identity(run), {}) | run
    whole = [run for run in runs.values() if "PCSetUp_seconds" in run and "KSPSolve_seconds" in run]
    for run in runs.values():
        if run not in whole:
            print(f"left out, for lack of a run with or without -log_view_gpu_time: {run}")
    text = ",\n".join(json.dumps(run) for run in sorted(whole, key=order))
    head = json.dumps(document | {"rows": []})[:-2]
    pathlib.Path(file).write_text(f"{head}\n{text}\n]}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
