"""The rows of ``sacct``: columns in any choice, free texts with delimiters and line breaks in them.

Slurm quotes nothing. A row with too many fields, or spread over several lines, is put together by
what its columns can hold (`_sacct_columns`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import LogError, OptionError
from ...files.lines import read_text
from ..report import Finding
from ._sacct_columns import Columns, Spread

__all__ = ["LAYOUTS", "Malformed", "Row", "Rows", "read_rows", "row_findings"]

_LINES = 400
"""Lines that one row may be spread over."""

_PATIENCE = 10_000
"""Lines that may be looked at in vain, besides a few for each line of the file."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_%]*")

LAYOUTS: dict[str, tuple[str, ...]] = {
    "hpc-cost": (
        *("State", "JobID", "ReqCPUS", "ReqMem", "ReqNodes", "Constraints", "Submit", "Eligible"),
        *("Start", "Elapsed", "Suspended", "End", "ExitCode", "DerivedExitCode", "AllocNodes"),
        *("NCPUS", "MaxDiskRead", "MaxDiskWrite", "MaxPages", "MaxRSS", "MaxVMSize", "CPUTime"),
        *("UserCPU", "SystemCPU", "TotalCPU"),
    ),
}
"""Columns of well-known queries that are kept without a line of names."""


class Row(NamedTuple):
    """The fields of one row, and the line on which it begins."""

    line: int
    fields: list[str]


class Malformed(NamedTuple):
    """A row that cannot be read.

    Parameters
    ----------
    line : on which it begins.
    rule : name of the kind of fault.
    what : what is wrong.
    field : the column to blame, if one is.
    """

    line: int
    rule: str
    what: str
    field: str | None = None


class Rows(NamedTuple):
    """A table of ``sacct``.

    Parameters
    ----------
    names : of the columns, in small letters.
    good : rows that can be read.
    bad : rows that cannot.
    joined : lines on which rows begin that had to be put together.
    assumed : the layout taken for a table without names; empty if it has them.
    """

    names: list[str]
    good: list[Row]
    bad: list[Malformed]
    joined: list[int]
    assumed: str


def read_rows(
    path: str | os.PathLike[str],
    delimiter: str | None = None,
    columns: Sequence[str] | None = None,
) -> Rows:
    """Read a table of ``sacct``; parameters as in `read_sacct`."""
    lines = read_text(path).split("\n")
    first = next((k for k, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise LogError(path, "is empty; give a log with at least one job")
    head = lines[first]
    assumed = ""
    if delimiter == "":
        raise OptionError("delimiter '': give at least one character", key="workload.delimiter")
    named = _named(head)
    if columns is None and not named:
        assumed = _layout(head, delimiter or "|")
        if not assumed:
            raise LogError(
                path,
                "has no line of column names with JobID in it; run sacct -P, or give columns",
                line=first + 1,
            )
        columns = LAYOUTS[assumed]
    if columns is not None:
        split = delimiter or "|"
        names = [name.strip().lower() for name in columns]
        begin = first + named
        sample = lines[begin] if begin < len(lines) else ""
        if sample.endswith(split) and sample.count(split) == len(names):
            names.append("")
    else:
        split = delimiter or _delimiter(head)
        if not split.strip(" ") and delimiter is None:
            raise LogError(path, "has its columns apart by blanks; run sacct -P", line=first + 1)
        names = [name.strip().lower().partition("%")[0] for name in head.split(split)]
        begin = first + 1
    rows = Rows(names, *_Assembly(names, split, head if named else "").run(lines, begin), assumed)
    if columns is not None:
        # Names in a wrong place may fit two rows taken for one, with a text that goes over lines.
        alone = sum(not any("\n" in field for field in row.fields) for row in rows.good)
        if 2 * alone < len(rows.good) + len(rows.bad):
            raise _of_misfit(path, rows, alone, lines, split)
    return rows


def row_findings(rows: Rows, bad: Sequence[Malformed]) -> list[Finding]:
    """Return what was found about the rows of a table.

    Parameters
    ----------
    rows : of the table.
    bad : those that cannot be read, for the sake of their columns or of a field.
    """
    kinds = {
        "too-few-fields": "fewer fields than columns",
        "too-many-fields": "more fields than columns, in no way theirs",
        "bad-field": "a field that its column cannot hold",
    }
    made = [
        Finding.of(rule, "skip", what, lines, "line")
        for rule, what in kinds.items()
        if (lines := [fault.line for fault in bad if fault.rule == rule])
    ]
    if rows.assumed:
        what = f"no column names: those of the query '{rows.assumed}' are taken"
        made.append(Finding.of("no-names", "repair", what, [rows.good[0].line], "line"))
    if rows.joined:
        what = "a text with delimiters or line breaks in it: put together"
        made.append(Finding.of("joined-row", "repair", what, rows.joined, "line"))
    return made


def _of_misfit(
    path: str | os.PathLike[str], rows: Rows, alone: int, lines: Sequence[str], delimiter: str
) -> LogError:
    """Return the error of column names that are not those of the rows."""
    first = min([*rows.joined, *(bad.line for bad in rows.bad)])
    why = next((f" ({_blamed(bad)})" for bad in rows.bad if bad.line == first), "")
    wrong = [*rows.joined, *(bad.line for bad in rows.bad)]
    counts = Counter(lines[line - 1].count(delimiter) + 1 for line in wrong)
    given = len(rows.names) - (rows.names[-1] == "")
    return LogError(
        path,
        f"only {alone} of {len(rows.good) + len(rows.bad)} rows fit the {given} columns "
        f"given{why}; most others have {counts.most_common(1)[0][0]} fields: give one name for "
        "each field, in the order of sacct -o, and the delimiter",
        line=first,
    )


def _blamed(fault: Malformed) -> str:
    return fault.what if fault.field is None else f"{fault.field}: {fault.what}"


def _named(line: str) -> bool:
    words = re.split(r"[^A-Za-z0-9]+", line.lower())
    return "jobid" in words or "jobidraw" in words


def _delimiter(head: str) -> str:
    """Return what stands between the first two names."""
    found = re.match(rf"\s*{_NAME.pattern}([^A-Za-z0-9_%]+)", head)
    return found[1] if found else "|"


def _layout(line: str, delimiter: str) -> str:
    fields = line.split(delimiter)
    for name, columns in LAYOUTS.items():
        shapes = Columns([column.lower() for column in columns], delimiter)
        if len(fields) == len(columns) and not any(shapes.misfits(fields)):
            return name
    return ""


class _Assembly:
    """Lines put together to rows."""

    def __init__(self, names: Sequence[str], delimiter: str, head: str) -> None:
        self.columns = Columns(names, delimiter)
        self.head = head
        self.patience = _PATIENCE

    def run(self, lines: Sequence[str], begin: int) -> tuple[list[Row], list[Malformed], list[int]]:
        """Return good rows, malformed ones, and the lines of rows that were put together."""
        good: list[Row] = []
        bad: list[Malformed] = []
        joined: list[int] = []
        self.patience += 4 * len(lines)
        at = begin
        while at < len(lines):
            # Files put together repeat their names.
            if not lines[at].strip() or lines[at] == self.head:
                at += 1
                continue
            taken, fields = self._row(lines, at)
            if fields is not None:
                good.append(Row(at + 1, fields))
                if taken > 1 or len(fields) != lines[at].count(self.columns.delimiter) + 1:
                    joined.append(at + 1)
            elif not (good and self._is_continuation(lines[at])):
                bad.append(self._fault(lines[at], at + 1))
            at += taken
        return good, bad, joined

    def _row(self, lines: Sequence[str], at: int) -> tuple[int, list[str] | None]:
        """Return how many lines a row takes, and its fields; one line if it is malformed."""
        columns = self.columns
        fields = columns.fields(lines[at])
        if fields is not None or not columns.has_free or self.patience <= 0:
            return 1, fields
        spread = Spread(columns, lines[at])
        for taken, line in enumerate(lines[at + 1 : at + _LINES], 2):
            if not spread.goes_on or columns.fields(line) is not None:
                break
            # What is looked at in vain is looked at again from the next line on.
            self.patience -= 1
            spread.add(line)
            fields = spread.fields()
            if fields is not None:
                self.patience += taken - 1
                return taken, fields
        return 1, None

    def _is_continuation(self, line: str) -> bool:
        # The text at the end of a row goes on over a line break.
        return self.columns.is_free[-1] and self.columns.delimiter not in line

    def _fault(self, line: str, number: int) -> Malformed:
        names = self.columns.names
        parts = line.split(self.columns.delimiter)
        if len(parts) < len(names):
            told = f"{len(parts)} fields for {len(names)} columns"
            return Malformed(number, "too-few-fields", told)
        if len(parts) > len(names):
            told = f"{len(parts)} fields for {len(names)} columns, in no way theirs"
            return Malformed(number, "too-many-fields", told)
        for name, field in self.columns.misfits(parts):
            return Malformed(number, "bad-field", f"'{field[:40]}' is no value of it", name)
        raise AssertionError("a row that fits is not malformed")
