"""The rows of ``sacct``: columns in any choice, free texts with delimiters and line breaks in them.

Slurm quotes nothing. A row with too many fields, or spread over several lines, is put together by
what its columns can hold: only free texts take a delimiter or a line break, and the instants,
durations and counts among them tell where each begins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ..errors import LogError, OptionError
from ._lines import read_text
from ._slurm_fields import DURATION, INSTANT, JOB

__all__ = ["LAYOUTS", "Malformed", "Row", "Rows", "read_rows"]

_LINES = 400
"""Lines that one row may be spread over."""

_FREE = frozenset(
    {"admincomment", "comment", "constraints", "extra", "jobname", "submitline"}
    | {"systemcomment", "workdir", "stdin", "stdout", "stderr", "reason"}
)
# What may have a comma in it, where that is the delimiter.
_LISTS = frozenset({"alloctres", "flags", "nodelist", "partition", "reqtres"})
_COUNT = re.compile(r"(\d{1,12}(\.\d+)?[KMG]?)?")
_STATE = re.compile(r"[A-Z_]+( by \S+|\+)?")
_EXIT = re.compile(r"(\d+:\d+)?")
_NOTHING = re.compile("")
_NODES = re.compile(r"[^\[\]=]*(\[[^\[\]=]*\][^\[\]=]*)*")
_RESOURCES = re.compile(r"([^=,|]+=[^=,|]*(,[^=,|]+=[^=,|]*)*)?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_%]*")

_SHAPES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("jobid", "jobidraw"), JOB),
    **dict.fromkeys(("submit", "eligible", "start", "end"), INSTANT),
    **dict.fromkeys(
        ("elapsed", "timelimit", "suspended", "cputime", "totalcpu", "usercpu", "systemcpu"),
        DURATION,
    ),
    **dict.fromkeys(
        (
            *("ncpus", "reqcpus", "alloccpus", "nnodes", "reqnodes", "allocnodes"),
            *("uid", "gid", "elapsedraw", "cputimeraw", "ntasks", "priority"),
        ),
        _COUNT,
    ),
    "timelimitraw": DURATION,
    "state": _STATE,
    **dict.fromkeys(("exitcode", "derivedexitcode"), _EXIT),
    "nodelist": _NODES,
    **dict.fromkeys(("alloctres", "reqtres"), _RESOURCES),
    "": _NOTHING,
}
"""What the columns that are looked at can hold, by their names in small letters."""

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
    first = next(k for k, line in enumerate(lines) if line.strip())
    head = lines[first]
    assumed = ""
    if delimiter == "":
        raise OptionError("delimiter '': give at least one character")
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
    return Rows(names, *_Assembly(names, split, head if named else "").run(lines, begin), assumed)


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
        shapes = [_SHAPES.get(column.lower()) for column in columns]
        if len(fields) == len(columns) and all(
            shape is None or shape.fullmatch(field)
            for shape, field in zip(shapes, fields, strict=True)
        ):
            return name
    return ""


class _Assembly:
    """Lines put together to rows."""

    def __init__(self, names: Sequence[str], delimiter: str, head: str) -> None:
        self.names = list(names)
        self.head = head
        self.delimiter = delimiter
        self.shapes = [_SHAPES.get(name) for name in names]
        lists = _LISTS if delimiter.strip() == "," else frozenset()
        self.lists = [name in lists for name in names]
        self.free = [name in _FREE or name in lists for name in names]
        self.ends_free = self.free[-1]
        self.checks = [(k, shape.fullmatch) for k, shape in enumerate(self.shapes) if shape]

    def run(self, lines: Sequence[str], begin: int) -> tuple[list[Row], list[Malformed], list[int]]:
        """Return good rows, malformed ones, and the lines of rows that were put together."""
        good: list[Row] = []
        bad: list[Malformed] = []
        joined: list[int] = []
        at = begin
        while at < len(lines):
            # Files put together repeat their names.
            if not lines[at].strip() or lines[at] == self.head:
                at += 1
                continue
            taken, fields = self._row(lines, at)
            if fields is not None:
                good.append(Row(at + 1, fields))
                if taken > 1 or len(fields) != lines[at].count(self.delimiter) + 1:
                    joined.append(at + 1)
            elif not (self.ends_free and good and self._is_continuation(lines[at])):
                bad.append(self._fault(lines[at], at + 1))
            at += taken
        return good, bad, joined

    def _row(self, lines: Sequence[str], at: int) -> tuple[int, list[str] | None]:
        """Return how many lines a row takes, and its fields; one line if it is malformed."""
        text = lines[at]
        fields = self._fitted(text.split(self.delimiter))
        if fields is not None or not any(self.free):
            return 1, fields
        for taken, line in enumerate(lines[at + 1 : at + _LINES], 2):
            if self._fitted(line.split(self.delimiter)) is not None:
                break
            text += "\n" + line
            fields = self._fitted(text.split(self.delimiter))
            if fields is not None:
                return taken, fields
        return 1, None

    def _fitted(self, parts: list[str]) -> list[str] | None:
        """Return the fields of the columns, or None if the parts cannot be theirs."""
        excess = len(parts) - len(self.names)
        if excess < 0 or (excess and not any(self.free)):
            return None
        if excess == 0:
            for column, fits in self.checks:
                if fits(parts[column].strip()) is None:
                    return None
            return parts
        places = self._placed(parts, excess)
        if places is None:
            return None
        ends = [*places[1:], len(parts)]
        return [self.delimiter.join(parts[a:b]) for a, b in zip(places, ends, strict=True)]

    def _placed(self, parts: list[str], excess: int) -> list[int] | None:
        """Return the part at which each column begins."""
        count = len(self.names)

        @cache
        def place(column: int, used: int) -> tuple[int, ...] | None:
            if column == count:
                return () if used == excess else None
            at = column + used
            shape = self.shapes[column]
            extra = range(excess - used + 1) if self.free[column] else range(1)
            # A list takes all that can be its own, a text no more than it must.
            for more in reversed(extra) if self.lists[column] else extra:
                text = self.delimiter.join(parts[at : at + more + 1]).strip()
                if shape is not None and shape.fullmatch(text) is None:
                    continue
                rest = place(column + 1, used + more)
                if rest is not None:
                    return (at, *rest)
            return None

        found = place(0, 0)
        return None if found is None else list(found)

    def _is_continuation(self, line: str) -> bool:
        # The text at the end of a row goes on over a line break.
        return self.delimiter not in line

    def _fault(self, line: str, number: int) -> Malformed:
        parts = line.split(self.delimiter)
        if len(parts) < len(self.names):
            told = f"{len(parts)} fields for {len(self.names)} columns"
            return Malformed(number, "too-few-fields", told)
        if len(parts) > len(self.names):
            told = f"{len(parts)} fields for {len(self.names)} columns, in no way theirs"
            return Malformed(number, "too-many-fields", told)
        for name, field in self._misfits(parts):
            return Malformed(number, "bad-field", f"'{field[:40]}' is no value of it", name)
        raise AssertionError("a row that fits is not malformed")

    def _misfits(self, parts: list[str]) -> Iterator[tuple[str, str]]:
        for name, shape, part in zip(self.names, self.shapes, parts, strict=True):
            if shape is not None and shape.fullmatch(part.strip()) is None:
                yield name, part
