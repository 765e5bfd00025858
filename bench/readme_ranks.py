"""The tables of docs/scaling.md on one multigrid over several GPUs: measured, and a model of more.

Local times are those measured on one GPU; how long messages take is measured on two, and assumed
for a network.
"""
import math

from readme_scaling import gpus_of_node, message_latency, network, nvlink, reduction_step, size_text
from recorded_results import load, select

gather_nodes = 20_000  # A level of so few nodes is on every GPU.
coarsening = (25.6, 19.4)  # Nodes over those of the next level, the finest one first.
exchanges_of_level = 6  # In a cycle: four for the matrix, and those of restriction and prolongator.
exchanges_of_iteration = 2  # The product outside, and the gathering of the last level.
reductions = 3
iterations = 14
rounds_of_setup = 60  # Messages in the setup of a level, most of them in 10 Lanczos steps.
message = 14.7e-6  # An exchange of less than 1 MB between two GPUs, with what the host does for it.


def local_points():
    """(unknowns, seconds per iteration, of setup, of an update) on one GPU."""
    rows = select(load("h200/multigrid_sizes.json")["rows"], solver="fcg", preconditioner="amg")
    return sorted((row["rows"], row["seconds"] / row["iterations"], row["setup_seconds"],
                   row["update_seconds"]) for row in rows)


def local(unknowns, column):
    """Between measured sizes on logarithmic axes; beyond the largest in proportion to the size."""
    points = [(row[0], row[column]) for row in local_points()]
    if unknowns >= points[-1][0]:
        return points[-1][1] * unknowns / points[-1][0]
    for (low, a), (high, b) in zip(points, points[1:]):
        if unknowns <= high:
            share = max(0.0, math.log(unknowns / low) / math.log(high / low))
            return math.exp((1 - share) * math.log(a) + share * math.log(b))
    raise AssertionError


def levels_over_ranks(unknowns):
    nodes, levels = unknowns / 3, 0
    while nodes > gather_nodes:
        nodes /= coarsening[min(levels, 1)]
        levels += 1
    return levels


def exchange(gpus, size):
    """Seconds of an exchange of `size` bytes that nothing hides; 26 neighbours beyond one node."""
    if gpus <= gpus_of_node:
        return message + size / nvlink
    return message + message_latency["network"] * (1 + 25 / 10) + size / network


def reduction(gpus):
    return message + reduction_step * math.log2(max(1, gpus / gpus_of_node)) + (
        message_latency["network"] if gpus > gpus_of_node else 0.0)


def iteration(gpus, each):
    """With `each` unknowns on a GPU. Products hide the bytes of the finest level."""
    if gpus == 1:
        return local(each, 1)
    seconds = local(each, 1) + reductions * reduction(gpus)
    seconds += exchanges_of_iteration * exchange(gpus, 0)
    side = (each / 3) ** (1 / 3)
    for level in range(levels_over_ranks(gpus * each)):
        # Ghosts of a coarse level are 1.6 layers of nodes of 6 unknowns.
        size = 0 if level == 0 else 6 * max(side, 1) ** 2 * 1.6 * 6 * 4
        seconds += exchanges_of_level * exchange(gpus, size)
        side /= coarsening[min(level, 1)] ** (1 / 3)
    return seconds


def devices(matrix, count):
    """The fastest repetitions after the first, or that one if it is alone."""
    rows = select(load("h200/devices.json")["rows"], matrix=matrix, devices=count)
    if not rows:
        return None
    rows = [row for row in rows if row["repetition"] > 0] or rows
    best = {key: min(row[key] for row in rows)
            for key in ("setup_seconds", "update_seconds", "seconds")}
    return best | {key: rows[0][key] for key in ("rows", "iterations")}


def fitted(key, column):
    """Seconds that two GPUs take longer than one with half of the unknowns: (for each level over
    ranks, for each unknown of a GPU), by least squares."""
    a11 = a12 = a22 = b1 = b2 = 0.0
    for matrix in ("elasticity3d:60", "elasticity3d:90", "elasticity3d:149"):
        two = devices(matrix, 2)
        each, levels = two["rows"] / 2, levels_over_ranks(two["rows"])
        extra = two[key] - local(each, column)
        a11, a12, a22 = a11 + levels**2, a12 + levels * each, a22 + each**2
        b1, b2 = b1 + levels * extra, b2 + each * extra
    determinant = a11 * a22 - a12**2
    return (a22 * b1 - a12 * b2) / determinant, (a11 * b2 - a12 * b1) / determinant


def made(gpus, each, key, column):
    """Seconds of a setup or an update."""
    if gpus == 1:
        return local(each, column)
    of_level, of_unknown = fitted(key, column)
    more = rounds_of_setup * (exchange(gpus, 0) - exchange(2, 0))
    return local(each, column) + of_unknown * each + (
        levels_over_ranks(gpus * each) * (of_level + more))


def setup(gpus, each):
    return made(gpus, each, "setup_seconds", 2)


def update(gpus, each):
    return made(gpus, each, "update_seconds", 3)


def ranks_measured():
    lines = [
        "| System | Unknowns | One GPU: setup, update, solve | Two GPUs | Setup + solve | Update + solve |",
        "| --- | --- | --- | --- | --- | --- |",
    ]

    def times(run):
        return ", ".join(f"{1e3 * run[key]:.3g}" for key in (
            "setup_seconds", "update_seconds", "seconds")) + f" ms, {run['iterations']} iterations"

    for matrix in ("elasticity3d:60", "elasticity3d:90", "elasticity3d:149", "poisson3d:300",
                   "elasticity3d:236"):
        one, two = devices(matrix, 1), devices(matrix, 2)
        ratios = ["", ""] if one is None else [
            f"{(one[key] + one['seconds']) / (two[key] + two['seconds']):.2f} times"
            for key in ("setup_seconds", "update_seconds")]
        if one is not None and matrix.startswith("elasticity"):
            each, unknowns = two["rows"] / 2, two["rows"]
            for k, (make, column) in enumerate(((setup, 2), (update, 3))):
                model = ((local(unknowns, column) + iterations * local(unknowns, 1))
                         / (make(2, each) + iterations * iteration(2, each)))
                ratios[k] += f", model {model:.2f}"
        lines.append(f"| `{matrix}` | {two['rows']:,} | {'too large' if one is None else times(one)} "
                     f"| {times(two)} | {ratios[0]} | {ratios[1]} |")
    return "\n".join(lines)


def ranks_model():
    counts = [1, 2, 4, 8, 64, 512, 4096]
    lines = ["| GPUs | " + " | ".join(f"{count:,}" for count in counts) + " |",
             "| --- |" + " --- |" * len(counts)]

    def total(gpus, each):
        return setup(gpus, each) + iterations * iteration(gpus, each)

    for unknowns in (10e6, 100e6):
        cells = []
        for gpus in counts:
            each = unknowns / gpus
            if each < 10_000:
                cells.append("")
                continue
            cells.append(f"{1e3 * total(gpus, each):.3g} ms, {total(1, unknowns) / total(gpus, each):.3g}")
        lines.append(f"| {size_text(unknowns)} in all: setup + solve, speedup | " + " | ".join(cells) + " |")
    for each, columns in ((1e6, 1), (4.2e6, 3), (10e6, 1)):
        name = f"{size_text(each)} each"
        named = (("setup + solve", total), ("iteration", iteration), ("update", update))
        for what, seconds in named[:columns]:
            cells = [f"{1e3 * seconds(gpus, each):.3g} ms, {100 * seconds(1, each) / seconds(gpus, each):.0f}%"
                     for gpus in counts]
            lines.append(f"| {name}: {what}, efficiency | " + " | ".join(cells) + " |")
    lines.append("| 4.2 M each: levels over ranks | " + " | ".join(
        str(levels_over_ranks(gpus * 4.2e6)) if gpus > 1 else "0" for gpus in counts) + " |")
    return "\n".join(lines)
