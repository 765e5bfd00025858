"""The model of docs/scaling.md: conjugate gradients with a polynomial on many GPUs.

Local times are those measured on one GPU; messages, latencies and bandwidths are a model.
"""
import math

from recorded_results import load, select

degree = 6
unknowns_of_node = 3
bytes_of_value = 8
exchanges = degree + 1  # One for each product of an iteration.
reductions = 3  # Two dot products and a norm.
lanczos_steps = 20

# Assumptions; docs/scaling.md says where they come from. Seconds, bytes per second.
gpus_of_node = 8
nvlink = 450e9
network = 50e9
message_latency = {"node": 3e-6, "network": 5e-6}
stop_and_pack = 15e-6  # Packing, waiting for the stream, unpacking.
reduction_step = 3e-6  # For each doubling of the ranks.
reduction_copy = 10e-6  # A number to the host.
host_copy = 20e9  # From a GPU to the host, or back.
host_message = 10e9  # From rank to rank in the host's memory.
host_latency = 10e-6  # Of each of the two copies.


def measured():
    """(unknowns, seconds per iteration, seconds of setup, iterations) on one GPU."""
    rows = select(load("h200/sizes_elasticity.json")["rows"], solver="cg")
    return sorted(
        (row["rows"], row["seconds"] / row["iterations"], row["setup_seconds"], row["iterations"])
        for row in rows
        if row["preconditioner"].startswith("chebyshev:6,values=f16,format=sbell:3")
    )


def interpolated(unknowns, column):
    """Between measured sizes on logarithmic axes; beyond the largest in proportion to the size."""
    points = [(row[0], row[column]) for row in measured()]
    if unknowns >= points[-1][0]:
        return points[-1][1] * unknowns / points[-1][0]
    if unknowns <= points[0][0]:
        return points[0][1]
    for (low, a), (high, b) in zip(points, points[1:]):
        if unknowns <= high:
            share = math.log(unknowns / low) / math.log(high / low)
            return math.exp((1 - share) * math.log(a) + share * math.log(b))
    raise AssertionError


def exchange(gpus, unknowns):
    """Seconds to get the ghosts of the cube of nodes of one GPU, which 1, 2 or 3 others touch at
    its faces, or all 26 around it at 6 faces, 12 edges and 8 corners."""
    if gpus == 1:
        return 0.0
    side = (unknowns / unknowns_of_node) ** (1 / 3)
    faces, messages = {2: (1, 1), 4: (2, 3), 8: (3, 7)}.get(gpus, (6, 26))
    size = faces * side**2 + (12 * side + 8 if faces == 6 else 0)
    size *= unknowns_of_node * bytes_of_value
    where, speed = ("node", nvlink) if gpus <= gpus_of_node else ("network", network)
    # Posted together, messages overlap: a tenth of each further latency remains.
    return message_latency[where] * (1 + (messages - 1) / 10) + size / speed


def exchange_through_host(size):
    """Seconds to send `size` bytes to the other GPU of a node by way of the host."""
    return (2 * (host_latency + size / host_copy) + message_latency["node"]
            + size / host_message)


def reduction(gpus):
    return 0.0 if gpus == 1 else reduction_copy + reduction_step * math.log2(gpus)


def iteration(gpus, unknowns):
    """(seconds of an iteration, seconds of them not on the GPU's own rows)."""
    local = interpolated(unknowns, 1)
    product = 0.85 * local / exchanges  # Vector work takes the rest.
    hidden = max(0.0, exchange(gpus, unknowns) - product)
    extra = exchanges * (hidden + stop_and_pack) + reductions * reduction(gpus) if gpus > 1 else 0.0
    return local + extra, extra


def iteration_on_two(measured_on_one, unknowns, products, ghosts):
    """Seconds of an iteration with so many products on two GPUs whose messages go through the
    host, from the time on one: its share of the rows takes as much less as it does in measured()."""
    local = measured_on_one * interpolated(unknowns / 2, 1) / interpolated(unknowns, 1)
    product = 0.85 * local / products
    hidden = max(0.0, exchange_through_host(ghosts * bytes_of_value) - product)
    return local + products * (hidden + stop_and_pack) + reductions * reduction(2)


def setup(gpus, unknowns):
    step = 2 * reduction(gpus) + exchange(gpus, unknowns) + (stop_and_pack if gpus > 1 else 0)
    return interpolated(unknowns, 2) + lanczos_steps * step


def size_text(unknowns):
    return f"{unknowns / 1e6:.3g} M" if unknowns < 1e9 else f"{unknowns / 1e9:.3g} G"


def scaling():
    counts = [1, 2, 4, 8, 64, 512, 4096]
    lines = ["| GPUs | " + " | ".join(f"{count:,}" for count in counts) + " |"]
    lines.append("| --- |" + " --- |" * len(counts))
    for total in (10e6, 100e6):
        times = [iteration(count, total / count)[0] for count in counts]
        cells = [
            f"{1e3 * time:.3g} ms, {times[0] / time:.3g}" for time in times
        ]
        lines.append(f"| {size_text(total)} in all: iteration, speedup | " + " | ".join(cells) + " |")
    for each in (1e6, 4.2e6, 10e6):
        times = [iteration(count, each)[0] for count in counts]
        cells = [f"{1e3 * time:.3g} ms, {100 * times[0] / time:.0f}%" for time in times]
        lines.append(f"| {size_text(each)} each: iteration, efficiency | " + " | ".join(cells) + " |")
    cells = [f"{1e3 * setup(count, 4.2e6):.3g} ms" for count in counts]
    lines.append("| 4.2 M each: setup | " + " | ".join(cells) + " |")
    # Iterations of a polynomial grow with the unknowns along an edge.
    last = measured()[-1]
    cells = [f"{last[3] * (count * 4.2e6 / last[0]) ** (1 / 3):,.0f}" for count in counts]
    lines.append("| 4.2 M each: iterations to 1e-8, extrapolated | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def scaling_local():
    lines = [
        "| Unknowns | " + " | ".join(size_text(row[0]) for row in measured()) + " |",
        "| --- |" + " --- |" * len(measured()),
        "| iteration | " + " | ".join(f"{1e3 * row[1]:.3g} ms" for row in measured()) + " |",
        "| setup | " + " | ".join(f"{1e3 * row[2]:.3g} ms" for row in measured()) + " |",
        "| iterations to 1e-8 | " + " | ".join(str(row[3]) for row in measured()) + " |",
    ]
    return "\n".join(lines)


def scaling_measured():
    """Runs of elast in PETSc on one and two GPUs, and what the model says of the second."""
    document = load("h200/petsc.json")
    lines = []
    for two in select(document["rows"], ranks=2, reason="CONVERGED_RTOL"):
        options = {key: two.get(key) for key in ("pc_type", "product", "values", "nodes_per_block",
                                                 "mg_levels_pc_type", "elements")}
        ones = select(document["rows"], ranks=1, **options)
        if two["pc_type"] not in ("tesserabjacobi", "tesserachebyshev") or not ones:
            continue
        one = ones[0]
        products = exchanges if two["pc_type"] == "tesserachebyshev" else 1
        ghosts = unknowns_of_node * (int(two["elements"]) + 1) ** 2
        each = [row["KSPSolve_seconds"] / row["iterations"] for row in (one, two)]
        model = iteration_on_two(each[0], two["rows"], products, ghosts)
        name = ", ".join([f"`{two['pc_type']}`"] + [
            text for key, text in (("values", f"{two.get('values')} values"),
                                   ("nodes_per_block", f"{two.get('nodes_per_block')} nodes a block"),
                                   ("product", f"product {two.get('product')}")) if key in two])
        lines.append(
            f"| {two['rows']:,} | {name} | {one['iterations']}, {two['iterations']} | "
            f"{1e3 * each[0]:.3g} ms | {1e3 * each[1]:.3g} ms, {each[0] / each[1]:.3g} | "
            f"{1e3 * model:.3g} ms, {each[0] / model:.3g} |")
    if not lines:
        return "No run on two GPUs has been recorded."
    return "\n".join([
        f"On {document['device']}, PETSc {document['petsc']}, `elast`, messages through the host:",
        "",
        "| Unknowns | `-pc_type` | Iterations on one, two | Iteration on one | on two, speedup | "
        "model of two |",
        "| --- | --- | --- | --- | --- | --- |", *lines])
