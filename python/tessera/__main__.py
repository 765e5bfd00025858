"""``python -m tessera plot FILE... -o PICTURE``."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command that the first word names; returns its exit code."""
    words = sys.argv[1:]
    if words[:1] == ["plot"]:
        from tessera.plot._command import main as plot

        return plot(words[1:])
    what = f"unknown command '{words[0]}'" if words else "a command must come first"
    print(f"tessera: {what}; python -m tessera plot --help says what there is", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
