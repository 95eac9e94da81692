"""``sojourn`` and ``python -m sojourn``: the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Run a command and return its exit code, also if it is interrupted before it begins."""
    try:
        from .cli import main as carry_out
    except KeyboardInterrupt:
        print("sojourn: error: interrupted; no results were written", file=sys.stderr)
        return 130
    return carry_out()


if __name__ == "__main__":
    raise SystemExit(main())
