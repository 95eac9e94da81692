"""Columns of a table that have no meaning here: kept as numbers or as names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..header import numbered
from ..schema import seconds
from . import _values as values
from ._values import Unreadable, as_word, finite

MOST_NAMES = 1000
"""Different texts of a column that nobody asked for; one with more is about single jobs."""


class FurtherColumn:
    """One column, taken up part by part: whole numbers, else fractions, else names.

    One that somebody mapped may have any number of names.
    """

    def __init__(self, name: str, *, is_mapped: bool) -> None:
        self.name = name
        self._most = None if is_mapped else MOST_NAMES
        self._parts: list[NDArray[Any]] = []
        self._codes: dict[str, int] | None = None  # None while all are numbers

    def add(
        self, cells: Sequence[str] | NDArray[Any], places: NDArray[np.int64] | None = None
    ) -> None:
        """Take up the next values: texts, or an array of NumPy; `places` as in `Sheet.add`."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufbmM":
            self._parts.append(self._numbers(cells))
            return
        words = ["" if cell is None else str(cell) for cell in cells]
        read = _as_numbers(words) if self._codes is None else None
        if read is None:
            if self._codes is None:
                self._codes = {}
                self._parts = [self._recoded(part) for part in self._parts]
            read = self._coded(words)
        self._parts.append(read if places is None else read[places])

    def _numbers(self, cells: NDArray[Any]) -> NDArray[Any]:
        kind = cells.dtype.kind
        if kind == "M":
            raise Unreadable(None, self.name, "holds dates; give seconds")
        if kind == "m":
            try:
                return seconds(cells)
            except ValueError as error:
                raise Unreadable(None, self.name, f"{error}; give seconds") from None
        if kind == "f":
            return finite(self.name, cells)
        if kind == "u" and cells.max(initial=0) > np.iinfo(np.int64).max:
            raise Unreadable(None, self.name, "a number takes more than 64 bits; correct it")
        return cells.astype(np.int64)

    def _recoded(self, part: NDArray[Any]) -> NDArray[np.int64]:
        """Return numbers as names, since there are names after them."""
        unique, places = np.unique(part, return_inverse=True)
        unknown = part.dtype.kind == "i"
        words = ["" if unknown and cell == -1 else as_word(cell) for cell in unique.tolist()]
        return self._coded(words)[places]

    def _coded(self, words: Sequence[str]) -> NDArray[np.int64]:
        codes = self._codes if self._codes is not None else {}
        # A name must fit into the line of a header.
        plain = ["" if values.is_unknown(word) else " ".join(word.split()) for word in words]
        made = np.array([codes.setdefault(word, len(codes)) for word in plain], np.int64)
        if self._most is not None and len(codes) > self._most:
            raise Unreadable(None, self.name, f"holds more than {self._most} different texts")
        return made

    def column(self) -> tuple[NDArray[Any], list[str]]:
        """Return the numbers, -1 where unknown, and the lines of a header with their names."""
        parts = self._parts or [np.empty(0, np.int64)]
        whole = np.concatenate(parts)
        if self._codes is None:
            if whole.dtype.kind == "f":
                whole = np.where(np.isnan(whole), -1.0, whole)
            return whole, []
        numbers, lines = numbered(self.name, list(self._codes))
        return numbers[whole], lines


def _as_numbers(words: Sequence[str]) -> NDArray[Any] | None:
    """Return texts as whole numbers, else as any; None if one is neither."""
    for parse, dtype in ((values.whole, np.int64), (values.number, np.float64)):
        try:
            return np.array([parse(word) for word in words], dtype)
        except (ValueError, OverflowError):
            continue
    return None
