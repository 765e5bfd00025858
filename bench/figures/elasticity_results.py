"""What the figures of elasticity share: the meshes of the SBELL paper, rates, bars by mesh."""
import itertools

from measured_results import colours

meshes = {
    "tri": "elasticity2d:727,element=t3,jitter=0.4,free",
    "quad": "elasticity2d:400,free",
    "tet": "elasticity3d:58,element=tet4,jitter=0.4,free",
    "hex": "elasticity3d:54,free",
}
everywhere = meshes | {
    "quad 1600": "elasticity2d:1600,free",
    "hex 90": "elasticity3d:90,free",
}
# Eight times the nonzeros of the paper's.
large = {
    "tri x 8": "elasticity2d:2056,element=t3,jitter=0.4,free",
    "quad x 8": "elasticity2d:1131,free",
    "tet x 8": "elasticity3d:116,element=tet4,jitter=0.4,free",
    "hex x 8": "elasticity3d:108,free",
}


def best(figure, mesh, *implementations, value="gflops", **keys):
    """The largest value of the products with these implementations; {b} is the rows of a block."""
    matrix = (everywhere | large)[mesh]
    block = "3" if matrix.startswith("elasticity3d") else "2"
    names = [name.replace("{b}", block) for name in implementations]
    keys = {"op": "spmv", "matrix": matrix, "type": "f64"} | keys
    found = [
        row[value]
        for row in figure.rows
        if row["implementation"] in names
        and row.get(value) is not None
        and all(row.get(k) == v for k, v in keys.items())
    ]
    return max(found, default=None)


def by_mesh(figure, *implementations, among=everywhere, **keys):
    """{mesh: best}, without the meshes where it was not measured."""
    rates = {mesh: best(figure, mesh, *implementations, **keys) for mesh in among}
    return {mesh: rate for mesh, rate in rates.items() if rate is not None}


def solved(rows, **keys):
    """{(mesh, polynomial with its options, format): row} of conjugate gradients among the rows."""
    names = {matrix.removesuffix(",free"): mesh for mesh, matrix in everywhere.items()}
    found = {}
    for row in rows:
        if row["op"] != "solve" or row["solver"] != "cg":
            continue
        if any(row.get(k) != v for k, v in keys.items()):
            continue
        matrix = row["matrix"].removesuffix(",free")
        options = [o for o in row["preconditioner"].split(",") if not o.startswith("format=")]
        form = row["format"].partition(":")[0]
        found[names.get(matrix, matrix), ",".join(options), form] = row
    return found


def total_seconds(row):
    return row["seconds"] + row["setup_seconds"]


def print_table(title, table, digits=0):
    """A line for each label of {label: {mesh: value}}."""
    names = list(dict.fromkeys(name for series in table.values() for name in series))
    width = max(len(text) for text in (title, *table)) + 2
    print(f"  {title:{width}}" + "".join(f"{str(name):>12}" for name in names))
    for label, series in table.items():
        cells = (f"{series[n]:.{digits}f}" if n in series else "-" for n in names)
        print(f"  {label:{width}}" + "".join(f"{cell:>12}" for cell in cells))


def draw_groups(figure, panels, size=(5.6, 3.6), columns=2):
    """Bars side by side: one panel for each (title, label of y, {label: {group: height}})."""
    pyplot = figure.pyplot()
    if pyplot is None:
        return
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    picture, axes = pyplot.subplots(
        lines, columns, figsize=(size[0] * columns, size[1] * lines), squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, y_label, bars) in zip(axes.flat, panels):
        groups = list(dict.fromkeys(group for series in bars.values() for group in series))
        width = 0.84 / len(bars)
        looks = itertools.product(("", "///"), colours)
        for k, ((hatch, colour), (label, series)) in enumerate(zip(looks, bars.items())):
            axis.bar(
                [groups.index(group) - 0.42 + (k + 0.5) * width for group in series],
                list(series.values()), width, color=colour, hatch=hatch, edgecolor="white",
                linewidth=0.4, label=label,
            )
        axis.set_xticks(range(len(groups)), [str(group) for group in groups])
        axis.set_title(title, fontsize=10)
        axis.set_ylabel(y_label)
        axis.grid(alpha=0.3, axis="y")
        axis.set_axisbelow(True)
        most = max(max(series.values()) for series in bars.values())
        wide = max(len(label) for label in bars) > 16
        in_a_row = min(3 if wide else 4, len(bars))
        rows_of_legend = -(-len(bars) // in_a_row)
        axis.set_ylim(0, most * (1.06 + 0.07 * rows_of_legend * 3.6 / size[1]))
        axis.legend(fontsize=7, ncols=in_a_row, loc="upper left")
    figure.save(picture)
