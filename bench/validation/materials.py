"""Matrices of elasticity: stress = matrix times strain, of xx, yy, zz, xy, yz, xz; shear strains are the
engineering ones."""
import numpy as np

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


def isotropic(young, poisson):
    shear = young / (2 * (1 + poisson))
    matrix = np.diag([2 * shear] * 3 + [shear] * 3)
    matrix[:3, :3] += young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    return matrix


def directions(axes):
    """Unit vectors along directions 1, 2 and 3; axes: direction 1, and one in the plane of 1 and 2."""
    first, second = np.reshape(axes, (2, 3)) / np.linalg.norm(np.reshape(axes, (2, 3)), axis=1)[:, None]
    second = second - (second @ first) * first
    second /= np.linalg.norm(second)
    return np.array([first, second, np.cross(first, second)])


def orthotropic(constants, axes):
    """constants: E1, E2, E3, nu12, nu23, nu13, G12, G23, G13."""
    e1, e2, e3, nu12, nu23, nu13, *shears = constants
    compliance = np.diag([1 / e1, 1 / e2, 1 / e3, *(1 / shear for shear in shears)])
    compliance[0, 1] = compliance[1, 0] = -nu12 / e1
    compliance[0, 2] = compliance[2, 0] = -nu13 / e1
    compliance[1, 2] = compliance[2, 1] = -nu23 / e2
    turned = directions(axes)
    # Strains along the directions by those along x, y and z.
    turn = np.zeros((6, 6))
    for row, (a, b) in enumerate(PAIRS):
        for column, (i, j) in enumerate(PAIRS):
            unit = np.zeros((3, 3))
            unit[i, j] = unit[j, i] = 1 if i == j else 1 / 2
            strain = turned @ unit @ turned.T
            turn[row, column] = strain[a, b] * (1 if a == b else 2)
    return turn.T @ np.linalg.inv(compliance) @ turn


def plane_stress(matrix):
    """The same with stresses zz, yz and xz that are 0."""
    kept, free = [0, 1, 3], [2, 4, 5]
    result = np.zeros((6, 6))
    result[np.ix_(kept, kept)] = (matrix[np.ix_(kept, kept)] - matrix[np.ix_(kept, free)]
                                  @ np.linalg.solve(matrix[np.ix_(free, free)], matrix[np.ix_(free, kept)]))
    return result
