"""The files of bench/results."""
import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
results = root / "bench" / "results"


def load(name):
    return json.loads((results / name).read_text())


def select(rows, **keys):
    return [row for row in rows if all(row.get(key) == value for key, value in keys.items())]


def one(rows, **keys):
    found = select(rows, **keys)
    if len(found) != 1:
        sys.exit(f"bench/results: {len(found)} rows have {keys}, not one")
    return found[0]
