"""Jobs from and to comma-separated tables with a line of column names."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, LogError, OptionError
from ._columns import assemble, choose
from ._files import open_atomic
from ._lines import read_text
from ._text import formatted
from .jobs import SCHEMA, Jobs

__all__ = ["read_csv", "read_table", "write_csv"]

_ROWS = 1 << 14


def read_table(
    path: str | os.PathLike[str], columns: Mapping[str, str] | None = None, *, sep: str = ","
) -> dict[str, NDArray[Any]]:
    """Read the chosen columns of a table, as numbers.

    Parameters
    ----------
    path : the table, plain or packed with gzip or xz; its first line names the columns.
    columns : our name -> the table's; None takes those called as ours.
    sep : the separator, one character.

    Returns
    -------
    Arrays by our name (or ``interarrival``), in the type of `SCHEMA`.
    """
    if len(sep) != 1 or sep in '"\r\n':
        raise OptionError(f"sep must be one character that is no quote or line end, not {sep!r}")
    text = read_text(path, kind="table", wanted="a table with a line of column names")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True, strict=True
    )
    try:
        names = [name.strip() for name in next(reader)]
        chosen = choose(names, columns, "the table", lambda message: LogError(path, message))
        places = {ours: names.index(theirs) for ours, theirs in chosen.items()}
        parts: dict[str, list[NDArray[Any]]] = {ours: [] for ours in places}
        for lines, rows in _batches(reader, len(names), path):
            for ours, place in places.items():
                tokens = [row[place] for row in rows]
                parts[ours].append(_numbers(tokens, ours, path, lines))
    except csv.Error as error:
        raise LogError(
            path, f"is not a table ({error}); correct the line", line=reader.line_num
        ) from None
    if not any(parts.values()):
        raise LogError(path, "has column names but no job; check that the table is complete")
    return {ours: np.concatenate(arrays) for ours, arrays in parts.items()}


def _batches(
    reader: Any, width: int, path: str | os.PathLike[str]
) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield some thousand rows at a time, with the line on which each ends."""
    while True:
        lines: list[int] = []
        rows: list[list[str]] = []
        for row in islice(reader, _ROWS):
            if not row:
                continue
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


def _numbers(
    tokens: Sequence[str], name: str, path: str | os.PathLike[str], lines: Sequence[int]
) -> NDArray[Any]:
    whole = SCHEMA.get(name, np.dtype(np.float64)).kind == "i"
    convert = _integer if whole else _real
    try:
        return np.array([convert(token) for token in tokens], np.int64 if whole else np.float64)
    except (ValueError, OverflowError):
        for token, line in zip(tokens, lines, strict=True):
            try:
                np.int64(convert(token)) if whole else convert(token)
            except (ValueError, OverflowError):
                kind = "a whole number" if whole else "a number"
                shown = repr(token[:40]) if token.strip() else "nothing"
                raise LogError(
                    path,
                    f"{shown} is not {kind}; correct it (-1 for unknown)",
                    line=line,
                    field=name,
                ) from None
        raise


def _real(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(token)
    return value


def _integer(token: str) -> int:
    try:
        return int(token)
    except ValueError:
        value = _real(token)
        if not value.is_integer():
            raise
        return int(value)


def read_csv(
    path: str | os.PathLike[str], columns: Mapping[str, str] | None = None, *, sep: str = ","
) -> Jobs:
    """Read jobs from a table of comma-separated values.

    Parameters
    ----------
    path : the table, plain or packed with gzip or xz; its first line names the columns.
    columns : our column name -> the table's. ``interarrival`` (s, the gap to the next job) may
        stand for ``submit``, ``requested`` or ``allocated`` for ``procs``, ``work`` for
        ``runtime``. By default equal names; other columns of the table are left aside.
    sep : the separator, one character.

    Raises
    ------
    LogError
        When the file is not such a table, or a chosen value is missing or not a number.
    OptionError
        When `columns` names a column that we do not have.
    """
    table = assemble(read_table(path, columns, sep=sep))
    try:
        return Jobs(table, source=str(path))
    except InputError as error:
        raise LogError(path, str(error)) from None


def write_csv(jobs: Jobs, path: str | os.PathLike[str]) -> None:
    """Write the stored columns of jobs as comma-separated values, atomically.

    Every number reads back as the same number; the header is not written.
    """
    with open_atomic(path) as file:
        file.write((",".join(jobs.names) + "\n").encode())
        file.writelines(formatted(jobs, jobs.names, ","))
