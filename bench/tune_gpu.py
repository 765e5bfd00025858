#!/usr/bin/env python3
"""Compares what `tessera tune` chooses on a GPU with the fastest of all that it may choose from.

usage: tune_gpu.py [--matrices FOLDER] [--tessera PROGRAM] [--json FILE] [--most SECONDS]

On a GPU a process takes longer to start than most systems take to be solved, so a case is two runs
of tune and not, as in tune_study.py, a run of solve for each preconditioner: one with a budget that
is long enough to try all and to repeat the fast ones up to fifty times, whose table is the
reference, and one with the budget under test. The ratio of a choice is its time in the reference
over the least time there. A choice that the reference stopped early, at 1.35 times the
best time, counts as a miss; a case whose reference did not try all is left out and listed.

The cases are real matrices of FOLDER (those that are missing are left out) and generated systems.
FILE is written in the end; no case is begun after `--most` seconds (default: 90). Runs from a source
tree with a build (FOLDER: $TESSERA_TEST_MATRICES, FILE: bench/results/h200/tune.json), or in the
folder that ./check --pack makes (FOLDER: matrices, FILE: tune.json). Exits with 1 where fewer than
90 % of the choices lie within 10 %.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKED = (HERE / "bin.tar.xz").exists()
CASES = ["bcsstk18", "saylr4", "poisson2d:300", "convection3d:64,strength=1000", "elasticity2d:150",
         "poisson3d:64", "elasticity3d:32", "494_bus", "dw2048", "elasticity3d:16",
         "convection3d:64", "1138_bus", "bcsstk14", "bcsstk15", "add20", "bcsstk13", "cage9",
         "orsirr_1", "rdb1250l", "bcsstk26", "nos3", "bcsstk21", "sherman1", "watt_1", "Pd"]
OPTIONS = ["--rhs", "random", "--solver", "idr:4", "--rtol", "1e-9", "--max-iterations", "50000",
           "--device", "cuda", "--quiet", "--json", "-"]
REFERENCE, BUDGET = 4, 2  # Seconds.


def tune(tessera, matrix, seconds):
    run = subprocess.run([tessera, "tune", matrix, *OPTIONS, "--seconds", str(seconds)],
                         capture_output=True, text=True)
    if not run.stdout:
        sys.exit(f"tune {matrix}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def compared(name, reference, choice):
    """One row of the result."""
    mark = "same blocks as "
    same = {trial["preconditioner"]: trial["status"].removeprefix(mark)
            for trial in reference["trials"] if trial["status"].startswith(mark)}
    table = {trial["preconditioner"]: trial for trial in reference["trials"]}
    best = reference["best"]
    chosen = same.get(choice["best"], choice["best"])
    entry = table.get(chosen, {})
    ratio = None
    if reference["converged"] and entry.get("status") == table[best]["status"]:
        ratio = entry["total_seconds"] / table[best]["total_seconds"]
    return {"matrix": name, "rows": reference["rows"], "nonzeros": reference["nonzeros"],
            "reference_seconds": reference["seconds"], "tried": len(table),
            "not_tried": len(reference["not_tried"]), "seconds": choice["seconds"],
            "choice": choice["best"], "fastest": best,
            "fastest_milliseconds": 1e3 * table[best].get("total_seconds", 0), "ratio": ratio,
            "table": {name: [trial["status"], trial["iterations"], trial["runs"],
                             trial.get("total_seconds")] for name, trial in table.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", default=str(HERE / "matrices") if PACKED else
                        os.environ.get("TESSERA_TEST_MATRICES", "."))
    parser.add_argument("--tessera", default=str(HERE / "bin/tessera" if PACKED else
                                                 HERE.parent / "build/release/bin/tessera"))
    parser.add_argument("--json", type=pathlib.Path,
                        default=HERE / ("tune.json" if PACKED else "results/h200/tune.json"))
    parser.add_argument("--most", type=float, default=90)
    arguments = parser.parse_args()
    if PACKED:
        if not (HERE / "bin").exists():
            subprocess.run(["tar", "-C", HERE, "-xJf", HERE / "bin.tar.xz"], check=True)
    start = time.monotonic()
    rows, left_out, head = [], [], {}
    for name in CASES:
        path = name if ":" in name else os.path.join(arguments.matrices, name + ".mtx.gz")
        if time.monotonic() - start > arguments.most or not (":" in name or os.path.exists(path)):
            left_out.append(name)
            continue
        reference = tune(arguments.tessera, path, REFERENCE)
        row = compared(name, reference, tune(arguments.tessera, path, BUDGET))
        head = {"version": reference["version"], "commit": reference["commit"],
                "device": reference["device"]}
        if row["not_tried"]:
            left_out.append(name)
            continue
        rows.append(row)
        print(f"{name}: {row['choice']} for {row['fastest']}, "
              f"{row['fastest_milliseconds']:.1f} ms, ratio {row['ratio'] or float('inf'):.2f}",
              flush=True)
    if not rows:
        sys.exit("no case was measured")
    found = {"schema": "tessera-bench/1", "bench": "tune", **head, "options": " ".join(OPTIONS),
             "reference_budget": REFERENCE, "budget": BUDGET, "left_out": left_out}
    lines = ",\n".join(json.dumps(row) for row in rows)
    arguments.json.write_text(f'{json.dumps(found)[:-1]}, "rows": [\n{lines}\n]}}\n')
    within = sum(row["ratio"] is not None and row["ratio"] <= 1.1 for row in rows)
    print(f"{within} of {len(rows)} within 10 % ({within / len(rows):.0%}); left out: "
          f"{', '.join(left_out) or 'none'}")
    return 0 if within >= 0.9 * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
