"""The Standard Workload Format, version 2.2 [swf]: 18 fields a line, comments from ``;``."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError
from ...files.access import read_raw
from ...files.staging import open_atomic
from ..header import AS_NUMBERS, Header, key_of, without_keys
from ..report import EXAMPLES, CleaningReport, Finding, noted
from ..schema import LABEL, MISSING, NAMED, SWF_FIELDS, widths
from ..table import Jobs

GOOD = 0
COMMENT = 1
EXACT = 2  # a number that takes more than 64 bits to round correctly
TOO_FEW = 3
TOO_MANY = 4
NOT_A_NUMBER = 5
NOT_INTEGER = 6
NOT_FINITE = 7
TOO_LARGE = 8

MALFORMED: Mapping[int, tuple[str, str]] = {
    TOO_FEW: ("too-few-fields", "fewer than 18 fields"),
    TOO_MANY: ("too-many-fields", "more than 18 fields"),
    NOT_A_NUMBER: ("not-a-number", "a field that is not a number"),
    NOT_INTEGER: ("not-an-integer", "a fraction where a whole number belongs"),
    NOT_FINITE: ("not-finite", "nan or inf in a field"),
    TOO_LARGE: ("too-large", "a number too large for its field"),
}
"""Kinds of malformed lines: name in reports, and what it means."""

_BOM = b"\xef\xbb\xbf"
_NEWLINE = 10
_NAMES = tuple(SWF_FIELDS)
# 18 digits, 17 blanks and a newline: no good line is shorter.
_SHORTEST = 2 * len(_NAMES)
_NOTES = 1 << 16
_PIECE = 1 << 17
_NOT_KEPT = -1
_ROWS = 1 << 15
_LONGEST_NUMBER = 21  # sign, 19 digits, separator
_ALWAYS = ("job", "submit", "runtime", "requested", "allocated")
_NOT_WRITTEN = tuple(name for name in NAMED if name not in AS_NUMBERS)
"""Columns of names that the format has no field for, and whose names are not worth a line."""


def read_swf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    width: str = "requested",
    only: Iterable[str] | None = None,
) -> Jobs:
    """Read a log in the Standard Workload Format, plain or packed with gzip or xz.

    Parameters
    ----------
    path : the log.
    strict : raise at the first malformed line, instead of skipping and counting it in
        ``jobs.report``.
    width : where ``procs`` comes from: ``requested`` or ``allocated`` (the other where that is
        not positive), or ``max`` of the two.
    only : columns that are needed; by default all. What else a line holds is checked all the same.

    Returns
    -------
    Jobs
        In the order of the log, with its comment lines as ``jobs.header``.

    Raises
    ------
    LogError
        When the file cannot be read or holds no job, or (strict) a line is malformed.
    """
    widths(np.empty(0, np.int64), np.empty(0, np.int64), width)
    scanner = _Scanner(path, strict, _NAMES if only is None else (*_ALWAYS, *only))
    scanner.run()
    columns = scanner.columns()
    columns["procs"] = widths(columns["requested"], columns["allocated"], width)
    count = columns["job"].size
    findings = scanner.findings()
    if width != "max":
        findings.extend(_other_width(columns, width))
    return Jobs(
        columns,
        header=Header(scanner.comments),
        source=str(path),
        report=CleaningReport(str(path), count, count, tuple(findings)),
    )


def _other_width(columns: dict[str, NDArray[Any]], width: str) -> list[Finding]:
    other = "allocated" if width == "requested" else "requested"
    lacking = (columns[width] <= 0) & (columns[other] > 0)
    what = f"no {width} processors: the {other} are taken"
    return noted("missing-procs", "repair", what, columns["job"][lacking])


class _Scanner:
    """One pass over a log: drives the kernel and answers its notes."""

    def __init__(self, path: str | os.PathLike[str], strict: bool, wanted: Collection[str]) -> None:
        self.path = path
        self.strict = strict
        self.comments: list[str] = []
        self.bad: dict[int, tuple[int, list[int]]] = {}
        self.late: list[int] = []
        self.rows = 0
        self.is_int = [dtype.kind == "i" for dtype in SWF_FIELDS.values()]
        self.slots = [_NOT_KEPT] * len(_NAMES)
        self.kept = {True: 0, False: 0}
        for k, name in enumerate(_NAMES):
            if name in wanted:
                self.slots[k] = self.kept[self.is_int[k]]
                self.kept[self.is_int[k]] += 1

    def run(self) -> None:
        """Fill the columns; the bytes of the log are let go on return."""
        from . import scanning as kernels

        data = read_raw(self.path)
        data = data if data.endswith(b"\n") else data + b"\n"
        buffer = np.frombuffer(data, np.uint8)
        capacity = min(_lines_in(buffer), len(data) // _SHORTEST) + 1
        self.ints = np.empty((self.kept[True], capacity), np.int64)
        self.floats = np.empty((self.kept[False], capacity), np.float64)
        slots = np.array(self.slots)
        notes = np.empty((_NOTES, kernels.NOTE_WIDTH), np.int64)
        pos = len(_BOM) if data.startswith(_BOM) else 0
        line = 0
        while pos < buffer.size:
            pos, line, self.rows, count = kernels.scan(
                buffer, pos, line, self.rows, slots, self.ints, self.floats, notes
            )
            self._answer(data, notes[:count])
        if self.rows == len(self.late):
            self._complain_of_no_jobs()

    def _answer(self, data: bytes, notes: NDArray[np.int64]) -> None:
        kinds = notes[:, 0]
        for begin, end in notes[kinds == COMMENT, 3:5].tolist():
            self.comments.append(_decoded(data[begin:end]))
        malformed = [(line, kind, field) for kind, line, field in notes[kinds > EXACT, :3].tolist()]
        failed_rows = set()
        for _, line, field, begin, end, row in notes[kinds == EXACT].tolist():
            kind = self._store_exactly(data[begin:end].decode("ascii"), field, row)
            if kind != GOOD and row not in failed_rows:
                failed_rows.add(row)
                malformed.append((line, kind, field))
        self.late.extend(failed_rows)
        malformed.sort()
        for line, kind, field in malformed:
            if self.strict:
                raise LogError(
                    self.path,
                    _advice(kind, field),
                    line=line,
                    field=None if kind in (TOO_FEW, TOO_MANY) else _NAMES[field],
                )
            count, first = self.bad.setdefault(kind, (0, []))
            if len(first) < EXAMPLES:
                first.append(line)
            self.bad[kind] = (count + 1, first)

    def _store_exactly(self, token: str, field: int, row: int) -> int:
        """Store a number that the kernel left aside; return what is wrong with it, or GOOD."""
        if not self.is_int[field]:
            value = float(token)
            if self.slots[field] != _NOT_KEPT:
                self.floats[self.slots[field], row] = value
            return TOO_LARGE if np.isinf(value) else GOOD
        try:
            exact = Decimal(token)
        except InvalidOperation:
            return TOO_LARGE
        if exact and exact.adjusted() > 18:
            return TOO_LARGE
        if exact and (exact.adjusted() < 0 or exact != exact.to_integral_value()):
            return NOT_INTEGER
        integer = int(exact)
        if not -(2**63) <= integer < 2**63:
            return TOO_LARGE
        if self.slots[field] != _NOT_KEPT:
            self.ints[self.slots[field], row] = integer
        return GOOD

    def _complain_of_no_jobs(self) -> None:
        if not self.bad:
            raise LogError(self.path, "holds comments but no job; check that the log is complete")
        line, kind = min((first[0], kind) for kind, (_, first) in self.bad.items())
        total = sum(count for count, _ in self.bad.values())
        raise LogError(
            self.path,
            f"none of {total} lines is a job in the Standard Workload Format"
            f" (line {line}: {MALFORMED[kind][1]}); check the file's format",
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the good rows, by field name."""
        columns: dict[str, NDArray[Any]] = {}
        for name, slot, is_int in zip(_NAMES, self.slots, self.is_int, strict=True):
            if slot == _NOT_KEPT:
                continue
            column: NDArray[Any] = (self.ints if is_int else self.floats)[slot, : self.rows]
            columns[name] = np.delete(column, self.late) if self.late else column
        return columns

    def findings(self) -> list[Finding]:
        """Return the malformed lines, by kind."""
        return [
            Finding(MALFORMED[kind][0], "skip", MALFORMED[kind][1], count, tuple(first), "line")
            for kind, (count, first) in sorted(self.bad.items())
        ]


def _advice(kind: int, fields: int) -> str:
    what = f"{fields} fields instead of 18" if kind == TOO_FEW else MALFORMED[kind][1]
    return f"{what}; correct or remove the line, or read without strict to skip it"


def _lines_in(buffer: NDArray[np.uint8]) -> int:
    """Count the newlines; in pieces that stay in the cache, three times as fast as `bytes` does."""
    pieces = (buffer[first : first + _PIECE] for first in range(0, buffer.size, _PIECE))
    return sum(int(np.count_nonzero(piece == _NEWLINE)) for piece in pieces)


def _decoded(comment: bytes) -> str:
    try:
        return comment.decode("utf-8")
    except UnicodeDecodeError:
        return comment.decode("latin-1")


def columns_beyond_swf(jobs: Jobs) -> list[str]:
    """Return the columns that some job has a value in, and the format has no field for.

    >>> columns_beyond_swf(Jobs({"submit": [0], "runtime": [9], "procs": [4], "gpus": [2]}))
    ['gpus']
    """
    beyond = [name for name in jobs.names if name not in SWF_FIELDS and name != "procs"]
    # Of a resource, 0 says as little as -1: the job requests none.
    least = {name: MISSING if name in NAMED else 0 for name in beyond}
    known = [name for name in beyond if name != "work" and (jobs[name] > least[name]).any()]
    if "work" in beyond and not np.array_equal(jobs["work"], jobs["runtime"]):
        known.append("work")
    return [*known, LABEL] if jobs.has_labels else known


def write_swf(
    jobs: Jobs, path: str | os.PathLike[str], *, header: Iterable[str] | None = None
) -> None:
    """Write jobs in the Standard Workload Format, atomically.

    Parameters
    ----------
    jobs : what to write.
    path : the file; a name ending in ``.gz`` or ``.xz`` packs it.
    header : comment lines instead of ``jobs.header``.

    Notes
    -----
    Every number reads back as the same number. The format has no field for ``procs``: where
    requested (or else allocated) processors do not already say it, it is written as requested.
    ``work`` has no field either, and is not written; nor are further columns, and their names.
    """
    said = widths(jobs["requested"], jobs["allocated"])
    if not np.array_equal(said, jobs["procs"]):
        requested = np.where(said == jobs["procs"], jobs["requested"], jobs["procs"])
        jobs = jobs.replace(requested=requested)
    kept = without_keys(
        jobs.header, (f"{key_of(name)}:" for name in (*_NOT_WRITTEN, *jobs.further))
    )
    lines = Header(kept if header is None else header)
    with open_atomic(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        file.writelines(formatted(jobs, _NAMES, " "))


def formatted(jobs: Jobs, names: Sequence[str], separator: str) -> Iterator[bytes]:
    """Yield the chosen columns as lines of text, some thousand rows at a time.

    Whole numbers are plain, others in the shortest form that reads back.
    """
    from .scanning import format_rows

    whole = [name for name in names if jobs[name].dtype.kind == "i"]
    real = [name for name in names if jobs[name].dtype.kind == "f"]
    order = np.array(
        [whole.index(name) if name in whole else -real.index(name) - 1 for name in names]
    )
    for first in range(0, len(jobs), _ROWS):
        part = jobs[first : first + _ROWS]
        ints = np.empty((len(whole), len(part)), np.int64)
        floats = np.empty((len(real), len(part)), np.float64)
        for k, name in enumerate(whole):
            ints[k] = part[name]
        for k, name in enumerate(real):
            floats[k] = part[name]
        # In writing order: row by row, and the float columns as they come in `order`.
        across = floats.T
        odd = (across != np.floor(across)) | (np.abs(across) >= 2.0**63)
        texts = [repr(value) for value in across[odd].tolist()]
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        text = np.frombuffer("".join(texts).encode(), np.uint8)
        out = np.empty(len(part) * len(names) * _LONGEST_NUMBER + text.size, np.uint8)
        size = format_rows(ints, floats, order, text, ends, ord(separator), out)
        yield out[:size].tobytes()
