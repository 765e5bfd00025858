"""Rows of the block-Jacobi study (tessera-bench table1), by configuration.

A configuration is (bound, precision); bound 1 is scalar Jacobi. Of an entry the median over the
shadow seeds counts; it converged where the median run did.
"""
import math
import statistics


def label(configuration):
    bound, precision = configuration
    name = "Jacobi" if bound == 1 else str(bound)
    return name if precision == "working" else f"{name} {precision}"


class Study:
    def __init__(self, rows, side="right"):
        groups = {}
        for row in rows:
            if row["side"] == side:
                key = (row["matrix"], (row["bound"], row["precision"]))
                groups.setdefault(key, []).append(row)
        self.matrices = sorted({matrix for matrix, _ in groups})
        self.configurations = sorted(
            {configuration for _, configuration in groups}, key=lambda c: (c[0], c[1] != "working")
        )
        self.seconds = {key: self.median(runs, self.total) for key, runs in groups.items()}
        self.cycles = {
            key: self.median(runs, lambda r: r["iterations"]) for key, runs in groups.items()
        }
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

    def setup_shares(self, precision):
        """Shares of setup, finding blocks included, in the time; cases of 100 or more cycles."""
        return [
            self.setup[key] / self.seconds[key]
            for key, cycles in self.cycles.items()
            if key[1][0] > 1 and key[1][1] == precision and 100 <= cycles < math.inf
        ]

    def adaptive_cycles(self):
        """Cycles with adaptive storage over those without, of each case where the latter converged;
        infinite where the former did not."""
        return {
            (matrix, bound): self.cycles[matrix, (bound, precision)]
            / self.cycles[matrix, (bound, "working")]
            for matrix in self.matrices
            for bound, precision in self.configurations
            if precision == "adaptive" and self.converged(matrix, (bound, "working"))
        }


def geometric_mean(ratios):
    """Of the finite ones; None where there is none."""
    logarithms = [math.log(r) for r in ratios if math.isfinite(r)]
    return math.exp(statistics.fmean(logarithms)) if logarithms else None
