#!/usr/bin/env python3
"""Makes a result file of runs of the PETSc example `elast` on a GPU.

usage: petsc_log.py LOG FILE DEVICE

LOG holds, for each run, a line "== elast OPTIONS" and what `elast OPTIONS -solves N -log_view
-log_view_gpu_time` printed. Of the later solves (new values, the same pattern) FILE gets seconds of
one PCSetUp and one KSPSolve.
"""
import json
import re
import sys


def run_of(options, lines):
    found = {"rows": None, "iterations": None}
    for line in lines:
        if match := re.match(r"ranks (\d+) rows (\d+) iterations (\d+) reason (\w+)", line):
            found |= {"ranks": int(match[1]), "rows": int(match[2]), "iterations": int(match[3]),
                      "reason": match[4]}
        elif match := re.match(r"(PCSetUp|KSPSolve) +(\d+) \S+ (\S+)", line):
            # The last stage, "Later solves", is printed last.
            found[match[1] + "_seconds"] = float(match[3]) / int(match[2])
    names = re.findall(r"-(pc_type|pc_\w+_product|pc_\w+_values|nodes_per_block|elements) (\S+)", options)
    return {**{re.sub(r"^pc_\w+_(product|values)$", r"\1", name): value for name, value in names},
            **found}


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    runs, options, lines = [], None, []
    for line in [*open(arguments[0]), "== "]:
        if line.startswith("== "):
            if options is not None and "-log_view" in options:
                runs.append(run_of(options, lines))
            options, lines = line, []
        else:
            lines.append(line)
    runs = [run for run in runs if "KSPSolve_seconds" in run]
    document = {"schema": "tessera-bench/1", "bench": "petsc", "device": arguments[2],
                "petsc": "3.26.1", "rows": runs}
    text = ",\n".join(json.dumps(run) for run in runs)
    with open(arguments[1], "w") as file:
        file.write(f"{json.dumps(document | {'rows': []})[:-2]}\n{text}\n]}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
