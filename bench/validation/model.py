"""A structure: mesh, supports, loads and materials, as all programs get it."""
from dataclasses import dataclass, field

import numpy as np

import loads
import materials
from meshes import Mesh


@dataclass
class Model:
    mesh: Mesh
    fix: dict = field(default_factory=dict)  # Displacements by group; None: free.
    force: dict = field(default_factory=dict)  # Total forces by group, spread evenly.
    traction: dict = field(default_factory=dict)  # Forces per area (in the plane, length times thickness).
    pressure: dict = field(default_factory=dict)
    body_force: tuple = None
    gravity: tuple = None
    spin: tuple = None  # Radians per time, a point of the axis and its direction (a solid).
    temperature: float = None  # A change.
    rotate: dict = field(default_factory=dict)  # Angle, point and direction of the axis by group (of a solid).
    rigid: tuple = ()  # Groups that move as rigid bodies.
    couple: dict = field(default_factory=dict)  # An axis by group: equal displacements along it.
    tie: dict = field(default_factory=dict)  # By group of sides another one, as whose sides its nodes move.
    equations: tuple = ()  # ([(coefficient, node, axis), ...], value): the sum of the displacements.
    # Of materials by region; "": all others.
    density: dict = field(default_factory=dict)
    expansion: dict = field(default_factory=dict)
    young: dict = field(default_factory=lambda: {"": 210000.0})
    poisson: dict = field(default_factory=lambda: {"": 0.3})
    orthotropic: tuple = None  # E1, E2, E3, nu12, nu23, nu13, G12, G23, G13, in place of the isotropic ones.
    axes: tuple = (1, 0, 0, 0, 1, 0)  # Its directions 1 and 2.
    thickness: float = 1.0
    formulation: str = "full"  # Or incompatible.
    plane: str = "stress"  # Or strain, axisymmetric: x is the radius, loads are those of the full circle.

    def depth(self, points):
        """How far the structure extends across the plane of its mesh; 1 for solids."""
        return 2 * np.pi * points[..., 0] if self.plane == "axisymmetric" else self.thickness

    def elasticity_matrix(self, region=""):
        """Stress = matrix times strain: xx, yy, zz, xy, yz, xz, with the engineering shear strains."""
        if self.orthotropic is not None:
            matrix = materials.orthotropic(self.orthotropic, self.axes)
        else:
            matrix = materials.isotropic(*self.material(region)[:2])
        plane_stress = self.mesh.dimensions == 2 and self.plane == "stress"
        return materials.plane_stress(matrix) if plane_stress else matrix

    def supports(self):
        """{(node, axis): (value, group)}; later groups replace earlier ones."""
        found = {}
        for group, values in self.fix.items():
            for node in self.mesh.nodes_of(group):
                for axis, value in enumerate(values):
                    if value is not None:
                        found[int(node), axis] = (float(value), group)
        for group, (angle, point, direction) in self.rotate.items():
            turn = angle / np.linalg.norm(direction) * np.array(direction)
            for node in self.mesh.nodes_of(group):
                for axis, value in enumerate(np.cross(turn, self.mesh.points[node] - point)):
                    found[int(node), axis] = (float(value), group)
        return found

    def centrifugal(self, points):
        """The acceleration away from the axis of the spin."""
        speed, point, direction = self.spin
        axis = np.array(direction) / np.linalg.norm(direction)
        arm = points - np.array(point)
        return speed**2 * (arm - (arm @ axis)[..., None] * axis)

    def material(self, region):
        """Young's modulus, Poisson's ratio and density (None: not given)."""
        return [values.get(region, values.get("")) for values in (self.young, self.poisson, self.density)]

    def node_forces(self):
        """Loads that CalculiX gets as forces on nodes."""
        total = np.zeros(self.mesh.points.shape)
        for group, force in self.force.items():
            shares = loads.shares(self.mesh, group, self.depth)
            total += np.outer(shares / shares.sum(), force)
        for group, traction in self.traction.items():
            total += np.outer(loads.shares(self.mesh, group, self.depth), traction)
        if self.body_force is not None:
            total += np.outer(loads.node_volumes(self.mesh, self.depth), self.body_force)
        return total

    def nodal_loads(self):
        """All loads on nodes."""
        total = self.node_forces()
        for group, pressure in self.pressure.items():
            total -= pressure * loads.normals(self.mesh, group, self.depth)
        if self.gravity is not None:
            for region in self.mesh.region_names():
                masses = self.material(region)[2] * loads.node_volumes(self.mesh, self.depth, region)
                total += np.outer(masses, self.gravity)
        if self.spin is not None:
            for region in self.mesh.region_names():
                density = self.material(region)[2]
                total += density * loads.body_forces(self.mesh, self.depth, self.centrifugal, region)
        return total

    def arguments(self):
        """What `tessera solve` gets."""
        def vector(values):
            return ",".join("free" if value is None else repr(float(value)) for value in values)

        found = []
        for option, groups in (("fix", self.fix), ("load", self.force), ("traction", self.traction)):
            for group, values in groups.items():
                found += [f"--{option}", f"{group}={vector(values)}"]
        for group, pressure in self.pressure.items():
            found += ["--pressure", f"{group}={pressure!r}"]
        for option, values in (("body-force", self.body_force), ("gravity", self.gravity)):
            if values is not None:
                found += [f"--{option}", vector(values)]
        found += [word for group in self.rigid for word in ("--rigid", group)]
        found += [word for group, axis in self.couple.items() for word in ("--couple", f"{group}={'xyz'[axis]}")]
        found += [word for group, other in self.tie.items() for word in ("--tie", f"{group}={other}")]
        for terms, value in self.equations:
            text = " + ".join(f"{coefficient!r} {node}.{'xyz'[axis]}" for coefficient, node, axis in terms)
            found += ["--equation", f"{text} = {value!r}"]
        for group, (angle, point, direction) in self.rotate.items():
            found += ["--rotate", f"{group}={vector([angle, *point, *direction])}"]
        if self.spin is not None:
            speed, point, direction = self.spin
            found += ["--spin", vector([speed, *point, *direction])]
        if self.temperature is not None:
            found += ["--temperature", repr(self.temperature)]
        if self.orthotropic is not None:
            count = 2 if self.mesh.dimensions == 2 else 6
            found += ["--orthotropic", vector(self.orthotropic), "--axes", vector(self.axes[:count])]
        given = ("density", "expansion")
        if self.orthotropic is None:
            given += ("young", "poisson")
        for option in given:
            for region, value in getattr(self, option).items():
                found += [f"--{option}", f"{region}={value!r}" if region else repr(value)]
        if self.plane != "stress":
            found += ["--plane", self.plane]
        if self.mesh.dimensions == 2 and self.plane != "axisymmetric":
            found += ["--thickness", repr(self.thickness)]
        return [*found, "--formulation", self.formulation]
