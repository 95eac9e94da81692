"""The comment lines at the head of a log."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Header"]

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
        found: dict[int, str] = {}
        for value in self.get_all(key):
            match = re.match(r"(-?\d{1,18})[\s:,=-]+(\S.*)", value)
            if match:
                found.setdefault(int(match[1]), match[2].strip())
        return found
