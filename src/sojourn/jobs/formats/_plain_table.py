"""Large tables of comma-separated values, split into columns at once by Arrow.

Columns of plain numbers, and dates such as 2021-02-11T22:36:19, become arrays at once; of other
columns each different text is read once, as the reader of all tables does. Whatever is not surely
split as that reader would, or not right, is left to it: it says what is wrong with which line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..schema import LABEL
from . import _values as values
from ._columns import INSTANTS, Choice
from ._sheet import KNOWN, Sheet, is_real
from ._values import SIZES, Unreadable, reads
from .frames import cells_of

ROWS = 1 << 14
"""Rows that are taken up together; they decide whether a further column holds numbers or names."""

_LARGE = 1 << 20
"""Bytes from which on it takes longer to read a table cell by cell than to import Arrow."""

_SAMPLE = 1 << 16
"""Bytes that decide which columns hold numbers."""

_IN_WORDS = ("whole_node", LABEL)
"""Columns in which not every way to write a number is one."""

_DATE = len("2021-02-11T22:36:19")
_YEAR_ONE = np.datetime64("0001-01-01T00:00:00", "s")
_NO_DATE = np.iinfo(np.int64).min
_ZERO = ord("0")
_SPANS = {
    len(form): np.frombuffer(form, np.uint8)
    for form in (b"00:00:00", b"0-00:00:00", b"00-00:00:00", b"000-00:00:00")
}
"""Lengths of time as they are written most, by the number of signs."""

_BOM = b"\xef\xbb\xbf"


class PlainTable(NamedTuple):
    """A table whose cells Arrow finds as the reader of all tables does."""

    data: bytes
    names: list[str]
    sep: str

    def sheet(self, choice: Choice, timezone: str | None) -> Sheet | None:
        """Return the chosen columns; None where something is not right."""
        import pyarrow as pa

        # Names may occur twice, as long as nobody asks for them.
        places = {ours: str(self.names.index(theirs)) for ours, theirs in choice.columns.items()}
        texts = dict.fromkeys(places.values(), pa.string())
        types = dict(texts)
        try:
            few = self._read(self.data[: self.data.rfind(b"\n", 0, _SAMPLE) + 1], texts)
            for ours, place in places.items():
                kind = _type_of(ours)
                # One column may be two of ours, such as the queue and the partition.
                is_shared = list(places.values()).count(place) > 1
                if not is_shared and _holds(few[place], kind):
                    types[place] = kind
            try:
                table = self._read(self.data, types)
            except pa.ArrowInvalid:  # Not all rows are as the first.
                table = self._read(self.data, texts)
            sheet = Sheet(choice, timezone)
            _fill(sheet, {ours: table[place] for ours, place in places.items()})
        except (pa.ArrowException, Unreadable):
            return None
        # Arrow keeps what is freed for the next table, of which there is none.
        del table
        pa.default_memory_pool().release_unused()
        return sheet

    def _read(self, data: bytes, types: Mapping[str, Any]) -> Any:
        """Return columns by their places."""
        import pyarrow as pa
        import pyarrow.csv as pc

        has_quotes = b'"' in self.data
        return pc.read_csv(
            pa.BufferReader(data),
            pc.ReadOptions(skip_rows=1, column_names=[*map(str, range(len(self.names)))]),
            pc.ParseOptions(
                delimiter=self.sep,
                quote_char='"' if has_quotes else False,
                newlines_in_values=has_quotes,
            ),
            pc.ConvertOptions(column_types=types, include_columns=[*types], null_values=[""]),
        )


def _type_of(ours: str) -> Any:
    import pyarrow as pa

    if ours not in KNOWN or ours in _IN_WORDS:
        return pa.string()
    return pa.float64() if is_real(ours) or ours in SIZES else pa.int64()


def _holds(words: Any, kind: Any) -> bool:
    """Whether all texts of a column can be read as a type."""
    import pyarrow as pa

    try:
        _known(words).cast(kind)
    except pa.ArrowException:
        return False
    return True


def _known(words: Any) -> Any:
    """Return texts, of which empty ones are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(words, ""), pa.scalar(None, pa.string()), words)


def _fill(sheet: Sheet, columns: Mapping[str, Any]) -> None:
    """Let a sheet take up columns of Arrow."""
    import pyarrow as pa

    words: dict[str, Any] = {}
    for ours, column in columns.items():
        is_text = pa.types.is_string(column.type)
        numbers = _as_numbers(column) if ours not in KNOWN else None if is_text else column
        if numbers is None:
            words[ours] = column
            continue
        cells = np.asarray(cells_of(numbers, ours)[0])
        # A word that means nan may be another one than those that we know.
        if np.count_nonzero(~np.isfinite(cells)) > numbers.null_count:
            raise Unreadable(None, ours, "is not plain")
        sheet.add(ours, cells)
    rows = max(map(len, words.values()), default=0)
    for first in range(0, rows, ROWS):
        for ours, column in words.items():
            part = column.slice(first, ROWS).combine_chunks()
            times = None
            if ours in INSTANTS:
                times = _as_dates(part)
            elif ours in KNOWN and is_real(ours) and ours not in _IN_WORDS:
                times = _as_spans(part)
            if times is not None:
                sheet.add(ours, times)
            else:
                sheet.add(ours, *_different(part))


def _different(words: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of a column, and which of them is in which row."""
    coded = words.dictionary_encode()
    places = np.asarray(cells_of(coded.indices, "")[0]).astype(np.int64)
    # Blanks after a separator belong to no cell.
    return [word.lstrip(" ") for word in coded.dictionary.to_pylist()], places


def _as_dates(words: Any) -> NDArray[Any] | None:
    """Return texts as dates of whole seconds; None if one is anything else, or all are unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_date = pc.equal(pc.binary_length(words), _DATE)
    if not pc.all(is_date).as_py():
        others = words.filter(pc.invert(is_date)).unique().to_pylist()
        if not all(reads(values.number, word) and values.is_unknown(word) for word in others):
            return None
        words = pc.if_else(is_date, words, pa.scalar(None, pa.string()))
    try:
        counts = pc.fill_null(words.cast(pa.timestamp("s")).cast(pa.int64()), _NO_DATE)
    except pa.ArrowInvalid:
        return None
    dates = np.asarray(cells_of(counts, "")[0]).view("M8[s]")
    # There is no year 0, but Arrow reads it.
    return None if np.isnat(dates).all() or (dates < _YEAR_ONE).any() else dates


def _as_spans(words: Any) -> NDArray[Any] | None:
    """Return texts such as 02:03:04 and 1-02:03:04 as seconds; None if one is anything else."""
    _, offsets, letters = words.buffers()
    if letters is None:
        return None
    text = np.frombuffer(letters, np.uint8)
    first = np.frombuffer(offsets, np.int32)[words.offset : words.offset + len(words) + 1]
    lengths = np.diff(first)
    spans = np.empty(len(words))
    for length in np.unique(lengths).tolist():
        template = _SPANS.get(length)
        if template is None:
            return None
        rows = np.flatnonzero(lengths == length)
        signs = text[first[rows, None] + np.arange(length)]
        digits = signs - np.uint8(_ZERO)
        is_digit = template == _ZERO
        if (digits[:, is_digit] > 9).any() or (signs != template)[:, ~is_digit].any():
            return None
        spans[rows] = digits @ _worth(template)
    return spans


def _worth(template: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return how many seconds a one is worth at each place of a span."""
    worth, digit, unit = np.zeros(len(template)), 1.0, iter((1.0, 60.0, 3600.0, 86400.0))
    one = next(unit)
    for place in reversed(range(len(template))):
        if template[place] == _ZERO:
            worth[place] = digit * one
            digit *= 10.0
        else:
            one, digit = next(unit), 1.0
    return worth


def _as_numbers(words: Any) -> Any:
    """Return the texts of a further column as whole numbers, or else as fractions; None if the
    reader of all tables may see anything else in them."""
    import pyarrow as pa

    known = _known(words)
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
    """Return a table for Arrow to read; None for one that is small, or not surely plain."""
    if len(data) < _LARGE or b"\0" in data or _has_hexadecimal(data):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    first = data[: data.find(b"\n") + 1].rstrip(b"\r\n").removeprefix(_BOM)
    try:
        line = first.decode("ascii")
    except UnicodeDecodeError:
        return None
    used = sep or separator_of(line)
    # Blanks do not separate: the first ones of a cell are passed over.
    if used == " " or not used.isascii() or not _quotes_are_plain(data, used.encode()):
        return None
    try:
        cells = next(csv.reader([line], delimiter=used, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None
    names = [name.strip() for name in cells]
    return PlainTable(data, names, used) if any(names) else None


def _has_hexadecimal(data: bytes) -> bool:
    """Whether there may be numbers such as 0x10: for Arrow, but for nobody who writes logs."""
    return any(sign in data and b"0" + sign in data for sign in (b"x", b"X"))


def _quotes_are_plain(data: bytes, sep: bytes) -> bool:
    """Whether quotes are nowhere but around whole cells."""
    total = data.count(b'"')
    if not total:
        return True
    body = data.removeprefix(_BOM)
    opening = body.count(sep + b'"') + body.count(b'\n"') + body.startswith(b'"')
    closing = sum(body.count(b'"' + after) for after in (sep, b"\n", b"\r")) + body.endswith(b'"')
    return total == opening + closing and opening == closing
