"""Linear elasticity on finite-element meshes: from a mesh with supports and loads to displacements,
stresses, reactions and an estimate of the error.

>>> import numpy as np
>>> from tessera.structures import Mesh, Structure
>>> x, y = np.meshgrid(np.linspace(0, 4, 17), np.linspace(0, 1, 5), indexing="ij")
>>> node = np.arange(85).reshape(17, 5)
>>> quads = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1)
>>> beam = Mesh(np.stack([x.ravel(), y.ravel()], axis=1), {"quad": quads.reshape(-1, 4)},
...             faces={"left": lambda p: p[:, 0] == 0, "right": lambda p: p[:, 0] == 4})
>>> p = Structure(beam, young=100.0, fix={"left": 0}, load={"right": (0, -1)})
>>> result = p.solve()
>>> u = p.displacements(result.x)
>>> u.shape, round(float(u[:, 1].min()), 2)
((85, 2), -2.66)
>>> p.reactions(result.x)["left"].force.round(6) + 0.0
array([0., 1.])
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._arguments import number
from ._backend import core
from ._contexts import host_context
from ._coordinates import host_array
from ._meshes import Mesh, mesh_of
from ._problems import _matrix
from ._result import Result
from ._solve import solve
from ._structure_inputs import (
    PLANES,
    Fix,
    Vector,
    at_nodes,
    equations_of,
    fixed_of,
    group_name,
    joined,
    loads_of,
    materials_of,
    pairs_of,
    rotation_of,
    vectors_of,
)
from ._structure_results import ErrorEstimate, Resultant, Section, von_mises
from ._texts import text_of_path

__all__ = ["ErrorEstimate", "Mesh", "Resultant", "Section", "Structure", "von_mises"]


class Structure:
    """An elastic structure and its linear system.

    Units must agree: with m and Pa, forces are in N. Groups are those of the mesh.

    Parameters
    ----------
    mesh : Mesh, path, or a mesh of another package
        A `Mesh`; a Gmsh file; a mesh of meshio, or of scikit-fem where meshio is installed, whose
        sets and boundaries are the groups; or the module ``gmsh``, whose current model is taken.
    young, poisson, density : float, or dict of floats by region or group of elements
        Young's modulus, Poisson's ratio, and mass per volume (for `gravity`).
    orthotropic : sequence of 9 or 15 floats, or dict of them by region or group, optional
        In place of `young` and `poisson`: E1, E2, E3, nu12, nu23, nu13, G12, G23, G13, and
        vectors along the directions 1 and 2, by default x and y.
    expansion : float or sequence of 3 floats, or dict of them by region or group
        Thermal strain per unit of temperature: of all directions, or along those of an orthotropic
        material.
    fix : dict
        Prescribed displacements by group: a number for all components, or one for each, None where
        it is free; or "normal": 0 along the normals of faces, which may be inclined or curved.
    rotate : dict
        Prescribed rotations by group, by a small angle in radians: (angle, point) in two
        dimensions, (angle, point, direction) of the axis in three. By linear theory, points move
        along tangents.
    spring : dict
        Stiffnesses along the axes between groups and the ground, each a total like that of `load`:
        on faces a bed of stiffness over area, on nodes equal springs.
    rigid : str or sequence of str
        Groups whose nodes move as rigid bodies, by linear theory.
    couple : dict
        By group the axes, such as "x" or "xy", along which its nodes have equal displacements; or
        "plane": a plane group stays plane, but may move and turn.
    tie : dict
        By group another one, as whose faces its nodes move where they touch, so that parts with
        meshes of their own hang together; the finer one is the key.
    equations : tuple (C, g), optional
        Linear equations ``C @ u.ravel() == g`` of the displacements u, of shape (nodes,
        dimensions): a sparse or dense matrix of shape (m, nodes * dimensions) and m numbers, or one.
        Each eliminates one displacement. Those that follow from others and from the supports have
        no effect.
    load : dict
        Forces by group, each a total: on faces it is spread evenly, on nodes in equal parts.
    moment : dict
        Moments by group, each a total: a number about z in two dimensions, three components in
        three; tractions that grow with the distance from the centroid, on nodes such forces.
    traction : dict
        Forces per area (in two dimensions per length and thickness) by group of faces.
    pressure : dict
        Forces per area on faces of the surface, against the outward normal.
    body_force, gravity : sequence of floats, optional
        A force per volume; an acceleration, which acts on `density`.
    spin : float or tuple, optional
        Centrifugal forces of a speed in radians per time on `density`: (speed, point) in two
        dimensions, (speed, point, direction) of the axis in three; in axisymmetry the speed.
    temperature : float, dict of floats by region or group, or array of shape (nodes,)
        The change from the temperature without thermal strains, 0 where a dict does not say; at
        nodes, it is interpolated by the shape functions.
    node_forces : array of shape (nodes, dimensions), optional
        Forces on nodes.
    node_displacements : array of shape (nodes, dimensions), optional
        Prescribed displacements of nodes, NaN where they are free. They come before `fix`.
    thickness : float
        In two dimensions.
    plane : "stress", "strain" or "axisymmetric"
        What a mesh in two dimensions is a section of: a thin plate, a long body, or a body of
        revolution about the y axis, whose loads are totals over the circle.
    formulation : "incompatible" or "full"
        Quadrilaterals and hexahedra of first order with incompatible modes, or without.
    cases : dict of dicts, optional
        Load cases by name, each with loads by the names above. Loads of groups are added to those
        above, others are used in place of them. ``fix`` and ``rotate`` of a case move groups that
        are fixed above in the same components.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, or tuple
        The stiffness of the displacements that are neither prescribed nor follow from others by
        equations; symmetric. Rows are in the order of nodes; in large meshes whose numbers put the
        nodes of an element far apart, along a curve that fills the body.
    load : numpy.ndarray of shape (n,), or (n, k) of k load cases
        Their forces, and those of displacements that follow from them by equations.
    coordinates : tuple
        For ``tessera.solve(p.matrix, p.load, coordinates=p.coordinates)``.
    near_null : numpy.ndarray of shape (n, 3 or 6), or None
        Rigid motions where nodes on inclined supports have axes of their own, for the argument
        `near_null` of ``tessera.solve``.
    warnings : list of str
        What results would not show: loads that move nothing, elements that lock, ...
    mesh : Mesh
        Of the structure.
    cases : dict of Structure
        The structure in each load case: ``p.cases["wind"].stresses(x[:, 0])``.

    Raises
    ------
    TypeError, ValueError
        For unknown groups, inverted elements, wrong numbers, and supports that allow a motion.
    ImportError
        For a mesh of scikit-fem without the package meshio.

    Examples
    --------
    See the module.
    """

    def __init__(
        self,
        mesh: Any,
        *,
        young: float | Mapping[str, float] = 1.0,
        poisson: float | Mapping[str, float] = 0.3,
        density: float | Mapping[str, float] = 0.0,
        orthotropic: Any = None,
        expansion: Any = 0.0,
        fix: Mapping[str, Fix] | None = None,
        rotate: Mapping[str, Sequence[Any]] | None = None,
        spring: Mapping[str, Vector] | None = None,
        rigid: str | Sequence[str] = (),
        couple: Mapping[str, str] | None = None,
        tie: Mapping[str, str] | None = None,
        equations: tuple[Any, Any] | None = None,
        load: Mapping[str, Vector] | None = None,
        moment: Mapping[str, Any] | None = None,
        traction: Mapping[str, Vector] | None = None,
        pressure: Mapping[str, float] | None = None,
        body_force: Vector | None = None,
        gravity: Vector | None = None,
        spin: Any = None,
        temperature: Any = 0.0,
        node_forces: Any = None,
        node_displacements: Any = None,
        thickness: float = 1.0,
        plane: str = "stress",
        formulation: str = "incompatible",
        cases: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.mesh = mesh_of(mesh)
        if plane not in PLANES:
            raise ValueError(f"plane: {plane!r} is none of {', '.join(PLANES)}")
        if formulation not in ("incompatible", "full"):
            raise ValueError(f"formulation: {formulation!r} is neither 'incompatible' nor 'full'")
        heavy = list(density.values()) if isinstance(density, Mapping) else density
        self._has_density = bool(np.any(heavy))
        for name, given in (("gravity", gravity), ("spin", spin)):
            if given is not None and not self._has_density:
                raise ValueError(f"{name}: it needs a density")
        heated = list(temperature.values()) if isinstance(temperature, Mapping) else temperature
        grows = list(expansion.values()) if isinstance(expansion, Mapping) else expansion
        if np.any(heated) and not np.any(grows):
            raise ValueError("temperature: it needs an expansion")
        fixed, rotated = pairs_of(fix, "fix"), pairs_of(rotate, "rotate")
        both = sorted({group for group, _ in fixed} & {group for group, _ in rotated})
        if both:
            raise ValueError(f"rotate: {both[0]!r} is in fix, too")
        if rotated and plane == "axisymmetric":
            raise ValueError("rotate: a body of revolution cannot rotate")
        loads = {
            "load": load,
            "moment": moment,
            "traction": traction,
            "pressure": pressure,
            "body_force": body_force,
            "gravity": gravity,
            "spin": spin,
            "temperature": temperature,
            "node_forces": node_forces,
        }
        self._core: Any = core.make_structure(
            host_context(),
            self.mesh._core,
            materials_of(
                self.mesh,
                young=young,
                poisson=poisson,
                density=density,
                orthotropic=orthotropic,
                expansion=expansion,
            ),
            [fixed_of(self.mesh, group, given) for group, given in fixed],
            [rotation_of(self.mesh, group, given) for group, given in rotated],
            vectors_of(self.mesh, spring, "spring"),
            equations_of(self.mesh, rigid, couple, tie, equations),
            loads_of(self.mesh, loads),
            number(thickness, "thickness"),
            PLANES.index(plane),
            formulation == "full",
            at_nodes(self.mesh, node_displacements, "node_displacements"),
        )
        if self._core.is_singular:
            nodes = self._core.hinge_nodes
            raise ValueError(
                f"fix: parts of the mesh can move against each other about the nodes {nodes}"
                if nodes
                else "fix: the structure, or a part of it, can move as a rigid body"
            )
        self.matrix = _matrix(self._core.take_matrix())
        self.load: Any = self._core.load
        points, unknowns = self._core.coordinates()
        self.coordinates = points if not len(unknowns) else (points, unknowns)
        self.near_null: Any = self._core.near_null()
        if cases is not None and not isinstance(cases, Mapping):
            raise TypeError(f"cases: expected a dict of dicts of loads, got {cases!r}")
        self.cases: dict[str, Structure] = {
            name: self._case(name, loads, given) for name, given in (cases or {}).items()
        }
        if self.cases:
            self.load = np.stack([case.load for case in self.cases.values()], axis=1)
        self.warnings: list[str] = self._core.warnings(host_context()) if not self.cases else []

    def _case(self, name: str, common: Mapping[str, Any], given: Mapping[str, Any]) -> Structure:
        """The structure with the loads of a case added to the common ones."""
        what = f"cases[{name!r}]"
        if not isinstance(given, Mapping):
            raise TypeError(f"{what}: expected a dict of loads, got {given!r}")
        unknown = sorted(set(given) - {*common, "fix", "rotate"})
        if unknown:
            raise ValueError(f"{what}: {unknown[0]!r} is no load; there are {', '.join(common)}")
        for load in ("gravity", "spin"):
            if given.get(load) is not None and not self._has_density:
                raise ValueError(f"{what}: {load} needs a density")
        own = joined(common, given)
        fixed, rotated = pairs_of(given.get("fix"), "fix"), pairs_of(given.get("rotate"), "rotate")
        case = Structure.__new__(Structure)
        case.mesh, case.matrix, case.coordinates = self.mesh, self.matrix, self.coordinates
        case.near_null = self.near_null
        case.cases, case._has_density = {}, self._has_density
        case._core = core.make_case(
            host_context(),
            self._core,
            [fixed_of(self.mesh, group, u) for group, u in fixed],
            [rotation_of(self.mesh, group, u) for group, u in rotated],
            loads_of(self.mesh, own),
        )
        case.load = case._core.load
        is_given = any(
            load is not None and (len(list(load)) if np.iterable(load) else load)
            for load in own.values()
        )
        if not is_given and not case.load.any() and not case._all(np.zeros_like(case.load)).any():
            raise ValueError(f"{what}: no load acts in it")
        found: list[str] = case._core.warnings(host_context())
        # A density or an expansion that this case does not use is for others.
        case.warnings = [text for text in found if not text.startswith("there is a ")]
        return case

    def _require_one_case(self) -> None:
        if self.cases:
            raise ValueError(f"name the load case: p.cases[{next(iter(self.cases))!r}], ...")

    def _all(self, x: Any) -> Any:
        """Displacements of all nodes in a row, from them or from a solution."""
        found = host_array(x, "x")
        self._require_one_case()
        if found.shape == self.mesh.points.shape:
            return found.ravel()
        if found.shape != self.load.shape:
            raise ValueError(
                f"x: the shape {found.shape} is neither {self.load.shape}, that of a solution, nor "
                f"{self.mesh.points.shape}, that of displacements"
            )
        return self._core.displacements(found).ravel()

    def solve(self, **options: Any) -> Result:
        """Solves the system.

        Parameters
        ----------
        **options
            As `tessera.solve` takes them.

        Returns
        -------
        Result
            Of ``tessera.solve(p.matrix, p.load, coordinates=p.coordinates)``.
        """
        if len(self.load):
            options = {"coordinates": self.coordinates, "near_null": self.near_null} | options
        return solve(self.matrix, self.load, **options)

    def displacements(self, x: Any) -> Any:
        """The displacements of all nodes, the prescribed ones among them.

        Parameters
        ----------
        x : array of shape (n,)
            A solution.

        Returns
        -------
        numpy.ndarray of shape (nodes, dimensions)
        """
        return self._all(x).reshape(self.mesh.points.shape)

    def stresses(self, x: Any, at: str = "nodes") -> Any:
        """Stresses, from a solution or from displacements.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.
        at : "nodes" or "elements"
            At nodes they are extrapolated in each element from its integration points, and then
            averaged over the elements of a node, as CalculiX does; in elements those at centres.

        Returns
        -------
        numpy.ndarray of shape (nodes or elements, 6)
            xx, yy, zz, xy, yz, xz; in axisymmetry xx is radial, yy axial and zz the hoop stress.
        """
        if at not in ("nodes", "elements"):
            raise ValueError(f"at: {at!r} is neither 'nodes' nor 'elements'")
        of = self._core.node_stresses if at == "nodes" else self._core.element_stresses
        return of(host_context(), self._all(x))

    def _resultant(self, force: Any, moment: Any) -> Resultant:
        axes = self.mesh.points.shape[1]
        return Resultant(np.asarray(force)[:axes], np.asarray(moment) if axes == 3 else moment[2])

    def loads(self) -> Resultant:
        """All loads together, those on prescribed displacements among them.

        Returns
        -------
        Resultant
        """
        self._require_one_case()
        _, _, force, moment = self._core.reactions(host_context(), np.zeros(self.mesh.points.size))
        return self._resultant(force, moment)

    def reactions(self, x: Any) -> dict[str, Resultant]:
        """The forces of the supports on the structure.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.

        Returns
        -------
        dict of Resultant
            By group of `fix`, `rotate` and `spring`, and "nodes" for `node_displacements`; a
            component of a node that two groups fix is counted in the later one.
        """
        groups, _, _, _ = self._core.reactions(host_context(), self._all(x))
        return {name: self._resultant(force, moment) for name, force, moment in groups}

    def constraints(self, x: Any) -> dict[str, Resultant]:
        """The forces of `rigid`, `couple`, `tie` and `equations` on the structure.

        With those of the supports and the loads they add up to 0. Those of a rigid body are 0
        together; nodes that move alike along an axis may be turned by a moment.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.

        Returns
        -------
        dict of Resultant
            By names such as "rigid cap", "couple top" and "tie a=b", and "equations".
        """
        _, sums, _, _ = self._core.reactions(host_context(), self._all(x))
        return {name: self._resultant(force, moment) for name, force, moment in sums}

    def section(self, group: str, x: Any) -> Section:
        """Force and moment through a plane cut, from the forces of the elements at its nodes.

        Parameters
        ----------
        group : str
            Edges or faces of elements in one plane, all that the plane cuts of a part.
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.

        Returns
        -------
        Section
            On the surface of the structure, where nothing lies behind, what acts there with the
            opposite sign.
        """
        name = group_name(group, "group")
        normal, centre, force, moment = self._core.section(host_context(), self._all(x), name)
        axes = self.mesh.points.shape[1]
        force, moment = self._resultant(force, moment)
        return Section(force, moment, np.asarray(centre)[:axes], np.asarray(normal)[:axes])

    def strain_energy(self, x: Any) -> float:
        """Half the integral of elastic strain : stress, without the energy of springs.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.

        Returns
        -------
        float
        """
        return float(self._core.strain_energy(host_context(), self._all(x)))

    def error_estimate(self, x: Any) -> ErrorEstimate:
        """An estimate of the error of the mesh, by Zienkiewicz and Zhu (1992); not a bound.

        It sees nothing where elements around a node have no neighbours of their material.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)
            A solution, or the displacements of all nodes.

        Returns
        -------
        ErrorEstimate
        """
        return ErrorEstimate(*self._core.error_estimate(host_context(), self._all(x)))

    def write(self, path: str | os.PathLike[str], x: Any) -> None:
        """Writes a VTU file for ParaView: displacements, stresses, von Mises stresses, errors.

        Fields of load cases have their names at the end, such as stress_wind.

        Parameters
        ----------
        path : path
            Of the file; it ends in .vtu.
        x : array of shape (n,) or (nodes, dimensions), or (n, k) of k load cases
            A solution, or the displacements of all nodes.
        """
        file = text_of_path(path, "path")
        if not file.endswith(".vtu"):
            raise ValueError(f"path: {file!r} must end in .vtu, by which ParaView knows the format")
        if not self.cases:
            fields = self._fields(x, "")
        else:
            columns = host_array(x, "x")
            if columns.shape != self.load.shape:
                raise ValueError(f"x: the shape {columns.shape} is not {self.load.shape}")
            fields = ([], [])
            for k, (name, case) in enumerate(self.cases.items()):
                for all_fields, own in zip(
                    fields, case._fields(columns[:, k], f"_{name}"), strict=True
                ):
                    all_fields.extend(own)
        core.write_vtu(host_context(), file, self.mesh._core, *fields)

    def _fields(self, x: Any, end: str) -> tuple[list[Any], list[Any]]:
        """Names, components and values of fields at nodes and in elements."""
        u = self._all(x)
        axes = self.mesh.points.shape[1]
        nodes = u.reshape(-1, axes)
        at_nodes, inside = self.stresses(nodes), self.stresses(nodes, "elements")
        tensor = at_nodes.shape[1]
        return [
            (f"displacement{end}", axes, u),
            (f"stress{end}", tensor, at_nodes.ravel()),
            (f"von_mises{end}", 1, von_mises(at_nodes)),
        ], [
            (f"stress{end}", tensor, inside.ravel()),
            (f"von_mises{end}", 1, von_mises(inside)),
            (f"error{end}", 1, self.error_estimate(nodes).elements),
        ]

    def __repr__(self) -> str:
        return f"<Structure of {self.mesh!r}, {len(self.load)} unknowns>"
