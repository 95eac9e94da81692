"""Tables of any origin as rows of text: unpacked, decoded and split, one line at a time."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import ClusterError
from ..files.access import PathName, opened

LONGEST = 1 << 20
"""Characters a line may have."""

_MOST_TEXT = 1 << 24
_HEAD = 4096
_HEAD_LINES = 2000
_SEPARATORS = ",;\t"
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d{1,2}")
_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(\D|$))")


class TextTable(NamedTuple):
    """A line of column names, and the rows below it, each with the line on which it ends."""

    header: list[str]
    rows: Iterator[tuple[int, list[str]]]


def key(name: str) -> str:
    """Return a column's name without what varies between releases: case, blanks, signs.

    >>> key("# Cores Per Chip "), key("Memory (GB)"), key("Average watts@10% of target load")
    ('coresperchip', 'memorygb', 'averagewatts10oftargetload')
    """
    return "".join(c for c in name.lower() if c.isalnum())


def number(token: str) -> float:
    """Return a number; thousands may be separated, and ``95,3`` has a decimal comma."""
    try:
        value = float(token)
    except ValueError:
        token = token.strip()
        if _THOUSANDS.fullmatch(token):
            value = float(token.replace(",", ""))
        elif _DECIMAL_COMMA.fullmatch(token):
            value = float(token.replace(",", "."))
        else:
            value = float(_BLANKS.sub("", token))
    if value - value != 0:
        raise ValueError(token)
    return value


def read_table(path: PathName, *, longest: int = LONGEST) -> TextTable:
    """Read a table separated by commas, semicolons or tabs; its first line names the columns.

    It may be packed with gzip or xz, and be in UTF-8, UTF-16 or Latin-1.
    """
    lines = _lines(path, longest)
    before = 0
    for first in lines:
        if first.strip():
            break
        before += 1
    else:
        raise _empty(path)
    # Column names of the published table end in stray tabs, which do not separate.
    bare = re.sub(r"\s*([,;])\s*", r"\1", re.sub(r'"[^"]*"', "", first))
    separator = max(_SEPARATORS, key=bare.count)
    rows = _rows(path, first, lines, separator, before)
    header = next(rows, None)
    if header is None:
        raise _empty(path)
    return TextTable(header[1], rows)


def _empty(path: PathName) -> ClusterError:
    return ClusterError(path, "is empty; give a table with a line of column names")


def _rows(
    path: PathName, first: str, lines: Iterator[str], separator: str, before: int
) -> Iterator[tuple[int, list[str]]]:
    every = itertools.chain([first], lines)
    reader = csv.reader(every, delimiter=separator, skipinitialspace=separator != "\t")
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield reader.line_num + before, row
    except csv.Error as error:
        line = reader.line_num + before
        raise ClusterError(path, f"is not a table ({error}); correct the line", line=line) from None


def read_head(path: PathName) -> str:
    """Return the first lines of a file, enough to see what kind of file it is."""
    text: list[str] = []
    for line in _lines(path, LONGEST):
        text.append(line)
        if len(text) >= _HEAD_LINES:
            break
    return "".join(text)


def read_text(path: PathName) -> str:
    """Return the whole text of a file that people write: at most 16 million characters."""
    text = []
    size = 0
    for line in _lines(path, LONGEST):
        size += len(line)
        if size > _MOST_TEXT:
            raise ClusterError(path, "is too long for a description; check the file")
        text.append(line)
    return "".join(text)


def _lines(path: PathName, longest: int) -> Iterator[str]:
    """Yield the lines of a file with their ends, never holding more than one."""
    with opened(path, ClusterError) as raw, io.BufferedReader(raw) as file:  # type: ignore[type-var]
        encoding = _encoding(file)
        text = io.TextIOWrapper(file, encoding or "latin-1", errors="replace", newline="")
        count = 0
        while line := text.readline(longest + 1):
            count += 1
            if "\0" in line:
                raise ClusterError(path, "is a binary file, not a table; check the file's format")
            if len(line) > longest:
                raise ClusterError(
                    path, f"is longer than {longest:,} characters; correct the line", line=count
                )
            yield line if encoding or line.isascii() else _utf8(line)


def _utf8(line: str) -> str:
    """Return a line that was read as Latin-1, as UTF-8 if it is that."""
    try:
        return line.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return line


def _encoding(file: Any) -> str | None:
    """Return the encoding that the first bytes show, or None for UTF-8 or Latin-1, line by line."""
    head = file.peek(_HEAD)[:_HEAD]
    if head.startswith(b"\xef\xbb\xbf"):
        file.read(3)
        return None
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # Without a mark: every other byte of text in Latin letters is 0.
    pairs = len(head) // 2
    if pairs > 1 and 0 in head:
        if head[1::2].count(0) >= 0.9 * pairs and head[::2].count(0) == 0:
            return "utf-16-le"
        if head[::2].count(0) >= 0.9 * pairs and head[1::2].count(0) == 0:
            return "utf-16-be"
    return None
