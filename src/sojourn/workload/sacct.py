"""Accounting of Slurm, as ``sacct -P`` prints it [slurm]."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from functools import lru_cache, partial
from typing import TypeVar

from ..errors import LogError
from ._accounting import ENDED, Accounting, Record, account, check_width, found
from ._report import Finding
from ._sacct_rows import Malformed, Row, Rows, read_rows
from ._slurm_fields import (
    JobNumber,
    duration,
    instant,
    job_number,
    kilobytes,
    limit,
    memory,
    tasks,
    trackable,
    zone_of,
)
from .jobs import MISSING, Jobs, did_you_mean

__all__ = ["LACKS", "read_sacct", "sacct_accounting"]

LACKS = (
    "nodes going down and up",
    "changes of the number of nodes",
    "stops and starts of the manager",
    "reservations",
)
"""Events that accounting records of jobs do not tell."""

T = TypeVar("T")

_ASK = "JobID,JobIDRaw,User,Partition,Submit,Eligible,Start,End,Elapsed,State,Timelimit,ReqCPUS"
_ASK += ",AllocCPUS,AllocNodes,NodeList,ReqMem"


def read_sacct(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    width: str = "requested",
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str = "UTC",
) -> Jobs:
    """Read jobs from the output of ``sacct -P``.

    Parameters
    ----------
    path : the output, plain or packed with gzip or xz, with any choice and order of columns that
        has ``JobID`` (or ``JobIDRaw``), ``Submit``, ``Start``, and ``End`` or ``Elapsed``.
    strict : raise at the first malformed row, instead of skipping and counting it.
    width : where ``procs`` comes from: ``requested`` or ``allocated`` processors (the other where
        that is not known), ``max`` of the two, or ``nodes``.
    columns : names of the columns of a table without a line of names (``sacct -n``).
    delimiter : between two columns; by default as in the line of names, else ``|``.
    timezone : of instants that tell none, such as ``Europe/Moscow``.

    Returns
    -------
    Jobs
        One row per run of a job, in the order of submission; time counts from the first submit
        (``UnixStartTime`` of the header). ``job`` is Slurm's own number where ``JobIDRaw`` tells
        it, else that of the array or heterogeneous job. ``queue`` is the partition; names that
        are no numbers are numbered, and told in the header. A job cancelled before it started has
        no runtime, and its wait is until then. What is not known is -1; ``jobs.report`` counts
        every decision.

    Raises
    ------
    LogError
        When the file is no such table, holds no job, or (strict) a row is malformed.
    """
    check_width(width)
    told = sacct_accounting(
        path, strict=strict, columns=columns, delimiter=delimiter, timezone=timezone
    )
    return told.jobs(width)


def sacct_accounting(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str = "UTC",
) -> Accounting:
    """Read the runs of jobs from the output of ``sacct -P``; parameters as in `read_sacct`."""
    zone = zone_of(timezone)
    rows = read_rows(path, delimiter, columns)
    _check_columns(path, rows.names)
    return _Reading(path, rows, zone, strict).account()


def _check_columns(path: str | os.PathLike[str], names: Sequence[str]) -> None:
    for choice in (("jobid", "jobidraw"), ("submit",), ("start",), ("end", "elapsed")):
        if not any(name in names for name in choice):
            near = did_you_mean(choice[0], [name for name in names if name])
            raise LogError(
                path, f"has no column {' or '.join(choice)}{near}; run sacct -P -o {_ASK}"
            )


class _Reading:
    """From rows to records."""

    def __init__(
        self, path: str | os.PathLike[str], rows: Rows, zone: tzinfo, strict: bool
    ) -> None:
        self.path = path
        self.rows = rows
        self.strict = strict
        self.bad = list(rows.bad)
        self.places = {name: k for k, name in reversed(list(enumerate(rows.names)))}
        self.instant: Callable[[str], float] = partial(instant, zone=zone)
        self.orphans: list[int] = []
        self.pending: list[int] = []
        self.cut: list[int] = []
        self.guessed: list[int] = []
        self.components: list[int] = []
        self.suspended: list[int] = []
        self.clusters = {self._text(row, "cluster") for row in rows.good}

    def account(self) -> Accounting:
        """Return all runs, with what was decided about them."""
        if self.strict and self.bad:
            self._complain(self.bad[0])
        runs: list[Record] = []
        steps: list[tuple[str, Row]] = []
        for row in self.rows.good:
            try:
                number = self._number(row)
                if number.step is not None:
                    steps.append((self._label(number, row), row))
                else:
                    runs.extend(self._runs(number, row))
            except _BadField as fault:
                self.bad.append(fault.malformed)
                if self.strict:
                    self._complain(fault.malformed)
        self.bad.sort(key=lambda bad: bad.line)
        if not runs:
            if self.bad:
                self._complain(self.bad[0])
            raise LogError(self.path, "holds no job; check that the log is complete")
        runs = self._with_steps(runs, steps)
        return account(runs, str(self.path), self._findings(), LACKS)

    def _complain(self, fault: Malformed) -> None:
        raise LogError(
            self.path,
            f"{fault.what}; correct or remove the row",
            line=fault.line,
            field=fault.field,
        )

    def _text(self, row: Row, name: str) -> str:
        place = self.places.get(name)
        return "" if place is None else row.fields[place].strip()

    def _value(self, row: Row, name: str, read: Callable[[str], T]) -> T:
        return self._read(row, name, self._text(row, name), read)

    def _read(self, row: Row, name: str, text: str, read: Callable[[str], T]) -> T:
        try:
            return read(text)
        except (ValueError, OverflowError):
            told = f"'{text[:40]}' is no value of it"
            raise _BadField(Malformed(row.line, "bad-field", told, name)) from None

    def _number(self, row: Row) -> JobNumber:
        name = "jobid" if "jobid" in self.places else "jobidraw"
        return self._value(row, name, job_number)

    def _label(self, number: JobNumber, row: Row) -> str:
        # Clusters number their jobs each for itself.
        cluster = self._text(row, "cluster")
        return number.label if len(self.clusters) < 2 else f"{cluster}:{number.label}"

    def _count(self, row: Row, *names: str) -> int:
        """Return the first count that is told; trackable resources are asked as ``tres.cpu``."""
        for name in names:
            column, _, resource = name.partition(".")
            text = self._text(row, column)
            if resource:
                text = trackable(text).get(resource, "")
            if text:
                return self._read(row, column, text, _count)
        return MISSING

    def _runs(self, number: JobNumber, row: Row) -> Iterator[Record]:
        state = self._text(row, "state").partition(" ")[0].rstrip("+")
        submit, eligible, start, end = (
            self._value(row, name, self.instant) for name in ("submit", "eligible", "start", "end")
        )
        spent = self._value(row, "elapsed", duration)
        if "end" not in self.places and start == start and state not in ("RUNNING", "SUSPENDED"):
            end = start + spent
        requested = self._count(row, "reqcpus", "reqtres.cpu")
        allocated = self._count(row, "alloccpus", "ncpus", "alloctres.cpu")
        held = self._count(row, "allocnodes", "nnodes", "alloctres.node")
        nodes = held if held > 0 else self._count(row, "reqnodes", "reqtres.node")
        if state in ENDED and self._never_started(row, state, start, end):
            start = math.nan
        procs = requested if requested > 0 else allocated
        column = "timelimit" if self._text(row, "timelimit") else "timelimitraw"
        if self._value(row, "suspended", duration) > 0:
            self.suspended.append(number.job)
        record = Record(
            label=self._label(number, row),
            job=number.job,
            submit=submit,
            eligible=eligible,
            start=start,
            end=end,
            limit=self._value(row, column, limit),
            requested=requested,
            allocated=allocated,
            nodes=nodes,
            memory=memory(self._text(row, "reqmem"), nodes, procs),
            cpu_time=self._value(row, "totalcpu", duration),
            resident=kilobytes(self._text(row, "maxrss")),
            state=state,
            user=self._text(row, "uid") or self._text(row, "user"),
            group=self._text(row, "gid") or self._text(row, "group"),
            queue=self._text(row, "partition"),
            node_list=self._text(row, "nodelist"),
            line=row.line,
        )
        if number.component is not None:
            self.components.append(number.job)
        if number.pending is None:
            raw = self._text(row, "jobidraw")
            own = self._value(row, "jobidraw", job_number).job if raw else number.job
            yield record._replace(job=own)
            return
        # Tasks that wait share a record until each starts; their own numbers do not exist yet.
        self.pending.append(number.job)
        if "..." in number.pending:
            self.cut.append(number.job)
        for task in self._value(row, "jobid", lambda _: tasks(number.pending or "")):
            yield record._replace(label=self._label(number._replace(task=task), row))

    def _never_started(self, row: Row, state: str, start: float, end: float) -> bool:
        if start != start:
            return True
        if start != end:
            return False
        # Slurm sets the start of a job that ends while it waits to the moment of that end.
        if "nodelist" in self.places:
            return self._text(row, "nodelist").lower() in ("none assigned", "")
        if "alloctres" in self.places:
            return not self._text(row, "alloctres")
        if "allocnodes" in self.places:
            return self._count(row, "allocnodes") <= 0
        if state == "CANCELLED":
            self.guessed.append(row.line)
        return state == "CANCELLED"

    def _with_steps(self, runs: list[Record], steps: list[tuple[str, Row]]) -> list[Record]:
        """Add what only steps tell: the largest resident set of a task."""
        resident: dict[str, float] = {}
        labels = {run.label for run in runs}
        for label, row in steps:
            if label not in labels:
                self.orphans.append(row.line)
                continue
            size = kilobytes(self._text(row, "maxrss"))
            if size == size:
                resident[label] = max(size, resident.get(label, 0.0))
        return [
            run._replace(resident=resident[run.label])
            if run.resident != run.resident and run.label in resident
            else run
            for run in runs
        ]

    def _findings(self) -> list[Finding]:
        kinds = {
            "too-few-fields": "fewer fields than columns",
            "too-many-fields": "more fields than columns, in no way theirs",
            "bad-field": "a field that its column cannot hold",
        }
        rows = self.rows
        listed = [
            each
            for rule, what in kinds.items()
            for each in found(
                rule, "skip", what, [bad.line for bad in self.bad if bad.rule == rule], "line"
            )
        ]
        if rows.assumed:
            what = f"no column names: those of the query '{rows.assumed}' are taken"
            listed += found("no-names", "repair", what, [rows.good[0].line], "line")
        return [
            *listed,
            *found(
                "joined-row",
                "repair",
                "a text with delimiters or line breaks in it: put together",
                rows.joined,
                "line",
            ),
            *found("orphan-step", "skip", "a step without its job", self.orphans, "line"),
            *found("waiting-tasks", "keep", "a record of tasks that wait: one job for each",
                   self.pending),
            *found("suspended", "keep", "was suspended: its runtime goes on meanwhile",
                   self.suspended),
            *found("cut-tasks", "keep", "Slurm left tasks out of a long list", self.cut),
            *found("component", "keep", "a part of a heterogeneous job, taken as a job",
                   self.components),
            *found(
                "cancelled-at-start",
                "repair",
                "cancelled as it started, and no column tells nodes: taken as never started",
                self.guessed,
                "line",
            ),
        ]  # fmt: skip


class _BadField(Exception):
    """A field that its column cannot hold."""

    def __init__(self, malformed: Malformed) -> None:
        self.malformed = malformed


@lru_cache(maxsize=1 << 12)
def _count(text: str) -> int:
    """Return a count that may be written short, as ``1.5K``."""
    size = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:].upper())
    return round(float(text[:-1]) * size if size else float(text))
