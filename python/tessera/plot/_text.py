"""Numbers and names as text, and the ticks of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["amount", "bytes_text", "count", "linear_ticks", "log_ticks", "name_all", "seconds_text"]


def count(number: float) -> str:
    """1234567 as 1,234,567."""
    return f"{round(number):,}" if math.isfinite(number) else "-"


def amount(number: float) -> str:
    """A residual or a condition number: 1.23e-9, 0.158, 42.9."""
    if not math.isfinite(number):
        return "not finite"
    if number == 0 or 0.01 <= abs(number) < 9999.5:
        return f"{number:.3g}" if abs(number) < 999.5 else f"{number:.0f}"
    mantissa, _, exponent = f"{number:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def _scaled(number: float, units: Sequence[tuple[float, str]]) -> str:
    if not math.isfinite(number):
        return "-"
    large = [each for each in units if number >= 0.9995 * each[0]]
    scale, unit = large[0] if large else units[-1]
    return f"{number / scale:.3g} {unit}"


def seconds_text(seconds: float) -> str:
    if seconds == 0:
        return "0"
    if seconds >= 999.5:
        return f"{count(seconds)} s"
    return _scaled(seconds, ((1, "s"), (1e-3, "ms"), (1e-6, "µs")))


def bytes_text(size: float) -> str:
    return _scaled(size, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes")))


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside [low, high], at most `most` of them."""
    rough = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: int, high: int, most: int) -> list[int]:
    """Exponents from `low` to `high`, at most `most` of them, equally far apart."""
    step = next(s for s in (1, 2, 3, 4, 5, 10, 20, 50, 100) if (high - low) // s + 1 <= most)
    return list(range(-(-low // step) * step, high + 1, step))


def _options(text: str) -> list[str]:
    return text.split(",")[1:]


def _short(run: Any) -> str:
    """Solver and preconditioner without options after a comma: cg + block_jacobi:32."""
    names = [text.split(",")[0] for text in (run.solver, run.preconditioner)]
    return " + ".join(name for name in names if name and name != "none")


def _apart(runs: Sequence[Any], names: list[str], what: Callable[[Any], str]) -> None:
    """Appends `what(run)` to names that several runs have, where it differs between these."""
    for name in set(names):
        equal = [k for k, other in enumerate(names) if other == name]
        texts = {k: what(runs[k]) for k in equal}
        if len(set(texts.values())) > 1:
            for k in equal:
                names[k] = ", ".join(part for part in (name, texts[k]) if part)


def name_all(runs: Sequence[Any]) -> list[str]:
    """A short name of each run: solver and preconditioner, and only what is needed to tell the runs
    apart: options, matrix, format, device, file, number."""
    names = [_short(run) for run in runs]
    if len({run.matrix for run in runs}) > 1:
        names = [", ".join(t for t in (n, r.matrix) if t) for n, r in zip(names, runs, strict=True)]
    for name in set(names):  # Options that not all runs of that name have.
        equal = [k for k, other in enumerate(names) if other == name]
        common = set.intersection(*(set(_options(runs[k].preconditioner)) for k in equal))
        for k in equal:
            extra = [o for o in _options(runs[k].preconditioner) if o not in common]
            names[k] = ",".join([name, *extra])
    for what in ("format", "device", "source"):
        _apart(runs, names, lambda run, what=what: getattr(run, what))  # type: ignore[misc]
    names = [name or run.source for name, run in zip(names, runs, strict=True)]
    for name in set(names):
        equal = [k for k, other in enumerate(names) if other == name]
        if len(equal) > 1:
            for place, k in enumerate(equal):
                names[k] = f"{name} ({place + 1})"
    return names
