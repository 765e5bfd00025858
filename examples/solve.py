"""Solves an elastic body by multigrid, with SciPy's names and with Tessera's own."""

import numpy as np

import tessera

problem = tessera.problems("elasticity3d:12")
result = tessera.solve(problem.A, problem.b, coordinates=problem.coordinates)
print(result)

ml = tessera.smoothed_aggregation_solver(problem.A, coordinates=problem.coordinates)
x, info = tessera.cg(problem.A, problem.b, rtol=1e-8, M=ml)
print(ml)
print("info", info, "residual", np.linalg.norm(problem.b - problem.A @ x))
