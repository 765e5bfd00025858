"""Runs `tessera solve` and reads its VTU file and its report."""
import json
import pathlib
import re
import subprocess

import numpy as np

from meshes import write_gmsh

TYPES = {"Float64": "<f8", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1"}


def read_vtu(path):
    """The arrays of a file with raw appended data, by name; those of nodes where a name is twice."""
    content = pathlib.Path(path).read_bytes()
    marker = b'<AppendedData encoding="raw">\n_'
    start = content.index(marker) + len(marker)
    found = {}
    for tag in re.findall(rb"<DataArray [^>]*>", content[:start]):
        values = dict(re.findall(r'(\w+)="([^"]*)"', tag.decode()))
        at = start + int(values["offset"])
        size = int(np.frombuffer(content, "<u8", 1, at)[0])
        kind = np.dtype(TYPES[values["type"]])
        array = np.frombuffer(content, kind, size // kind.itemsize, at + 8)
        found.setdefault(values["Name"], array.reshape(-1, int(values["NumberOfComponents"])))
    return found


def six_components(stress):
    """xx, yy, zz, xy, yz, xz, also where a plane mesh has xx, yy, xy."""
    if stress.shape[1] == 6:
        return stress
    found = np.zeros((len(stress), 6))
    found[:, [0, 1, 3]] = stress
    return found


def run(program, folder, model, rtol="1e-13", method=()):
    """Displacements and stresses at nodes, and the report; rtol None: the usual tolerance."""
    folder = pathlib.Path(folder)
    write_gmsh(folder / "mesh.msh", model.mesh)
    command = [program, "solve", "mesh.msh", *model.arguments(), "--vtu", "result.vtu", "--json",
               "report.json", "--quiet", "--device", "cpu", *(["--rtol", rtol] if rtol else []), *method]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if outcome.returncode:
        raise RuntimeError(f"tessera failed in {folder}:\n{outcome.stderr}")
    report = json.loads((folder / "report.json").read_text())
    arrays = read_vtu(folder / "result.vtu")
    points = np.zeros((len(model.mesh.points), 3))
    points[:, :model.mesh.dimensions] = model.mesh.points
    if len(points) != len(arrays["Points"]) or abs(points - arrays["Points"]).max() > 0:
        raise RuntimeError(f"{folder}/result.vtu has other nodes, or in another order, than the mesh")
    return {"displacement": arrays["displacement"][:, :model.mesh.dimensions],
            "stress": six_components(arrays["stress"]), "von_mises": arrays["von_mises"][:, 0],
            "report": report, "messages": outcome.stderr}
