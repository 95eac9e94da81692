"""Accounting of Slurm, as ``sacct -P`` prints it [slurm]."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ...errors import LogError, OptionError, check_choice, did_you_mean
from ..report import Finding, noted
from ..schema import MISSING
from ..table import Jobs
from ._sacct_rows import Malformed, Row, SacctRows, read_rows, row_findings
from .accounting import ACCOUNTED_WIDTHS, ENDED, Accounting, Record
from .clock import LogClock
from .runs import WAITS, account
from .slurm_fields import (
    JobNumber,
    count,
    duration,
    gpu_types_among,
    gpu_types_in,
    gpus_among,
    gpus_in,
    job_number,
    kilobytes,
    known_text,
    licences_among,
    limit,
    memory,
    memory_per_node,
    resources_among,
    tasks,
    trackable,
)

LACKS = (
    "nodes going down and up",
    "changes of the number of nodes",
    "stops and starts of the manager",
    "reservations",
)
"""Events that are not in the accounting records of jobs."""

T = TypeVar("T")

_ASK = "JobID,JobIDRaw,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,State,Timelimit"
_ASK += ",ReqCPUS,AllocCPUS,NNodes,NodeList,ReqMem,ReqTRES"
_ROUNDING = 1.0  # s
_NOTES = {
    "orphan-step": ("skip", "a step without its job", "line"),
    "waiting-tasks": ("keep", "a record of tasks that wait: one job for each", "job"),
    "suspended": ("keep", "was suspended: its runtime goes on meanwhile", "job"),
    "elapsed": ("repair", "End is not Elapsed after Start: Elapsed is taken", "job"),
    "cut-tasks": ("keep", "Slurm left tasks out of a long list", "job"),
    "mixed-gpus": ("keep", "asks for GPUs of several types: counted together", "job"),
    "component": ("keep", "a part of a heterogeneous job, taken as a job", "job"),
    "cancelled-at-start": (
        "repair",
        "cancelled as it started, and no column has nodes: taken as never started",
        "line",
    ),
}
"""What is decided about rows: the action, the words and what is counted, by rule."""


def read_sacct(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    width: str = "requested",
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str | None = None,
    wait_from: str = "submit",
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
    timezone : of instants that name none, such as ``Europe/Berlin``; by default they are taken as
        they stand, and the header says so.
    wait_from : ``submit``, or ``eligible``: a job that was held, or waited for another one, counts
        as submitted when it could have started.

    Returns
    -------
    Jobs
        One row per run of a job, in the order of submission; time counts from the first submit
        (``UnixStartTime`` of the header). ``job`` is Slurm's own number where ``JobIDRaw`` or
        ``JobID`` has one; tasks of arrays and further runs without one get numbers that are
        free. ``label`` is the job as Slurm names it: ``12_3``, ``12+1``; ``12#2`` for the second
        run of a job that was requeued, which is submitted when it was requeued. ``queue`` and
        ``partition`` are Slurm's partition; names are numbered, and listed in the header. ``nodes``
        are those it had, or requested if it never started; ``gpus`` all it requested, and other
        generic resources (``gres/mic=2``) are columns of their own. ``begin`` is when it became
        eligible, where that is later than its submit. A runtime is
        ``Elapsed`` (and the time suspended) where that is given, else from start to end. A job
        cancelled before it started has no runtime, and its wait is until then. What is not known is
        -1; ``jobs.report`` counts every decision.

    Raises
    ------
    LogError
        When the file is no such table, holds no job, or (strict) a row is malformed.
    """
    check_choice("width", width, ACCOUNTED_WIDTHS)
    return sacct_accounting(
        path,
        strict=strict,
        columns=columns,
        delimiter=delimiter,
        timezone=timezone,
        wait_from=wait_from,
    ).jobs(width)


def sacct_accounting(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    timezone: str | None = None,
    wait_from: str = "submit",
) -> Accounting:
    """Read the runs of jobs from the output of ``sacct -P``; parameters as in `read_sacct`."""
    check_choice("wait_from", wait_from, WAITS)
    clock = LogClock(timezone)
    _check_given(columns)
    rows = read_rows(path, delimiter, columns)
    _check_columns(path, rows.names)
    return _Reading(path, rows, clock, strict).account(wait_from)


def _check_given(names: Sequence[str] | None) -> None:
    """Raise OptionError where a column is given twice, or without a name."""
    known: set[str] = set()
    for name in names or ():
        if not name.strip():
            raise OptionError("columns: one has no name; name them all, in the order of the file")
        if name.lower() in known:
            raise OptionError(f"columns: '{name}' is given twice; name each column once")
        known.add(name.lower())


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
        self, path: str | os.PathLike[str], rows: SacctRows, clock: LogClock, strict: bool
    ) -> None:
        self.path = path
        self.rows = rows
        self.strict = strict
        self.bad = list(rows.bad)
        self.places = {name: k for k, name in reversed(list(enumerate(rows.names)))}
        self.clock = clock
        self.notes: dict[str, list[int]] = {rule: [] for rule in _NOTES}
        self.clusters = {self._text(row, "cluster") for row in rows.good}

    def account(self, wait_from: str) -> Accounting:
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
        return account(
            runs,
            str(self.path),
            self._findings(),
            LACKS,
            header=self.clock.header(),
            wait_from=wait_from,
        )

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
            problem = f"'{text[:40]}' is no value of it"
            raise _BadField(Malformed(row.line, "bad-field", problem, name)) from None

    def _number(self, row: Row) -> JobNumber:
        name = "jobid" if "jobid" in self.places else "jobidraw"
        return self._value(row, name, job_number)

    def _label(self, number: JobNumber, row: Row) -> str:
        # Clusters number their jobs each for itself.
        cluster = self._text(row, "cluster")
        return number.label if len(self.clusters) < 2 else f"{cluster}:{number.label}"

    def _count(self, row: Row, *names: str) -> int:
        """Return the first count that is given; trackable resources are named as ``tres.cpu``."""
        for name in names:
            column, _, resource = name.partition(".")
            text = self._text(row, column)
            if resource:
                text = trackable(text).get(resource, "")
            if text:
                return self._read(row, column, text, count)
        return MISSING

    def _runs(self, number: JobNumber, row: Row) -> Iterator[Record]:
        record = self._record(number, row)
        if number.component is not None:
            self.notes["component"].append(number.job)
        if number.pending is None:
            raw = self._text(row, "jobidraw")
            if raw:
                own = self._value(row, "jobidraw", job_number).job
                yield record._replace(job=own, array=number.job)
            else:
                alone = number.task is None and number.component is None
                yield record._replace(has_number=alone)
            return
        # Tasks that wait share a record until each starts; their own numbers do not exist yet.
        self.notes["waiting-tasks"].append(number.job)
        if "..." in number.pending:
            self.notes["cut-tasks"].append(number.job)
        for task in self._value(row, "jobid", lambda _: tasks(number.pending or "")):
            label = self._label(number._replace(task=task), row)
            yield record._replace(label=label, has_number=False)

    def _record(self, number: JobNumber, row: Row) -> Record:
        state = self._text(row, "state").partition(" ")[0].rstrip("+")
        submit, eligible, start, end = self._times(number, row, state)
        if state in ENDED and self._never_started(row, state, start, end):
            start = math.nan
        requested = self._count(row, "reqcpus", "reqtres.cpu")
        allocated = self._count(row, "alloccpus", "ncpus", "alloctres.cpu")
        least_nodes = self._count(row, "reqtres.node", "reqnodes")
        had = self._count(row, "allocnodes", "nnodes", "alloctres.node")
        nodes = had if had > 0 else least_nodes
        procs = requested if requested > 0 else allocated
        memory_text = self._text(row, "reqmem")
        if not memory_text:
            memory_text = trackable(self._text(row, "reqtres")).get("mem", "")
        column = "timelimit" if self._text(row, "timelimit") else "timelimitraw"
        return Record(
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
            memory=memory(memory_text, nodes, procs),
            cpu_time=self._value(row, "totalcpu", duration),
            resident=kilobytes(self._text(row, "maxrss")),
            state=state,
            user=self._text(row, "user") or self._text(row, "uid"),
            group=self._text(row, "group") or self._text(row, "gid"),
            queue=self._text(row, "partition"),
            node_list=self._text(row, "nodelist"),
            line=row.line,
            name=self._text(row, "jobname"),
            uid=self._text(row, "uid"),
            gid=self._text(row, "gid"),
            account=self._text(row, "account"),
            partition=self._text(row, "partition"),
            qos=self._text(row, "qos"),
            least_nodes=least_nodes,
            gpus=self._gpus(row, nodes),
            features=self._features(row),
            gpu_type=self._gpu_type(row, number),
            memory_per_node=memory_per_node(memory_text, nodes, procs),
            licences=self._licences(row),
            resources=self._value(row, self._requests(row), resources_among),
            after=known_text(self._text(row, "dependency")),
        )

    def _requests(self, row: Row) -> str:
        """Return the column of trackable resources that says most of what was requested."""
        return "reqtres" if self._text(row, "reqtres") else "alloctres"

    def _features(self, row: Row) -> str | None:
        if "constraints" not in self.places:
            return None
        # Of two empty columns after it, the first may have gone to a text with bars in it.
        return known_text(self._text(row, "constraints")).rstrip("|")

    def _licences(self, row: Row) -> str:
        written = known_text(self._text(row, "licenses"))
        return written or self._value(row, self._requests(row), licences_among)

    def _gpu_type(self, row: Row, number: JobNumber) -> str:
        """Return the requested type of GPU; empty if any will do, or several."""
        types = self._value(row, self._requests(row), gpu_types_among)
        if not types:
            types = gpu_types_in(self._text(row, "reqgres"))
        if len(types) > 1:
            self.notes["mixed-gpus"].append(number.job)
        return types[0] if len(types) == 1 else ""

    def _times(self, number: JobNumber, row: Row, state: str) -> tuple[float, float, float, float]:
        """Return submit, eligible, start and end; the last by what was spent, where that is given.

        Local times are an hour off over a night on which clocks change; elapsed time is not.
        """
        moments = [
            self._value(row, name, self.clock.moment)
            for name in ("submit", "eligible", "start", "end")
        ]
        spent = self._value(
            row, "elapsed" if self._text(row, "elapsed") else "elapsedraw", duration
        )
        pause = self._value(row, "suspended", duration)
        pause = pause if pause > 0 else 0.0
        if pause:
            self.notes["suspended"].append(number.job)
            # Elapsed time leaves out that of suspension, in which a job keeps its place.
            spent += pause
        submit, eligible, start, end = self.clock.settled(moments, spent, row.line)
        if not math.isfinite(start + spent) or state in ("RUNNING", "SUSPENDED"):
            return submit, eligible, start, end
        lasted = end - start
        known = lasted == lasted
        if known and min(abs(lasted - spent), abs(lasted - spent + pause)) <= _ROUNDING:
            return submit, eligible, start, end
        if known:
            self.notes["elapsed"].append(number.job)
        if known or "end" not in self.places or state in ENDED:
            end = start + spent
        return submit, eligible, start, end

    def _gpus(self, row: Row, nodes: int) -> int:
        """Return the GPUs that a job requested, in all; -1 if not known."""
        requested, had = (self._value(row, name, gpus_among) for name in ("reqtres", "alloctres"))
        if requested < 0 and had < 0:
            per_node = self._value(row, "reqgres", gpus_in)
            return per_node * max(nodes, 1) if "reqgres" in self.places else MISSING
        return requested if requested > 0 else max(requested, had)

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
            self.notes["cancelled-at-start"].append(row.line)
        return state == "CANCELLED"

    def _with_steps(self, runs: list[Record], steps: list[tuple[str, Row]]) -> list[Record]:
        """Add what only steps have: the largest resident set of a task."""
        resident: dict[str, float] = {}
        labels = {run.label for run in runs}
        for label, row in steps:
            if label not in labels:
                self.notes["orphan-step"].append(row.line)
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
        return [
            *row_findings(self.rows, self.bad),
            *(
                note
                for rule, (action, what, unit) in _NOTES.items()
                for note in noted(rule, action, what, self.notes[rule], unit)
            ),
            *self.clock.findings(),
        ]


class _BadField(Exception):
    """A field that its column cannot hold."""

    def __init__(self, malformed: Malformed) -> None:
        self.malformed = malformed
