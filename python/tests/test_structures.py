"""Structures: meshes of several packages, loads, supports and results."""

from __future__ import annotations

import numpy as np
import pytest

import tessera
from tessera import structures
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


@pytest.mark.parametrize(
    "load", [{"load": {"right": (3, 0)}}, {"traction": {"right": (3, 0)}},
             {"pressure": {"right": -3}}]
)  # fmt: skip
def test_a_bar_under_tension(load):
    p = pulled(**load)
    result = p.solve(rtol=1e-13)
    assert result.converged
    u = p.displacements(result.x)
    x = grid()
    np.testing.assert_allclose(u, np.stack([0.3 * x[:, 0], -0.075 * x[:, 1]], 1), atol=1e-12)
    for at in ("nodes", "elements"):
        stress = p.stresses(result.x, at)
        np.testing.assert_allclose(stress[:, 0], 3, rtol=1e-11)
        np.testing.assert_allclose(structures.von_mises(stress), 3, rtol=1e-11)
    np.testing.assert_allclose(p.stresses(u), p.stresses(result.x), rtol=1e-14)
    reactions = p.reactions(result.x)
    both = reactions["left"].force + reactions["corner"].force
    np.testing.assert_allclose(both, [-3, 0], atol=1e-11)
    np.testing.assert_allclose(p.loads().force, [3, 0], atol=1e-14)
    assert p.loads().moment == pytest.approx(-1.5)
    assert reactions["left"].moment + reactions["corner"].moment == pytest.approx(1.5)
    assert p.strain_energy(u) == pytest.approx(0.5 * 3 * 0.6, rel=1e-11)
    estimate = p.error_estimate(u)
    assert estimate.relative < 1e-7 and len(estimate.elements) == 4
    assert p.warnings == []


def test_a_plane_of_symmetry():
    by_component = pulled(load={"right": (3, 0)})
    p = Structure(
        bar(), young=10.0, poisson=0.25, fix={"left": "normal", "corner": 0}, load={"right": (3, 0)}
    )
    assert abs(p.matrix - by_component.matrix).max() == 0
    with pytest.raises(ValueError, match="the normal of group 'corner': it needs edges"):
        Structure(bar(), fix={"corner": "normal"})


def test_a_section_carries_the_load_ahead():
    faces = {"cut": {"line": [[3, 4], [4, 5]]}, "left": lambda p: p[:, 0] == 0,
             "right": lambda p: p[:, 0] == 2}  # fmt: skip
    mesh = Mesh(grid(), {"quad": QUADS}, faces=faces)
    p = Structure(mesh, young=10.0, fix={"left": 0}, load={"right": (3, -2)})
    force, moment, centre, normal = p.section("cut", p.solve(rtol=1e-13).x)
    np.testing.assert_allclose(force, [3, -2], atol=1e-11)
    assert moment == pytest.approx(-2, abs=1e-11)
    np.testing.assert_allclose(centre, [1, 0.5], atol=1e-15)
    np.testing.assert_allclose(normal, [1, 0], atol=1e-15)
    with pytest.raises(ValueError, match="'hole'"):
        p.section("hole", np.zeros((9, 2)))


def test_the_matrix_is_that_of_the_load_and_symmetric():
    p = pulled(load={"right": (3, 0)})
    assert p.matrix.shape == (len(p.load), len(p.load))
    assert abs(p.matrix - p.matrix.T).max() == 0
    x = np.linalg.solve(p.matrix.toarray(), p.load)
    np.testing.assert_allclose(x, p.solve(rtol=1e-13).x, atol=1e-12)


def test_arrays_at_nodes_are_as_groups():
    by_group = pulled(load={"corner": (0, 1)}, body_force=(1, 0)).solve(rtol=1e-13).x
    forces = np.zeros((9, 2))
    forces[0] = 0, 1
    given = np.full((9, 2), np.nan)
    given[:3, 0] = 0
    given[0, 1] = 0
    p = Structure(
        bar(), young=10.0, poisson=0.25, node_displacements=given, node_forces=forces,
        body_force=(1, 0),
    )  # fmt: skip
    result = p.solve(rtol=1e-13)
    np.testing.assert_allclose(result.x, by_group, atol=1e-13)
    np.testing.assert_allclose(p.reactions(result.x)["nodes"].force, [-2, -1], atol=1e-11)
    assert any("node" in warning for warning in p.warnings)  # The force is on a fixed node.


def test_materials_of_groups():
    mesh = bar(elements={"soft": [0, 1], "hard": np.array([False, False, True, True]),
                         "all": range(4)})  # fmt: skip
    p = Structure(
        mesh, young={"soft": 1.0, "hard": 4.0}, poisson=0, fix={"left": (0, None), "corner": 0},
        load={"right": (1, 0)},
    )  # fmt: skip
    u = p.displacements(p.solve(rtol=1e-13).x)
    np.testing.assert_allclose(u[:, 0], np.repeat([0, 1, 1.25], 3), atol=1e-12)
    with pytest.raises(ValueError, match="young: element 2 is in none of soft"):
        Structure(mesh, young={"soft": 1.0}, fix={"left": 0})
    with pytest.raises(ValueError, match="no region 'sof'; did you mean 'soft'"):
        Structure(mesh, young={"sof": 1.0}, fix={"left": 0})
    with pytest.raises(ValueError, match="poisson: give it for the same regions"):
        Structure(mesh, young={"soft": 1.0, "hard": 2.0, "all": 3.0}, fix={"left": 0},
                  poisson={"soft": 0.1, "hard": 0.1})  # fmt: skip


def test_groups_of_a_mesh():
    mesh = bar()
    assert mesh.groups == ["corner", "left", "right"]
    assert mesh.nodes("right").tolist() == [6, 7, 8]
    with pytest.raises(KeyError, match="no group 'top'; there are corner, left, right"):
        mesh.nodes("top")
    explicit = Mesh(grid(), [("quad", QUADS)], faces={"right": [("line", [[6, 7], [7, 8]])]})
    assert explicit.nodes("right").tolist() == [6, 7, 8]


def test_files_are_read_and_written(tmp_path):
    file = tmp_path / "square.msh"
    file.write_text(
        '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n1 1 "left"\n'
        '1 2 "right"\n2 3 "plate"\n$EndPhysicalNames\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n'
        "3 1 1 0\n4 0 1 0\n$EndNodes\n$Elements\n3\n1 1 2 1 1 4 1\n2 1 2 2 2 2 3\n"
        "3 3 2 3 3 1 2 3 4\n$EndElements\n"
    )
    p = Structure(file, fix={"left": 0}, load={"right": (1, 0)}, young={"plate": 2.0})
    assert p.mesh.groups == ["left", "right", "plate"]
    assert p.mesh.nodes("plate").tolist() == [0, 1, 2, 3]
    result = p.solve()
    out = tmp_path / "square.vtu"
    p.write(out, result.x)
    content = out.read_bytes()
    for name in (b"displacement", b"stress", b"von_mises", b"error"):
        assert b'"' + name + b'"' in content
    with pytest.raises(FileNotFoundError):
        Structure(tmp_path / "none.msh")
    with pytest.raises(ValueError, match="is a mesh, not a matrix: tessera.structures.Structure"):
        tessera.read(file)


def test_meshes_of_meshio():
    meshio = pytest.importorskip("meshio", reason="meshio is not installed")
    points = np.column_stack([grid(), np.zeros(9)])
    mesh = meshio.Mesh(
        points, [("line", [[1, 0], [2, 1]]), ("quad", QUADS)],
        cell_sets={"left": [[0, 1], []], "hard": [[], [2, 3]]}, point_sets={"corner": [0]},
    )  # fmt: skip
    found = structures.Structure(mesh, fix={"left": 0}, load={"corner": (1, 0)}).mesh
    assert found.groups == ["left", "hard", "corner"]
    assert found.nodes("left").tolist() == [0, 1, 2]
    tagged = meshio.Mesh(
        points, [("line", [[1, 0], [2, 1]]), ("quad", QUADS)],
        cell_data={"gmsh:physical": [np.array([7, 7]), np.array([1, 1, 1, 1])]},
        field_data={"left": np.array([7, 1]), "plate": np.array([1, 2])},
    )  # fmt: skip
    assert Structure(tagged, fix={"left": 0}, body_force=(0, 1)).mesh.groups == ["left", "plate"]


def test_meshes_of_scikit_fem():
    skfem = pytest.importorskip("skfem", reason="scikit-fem is not installed")
    pytest.importorskip("meshio", reason="meshio is not installed")
    for kind in (skfem.MeshQuad, skfem.MeshHex, skfem.MeshTet, skfem.MeshTri):
        mesh = (
            kind()
            .refined(1)
            .with_boundaries({"left": lambda x: x[0] == 0, "right": lambda x: x[0] == 1})
        )
        axes = mesh.p.shape[0]
        p = Structure(mesh, poisson=0, fix={"left": 0}, load={"right": (1,) + (0,) * (axes - 1)})
        u = p.displacements(p.solve(rtol=1e-12).x)
        np.testing.assert_allclose(u[:, 0], p.mesh.points[:, 0], atol=1e-9)


def test_wrong_arguments_are_named():
    mesh = bar()
    good = {"fix": {"left": 0}}
    wrong = [
        ({"fix": {"lft": 0}}, ValueError, "lft"),
        ({"fix": {"left": (0, 0, 0)}}, ValueError, r"fix\['left'\]: expected 2 components"),
        ({"fix": {"left": "0"}}, (TypeError, ValueError), "fix"),
        (good | {"load": {"right": (1, 2, 3)}}, ValueError, r"load\['right'\]: expected 2"),
        (good | {"load": {"right": (1, np.nan)}}, ValueError, "NaN"),
        (good | {"pressure": {"corner": 1}}, ValueError, "a pressure needs segments"),
        (good | {"node_forces": np.zeros((3, 2))}, ValueError, "node_forces: the shape"),
        (good | {"formulation": "reduced"}, ValueError, "formulation"),
        (good | {"young": -1}, ValueError, "Young's modulus -1 is not a positive number"),
        (good | {"thickness": 0}, ValueError, "thickness"),
        ({}, ValueError, "fix: the structure, or a part of it, can move as a rigid body"),
    ]
    for options, error, text in wrong:
        with pytest.raises(error, match=text):
            Structure(mesh, **options)
    with pytest.raises(TypeError, match="mesh: expected a Mesh"):
        Structure(3)
    for cells, text in (
        ({"quads": QUADS}, "the cell type 'quads' is none of"),
        ({"tetra": [[0, 1, 2, 3]]}, "tetra are no elements of points in 2 dimensions"),
        ({"quad": [[0, 1, 2, 9]]}, "9"),
        ({"quad": [0, 1, 2, 3]}, "expected one row of nodes per cell"),
    ):
        with pytest.raises(ValueError, match=text):
            Mesh(grid(), cells)
    for faces, text in (({"up": lambda p: p[:, 1] > 3}, "no face"), ({"up": [99]}, "9 nodes")):
        with pytest.raises(ValueError, match=text):
            Mesh(grid(), {"quad": QUADS}, faces=faces)
    p = pulled(load={"right": (3, 0)})
    with pytest.raises(ValueError, match=r"x: the shape \(3,\) is neither"):
        p.stresses(np.zeros(3))
    with pytest.raises(ValueError, match="at: 'gauss'"):
        p.stresses(np.zeros(len(p.load)), at="gauss")


def test_an_orthotropic_bar():
    constants = [20, 10, 10, 0.25, 0.2, 0.25, 4, 4, 4]
    for directions, modulus in (([], 20.0), ([0, 1, 0, 1, 0, 0], 10.0)):
        p = Structure(bar(), orthotropic=[*constants, *directions], load={"right": (3, 0)},
                      fix={"left": "normal", "corner": 0})  # fmt: skip
        u = p.displacements(p.solve(rtol=1e-13).x)
        assert u[6, 0] == pytest.approx(2 * 3 / modulus, rel=1e-10)
    with pytest.raises(ValueError, match="orthotropic: expected 9 constants"):
        Structure(bar(), orthotropic=[1, 2, 3])


def test_plane_strain_and_axisymmetry():
    p = Structure(bar(), plane="strain", young=10.0, poisson=0.25, load={"right": (3, 0)},
                  fix={"left": "normal", "corner": 0})  # fmt: skip
    stress = p.stresses(p.solve(rtol=1e-13).x)
    np.testing.assert_allclose(stress[:, :3], np.tile([3, 0, 0.75], (9, 1)), atol=1e-11)
    # A ring of the radii 1 and 3 that is stretched along its axis.
    ring = Mesh(grid() + [1, 0], {"quad": QUADS}, faces={"top": lambda p: p[:, 1] == 1,
                "bottom": lambda p: p[:, 1] == 0})  # fmt: skip
    p = Structure(ring, plane="axisymmetric", young=10.0, poisson=0.25, fix={"bottom": "normal"},
                  traction={"top": (0, 2)})  # fmt: skip
    result = p.solve(rtol=1e-13)
    np.testing.assert_allclose(p.stresses(result.x)[:, 1], 2, atol=1e-11)
    assert p.reactions(result.x)["bottom"].force[1] == pytest.approx(-2 * np.pi * 8)
    with pytest.raises(ValueError, match="plane: 'full' is none of stress, strain, axisymmetric"):
        Structure(ring, plane="full")


def test_meshes_that_would_be_misread():
    for cells in ({"triangle": [[0, 1, 2, 3, 4, 5]]}, {"quad": [[0, 1, 2], [3, 4, 5]]}):
        with pytest.raises(ValueError, match="nodes, not"):
            Mesh(grid(), cells)
    with pytest.raises(ValueError, match="beyond"):
        Mesh(grid(), {"quad": [[0, 1, 2, 2**32 + 3]]})
    with pytest.raises(ValueError, match="'?left'? is there twice"):
        Mesh(grid(), {"quad": QUADS}, nodes={"left": [0]}, faces={"left": [0, 1, 2]})
    assert Mesh(grid(), {"quad": QUADS}, nodes={"none": []}).nodes("none").size == 0
    with pytest.raises(ValueError, match="gravity: it needs a density"):
        pulled(gravity=(0, -9.81))
    held = Structure(bar(), node_displacements=np.zeros((9, 2)))
    assert held.solve().converged  # Nothing is unknown.


def test_sets_of_abaqus_with_one_name():
    meshio = pytest.importorskip("meshio", reason="meshio is not installed")
    mesh = meshio.Mesh(
        grid(), [("quad", QUADS)], cell_sets={"Set-1": [[0, 1]]}, point_sets={"Set-1": [0, 1, 2]},
        field_data={"TimeValue": np.array([0.0])},
    )  # fmt: skip
    found = structures.mesh_of(mesh)
    assert found.nodes("Set-1").tolist() == [0, 1, 2]


def test_it_is_reached_from_the_package():
    assert tessera.structures.Structure is Structure


def test_heated_bars():
    # Free: it grows by alpha DT L without stress.
    nodes = np.full(9, 4.0)
    for options in (
        {"expansion": 0.5, "temperature": 4},
        {"expansion": (0.5, 0.5, 9), "temperature": nodes},
    ):
        p = pulled(**options)
        result = p.solve(rtol=1e-13)
        np.testing.assert_allclose(p.displacements(result.x), 2 * grid(), atol=1e-12)
        np.testing.assert_allclose(p.stresses(result.x), 0, atol=1e-10)
        assert p.strain_energy(result.x) == pytest.approx(0, abs=1e-10)
        assert p.error_estimate(result.x).relative == 0
    # Between walls, one half heated: the mean of the growths.
    mesh = bar(elements={"cold": [0, 1], "hot": [2, 3]})
    p = Structure(mesh, young=10.0, poisson=0, expansion=(0.5, 0, 0), temperature={"hot": 4},
                  fix={"left": "normal", "right": "normal", "corner": 0})  # fmt: skip
    result = p.solve(rtol=1e-13)
    np.testing.assert_allclose(p.stresses(result.x)[:, 0], -10, atol=1e-10)
    assert p.reactions(result.x)["right"].force[0] == pytest.approx(-10)
    with pytest.raises(ValueError, match="temperature: it needs an expansion"):
        pulled(temperature=3)
    with pytest.raises(ValueError, match=r"temperature: the shape \(2,\) is not \(9,\)"):
        pulled(expansion=1, temperature=[1, 2])
    with pytest.raises(ValueError, match="expansion: expected a number or three"):
        pulled(expansion=(1, 2), temperature=3)


def test_springs():
    p = Structure(bar(), young=10.0, poisson=0, spring={"left": (2, 5)}, load={"right": (3, 0)})
    result = p.solve(rtol=1e-13)
    u = p.displacements(result.x)
    np.testing.assert_allclose(u[:, 0], 3 / 2 + 0.3 * grid()[:, 0], rtol=1e-11)
    np.testing.assert_allclose(p.reactions(result.x)["left"].force, [-3, 0], atol=1e-11)
    with pytest.raises(ValueError, match="can move as a rigid body"):
        Structure(bar(), spring={"left": (2, 0)}, load={"right": (3, 0)})
    with pytest.raises(ValueError, match="the stiffness -2 along x"):
        Structure(bar(), spring={"left": (-2, 0)}, load={"right": (3, 0)})


def test_moments():
    p = Structure(bar(), young=10.0, poisson=0, fix={"left": 0}, moment={"right": 0.1})
    result = p.solve(rtol=1e-13)
    u = p.displacements(result.x)
    np.testing.assert_allclose(u[6:, 0], -0.24 * (grid()[6:, 1] - 0.5), atol=1e-11)
    assert p.loads().moment == pytest.approx(0.1)
    assert p.reactions(result.x)["left"].moment == pytest.approx(-0.1)
    cases = pulled(cases={"both": {"moment": {"right": 0.1}}}, moment={"right": 0.2})
    assert cases.cases["both"].loads().moment == pytest.approx(0.3)
    with pytest.raises(TypeError, match=r"moment\['right'\]"):
        Structure(bar(), fix={"left": 0}, moment={"right": (0, 1)})


def test_rigid_and_coupled_groups():
    mesh = bar()
    # A force at a corner of the right end, which moves as a whole.
    corner = np.zeros((9, 2))
    corner[8, 0] = 3
    p = Structure(mesh, young=10.0, poisson=0, fix={"left": (0, None), "corner": 0},
                  couple={"right": "x"}, node_forces=corner)  # fmt: skip
    result = p.solve(rtol=1e-13)
    u = p.displacements(result.x)
    np.testing.assert_allclose(u[6:, 0], 0.6, rtol=1e-11)
    sums = p.constraints(result.x)
    assert list(sums) == ["couple right"]
    np.testing.assert_allclose(sums["couple right"].force, 0, atol=1e-11)
    assert sums["couple right"].moment == pytest.approx(3 * 0.5)
    # A rigid end turns, and needs no moment of its own; so does one that stays plane.
    for options in ({"rigid": "right"}, {"rigid": ["right"]}, {"couple": {"right": "plane"}}):
        p = Structure(mesh, young=10.0, poisson=0, fix={"left": 0}, node_forces=corner, **options)
        result = p.solve(rtol=1e-13)
        u = p.displacements(result.x)
        assert u[7, 0] == pytest.approx((u[6, 0] + u[8, 0]) / 2)
        assert u[8, 0] > u[6, 0] + 0.1
        (total,) = p.constraints(result.x).values()
        np.testing.assert_allclose([*total.force, total.moment], 0, atol=1e-11)
        assert p.reactions(result.x)["left"].moment == pytest.approx(3)
    with pytest.raises(ValueError, match=r"couple\['right'\]: expected letters of 'xy'"):
        Structure(mesh, fix={"left": 0}, couple={"right": "z"})
    with pytest.raises(ValueError, match="'corner' has one node"):
        Structure(mesh, fix={"left": 0}, rigid="corner")


def test_equations():
    from scipy import sparse

    rows = np.zeros((2, 18))
    rows[0, [16, 12]] = 1, -2  # u_x of node 8 is twice that of node 6,
    rows[1, [17, 13]] = 1, -1  # and they move up together.
    expected = None
    for matrix in (rows, sparse.csr_array(rows), sparse.coo_matrix(rows)):
        p = Structure(bar(), young=10.0, poisson=0.25, fix={"left": 0}, load={"right": (3, 1)},
                      equations=(matrix, (0, 0.01)))  # fmt: skip
        result = p.solve(rtol=1e-13)
        u = p.displacements(result.x)
        np.testing.assert_allclose(rows @ u.ravel(), [0, 0.01], atol=1e-12)
        if expected is None:
            expected = u
        np.testing.assert_array_equal(u, expected)
        # Both multipliers times the rows, at their nodes.
        force, moment = p.constraints(result.x)["equations"]
        left, loads = p.reactions(result.x)["left"], p.loads()
        np.testing.assert_allclose(force + left.force + loads.force, 0, atol=1e-11)
        assert moment + left.moment + loads.moment == pytest.approx(0, abs=1e-11)
        assert abs(force[0]) > 0.1
    p = Structure(bar(), fix={"left": 0}, load={"right": (3, 1)}, equations=(rows[0], 0))
    assert len(p.load) == 11
    for equations, message in (
        ((rows[:, 1:], 0), r"C has the shape \(2, 17\), not \(m, 18\)"),
        ((rows, (1, 2, 3)), r"2 rows, but g has the shape \(3,\)"),
        ((np.eye(18), 0.1), "contradicts supports"),
    ):
        with pytest.raises(ValueError, match=message):
            Structure(bar(), fix={"left": 0}, equations=equations)
    with pytest.raises(TypeError, match="equations: expected a matrix and numbers"):
        Structure(bar(), fix={"left": 0}, equations=rows)


def test_ties():
    # Two bars in a row, each with nodes of its own where they touch.
    both = np.concatenate([grid(), grid() * [1, 0.9] + [2, 0.05]])
    quads = QUADS + [[n + 9 for n in quad] for quad in QUADS]
    faces = {
        "left": lambda p: p[:, 0] == 0,
        "right": lambda p: p[:, 0] == 4,
        "end": [6, 7, 8],
    }
    mesh = Mesh(both, {"quad": quads}, faces=faces, nodes={"start": [9, 10, 11]})
    options = {"young": 10.0, "poisson": 0, "fix": {"left": 0}, "load": {"right": (3, 0)}}
    with pytest.raises(ValueError, match="can move as a rigid body"):
        Structure(mesh, **options)
    p = Structure(mesh, tie={"start": "end"}, **options)
    result = p.solve(rtol=1e-13)
    u = p.displacements(result.x)
    np.testing.assert_allclose(u[9], 0.9 * u[6] + 0.1 * u[7], atol=1e-12)
    np.testing.assert_allclose(u[10], u[7], atol=1e-12)
    force, moment = p.constraints(result.x)["tie start=end"]
    np.testing.assert_allclose([*force, moment], 0, atol=1e-11)
    np.testing.assert_allclose(p.reactions(result.x)["left"].force, [-3, 0], atol=1e-11)
    with pytest.raises(ValueError, match="'start' has no edges that 'end' could be tied to"):
        Structure(mesh, tie={"end": "start"}, **options)


def test_rotations():
    turn = (0.1, (1, 2))
    p = Structure(bar(), rotate={"left": turn, "right": turn})
    result = p.solve(rtol=1e-13)
    x, y = grid().T
    expected = np.stack([-0.1 * (y - 2), 0.1 * (x - 1)], 1)
    np.testing.assert_allclose(p.displacements(result.x), expected, atol=1e-13)
    np.testing.assert_allclose(p.stresses(result.x), 0, atol=1e-13)
    with pytest.raises(ValueError, match="rotate: 'left' is in fix, too"):
        Structure(bar(), fix={"left": 0}, rotate={"left": turn})
    with pytest.raises(ValueError, match=r"rotate\['left'\]: expected \(angle, point\)"):
        Structure(bar(), rotate={"left": (0.1, (1, 2), (0, 0, 1))})
    with pytest.raises(ValueError, match="a body of revolution cannot rotate"):
        Structure(bar(), rotate={"left": turn}, plane="axisymmetric")


def test_load_cases():
    common = {"young": 10.0, "poisson": 0.25, "density": 2.0, "expansion": 0.1}
    fix = {"left": (0, None), "corner": 0, "right": (None, 0)}
    cases = {
        "pull": {"load": {"right": (3, 0)}},
        "heat": {"temperature": 4},
        "weight": {"gravity": (0, -10)},
        "shear": {"fix": {"right": (None, 0.5)}},
    }
    p = Structure(bar(), fix=fix, traction={"right": (1, 0)}, cases=cases, **common)
    assert list(p.cases) == list(cases) and p.load.shape == (p.matrix.shape[0], 4)
    result = p.solve(rtol=1e-13)
    assert result.converged and result.x.shape == p.load.shape
    for k, (name, given) in enumerate(cases.items()):
        loads = {"fix": fix, "traction": {"right": (1, 0)}} | given
        loads["fix"] = fix | given.get("fix", {})
        alone = Structure(bar(), **loads, **common)
        case = p.cases[name]
        np.testing.assert_allclose(case.load, alone.load, atol=1e-12)
        x = alone.solve(rtol=1e-13).x
        u = alone.displacements(x)
        np.testing.assert_allclose(case.displacements(result.x[:, k]), u, atol=1e-11)
        np.testing.assert_allclose(case.stresses(u), alone.stresses(u), atol=1e-11)
        np.testing.assert_allclose(
            case.reactions(u)["left"].force, alone.reactions(u)["left"].force, atol=1e-11
        )
        assert case.strain_energy(u) == pytest.approx(alone.strain_energy(u), abs=1e-12)
    for ask in (lambda: p.stresses(result.x[:, 0]), p.loads):
        with pytest.raises(ValueError, match=r"name the load case: p.cases\['pull'\]"):
            ask()


def test_files_of_load_cases(tmp_path):
    p = pulled(cases={"a": {"load": {"right": (1, 0)}}, "b": {"load": {"right": (0, 1)}}})
    out = tmp_path / "cases.vtu"
    p.write(out, p.solve().x)
    content = out.read_bytes()
    for field in (b"displacement", b"stress", b"von_mises", b"error"):
        for name in (b"_a", b"_b"):
            assert b'"' + field + name + b'"' in content
    with pytest.raises(ValueError, match=r"x: the shape \(\d+,\) is not"):
        p.write(out, p.load[:, 0])
    for given, text in (
        ({"laod": {}}, r"cases\['c'\]: 'laod' is no load; there are load, moment"),
        ({"fix": {"right": 1}}, "'right' of a case is not fixed in the same components"),
        ({"gravity": (0, 1)}, "gravity needs a density"),
    ):
        with pytest.raises(ValueError, match=text):
            pulled(cases={"c": given})
    with pytest.raises(TypeError, match="expected a dict of loads"):
        pulled(cases={"c": 3})
    with pytest.raises(ValueError, match=r"cases\['c'\]: no load acts in it"):
        pulled(cases={"c": {"load": {}}})
    moved = Structure(bar(), fix={"left": 0, "right": (0.1, 0)}, cases={"c": {}})
    assert moved.load.any()
    with pytest.raises(TypeError, match="cases: expected a dict of dicts of loads"):
        pulled(cases=[{"load": {"right": (1, 0)}}])


def test_inclined_rollers():
    c, s = np.cos(0.5), np.sin(0.5)
    turn = np.array([[c, -s], [s, c]])
    sides = {"left": lambda q: abs(q[:, 0]) < 1e-9, "right": lambda q: abs(q[:, 0] - 2) < 1e-9,
             "bottom": lambda q: abs(q[:, 1]) < 1e-9}  # fmt: skip
    straight = Mesh(grid(), {"quad": QUADS}, faces=sides)
    turned = Mesh(
        grid() @ turn.T,
        {"quad": QUADS},
        faces={name: (lambda q, of=of: of(q @ turn)) for name, of in sides.items()},
    )
    fix = {"left": "normal", "bottom": "normal"}
    a = Structure(straight, fix=fix, load={"right": (3, 1)})
    b = Structure(turned, fix=fix, load={"right": turn @ [3, 1]})
    assert a.near_null is None and b.near_null.shape == (len(b.load), 3)
    u, v = (p.displacements(p.solve(rtol=1e-13).x) for p in (a, b))
    np.testing.assert_allclose(v, u @ turn.T, atol=1e-10)
    for group in fix:
        expected = turn @ a.reactions(u)[group].force
        np.testing.assert_allclose(b.reactions(v)[group].force, expected, atol=1e-9)
    assert b.solve(M="amg", rtol=1e-12).converged


def test_spin():
    p = pulled(spin=(3, (1, 1)), density=2.0)
    np.testing.assert_allclose(p.loads().force, [0, 2 * 2 * 9 * -0.5], atol=1e-12)
    ring = pulled(spin=0.5, density=2.0, plane="axisymmetric")
    assert ring.loads().force[0] == pytest.approx(2 * 0.25 * 2 * np.pi * 8 / 3)
    with pytest.raises(ValueError, match="spin: it needs a density"):
        pulled(spin=(3, (1, 1)))
    with pytest.raises(ValueError, match=r"spin: expected \(speed, point\)"):
        pulled(spin=(3, (1, 1), (0, 0, 1)), density=2.0)
    with pytest.raises(ValueError, match="a plane mesh spins about z"):
        pulled(spin=3, density=2.0)
    with pytest.raises(ValueError, match="temperature: nan is not a number"):
        pulled(temperature=np.nan, expansion=1.0)
    with pytest.raises(ValueError, match="spin: it is infinite"):
        pulled(spin=(-np.inf, (1, 1)), density=2.0)
    corner = Mesh(np.eye(4, 3), {"tetra": [[0, 1, 2, 3]]}, nodes={"all": range(4)})
    with pytest.raises(ValueError, match=r"spin: expected \(speed, point, direction\), got 3"):
        Structure(corner, fix={"all": 0}, spin=3, density=2.0)
