"""External events of a log, for a run of its jobs."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ....cluster import Cluster
from ....engine.calendar import DOWN, RESUME, STOP, STRIKE, UP, WITHDRAW
from ....jobs import EventStream, Jobs
from ....jobs.events import KINDS
from .rows import NO_JOB, Gathered

__all__ = ["gather_stream", "run_on"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WHICH_NODES = "how many nodes, but not which"
_NO_END = "a reservation without an end"
_SAME = 1e-3
"""Seconds within which two submits are the same: times of accounting are large."""


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
            unused[NO_JOB] += 1
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
    """Return jobs that run to their limits where the log tells only that something stopped them.

    What a job would have run without that is not told; at most it is its limit, if it has one.
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


def _rows_of(stream: EventStream, jobs: Jobs) -> tuple[Integers, float]:
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
