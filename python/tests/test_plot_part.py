"""Pictures of parts: their outside, what is nearest, and files of results."""

from __future__ import annotations

import itertools

import numpy as np
import plot_support
import pytest

from tessera import plot, structures
from tessera.plot import _part, _raster, _surface, _vtu

CUBE = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0),
                 (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], dtype=float)  # fmt: skip
RING3, RING4 = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3), (3, 0)]
UP4 = [(4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
TETRAHEDRON, PRISM = CUBE[[0, 1, 3, 4]], CUBE[[0, 1, 3, 4, 5, 7]]
PYRAMID = np.vstack([CUBE[:4], (0.5, 0.5, 1)])
ROOT2, ROOT3, ROOT5 = np.sqrt((2, 3, 5))
# VTK's number: corners, edges with nodes in their middles, area of the outside.
ELEMENTS = {
    5: (CUBE[[0, 1, 3]], [], 0.5),
    22: (CUBE[[0, 1, 3]], RING3, 0.5),
    9: (CUBE[:4], [], 1),
    23: (CUBE[:4], RING4, 1),
    10: (TETRAHEDRON, [], 1.5 + ROOT3 / 2),
    24: (TETRAHEDRON, [*RING3, (0, 3), (1, 3), (2, 3)], 1.5 + ROOT3 / 2),
    14: (PYRAMID, [], 1 + ROOT5),
    13: (PRISM, [], 3 + ROOT2),
    26: (PRISM, [*RING3, (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)], 3 + ROOT2),
    12: (CUBE, [], 6),
    25: (CUBE, RING4 + UP4, 6),
}


def area(points, triangles):
    p = points[triangles]
    return np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum() / 2


@pytest.mark.parametrize("kind", ELEMENTS)
def test_the_outside_of_an_element_has_its_area_and_edges(kind):
    corners, edges, wanted = ELEMENTS[kind]
    middles = [(corners[a] + corners[b]) / 2 for a, b in edges]
    points = np.vstack([corners, *middles])
    nodes = np.arange(len(points))[None]
    found = _surface.surface(points, {kind: (np.array([0]), nodes)})
    assert area(points, found.triangles) == pytest.approx(wanted, rel=1e-14)
    assert set(found.triangles.ravel()) == set(range(len(points)))
    ends = points[found.edges]
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum()
    faces = {5: 3, 22: 3, 9: 4, 23: 4, 10: 6, 24: 6, 14: 8, 13: 9, 26: 9, 12: 12, 25: 12}
    assert len(found.edges) == faces[kind] * (2 if edges else 1)
    assert found.sharp.all()
    if kind in (12, 25):
        assert length == pytest.approx(12, rel=1e-14)


def test_faces_between_elements_are_not_outside():
    # A hexahedron beside a prism, and two triangles that do not count beside solids.
    points = np.vstack([CUBE, CUBE[[1, 2, 5, 6]] + (1, 0, 0)])
    cells = {
        12: (np.array([0]), np.arange(8)[None]),
        13: (np.array([1]), np.array([[1, 8, 2, 5, 10, 6]])),
        5: (np.array([2]), np.array([[0, 1, 2]])),
    }
    found = _surface.surface(points, cells)
    assert area(points, found.triangles) == pytest.approx(5 + 1 + 1 + ROOT2, rel=1e-14)
    assert _surface.surface(points, {3: (np.array([0]), np.array([[0, 1]]))}) is None


def test_of_triangles_the_nearest_is_seen_with_its_weights():
    raster = _raster.Raster(60, 80)
    far = [(0, 0, 5.0), (160, 0, 5.0), (0, 120, 5.0)]
    near = [(10, 10, 1.0), (50, 10, 2.0), (10, 50, 3.0)]
    raster.triangles(np.array([near, far], dtype=float))
    seen = raster.seen.reshape(60, 80)
    y, x = np.mgrid[:60, :80] + 0.5
    inside = (x > 10) & (y > 10) & (x + y < 60)
    assert (seen[inside] == 0).all() and (seen[~inside & (x + y != 60)] == 1).all()
    assert (seen[inside].size, raster.depth.max()) == (780, 5.0)
    depth = 1 + (x - 10) / 40 + 2 * (y - 10) / 40
    assert np.allclose(raster.depth.reshape(60, 80)[inside], depth[inside], rtol=0, atol=1e-12)
    place = raster.weights.reshape(60, 80, 3)[inside] @ np.array(near)[:, :2]
    assert np.allclose(place, np.stack([x, y], 2)[inside], rtol=0, atol=1e-11)


def test_lines_are_hidden_by_what_is_nearer():
    raster = _raster.Raster(20, 20)
    raster.triangles(np.array([[(5, 0, 1.0), (15, 0, 1.0), (5, 40, 1.0)]]))
    raster.lines(np.array([[(0, 3.5, 2.0), (19, 3.5, 2.0)]]), [0.5], 0.0)
    ink = raster.ink.reshape(20, 20)
    assert (ink[3, :5] == 0.5).all() and (ink[3, 5:14] == 0).all() and (ink[3, 15:19] == 0.5).all()
    raster.lines(np.array([[(0, 9.5, 0.5), (19, 9.5, 0.5)]]), [0.25], 0.0)
    assert (raster.ink.reshape(20, 20)[9, :19] == 0.25).all()


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch):
    monkeypatch.setattr(_part, "_PIXELS", 1)


@pytest.fixture
def bar(tmp_path):
    """A cube of 27 hexahedra that is pulled: its stress is 2 everywhere, in the direction x."""
    z, y, x = (axis.ravel() for axis in np.meshgrid(*[np.arange(4)] * 3, indexing="ij"))
    first = np.flatnonzero((x < 3) & (y < 3) & (z < 3))
    cells = first[:, None] + (0, 1, 5, 4, 16, 17, 21, 20)
    faces = {"left": lambda p: p[:, 0] == 0, "right": lambda p: p[:, 0] == 1}
    mesh = structures.Mesh(np.stack([x, y, z], 1) / 3, {"hexahedron": cells}, faces=faces)
    part = structures.Structure(
        mesh, young=10, poisson=0, fix={"left": 0}, load={"right": (2, 0, 0)}
    )
    path = tmp_path / "bar.vtu"
    part.write(path, part.solve(rtol=1e-12).x)
    return path


def test_results_are_read_as_they_were_written(bar):
    part = _vtu.read_vtu(str(bar))
    assert part.source == "bar.vtu"
    assert list(part.cells) == [12] and part.cells[12][1].shape == (27, 8)
    assert part.node_fields["displacement"].values == pytest.approx(
        part.points * (0.2, 0, 0), abs=1e-7
    )
    stress = part.node_fields["stress"]
    assert stress.components == ("xx", "yy", "zz", "xy", "yz", "xz")
    assert stress.values[:, 0] == pytest.approx(np.full(64, 2.0), rel=1e-6)


def test_the_picture_shows_the_field_by_its_colour(bar):
    part = _vtu.read_vtu(str(bar))
    made = _part.part_picture(part, "displacement:x", view=(-90, 0), deformation=0)
    assert made.title == "Displacement, x" and made.low == pytest.approx(0, abs=1e-7)
    assert made.high == pytest.approx(0.2, rel=1e-6)
    middle = made.pixels[made.pixels.shape[0] // 2 + 9]
    shown = middle[middle[:, 3] == 255, :3].astype(float)
    across = (np.arange(len(shown)) + 0.5) / len(shown)
    # Lines of edges are darker; the light is full on a face across.
    off = np.abs(shown - _part.colours_of(across)).max(axis=1)
    assert np.count_nonzero(off < 4) > 0.9 * len(shown)
    assert [axis[0] for axis in made.axes] == ["x", "y", "z"]
    assert made.axes[0][1:] == pytest.approx((1, 0)) and made.axes[2][1:] == pytest.approx((0, -1))


def test_displacements_are_drawn_as_asked(bar):
    part = _vtu.read_vtu(str(bar))
    ratio = {}
    for factor in (0, 5):
        pixels = _part.part_picture(part, view=(-90, 0), deformation=factor).pixels
        opaque = pixels[..., 3] == 255
        ratio[factor] = np.ptp(np.flatnonzero(opaque.any(axis=0))) / np.ptp(
            np.flatnonzero(opaque.any(axis=1))
        )
    assert ratio[0] == pytest.approx(1, abs=0.02) and ratio[5] == pytest.approx(2, abs=0.03)
    assert "drawn 0.2 times" in _part.part_picture(part).note  # 1.73 / 20 / 0.2, rounded down.


def test_fields_of_elements_and_components_are_named(bar):
    part = _vtu.read_vtu(str(bar))
    assert _part.part_picture(part, "error").title == "Error estimate of elements"
    assert _part.part_picture(part).title == "von Mises stress"
    for words, message in {
        "strain": "bar.vtu: there is no field 'strain', but displacement, stress, von_mises, error",
        "stress": "the field stress has 6 components; name one: stress:xx, stress:yy, stress:zz, "
        "stress:xy, stress:yz, stress:xz",
        "stress:rr": "the field stress has the components xx, yy, zz, xy, yz, xz, not 'rr'",
    }.items():
        with pytest.raises(plot.PlotError) as error:
            _part.part_picture(part, words)
        assert str(error.value) == message


def test_the_displacements_of_a_load_case_belong_to_its_fields(bar):
    part = _vtu.read_vtu(str(bar))
    fields = part.node_fields
    for case, factor in (("wind", 1), ("own_wind", 3), ("mises_wind", 5)):
        for name in ("displacement", "von_mises"):
            values = factor * fields[name].values
            fields[f"{name}_{case}"] = _vtu.Field(values, fields[name].components)
    del fields["displacement"], fields["von_mises"]
    first = _part.part_picture(part, deformation=1)
    assert (first.title, first.high) == ("von Mises stress, load case wind", pytest.approx(2))
    other = _part.part_picture(part, "von_mises_own_wind")
    assert (other.title, other.high) == ("von Mises stress, load case own_wind", pytest.approx(6))
    again = _part.part_picture(part, "von_mises_wind", deformation=1)
    assert (again.title, again.high) == (first.title, first.high)
    assert (again.pixels == first.pixels).all()
    assert "drawn 0.2 times" in _part.part_picture(part).note
    assert "drawn 0.1 times" in other.note


def test_pages_and_pictures_of_parts_have_the_same_bytes_again(bar, tmp_path):
    page = plot_support.page_of(tmp_path, bar)
    assert page.table("value")["largest shown"][0][0] == "2"
    hrefs = [value for tag, name, value in page.attributes if (tag, name) == ("image", "href")]
    assert len(hrefs) == 2 and all(text.startswith("data:image/png;base64,") for text in hrefs)
    pytest.importorskip("matplotlib")
    texts = []
    for name in ("one.svg", "two.svg"):
        plot.save(tmp_path / name, bar, field="stress:xx", view=(30, 10))
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1] and b"Stress, xx" in texts[0]
    axes = plot_support.axes_of(plot.part, bar)
    assert len(axes.images) == 2


def test_files_that_are_none_of_ours_are_named(bar, tmp_path):
    data = bar.read_bytes()
    wrong = tmp_path / "wrong.vtu"
    cases = [b"", b"<VTKFile/>", data[:500], data[:-4000], data.replace(b"Int64", b"Float", 2),
             data.replace(b'"UInt64"', b'"UInt32"', 1),
             data.replace(b'Name="types"', b'Name="tipes"')]  # fmt: skip
    for text in cases:
        wrong.write_bytes(text)
        with pytest.raises(plot.PlotError, match="wrong.vtu: this is not a VTU file that Tessera"):
            plot.read(wrong)
    with pytest.raises(plot.PlotError, match="No such file"):
        plot.read(tmp_path / "missing.vtu")
    with pytest.raises(plot.PlotError, match=r"name a \.vtu file, too"):
        plot.save(tmp_path / "a.html", [1, 0.1], view=(1, 2))


@pytest.mark.parametrize("view", list(itertools.product((-60, 0, 90), (0, 25, 90))))
def test_the_outline_without_loads_is_seen_beside_the_part(bar, view):
    part = _vtu.read_vtu(str(bar))
    pixels = _part.part_picture(part, view=view, deformation=-2.5).pixels  # Half as long.
    partly = (pixels[..., 3] > 0) & (pixels[..., 3] < 255)
    assert partly.any()
