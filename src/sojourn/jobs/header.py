"""The comment lines at the head of a log, and the names that they give to numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .schema import MISSING, NAMED

# A whole number, with or without marks between thousands; nothing of a longer or a broken one.
_COUNT = re.compile(r"(\d{1,18}|\d{1,3}(?:[,']\d{3}){1,5})(?:\.0*)?(?![,'.]?\w)", re.ASCII)


class Header(tuple[str, ...]):
    """The comment lines of a log, in order and as written, each beginning with ``;``.

    Examples
    --------
    >>> header = Header(["; MaxProcs: 128", "; Note: one", "; Note: two"])
    >>> header.get("MaxProcs")
    '128'
    >>> header.get_all("Note")
    ('one', 'two')
    """

    __slots__ = ()

    def __new__(cls, lines: Iterable[str] = ()) -> Header:
        """Make a header of lines of text, with or without the ``;``."""
        if isinstance(lines, Header):
            return lines
        if isinstance(lines, str):
            lines = [lines]
        parts = (part.rstrip("\r") for line in lines for part in line.split("\n"))
        return super().__new__(cls, (p if p.startswith(";") else f"; {p}" for p in parts))

    def get_all(self, key: str) -> tuple[str, ...]:
        """Return the values of all lines ``; key: value``, in order."""
        pattern = re.compile(rf";\s*{re.escape(key)}\s*:(.*)", re.IGNORECASE | re.DOTALL)
        matches = map(pattern.fullmatch, self)
        return tuple(match[1].strip() for match in matches if match)

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value of the first line ``; key: value``."""
        return next(iter(self.get_all(key)), default)

    def number(self, key: str) -> int | None:
        """Return the whole number that the first line ``; key: number`` begins with, if one does.

        Examples
        --------
        >>> Header(["; MaxProcs: 1,024 (of 1,100)"]).number("MaxProcs")
        1024
        """
        match = _COUNT.match(self.get(key) or "")
        return int(re.sub("[,']", "", match[1])) if match else None

    def names(self, key: str) -> dict[int, str]:
        """Return what numbers stand for: the lines ``; key: number name``, as in [swf].

        Examples
        --------
        >>> Header(["; Queue: 1 batch", "; Queue: 2 interactive"]).names("Queue")
        {1: 'batch', 2: 'interactive'}
        """
        names: dict[int, str] = {}
        for value in self.get_all(key):
            match = re.match(r"(-?\d{1,18})[\s:,=-]+(\S.*)", value)
            if match:
                names.setdefault(int(match[1]), match[2].strip())
        return names


_DIGITS = 18
"""Digits of a number that surely fits 64 bits."""

AS_NUMBERS = ("user", "group", "account", "queue", "partition", "qos")
"""Columns of names that tables have as numbers, as the Standard Workload Format does."""

_BY_HAND = frozenset(NAMED[column] for column in AS_NUMBERS)
"""Keys that people write by hand, each in a way of its own."""


def key_of(column: str) -> str:
    """Return the key of the header lines that have the names of a column."""
    return NAMED.get(column) or f"Name of {column}"


def known_names(header: Header, column: str) -> dict[int, str]:
    """Return the names of a column by their numbers, as a header has them.

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
    names: dict[int, str] = {}
    for line in header:
        if line.startswith(prefix):
            number, _, name = line[len(prefix) :].partition(" ")
            if _is_number(number) and name:
                names.setdefault(int(number), name)
    return names


def without_keys(header: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Return the lines of a header but those whose key other lines have anew.

    >>> without_keys(["MaxProcs: 8", "User: 1 anna", "User: 2 bo"], ["User: 1 eve"])
    ['; MaxProcs: 8']
    """
    keys = {_key(line) for line in lines}
    return [line for line in Header(header) if ":" not in line or _key(line[1:]) not in keys]


def _key(line: str) -> str:
    """Return the key of a line; only names of columns differ by capital letters."""
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
    """Return numbers and lines as `numbered` does; names that a header has keep their numbers.

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
