"""Texts in TOML as plain values, with bounds on what a text may ask of its reader."""

from __future__ import annotations

import re
import tomllib
from typing import Any

__all__ = ["load_toml"]

_PARTS = 100
# The library takes time that grows with the square of the parts of a key.
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_PARTS}}}")
_DIGITS = re.compile(r"(?<!\d)\d[\d_]{4000,}+")


def load_toml(text: str) -> dict[str, Any]:
    """Return the values of a text.

    Raises
    ------
    ValueError
        When it is not TOML, or too large or deep to be read; the message is of one line, with
        ``(at line N, column M)`` at its end where the library tells a place.
    """
    key = _LONG_KEY.search(text)
    if key is not None:
        raise ValueError(f"A key of more than {_PARTS} parts {_place(text, key)}")
    digits = _DIGITS.search(text)
    if digits is not None:
        raise ValueError(f"A number of so many digits {_place(text, digits)}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("Too many lists or tables inside each other") from None


def _place(text: str, found: re.Match[str]) -> str:
    at = found.start()
    return f"(at line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)})"
