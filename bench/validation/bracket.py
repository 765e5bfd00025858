"""An L-bracket with a bolt hole and a rounded inner corner, meshed in tetrahedra by Gmsh."""
import numpy as np

from meshes import Mesh

LENGTH, HEIGHT, WIDTH, THICKNESS, FILLET, HOLE = 80.0, 60.0, 40.0, 10.0, 8.0, 6.0


def geometry(gmsh):
    occ = gmsh.model.occ
    upright = occ.addBox(0, 0, 0, THICKNESS, WIDTH, HEIGHT)
    flange = occ.addBox(0, 0, 0, LENGTH, WIDTH, THICKNESS)
    block = occ.addBox(THICKNESS, 0, THICKNESS, FILLET, WIDTH, FILLET)
    round_ = occ.addCylinder(THICKNESS + FILLET, 0, THICKNESS + FILLET, 0, WIDTH, 0, FILLET)
    corner, _ = occ.cut([(3, block)], [(3, round_)])
    body, _ = occ.fuse([(3, upright)], [(3, flange), *corner])
    hole = occ.addCylinder(50, WIDTH / 2, 0, 0, 0, THICKNESS, HOLE)
    occ.cut(body, [(3, hole)])
    occ.synchronize()


def bracket(kind, size):
    """Groups: wall (x = 0), end (x = LENGTH), top (of the flange)."""
    import gmsh

    gmsh.initialize(interruptible=False)
    try:
        for name, value in {"General.Terminal": 0, "General.NumThreads": 1, "Mesh.MeshSizeMax": size,
                            "Mesh.MeshSizeFromCurvature": 12, "Mesh.MeshSizeMin": size / 2,
                            "Mesh.ElementOrder": 2 if kind == "tet10" else 1,
                            "Mesh.HighOrderOptimize": 1 if kind == "tet10" else 0}.items():
            gmsh.option.setNumber(name, value)
        geometry(gmsh)
        gmsh.model.mesh.generate(3)
        tags, points, _ = gmsh.model.mesh.getNodes()
        _, nodes = gmsh.model.mesh.getElementsByType(11 if kind == "tet10" else 4)
    finally:
        gmsh.finalize()
    elements = nodes.reshape(-1, 10 if kind == "tet10" else 4)
    if kind == "tet10":
        elements = elements[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]  # From Gmsh's order.
    used, elements = np.unique(elements, return_inverse=True)
    order = np.argsort(tags)
    places = points.reshape(-1, 3)[order[np.searchsorted(tags[order], used)]]
    mesh = Mesh(places, {kind: elements.reshape(-1, 10 if kind == "tet10" else 4)})
    mesh.add_sides("wall", lambda p: abs(p[0]) < 1e-9)
    mesh.add_sides("end", lambda p: abs(p[0] - LENGTH) < 1e-9)
    return mesh.add_sides("top", lambda p: abs(p[2] - THICKNESS) < 1e-9)
