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
from typing import Any, NamedTuple

import numpy as np

from ._arguments import number
from ._backend import core
from ._contexts import host_context
from ._coordinates import host_array
from ._meshes import Mesh, mesh_of
from ._problems import _matrix
from ._result import Result
from ._solve import solve
from ._texts import require_utf8

__all__ = ["ErrorEstimate", "Mesh", "Resultant", "Structure", "von_mises"]


class Resultant(NamedTuple):
    """Forces as a whole.

    Attributes
    ----------
    force : numpy.ndarray of shape (dimensions,)
        Their sum.
    moment : numpy.ndarray of shape (3,), or float in two dimensions
        The sum of their moments about the origin.
    """

    force: Any
    moment: Any


class ErrorEstimate(NamedTuple):
    """How far a solution is from that of an infinitely fine mesh, in the energy norm.

    Attributes
    ----------
    relative : float
        Of the norm of the exact solution, 0 to 1.
    elements : numpy.ndarray
        The part of each element; their squares add up to that of `relative`.
    """

    relative: float
    elements: Any


Vector = Sequence[float]
_PLANE = ("stress", "strain", "axisymmetric")
Fix = float | str | Sequence[float | None]


def _vector(given: Any, axes: int, name: str) -> tuple[float, float, float]:
    """Components, the third one 0 in two dimensions."""
    found = host_array(np.asarray(given, float), name)
    if found.shape != (axes,):
        raise ValueError(f"{name}: expected {axes} components, got {given!r}")
    return (*found.tolist(), *([0.0] * (3 - axes)))


def _fixed(mesh: Mesh, group: str, given: Any) -> tuple[str, list[bool], list[float]]:
    name = f"fix[{group!r}]"
    axes = mesh.points.shape[1]
    if isinstance(given, str) and given == "normal":
        axis = core.normal_axis(mesh._core, group)
        given = [0.0 if i == axis else None for i in range(axes)]
    components = [given] * axes if np.isscalar(given) else given
    if not isinstance(components, (Sequence, np.ndarray)) or isinstance(components, str):
        raise TypeError(f"{name}: expected a number or {axes} components, got {given!r}")
    if len(components) != axes:
        raise ValueError(f"{name}: expected {axes} components, got {given!r}")
    values = [0.0 if c is None else number(c, name, -np.inf, finite=True) for c in components]
    rest = 3 - axes
    return group, [c is not None for c in components] + [False] * rest, values + [0.0] * rest


_Material = tuple[str, float, float, float, list[float], tuple[float, float, float]]


def _orthotropic(given: Any) -> list[float]:
    """Nine constants and two directions, or nothing."""
    if given is None:
        return []
    found = host_array(np.asarray(given, float).ravel(), "orthotropic").tolist()
    if len(found) not in (9, 15):
        raise ValueError(f"orthotropic: expected 9 constants, or 15 with directions, got {given!r}")
    return found if len(found) == 15 else [*found, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def _expansion(given: Any) -> tuple[float, float, float]:
    """Along the three directions of a material."""
    found = host_array(np.asarray(given, float).ravel(), "expansion").tolist()
    if len(found) not in (1, 3):
        raise ValueError(f"expansion: expected a number or three, got {given!r}")
    return tuple(found * (3 // len(found)))


def _rotation(
    mesh: Mesh, group: str, given: Any
) -> tuple[str, float, tuple[float, float, float], tuple[float, float, float]]:
    name = f"rotate[{group!r}]"
    axes = mesh.points.shape[1]
    if not isinstance(given, Sequence) or len(given) != axes:
        what = "(angle, point)" if axes == 2 else "(angle, point, direction)"
        raise ValueError(f"{name}: expected {what}, got {given!r}")
    direction = _vector(given[2], 3, name) if axes == 3 else (0.0, 0.0, 1.0)
    angle = number(given[0], name, -np.inf, finite=True)
    return group, angle, _vector(given[1], axes, name), direction


def _materials(mesh: Mesh, **given: Any) -> list[_Material]:
    """Each material by its region or group, "" for all others."""
    regions = sorted({r for value in given.values() if isinstance(value, Mapping) for r in value})
    for name, value in given.items():
        if not isinstance(value, Mapping):
            continue
        is_given = np.zeros(sum(len(cells) for _, cells in mesh.cells), bool)
        for region in value:
            elements: Any = core.elements_of(mesh._core, region)
            is_given[elements] = True
        if not is_given.all():
            element = int(np.argmin(is_given))
            raise ValueError(f"{name}: element {element} is in none of {', '.join(value) or '{}'}")
        if set(value) != set(regions):
            raise ValueError(f"{name}: give it for the same regions as the others, or for all")

    def of(region: str) -> _Material:
        values = {
            name: value[region] if isinstance(value, Mapping) else value
            for name, value in given.items()
        }
        constants = _orthotropic(values.pop("orthotropic"))
        expansion = _expansion(values.pop("expansion"))
        young, poisson, density = (number(v, name, -np.inf) for name, v in values.items())
        return region, young, poisson, density, constants, expansion

    return [of(region) for region in regions or [""]]


class Structure:
    """An elastic structure and its linear system.

    Units must agree: with m and Pa, forces are in N. Groups are those of the mesh.

    Parameters
    ----------
    mesh : Mesh, path, or a mesh of another package
        A `Mesh`; a Gmsh file; a mesh of meshio or scikit-fem, whose sets and boundaries are the
        groups; or the module ``gmsh``, whose current model is taken.
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
        it is free; or "normal": 0 across the plane x, y or z = constant of the group.
    rotate : dict
        Prescribed rotations by group, by a small angle in radians: (angle, point) in two
        dimensions, (angle, point, direction) of the axis in three. By linear theory, points move
        along tangents.
    spring : dict
        Stiffnesses along the axes between groups and the ground, each a total like that of `load`:
        on faces a bed of stiffness over area, on nodes equal springs.
    load : dict
        Forces by group, each a total: on faces it is spread evenly, on nodes in equal parts.
    traction : dict
        Forces per area (in two dimensions per length and thickness) by group of faces.
    pressure : dict
        Forces per area on faces of the surface, against the outward normal.
    body_force, gravity : sequence of floats, optional
        A force per volume; an acceleration, which acts on `density`.
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

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, or tuple
        The stiffness of the displacements that are not prescribed; symmetric.
    load : numpy.ndarray of shape (n,)
        Their forces.
    coordinates : tuple
        For ``tessera.solve(p.matrix, p.load, coordinates=p.coordinates)``.
    warnings : list of str
        What results would not show: loads that move nothing, elements that lock, ...
    mesh : Mesh

    Raises
    ------
    TypeError, ValueError
        For unknown groups, inverted elements, wrong numbers, and supports that allow a motion.

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
        load: Mapping[str, Vector] | None = None,
        traction: Mapping[str, Vector] | None = None,
        pressure: Mapping[str, float] | None = None,
        body_force: Vector | None = None,
        gravity: Vector | None = None,
        temperature: Any = 0.0,
        node_forces: Any = None,
        node_displacements: Any = None,
        thickness: float = 1.0,
        plane: str = "stress",
        formulation: str = "incompatible",
    ) -> None:
        self.mesh = mesh_of(mesh)
        axes = self.mesh.points.shape[1]
        if plane not in _PLANE:
            raise ValueError(f"plane: {plane!r} is none of {', '.join(_PLANE)}")
        if formulation not in ("incompatible", "full"):
            raise ValueError(f"formulation: {formulation!r} is neither 'incompatible' nor 'full'")
        if gravity is not None and not np.any(
            list(density.values()) if isinstance(density, Mapping) else density
        ):
            raise ValueError("gravity: it needs a density")
        heated = list(temperature.values()) if isinstance(temperature, Mapping) else temperature
        grows = list(expansion.values()) if isinstance(expansion, Mapping) else expansion
        if np.any(heated) and not np.any(grows):
            raise ValueError("temperature: it needs an expansion")
        both = sorted(set(fix or {}) & set(rotate or {}))
        if both:
            raise ValueError(f"rotate: {both[0]!r} is in fix, too")
        if rotate and plane == "axisymmetric":
            raise ValueError("rotate: a body of revolution cannot rotate")
        self._core: Any = core.make_structure(
            host_context(),
            self.mesh._core,
            _materials(
                self.mesh,
                young=young,
                poisson=poisson,
                density=density,
                orthotropic=orthotropic,
                expansion=expansion,
            ),
            [_fixed(self.mesh, group, given) for group, given in (fix or {}).items()],
            [_rotation(self.mesh, group, given) for group, given in (rotate or {}).items()],
            [(g, _vector(k, axes, f"spring[{g!r}]")) for g, k in (spring or {}).items()],
            core.make_loads(
                [(g, _vector(f, axes, f"load[{g!r}]")) for g, f in (load or {}).items()],
                [(g, _vector(f, axes, f"traction[{g!r}]")) for g, f in (traction or {}).items()],
                [(g, number(f, f"pressure[{g!r}]", -np.inf)) for g, f in (pressure or {}).items()],
                None if body_force is None else _vector(body_force, axes, "body_force"),
                (0.0, 0.0, 0.0) if gravity is None else _vector(gravity, axes, "gravity"),
                self._at_nodes(node_forces, "node_forces"),
                *self._temperatures(temperature),
            ),
            number(thickness, "thickness"),
            _PLANE.index(plane),
            formulation == "full",
            self._at_nodes(node_displacements, "node_displacements"),
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
        self.warnings: list[str] = self._core.warnings(host_context())

    def _at_nodes(self, given: Any, name: str) -> Any:
        if given is None:
            return None
        found = np.ascontiguousarray(given, float)
        if found.shape != self.mesh.points.shape:
            raise ValueError(f"{name}: the shape {found.shape} is not {self.mesh.points.shape}")
        if name == "node_forces" and not np.isfinite(found).all():
            raise ValueError(f"{name}: it holds NaN or infinity")
        return found.ravel()

    def _temperatures(self, given: Any) -> tuple[float, list[tuple[str, float]], Any]:
        """The changes of all elements, of regions, and of nodes."""
        if isinstance(given, Mapping):
            of = [(g, number(t, f"temperature[{g!r}]", -np.inf)) for g, t in given.items()]
            return 0.0, of, None
        if np.ndim(given) == 0:
            return number(given, "temperature", -np.inf, finite=True), [], None
        found = host_array(given, "temperature")
        if found.shape != (len(self.mesh.points),):
            raise ValueError(
                f"temperature: the shape {found.shape} is not ({len(self.mesh.points)},)"
            )
        return 0.0, [], found

    def _all(self, x: Any) -> Any:
        """Displacements of all nodes in a row, from them or from a solution."""
        found = host_array(x, "x")
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
        coordinates = self.coordinates if len(self.load) else None
        return solve(self.matrix, self.load, coordinates=coordinates, **options)

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
        _, force, moment = self._core.reactions(host_context(), np.zeros(self.mesh.points.size))
        return self._resultant(force, moment)

    def reactions(self, x: Any) -> dict[str, Resultant]:
        """The forces of the supports on the structure.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)

        Returns
        -------
        dict of Resultant
            By group of `fix`, `rotate` and `spring`, and "nodes" for `node_displacements`; a
            component of a node that two groups fix is counted in the later one.
        """
        groups, _, _ = self._core.reactions(host_context(), self._all(x))
        return {name: self._resultant(force, moment) for name, force, moment in groups}

    def strain_energy(self, x: Any) -> float:
        """Half the integral of elastic strain : stress, without the energy of springs.

        Parameters
        ----------
        x : array of shape (n,) or (nodes, dimensions)

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

        Returns
        -------
        ErrorEstimate
        """
        return ErrorEstimate(*self._core.error_estimate(host_context(), self._all(x)))

    def write(self, path: str | os.PathLike[str], x: Any) -> None:
        """Writes a VTU file for ParaView: displacements, stresses, von Mises stresses, errors.

        Parameters
        ----------
        path : path
        x : array of shape (n,) or (nodes, dimensions)
        """
        file = os.fspath(path)
        require_utf8(file, "path")
        u = self._all(x)
        axes = self.mesh.points.shape[1]
        at_nodes, inside = (
            self.stresses(u.reshape(-1, axes)),
            self.stresses(u.reshape(-1, axes), "elements"),
        )
        tensor = at_nodes.shape[1]
        errors = self.error_estimate(u.reshape(-1, axes)).elements
        core.write_vtu(
            host_context(),
            file,
            self.mesh._core,
            [
                ("displacement", axes, u),
                ("stress", tensor, at_nodes.ravel()),
                ("von_mises", 1, von_mises(at_nodes)),
            ],
            [
                ("stress", tensor, inside.ravel()),
                ("von_mises", 1, von_mises(inside)),
                ("error", 1, errors),
            ],
        )

    def __repr__(self) -> str:
        return f"<Structure of {self.mesh!r}, {len(self.load)} unknowns>"


def von_mises(stresses: Any) -> Any:
    """Von Mises' equivalent stress of each tensor.

    Parameters
    ----------
    stresses : array of shape (n, 6)
        As `Structure.stresses` returns them.

    Returns
    -------
    numpy.ndarray of shape (n,)

    Raises
    ------
    ValueError
        For other shapes.

    Examples
    --------
    >>> from tessera.structures import von_mises
    >>> von_mises([[3.0, 0, 0, 0, 0, 0]])
    array([3.])
    """
    found = host_array(stresses, "stresses")
    if found.ndim != 2 or found.shape[1] != 6:
        raise ValueError(f"stresses: the shape {found.shape} is not (n, 6)")
    return core.von_mises(found.ravel())
