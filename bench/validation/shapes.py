"""Shapes of elements: nodes, edges and faces, the order of nodes in Gmsh, names in CalculiX.

Nodes are in the order of VTK, Abaqus and CalculiX: corners, then the middles of edges, then of faces,
then the centre. Faces run counterclockwise seen from outside, and are in CalculiX's order.
"""
from dataclasses import dataclass, field

LINE = ((0, 1),)
TRIANGLE = ((0, 1), (1, 2), (2, 0))
QUADRILATERAL = ((0, 1), (1, 2), (2, 3), (3, 0))
TETRAHEDRON = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
PRISM = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
HEXAHEDRON = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))

TETRAHEDRON_FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))
PRISM_FACES = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
PYRAMID_FACES = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
HEXAHEDRON_FACES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))

# Gmsh's order of the middles of edges and faces, where it differs.
GMSH_TETRAHEDRON = ((0, 1), (1, 2), (2, 0), (0, 3), (2, 3), (1, 3))
GMSH_PRISM = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5))
GMSH_HEXAHEDRON = ((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7))
GMSH_HEXAHEDRON_FACES = ((0, 3, 2, 1), (0, 1, 5, 4), (0, 4, 7, 3), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7))
MIDDLE_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (2, 3, 7, 6), (0, 3, 2, 1), (4, 5, 6, 7))


@dataclass(frozen=True)
class Shape:
    dimensions: int
    corners: int
    gmsh: int  # Gmsh's number of the type.
    edges: tuple = ()
    faces: tuple = ()  # Sides: in the plane edges.
    gmsh_edges: tuple = ()
    centres: tuple = ()  # Corners of faces (in the plane of the element) with a node in their middle.
    gmsh_centres: tuple = ()
    volume_node: bool = False
    second_order: bool = False
    calculix: dict = field(default_factory=dict, hash=False)  # Names by formulation.

    @property
    def nodes(self):
        middles = len(self.edges) if self.second_order else 0
        return self.corners + middles + len(self.centres) + self.volume_node

    def gmsh_order(self):
        """Position in the order of VTK of each node in Gmsh's order."""
        order = list(range(self.nodes))
        if not self.second_order:
            return order
        at = self.corners
        for mine, theirs in ((self.edges, self.gmsh_edges), (self.centres, self.gmsh_centres)):
            places = {frozenset(part): at + k for k, part in enumerate(mine)}
            order[at:at + len(mine)] = [places[frozenset(part)] for part in theirs or mine]
            at += len(mine)
        return order

    def side_nodes(self, side):
        """Nodes of a side: corners, then middles of its edges, then its centre."""
        corners = self.faces[side]
        if not self.second_order:
            return list(corners)
        places = {frozenset(edge): self.corners + k for k, edge in enumerate(self.edges)}
        if len(corners) == 2:
            return [*corners, places[frozenset(corners)]]
        nodes = [*corners]
        nodes += [places[frozenset(pair)] for pair in zip(corners, corners[1:] + corners[:1])]
        at = self.corners + len(self.edges)
        nodes += [at + k for k, part in enumerate(self.centres) if frozenset(part) == frozenset(corners)]
        return nodes


SHAPES = {
    "point": Shape(0, 1, 15),
    "line2": Shape(1, 2, 1, LINE),
    "line3": Shape(1, 2, 8, LINE, second_order=True),
    "tri3": Shape(2, 3, 2, TRIANGLE, TRIANGLE, calculix={"full": "CPS3", "strain": "CPE3", "axisymmetric": "CAX3"}),
    "tri6": Shape(2, 3, 9, TRIANGLE, TRIANGLE, second_order=True,
                  calculix={"full": "CPS6", "strain": "CPE6", "axisymmetric": "CAX6"}),
    "quad4": Shape(2, 4, 3, QUADRILATERAL, QUADRILATERAL, calculix={"full": "CPS4", "strain": "CPE4", "axisymmetric": "CAX4"}),
    "quad8": Shape(2, 4, 16, QUADRILATERAL, QUADRILATERAL, second_order=True,
                   calculix={"full": "CPS8", "strain": "CPE8", "axisymmetric": "CAX8"}),
    "quad9": Shape(2, 4, 10, QUADRILATERAL, QUADRILATERAL, centres=((0, 1, 2, 3),), second_order=True),
    "tet4": Shape(3, 4, 4, TETRAHEDRON, TETRAHEDRON_FACES, calculix={"full": "C3D4"}),
    "tet10": Shape(3, 4, 11, TETRAHEDRON, TETRAHEDRON_FACES, GMSH_TETRAHEDRON, second_order=True,
                   calculix={"full": "C3D10"}),
    "hex8": Shape(3, 8, 5, HEXAHEDRON, HEXAHEDRON_FACES,
                  calculix={"full": "C3D8", "incompatible": "C3D8I"}),
    "hex20": Shape(3, 8, 17, HEXAHEDRON, HEXAHEDRON_FACES, GMSH_HEXAHEDRON, second_order=True,
                   calculix={"full": "C3D20"}),
    "hex27": Shape(3, 8, 12, HEXAHEDRON, HEXAHEDRON_FACES, GMSH_HEXAHEDRON, MIDDLE_FACES,
                   GMSH_HEXAHEDRON_FACES, volume_node=True, second_order=True),
    "prism6": Shape(3, 6, 6, PRISM, PRISM_FACES, calculix={"full": "C3D6"}),
    "prism15": Shape(3, 6, 18, PRISM, PRISM_FACES, GMSH_PRISM, second_order=True,
                     calculix={"full": "C3D15"}),
    "pyramid5": Shape(3, 5, 7, (), PYRAMID_FACES),
}

# Sides by their number of nodes, in the plane and in space.
SIDES = {2: {2: "line2", 3: "line3"}, 3: {3: "tri3", 6: "tri6", 4: "quad4", 8: "quad8", 9: "quad9"}}
