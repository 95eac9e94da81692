"""Tables of plain numbers: the part of CSV in which most large logs are, read at once by Arrow.

Whatever is not plain, or not right, is left to the reader of all tables, which knows dates,
lengths of time and names, and says what is wrong with which line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ._arrow import cells_of
from ._cells import Unreadable
from ._columns import Choice
from ._sheet import KNOWN, Sheet, is_real
from ._sizes import SIZES
from .schema import LABEL

__all__ = ["ROWS", "PlainTable", "plain_table"]

ROWS = 1 << 14
"""Rows that are taken up together; they tell whether a further column holds numbers or names."""

_LARGE = 1 << 20
"""Bytes from which on it takes longer to read a table cell by cell than to import Arrow."""

_IN_WORDS = ("whole_node",)
"""Columns in which not every way to write a number is one."""

_BOM = b"\xef\xbb\xbf"
_HEXADECIMAL = (b"0x", b"0X")  # Numbers for Arrow, but for nobody who writes logs.


class PlainTable(NamedTuple):
    """A table whose lines are its rows, and whose commas separate its cells.

    Parameters
    ----------
    data : the bytes of the file.
    names : of the columns.
    sep : the separator.
    """

    data: bytes
    names: list[str]
    sep: str

    def sheet(self, choice: Choice, timezone: str | None) -> Sheet | None:
        """Return the chosen columns; None where ours hold anything but plain numbers.

        Parameters
        ----------
        choice : which column is which.
        timezone : of dates; plain numbers are none.
        """
        import pyarrow as pa
        import pyarrow.csv as pc

        if LABEL in choice.columns:
            return None
        # Names may occur twice, as long as nobody asks for them.
        places = {ours: str(self.names.index(theirs)) for ours, theirs in choice.columns.items()}
        types: dict[str, Any] = {}
        for ours, place in places.items():
            # One column may be two of ours, such as the queue and the partition.
            if types.setdefault(place, _type_of(ours)) != _type_of(ours):
                return None
        if pa.string() in types.values() and not self.data.isascii():
            return None
        try:
            table = pc.read_csv(
                pa.BufferReader(self.data),
                pc.ReadOptions(skip_rows=1, column_names=[*map(str, range(len(self.names)))]),
                pc.ParseOptions(delimiter=self.sep, quote_char=False),
                pc.ConvertOptions(
                    column_types=types, include_columns=[*types], null_values=[""], check_utf8=False
                ),
            )
        except pa.ArrowException:
            return None
        sheet = Sheet(choice, timezone)
        columns = {ours: table[place] for ours, place in places.items()}
        is_plain = _fill(sheet, columns)
        # Arrow keeps what is freed for the next table, of which there is none.
        del table, columns
        pa.default_memory_pool().release_unused()
        return sheet if is_plain else None


def _fill(sheet: Sheet, columns: Mapping[str, Any]) -> bool:
    """Let a sheet take up columns of Arrow; return whether they are plain."""
    words: dict[str, Any] = {}
    try:
        for ours, column in columns.items():
            numbers = _as_numbers(column) if ours not in KNOWN else column
            if numbers is None or ours in _IN_WORDS:
                words[ours] = column
                continue
            cells = np.asarray(cells_of(numbers, ours)[0])
            # A word that means nan may be another one than those that we know.
            if np.count_nonzero(~np.isfinite(cells)) > numbers.null_count:
                return False
            sheet.add(ours, cells)
        rows = max(map(len, words.values()), default=0)
        for first in range(0, rows, ROWS):
            for ours, column in words.items():
                sheet.add(ours, column.slice(first, ROWS).to_pylist())
    except Unreadable:
        return False
    return True


def _as_numbers(words: Any) -> Any:
    """Return the texts of a further column as whole numbers, or else as fractions; None if the
    reader of all tables may see anything else in them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.if_else(pc.equal(words, ""), pa.scalar(None, pa.string()), words)
    try:
        return known.cast(pa.int64())
    except pa.ArrowException:
        pass
    try:
        numbers = known.cast(pa.float64())
    except pa.ArrowException:
        return None
    cells = np.asarray(cells_of(numbers, "")[0])
    finite = cells[np.isfinite(cells)]
    if len(cells) - len(finite) > numbers.null_count:
        return None
    # Fractions that are whole are whole numbers, of which there is no -0.
    is_whole = bool((finite == np.trunc(finite)).all())
    return None if is_whole or bool(np.signbit(finite[finite == 0]).any()) else numbers


def plain_table(
    data: bytes, sep: str | None, separator_of: Callable[[str], str]
) -> PlainTable | None:
    """Return a table for Arrow to read; None for one that is small, or not surely plain.

    Parameters
    ----------
    data : the bytes of the file.
    sep : the separator, if it is given.
    separator_of : returns the separator that the first line has.
    """
    if len(data) < _LARGE or b'"' in data or any(sign in data for sign in _HEXADECIMAL):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    first = data.partition(b"\n")[0].removeprefix(_BOM).removesuffix(b"\r")
    try:
        line = first.decode("ascii")
    except UnicodeDecodeError:
        return None
    used = sep or separator_of(line)
    # Blanks do not separate: the first ones of a cell are passed over.
    if used == " " or not used.isascii():
        return None
    try:
        cells = next(csv.reader([line], delimiter=used, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None
    names = [name.strip() for name in cells]
    return PlainTable(data, names, used) if any(names) else None


def _type_of(ours: str) -> Any:
    import pyarrow as pa

    if ours not in KNOWN or ours in _IN_WORDS:
        return pa.string()
    return pa.float64() if is_real(ours) or ours in SIZES else pa.int64()
