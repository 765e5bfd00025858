"""Prints what meshio reads in a .vtu file: name, type, shape and bytes of each array."""

import sys

import meshio


def show(name, array):
    rows = array.reshape(len(array), -1)  # Some versions give scalars a second axis.
    print(name, array.dtype.name, "%dx%d" % rows.shape, array.tobytes().hex())


mesh = meshio.read(sys.argv[1])
show("points", mesh.points)
for block in mesh.cells:
    show(block.type, block.data)
for name in sorted(mesh.point_data):
    show("node " + name, mesh.point_data[name])
for name in sorted(mesh.cell_data):
    for values in mesh.cell_data[name]:
        show("element " + name, values)
