#!/usr/bin/env python3
"""Compares what auto chooses with the fastest of all ways to solve a system that `tessera tune` tries.

usage: auto_bars.py --run FILE [--device cpu|cuda] [--threads N] [--matrices FOLDER]
                    [--tessera PROGRAM] [--seconds N] [SYSTEM...]
       auto_bars.py [FILE...]

--run measures the systems below, or those that are named, and writes FILE: for each system one run
of `tessera tune` with a budget that suffices for all trials. A trial ends when it takes 1.35 times
as long as the fastest one so far; auto and the two fastest are repeated in turns. Times are those
from the matrix in the memory of the device to the solution, choice and setup included. Real
matrices are read from FOLDER (default: $TESSERA_TEST_MATRICES); systems named fe_... are those that
finite_elements.py writes.

Without --run, FILEs (default: auto*.json in the folders of bench/results) are compared with the
limits: in 80 % of the cases auto takes at most 1.25 times as long as the fastest, never more than 3
times, and it solves all that any trial solves. Exits with 1 where that does not hold.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKED = (HERE / "bin.tar.xz").exists()  # In the folder that ./check --pack makes.
SYSTEMS = [
    # Finite elements at two sizes each.
    "elasticity3d:20", "elasticity3d:54", "cantilever3d:8,length=8", "cantilever3d:14,length=16",
    "plate_hole:40", "plate_hole:200",
    # Other generated ones.
    "poisson3d:80", "diffusion3d:48,checkerboard=1e4", "convection3d:50", "stokes:48",
    # Real ones: definite, four of them, the last three ill-conditioned; indefinite; nonsymmetric.
    "mesh3e1", "bcsstk18", "1138_bus", "bcsstk24", "bcsstk38",
    "aug3dcqp", "stokes64", "sqd_aug3dcqp_3x3_it5",
    "add20", "dw8192",
]
# Assembled by scikit-fem; measured if they are named or in the folder.
FINITE_ELEMENTS = [
    "fe_diffusion_p2", "fe_diffusion_p4", "fe_diffusion_tet_p2", "fe_elasticity_tet",
    "fe_elasticity_tri_p2", "fe_heat_step", "fe_plate", "fe_magnetic_field", "fe_convection",
    "fe_waves", "fe_stokes", "fe_mixed_diffusion",
]
GOOD, WORST, SHARE = 1.25, 3, 0.8


def words(trial):
    return {key: trial[key] for key in ("solver", "preconditioner", "format")}


def measure(arguments, name):
    path = name if ":" in name else os.path.join(arguments.matrices, name + ".mtx.gz")
    command = [arguments.tessera, "tune", path, "--device", arguments.device, "--threads",
               str(arguments.threads), "--seconds", str(arguments.seconds), "--quiet", "--json", "-"]
    run = subprocess.run(command, capture_output=True, text=True)
    if not run.stdout:
        sys.exit(f"{' '.join(command)}: {run.stderr.strip()}")
    report = json.loads(run.stdout)
    choice = next(trial for trial in report["trials"] if trial["auto"])
    others = [trial for trial in report["trials"] if trial["status"] == "converged"]
    best = min(others, key=lambda trial: trial["total_seconds"], default=None)
    row = {"system": name, "rows": report["rows"], "nonzeros": report["nonzeros"],
           "auto": words(choice), "auto_status": choice["status"],
           "auto_seconds": choice.get("total_seconds"),
           "best": best and words(best), "best_seconds": best and best["total_seconds"],
           "tried": len(report["trials"]), "not_tried": len(report["not_tried"])}
    head = {"version": report["version"], "commit": report["commit"], "device": report["device"]}
    return head, row


def ratio(row):
    """How many times as long auto takes; infinity if only others solve the system."""
    if row["best"] is None:
        return 1.0
    if row["auto_status"] != "converged":
        return float("inf")
    return row["auto_seconds"] / row["best_seconds"]


def line(row):
    text = " ".join(row["auto"].values())
    best = " ".join(row["best"].values()) if row["best"] else "none"
    times = (row["auto_seconds"] or 0, row["best_seconds"] or 0)
    return (f"{ratio(row):5.2f}  {row['system']}: {1e3 * times[0]:.1f} ms, {text} "
            f"({row['auto_status']}); best {1e3 * times[1]:.1f} ms, {best}"
            + (f"; {row['not_tried']} not tried" if row["not_tried"] else ""))


def run(arguments):
    rows, head = [], {}
    there = [name for name in FINITE_ELEMENTS
             if os.path.exists(os.path.join(arguments.matrices, name + ".mtx.gz"))]
    for name in arguments.names or SYSTEMS + there:
        head, row = measure(arguments, name)
        rows.append(row)
        print(line(row), flush=True)
        found = {"schema": "tessera-bench/1", "bench": "auto", **head,
                 "threads": arguments.threads, "kind": arguments.device}
        text = ",\n".join(json.dumps(row) for row in rows)
        pathlib.Path(arguments.run).write_text(f'{json.dumps(found)[:-1]}, "rows": [\n{text}\n]}}\n')
    return judge(arguments.run)


def judge(path):
    """Prints the share of good cases; whether the limits hold."""
    found = json.loads(pathlib.Path(path).read_text())
    ratios = [ratio(row) for row in found["rows"]]
    good = sum(value <= GOOD for value in ratios)
    holds = good >= SHARE * len(ratios) and max(ratios) <= WORST
    print(f"{found['device']}, {found['threads']} threads: {good} of {len(ratios)} within {GOOD}, "
          f"the worst {max(ratios):.2f}: {'PASS' if holds else 'SHORT'}")
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--run")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--matrices", default=str(HERE / "matrices") if PACKED else
                        os.environ.get("TESSERA_TEST_MATRICES", "."))
    parser.add_argument("--tessera", default=str(HERE / "bin/tessera" if PACKED else
                                                 HERE.parent / "build/release/bin/tessera"))
    arguments = parser.parse_args()
    if PACKED and not (HERE / "bin").exists():
        subprocess.run(["tar", "-C", HERE, "-xJf", HERE / "bin.tar.xz"], check=True)
    if arguments.run:
        return 0 if run(arguments) else 1
    files = arguments.names or sorted(HERE.glob("results/*/auto*.json"))
    results = []
    for path in files:
        for row in json.loads(pathlib.Path(path).read_text())["rows"]:
            print(line(row))
        results.append(judge(path))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
