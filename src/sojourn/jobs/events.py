"""Events of a job stream [baranov2019, section II]: what a manager met, and what it did.

External events come from users, jobs and machines; internal ones are the manager's own. Feeding
the external events of a real system to a model and comparing the internal ones tells how true the
model is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError, did_you_mean
from .formats.accounting import Accounting
from .schema import (
    MISSING,
)
from .table import Jobs

if TYPE_CHECKING:
    import pandas as pd

    from .formats.pbs import PbsRecord

__all__ = [
    "EXTERNAL",
    "INTERNAL",
    "KINDS",
    "EventStream",
    "events_of",
    "read_accounting",
    "read_events",
]

EXTERNAL = ("SUBMIT", "CANCEL", "KILL", "EARLY", "DOWN", "UP", "STOP", "RESUME", "RESERVE")
"""Events from outside: a submit; a job cancelled while it waits, killed while it runs, or ending by
itself before its limit; nodes going down and up; the manager stopping and going on; a reservation.
"""

INTERNAL = ("START", "END")
"""What the manager does: start a job, and free its nodes at its end."""

KINDS = (*EXTERNAL, *INTERNAL)
"""Every kind of event; the code of a kind is its place."""

# At one instant nodes are freed before anything else happens, and jobs start last.
_ORDER = ("KILL", "EARLY", "DOWN", "END", "UP", "STOP", "RESUME", "CANCEL", "RESERVE", "SUBMIT")
_RANK = np.array([(*_ORDER, "START").index(kind) for kind in KINDS])

_LOST = ("NODE_FAIL", "BOOT_FAIL")
_BY_HAND = ("CANCELLED", "REVOKED", "PREEMPTED", "REQUEUED", "DEADLINE")
_SWF_LACKS = (
    "jobs cancelled while they waited, where status or wait is not told",
    "whether a job was killed or ended by itself, where status is not told",
    "nodes going down and up",
    "changes of the number of nodes",
    "stops and starts of the manager",
    "reservations",
)
_CANCELLED = 5
"""Status of a cancelled job [swf]."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EventStream:
    """Events in the order of time, one array per column.

    Parameters
    ----------
    time : s, as in the log.
    kind : places in `KINDS`.
    job : row in ``labels`` of the job the event is about, -1 for none.
    nodes : how many the event is about, -1 if that is not told.
    labels : names of the jobs' runs, in the order of submission.
    source : where the events came from.
    lacks : what such a log cannot tell, in words.
    """

    time: Floats
    kind: NDArray[np.int8]
    job: Ints
    nodes: Ints
    labels: NDArray[Any]
    source: str = ""
    lacks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.time.size)

    def only(self, kinds: Iterable[str]) -> EventStream:
        """Return the events of some kinds."""
        codes = []
        for kind in kinds:
            if kind not in KINDS:
                near = did_you_mean(kind, KINDS) or f"; known kinds: {', '.join(KINDS)}"
                raise OptionError(f"no event is called '{kind}'{near}")
            codes.append(KINDS.index(kind))
        mine = np.isin(self.kind, codes)
        return replace(
            self,
            time=self.time[mine],
            kind=self.kind[mine],
            job=self.job[mine],
            nodes=self.nodes[mine],
        )

    def external(self) -> EventStream:
        """Return what came from outside: the input of a model."""
        return self.only(EXTERNAL)

    def internal(self) -> EventStream:
        """Return what the manager did: what a model has to reproduce."""
        return self.only(INTERNAL)

    def counts(self) -> dict[str, int]:
        """Return how many events of each kind there are; kinds without any are left out."""
        found = np.bincount(self.kind, minlength=len(KINDS))
        return {kind: int(count) for kind, count in zip(KINDS, found, strict=True) if count}

    def to_pandas(self) -> pd.DataFrame:
        """Return the events as a data frame: time, kind, job (by its name) and nodes."""
        import pandas as pd

        names = np.append(self.labels.astype(object), "")
        return pd.DataFrame(
            {
                "time": self.time,
                "kind": pd.Categorical.from_codes(self.kind.tolist(), categories=pd.Index(KINDS)),
                "job": names[self.job],
                "nodes": self.nodes,
            }
        )


class _Gathering:
    """Events of several kinds, on their way into one order."""

    def __init__(self) -> None:
        self.parts: list[tuple[Floats, NDArray[np.int8], Ints, Ints, Ints]] = []

    def add(
        self, kind: str, time: Floats, rows: Ints, nodes: Ints, after: Floats | None = None
    ) -> None:
        """Add an event of a kind for some jobs; `after`: the time of what it cannot precede."""
        code = KINDS.index(kind)
        rank = np.full(rows.size, _RANK[code])
        if after is not None:
            rank[time[rows] == after[rows]] += len(KINDS)
        codes = np.full(rows.size, code, np.int8)
        self.parts.append((time[rows], codes, rows, nodes[rows], rank))

    def add_reservations(self, records: Sequence[PbsRecord]) -> None:
        """Add the beginnings of reservations, which only PBS tells."""
        begun = [record for record in records if record.type == "B"]
        time = np.array([record.time for record in begun], np.float64)
        counts = [record.told.get("Resource_List.nodect", "") for record in begun]
        nodes = np.array([int(c) if c.isdecimal() else MISSING for c in counts], np.int64)
        code = KINDS.index("RESERVE")
        self.parts.append(
            (
                time,
                np.full(time.size, code, np.int8),
                np.full(time.size, MISSING),
                nodes,
                np.full(time.size, _RANK[code]),
            )
        )

    def stream(self, labels: NDArray[Any], source: str, lacks: Sequence[str]) -> EventStream:
        """Return all events in order."""
        columns = [np.concatenate(each) for each in zip(*self.parts, strict=True)]
        time, kind, job, nodes, rank = columns
        order = np.lexsort((job, rank, time))
        return EventStream(
            time[order], kind[order], job[order], nodes[order], labels, source, tuple(lacks)
        )


def events_of(told: Jobs | Accounting) -> EventStream:
    """Return the events of a log.

    Parameters
    ----------
    told : jobs, whose ``wait`` and ``status`` tell starts and cancellations as far as [swf] can, or
        the accounting of a manager.
    """
    if isinstance(told, Jobs):
        return _of_jobs(told)
    gathering = _Gathering()
    _gather(gathering, told)
    return gathering.stream(told["run"], told.source, told.lacks)


def _gather(gathering: _Gathering, told: Accounting) -> None:
    submit, start, end, limit = (told[name] for name in ("submit", "start", "end", "limit"))
    state, nodes = told["state"], told["nodes"]
    started, ended = np.isfinite(start), np.isfinite(end)
    lost, by_hand = np.isin(state, _LOST), np.isin(state, _BY_HAND)
    # A job that the manager ends at its limit is no news to it; Slurm does so some seconds late.
    by_limit = (state == "TIMEOUT") | (end - start >= limit)
    ran = started & ended
    # Some node of the job went down: which, and how many, is not told.
    untold = np.full(len(told), MISSING)
    for kind, time, rows, count, after in (
        ("SUBMIT", submit, np.isfinite(submit), nodes, None),
        ("CANCEL", end, ended & ~started, nodes, submit),
        ("KILL", end, ran & by_hand, nodes, start),
        ("DOWN", end, ran & lost, untold, start),
        ("EARLY", end, ran & ~by_hand & ~lost & ~by_limit, nodes, start),
        ("START", start, started, nodes, None),
        ("END", end, ran, nodes, start),
    ):
        gathering.add(kind, time, np.flatnonzero(rows), count, after)


def _of_jobs(jobs: Jobs) -> EventStream:
    submit, wait, runtime = jobs.submit, jobs.wait, jobs.runtime
    start = submit + wait
    end = start + runtime
    known = wait >= 0
    ran = known & (runtime >= 0)
    cancelled = jobs.status == _CANCELLED
    never = known & cancelled & (runtime <= 0)
    by_limit = (jobs.estimate > 0) & (runtime >= jobs.estimate)
    gathering = _Gathering()
    for kind, time, rows, after in (
        ("SUBMIT", submit, np.ones(len(jobs), np.bool_), None),
        ("CANCEL", start, never, submit),
        ("KILL", end, ran & cancelled & ~never, start),
        ("EARLY", end, ran & ~cancelled & ~by_limit, start),
        ("START", start, known & ~never, None),
        ("END", end, ran & ~never, start),
    ):
        gathering.add(kind, time, np.flatnonzero(rows), jobs.procs, after)
    return gathering.stream(jobs.job.astype(np.str_), jobs.source, _SWF_LACKS)


def read_events(
    path: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> EventStream:
    """Read the events of a log of any known format.

    Parameters
    ----------
    path : the log.
    format : ``sacct``, ``jobcomp``, ``pbs``, or a format of `read_log`; by default told by the
        file's content or suffix.
    options : of that format's reader.
    """
    from .log import format_of, read_log

    name = format or format_of(path)
    if name == "pbs":
        from .formats.pbs import pbs_records

        gathering = _Gathering()
        told = read_accounting(path, name, **options)
        _gather(gathering, told)
        lines = {name: options[name] for name in ("strict", "timezone") if name in options}
        gathering.add_reservations(pbs_records(path, **lines)[0])
        return gathering.stream(told["run"], told.source, told.lacks)
    if name in ("sacct", "jobcomp"):
        return events_of(read_accounting(path, name, **options))
    return events_of(read_log(path, format=name, **options))


def read_accounting(path: str | os.PathLike[str], format: str, **options: Any) -> Accounting:
    """Read the accounting of a manager: ``sacct``, ``jobcomp`` or ``pbs``."""
    if format == "sacct":
        from .formats.sacct import sacct_accounting

        return sacct_accounting(path, **options)
    if format == "jobcomp":
        from .formats.jobcomp import jobcomp_accounting

        return jobcomp_accounting(path, **options)
    if format == "pbs":
        from .formats.pbs import pbs_accounting

        return pbs_accounting(path, **options)
    raise OptionError(f"format '{format}' is no accounting; use sacct, jobcomp or pbs")
