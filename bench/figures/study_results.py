"""Rows of the block-Jacobi study (tessera-bench table1), by configuration.

A configuration is (bound, precision); bound 1 is scalar Jacobi. Of an entry the median over the
shadow seeds counts; it converged where the median run did.
"""
import math
import statistics

from measured_results import Figure


def label(configuration):
    bound, precision = configuration
    name = "Jacobi" if bound == 1 else str(bound)
    return name if precision == "working" else f"{name} {precision}"


class Study:
    def __init__(self, figure, side):
        groups = {}
        for row in figure.rows:
            if row["side"] == side:
                key = (row["matrix"], (row["bound"], row["precision"]))
                groups.setdefault(key, []).append(row)
        self.matrices = sorted({matrix for matrix, _ in groups})
        self.configurations = sorted({configuration for _, configuration in groups})
        self.seconds = {key: self.median(runs, self.total) for key, runs in groups.items()}
        self.cycles = {key: self.median(runs, lambda r: r["iterations"]) for key, runs in groups.items()}
        self.setup = {
            key: statistics.median(r["setup_milliseconds"] for r in runs) * 1e-3
            for key, runs in groups.items()
        }

    @staticmethod
    def total(row):
        return row["seconds"] + 1e-3 * row["setup_milliseconds"]

    @staticmethod
    def median(runs, value):
        """Infinite where the median run did not converge."""
        return statistics.median_high(
            [value(r) if r["status"] == "converged" else math.inf for r in runs]
        )

    def converged(self, matrix, configuration):
        return math.isfinite(self.seconds.get((matrix, configuration), math.inf))


def study_figure(script, description):
    return Figure(script, description, "study")
