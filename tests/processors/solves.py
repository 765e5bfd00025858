"""Solves small systems with programs built by other compilers or for other processors.

solves.py [--same-bits] REFERENCE PROGRAM [ARGUMENT...]

REFERENCE and PROGRAM with its ARGUMENTs (PROGRAM may be an emulator) are two builds of the command
line. Checked: generated matrices differ by rounding errors at most; solves converge to the tolerance,
by the residual computed here; numbers of iterations differ by 1 and 5 % at most. With --same-bits all
bits are the same, in each instruction set of the processor. Prints a table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

#: Problem, and options of the solve.
CASES = [
    ("elasticity3d:7", "--solver fcg --precond amg"),
    ("diffusion3d:12,checkerboard=100", "--solver cg --precond amg,precision=working"),
    ("kkt:300", "--solver sqmr --precond block_ldlt:8"),
    ("shell:16", "--solver minres --precond block_ldlt:4,positive_definite"),
    ("stokes:12", "--solver richardson --precond direct"),
    ("convection3d:9,strength=50", "--solver richardson --precond direct"),
    ("elasticity2d:16", "--solver cg --precond block_jacobi:32"),
    ("elasticity2d:16", "--solver cg --precond block_jacobi:16,precision=f16"),
    ("random_blocks:60", "--solver gmres --precond block_jacobi:32,precision=adaptive"),
    ("elasticity3d:6", "--solver cg --precond chebyshev:6,values=f16 --format sbell:3"),
    ("convection2d:30", "--solver gmres:20 --precond neumann:3 --format sell:32"),
    ("convection3d:9", "--solver idr:4 --precond jacobi"),
    ("recirculation:20,peclet=100", "--solver bicgstab --precond block_jacobi:8"),
    ("helmholtz:12", "--solver minres --precond none"),
    ("poisson2d:40", "--solver cg --precond jacobi --precision f32"),
    ("circuit:16", ""),
]


class Program:
    """One build of the command line, with an instruction set (empty: the largest)."""

    def __init__(self, command: list[str], folder: Path, instruction_set: str = "") -> None:
        self.command = command
        self.folder = folder
        self.environment = {**os.environ, "TESSERA_ISA": instruction_set, "OMP_NUM_THREADS": "2"}
        folder.mkdir()

    def run(self, *words: str) -> str:
        """Runs it in its folder, and returns what it prints; ends this script if it fails."""
        done = subprocess.run(
            [*self.command, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            line = " ".join([*self.command, *words])
            sys.exit(f"{line}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def matrix(self, problem: str) -> scipy.sparse.csr_matrix:
        """The generated matrix, which stays in its file A.mtx.gz."""
        self.run("convert", problem, "A.mtx.gz")
        return scipy.io.mmread(self.folder / "A.mtx.gz").tocsr()

    def solve(self, system: Path, options: list[str]) -> tuple[dict, np.ndarray]:
        """The report, and x for a right-hand side of ones."""
        files = ["--json", "run.json", "--out", "x.mtx"]
        self.run("solve", str(system), "--rhs", "ones", "--device", "cpu", *files, *options)
        report = json.loads((self.folder / "run.json").read_text())
        return report, scipy.io.mmread(self.folder / "x.mtx").ravel()


def compare(reference: Program, other: Program, same_bits: bool) -> list[str]:
    """Solves all systems with both, prints a row for each, and returns what is wrong."""
    faults = []
    for problem, text in CASES:
        matrix, its_matrix = reference.matrix(problem), other.matrix(problem)
        # The entries of both are rounded from the same formulas; functions of libm may differ.
        apart = abs(matrix - its_matrix).max() / abs(matrix).max()
        if apart > 4 * np.finfo(float).eps:
            faults.append(f"{problem}: the matrices differ by {apart}")
        options = text.split()
        rtol = 1e-4 if "f32" in options else 1e-8
        b = np.ones(matrix.shape[0])
        found = []
        for program in (reference, other):
            report, x = program.solve(
                reference.folder / "A.mtx.gz", [*options, "--rtol", str(rtol)]
            )
            found.append((report, x))
            residual = np.linalg.norm(b - matrix @ x) / np.linalg.norm(b)
            # Its rounding errors are far below a hundredth of the tolerance.
            if report["status"] != "converged" or residual > 1.01 * rtol:
                faults.append(f"{problem} {text}: {report['status']}, residual {residual}")
        (report, x), (its_report, its_x) = found
        if report["preconditioner"] != its_report["preconditioner"]:
            faults.append(f"{problem} {text}: {its_report['preconditioner']}")
        iterations, its_iterations = report["iterations"], its_report["iterations"]
        if abs(iterations - its_iterations) > 1 + iterations // 20:
            faults.append(f"{problem} {text}: {iterations} and {its_iterations} iterations")
        same = x.tobytes() == its_x.tobytes()
        if same_bits and not (same and apart == 0):
            faults.append(f"{problem} {text}: other bits")
        difference = np.linalg.norm(x - its_x) / np.linalg.norm(x)
        print(
            f"{'same' if apart == 0 else f'{apart:.0e}':>6} {iterations:>5} {its_iterations:>5} "
            f"{'same bits' if same else f'{difference:.1e}':>10}  {problem} {text}"
        )
    return faults


def main() -> None:
    """Compares the two programs of the command line."""
    words = sys.argv[1:]
    same_bits = words[0] == "--same-bits"
    if same_bits:
        words = words[1:]
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        first = Program(words[:1], Path(scratch, "devices"))
        sets = [""]
        if same_bits:
            sets = json.loads(first.run("devices", "--json", "-"))["cpu"]["instruction_sets"]
        for name in sets:
            reference = Program(words[:1], Path(scratch, "reference" + name), name)
            other = Program(words[1:], Path(scratch, "other" + name), name)
            print(reference.run("devices").splitlines()[0])
            print(other.run("devices", "--test"), end="")
            print("matrix iterations   x differs  problem, options")
            faults += compare(reference, other, same_bits)
    for fault in faults:
        print(f"WRONG {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
