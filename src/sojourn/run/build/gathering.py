"""External events gathered into one order: those given as rows, and those of a log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from ...arrays import Floats, Ints
from ...cluster import Cluster
from ...engine.happenings import (
    DOWN,
    EARLY,
    RESERVE,
    RESUME,
    STOP,
    STRIKE,
    UP,
    WITHDRAW,
)
from ...engine.happenings import KINDS as GIVEN
from ...jobs import EventStream, ExternalEvent, ExternalEvents, Jobs
from ...jobs.events import KINDS

_NO_JOB = "no such job among those to run"
_WHICH_NODES = "how many nodes, but not which"
_NO_END = "a reservation without an end"
"""Why an event has no meaning."""

_SAME = 1e-3
"""Seconds within which two submits are the same: times of accounting are large."""

ENDS, BEGINS, LAST = range(3)
"""Whose turn it is at an instant."""


@dataclass
class Gathered:
    """Events on their way into one order; `place` is the row that an event is of, or part of.

    `turn` is its turn at its instant: what ends, then reservations that begin, then all others.
    """

    time: list[float] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    about: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    place: list[ExternalEvent | None] = field(default_factory=list)
    reserved: list[tuple[float, float, float, int, ExternalEvent]] = field(default_factory=list)

    def add(
        self,
        time: float,
        kind: int,
        about: int = 0,
        *,
        event: ExternalEvent | None,
        turn: int = LAST,
    ) -> None:
        """Add one."""
        self.time.append(time)
        self.kind.append(kind)
        self.about.append(about)
        self.turn.append(turn)
        self.place.append(event)


def gather_rows(
    into: Gathered,
    events: ExternalEvents,
    jobs: Jobs,
    work: Floats,
    cluster: Cluster,
    unused: Counter[str],
) -> None:
    """Take events given one by one: what happens goes `into` one order, early ends into `work`."""
    rows: dict[int, int] = {}
    for row, job in enumerate(jobs.job.tolist()):
        rows.setdefault(job, row)
    for event in events.rows:
        about: list[int] = [0]
        if event.job is not None:
            if event.job not in rows:
                unused[_NO_JOB] += 1
                continue
            about = [rows[event.job]]
        elif event.procs is not None:
            if cluster.is_named:
                problem = "the cluster has named nodes; give their names in 'nodes'"
                raise events.error(event, "procs", problem)
            about = [event.procs]
        elif event.nodes:
            about = _nodes(event, events, cluster)
        kind = GIVEN[event.kind]
        what = kind.does[
            next((name for name in kind.about if getattr(event, name) not in (None, ())), "")
        ]
        if what == EARLY:
            assert event.runtime is not None
            work[about[0]] = min(work[about[0]], event.runtime)
        elif what == RESERVE:
            assert event.until is not None
            announced = -np.inf if event.announced is None else event.announced
            for which in about:
                if not cluster.is_named and which > cluster.procs:
                    problem = f"the machine has only {cluster.procs} processors"
                    raise events.error(event, "procs", problem)
                into.reserved.append((announced, event.time, event.until, which, event))
        else:
            for which in about:
                into.add(event.time, what, which, event=event)
                if event.until is not None:
                    into.add(event.until, kind.then, which, event=event, turn=ENDS)


def _nodes(event: ExternalEvent, events: ExternalEvents, cluster: Cluster) -> list[int]:
    """The nodes that an event names, itself or by their rack, by their places in the cluster."""
    if not cluster.is_named:
        raise events.error(event, "nodes", "processors are only counted; give 'procs'")
    names = [node.name for node in cluster.nodes]
    racks = {rack.name: list(rack.nodes) for rack in cluster.racks}
    places: list[int] = []
    for pattern in event.nodes:
        hits = [k for k, name in enumerate(names) if name == pattern]
        hits = hits or racks.get(pattern, [])
        hits = hits or [k for k, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not hits:
            shown = ", ".join(names[:3])
            raise events.error(
                event, "nodes", f"no node is called '{pattern}'; the cluster has {shown}, ..."
            )
        places += [k for k in hits if k not in places]
    return places


def gather_stream(
    into: Gathered,
    stream: EventStream,
    jobs: Jobs,
    work: Floats,
    cluster: Cluster,
    unused: Counter[str],
) -> int:
    """Take the external events of a log; how many there were.

    Withdrawals, failures and stops happen at their own instants. How long a job runs before it ends
    by itself is its own matter, whenever it starts [baranov2019, section II].
    """
    row, shift = _rows_of(stream, jobs)
    code = {name: KINDS.index(name) for name in KINDS}
    starts = np.full(len(stream.labels) + 1, np.nan)
    begun = stream.kind == code["START"]
    starts[stream.job[begun]] = stream.time[begun]
    number = 0
    columns = (stream.time - shift, stream.kind, stream.job, stream.nodes)
    for time, kind, label, nodes in zip(*(c.tolist() for c in columns), strict=True):
        name = KINDS[kind]
        if name in ("SUBMIT", "START", "END"):
            continue
        number += 1
        j = int(row[label]) if label >= 0 else -1
        if label >= 0 and j < 0:
            unused[_NO_JOB] += 1
        elif name == "EARLY":
            runtime = time + shift - starts[label]
            if runtime >= 0:
                work[j] = min(work[j], runtime)
        elif name in ("CANCEL", "KILL"):
            into.add(time, WITHDRAW, j, event=None)
        elif name == "DOWN" and j >= 0:
            into.add(time, STRIKE, j, event=None)
        elif name in ("DOWN", "UP"):
            if cluster.is_named or nodes < 1:
                unused[_WHICH_NODES] += 1
            else:
                into.add(time, DOWN if name == "DOWN" else UP, nodes, event=None)
        elif name == "RESERVE":
            unused[_NO_END] += 1
        else:
            into.add(time, STOP if name == "STOP" else RESUME, event=None)
    return number


def run_on(jobs: Jobs, stream: EventStream) -> Jobs:
    """Return jobs that run to their limits where the log records only that something stopped them.

    What a job would have run without that is not known; at most it is its limit, if it has one.
    """
    row, _ = _rows_of(stream, jobs)
    stopped = np.isin(stream.kind, [KINDS.index(kind) for kind in ("CANCEL", "KILL", "DOWN")])
    rows = row[stream.job[stopped & (stream.job >= 0)]]
    rows = np.unique(rows[rows >= 0])
    rows = rows[jobs.estimate[rows] > np.maximum(jobs.work[rows], jobs.runtime[rows])]
    if not len(rows):
        return jobs
    runtime, work = jobs.runtime.copy(), jobs.work.copy()
    runtime[rows] = work[rows] = jobs.estimate[rows]
    return jobs.replace(runtime=runtime, work=work)


def _rows_of(stream: EventStream, jobs: Jobs) -> tuple[Ints, float]:
    """The row of each label's job, -1 for none; and how far the clocks are apart (s).

    By place where the stream is of exactly these jobs, else by number and submit.
    """
    count = len(stream.labels)
    submitted = np.full(count, np.nan)
    came = stream.kind == KINDS.index("SUBMIT")
    submitted[stream.job[came]] = stream.time[came]
    if count == len(jobs) > 0:
        apart = submitted - jobs.submit
        if np.all(np.abs(apart - apart[0]) < _SAME):
            return np.arange(count), float(apart[0])
    places: dict[str, list[int]] = {}
    for place, job in enumerate(jobs.label.tolist()):
        places.setdefault(job, []).append(place)
    row = np.full(count, -1)
    shift: float | None = None
    for label, name in enumerate(stream.labels.tolist()):
        for place in places.get(str(name), []):
            apart_here = float(submitted[label] - jobs.submit[place])
            if np.isnan(apart_here):
                row[label] = place
                break
            shift = apart_here if shift is None else shift
            if abs(apart_here - shift) < _SAME:
                row[label] = place
                break
    return row, shift or 0.0
