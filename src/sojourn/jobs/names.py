"""Names as numbers: users, partitions and so on, with the header lines that tell who is who."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .header import Header
from .schema import MISSING, NAMED

__all__ = ["AS_NUMBERS", "as_texts", "key_of", "known_names", "numbered", "renumbered"]
__all__ += ["without_told"]

_DIGITS = 18
"""Digits of a number that surely fits 64 bits."""

AS_NUMBERS = ("user", "group", "account", "queue", "partition", "qos")
"""Columns of names that tables have as numbers, as the Standard Workload Format does."""

_BY_HAND = frozenset(NAMED[column] for column in AS_NUMBERS)
"""Keys that people write by hand, each in a way of its own."""


def key_of(column: str) -> str:
    """Return the key of the header lines that tell the names of a column."""
    return NAMED.get(column) or f"Name of {column}"


def known_names(header: Header, column: str) -> dict[int, str]:
    """Return the names of a column by their numbers, as a header tells them.

    Examples
    --------
    >>> known_names(Header(["Queue: 1 - batch", "Name of site: 2 -x"]), "queue")
    {1: 'batch'}
    >>> known_names(Header(["Queue: 1 - batch", "Name of site: 2 -x"]), "site")
    {2: '-x'}
    """
    key = key_of(column)
    if key in _BY_HAND:
        return header.names(key)
    # Only we write these lines: a number, a blank, and the name as it is.
    prefix = f"; {key}: "
    told: dict[int, str] = {}
    for line in header:
        if line.startswith(prefix):
            number, _, name = line[len(prefix) :].partition(" ")
            if _is_number(number) and name:
                told.setdefault(int(number), name)
    return told


def without_told(header: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Return the lines of a header but those whose key other lines tell anew.

    >>> without_told(["MaxProcs: 8", "User: 1 anna", "User: 2 bo"], ["User: 1 eve"])
    ['; MaxProcs: 8']
    """
    keys = {_key(line) for line in lines}
    return [line for line in Header(header) if _key(line[1:]) not in keys]


def _key(line: str) -> str:
    """Return the key of a line; only names of columns are told apart by capital letters."""
    key = line.partition(":")[0].strip()
    return key if key.startswith("Name of ") else key.lower()


def as_texts(values: ArrayLike) -> list[str] | None:
    """Return values as names, each on one line; None if they are numbers, or written as such.

    What is missing is an empty name.
    """
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "OU":
        return None
    cells = array.tolist()
    if not any(isinstance(cell, str) for cell in cells):
        return None
    try:
        array.astype(np.float64)
        return None
    except (TypeError, ValueError):
        return [
            "" if cell is None or cell != cell else " ".join(str(cell).split()) for cell in cells
        ]


def numbered(
    column: str, names: Sequence[str], own: Sequence[str] = ()
) -> tuple[NDArray[np.int64], list[str]]:
    """Return a number for each name, and the lines of a header that say what they stand for.

    Names that are all numbers stay these numbers, and need no line. An empty name is not known.

    Parameters
    ----------
    column : whose names they are.
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
    key = key_of(column)
    if own and all(_is_number(number) for number in own):
        pairs = dict.fromkeys(zip(own, names, strict=True))
        lines = [f"{key}: {n} {name}" for n, name in pairs if name not in ("", n)]
        return np.array([int(number) for number in own], np.int64), lines
    known = dict.fromkeys(name for name in names if name)
    if all(_is_number(name) for name in known):
        return np.array([int(name or MISSING) for name in names], np.int64), []
    places = {name: k for k, name in enumerate(known, 1)}
    numbers = np.array([places.get(name, MISSING) for name in names], np.int64)
    return numbers, [f"{key}: {k} {name}" for name, k in places.items()]


def renumbered(
    column: str, names: Sequence[str], header: Header
) -> tuple[NDArray[np.int64], list[str]]:
    """Return numbers and lines as `numbered` does; names that a header tells keep their numbers.

    Examples
    --------
    >>> numbers, lines = renumbered("user", ["bo", "anna"], Header(["User: 7 anna"]))
    >>> numbers.tolist(), lines
    ([8, 7], ['User: 8 bo'])
    """
    known = {name: number for number, name in reversed(known_names(header, column).items())}
    if not known:
        return numbered(column, names)
    free = max(known.values()) + 1
    lines = []
    for name in dict.fromkeys(names):
        if name and name not in known:
            known[name] = free
            lines.append(f"{key_of(column)}: {free} {name}")
            free += 1
    return np.array([known[name] if name else MISSING for name in names], np.int64), lines


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS
