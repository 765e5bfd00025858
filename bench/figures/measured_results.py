"""What the figures share: measured rows, claims, drawing.

Every figure is a script: NAME.py [RESULTS [PICTURES]]. It reads RESULTS/batched*.json,
block_jacobi*.json, study.json, or what bench/elasticity.sh writes (RESULTS: default
bench/results/h200; files without rows do not count), lays the paper's findings
(NAME_expected.csv) and the measurements, draws PICTURES/NAME.png (default docs/figures; where
the last folder of RESULTS is not h200 but, say, cpu: NAME_cpu.png; without matplotlib it says so
and draws nothing), prints each claim with its numbers, and exits
with 1 when one does not hold.
"""
import itertools
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
colours = ("#0b5394", "#cc4125", "#38761d", "#b45f06", "#674ea7", "#666666")


class Figure:
    def __init__(self, script, description, bench="batched", by=None):
        arguments = sys.argv[1:]
        if len(arguments) > 2 or any(a.startswith("-") for a in arguments):
            sys.exit(f"{description}\nusage: {pathlib.Path(script).name} [RESULTS [PICTURES]]")
        self.script = pathlib.Path(script)
        self.name = self.script.stem
        self.folder = pathlib.Path(arguments[0] if arguments else root / "bench/results/h200")
        self.pictures = pathlib.Path(arguments[1] if arguments[1:] else root / "docs/figures")
        paths = sorted(self.folder.glob(f"{bench}*.json"))
        if not paths:
            sys.exit(f"{self.folder} holds no {bench}*.json; bench/{by or bench}.sh measures them")
        documents = [json.loads(path.read_text()) for path in paths]
        documents = [document for document in documents if "rows" in document]
        if not documents:
            sys.exit(f"{self.folder}: no {bench}*.json holds rows")
        self.device = documents[0]["device"]
        self.copy_gbps = max(document.get("copy_gbps", 0) for document in documents)
        self.rows = [row for document in documents for row in document["rows"]]
        self.failed = False
        print(description.strip().splitlines()[0])

    def documents_of(self, bench):
        """What other benchmarks left beside these results or in cpu; {name of the file: document}."""
        folders = self.folder.parent / "cpu", self.folder
        paths = [path for folder in folders for path in sorted(folder.glob(f"{bench}*.json"))]
        found = {path.stem: json.loads(path.read_text()) for path in paths}
        return {name: document for name, document in found.items() if "rows" in document}

    def expected(self):
        """The lines of NAME_expected.csv (quantity, value, source), printed; {quantity: value}."""
        lines = self.script.with_name(self.name + "_expected.csv").read_text().splitlines()
        table = [line.split(",", 2) for line in lines if line and not line.startswith("#")][1:]
        for quantity, value, source in table:
            print(f"  paper: {quantity} = {value} ({source})")
        return {quantity: float(value) for quantity, value, _ in table}

    def series(self, along, value="gflops", **keys):
        """{row[along]: row[value]} of the rows with these keys; of equal ones the first counts."""
        found = {}
        for row in self.rows:
            if all(row.get(k) == v for k, v in keys.items()) and row.get(value) is not None:
                found.setdefault(row[along], row[value])
        return dict(sorted(found.items()))

    def values(self, along, **keys):
        """What the rows with these keys have there, each once, in the order of the rows."""
        return list(
            dict.fromkeys(
                row[along] for row in self.rows if all(row.get(k) == v for k, v in keys.items())
            )
        )

    def claim(self, text, holds, numbers=""):
        self.failed = self.failed or not holds
        print(f"  {'holds' if holds else 'FAILS'}: {text}{'; ' + numbers if numbers else ''}")

    def needs(self, **named):
        """Ends the script when what it compares was not measured."""
        missing = [name for name, series in named.items() if not series]
        if missing:
            print(f"  FAILS: not measured: {', '.join(missing)}")
            sys.exit(1)

    def draw(self, panels, x_label, y_label, log=False, columns=4):
        """One panel for each (title, {label: series}); labels are written once."""
        pyplot = self.pyplot()
        if pyplot is None:
            return
        from matplotlib import ticker

        many = len(panels) > 4
        columns = min(columns if many else 2, len(panels))
        lines = (len(panels) + columns - 1) // columns
        width, height = (3.2, 2.6) if many else (5.2, 3.6)
        figure, axes = pyplot.subplots(
            lines, columns, figsize=(width * columns, height * lines), squeeze=False,
            layout="constrained",
        )
        looks = list(itertools.product((".-", "x--"), colours))
        explained = set()
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        for axis, (title, curves) in zip(axes.flat, panels):
            for (style, colour), (label, series) in zip(looks, curves.items()):
                axis.plot(
                    list(series), list(series.values()), style, color=colour, label=label, lw=1.2
                )
            axis.set_title(title, fontsize=10)
            axis.set_xlabel(x_label)
            axis.set_ylabel(y_label)
            axis.grid(alpha=0.3)
            largest = max(max(series) for series in curves.values())
            if largest == 32:
                axis.set_xticks(range(0, 33, 4))
            elif not isinstance(largest, str) and largest <= 16:
                axis.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
            if log:
                axis.set_yscale("log")
                least, most = axis.get_ylim()
                if most < 100 * least:
                    axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                    axis.yaxis.set_major_formatter("{x:g}")
                    axis.yaxis.set_minor_formatter(ticker.NullFormatter())
            else:
                axis.set_ylim(bottom=0)
            if not many or tuple(curves) not in explained:
                aside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if len(curves) > 6 else {}
                axis.legend(fontsize=7, **aside)
            explained.add(tuple(curves))
        self.save(figure)

    def draw_bars(self, panels):
        """One panel for each (title, {label: height})."""
        pyplot = self.pyplot()
        if pyplot is None:
            return
        figure, axes = pyplot.subplots(
            1, len(panels), figsize=(5.2 * len(panels), 3.6), layout="constrained"
        )
        for axis, (title, bars) in zip(axes, panels):
            axis.bar_label(axis.bar(list(bars), list(bars.values()), color=colours[0]), fontsize=7)
            axis.set_title(title, fontsize=10)
            axis.set_xticks(range(len(bars)), list(bars), rotation=45, ha="right", fontsize=8)
            axis.set_yticks([])
        self.save(figure)

    def draw_table(self, title, names, values, x_label, y_label):
        """Numbers by (row, column), on shades that grow with them."""
        pyplot = self.pyplot()
        if pyplot is None:
            return
        size = 0.8 * len(names), 0.7 * len(names)
        figure, axis = pyplot.subplots(figsize=size, layout="constrained")
        most = max(values.values())
        for i, j in values:
            axis.text(
                j, i, values[i, j], ha="center", va="center", fontsize=9,
                color="white" if values[i, j] > 0.6 * most else "black",
            )
        numbers = range(len(names))
        axis.imshow([[values[i, j] for j in numbers] for i in numbers], cmap="Blues", vmin=0)
        axis.set_xticks(numbers, names, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(numbers, names, fontsize=8)
        axis.set_xlabel(x_label)
        axis.set_ylabel(y_label)
        axis.set_title(title, fontsize=10)
        self.save(figure)

    def pyplot(self):
        try:
            import matplotlib
        except ImportError:
            print("  no picture: there is no matplotlib")
            return None
        matplotlib.use("Agg")
        from matplotlib import pyplot

        return pyplot

    def save(self, figure):
        figure.suptitle(self.device, fontsize=9)
        self.pictures.mkdir(parents=True, exist_ok=True)
        of = self.folder.resolve().name
        path = self.pictures / f"{self.name}{'' if of == 'h200' else '_' + of}.png"
        figure.savefig(path, dpi=130)
        print(f"  drawn: {path}")

    def finish(self):
        sys.exit(1 if self.failed else 0)


def last(series):
    return series[max(series)]


def grows(series):
    """From the fewest to the most."""
    return series[max(series)] >= series[min(series)]


def common(*series):
    return sorted(set.intersection(*(set(s) for s in series)))


# The implementations of the figures of the Gauss-Jordan paper.
inversions = {
    "Tessera": "tessera",
    "paper, several per warp": "paper_multiple",
    "paper, one per warp": "paper_single",
    "getrf + getri": "cublas_getrf_getri",
    "matinv": "cublas_matinv",
}


def condition_curves(rates):
    """Those of the condition-number paper; rates(op, implementation) is a series."""
    getri, matinv = rates("invert", "cublas_getrf_getri"), rates("invert", "cublas_matinv")
    return {
        "Tessera, inversion": rates("invert", "tessera"),
        "Tessera, inversion + condition": rates("condition", "fused"),
        "cuBLAS": {key: max(getri.get(key, 0), rate) for key, rate in matinv.items()},
        "paper's kernel, inversion": rates("invert", "paper_multiple"),
    }
