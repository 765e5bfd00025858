#!/usr/bin/env python3
"""Fig. 10 of the SBELL paper, and beyond: time to a true residual of 1e-8 against the degree.

Conjugate gradients on SBELL with each polynomial in each precision, on meshes held at one side;
setup counts (bounds of the spectrum, formats). The paper's baseline, least_squares:6 in CSR and
double on a CPU, stands beside where bench/elasticity.sh measured it. Baseline: diagonal conjugate
gradients with cuSPARSE's CSR. Asserted: every solve reaches the residual; on quad the iterations
over the diagonal's are at most the paper's (Table 3, which has the script sbell_table3.py with the
paper's bound); least squares needs fewer than Neumann, and
Chebyshev, of whose interval the paper's lower end was poor, no more than least squares; on every
mesh every polynomial is faster with single or 16-bit entries than in double, least squares is
faster on SBELL than on CSR, and the fastest polynomial beats the diagonal on cuSPARSE and on SBELL.
That in double a polynomial does not pay is the paper's finding on a CPU (Table 5): it stands
beside, not asserted.
"""
from elasticity_results import everywhere, solved, total_seconds
from measured_results import Figure
from solve_pictures import draw_solves

figure = Figure(__file__, __doc__, "solve_elasticity", "elasticity")
paper = figure.expected()
names = {matrix.removesuffix(",free"): mesh for mesh, matrix in everywhere.items()}


def precision(options):
    texts = [o.replace("values=", "entries ") for o in options if o.startswith("values=")]
    return ", ".join([o for o in options if o.startswith("precision=")] + texts) or "double"


solves = {}  # {mesh: {(kind, degree, precision, format): row}}; degree 0: no polynomial.
for row in (row for row in figure.rows if row["op"] == "solve" and row["solver"] == "cg"):
    matrix = row["matrix"].removesuffix(",free")
    kind, *options = row["preconditioner"].split(",")
    kind, _, degree = kind.partition(":")
    if kind not in ("jacobi", "neumann", "least_squares", "chebyshev") and "chebyshev4" not in kind:
        continue
    if any(o.startswith(("bound=", "lower=")) for o in options):
        continue
    key = kind, int(degree or 0), precision(options), row["format"].partition(":")[0]
    solves.setdefault(names.get(matrix, matrix), {})[key] = row
figure.needs(**{"conjugate gradients": solves, "solves on quad": solves.get("quad")})
rows = [row for found in solves.values() for row in found.values()]
late = [r for r in rows if r["status"] != "converged" or r["true_relative_residual"] > r["rtol"]]
figure.claim(
    "every solve reaches its true residual",
    not late,
    f"{len(rows) - len(late)} of {len(rows)}, {max(r['true_relative_residual'] for r in rows):.3g}"
    " at most",
)


def total(row):
    return 1e3 * (row["seconds"] + row["setup_seconds"])


quad = solves["quad"]
diagonal = quad["jacobi", 0, "double", "sbell"]["iterations"]
ratios, off = [], []
for quantity, value in paper.items():
    text = quantity.removeprefix("iterations ")
    kind, _, degree = text.partition(":")
    found = [r for k, r in quad.items() if f"{k[0]}:{k[1]}" == text and text != quantity]
    if found:
        ratio = max((r["iterations"] / diagonal for r in found), key=lambda r: r)
        ratios.append(f"{text} {ratio:.3f} (paper {value:.3f})")
        off += [text] if ratio > value else []
figure.claim(
    "quad: iterations over the diagonal's are at most the paper's, whose bound is Gershgorin's",
    ratios and not off,
    ", ".join(ratios),
)
curves = {}
for mesh, found in solves.items():
    print(f"  {mesh}, milliseconds with setup: degree, iterations")
    for (kind, degree, bits, form), row in found.items():
        label = f"{kind}{f':{degree}' if degree else ''}, {bits}, {form}"
        print(f"    {label:58}{row['iterations']:6}{total(row):10.1f}")
    polynomials = {k: r for k, r in found.items() if k[1] and k[3] == "sbell"}
    count = {k[0]: r["iterations"] for k, r in polynomials.items() if k[1:3] == (6, "double")}
    figure.claim(
        f"{mesh}, degree 6: Chebyshev needs no more iterations than least squares, it fewer than"
        " Neumann",
        count["chebyshev"] <= count["least_squares"] < count["neumann"],
        ", ".join(f"{kind} {n}" for kind, n in count.items()),
    )
    gains = {
        (kind, bits): total(polynomials[kind, degree, "double", form]) / total(row)
        for (kind, degree, bits, form), row in polynomials.items()
        if bits != "double" and (kind, degree, "double", form) in polynomials
    }
    most, least = max(gains, key=gains.get), min(gains, key=gains.get)
    figure.claim(
        f"{mesh}: lower precision is faster than double",
        gains[least] > 1,
        f"{gains[least]:.2f} ({', '.join(least)}) to {gains[most]:.2f} times ({', '.join(most)})",
    )
    double = found["least_squares", 6, "double", "sbell"]
    ours, peer = (found["jacobi", 0, "double", form] for form in ("sbell", "cusparse_csr"))
    csr = total(found["least_squares", 6, "double", "csr"]) / total(double)
    figure.claim(f"{mesh}: least_squares:6 is faster on SBELL than on CSR", csr > 1, f"{csr:.2f}")
    best = min(polynomials, key=lambda k: total(polynomials[k]))
    time = total(polynomials[best])
    figure.claim(
        f"{mesh}: the fastest polynomial beats the diagonal",
        time < min(total(ours), total(peer)),
        f"{best[0]}:{best[1]}, {best[2]}, {time:.1f} ms: {total(peer) / time:.2f} times as fast as"
        f" on cuSPARSE CSR, {total(ours) / time:.2f} as on SBELL",
    )
    text = paper.get(f"{mesh} seconds of least_squares:6 over the diagonal's", "none")
    ratio = total(double) / total(ours)
    print(f"    in double, least_squares:6 takes {ratio:.2f} of the diagonal's time (paper {text})")
    gain = gains.get(("least_squares", "precision=f32"), float("nan"))
    text = paper["speed-up of mixed over double with SBELL"]
    print(f"    in single precision it is {gain:.2f} times as fast (paper about {text})")
    times = {key[:3]: total(row) for key, row in polynomials.items()}
    curves[mesh] = times, total(peer), total(ours)
draw_solves(figure, curves)
for name, document in (figure.documents_of("cpu_table5") | figure.documents_of("cpu_one")).items():
    ways = ("csr", "double"), ("csr", "precision=f32"), ("sbell", "double"), ("sbell", "precision=f32")
    for (mesh, preconditioner, form), base in solved(document["rows"], rtol=1e-8).items():
        if (preconditioner, form) != ("least_squares:6", "csr") or mesh not in solves:
            continue
        found = {way: solves[mesh].get(("least_squares", 6, way[1], way[0])) for way in ways}
        speed = {" ".join(w): 1e3 * total_seconds(base) / total(r) for w, r in found.items() if r}
        print(f"  {mesh}, times as fast as {document['device']}, CSR, double ({name}):")
        for way, value in speed.items():
            low, high = (paper.get(f"speed-up of {way} over the CPU {end}") for end in ("low", "high"))
            print(f"    {way:22}{value:8.1f} (paper {low} to {high})")
        order = [speed.get(" ".join(way), 0) for way in ways]
        figure.claim(
            f"{mesh}: single precision beats double, and SBELL CSR, over the CPU too",
            order[0] < order[1] and order[0] < order[2] < order[3] and order[1] < order[3],
        )
figure.finish()
