#!/usr/bin/env python3
"""Compares measured batched operations with the project's limits (bars).

usage: batched_bars.py batched.json [batched_large.json] [batched_many.json]

The bars are for one H200 and ratios within one run. Of equal rows that with the largest batch
counts, so that the time of a launch does not hide norms and products of small matrices
(batched_many.json).
  invert      share of the copy bandwidth: `inversion_bars`; sizes between are interpolated, less
              10 %. And against the faster of the cuBLAS ways: 4.5 times for n = 4 and 5, 6 for 6
              and 7, 7 from 8 on. Of the 58 rows n = 4..32 at most 5 may miss, none by over 10 %.
  variable    sizes drawn from 1..32: at most 1.25 times what uniform batches predict.
  condition   with the inverse at most 1.10 times the inversion alone; alone faster than both.
  norm        0.90 of the read bandwidth.
  multiply    0.90 of the copy bandwidth, n = 4..32.
  large       n > 32: no slower than cuBLAS.
Prints each row's margin (1.00 is the bar, more is better). Exits with 1 when a bar is missed.
"""
import json
import pathlib
import sys

sizes = (4, 8, 12, 16, 20, 24, 28, 32)
inversion_bars = {
    "f64": (0.85, 0.93, 0.78, 0.80, 0.60, 0.56, 0.51, 0.53),
    "f32": (0.62, 0.75, 0.64, 0.66, 0.52, 0.56, 0.46, 0.47),
}
all_sizes = range(4, 33)
may_miss, worst_miss = 5, 0.90


def inversion_bar(kind, n):
    bars = dict(zip(sizes, inversion_bars[kind]))
    if n in bars:
        return bars[n]
    low = max(s for s in sizes if s < n)
    high = min(s for s in sizes if s > n)
    between = bars[low] + (bars[high] - bars[low]) * (n - low) / (high - low)
    return 0.9 * between


def cublas_bar(n):
    return 4.5 if n <= 5 else 6 if n <= 7 else 7


class Results:
    def __init__(self, paths):
        documents = [json.loads(pathlib.Path(path).read_text()) for path in paths]
        first = documents[0]
        self.read_over_copy = first.get("read_gbps", first["copy_gbps"]) / first["copy_gbps"]
        self.rows = {}
        for row in [row for document in documents for row in document["rows"]]:
            if "milliseconds" not in row:
                continue
            key = tuple(row[k] for k in ("op", "implementation", "type", "n", "layout"))
            if key not in self.rows or self.rows[key]["batch"] < row["batch"]:
                self.rows[key] = row

    def time(self, op, implementation, kind, n, layout="uniform"):
        """Milliseconds; None where there is no row, or its results were wrong."""
        row = self.rows.get((op, implementation, kind, n, layout))
        return row and row["milliseconds"]

    def fraction(self, op, kind, n):
        row = self.rows.get((op, "tessera", kind, n, "uniform"))
        return row and row.get("fraction_of_copy")

    def relative_to_plain(self, op, plain, kind, n):
        """Speed relative to a plain read or copy of as many bytes, as text."""
        rows = [self.rows.get((op, way, kind, n, "uniform")) for way in (plain, "tessera")]
        if not all(row and row["milliseconds"] for row in rows):
            return ""
        rates = [row["bytes"] / row["milliseconds"] for row in rows]
        return f", {rates[1] / rates[0]:.2f} of a {plain} of as many bytes"


class Bars:
    """Margins by the name of their bar."""

    def __init__(self):
        self.margins = {}

    def add(self, bar, row, margin):
        self.margins.setdefault(bar, []).append((row, margin))
        text = "  none" if margin is None else f"{margin:6.2f}"
        print(f"{text}{'' if margin is not None and margin >= 1 else ' MISSED'}  {bar}: {row}")

    def missed(self, bar):
        return [margin for _, margin in self.margins[bar] if margin is None or margin < 1]


def ratio(over, under):
    return over / under if over is not None and under else None


def inversion(results, bars):
    for kind in ("f64", "f32"):
        for n in all_sizes:
            fraction = results.fraction("invert", kind, n)
            margins = [ratio(fraction, inversion_bar(kind, n))]
            text = f"{kind} n = {n}: {fraction or 0:.2f} of copy, bar {inversion_bar(kind, n):.2f}"
            ours = results.time("invert", "tessera", kind, n)
            ways = ("cublas_getrf_getri", "cublas_matinv")
            peers = [t for way in ways if (t := results.time("invert", way, kind, n))]
            if peers:
                faster = ratio(min(peers), ours)
                margins.append(ratio(faster, cublas_bar(n)))
                text += f"; {faster or 0:.1f} times cuBLAS, bar {cublas_bar(n)}"
            else:
                text += "; cuBLAS was not measured"
                margins.append(None)
            bars.add("invert", text, None if None in margins else min(margins))


def others(results, bars):
    for kind in ("f64", "f32"):
        row = results.rows.get(("invert", "tessera", kind, None, "variable"))
        predicted = row and row.get("predicted_milliseconds")
        over = ratio(row and row["milliseconds"], predicted)
        bars.add("variable", f"{kind}: {over or 0:.2f} of the prediction", ratio(1.25, over))
        for n in all_sizes:
            alone = results.time("invert", "tessera", kind, n)
            fused = results.time("condition", "fused", kind, n)
            only = results.time("condition", "condition_only", kind, n)
            over = ratio(fused, alone)
            bars.add("condition", f"{kind} n = {n}: {over or 0:.2f} of invert", ratio(1.10, over))
            both = [t for t in (alone, fused) if t is not None]
            over = ratio(only, min(both)) if len(both) == 2 else None
            text = f"{kind} n = {n}: {over or 0:.2f} of the faster of invert and both"
            bars.add("condition alone", text, ratio(1, over))
            fraction = ratio(results.fraction("norm", kind, n), results.read_over_copy)
            text = f"{kind} n = {n}: {fraction or 0:.2f} of read"
            text += results.relative_to_plain("norm", "read", kind, n)
            bars.add("norm", text, ratio(fraction, 0.90))
            fraction = results.fraction("multiply", kind, n)
            text = f"{kind} n = {n}: {fraction or 0:.2f} of copy"
            text += results.relative_to_plain("multiply", "copy", kind, n)
            bars.add("multiply", text, ratio(fraction, 0.90))


def large(results, bars):
    for op, implementation, kind, n, _ in sorted(results.rows, key=str):
        if (op, implementation) == ("invert", "tessera") and n is not None and n > 32:
            ours = results.time(op, implementation, kind, n)
            faster = ratio(results.time(op, "cublas_getrf_getri", kind, n), ours)
            bars.add("large", f"{kind} n = {n}: {faster or 0:.1f} times cuBLAS", faster)


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    results, bars = Results(arguments), Bars()
    inversion(results, bars)
    others(results, bars)
    large(results, bars)
    print()
    held = True
    for bar, margins in bars.margins.items():
        missed = bars.missed(bar)
        if bar == "invert":
            close = all(m is not None and m >= worst_miss for m in missed)
            fine = len(missed) <= may_miss and close
        else:
            fine = not missed
        held = held and fine
        least = min((m for _, m in margins if m is not None), default=0)
        print(
            f"{'holds ' if fine else 'MISSED'}  {bar}: {len(missed)} of {len(margins)} rows miss, "
            f"least margin {least:.2f}"
        )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
