"""Tables of plain numbers: the part of CSV in which most large logs are, read at once by Arrow.

Whatever is not plain, or not right, is left to the reader of all tables, which knows dates,
lengths of time and names, and says what is wrong with which line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._arrow import cells_of
from ._cells import Unreadable
from ._columns import Choice
from ._sheet import Sheet, is_real
from .schema import LABEL

__all__ = ["PlainTable", "plain_table"]

_LARGE = 1 << 20
"""Bytes from which on it takes longer to read a table cell by cell than to import Arrow."""

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
        """Return the chosen columns; None where they hold anything but plain numbers.

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
        types = {place: _type_of(ours) for ours, place in places.items()}
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
        try:
            for ours, place in places.items():
                column = table[place]
                cells = np.asarray(cells_of(column, ours)[0])
                # A word that means nan may be another one than those that we know.
                if cells.dtype.kind == "f" and np.isnan(cells).sum() > column.null_count:
                    return None
                sheet.add(ours, cells)
        except Unreadable:
            return None
        # Arrow keeps what is freed for the next table, of which there is none.
        del table, column
        pa.default_memory_pool().release_unused()
        return sheet


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

    return pa.float64() if is_real(ours) or ours in ("memory", "used_memory") else pa.int64()
