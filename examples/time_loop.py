"""Steps of a simulation: new values on one pattern, the hierarchy is kept."""

import numpy as np

import tessera

problem = tessera.problems("elasticity3d:10")
stiffness, load = problem.A, problem.b
data = stiffness.data.copy()

with tessera.Solver(stiffness, method="cg", M="amg", coordinates=problem.coordinates) as solver:
    x = np.zeros_like(load)
    for step in range(5):
        solver.update(data * (1 + 0.1 * step))
        result = solver.solve(load, x, rtol=1e-8)
        x = result.x
        print(step, result.status, result.iterations, f"{result.true_residual:.1e}")
        assert result.converged
