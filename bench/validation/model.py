"""A structure: mesh, supports, loads and materials, as all programs get it."""
from dataclasses import dataclass, field

import numpy as np

import loads
from meshes import Mesh


@dataclass
class Model:
    mesh: Mesh
    fix: dict = field(default_factory=dict)  # Displacements by group; None: free.
    force: dict = field(default_factory=dict)  # Total forces, spread evenly.
    pressure: dict = field(default_factory=dict)
    gravity: tuple = None
    density: float = 0.0
    young: dict = field(default_factory=lambda: {"": 210000.0})  # By region; "": all others.
    poisson: dict = field(default_factory=lambda: {"": 0.3})
    thickness: float = 1.0
    formulation: str = "full"  # Or incompatible.
    plane_strain: bool = False
    scale: float = None  # Displacement and stress are compared relative to the largest ones.

    def supports(self):
        """{(node, axis): (value, group)}; later groups replace earlier ones."""
        found = {}
        for group, values in self.fix.items():
            for node in self.mesh.nodes_of(group):
                for axis, value in enumerate(values):
                    if value is not None:
                        found[int(node), axis] = (float(value), group)
        return found

    def material(self, region):
        """Young's modulus and Poisson's ratio."""
        return [values.get(region, values.get("")) for values in (self.young, self.poisson)]

    def force_loads(self):
        """Those of `force` on nodes."""
        total = np.zeros(self.mesh.points.shape)
        for group, force in self.force.items():
            shares = loads.shares(self.mesh, group)
            total += np.outer(shares / shares.sum(), force)
        return total

    def nodal_loads(self):
        """All loads on nodes."""
        total = self.force_loads()
        for group, pressure in self.pressure.items():
            total -= pressure * self.thickness * loads.normals(self.mesh, group)
        if self.gravity is not None:
            volumes = self.thickness * loads.node_volumes(self.mesh)
            total += np.outer(self.density * volumes, self.gravity)
        return total

    def arguments(self):
        """Of `tessera solve`."""
        def vector(values):
            return ",".join("free" if value is None else repr(float(value)) for value in values)

        found = []
        for option in ("fix", "force"):
            for group, values in getattr(self, option).items():
                found += ["--load" if option == "force" else "--fix", f"{group}={vector(values)}"]
        for group, pressure in self.pressure.items():
            found += ["--pressure", f"{group}={pressure!r}"]
        if self.gravity is not None:
            found += ["--gravity", vector(self.gravity), "--density", repr(self.density)]
        for option in ("young", "poisson"):
            for region, value in getattr(self, option).items():
                found += [f"--{option}", f"{region}={value!r}" if region else repr(value)]
        if self.mesh.dimensions == 2 and not self.plane_strain:
            found += ["--thickness", repr(self.thickness)]
        if self.plane_strain:
            found += ["--plane", "strain"]
        return [*found, "--formulation", self.formulation]
