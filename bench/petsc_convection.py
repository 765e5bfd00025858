#!/usr/bin/env python3
"""Measures `tesserailu` beside PETSc's own ILU on flows.

usage: petsc_convection.py FILE LIBRARY [--system TEXT]... [--tessera PROGRAM] [--runs N]

Solves each system (default: convection and diffusion, and compressible flow), b = ones, by gmres(50) from the right to
||b - A x|| <= 1e-8 ||b|| in PETSc on 1 and 2 ranks of one thread, with the preconditioners below, and
writes FILE of schema tessera-bench/1: for each the iterations, and the shortest seconds of PCSetUp
and of KSPSolve of N runs (default: 5). LIBRARY is libpetsctessera.so. Needs petsc4py of the PETSc
that LIBRARY was compiled for, and mpirun.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
SYSTEMS = ["convection3d:60,strength=100", "euler3d:30,cfl=10"]
WAYS = {
    "bjacobi + ilu": "-pc_type bjacobi -sub_pc_type ilu",
    "bjacobi + tesserailu": "-pc_type bjacobi -sub_pc_type tesserailu",
    "asm + ilu": "-pc_type asm -sub_pc_type ilu",
    "asm + tesserailu": "-pc_type asm -sub_pc_type tesserailu",
    "tesserailu": "-pc_type tesserailu",
}


def solve(path, arguments):
    """On each rank: the matrix of a file in PETSc's binary format; the first one prints a row."""
    import petsc4py
    petsc4py.init(["petsc_convection.py", *arguments])
    from petsc4py import PETSc

    a = PETSc.Mat().create()
    a.setType("aij")
    a.load(PETSc.Viewer().createBinary(path, "r"))
    x, b = a.createVecs()
    b.set(1)
    ksp = PETSc.KSP().create()
    ksp.setOperators(a)
    ksp.setType("gmres")
    ksp.setGMRESRestart(50)
    ksp.setPCSide(PETSc.PC.Side.RIGHT)
    ksp.setTolerances(rtol=1e-8, max_it=500)
    ksp.setFromOptions()
    clock = time.perf_counter
    PETSc.COMM_WORLD.barrier()
    start = clock()
    ksp.setUp()
    ksp.setUpOnBlocks()
    middle = clock()
    ksp.solve(b, x)
    PETSc.COMM_WORLD.barrier()
    end = clock()
    residual = a.createVecLeft()
    a.mult(x, residual)
    residual.aypx(-1, b)
    if PETSc.COMM_WORLD.rank == 0:
        print(json.dumps({
            "rows": a.size[0], "iterations": ksp.getIterationNumber(),
            "reason": ksp.getConvergedReason(), "setup_seconds": middle - start,
            "solve_seconds": end - middle,
        }))
    relative = residual.norm() / b.norm()
    if ksp.getConvergedReason() > 0 and relative > 1e-7:
        sys.exit(f"the residual is {relative}")


def run(ranks, path, library, options):
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = ["mpirun", "--bind-to", "none", "-n", str(ranks), "/usr/bin/python3", str(HERE),
               "--rank", path, "-dll_append", library, *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(arguments):
    rows, version = [], subprocess.run(
        ["/usr/bin/python3", "-c", "import petsc4py; print(petsc4py.__version__)"],
        capture_output=True, text=True, check=True).stdout.strip()
    info = json.loads(subprocess.run(
        [arguments.tessera, "solve", "poisson2d:4", "--device", "cpu", "--threads", "1", "--quiet",
         "--json", "-"], capture_output=True, text=True, check=True).stdout)
    for system in arguments.system or SYSTEMS:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "matrix.petsc")
            subprocess.run([arguments.tessera, "convert", system, path], check=True,
                           stdout=subprocess.DEVNULL)
            found = {}
            for _ in range(arguments.runs):  # In turn, so that other load meets all alike.
                for ranks in (1, 2):
                    for name, options in WAYS.items():
                        row = run(ranks, path, arguments.library, options)
                        best = found.setdefault((ranks, name), row)
                        for key in ("setup_seconds", "solve_seconds"):
                            best[key] = float(f"{min(best[key], row[key]):.4g}")
            rows += [{"matrix": system, "ranks": ranks, "preconditioner": name,
                      "options": WAYS[name]} | row for (ranks, name), row in found.items()]
    document = {"schema": "tessera-bench/1", "bench": "petsc_convection", "petsc": version}
    document |= {key: info[key] for key in ("version", "commit", "device")}
    text = ",\n".join(json.dumps(row) for row in rows)
    pathlib.Path(arguments.file).write_text(
        f'{json.dumps(document)[:-1]}, "rows": [\n{text}\n]}}\n')


def main():
    if sys.argv[1:2] == ["--rank"]:
        return solve(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("library")
    parser.add_argument("--system", action="append")
    parser.add_argument("--tessera", default=str(HERE.parents[1] / "build/release/bin/tessera"))
    parser.add_argument("--runs", type=int, default=5)
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
