#!/usr/bin/env python3
"""Measures multigrid of the symmetric part on flows, beside what `auto` takes.

usage: symmetric_part.py FILE [--tessera PROGRAM] [--device cpu|cuda] [--threads N] [--runs N] [SYSTEM...]

Solves each system (default: those below), b = ones, to ||b - A x|| <= 1e-8 ||b||, by `auto` and by
gmres:50 and bicgstab with amg,symmetric_part=on, in at most 60 seconds and, by the latter, 500
iterations. FILE of schema tessera-bench/1 gets a row for each with the iterations and the shortest
seconds of setup and solve of N runs (default: 3), and is printed as a table.
"""
import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SYSTEMS = [f"{name}:{size},{key}={strength}"
           for name, key, sizes in (("recirculation", "peclet", (150, 200, 300, 400, 800)),
                                    ("convection2d", "strength", (150, 200, 300, 400, 800)),
                                    ("convection3d", "strength", (40, 60, 80, 100)))
           for size in sizes for strength in (10, 100, 1000)]
AMG = "amg,symmetric_part=on"
WAYS = [("auto", "auto"), ("gmres:50", AMG), ("bicgstab", AMG)]


def solve(arguments, system, solver, preconditioner):
    command = [arguments.tessera, "solve", system, "--rhs", "ones", "--solver", solver, "--precond",
               preconditioner, "--rtol", "1e-8", "--device", arguments.device, "--threads",
               str(arguments.threads), "--max-seconds", "60", "--quiet", "--json", "-"]
    if solver != "auto":
        command += ["--max-iterations", "500"]
    run = subprocess.run(command, capture_output=True, text=True)
    if not run.stdout:
        return None, {"status": "refused", "message": run.stderr.strip()[:100]}
    report = json.loads(run.stdout)
    seconds = report["seconds"]
    return report, {
        "status": report["status"], "used": f"{report['solver']} + {report['preconditioner']}",
        "iterations": report["iterations"],
        "setup_seconds": float(f"{seconds['setup']:.4g}"),
        "solve_seconds": float(f"{seconds['solve']:.4g}"),
    }


def total(row):
    return row.get("setup_seconds", 0) + row.get("solve_seconds", 0)


def table(rows):
    print("| System | `auto` | s | gmres:50 | s | bicgstab | s |\n" + "| --- " * 7 + "|")
    for system in dict.fromkeys(row["matrix"] for row in rows):
        cells = []
        for row in (row for row in rows if row["matrix"] == system):
            name = row["status"] if row["status"] != "converged" else \
                f"{row['used'].split(' + ')[1].partition(',')[0]}, {row['iterations']}" \
                if row["solver"] == "auto" else f"{row['iterations']}"
            cells += [name, f"{total(row):.3g}"]
        print(f"| `{system}` | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("systems", nargs="*")
    parser.add_argument("--tessera", default=str(HERE.parent / "build/release/bin/tessera"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    rows, head = [], {}
    for system in arguments.systems or SYSTEMS:
        found = {}
        for run in range(arguments.runs):  # In turn, so that other load meets all alike.
            for way in WAYS:
                if run > 0 and total(found[way]) > 10:
                    continue
                report, row = solve(arguments, system, *way)
                if report and not head:
                    head = {key: report[key] for key in ("version", "commit", "device", "threads")}
                if way not in found or total(row) < total(found[way]):
                    found[way] = row
        rows += [{"op": "solve", "matrix": system, "solver": solver, "preconditioner": text} | row
                 for (solver, text), row in found.items()]
        document = {"schema": "tessera-bench/1", "bench": "symmetric_part", **head}
        text = ",\n".join(json.dumps(row) for row in rows)
        pathlib.Path(arguments.file).write_text(
            f'{json.dumps(document)[:-1]}, "rows": [\n{text}\n]}}\n')
    table(rows)


if __name__ == "__main__":
    main()
