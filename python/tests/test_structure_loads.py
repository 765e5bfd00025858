"""Structures: loads, supports, equations and load cases."""

from __future__ import annotations

import numpy as np
import pytest
from structure_support import QUADS, bar, grid, pulled

from tessera.structures import Mesh, Structure


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
