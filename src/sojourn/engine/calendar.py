"""External events: what users, jobs and machines do to a run, and what becomes of the jobs.

They come in their order, after the completions of an instant and before its arrivals. Whoever
leaves the queue or returns to it is noted, and the next pass brings the queue up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import called, inlined
from .nodes import shift_node
from .service import depart, leave, present
from .state import table
from .types import (
    ARRIVE,
    CANCELLED,
    EXPECTED,
    FINISH,
    GONE,
    KILLED,
    NEW,
    RUNS,
    SWITCH,
    UNDECIDED,
    UNSEEN,
    WAITS,
)

__all__ = ["EVENT", "RESERVATION", "Calendar", "arrive", "happen", "look_ahead", "make_calendar"]
__all__ += ["due_time", "reserved_now", "stretch_of"]

# What happens: a job is withdrawn by hand, or struck by a failure of one of its nodes; processors
# go down and up; the manager stops and goes on; a reservation begins or ends, so that there is
# something to look at.
WITHDRAW, STRIKE, DOWN, UP, STOP, RESUME, LOOK = range(7)

EVENT = np.dtype([("time", "f8"), ("kind", "i8"), ("about", "i8"), ("more", "i8")], align=True)
"""`about` is a job, a node, or a number of processors; `more`: whether the next is a part of the
same event."""

RESERVATION = np.dtype(
    [("announced", "f8"), ("begins", "f8"), ("ends", "f8"), ("what", "i8")], align=True
)
"""`what` is a node, or a number of processors; times in s."""

OUTCOME = np.dtype(
    [(name, "f8") for name in ("left", "worked", "since", "began", "amount")]
    + [(name, "i8") for name in ("state", "fate", "restarts")],
    align=True,
)
"""Of a job: when it left the system (s), its work done; of its stretch of service the beginning,
as time and as work, and the amount of work that was before it then; where it is, and what became
of it."""


class Calendar(NamedTuple):
    """Events in their order, reservations by their beginnings, and what becomes of the jobs.

    `returned` are jobs that wait again, `withdrawn` such as wait no longer, since the last pass.
    """

    event: np.ndarray
    reservation: np.ndarray
    job: np.ndarray
    returned: np.ndarray
    withdrawn: np.ndarray


def make_calendar(
    events: np.ndarray | None, reservations: np.ndarray | None, jobs: int
) -> Calendar:
    """Return a calendar before the run; without events it only keeps account of the jobs."""
    outcome = table(jobs, OUTCOME)
    outcome["left"] = outcome["worked"] = np.nan
    count = 0 if events is None else jobs
    if reservations is None:
        reservations = table(0, RESERVATION)
    by_begin = reservations[np.argsort(reservations["begins"], kind="stable")]
    return Calendar(
        table(0, EVENT) if events is None else events.view(np.recarray),
        by_begin.view(np.recarray),
        outcome,
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
    )


@inlined
def arrive(s, jobs, calendar):
    """The next job comes, unless it was cancelled before; what the control sees."""
    j = s.arrived
    s.arrived += 1
    if calendar is not None:
        if calendar.job[j].fate == CANCELLED:
            calendar.job[j].left = jobs.submit[j]
            return UNSEEN
        calendar.job[j].state = NEW
        calendar.job[j].amount = jobs.work[j]
    # W grows by the job amount [rumyantsev2018, eq. 4].
    s.load += jobs.work[j]
    s.new += 1
    return ARRIVE


@called
def _withdraw(s, calendar, j):
    """`j` is withdrawn while it waits, or before it comes; what the control sees."""
    job = calendar.job[j]
    if job.fate != UNDECIDED:
        return UNSEEN
    job.fate = CANCELLED
    if job.state == EXPECTED:
        return UNSEEN
    if job.state == WAITS:
        calendar.withdrawn[s.withdrawn] = j
        s.withdrawn += 1
    else:
        s.new -= 1
    job.state = GONE
    job.left = s.now
    s.load -= job.amount
    if present(s) == 0:
        s.load = 0.0
    return FINISH


@called
def _stop(s, jobs, run, recording, nodes, calendar, j, returns):
    """The running job `j` is stopped: it waits again, from the beginning, or is killed.

    What the control sees of it: a departure, or that the workload has grown.
    """
    job = calendar.job[j]
    worked = s.work - job.began
    still = max(job.amount - worked, 0.0)
    leave(s, run, recording, nodes, calendar, j, 1 if returns else 0)
    s.load -= still
    if not returns:
        job.state = GONE
        job.fate = KILLED
        job.left = s.now
        job.worked = worked
        depart(s, run, j)
        return FINISH
    if nodes is not None:
        nodes.job[j].rows = 0
        nodes.job[j].slowness = 0.0
    job.restarts += 1
    job.state = NEW
    job.amount = jobs.work[j]
    calendar.returned[s.returned] = j
    s.returned += 1
    s.new += 1
    s.stale = 1
    run.start[j] = np.nan
    s.load += jobs.work[j]
    return SWITCH


@inlined
def _is_on(nodes, j, node):
    """Whether a running job has a part of a node."""
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        if nodes.given[0, i] == node:
            return True
    return False


@called
def _victim(s, run, nodes, calendar, kind, about):
    """The running job that an event stops next, or -1: the last to start, the last submitted."""
    chosen = np.int64(-1)
    if kind == WITHDRAW or kind == STRIKE:
        return about if calendar.job[about].state == RUNS else chosen
    if kind != DOWN or (nodes is None and s.free >= about):
        return chosen
    for i in range(s.running):
        j = run.plan[i]
        if nodes is not None:
            if not _is_on(nodes, j, about):
                continue
        if (
            chosen < 0
            or calendar.job[j].since > calendar.job[chosen].since
            or (calendar.job[j].since == calendar.job[chosen].since and j > chosen)
        ):
            chosen = j
    return chosen


@called
def happen(s, jobs, run, recording, nodes, calendar):
    """One step of the next external event; what the control sees of it.

    `s.midway` says whether the event has further steps.
    """
    kind, about = calendar.event[s.next].kind, calendar.event[s.next].about
    victim = _victim(s, run, nodes, calendar, kind, about)
    s.midway = 1
    if kind != DOWN or victim < 0:
        s.midway = calendar.event[s.next].more
        s.next += 1
    if victim >= 0:
        returns = kind != WITHDRAW and s.requeue == 1
        return _stop(s, jobs, run, recording, nodes, calendar, victim, returns)
    if kind == WITHDRAW:
        return _withdraw(s, calendar, about)
    if kind == STOP:
        s.stopped = 1
    elif kind == RESUME:
        if s.stopped == 1:
            s.stale = 1
        s.stopped = 0
    elif kind == DOWN or kind == UP:
        sign = 1 if kind == UP else -1
        procs = about
        if nodes is not None:
            procs = nodes.node[about].procs
            shift_node(s, nodes, about, sign)
        s.free += sign * procs
        s.gone -= sign * procs
        s.stale = 1
    elif kind == LOOK:
        s.looked = 1
    return UNSEEN


@inlined
def stretch_of(s, calendar, i):
    """What reservation `i` keeps of the work to come, at the present rate; nothing if it is over.

    One that is not announced yet is not known of.
    """
    it = calendar.reservation[i]
    if it.announced > s.now or it.ends <= s.now:
        return np.inf, np.inf
    begins = max(it.begins, s.now)
    begin = s.anchor_work + (begins - s.anchor_time) * s.rate
    end = s.anchor_work + (it.ends - s.anchor_time) * s.rate
    return max(begin, s.work), end


@called
def due_time(s, calendar, rounded):
    """When a promise comes: at the end of a reservation exactly then, else at the rounded time.

    A moment before, the reservation would still be in its way.
    """
    for i in range(calendar.reservation.shape[0]):
        _, end = stretch_of(s, calendar, i)
        if end == s.due_work:
            return calendar.reservation[i].ends
    return rounded


@called
def look_ahead(s, calendar):
    """Whether a reservation is known; whether it spoils promises.

    It does when it becomes known, and whenever the rate changes: it is in seconds, promises are in
    work.
    """
    s.reserving = 0
    for i in range(calendar.reservation.shape[0]):
        it = calendar.reservation[i]
        if it.announced <= s.now < it.ends:
            s.reserving = 1
            if it.announced > s.last_pass or s.rate != s.last_rate:
                s.stale = 1
    s.last_pass = s.now
    s.last_rate = s.rate


@called
def reserved_now(s, calendar):
    """Processors that are kept for a reservation at this moment."""
    kept = np.int64(0)
    for i in range(calendar.reservation.shape[0]):
        if calendar.reservation[i].begins <= s.now < calendar.reservation[i].ends:
            kept += calendar.reservation[i].what
    return kept
