"""The structures that are compared, as functions of the kind of element and the refinement."""
import numpy as np

from bracket import bracket as bracket_mesh
from meshes import box, grid, jittered, joined, kept, mapped
from model import Model
from shapes import SHAPES


def bracket(kind, size):
    return Model(bracket_mesh(kind, size), fix={"wall": (0, 0, 0)}, force={"end": (100.0, 50.0, -200.0)},
                 pressure={"top": 0.1})


def l_plate(kind, cells, poisson=0.3, plane="stress", formulation="full"):
    """Arms 50 wide and 100 long; nodes inside are moved."""
    mesh = kept(grid((2 * cells, 2 * cells), kind), lambda p: (p[0] < 0.5) | (p[1] < 0.5))
    mesh.points = 100 * mesh.parameters
    jittered(mesh, 8 / cells)
    mesh.add_sides("top", lambda p: abs(p[1] - 1) < 1e-9)
    mesh.add_sides("end", lambda p: abs(p[0] - 1) < 1e-9)
    mesh.add_sides("bottom", lambda p: abs(p[1]) < 1e-9)
    return Model(mesh, fix={"top": (0, 0)}, force={"end": (20.0, -100.0)}, pressure={"bottom": 0.3},
                 thickness=5.0, poisson={"": poisson}, plane=plane, formulation=formulation)


def beam(kind, cells, formulation="full", **options):
    """A cantilever of 100 x 10 x 20 with a load across it in both directions, and its weight."""
    d = SHAPES[kind].dimensions
    mesh = jittered(box((100, 10, 20)[:d], (4 * cells, cells, cells)[:d], kind), 0.8 / cells)
    return Model(mesh, fix={"x0": (0,) * d}, force={"x1": (0, -300.0, 100.0)[:d]},
                 gravity=(0, -9810.0, 0)[:d], density={"": 7.85e-9}, formulation=formulation, **options)


def two_materials(kind, cells, formulation="full"):
    """Steel on aluminium, bent, with its weight along it."""
    mesh = box((60, 10, 10), (6 * cells, 2 * cells, cells), kind)
    mesh.set_region("steel", lambda p: p[1] > 0.5)
    return Model(mesh, fix={"x0": (0, 0, 0)}, force={"x1": (0, -100.0, 50.0)}, formulation=formulation,
                 young={"steel": 210000.0, "rest": 70000.0}, poisson={"steel": 0.3, "rest": 0.34},
                 gravity=(9810.0, 0, 0), density={"steel": 7.85e-9, "rest": 2.7e-9})


def heated_beam(kind, cells, formulation="full"):
    """Steel on aluminium between two walls, at one of which it slides, 100 degrees warmer than without stress."""
    mesh = box((60, 10, 10), (6 * cells, 2 * cells, cells), kind)
    mesh.set_region("steel", lambda p: p[1] > 0.5)
    return Model(mesh, fix={"x0": (0, 0, 0), "x1": (0, None, None)}, formulation=formulation, temperature=100.0,
                 expansion={"steel": 1.2e-5, "rest": 2.3e-5}, young={"steel": 210000.0, "rest": 70000.0},
                 poisson={"steel": 0.3, "rest": 0.34})


def twisted_beam(kind, cells, formulation="full"):
    """A beam of 60 x 10 x 20 whose end turns by 0.02 about an axis that is not its own."""
    mesh = box((60, 10, 20), (6 * cells, cells, 2 * cells), kind)
    return Model(mesh, fix={"x0": (0, 0, 0)}, rotate={"x1": (0.02, (60.0, 3.0, 8.0), (1.0, 0.2, -0.1))},
                 formulation=formulation)


def blade(kind, cells, formulation="full"):
    """A block at 200 from an axis that is not along its edges, about which it makes 50 turns a second."""
    mesh = jittered(box((60, 10, 20), (6 * cells, cells, 2 * cells), kind), 0.8 / cells)
    return Model(mesh, fix={"x0": (0, 0, 0)}, spin=(314.0, (-200.0, 0.0, 0.0), (0.1, 0.3, 1.0)),
                 density={"": 7.85e-9}, formulation=formulation)


def flanged_beam(kind, cells, formulation="full"):
    """A beam with a rigid end, pulled and pressed off its middle."""
    mesh = box((60, 10, 20), (6 * cells, cells, 2 * cells), kind)
    return Model(mesh, fix={"x0": (0, 0, 0)}, rigid=("x1",), force={"x1": (200.0, -100.0, 50.0)},
                 pressure={"z1": 0.5}, formulation=formulation)


def guided_block(kind, cells, formulation="full"):
    """A block whose upper side moves down as a whole; two of its corners move as a lever lets them."""
    mesh = box((20, 20, 30), (cells, cells, cells), kind)
    corners = [int(np.argmin(np.linalg.norm(mesh.points - place, axis=1))) for place in ((20, 0, 0), (20, 20, 30))]
    lever = ([(2.0, corners[0], 0), (-1.0, corners[1], 1), (0.5, corners[0], 1)], 0.01)
    return Model(mesh, fix={"x0": (0, 0, None), "z0": (None, None, 0)}, couple={"z1": 2}, equations=(lever,),
                 pressure={"x1": 20.0}, formulation=formulation)


def tied_beams(kind, cells, formulation="full"):
    """A thin beam on a thick one: meshes that do not fit each other, tied where they touch."""
    thick = box((40, 10, 20), (4 * cells, cells, 2 * cells), kind)
    thin = box((30, 7, 13), (3 * cells, cells + 1, 2 * cells + 1), kind)
    thin.points += (40.0, 1.7, 3.1)
    mesh = joined([thick, thin])
    mesh.parameters = None
    is_thick = np.arange(len(mesh.points)) < len(thick.points)
    mesh.add_sides("wall", lambda p: p[0] == 0)
    mesh.add_sides("end", lambda p: p[0] == 70)
    mesh.add_sides("below", lambda p: (p[0] == 40) & is_thick)
    mesh.add_sides("above", lambda p: (p[0] == 40) & ~is_thick)
    return Model(mesh, fix={"wall": (0, 0, 0)}, tie={"above": "below"}, force={"end": (50.0, -100.0, 30.0)},
                 formulation=formulation)


# A carbon-fibre laminate: E1, E2, E3, nu12, nu23, nu13, G12, G23, G13.
LAMINATE = (135000.0, 10000.0, 9000.0, 0.3, 0.4, 0.25, 5200.0, 3200.0, 4800.0)


def pressed_block(kind, cells, formulation="full"):
    """A block between plates, one held, the other moving down and aside; dragged inside and on a face."""
    mesh = jittered(box((20, 20, 30), (cells, cells, cells), kind), 1.0 / cells)
    return Model(mesh, fix={"z0": (0, 0, 0), "z1": (0.02, None, -0.05)}, traction={"x1": (5.0, -8.0, 12.0)},
                 body_force=(0.5, 1.0, -0.25), formulation=formulation)


def mixed(kinds, cells):
    """Hexahedra and prisms, or quadrilaterals and triangles, half of the beam each."""
    d = SHAPES[kinds[0]].dimensions
    halves = [kept(grid((4 * cells, cells, cells)[:d], kind), lambda p, sign=sign: sign * (p[0] - 0.5) > 0)
              for kind, sign in zip(kinds, (-1, 1))]
    for half in halves:
        mapped(half, lambda x, y, *z: (100 * x, 10 * y * (2 - x), *(20 * w for w in z)))
    mesh = joined(halves)
    mesh.add_sides("left", lambda p: abs(p[0]) < 1e-9)
    mesh.add_sides("right", lambda p: abs(p[0] - 1) < 1e-9)
    mesh.add_sides("above", lambda p: abs(p[1] - 1) < 1e-9)
    return Model(mesh, fix={"left": (0,) * d}, force={"right": (0, -300.0, 100.0)[:d]}, pressure={"above": 0.5},
                 poisson={"": 0.0 if d == 2 else 0.3})


INNER, OUTER, CYLINDER = 100.0, 120.0, 150.0


def vessel(kind, cells):
    """An eighth of a cylinder closed by hemispheres, under internal pressure; z is its axis."""
    def sphere(turn):
        def place(u, v, r):
            along = np.stack([np.ones_like(u), np.tan(np.pi / 4 * u), np.tan(np.pi / 4 * v)])
            along = along / np.linalg.norm(along, axis=0) * (INNER + (OUTER - INNER) * r)
            x, y, z = np.roll(along, turn, axis=0)
            return x, y, z + CYLINDER
        return place

    def wall(u, v, r):
        radius, angle = INNER + (OUTER - INNER) * r, np.pi / 2 * u
        return radius * np.cos(angle), radius * np.sin(angle), CYLINDER * v

    thick = max(1, cells // 2)
    parts = [mapped(grid((cells, cells, thick), kind), sphere(turn)) for turn in range(3)]
    parts.append(mapped(grid((2 * cells, 2 * cells, thick), kind), wall))
    mesh = joined(parts)

    mesh.parameters = None  # The same in all parts: groups are chosen by positions.

    def inside(p):
        return np.hypot(np.hypot(p[0], p[1]), np.maximum(p[2] - CYLINDER, 0)) < INNER + 1e-6

    mesh.add_sides("inside", inside)
    for axis, name in enumerate("xyz"):
        mesh.add_sides(name, lambda p, axis=axis: abs(p[axis]) < 1e-9)
    return Model(mesh, fix={"x": (0, None, None), "y": (None, 0, None), "z": (None, None, 0)},
                 pressure={"inside": 10.0})


def vessel_section(kind, cells, formulation="full"):
    """The section of the vessel for axisymmetry, with its weight; x is the radius, y the axis."""
    def head(u, v):
        radius, angle = INNER + (OUTER - INNER) * u, np.pi / 2 * v
        return radius * np.cos(angle), CYLINDER + radius * np.sin(angle)

    parts = [mapped(grid((cells, 3 * cells), kind), head),
             mapped(grid((cells, 3 * cells), kind), lambda u, v: (INNER + (OUTER - INNER) * u, CYLINDER * v))]
    mesh = joined(parts)
    mesh.points[abs(mesh.points) < 1e-9] = 0
    mesh.parameters = None
    mesh.add_sides("inside", lambda p: np.hypot(p[0], np.maximum(p[1] - CYLINDER, 0)) < INNER + 1e-6)
    mesh.add_sides("middle", lambda p: p[1] == 0)
    mesh.add_sides("axis", lambda p: p[0] == 0)
    return Model(mesh, fix={"middle": (None, 0), "axis": (0, None)}, pressure={"inside": 10.0},
                 gravity=(0, -9810.0), density={"": 7.85e-9}, plane="axisymmetric",
                 formulation=formulation)


def dam(kind, cells, formulation="full", plane="stress"):
    """A slice, 1 m thick, of a gravity dam 80 m high, 8 m wide above and 60 m below, under its weight
    and the pressure of water (for each row of elements the one at half its height). Units m, N."""
    height, d = 80.0, SHAPES[kind].dimensions
    rows = 4 * cells
    mesh = grid((3 * cells, rows, 1)[:d], kind)

    def place(u, v, *w):
        return [u * (60 - 52 * v), height * v, *w]

    mapped(mesh, place)
    model = Model(mesh, fix={"foundation": (0,) * d}, gravity=(0, -9.81, 0)[:d], density={"": 2400.0},
                  young={"": 25e9}, poisson={"": 0.2}, formulation=formulation, plane=plane)
    mesh.add_sides("foundation", lambda p: abs(p[1]) < 1e-9)
    if d == 3:
        for end in (0, 1):
            mesh.add_sides(f"z{end}", lambda p, end=end: abs(p[2] - end) < 1e-9)
            model.fix[f"z{end}"] = (None, None, 0)
    for row in range(rows):
        low, high = row / rows, (row + 1) / rows
        mesh.add_sides(f"water{row}", lambda p, low=low, high=high: (p[0] < 1e-9) & (p[1] > low - 1e-9)
                       & (p[1] < high + 1e-9))
        model.pressure[f"water{row}"] = 9810 * height * (1 - (low + high) / 2)
    return model


def ring(kind, cells, poisson, formulation="full"):
    """A quarter of a long cylinder (u_z = 0) with radii 1 and 2 under an internal pressure of 1."""
    mesh = grid((cells, 2 * cells, 1), kind)

    def place(u, v, w):
        radius, angle = 1 + u, np.pi / 2 * v
        return radius * np.cos(angle), radius * np.sin(angle), w / cells

    mapped(mesh, place)
    mesh.add_sides("inside", lambda p: abs(p[0]) < 1e-9)
    sides = {"x": (1, 1), "y": (1, 0), "back": (2, 0), "front": (2, 1)}
    for name, (axis, end) in sides.items():
        mesh.add_sides(name, lambda p, axis=axis, end=end: abs(p[axis] - end) < 1e-9)
    return Model(mesh, fix={"x": (0, None, None), "y": (None, 0, None), "back": (None, None, 0),
                            "front": (None, None, 0)},
                 pressure={"inside": 1.0}, young={"": 1000.0}, poisson={"": poisson},
                 formulation=formulation)


HALF_WIDTH, HALF_LENGTH = 5.0, 20.0  # Of the plate with a hole of radius 1.


def hole(kind, cells, formulation="full"):
    """A quarter of a strip with a hole, pulled along x by a stress of 1."""
    def lower(u, v):
        return around(u, np.pi / 4 * v, lambda a: (np.full_like(a, HALF_WIDTH), HALF_WIDTH * np.tan(a)))

    def upper(u, v):
        return around(u, np.pi / 4 * (1 + v), lambda a: (HALF_WIDTH / np.tan(a), np.full_like(a, HALF_WIDTH)))

    def around(u, angle, rim):
        share = u**1.7
        x, y = rim(angle)
        return (1 - share) * np.cos(angle) + share * x, (1 - share) * np.sin(angle) + share * y

    def rest(u, v):
        return HALF_WIDTH + (HALF_LENGTH - HALF_WIDTH) * u, HALF_WIDTH * np.tan(np.pi / 4 * v)

    n = cells
    mesh = joined([mapped(grid((2 * n, n), kind), lower), mapped(grid((2 * n, n), kind), upper),
                   mapped(grid((2 * n, n), kind), rest)])
    mesh.parameters = None
    mesh.add_sides("x", lambda p: abs(p[0]) < 1e-9)
    mesh.add_sides("y", lambda p: abs(p[1]) < 1e-9)
    mesh.add_sides("end", lambda p: abs(p[0] - HALF_LENGTH) < 1e-9)
    return Model(mesh, fix={"x": (0, None), "y": (None, 0)}, force={"end": (HALF_WIDTH, 0.0)},
                 formulation=formulation)


def cook(kind, cells, formulation="full"):
    """Cook's membrane: a tapered panel, clamped on the left, sheared by a force of 1 on the right."""
    mesh = grid((cells, cells), kind)
    mapped(mesh, lambda u, v: (48 * u, 44 * u + v * (44 - 28 * u)))
    mesh.add_sides("left", lambda p: abs(p[0]) < 1e-9)
    mesh.add_sides("right", lambda p: abs(p[0] - 1) < 1e-9)
    return Model(mesh, fix={"left": (0, 0)}, force={"right": (0.0, 1.0)}, young={"": 1.0},
                 poisson={"": 1 / 3}, formulation=formulation)


def cantilever(kind, cells, formulation="full"):
    """Ten times as long as thick, thickness and width 1, E = 1, a force of 1e-3 at its end."""
    d = SHAPES[kind].dimensions
    mesh = box((10, 1, 1)[:d], (10 * cells, cells, cells)[:d], kind)
    return Model(mesh, fix={"x0": (0,) * d}, force={"x1": (0, -1e-3, 0)[:d]}, young={"": 1.0},
                 formulation=formulation)


def patch(kind, cells=3, formulation="full"):
    """Distorted elements whose surface is displaced by PATCH_GRADIENT times the position."""
    d = SHAPES[kind].dimensions
    mesh = jittered(box((1.0,) * d, (cells,) * d, kind), 0.25 / cells)
    model = Model(mesh, young={"": 1000.0}, formulation=formulation)
    mesh.groups, mesh.sides = {}, {}
    surface = sorted({node for _, _, nodes in mesh.surface() for node in nodes})
    for node in surface:
        mesh.add_points(f"n{node}", [node])
        model.fix[f"n{node}"] = tuple(PATCH_GRADIENT[:d, :d] @ mesh.points[node])
    return model


PATCH_GRADIENT = 1e-3 * np.array([[1.0, 0.6, -0.3], [0.2, -0.8, 0.5], [0.4, -0.1, 0.7]])
