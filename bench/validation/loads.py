"""Loads on nodes, integrated in NumPy independently of the programs that are compared.

`depth` is that of a Model, a function of points.
"""
import numpy as np

from elements import functions


def at_points(mesh, kind, nodes, depth):
    """Depth at the points of the rule, by element."""
    _, values, _ = functions(kind)
    places = np.einsum("pn,enx->epx", values, mesh.points[nodes])
    return np.broadcast_to(depth(places), places.shape[:2])


def shares(mesh, group, depth):
    """Integral of the shape function of each node over the group's points, edges or faces."""
    total = np.zeros(len(mesh.points))
    for kind, nodes in mesh.groups[group].items():
        if kind == "point":
            np.add.at(total, nodes, 1.0)
            continue
        weights, values, slopes = functions(kind)
        tangents = np.einsum("pni,enx->epix", slopes, mesh.points[nodes])
        if tangents.shape[2] == 1:
            sizes = np.linalg.norm(tangents[:, :, 0], axis=2)
        else:
            sizes = np.linalg.norm(np.cross(tangents[:, :, 0], tangents[:, :, 1]), axis=2)
        sizes = sizes * at_points(mesh, kind, nodes, depth)
        np.add.at(total, nodes, np.einsum("p,pn,ep->en", weights, values, sizes))
    return total


def normals(mesh, group, depth):
    """Integral of the shape function of each node times the outward normal."""
    total = np.zeros(mesh.points.shape)
    for kind, nodes in mesh.groups[group].items():
        weights, values, slopes = functions(kind)
        tangents = np.einsum("pni,enx->epix", slopes, mesh.points[nodes])
        if mesh.dimensions == 2:  # The structure is on the left.
            outward = np.stack([tangents[:, :, 0, 1], -tangents[:, :, 0, 0]], axis=2)
        else:
            outward = np.cross(tangents[:, :, 0], tangents[:, :, 1])
        outward = outward * at_points(mesh, kind, nodes, depth)[..., None]
        np.add.at(total, nodes, np.einsum("p,pn,epx->enx", weights, values, outward))
    return total


def body_forces(mesh, depth, force, region):
    """Integral of the shape function of each node times a force, over the elements of a region."""
    total = np.zeros(mesh.points.shape)
    for kind, nodes in mesh.elements.items():
        nodes = nodes[mesh.regions_of(kind) == region]
        weights, values, slopes = functions(kind)
        volumes = np.linalg.det(np.einsum("pni,enx->epix", slopes, mesh.points[nodes]))
        volumes = volumes * at_points(mesh, kind, nodes, depth)
        forces = force(np.einsum("pn,enx->epx", values, mesh.points[nodes]))
        np.add.at(total, nodes, np.einsum("p,pn,ep,epx->enx", weights, values, volumes, forces))
    return total


def node_volumes(mesh, depth, region=None):
    """Integral of the shape function of each node over the elements, or over those of a region."""
    total = np.zeros(len(mesh.points))
    for kind, nodes in mesh.elements.items():
        if region is not None:
            nodes = nodes[mesh.regions_of(kind) == region]
        weights, values, slopes = functions(kind)
        volumes = np.linalg.det(np.einsum("pni,enx->epix", slopes, mesh.points[nodes]))
        volumes = volumes * at_points(mesh, kind, nodes, depth)
        np.add.at(total, nodes, np.einsum("p,pn,ep->en", weights, values, volumes))
    return total
