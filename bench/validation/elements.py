"""Shape functions of every element but the pyramid, their rules of integration, stresses at nodes."""
import functools
import itertools

import numpy as np

from shapes import SHAPES


def exponents(kind):
    """Monomials that span the shape functions."""
    shape = SHAPES[kind]
    d, order = shape.dimensions, 2 if shape.second_order else 1
    every = list(itertools.product(range(order + 1), repeat=d))
    if kind.startswith(("tri", "tet")):
        return [e for e in every if sum(e) <= order]
    if kind.startswith("prism"):
        return [e for e in every if e[0] + e[1] <= (order if e[2] < 2 else 1)]
    if kind in ("quad8", "hex20"):
        return [e for e in every if sum(x for x in e if x > 1) <= 2]
    return every


def node_positions(kind):
    """Nodes in the reference element: simplices in [0, 1], other axes in [-1, 1]."""
    shape = SHAPES[kind]
    corners = {
        "line": [(-1,), (1,)],
        "tri": [(0, 0), (1, 0), (0, 1)],
        "quad": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "tet": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
        "prism": [(0, 0, -1), (1, 0, -1), (0, 1, -1), (0, 0, 1), (1, 0, 1), (0, 1, 1)],
        "hex": [(x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))],
    }[kind.rstrip("0123456789")]
    corners = np.array(corners, dtype=float)
    if not shape.second_order:
        return corners
    parts = [*shape.edges, *shape.centres] + [range(shape.corners)] * shape.volume_node
    return np.concatenate([corners, [corners[list(part)].mean(axis=0) for part in parts]])


def rule(kind):
    """Points and weights with which the stiffness, too, is integrated."""
    def gauss(count):
        return np.polynomial.legendre.leggauss(count)

    family, order = kind.rstrip("0123456789"), 2 if SHAPES[kind].second_order else 1
    triangle = {1: ([(1 / 3, 1 / 3)], [1 / 2]),
                2: ([(1 / 6, 1 / 6), (2 / 3, 1 / 6), (1 / 6, 2 / 3)], [1 / 6] * 3)}
    if family == "tri":
        return [np.array(part) for part in triangle[order]]
    if family == "tet":
        if order == 1:
            return np.full((1, 3), 1 / 4), np.array([1 / 6])
        a, b = (5 - 5**0.5) / 20, (5 + 3 * 5**0.5) / 20
        return np.full((4, 3), a) + (b - a) * np.eye(4)[:, 1:], np.full(4, 1 / 24)
    if family == "prism":
        (flat, areas), (along, lengths) = triangle[2], gauss(order + 1)
        points = [(*p, z) for z in along for p in flat]
        return np.array(points), np.array([area * length for length in lengths for area in areas])
    d, (along, lengths) = SHAPES[kind].dimensions, gauss(order + 1)
    return (np.array(list(itertools.product(along, repeat=d))),
            np.array([np.prod(part) for part in itertools.product(lengths, repeat=d)]))


def evaluate(kind, points):
    """Shape functions and their derivatives (last axis) at points of the reference element."""
    powers = np.array(exponents(kind))

    def monomials(at, less=None):
        factor, reduced = np.ones(len(powers)), powers.copy()
        if less is not None:
            factor = powers[:, less].astype(float)
            reduced[:, less] = np.maximum(reduced[:, less] - 1, 0)
        return factor * np.prod(at[:, None, :] ** reduced, axis=2)

    inverse = np.linalg.inv(monomials(node_positions(kind)))
    slopes = [monomials(points, axis) @ inverse for axis in range(powers.shape[1])]
    return monomials(points) @ inverse, np.stack(slopes, axis=2)


@functools.cache
def functions(kind):
    """Weights, shape functions and their derivatives at the points of the rule."""
    points, weights = rule(kind)
    return weights, *evaluate(kind, points)


def at_nodes(kind, values):
    """Least squares: stresses at nodes from those at integration points (elements, points, ...)."""
    points, _ = rule(kind)
    places = node_positions(kind)
    if kind.startswith(("tri", "tet")):  # Linear, or constant.
        columns = slice(None) if len(points) > 1 else slice(1)
        linear = [np.column_stack([np.ones(len(at)), at])[:, columns] for at in (points, places)]
        weights = linear[1] @ np.linalg.pinv(linear[0])
    elif kind.startswith("prism"):
        fit = [np.column_stack([np.ones(len(at)), at, at[:, :2] * at[:, 2:]]) for at in (points, places)]
        weights = fit[1] @ np.linalg.pinv(fit[0])
    else:
        weights = np.linalg.pinv(functions(kind)[1])
    return np.einsum("np,epc->enc", weights, values)


def node_means(mesh, elements, values):
    """The mean over the elements of each node."""
    sums, counts = np.zeros((len(mesh.points), values.shape[2])), np.zeros(len(mesh.points))
    np.add.at(sums, elements, values)
    np.add.at(counts, elements, 1)
    return sums / counts[:, None]
