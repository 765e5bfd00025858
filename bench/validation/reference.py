"""A finite-element method in NumPy for what scikit-fem lacks: incompatible modes, and the formulations of
CalculiX that differ."""
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from elements import at_nodes, evaluate, node_means, node_positions, rule

COMPONENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


def strain_matrices(gradients, hoop):
    """Strains of the displacements of functions, by element and point; hoop: functions over the radius."""
    count, points, n, d = gradients.shape
    strains = np.zeros((count, points, len(COMPONENTS), n, d))
    for row, (i, j) in enumerate(COMPONENTS):
        if max(i, j) >= d:
            continue
        strains[:, :, row, :, i] += gradients[..., j]
        if i != j:
            strains[:, :, row, :, j] += gradients[..., i]
    strains[:, :, 2, :, 0] += hoop
    return strains.reshape(count, points, len(COMPONENTS), n * d)


def mode_gradients(model, kind, places, volumes, patch_tested):
    """Gradients and hoop strains of 1 - x_k^2 by the Jacobian in the centre; for the patch test times its
    determinant and the depth there over those at the point: R. L. Taylor, P. J. Beresford and E. L. Wilson.
    In axisymmetry they have no hoop strain, and that of a third mode is x_0 x_1 times this factor: J. C. Simo
    and M. S. Rifai."""
    points, _ = rule(kind)
    corners = node_positions(kind) / len(places[0])  # Derivatives of the shape functions in the centre.
    jacobian = np.einsum("ni,enx->eix", corners, places)
    slopes = -2 * points[:, :, None] * np.eye(points.shape[1])
    gradients = np.einsum("pki,exi->epkx", slopes, np.linalg.inv(jacobian))
    if patch_tested:
        centre = np.linalg.det(jacobian) * model.depth(places.mean(axis=1))
        gradients *= (centre[:, None] / volumes)[..., None, None]
    if model.plane != "axisymmetric":
        return gradients, np.zeros(gradients.shape[:3])
    hoop = np.zeros((*volumes.shape, 3))
    hoop[..., 2] = centre[:, None] / volumes * points.prod(axis=1)
    return np.concatenate([gradients, np.zeros_like(gradients[:, :, :1])], axis=2), hoop


def solve(model, modes=None, constraint=None, integration=None):
    """modes: None, "tested" (passes the patch test) or "plain". constraint: displacements = constraint times
    independent ones. integration: points and weights other than the usual ones; no stresses then."""
    mesh = model.mesh
    ((kind, elements),) = mesh.elements.items()
    d, matrix = mesh.dimensions, model.elasticity_matrix()
    points, weights = integration or rule(kind)
    values, slopes = evaluate(kind, points)
    places = mesh.points[elements]
    at = np.einsum("pn,enx->epx", values, places)
    depths = np.broadcast_to(model.depth(at), at.shape[:2])
    hoop = np.zeros((*depths.shape, len(values[0])))
    if model.plane == "axisymmetric":
        hoop = values / at[..., :1]
    jacobians = np.einsum("pni,enx->epxi", slopes, places)
    determinants = np.linalg.det(jacobians)
    gradients = np.einsum("pni,epix->epnx", slopes, np.linalg.inv(jacobians))
    if modes:
        added = mode_gradients(model, kind, places, determinants * depths, modes == "tested")
        gradients, hoop = (np.concatenate(pair, axis=2) for pair in zip((gradients, hoop), added))
    strains = strain_matrices(gradients, hoop)
    stiffness = np.einsum("p,ep,epki,kl,eplj->eij", weights, determinants * depths, strains, matrix, strains,
                          optimize=True)
    n = elements.shape[1] * d
    # The third mode of axisymmetry has no axial part, so that a row and a column are 0.
    recovery = -np.linalg.pinv(stiffness[:, n:, n:], hermitian=True) @ stiffness[:, n:, :n]
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
