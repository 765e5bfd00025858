"""A finite-element method in NumPy for what scikit-fem lacks: incompatible modes, and the formulations of
CalculiX that differ."""
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from elements import at_nodes, evaluate, node_means, node_positions, rule

COMPONENTS = {2: ((0, 0), (1, 1), (0, 1)), 3: ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))}


def elasticity_matrix(model):
    """Stress = matrix times strain, with the engineering shear strains."""
    young, poisson, _ = model.material("")
    d = model.mesh.dimensions
    mu = young / (2 * (1 + poisson))
    plane_stress = d == 2 and not model.plane_strain
    lame = young * poisson / (1 - poisson**2 if plane_stress else (1 + poisson) * (1 - 2 * poisson))
    matrix = np.diag([2 * mu] * d + [mu] * (len(COMPONENTS[d]) - d))
    matrix[:d, :d] += lame
    return matrix


def strain_matrices(gradients):
    """Strains of the displacements of the functions, by element and point."""
    count, points, n, d = gradients.shape
    strains = np.zeros((count, points, len(COMPONENTS[d]), n, d))
    for row, (i, j) in enumerate(COMPONENTS[d]):
        strains[:, :, row, :, i] += gradients[..., j]
        if i != j:
            strains[:, :, row, :, j] += gradients[..., i]
    return strains.reshape(count, points, len(COMPONENTS[d]), n * d)


def mode_gradients(kind, places, determinants, patch_tested):
    """Gradients of 1 - x_k^2 by the Jacobian in the centre; times its determinant over that at the point,
    as R. L. Taylor, P. J. Beresford and E. L. Wilson do for the patch test."""
    points, _ = rule(kind)
    corners = node_positions(kind) / len(places[0])  # Derivatives of the shape functions in the centre.
    jacobian = np.einsum("ni,enx->eix", corners, places)
    slopes = -2 * points[:, :, None] * np.eye(points.shape[1])
    gradients = np.einsum("pki,exi->epkx", slopes, np.linalg.inv(jacobian))
    if patch_tested:
        gradients *= (np.linalg.det(jacobian)[:, None] / determinants)[..., None, None]
    return gradients


def solve(model, modes=None, constraint=None, integration=None):
    """modes: None, "tested" (passes the patch test) or "plain". constraint: displacements = constraint times
    independent ones. integration: points and weights other than the usual ones; no stresses then."""
    mesh = model.mesh
    ((kind, elements),) = mesh.elements.items()
    d, matrix = mesh.dimensions, elasticity_matrix(model)
    points, weights = integration or rule(kind)
    _, slopes = evaluate(kind, points)
    places = mesh.points[elements]
    jacobians = np.einsum("pni,enx->epxi", slopes, places)
    determinants = np.linalg.det(jacobians)
    gradients = np.einsum("pni,epix->epnx", slopes, np.linalg.inv(jacobians))
    if modes:
        gradients = np.concatenate(
            [gradients, mode_gradients(kind, places, determinants, modes == "tested")], axis=2)
    strains = strain_matrices(gradients)
    stiffness = model.thickness * np.einsum("p,ep,epki,kl,eplj->eij", weights, determinants, strains, matrix,
                                            strains, optimize=True)
    n = elements.shape[1] * d
    recovery = -np.linalg.solve(stiffness[:, n:, n:], stiffness[:, n:, :n])
    condensed = stiffness[:, :n, :n] + stiffness[:, :n, n:] @ recovery
    unknowns = (elements[:, :, None] * d + np.arange(d)).reshape(len(elements), n)
    rows, columns = np.broadcast_arrays(unknowns[:, :, None], unknowns[:, None, :])
    full = scipy.sparse.csr_array((condensed.ravel(), (rows.ravel(), columns.ravel())),
                                  shape=(mesh.points.size, mesh.points.size))
    solution = solve_system(full, model, constraint)
    moved = solution[unknowns]
    moved = np.concatenate([moved, np.einsum("eij,ej->ei", recovery, moved)], axis=1)
    stress = np.einsum("kl,epli,ei->epk", matrix, strains, moved)
    found = {"displacement": solution.reshape(-1, d), "force": (full @ solution).reshape(-1, d)}
    if integration is None:
        found["stress"] = node_means(mesh, elements, at_nodes(kind, stress))
    return found


def solve_system(full, model, constraint):
    d = model.mesh.dimensions
    load, solution = model.nodal_loads().ravel(), np.zeros(model.mesh.points.size)
    held = []
    for (node, axis), (value, _) in model.supports().items():
        held.append(node * d + axis)
        solution[held[-1]] = value
    right = load - full @ solution
    free = np.setdiff1d(np.arange(len(solution)), held)
    system, right = full[free][:, free], right[free]
    if constraint is None:
        solution[free] = scipy.sparse.linalg.spsolve(system.tocsc(), right)
        return solution
    chosen = constraint[free]
    chosen = chosen[:, np.flatnonzero(abs(chosen).sum(axis=0))]
    independent = scipy.sparse.linalg.spsolve((chosen.T @ system @ chosen).tocsc(), chosen.T @ right)
    solution[free] = chosen @ independent
    return solution
