"""Jobs from and to comma-separated tables with a line of column names."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError, OptionError
from ...files.access import as_text, read_raw
from ...files.staging import open_atomic
from ..header import AS_NUMBERS, known_names
from ..schema import LABEL
from ..table import Jobs
from ._columns import Choice, choose
from ._plain_table import ROWS, plain_table
from ._sheet import Sheet, finished
from ._values import Unreadable
from .swf import formatted


def read_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    *,
    sep: str | None = None,
    timezone: str | None = None,
) -> Jobs:
    """Read jobs from a table of comma-separated values.

    Parameters
    ----------
    path : the table, plain or packed with gzip or xz; its first line names the columns.
    columns : our column name -> the table's. ``interarrival`` (s, the gap to the next job) may
        stand for ``submit``, ``requested`` or ``allocated`` for ``procs``, ``work``, or ``start``
        and ``end``, for ``runtime``. What is needed and not named is looked for among columns
        called as ours, or as other tables call them (``submit_time``, ``ReqCPUS``, ...).
    sep : the separator, one character; by default the comma, or what else the first line has.
    timezone : of dates that name none, such as ``Europe/Moscow``; None: as they stand, as in UTC.

    Returns
    -------
    Jobs
        In the order of the table. Dates count from the first submit (``UnixStartTime`` of the
        header), names of users and so on are numbered (`Jobs.labels` has them), and what the
        table leaves empty is unknown. ``jobs.report`` says what was taken from which column.

    Raises
    ------
    LogError
        When the file is not such a table, or a value is not what its column holds.
    OptionError
        When `columns` names a column that we do not have.
    """
    if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
        raise OptionError(f"sep must be one character that is no quote or line end, not {sep!r}")
    data = read_raw(path, kind="table", wanted="a table with a line of column names")

    def chosen(names: Sequence[str]) -> Choice:
        return choose(names, columns, "the table", lambda message: LogError(path, message))

    table = plain_table(data, sep, _separator)
    if table is not None:
        sheet = table.sheet(chosen(table.names), timezone)
        if sheet is not None and len(sheet):
            del table, data
            return finished(sheet, path, source=str(path))
    text = as_text(data)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=sep or _separator(text),
        skipinitialspace=True,
        strict=True,
    )
    try:
        names = [name.strip() for name in next((row for row in reader if any(row)), [])]
        choice = chosen(names)
        places = {ours: names.index(theirs) for ours, theirs in choice.columns.items()}
        sheet = Sheet(choice, timezone)
        for lines, rows in _batches(reader, len(names), path):
            for ours, place in places.items():
                try:
                    sheet.add(ours, [row[place] for row in rows])
                except Unreadable as error:
                    line = None if error.row is None else lines[error.row]
                    raise LogError(path, error.problem, line=line, field=error.field) from None
        if not len(sheet):
            raise LogError(path, "has column names but no job; check that the table is complete")
    except csv.Error as error:
        raise LogError(
            path, f"is not a table ({error}); correct the line", line=reader.line_num
        ) from None
    return finished(sheet, path, source=str(path))


def _separator(text: str) -> str:
    """Return what separates the names of the first line: a comma, or else what it has most."""
    first = text.lstrip().partition("\n")[0]
    return "," if "," in first else max(",;\t|", key=first.count)


def _batches(
    reader: Any, width: int, path: str | os.PathLike[str]
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield some thousand rows at a time, with the line on which each ends."""
    filled = filter(None, reader)
    while True:
        lines: list[int] = []
        rows: list[list[str]] = []
        for row in islice(filled, ROWS):
            if len(row) != width:
                raise LogError(
                    path,
                    f"{len(row)} columns where the first line names {width}; correct the line",
                    line=reader.line_num,
                )
            lines.append(reader.line_num)
            rows.append(row)
        if not rows:
            return
        yield lines, rows


def write_csv(jobs: Jobs, path: str | os.PathLike[str]) -> None:
    """Write the stored columns of jobs as comma-separated values, atomically.

    Every number reads back as the same number, and every name as the same name: columns of names
    are texts, behind the numbers. Users, queues and so on of which no name is known stay numbers.
    The rest of the header, such as the date of second 0, is not written.
    """
    texts = [
        name for name in jobs.named if name not in AS_NUMBERS or known_names(jobs.header, name)
    ]
    numbers = [name for name in jobs.names if name not in texts]
    texts += [LABEL] if jobs.has_labels else []
    with open_atomic(path) as file:
        file.write(_line([*numbers, *texts]))
        lines = formatted(jobs, numbers, ",")
        file.writelines(_beside(lines, jobs, texts) if texts else lines)


def _line(cells: Sequence[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode()


def _beside(parts: Iterable[bytes], jobs: Jobs, texts: Sequence[str]) -> Iterator[bytes]:
    """Yield lines of numbers with texts after them."""
    columns = [_cells(jobs, name) for name in texts]
    row = 0
    for part in parts:
        lines = part.split(b"\n")[:-1]
        rows = slice(row, row + len(lines))
        row = rows.stop
        tails = zip(*(cells[rows] for cells in columns), strict=True)
        yield b"".join(
            b"%b,%b\n" % (line, b",".join(tail)) for line, tail in zip(lines, tails, strict=True)
        )


def _cells(jobs: Jobs, name: str) -> NDArray[Any]:
    """Return a column of texts as they are written: in quotes where they need them."""
    words = jobs.label if name == LABEL else jobs.labels(name)
    unique, places = np.unique(words, return_inverse=True)
    quoted = np.empty(len(unique), object)
    # Two cells, since one empty cell alone would be written in quotes.
    quoted[:] = [_line(["", word])[1:-1] for word in unique.tolist()]
    cells: NDArray[Any] = quoted[places]
    return cells
