#!/usr/bin/env python3
"""Compares what `tessera tune` chooses with the fastest of all that it may choose from.

    tune_study.py [--matrices FOLDER] [--tessera PROGRAM] [--json FILE] [--retune]

The cases are the matrices of bench/results/cpu/study.json on which something converged, read from
FOLDER (default: $TESSERA_TEST_MATRICES), and a few generated systems; one CPU thread. FILE
(default: bench/results/cpu/tune.json) is written after every case, and cases in it are not
measured again; --retune reuses its tables (without options that no longer exist) and only runs
tune again.

The table of a case comes from `tessera solve`, a process a run: every bound with every precision,
in turns, again where it is near the fastest. The time is that of setup and solve. The table finds
the rivals of a choice: the five with the least times. What tune found to have equal blocks in one
precision counts as one.

The least times alone do not decide: on a shared machine the clock of a core changes by a third
within seconds, and the fastest of 13 is partly luck. So choices and
rivals run again, in turns, and of the time of a choice over that of a rival in the same turn the
median counts; the ratio of a choice is that to its best rival (at least 1: it may be its own).
Exits with 1 where fewer than 90 % of the choices of the longest budget lie within 10 %.
"""
import argparse
import json
import math
import operator
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = ["poisson2d:200", "poisson3d:30", "convection3d:30", "convection3d:24,strength=1000",
             "elasticity2d:60", "elasticity3d:14"]
OPTIONS = ["--rhs", "random", "--solver", "idr:4", "--rtol", "1e-9", "--max-iterations", "50000",
           "--device", "cpu", "--threads", "1", "--json", "-"]
PRECONDITIONERS = ["jacobi"] + [
    f"block_jacobi:{bound}{precision}"
    for bound in (16, 32, 8, 24, 12, 4)
    for precision in ("", ",precision=adaptive")]
BUDGETS = (10, 2)
RIVALS = 5
BARS = (2, 1.4)  # To take part in the next round, in times of the fastest.


def ordered(preconditioner):
    """Without regard to the order in which tune wrote the options."""
    name, *options = preconditioner.split(",")
    return ",".join([name, *sorted(options)])


def measure(tessera, matrix, preconditioner, most):
    run = subprocess.run([tessera, "solve", matrix, *OPTIONS, "--precond", preconditioner,
                          "--max-seconds", str(most)], capture_output=True, text=True)
    report = json.loads(run.stdout)
    seconds = report["seconds"]
    return {"status": report["status"], "iterations": report["iterations"],
            "seconds": seconds["find_blocks"] + seconds["setup"] + seconds["solve"]}


def exhaustive(tessera, matrix):
    """{preconditioner: {status, iterations, runs}}"""
    table = {}

    def fastest():
        return min((min(e["runs"]) for e in table.values() if e["status"] == "converged"),
                   default=max(BUDGETS) / 3)

    todo = list(PRECONDITIONERS)
    for preconditioner in todo:
        run = measure(tessera, matrix, preconditioner, 3 * fastest())
        if run["status"] == "singular_block" and "singular=" not in preconditioner:
            todo.append(preconditioner + ",singular=shift")
        seconds = run.pop("seconds")
        table[ordered(preconditioner)] = {**run, "runs": [seconds]}
    for bar in BARS:
        bar *= fastest()
        for preconditioner, entry in table.items():
            if entry["status"] == "converged" and min(entry["runs"]) <= bar:
                entry["runs"].append(measure(tessera, matrix, preconditioner, 2 * bar)["seconds"])
    return table


def choose(tessera, matrix, budget):
    run = subprocess.run([tessera, "tune", matrix, *OPTIONS, "--seconds", str(budget)],
                         capture_output=True, text=True)
    report = json.loads(run.stdout)
    mark = "same blocks as "
    same = {ordered(trial["preconditioner"]): ordered(trial["status"].removeprefix(mark))
            for trial in report["trials"] if trial["status"].startswith(mark)}
    return {"choice": ordered(report["best"]), "converged": report["converged"],
            "seconds": report["seconds"], "trials": len(report["trials"]),
            "not_tried": len(report["not_tried"]), "same": same}


def best_rival(runs, mine, rivals):
    """The best of the rivals, and how many times as long `mine` takes: 1 or more."""
    ratios = {rival: statistics.median(map(operator.truediv, runs[mine], runs[rival]))
              for rival in rivals}
    best = max(ratios, key=ratios.get)
    return best, max(1, ratios[best])


def duel(tessera, matrix, row):
    """Adds to each choice its ratio to the best rival; None where it did not converge."""
    same = [choice.pop("same") for choice in row["choices"].values()][0]  # Of the longest budget.
    times = {}
    for name, entry in row["table"].items():
        if entry["status"] == "converged":
            name = same.get(name, name)
            times[name] = min([times.get(name, math.inf), *entry["runs"]])
    rivals = sorted(times, key=times.get)[:RIVALS]
    chosen = {budget: same.get(choice["choice"], choice["choice"])
              for budget, choice in row["choices"].items() if choice["converged"]}
    rounds = min(max(int(2 / times[rivals[0]]), 3), 15)
    runs = {name: [] for name in sorted({*rivals, *chosen.values()})}
    for _ in range(rounds):
        for name in runs:
            runs[name].append(measure(tessera, matrix, name, 10 * max(BUDGETS))["seconds"])
    row["duel"] = runs
    for budget, choice in row["choices"].items():
        choice["rival"], choice["ratio"] = rivals[0], None
        if budget in chosen:
            choice["rival"], choice["ratio"] = best_rival(runs, chosen[budget], rivals)


def control(row):
    """The ratio of the table's own first: more than 1 by noise alone, or because it was lucky."""
    first = min(row["duel"], key=lambda name: min(row["table"][name]["runs"]))
    return best_rival(row["duel"], first, row["duel"])[1]


def summary(rows):
    """Prints; the share within 10 % with the longest budget."""
    shares = []
    for budget in map(str, BUDGETS):
        ratios = {row["matrix"]: row["choices"][budget]["ratio"] or float("inf") for row in rows}
        within = sum(ratio <= 1.1 for ratio in ratios.values())
        shares.append(within / len(rows))
        spent = statistics.median(row["choices"][budget]["seconds"] for row in rows)
        print(f"budget {budget} s: {within} of {len(rows)} within 10 % ({shares[-1]:.0%}); "
              f"median time of tune {spent:.2f} s")
        for row in sorted(rows, key=lambda row: -ratios[row["matrix"]])[:8]:
            print(f"  {ratios[row['matrix']]:.2f}  {row['matrix']}: "
                  f"{row['choices'][budget]['choice']} for {row['choices'][budget]['rival']}, "
                  f"{1e3 * min(row['table'][row['choices'][budget]['rival']]['runs']):.1f} ms")
    within = sum(control(row) <= 1.1 for row in rows)
    print(f"for comparison, the first of each table, judged alike: {within} of {len(rows)}")
    return shares[0]


def write(path, found):
    head = json.dumps({key: value for key, value in found.items() if key != "rows"})
    lines = ",\n".join(json.dumps(row) for row in found["rows"])
    path.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", default=os.environ.get("TESSERA_TEST_MATRICES", "."))
    parser.add_argument("--tessera", default=str(ROOT / "build/release/bin/tessera"))
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "bench/results/cpu/tune.json")
    parser.add_argument("--retune", action="store_true")
    arguments = parser.parse_args()

    study = json.loads((ROOT / "bench/results/cpu/study.json").read_text())["rows"]
    real = sorted({row["matrix"] for row in study if row["status"] == "converged"})
    rows = json.loads(arguments.json.read_text())["rows"] if arguments.json.exists() else []
    version = subprocess.run([arguments.tessera, "--version"], capture_output=True, text=True,
                             check=True).stdout.split()
    known = {row["matrix"]: row for row in rows}
    found = {"schema": "tessera-bench/1", "bench": "tune", "version": " ".join(version[1:]),
             "device": "CPU, 1 thread", "threads": 1, "options": " ".join(OPTIONS), "rows": rows}
    if arguments.retune:
        known_names = {ordered(name) for name in PRECONDITIONERS}
        for row in rows:
            row.pop("duel", None)
            row["table"] = {name: entry for name, entry in row["table"].items()
                            if name.replace(",singular=shift", "") in known_names}
    for name in real + GENERATED:
        row = known.get(name, {"matrix": name})
        if "duel" in row:
            continue
        path = name if ":" in name else os.path.join(arguments.matrices, name)
        if "table" not in row:
            row["table"] = exhaustive(arguments.tessera, path)
            rows.append(row)
        row["choices"] = {str(b): choose(arguments.tessera, path, b) for b in BUDGETS}
        duel(arguments.tessera, path, row)
        write(arguments.json, found)
        print(name, *(row["choices"][str(b)]["ratio"] for b in BUDGETS), flush=True)
    return 0 if summary(rows) >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
