"""Names as numbers: users, partitions and so on, with the header lines that tell who is who."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .schema import MISSING, NAMED

__all__ = ["numbered"]

_DIGITS = 18
"""Digits of a number that surely fits 64 bits."""


def numbered(
    column: str, names: Sequence[str], own: Sequence[str] = ()
) -> tuple[NDArray[np.int64], list[str]]:
    """Return a number for each name, and the lines of a header that say what they stand for.

    Names that are all numbers stay these numbers, and need no line. An empty name is not known.

    Parameters
    ----------
    column : one of `NAMED`.
    names : one per job.
    own : the numbers that the log has for the names itself, as texts; taken where all have one.

    Examples
    --------
    >>> numbers, lines = numbered("user", ["anna", "", "bo", "anna"])
    >>> numbers.tolist(), lines
    ([1, -1, 2, 1], ['User: 1 anna', 'User: 2 bo'])
    >>> numbered("user", ["anna", "bo"], ["1005", "1007"])[1]
    ['User: 1005 anna', 'User: 1007 bo']
    """
    if own and all(_is_number(number) for number in own):
        pairs = dict.fromkeys(zip(own, names, strict=True))
        lines = [f"{NAMED[column]}: {n} {name}" for n, name in pairs if name not in ("", n)]
        return np.array([int(number) for number in own], np.int64), lines
    known = dict.fromkeys(name for name in names if name)
    if all(_is_number(name) for name in known):
        return np.array([int(name or MISSING) for name in names], np.int64), []
    places = {name: k for k, name in enumerate(known, 1)}
    numbers = np.array([places.get(name, MISSING) for name in names], np.int64)
    return numbers, [f"{NAMED[column]}: {k} {name}" for name, k in places.items()]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS
