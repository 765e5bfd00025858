#!/usr/bin/env python3
"""Counts which nonsymmetric systems preconditioners let GMRES and BiCGSTAB solve.

usage: nonsymmetric.py --run FILE --precond TEXT... [--solver NAME]... [--matrices FOLDER]
                       [--tessera PROGRAM] [--device cpu|cuda] [--threads N] [--max-iterations N]
                       [--seconds N] [--only real|generated] [SYSTEM...]
       nonsymmetric.py [FILE...]

--run solves A x = b, b = ones, for every square real matrix (NAME.mtx.gz) of FOLDER (default:
$TESSERA_TEST_MATRICES) whose values are not symmetric, and for the generated systems below, or for
those that are named, with each --precond TEXT and each --solver (default: gmres:50 and bicgstab), to
||b - A x|| <= 1e-8 ||b||, in at most 500 iterations and 60 seconds, and writes FILE of schema
tessera-bench/1 with one row for each system, solver and preconditioner:

  status                  of `tessera solve`; refused, with a message, where it made no report
  iterations              also of runs that did not converge
  true_relative_residual  of the x that was returned; null where there is none
  backward_error          largest |b - A x|_i / (|A| |x| + |b|)_i
  factor_entries          values of the preconditioner's factors; null where it has none
  levels                  of its triangular solves
  setup_seconds, solve_seconds

Without --run, prints a table of FILEs (default: nonsymmetric*.json in the folders of bench/results).
A system is solved if the residual is at most 1e-8, and counted as solved backward stably if the
backward error is at most 1e-10 or the residual small: rows of very different sizes have solutions
whose residual cannot be small. The columns "any" count systems that one of the solvers solves.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GENERATED = [
    "convection2d:100,strength=1000", "convection2d:100,strength=1000,scheme=central",
    "convection3d:40", "convection3d:40,strength=1000", "convection3d:40,strength=100,scheme=central",
    "recirculation:150", "recirculation:150,scheme=central", "recirculation:300",
    "euler2d:80", "euler2d:80,cfl=1000", "euler3d:24", "euler3d:24,cfl=1000",
    "random_blocks:2000",
]
SOLVERS = ["gmres:50", "bicgstab"]
RESIDUAL, BACKWARD_ERROR = 1e-8, 1e-10


def header(path):
    """Field, symmetry, rows and columns by the first lines of a Matrix Market file."""
    with gzip.open(path, "rt", errors="replace") as file:
        words = file.readline().lower().split()
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
    rows, columns = line.split()[:2]
    return words[3], words[4], int(rows), int(columns)


def matrix_path(arguments, name):
    return os.path.join(arguments.matrices, name + ".mtx.gz")


def is_nonsymmetric(arguments, path):
    field, symmetry, rows, columns = header(path)
    if field not in ("real", "integer") or symmetry == "symmetric" or rows != columns:
        return False
    run = subprocess.run([arguments.tessera, "info", path, "--json", "-"], capture_output=True,
                         text=True)
    if not run.stdout:
        sys.exit(f"tessera info {path}: {run.stderr.strip()}")
    return not json.loads(run.stdout)["symmetry"]["values"]


def real_matrices(arguments):
    folder = pathlib.Path(arguments.matrices)
    if not arguments.matrices or not folder.is_dir():
        sys.exit("name the folder of real matrices by --matrices or TESSERA_TEST_MATRICES")
    paths = sorted(folder.glob("*.mtx.gz"))
    return [path.name.removesuffix(".mtx.gz") for path in paths if is_nonsymmetric(arguments, path)]


def factor_entries(report):
    """Values of the factors: diagonal blocks, and those of both triangles."""
    if "ilu" in report:
        block = int(re.match(r"ilu:(\d+)", report["preconditioner"])[1])
        found = report["ilu"]
        return (2 * found["stored_blocks"] - found["block_rows"]) * block * block
    return report.get("direct", {}).get("factor_entries")


def solve(arguments, name, solver, preconditioner):
    """The report of a run as a dict, or what it says on stderr."""
    path = name if ":" in name else matrix_path(arguments, name)
    command = [arguments.tessera, "solve", path, "--rhs", "ones", "--solver", solver, "--precond",
               preconditioner, "--rtol", str(RESIDUAL), "--device", arguments.device,
               "--max-iterations", str(arguments.max_iterations), "--threads",
               str(arguments.threads), "--max-seconds", str(arguments.seconds), "--quiet",
               "--json", "-"]
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout) if run.stdout else run.stderr.strip()


def measure(arguments, name, solver, preconditioner):
    row = {"op": "solve", "matrix": name, "solver": solver, "preconditioner": preconditioner}
    report = solve(arguments, name, solver, preconditioner)
    if isinstance(report, str):
        return {}, row | {"status": "refused", "message": report}
    found = report.get("ilu", {})
    row |= {"rows": report["matrix"]["rows"], "nonzeros": report["matrix"]["nonzeros"],
            "used": report["preconditioner"], "status": report["status"],
            "iterations": report["iterations"],
            "operator_applications": report["operator_applications"],
            "true_relative_residual": report["true_relative_residual"],
            "backward_error": report["backward_error"],
            "factor_entries": factor_entries(report), "levels": found.get("levels"),
            "setup_seconds": report["seconds"]["setup"],
            "solve_seconds": report["seconds"]["solve"]}
    row = {key: float(f"{value:.4g}") if isinstance(value, float) else value
           for key, value in row.items()}
    return {key: report[key] for key in ("version", "commit", "device", "threads")}, row


def run(arguments):
    names = arguments.names
    if not names:
        names = [] if arguments.only == "generated" else real_matrices(arguments)
        names += [] if arguments.only == "real" else GENERATED
    ways = [(solver, text) for text in arguments.precond for solver in arguments.solver or SOLVERS]
    for way in ways:  # Any error here is one of the options.
        if isinstance(message := solve(arguments, "convection3d:4", *way), str):
            sys.exit(message)
    for name in names:
        if ":" not in name and not os.path.exists(matrix_path(arguments, name)):
            sys.exit(f"{matrix_path(arguments, name)} is missing")
    rows, head = [], {}
    for count, name in enumerate(names, 1):
        for way in ways:
            found, row = measure(arguments, name, *way)
            head = head or found
            rows.append(row)
        print(f"{count} of {len(names)}: {name}", file=sys.stderr, flush=True)
        document = {"schema": "tessera-bench/1", "bench": "nonsymmetric", **head,
                    "kind": arguments.device, "max_iterations": arguments.max_iterations}
        text = ",\n".join(json.dumps(row) for row in rows)
        pathlib.Path(arguments.run).write_text(
            f'{json.dumps(document)[:-1]}, "rows": [\n{text}\n]}}\n')


def is_solved(row):
    residual = row.get("true_relative_residual")
    return residual is not None and residual <= RESIDUAL


def is_stable(row):
    error = row.get("backward_error")
    return is_solved(row) or error is not None and error <= BACKWARD_ERROR


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}"


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def summary(rows, title):
    """A line for each solver: numbers of systems that are solved, medians over these."""
    systems = sorted({row["matrix"] for row in rows})
    lines = []
    for solver in dict.fromkeys(row["solver"] for row in rows):
        own = [row for row in rows if row["solver"] == solver]
        solved = [row for row in own if is_solved(row)]
        fill = [row["factor_entries"] / row["nonzeros"] for row in own if row.get("factor_entries")]
        lines.append(
            f"| {title} | {solver} | {len(solved)} | {sum(map(is_stable, own))} of {len(own)} | "
            f"{number(median(row['iterations'] for row in solved))} | "
            f"{number(median(row['operator_applications'] for row in solved))} | "
            f"{number(median(fill))} | {number(median(row.get('levels') for row in own))} | "
            f"{number(sum(row.get('setup_seconds', 0) for row in own))} | "
            f"{number(sum(row.get('solve_seconds', 0) for row in own))} |")
    either = [{row["matrix"] for row in rows if good(row)} for good in (is_solved, is_stable)]
    lines.append(f"| {title} | any | {len(either[0])} | {len(either[1])} of {len(systems)} "
                 "| | | | | | |")
    return lines


def table(path):
    """Tables of each preconditioner of a file."""
    found = json.loads(pathlib.Path(path).read_text())
    for text in dict.fromkeys(row["preconditioner"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["preconditioner"] == text]
        print(f"{text}: {found.get('device')}, commit {found.get('commit')}, at most "
              f"{found['max_iterations']} iterations\n")
        tables(rows)


def tables(rows):
    """Counts of real and generated systems, then a line for each generated one."""
    generated = [row for row in rows if ":" in row["matrix"]]
    real = [row for row in rows if ":" not in row["matrix"]]
    print("| Systems | Solver | Solved | Backward stably | Iterations | Products | Entries / nonzero "
          "| Levels | Setups, s | Solves, s |")
    print("| --- " * 10 + "|")
    for title, part in (("real", real), ("generated", generated)):
        if part:
            print("\n".join(summary(part, title)))
    if generated:
        print("\n| System | Solver | Status | Iterations | Products | Entries / nonzero | Levels "
              "| Setup, s | Solve, s |")
        print("| --- " * 9 + "|")
    for row in generated:
        fill = row["factor_entries"] / row["nonzeros"] if row.get("factor_entries") else None
        print(f"| `{row['matrix']}` | {row['solver']} | {row['status']} | "
              f"{number(row.get('iterations'))} | {number(row.get('operator_applications'))} | "
              f"{number(fill)} | {number(row.get('levels'))} | {number(row.get('setup_seconds'))} | "
              f"{number(row.get('solve_seconds'))} |")
    names = sorted({row["matrix"] for row in real} -
                   {row["matrix"] for row in real if is_stable(row)})
    if names:
        print(f"\nNot solved: {', '.join(names)}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--run")
    parser.add_argument("--precond", action="append")
    parser.add_argument("--solver", action="append")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--max-iterations", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", choices=("real", "generated"))
    parser.add_argument("--matrices", default=os.environ.get("TESSERA_TEST_MATRICES", ""))
    parser.add_argument("--tessera", default=str(HERE.parent / "build/release/bin/tessera"))
    arguments = parser.parse_args()
    if arguments.run:
        if not arguments.precond:
            parser.error("--run needs --precond")
        run(arguments)
    for path in [arguments.run] if arguments.run else \
            arguments.names or sorted(HERE.glob("results/*/nonsymmetric*.json")):
        table(path)


if __name__ == "__main__":
    main()
