"""Values of options as they are typed."""

from __future__ import annotations

import math
import re

from ...errors import OptionError

__all__ = ["names", "number_or_text", "pairs", "seconds"]

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def pairs(text: str, option: str) -> dict[str, str]:
    """Return ``a=b,c=d`` as a dictionary."""
    found = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        if not (left.strip() and equals and right.strip()):
            raise OptionError(f"{option} '{text}': write {option} NAME=COLUMN,NAME=COLUMN")
        if left.strip() in found:
            raise OptionError(f"{option} '{text}': {left.strip()} is given twice; leave one out")
        found[left.strip()] = right.strip()
    return found


def seconds(text: str, option: str) -> float:
    """Return a length of time such as ``90s``, ``30m``, ``1.5h`` or ``2d`` in seconds."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|min|m|h|d)\s*", text.lower())
    if match is None or not math.isfinite(float(match[1])):
        raise OptionError(f"{option} '{text}': write a length of time such as 90s, 30m, 1.5h or 2d")
    return float(match[1]) * _UNITS[match[2]]


def names(text: str) -> list[str]:
    """Return ``a,b,c`` as a list."""
    return [name.strip() for name in text.split(",")]


def number_or_text(text: str) -> float | str:
    """Return a factor as a number, anything else as it is."""
    try:
        return float(text)
    except ValueError:
        return text
