"""Times from a mesh in a file to results in a file, on two cores, of the bracket in tet10.

Every way is a process of its own. The ways run in turns; of the repeats the fastest counts. One that
takes long is not repeated, and is stopped at the limit.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.spatial

import calculix
import comparisons
import program
import structures
from meshes import write_gmsh

THREADS, REPEATS, LONG, LIMIT = 2, 3, 120.0, 900.0  # Seconds.
SIZES = {"40,000": 2.26, "200,000": 1.27}  # Sizes of elements, by about how many nodes.
DIRECT, ITERATIVE = "CalculiX, SPOOLES", "CalculiX, iterative Cholesky"
TESSERA, MULTIGRID, SCIKIT_FEM = "tessera", "tessera, `--precond amg`", "scikit-fem, pyamg"


def timed(command, folder, limit):
    """Seconds (None: stopped), seconds of processors, and largest memory in bytes of a process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)}
    with open(folder / "output.txt", "w") as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = time.perf_counter() - start
            if done:
                break
            if seconds > limit:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
                return None, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
            time.sleep(0.005)
    if status:
        raise RuntimeError(f"{command[0]} failed:\n{(folder / 'output.txt').read_text()[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def scikit_displacements(folder, model):
    """In the order of the mesh; scikit-fem numbers middles of edges by itself."""
    _, order = scipy.spatial.cKDTree(np.load(folder / "positions.npy")).query(model.mesh.points)
    return np.load(folder / "displacement.npy")[order]


def prepared(folder, name, model):
    """The files of one way; returns its command and a function that reads its displacements."""
    folder.mkdir()
    count = len(model.mesh.points)
    if name in (DIRECT, ITERATIVE):
        calculix.write_deck(folder / "deck.inp", model, "ITERATIVE CHOLESKY" if name == ITERATIVE else "")
        return ["ccx", "deck"], lambda: calculix.by_node(calculix.read_frd(folder / "deck.frd")["DISP"], count)
    write_gmsh(folder / "mesh.msh", model.mesh)
    if name == SCIKIT_FEM:
        shutil.copy(pathlib.Path(__file__).with_name("scikit_bracket.py"), folder)
        return [sys.executable, "scikit_bracket.py"], lambda: scikit_displacements(folder, model)
    command = ["tessera", "solve", "mesh.msh", *model.arguments(), "--vtu", "result.vtu", "--device", "cpu",
               "--threads", str(THREADS), *(["--precond", "amg"] if name == MULTIGRID else [])]
    return command, lambda: program.read_vtu(folder / "result.vtu")["displacement"]


def race(program_file, size):
    model = structures.bracket("tet10", size)
    ways, runs, moved, loads = {}, {}, {}, []
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "exact").mkdir()
        exact = program.run(program_file, place / "exact", model, method=["--precond", "amg"])["displacement"]
        for k, name in enumerate((TESSERA, MULTIGRID, SCIKIT_FEM, ITERATIVE, DIRECT)):
            ways[name] = prepared(place / str(k), name, model)
        for _ in range(REPEATS):
            for k, (name, (command, read)) in enumerate(ways.items()):
                if name in runs and max(run[0] or LIMIT for run in runs[name]) > LONG:
                    continue
                command = [program_file, *command[1:]] if command[0] == "tessera" else command
                loads.append(os.getloadavg()[0])
                run = timed(command, place / str(k), LIMIT)
                print(len(exact), name, run, loads[-1], file=sys.stderr, flush=True)
                runs.setdefault(name, []).append(run)
                moved[name] = None if run[0] is None else read()
    for name in ways:
        seconds, processors, memory = zip(*runs[name])
        done = moved[name] is not None
        yield {"nodes": len(model.mesh.points), "elements": model.mesh.count, "way": name,
               "threads": THREADS, "limit": LIMIT, "seconds": min(seconds) if done else None,
               "all_seconds": seconds, "processor_seconds": min(processors), "memory_bytes": max(memory),
               "error": comparisons.relative(moved[name], exact) if done else None,
               "largest_load_average": max(loads)}


def rows(program_file):
    for size in SIZES.values():
        yield from race(program_file, size)
