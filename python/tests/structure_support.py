"""The meshes and structures that several tests use."""

from __future__ import annotations

import numpy as np

from tessera.structures import Mesh, Structure

QUADS = [[0, 3, 4, 1], [1, 4, 5, 2], [3, 6, 7, 4], [4, 7, 8, 5]]


def grid():
    """2 x 2 squares on [0, 2] x [0, 1]; nodes by columns."""
    return np.array([[x, y] for x in (0, 1, 2) for y in (0, 0.5, 1)], float)


def bar(**groups):
    faces = {"left": lambda p: p[:, 0] == 0, "right": lambda p: p[:, 0] == 2}
    return Mesh(grid(), {"quad": QUADS}, faces=faces, nodes={"corner": [0]}, **groups)


def pulled(**options):
    return Structure(
        bar(), young=10.0, poisson=0.25, fix={"left": (0, None), "corner": 0}, **options
    )
