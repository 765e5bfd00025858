"""Structures: meshes of several packages, loads, supports and results."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from structure_support import QUADS, bar, grid, pulled

import tessera
from tessera import structures
from tessera.structures import Mesh, Structure


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


def test_meshes_of_meshio_that_would_be_misread():
    meshio = pytest.importorskip("meshio", reason="meshio is not installed")
    cells = [("quad", QUADS[:2]), ("quad", QUADS[2:]), ("line", [[1, 0], [2, 1]])]
    twice = [*cells[:2], ("quad", QUADS[:1]), cells[2]]  # As of two groups of a file of Gmsh 2.2.
    points = grid()
    chosen = Structure(
        meshio.Mesh(points, cells, cell_sets={"left": [[], [], np.array([False, True])]}),
        fix={"left": 0},
    ).mesh  # fmt: skip
    assert chosen.nodes("left").tolist() == [1, 2]
    for mesh, error, text in (
        (meshio.Mesh(points, twice), ValueError, "mesh: quad 0 and 4 have the same nodes"),
        (meshio.Mesh(points, cells, cell_sets={"left": [[], [], [2]]}), ValueError,
         "mesh: the set 'left': there are 2 elements"),
        (meshio.Mesh(points, cells, cell_sets={"left": [[], [], [-1]]}), ValueError,
         "mesh: the set 'left': there are 2 elements"),
        (meshio.Mesh(points, cells, cell_sets={"left": [[], [], [0.9]]}), TypeError,
         "mesh: the set 'left': expected numbers"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            Structure(mesh, fix={"left": 0})
    faces = [("line", [[6, 7], [7, 8]]), ("line", [[8, 7]])]
    with pytest.raises(ValueError, match="group 'right': line 1 and 2 have the same nodes"):
        Mesh(points, {"quad": QUADS}, faces={"right": faces})
    with pytest.raises(ValueError, match="cells: quad 0 and 4 have the same nodes"):
        Mesh(points, [("quad", QUADS), ("quad", QUADS[:1])])


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


def test_models_of_gmsh(monkeypatch):
    """By a module of that name that writes what a test says."""
    gmsh = ModuleType("gmsh")
    monkeypatch.setitem(sys.modules, "gmsh", gmsh)
    gmsh.isInitialized = lambda: False
    with pytest.raises(ValueError, match="mesh: gmsh has no model; call gmsh.initialize"):
        Structure(gmsh)
    gmsh.isInitialized = lambda: True
    gmsh.write = lambda path: Path(path).write_text("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")
    with pytest.raises(tessera.ParseError, match="^the model of gmsh: the mesh has no triangles"):
        Structure(gmsh)


def test_meshes_of_scikit_fem_without_meshio(monkeypatch):
    skfem = pytest.importorskip("skfem", reason="scikit-fem is not installed")
    monkeypatch.setitem(sys.modules, "meshio", None)
    monkeypatch.delitem(sys.modules, "skfem.io.meshio", raising=False)
    with pytest.raises(ImportError, match="mesh: .* scikit-fem .* pip install meshio"):
        Structure(skfem.MeshQuad(), fix={})


def test_wrong_arguments_are_named():
    mesh = Mesh(
        grid(),
        {"quad": QUADS},
        faces={"left": lambda p: p[:, 0] == 0, "right": lambda p: p[:, 0] == 2},
        nodes={"corner": [0], "nowhere": []},
    )
    good = {"fix": {"left": 0}}
    masked = np.ma.masked_array(np.zeros((9, 2)), np.eye(9, 2))
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
        ({"fix": {"left": True}}, TypeError, r"fix\['left'\]: give numbers, and None where it is"),
        ({"fix": {"left": (True, False)}}, TypeError, r"fix\['left'\]: give numbers"),
        ({"fix": {"left": 0, "nowhere": 0}}, ValueError, "'nowhere' holds nothing"),
        (good | {"load": {"right": (1j, 0)}}, TypeError, r"load\['right'\]: complex values"),
        (good | {"body_force": "1,0"}, TypeError, "body_force: expected an array"),
        (good | {"node_forces": np.ones((9, 2)) * 1j}, TypeError, "node_forces: complex values"),
        (good | {"node_forces": masked}, TypeError, "node_forces: entries are masked"),
        ({"node_displacements": masked}, TypeError, "node_displacements: entries are masked"),
        (good | {"equations": (np.eye(18)[:1] * 1j, 0)}, TypeError, "equations: complex values"),
        (good | {"expansion": [1j], "temperature": 3}, TypeError, "expansion: complex values"),
        ({"fix": "left"}, TypeError, "fix: expected a dict by names of groups, got 'left'"),
        ({"fix": {1: 0}}, TypeError, "fix: 1 is no text, as names of groups are"),
        (good | {"rotate": ["right"]}, TypeError, "rotate: expected a dict"),
        (good | {"load": {1: (1, 0)}}, TypeError, "load: 1 is no text"),
        (good | {"traction": "right"}, TypeError, "traction: expected a dict"),
        (good | {"pressure": 3}, TypeError, "pressure: expected a dict"),
        (good | {"moment": {None: 3}}, TypeError, "moment: None is no text"),
        (good | {"spring": [1, 2]}, TypeError, "spring: expected a dict"),
        (good | {"rigid": 3}, TypeError, "rigid: expected names of groups, got 3"),
        (good | {"rigid": ["right", 3]}, TypeError, "rigid: 3 is no text"),
        (good | {"couple": "right"}, TypeError, "couple: expected a dict"),
        (good | {"couple": {"right": 3}}, ValueError, r"couple\['right'\]: expected letters"),
        (good | {"tie": {"right": 3}}, TypeError, r"tie\['right'\]: 3 is no text"),
        (good | {"young": {1: 3.0}}, TypeError, "young: 1 is no text"),
        (good | {"temperature": {1: 3}, "expansion": 1}, TypeError, "temperature: 1 is no text"),
        (good | {"cases": {"a": {"load": 3}}}, TypeError, "load: expected a dict"),
        (good | {"cases": {"a": {"fix": "left"}}}, TypeError, "fix: expected a dict"),
    ]
    for options, error, text in wrong:
        with pytest.raises(error, match=text):
            Structure(mesh, **options)
    with pytest.raises(TypeError, match="mesh: expected a Mesh"):
        Structure(3)
    for cells, text in (
        ({"quads": QUADS}, "the cell type 'quads' is none of"),
        (
            {"quad": np.concatenate([QUADS, np.roll(QUADS[1:2], 1, axis=1)])},
            f"cells: quad 1 and {len(QUADS)} have the same nodes",
        ),
        ({"tetra": [[0, 1, 2, 3]]}, "tetra are no elements of points in 2 dimensions"),
        ({"quad": [[0, 1, 2, 9]]}, "9"),
        ({"quad": [0, 1, 2, 3]}, "expected one row of nodes per cell"),
    ):
        with pytest.raises(ValueError, match=text):
            Mesh(grid(), cells)
    for faces, text in (({"up": lambda p: p[:, 1] > 3}, "no face"), ({"up": [99]}, "9 nodes")):
        with pytest.raises(ValueError, match=text):
            Mesh(grid(), {"quad": QUADS}, faces=faces)
    with pytest.raises(ValueError, match="it has no elements"):
        Mesh(grid(), {"quad": QUADS}, elements={"none": []})
    p = pulled(load={"right": (3, 0)})
    with pytest.raises(ValueError, match=r"x: the shape \(3,\) is neither"):
        p.stresses(np.zeros(3))
    with pytest.raises(TypeError, match="group: 3 is no text"):
        p.section(3, np.zeros(len(p.load)))
    with pytest.raises(TypeError, match="path: expected a path, got NoneType"):
        p.write(None, np.zeros(len(p.load)))
    with pytest.raises(ValueError, match="path: 'part.vtk' must end in .vtu"):
        p.write("part.vtk", np.zeros(len(p.load)))
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
    with pytest.raises(TypeError, match="faces, elements: 1 is no text, as names of groups are"):
        Mesh(grid(), {"quad": QUADS}, nodes={1: [0]})
    with pytest.raises(ValueError, match="is not UTF-8"):
        Mesh(grid(), {"quad": QUADS}, nodes={"\ud800": [0]})
    assert Mesh(grid(), {"quad": QUADS}, nodes={"none": []}).nodes("none").size == 0
    with pytest.raises(ValueError, match="gravity: it needs a density"):
        pulled(gravity=(0, -9.81))
    with pytest.raises(ValueError, match="node_displacements: it holds infinity"):
        Structure(bar(), node_displacements=np.full((9, 2), np.inf))
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
