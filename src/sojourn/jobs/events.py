"""Events of a job stream [baranov2019, section II]: what happened to a manager, and what it did.

External events come from users, jobs and machines; internal ones are the manager's own. Feeding
the external events of a real system to a model and comparing the internal ones shows how true the
model is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..errors import OptionError, did_you_mean
from .log import ACCOUNTING, format_of, read_log
from .schema import MISSING
from .table import Jobs

if TYPE_CHECKING:
    import pandas as pd

    from .formats.accounting import Accounting
    from .formats.pbs import PbsRecord


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
    "jobs cancelled while they waited, where status or wait is not recorded",
    "whether a job was killed or ended by itself, where status is not recorded",
    "nodes going down and up",
    "changes of the number of nodes",
    "stops and starts of the manager",
    "reservations",
)
_CANCELLED = 5
"""Status of a cancelled job [swf]."""


@dataclass(frozen=True)
class EventStream:
    """Events in the order of time, one array per column.

    Parameters
    ----------
    time : s, as in the log.
    kind : places in `KINDS`.
    job : row in ``labels`` of the job the event is about, -1 for none.
    nodes : how many the event is about, -1 if not known.
    labels : names of the jobs' runs, in the order of submission.
    source : where the events came from.
    lacks : kinds of events that such a log does not record, in words.
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
        counts = np.bincount(self.kind, minlength=len(KINDS))
        return {kind: int(count) for kind, count in zip(KINDS, counts, strict=True) if count}

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


Part = tuple[Floats, NDArray[np.int8], Ints, Ints, Ints]
"""Some events of one kind: times, codes of the kind, rows of jobs, nodes, ranks at one instant."""


def _part(
    kind: str, time: Floats, rows: NDArray[Any], nodes: Ints, after: Floats | None = None
) -> Part:
    """Return an event of a kind for some jobs; `after`: the time of what it cannot precede."""
    job = np.flatnonzero(rows)
    code = KINDS.index(kind)
    rank = np.full(job.size, _RANK[code])
    if after is not None:
        rank[time[job] == after[job]] += len(KINDS)
    return time[job], np.full(job.size, code, np.int8), job, nodes[job], rank


def _reservations(records: Sequence[PbsRecord]) -> Part:
    """Return the starts of reservations, which only PBS records."""
    starts = [record for record in records if record.type == "B"]
    time = np.array([record.time for record in starts], np.float64)
    counts = [record.fields.get("Resource_List.nodect", "") for record in starts]
    nodes = np.array([int(c) if c.isdecimal() else MISSING for c in counts], np.int64)
    times, codes, job, nodes, rank = _part("RESERVE", time, np.ones(time.size), nodes)
    return times, codes, np.full_like(job, MISSING), nodes, rank


def _stream(
    parts: Sequence[Part], labels: NDArray[Any], source: str, lacks: Sequence[str]
) -> EventStream:
    """Return all events in order."""
    time, kind, job, nodes, rank = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((job, rank, time))
    return EventStream(
        time[order], kind[order], job[order], nodes[order], labels, source, tuple(lacks)
    )


def events_of(log: Jobs | Accounting) -> EventStream:
    """Return the events of a log.

    Parameters
    ----------
    log : jobs, whose ``wait`` and ``status`` give starts and cancellations as far as [swf] can, or
        the accounting of a manager.
    """
    if isinstance(log, Jobs):
        parts = _of_jobs(log)
        return _stream(parts, log.job.astype(np.str_), log.source, _SWF_LACKS)
    return _stream(_of_accounting(log), log["run"], log.source, log.lacks)


def _of_accounting(log: Accounting) -> list[Part]:
    submit, start, end, limit = (log[name] for name in ("submit", "start", "end", "limit"))
    state, nodes = log["state"], log["nodes"]
    started, ended = np.isfinite(start), np.isfinite(end)
    lost, by_hand = np.isin(state, _LOST), np.isin(state, _BY_HAND)
    # A job that the manager ends at its limit is no news to it; Slurm does so some seconds late.
    by_limit = (state == "TIMEOUT") | (end - start >= limit)
    ran = started & ended
    # Some node of the job went down: which, and how many, is not known.
    unknown = np.full(len(log), MISSING)
    return [
        _part("SUBMIT", submit, np.isfinite(submit), nodes),
        _part("CANCEL", end, ended & ~started, nodes, submit),
        _part("KILL", end, ran & by_hand, nodes, start),
        _part("DOWN", end, ran & lost, unknown, start),
        _part("EARLY", end, ran & ~by_hand & ~lost & ~by_limit, nodes, start),
        _part("START", start, started, nodes),
        _part("END", end, ran, nodes, start),
    ]


def _of_jobs(jobs: Jobs) -> list[Part]:
    submit, wait, runtime, procs = jobs.submit, jobs.wait, jobs.runtime, jobs.procs
    start = submit + wait
    end = start + runtime
    known = wait >= 0
    ran = known & (runtime >= 0)
    cancelled = jobs.status == _CANCELLED
    never = known & cancelled & (runtime <= 0)
    by_limit = (jobs.estimate > 0) & (runtime >= jobs.estimate)
    return [
        _part("SUBMIT", submit, np.ones(len(jobs)), procs),
        _part("CANCEL", start, never, procs, submit),
        _part("KILL", end, ran & cancelled & ~never, procs, start),
        _part("EARLY", end, ran & ~cancelled & ~by_limit, procs, start),
        _part("START", start, known & ~never, procs),
        _part("END", end, ran & ~never, procs, start),
    ]


def read_events(
    path: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> EventStream:
    """Read the events of a log of any known format.

    Parameters
    ----------
    path : the log.
    format : ``sacct``, ``jobcomp``, ``pbs``, or a format of `read_log`; by default by the file's
        content or suffix.
    options : of that format's reader.
    """
    name = format or format_of(path)
    if name not in ACCOUNTING:
        return events_of(read_log(path, format=name, **options))
    log = read_accounting(path, name, **options)
    parts = _of_accounting(log)
    if name == "pbs":
        from .formats.pbs import pbs_records

        lines = {name: options[name] for name in ("strict", "timezone") if name in options}
        parts.append(_reservations(pbs_records(path, **lines)[0]))
    return _stream(parts, log["run"], log.source, log.lacks)


def read_accounting(path: str | os.PathLike[str], format: str, **options: Any) -> Accounting:
    """Read the accounting of a manager: ``sacct``, ``jobcomp`` or ``pbs``."""
    if format not in ACCOUNTING:
        raise OptionError(f"format '{format}' is no accounting; use sacct, jobcomp or pbs")
    module = import_module(f".formats.{format}", __package__)
    accounting: Accounting = getattr(module, f"{format}_accounting")(path, **options)
    return accounting
