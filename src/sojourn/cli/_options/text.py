"""Values of options as they are typed."""

from __future__ import annotations

from ...errors import OptionError

__all__ = ["names", "number_or_text", "pairs"]


def pairs(text: str, option: str) -> dict[str, str]:
    """Return ``a=b,c=d`` as a dictionary."""
    found = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        if not (left.strip() and equals and right.strip()):
            raise OptionError(f"{option} '{text}': write {option} NAME=COLUMN,NAME=COLUMN")
        found[left.strip()] = right.strip()
    return found


def names(text: str) -> list[str]:
    """Return ``a,b,c`` as a list."""
    return [name.strip() for name in text.split(",")]


def number_or_text(text: str) -> float | str:
    """Return a factor as a number, anything else as it is."""
    try:
        return float(text)
    except ValueError:
        return text
