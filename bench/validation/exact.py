"""Structures with a known solution: exact, of a beam, or published."""
import tempfile

import numpy as np

import program
import structures
from shapes import SHAPES

COOK = 23.96  # R. D. Cook, and many after him: the converged deflection of the middle of the free edge.
HOWLAND = 3.14  # R. C. J. Howland, 1930: stress concentration in a strip five times as wide as its hole.


def solve(program_file, model):
    with tempfile.TemporaryDirectory() as folder:
        return program.run(program_file, folder, model)


def node_at(model, *place):
    distances = np.linalg.norm(model.mesh.points - np.array(place), axis=1)
    node = int(distances.argmin())
    assert distances[node] < 1e-9, place
    return node


def ring_fields(points, poisson, young=1000.0, inner=1.0, outer=2.0, pressure=1.0):
    """Lame's displacements and stresses (xx yy zz xy yz xz) in plane strain."""
    radius, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])
    factor = pressure * inner**2 / (outer**2 - inner**2)
    radial, hoop = factor * (1 - outer**2 / radius**2), factor * (1 + outer**2 / radius**2)
    moved = (1 + poisson) / young * factor * ((1 - 2 * poisson) * radius + outer**2 / radius)
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros_like(radius)
    displacement = np.stack([moved * c, moved * s, zero], axis=1)
    stress = np.stack([radial * c * c + hoop * s * s, radial * s * s + hoop * c * c,
                       poisson * (radial + hoop), (radial - hoop) * c * s, zero, zero], axis=1)
    return displacement, stress


def ring(program_file, kind, formulation, poisson, cells):
    model = structures.ring(kind, cells, poisson, formulation)
    found = solve(program_file, model)
    displacement, stress = ring_fields(model.mesh.points, poisson)
    hoop = abs(stress).max()
    return {"structure": "ring", "element": kind, "formulation": formulation, "poisson": poisson,
            "cells": cells, "nodes": len(model.mesh.points),
            "displacement": float(abs(found["displacement"] - displacement).max() / abs(displacement).max()),
            "stress": float(abs(found["stress"] - stress).max() / hoop)}


def hole(program_file, kind, formulation, cells):
    model = structures.hole(kind, cells, formulation)
    found = solve(program_file, model)
    return {"structure": "hole", "element": kind, "formulation": formulation, "cells": cells,
            "nodes": len(model.mesh.points), "reference": HOWLAND,
            "value": float(found["stress"][node_at(model, 0, 1), 0])}


def cook(program_file, kind, formulation, cells):
    model = structures.cook(kind, cells, formulation)
    found = solve(program_file, model)
    return {"structure": "cook", "element": kind, "formulation": formulation, "cells": cells,
            "nodes": len(model.mesh.points), "reference": COOK,
            "value": float(found["displacement"][node_at(model, 48, 52), 1])}


def cantilever(program_file, kind, formulation, cells):
    """Mean deflection of the end's corners over that of Timoshenko's beam (factor of shear: Cowper)."""
    model = structures.cantilever(kind, cells, formulation)
    found = solve(program_file, model)
    length, force, poisson = 10.0, 1e-3, 0.3
    shear = 10 * (1 + poisson) / (12 + 11 * poisson)
    beam = force * (length**3 / 3 * 12 + length * 2 * (1 + poisson) / shear)
    end = model.mesh.nodes_of("x1")
    return {"structure": "cantilever", "element": kind, "formulation": formulation, "cells": cells,
            "nodes": len(model.mesh.points), "reference": beam,
            "value": float(-found["displacement"][end, 1].mean())}


def patch(program_file, kind, formulation):
    model = structures.patch(kind, formulation=formulation)
    found = solve(program_file, model)
    d = model.mesh.dimensions
    gradient = structures.PATCH_GRADIENT[:d, :d]
    strain = np.zeros((3, 3))
    strain[:d, :d] = gradient + gradient.T
    stress = model.elasticity_matrix() @ [*strain.diagonal() / 2, strain[0, 1], strain[1, 2], strain[0, 2]]
    moved = model.mesh.points @ gradient.T
    inside = len(moved) - len(model.fix)
    assert inside > 0
    return {"structure": "patch", "element": kind, "formulation": formulation, "inside": inside,
            "nodes": len(moved), "elements": model.mesh.count,
            "displacement": float(abs(found["displacement"] - moved).max() / abs(moved).max()),
            "stress": float(abs(found["stress"] - stress).max() / abs(stress).max())}


def formulations(kind):
    return ("full", "incompatible") if kind in ("quad4", "hex8") else ("full",)


def rows(program_file):
    """All of them, one at a time."""
    solid = [kind for kind in SHAPES if SHAPES[kind].dimensions == 3]
    plane = [kind for kind in SHAPES if SHAPES[kind].dimensions == 2]
    for kind in plane + solid:
        for formulation in formulations(kind):
            yield patch(program_file, kind, formulation)
            for cells in (1, 2, 4, 8):
                yield cantilever(program_file, kind, formulation, cells)
    for kind in plane:
        for formulation in formulations(kind):
            for cells in (2, 4, 8, 16, 32):
                yield cook(program_file, kind, formulation, cells)
            for cells in (4, 8, 16):
                yield hole(program_file, kind, formulation, cells)
    for kind, formulation in (("hex20", "full"), ("hex8", "incompatible"), ("hex8", "full")):
        for poisson in (0.3, 0.49, 0.4999):
            for cells in (4, 8, 16):
                yield ring(program_file, kind, formulation, poisson, cells)
