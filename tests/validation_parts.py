"""Tests what bench/validation computes by itself: shape functions, meshes, loads, decks and readers."""
import itertools
import pathlib
import struct
import sys
import tempfile
import unittest

try:
    import numpy as np
    import scipy.sparse.linalg  # What bench/validation imports.
except ImportError:
    print("SKIPPED validation_parts: this Python has no NumPy and SciPy")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench" / "validation"))
import calculix
import elements
import loads
import materials
import meshes
import reference
import structures
from shapes import SHAPES

EPSILON = np.finfo(float).eps
def unit(_points):
    return 1.0


KINDS = [kind for kind, shape in SHAPES.items() if shape.dimensions >= 2 and kind != "pyramid5"]


def distorted(kind):
    return meshes.jittered(meshes.box((2.0, 1.0, 1.5)[:SHAPES[kind].dimensions], (2, 3, 2)[:SHAPES[kind].dimensions],
                                      kind), 0.04)


class ValidationParts(unittest.TestCase):
    def close(self, found, expected, factor=1000):
        scale = max(1.0, float(np.abs(expected).max()))
        self.assertLessEqual(float(np.abs(np.subtract(found, expected)).max()), factor * EPSILON * scale)

    def test_shape_functions(self):
        """Each is 1 at its node and 0 at the others; together they are linear."""
        for kind in KINDS:
            with self.subTest(kind):
                nodes = elements.node_positions(kind)
                self.close(elements.evaluate(kind, nodes)[0], np.eye(len(nodes)))
                values, slopes = elements.evaluate(kind, elements.rule(kind)[0])
                self.close(values @ nodes, elements.rule(kind)[0])
                self.close(np.einsum("pni,nj->pij", slopes, nodes), np.eye(nodes.shape[1]))

    def test_gmsh_order(self):
        """The hexahedron of 20 nodes and the prism of 15, as Gmsh's manual draws them."""
        gmsh = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 9, 17, 10, 18, 19, 12, 15, 13, 14]
        self.assertEqual(SHAPES["hex20"].gmsh_order(), gmsh)
        self.assertEqual(SHAPES["prism15"].gmsh_order(), [0, 1, 2, 3, 4, 5, 6, 8, 12, 7, 13, 14, 9, 11, 10])
        self.assertEqual(SHAPES["tet10"].gmsh_order(), [0, 1, 2, 3, 4, 5, 6, 7, 9, 8])

    def test_volumes_and_normals(self):
        """Elements fill the mesh; the forces of a pressure on a whole surface cancel out."""
        for kind in KINDS:
            with self.subTest(kind):
                mesh = distorted(kind)
                self.close(loads.node_volumes(mesh, unit).sum(), 2.0 * 1.0 * (1.5 if mesh.dimensions == 3 else 1.0))
                mesh.add_sides("surface", lambda p: np.full(len(p[0]), True))
                normals = loads.normals(mesh, "surface", unit)
                self.close(normals.sum(axis=0), np.zeros(mesh.dimensions))
                # The divergence theorem: the flux of the position is the volume times the dimensions.
                self.close(np.sum(normals * mesh.points), mesh.dimensions * loads.node_volumes(mesh, unit).sum())

    def test_patch(self):
        """The elements written here represent a constant strain, unless the modes are plain."""
        for kind, modes in itertools.product(("quad4", "hex8"), (None, "tested", "plain")):
            with self.subTest(kind, modes=modes):
                model = structures.patch(kind)
                d = model.mesh.dimensions
                exact = model.mesh.points @ structures.PATCH_GRADIENT[:d, :d].T
                error = np.abs(reference.solve(model, modes)["displacement"] - exact).max() / np.abs(exact).max()
                if modes == "plain":
                    self.assertGreater(error, 1e-3)
                else:
                    self.assertLess(error, 1000 * EPSILON)

    def test_materials(self):
        """Orthotropic constants of an isotropic material, in any direction; a stiff direction turned to y."""
        young, poisson, shear = 7.0, 0.2, 7.0 / 2.4
        constants = (*[young] * 3, *[poisson] * 3, *[shear] * 3)
        self.close(materials.orthotropic(constants, (1, 2, 3, -1, 0, 4)), materials.isotropic(young, poisson))
        fibres = materials.orthotropic((100, 1, 1, 0, 0, 0, 5, 1, 2), (0, 1, 0, 0, 0, 1))
        self.close(fibres, np.diag([1.0, 100, 1, 2, 5, 1]))
        self.close(materials.plane_stress(materials.isotropic(1.0, 0.3))[0, 0], 1 / (1 - 0.3**2))

    def test_deck(self):
        """CalculiX reads 20 characters of a number and 16 of them on a line."""
        for value in (1 / 3, -1e99 / 3, -2e-98 / 3, 0.0):
            text = calculix.number(value)
            self.assertLessEqual(len(text), 20)
            self.close(float(text) / (value or 1.0), value and 1.0)
        with tempfile.TemporaryDirectory() as folder:
            deck = pathlib.Path(folder) / "deck.inp"
            calculix.write_deck(deck, structures.two_materials("hex20", 1))
            lines = deck.read_text().splitlines()
        self.assertLessEqual(max(line.rstrip(",").count(",") for line in lines if line[0] != "*"), 15)
        self.assertEqual(lines.count("*ELASTIC"), 2)

    def test_equations(self):
        """Each equation has its terms, and its value at a node of its own after those of the mesh."""
        model = structures.guided_block("hex8", 2)
        lines, prescribed = calculix.constraint_lines(model)
        upper = len(model.mesh.nodes_of("z1"))
        self.assertEqual(lines.count("*EQUATION"), upper - 1 + 1)
        self.assertEqual(lines.count("4"), 1)  # Three displacements and the value.
        own = len(model.mesh.points) + 1
        self.assertEqual(prescribed, [f"{own},1,1,{calculix.number(0.01)}"])
        self.assertTrue(lines[-1].endswith(f"{own},1,{calculix.number(-1.0)}"))
        lines, _ = calculix.constraint_lines(structures.flanged_beam("hex8", 1))
        self.assertEqual(sum(line.startswith("*RIGID BODY") for line in lines), 1)

    def test_frd(self):
        """The last result of each name; components that CalculiX does not write are left out."""
        def block(first):
            head = b"  100CL  101 1.000000000%12d                     0    1           2\n" % 2
            names = b" -4  DISP        4    1\n -5  D1          1    2    1    0\n" \
                    b" -5  D2          1    2    2    0\n -5  D3          1    2    3    0\n" \
                    b" -5  ALL         1    2    0    0    1ALL\n"
            return head + names + b"".join(struct.pack("<i3f", node, first, node, 0.5) for node in (1, 2))

        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "deck.frd"
            file.write_bytes(b"    1C\n" + block(7) + block(8) + b" 9999\n")
            found = calculix.by_node(calculix.read_frd(file)["DISP"], 2)
        self.assertEqual(found.tolist(), [[8, 1, 0.5], [8, 2, 0.5]])


if __name__ == "__main__":
    unittest.main()
