"""The rows of ``sacct``: columns in any choice, free texts with delimiters and line breaks in them.

Slurm quotes nothing. A row with too many fields, or spread over several lines, is put together by
what its columns can hold (`_sacct_columns`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import LogError, OptionError
from ...files.access import read_log_text
from ..report import Finding, noted
from .slurm_fields import DURATION, INSTANT, JOB

_FREE = frozenset(
    {"admincomment", "comment", "constraints", "extra", "jobname", "submitline"}
    | {"systemcomment", "workdir", "stdin", "stdout", "stderr", "reason"}
)
# What may have a comma in it, where that is the delimiter.
_LISTS = frozenset(
    {"alloctres", "dependency", "flags", "licenses", "nodelist", "partition", "reqtres"}
)
_COUNT = re.compile(r"(-?\d{1,12}(\.\d+)?[KMG]?)?")
_STATE = re.compile(r"([A-Z_]+( by \S+|\+)?)?")
_EXIT = re.compile(r"(\d+:\d+)?")
_NOTHING = re.compile("")
_NODES = re.compile(r"[^\[\]=]*(\[[^\[\]=]*\][^\[\]=]*)*")
_RESOURCES = re.compile(r"([^=,|]+=[^=,|]*(,[^=,|]+=[^=,|]*)*)?")
_PIECES = {_NODES: re.compile("[^=]*"), _RESOURCES: _RESOURCES}
"""What may stand between two commas of a list."""

_SHAPES: dict[str, re.Pattern[str]] = {
    "jobid": JOB,
    "jobidraw": re.compile(f"({JOB.pattern})?"),
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


class Columns:
    """The columns of a table."""

    def __init__(self, names: Sequence[str], delimiter: str) -> None:
        self.names = list(names)
        self.delimiter = delimiter
        self.shapes = [_SHAPES.get(name) for name in names]
        lists = _LISTS if delimiter.strip() == "," else frozenset()
        self.is_list = [name in lists for name in names]
        self.is_free = [name in _FREE or name in lists for name in names]
        self.has_free = any(self.is_free)
        self.checks = [(k, shape.fullmatch) for k, shape in enumerate(self.shapes) if shape]
        # Sets of columns are the bits of a number.
        self.free = sum(1 << k for k, free in enumerate(self.is_free) if free)
        self.shaped = sum(1 << k for k, _ in self.checks)
        pieces = [
            shape if shape is None or not self.is_list[k] else _PIECES[shape]
            for k, shape in enumerate(self.shapes)
        ]
        self.pieces = [None if piece is None else piece.fullmatch for piece in pieces]

    def fields(self, line: str) -> list[str] | None:
        """Return the fields of a row on one line, or None if they do not fit the columns."""
        parts = line.split(self.delimiter)
        excess = len(parts) - len(self.names)
        if excess < 0 or (excess and not self.has_free):
            return None
        if excess:
            return Spread(self, line).fields()
        for column, fits in self.checks:
            if fits(parts[column].strip()) is None:
                return None
        return parts

    def misfits(self, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the columns, and their fields, that cannot be theirs."""
        for name, shape, part in zip(self.names, self.shapes, parts, strict=True):
            if shape is not None and shape.fullmatch(part.strip()) is None:
                yield name, part


class Spread:
    """A row that may have more parts than columns, and go over several lines."""

    def __init__(self, columns: Columns, line: str) -> None:
        self.columns = columns
        self.parts: list[str] = []
        self.owners: list[int] = []  # the columns that each part but the last may belong to
        self.next = 1  # those that the last part may belong to, by what stands before it
        self.is_broken = False  # whether the last part has a line break in it
        self._take(line.split(columns.delimiter))

    @property
    def goes_on(self) -> bool:
        """Whether some further line could complete the row."""
        return bool(self.next & self.columns.free)

    def add(self, line: str) -> None:
        """Add the next line: it goes on with the text at the end of the last one."""
        first, *rest = line.split(self.columns.delimiter)
        self.is_broken = True
        self._take([f"{self.parts.pop()}\n{first}", *rest])

    def _take(self, parts: Sequence[str]) -> None:
        for part in parts[:-1]:
            mine = self._owners(part)
            self.owners.append(mine)
            self.parts.append(part)
            self.next = self._following(mine)
            self.is_broken = False
        self.parts.append(parts[-1])

    def _following(self, mine: int) -> int:
        columns = self.columns
        return ((mine << 1) | (mine & columns.free)) & ((1 << len(columns.names)) - 1)

    def _owners(self, part: str) -> int:
        """Return the columns that the part after those before may belong to."""
        columns = self.columns
        if self.is_broken:
            return self.next & columns.free
        owners = self.next & ~columns.shaped
        left = self.next & columns.shaped
        text = part.strip() if left else part
        while left:
            bit = left & -left
            left ^= bit
            fits = columns.pieces[bit.bit_length() - 1]
            if fits is not None and fits(text) is not None:
                owners |= bit
        return owners

    def fields(self) -> list[str] | None:
        """Return the fields, or None if the row is not complete, or none of these columns."""
        columns = self.columns
        last = 1 << (len(columns.names) - 1)
        if not self.next & last or not self._owners(self.parts[-1]) & last:
            return None
        # From the end: where a part may be so that those after it find their columns.
        viable = [*self.owners, last]
        for k in range(len(viable) - 2, -1, -1):
            viable[k] &= (viable[k + 1] >> 1) | (viable[k + 1] & columns.free)
        starts, column = [0], 0
        for k in range(1, len(viable)):
            stays = columns.is_free[column] and viable[k] >> column & 1
            moves = viable[k] >> (column + 1) & 1
            # A list takes all that can be its own, a text no more than it must.
            if moves and not (stays and columns.is_list[column]):
                column += 1
                starts.append(k)
        ends = [*starts[1:], len(viable)]
        made = [columns.delimiter.join(self.parts[a:b]) for a, b in zip(starts, ends, strict=True)]
        return None if next(columns.misfits(made), None) else made


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
    """A row that cannot be read: where it begins, kind of fault, what is wrong, column to blame."""

    line: int
    rule: str
    what: str
    field: str | None = None


class SacctRows(NamedTuple):
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
) -> SacctRows:
    """Read a table of ``sacct``; parameters as in `read_sacct`."""
    lines = read_log_text(path).split("\n")
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
    rows = SacctRows(
        names, *_Assembly(names, split, head if named else "").run(lines, begin), assumed
    )
    if columns is not None:
        # Names in a wrong place may fit two rows taken for one, with a text that goes over lines.
        alone = sum(not any("\n" in field for field in row.fields) for row in rows.good)
        if 2 * alone < len(rows.good) + len(rows.bad):
            raise _of_misfit(path, rows, alone, lines, split)
    return rows


def row_findings(rows: SacctRows, bad: Sequence[Malformed]) -> list[Finding]:
    """Return what was found about the rows of a table."""
    kinds = {
        "too-few-fields": "fewer fields than columns",
        "too-many-fields": "more fields than columns, in no way theirs",
        "bad-field": "a field that its column cannot hold",
    }
    made = []
    for rule, what in kinds.items():
        made += noted(rule, "skip", what, [row.line for row in bad if row.rule == rule], "line")
    if rows.assumed:
        what = f"no column names: those of the query '{rows.assumed}' are taken"
        made += noted("no-names", "repair", what, [rows.good[0].line], "line")
    what = "a text with delimiters or line breaks in it: put together"
    return [*made, *noted("joined-row", "repair", what, rows.joined, "line")]


def _of_misfit(
    path: str | os.PathLike[str], rows: SacctRows, alone: int, lines: Sequence[str], delimiter: str
) -> LogError:
    """Return the error of column names that are not those of the rows."""
    wrong = [*rows.joined, *(bad.line for bad in rows.bad)]
    first = min(wrong)
    why = ""
    for bad in rows.bad:
        if bad.line == first:
            why = f" ({bad.field}: {bad.what})" if bad.field else f" ({bad.what})"
    counts = Counter(lines[line - 1].count(delimiter) + 1 for line in wrong)
    given = len(rows.names) - (rows.names[-1] == "")
    return LogError(
        path,
        f"only {alone} of {len(rows.good) + len(rows.bad)} rows fit the {given} columns "
        f"given{why}; most others have {counts.most_common(1)[0][0]} fields: give one name for "
        "each field, in the order of sacct -o, and the delimiter",
        line=first,
    )


def _named(line: str) -> bool:
    words = re.split(r"[^A-Za-z0-9]+", line.lower())
    return "jobid" in words or "jobidraw" in words


def _delimiter(head: str) -> str:
    """Return what stands between the first two names."""
    match = re.match(rf"\s*{_NAME.pattern}([^A-Za-z0-9_%]+)", head)
    return match[1] if match else "|"


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
            problem = f"{len(parts)} fields for {len(names)} columns"
            return Malformed(number, "too-few-fields", problem)
        if len(parts) > len(names):
            problem = f"{len(parts)} fields for {len(names)} columns, in no way theirs"
            return Malformed(number, "too-many-fields", problem)
        for name, field in self.columns.misfits(parts):
            return Malformed(number, "bad-field", f"'{field[:40]}' is no value of it", name)
        raise AssertionError("a row that fits is not malformed")
