"""Structured meshes in NumPy, with sides of elements in named groups."""
from dataclasses import dataclass, field

import numpy as np

from shapes import SHAPES, SIDES


@dataclass
class Mesh:
    """`parameters` are positions on the grid, by which groups are chosen."""

    points: np.ndarray
    elements: dict  # Nodes of the elements by shape.
    regions: dict = field(default_factory=dict)  # Names of the regions of the elements by shape.
    groups: dict = field(default_factory=dict)  # By name: {shape: nodes}.
    sides: dict = field(default_factory=dict)  # By name: [(number of the element, side)].
    parameters: np.ndarray = None

    @property
    def dimensions(self):
        return self.points.shape[1]

    @property
    def count(self):
        return sum(len(nodes) for nodes in self.elements.values())

    def regions_of(self, kind):
        """The region of each element of a kind; without regions it is "body"."""
        return self.regions.get(kind, np.full(len(self.elements[kind]), "body"))

    def region_names(self):
        return list(dict.fromkeys(name for kind in self.elements for name in self.regions_of(kind)))

    def nodes_of(self, group):
        return np.unique(np.concatenate([nodes.ravel() for nodes in self.groups[group].values()]))

    def add_sides(self, name, chosen):
        """A group of the sides on the surface all of whose nodes are `chosen` by their parameters."""
        places = self.points if self.parameters is None else self.parameters
        wanted = np.asarray(chosen(places.T), dtype=bool)
        kinds, self.sides[name] = {}, []
        for number, side, nodes in self.surface():
            if wanted[list(nodes)].all():
                kinds.setdefault(SIDES[self.dimensions][len(nodes)], []).append(nodes)
                self.sides[name].append((number, side))
        self.groups[name] = {kind: np.array(nodes) for kind, nodes in kinds.items()}
        return self

    def has_parallelepipeds(self):
        """Whether the faces of all elements of 8 nodes are parallelograms."""
        places = [self.points[self.elements["hex8"][:, list(face)]] for face in SHAPES["hex8"].faces]
        gaps = [place[:, 0] - place[:, 1] + place[:, 2] - place[:, 3] for place in places]
        return bool(np.abs(gaps).max() < 1e-9 * np.abs(self.points).max())

    def surface(self):
        """(number of the element, side, its nodes) of all sides of one element only."""
        if not hasattr(self, "_surface"):
            found, number = {}, 0
            for kind, elements in self.elements.items():
                shape = SHAPES[kind]
                local = [shape.side_nodes(side) for side in range(len(shape.faces))]
                corners = [len(face) for face in shape.faces]
                for element in elements:
                    for side, nodes in enumerate(local):
                        own = element[nodes]
                        key = tuple(sorted(own[:corners[side]]))
                        found[key] = None if key in found else (number, side, tuple(own))
                    number += 1
            self._surface = [side for side in found.values() if side is not None]
        return self._surface

    def add_points(self, name, nodes):
        self.groups[name] = {"point": np.reshape(nodes, (-1, 1))}
        return self

    def set_region(self, name, chosen):
        """Elements whose centre (of their corners) is `chosen` are of that region, others of "rest"."""
        places = self.points if self.parameters is None else self.parameters
        for kind, nodes in self.elements.items():
            centres = places[nodes[:, :SHAPES[kind].corners]].mean(axis=1)
            self.regions[kind] = np.where(chosen(centres.T), name, "rest")
        return self


def grid(cells, kind):
    """The unit square or cube in cells of a kind of element; straight edges."""
    d = len(cells)
    axes = np.meshgrid(*[np.arange(n + 1) / n for n in cells], indexing="ij")
    points = np.stack(axes, axis=-1).reshape(-1, d)
    index = np.arange(len(points)).reshape([n + 1 for n in cells])
    low, high = slice(None, -1), slice(1, None)
    if d == 2:
        ends = [(low, low), (high, low), (high, high), (low, high)]
    else:
        square = [(low, low), (high, low), (high, high), (low, high)]
        ends = [(*end, z) for z in (low, high) for end in square]
    blocks = np.stack([index[end].ravel() for end in ends], axis=1)
    first = {"tri6": "tri3", "quad8": "quad4", "quad9": "quad4", "tet10": "tet4", "hex20": "hex8",
             "hex27": "hex8", "prism15": "prism6"}.get(kind, kind)
    points, elements = split(points, blocks, first)
    mesh = Mesh(points, {first: elements}, parameters=points)
    return mesh if first == kind else second_order(mesh, kind)


def split(points, blocks, kind):
    """Quadrilaterals or hexahedra as elements of another kind."""
    if kind in ("quad4", "hex8"):
        return points, blocks
    if kind == "pyramid5":
        apexes = len(points) + np.arange(len(blocks))
        points = np.concatenate([points, points[blocks].mean(axis=1)])
        bases = [blocks[:, face[::-1]] for face in SHAPES["hex8"].faces]
        return points, np.concatenate([np.column_stack([base, apexes]) for base in bases])
    parts = {
        "tri3": [(0, 1, 2), (0, 2, 3)],
        "prism6": [(0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7)],
        # Kuhn's: paths from corner 0 to 6, one for each order of the axes.
        "tet4": [(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)],
    }[kind]
    return points, np.stack([blocks[:, part] for part in parts], axis=1).reshape(-1, len(parts[0]))


def second_order(mesh, kind):
    """Adds nodes in the middles of edges, and of faces and elements where the kind has them."""
    shape = SHAPES[kind]
    ((_, elements),) = mesh.elements.items()
    parts = [*shape.edges, *shape.centres]
    if shape.volume_node:
        parts.append(tuple(range(shape.corners)))
    nodes, points = {}, [*mesh.points]
    full = np.empty((len(elements), shape.nodes), dtype=int)
    full[:, :shape.corners] = elements
    for row in full:
        for k, part in enumerate(parts):
            corners = tuple(sorted(row[list(part)]))
            if corners not in nodes:
                nodes[corners] = len(points)
                points.append(mesh.points[list(corners)].mean(axis=0))
            row[shape.corners + k] = nodes[corners]
    points = np.array(points)
    return Mesh(points, {kind: full}, parameters=points)


def mapped(mesh, function):
    """Nodes, those in the middles of edges too, moved by a function of their parameters."""
    mesh.points = np.stack(function(*mesh.parameters.T), axis=1).astype(float)
    return mesh


def joined(meshes):
    """Meshes whose nodes coincide where they touch, as one."""
    places, points, parameters, elements = {}, [], [], {}
    for mesh in meshes:
        own = []
        for point, parameter in zip(mesh.points, mesh.parameters):
            key = tuple(np.round(point, 9) + 0.0)
            if key not in places:
                places[key] = len(points)
                points.append(point)
                parameters.append(parameter)
            own.append(places[key])
        for kind, nodes in mesh.elements.items():
            elements.setdefault(kind, []).append(np.array(own)[nodes])
    return Mesh(np.array(points), {kind: np.concatenate(parts) for kind, parts in elements.items()},
                parameters=np.array(parameters))


def kept(mesh, chosen):
    """The elements whose centre (of their corners) is chosen by its parameters."""
    ((kind, elements),) = mesh.elements.items()
    centres = mesh.parameters[elements[:, :SHAPES[kind].corners]].mean(axis=1)
    used, elements = np.unique(elements[chosen(centres.T)], return_inverse=True)
    elements = elements.reshape(-1, SHAPES[kind].nodes)
    return Mesh(mesh.points[used], {kind: elements}, parameters=mesh.parameters[used])


def jittered(mesh, amount, seed=1):
    """Moves all nodes that are inside in every direction, corners with their middles of edges."""
    ((kind, elements),) = mesh.elements.items()
    shape = SHAPES[kind]
    generator = np.random.default_rng(seed)
    on_surface = np.zeros(len(mesh.points), dtype=bool)
    for _, _, nodes in mesh.surface():
        on_surface[list(nodes)] = True
    corners = np.unique(elements[:, :shape.corners])
    shift = np.zeros_like(mesh.points)
    shift[corners] = amount * generator.uniform(-1, 1, (len(corners), mesh.dimensions))
    shift[on_surface] = 0
    parts = [*shape.edges, *shape.centres] if shape.second_order else []
    if shape.volume_node:
        parts.append(tuple(range(shape.corners)))
    for k, part in enumerate(parts):
        part = list(part)
        shift[elements[:, shape.corners + k]] = shift[elements[:, part]].mean(axis=1)
    mesh.points = mesh.points + shift
    return mesh


def box(lengths, cells, kind):
    """A rectangle or cuboid with a group for each side: x0, x1, y0, y1, z0, z1."""
    lengths = np.array(lengths, dtype=float)
    mesh = grid(cells, kind)
    mesh.points = mesh.parameters * lengths
    for axis, letter in enumerate("xyz"[:len(cells)]):
        for end in (0, 1):
            mesh.add_sides(f"{letter}{end}", lambda p, axis=axis, end=end: abs(p[axis] - end) < 1e-9)
    return mesh


def write_gmsh(path, mesh):
    """Format 2.2; groups and regions are physical groups."""
    names, lines = [], []

    def add(name, kind, elements):
        shape = SHAPES[kind]
        tag = next((k for k, known in enumerate(names, 1) if known[1] == name), None)
        if tag is None:
            names.append((shape.dimensions, name))
            tag = len(names)
        order = shape.gmsh_order()
        for nodes in np.asarray(elements)[:, order] + 1:
            lines.append(f"{len(lines) + 1} {shape.gmsh} 2 {tag} {tag} {' '.join(map(str, nodes))}")

    for kind, elements in mesh.elements.items():
        regions = mesh.regions_of(kind)
        for region in dict.fromkeys(regions):
            add(region, kind, elements[regions == region])
    for name, parts in mesh.groups.items():
        for kind, elements in parts.items():
            add(name, kind, elements)
    with open(path, "w") as file:
        file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n%d\n" % len(names))
        for tag, (dimensions, name) in enumerate(names, 1):
            file.write(f'{dimensions} {tag} "{name}"\n')
        file.write(f"$EndPhysicalNames\n$Nodes\n{len(mesh.points)}\n")
        for node, point in enumerate(mesh.points, 1):
            file.write(f"{node} {' '.join(repr(float(x)) for x in [*point, 0.0][:3])}\n")
        file.write(f"$EndNodes\n$Elements\n{len(lines)}\n" + "\n".join(lines) + "\n$EndElements\n")
