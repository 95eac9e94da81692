"""External events in their order, reservations, and what becomes of the jobs.

What events do is said by `happenings`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import called, inlined
from .checkpoints import CHECKPOINT
from .state import table
from .types import ARRIVE, CANCELLED, NEW, UNSEEN

LOOK = 6
"""What happens where there is only something to look at, see `happenings`."""
STEERS = 2
"""What a `LOOK` is about that a rate control sees."""

EVENT = np.dtype([("time", "f8"), ("kind", "i8"), ("about", "i8"), ("more", "i8")], align=True)
"""`about` is a job, a node, or a number of processors; `more`: whether the next is a part of the
same event."""

RESERVATION = np.dtype(
    [("announced", "f8"), ("begins", "f8"), ("ends", "f8"), ("what", "i8")], align=True
)
"""`what` is a node, or a number of processors; times in s."""

FALL = np.dtype([("begins", "f8"), ("ends", "f8"), ("cap", "i8"), ("amount", "i8")], align=True)
"""A cap leaves less for a time (s), which may have no end: on named nodes by `amount` (mW) less
than at the most; of counted processors `amount` may be busy."""

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
    `checkpoint` is empty where jobs have none.
    """

    event: np.ndarray
    reservation: np.ndarray
    job: np.ndarray
    returned: np.ndarray
    withdrawn: np.ndarray
    checkpoint: np.ndarray
    fall: np.ndarray


def make_calendar(
    events: np.ndarray | None,
    reservations: np.ndarray | None,
    jobs: int,
    checkpoints: np.ndarray | None = None,
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
        table(0, CHECKPOINT) if checkpoints is None else checkpoints.view(np.recarray),
        table(0, FALL),
    )


def with_falls(calendar: Calendar, falls: np.ndarray, looks: np.ndarray, steers: bool) -> Calendar:
    """Return a calendar that knows of falls of caps, and looks up at some times (s).

    These come before other events of the same time. `steers`: the rate control is asked then.
    """
    events = table(len(looks) + len(calendar.event), EVENT)
    events["time"][: len(looks)], events["kind"][: len(looks)] = looks, LOOK
    events["about"][: len(looks)] = STEERS if steers else 0
    events[len(looks) :] = calendar.event
    order = np.argsort(events["time"], kind="stable")
    return calendar._replace(event=events[order], fall=falls.view(np.recarray))


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


@inlined
def _begin_of(s, begins):
    """What the work clock reads at a time, or now if that is past: no rounding parts the two."""
    if begins <= s.now:
        return s.work
    return max(s.anchor_work + (begins - s.anchor_time) * s.rate, s.work)


@inlined
def stretch_of(s, calendar, i):
    """What reservation `i` keeps of the work to come, at the present rate; nothing if it is over.

    One that is not announced yet is not known of.
    """
    it = calendar.reservation[i]
    if it.announced > s.now or it.ends <= s.now:
        return np.inf, np.inf
    end = s.anchor_work + (it.ends - s.anchor_time) * s.rate
    return _begin_of(s, it.begins), end


@inlined
def fall_of(s, calendar, i):
    """As `stretch_of`, of a fall, which is known from the beginning."""
    it = calendar.fall[i]
    if it.ends <= s.now:
        return np.inf, np.inf
    end = s.anchor_work + (it.ends - s.anchor_time) * s.rate
    return _begin_of(s, it.begins), end


@called
def due_time(s, calendar, rounded):
    """When a promise comes: at the end of a reservation exactly then, else at the rounded time.

    A moment before, the reservation would still be in its way.
    """
    for i in range(s.over, calendar.reservation.shape[0]):
        _, end = stretch_of(s, calendar, i)
        if end == s.due_work:
            return calendar.reservation[i].ends
    for i in range(calendar.fall.shape[0]):
        _, end = fall_of(s, calendar, i)
        if end == s.due_work:
            return calendar.fall[i].ends
    return rounded


@called
def look_ahead(s, calendar):
    """Whether a reservation is known; whether it spoils promises; which ones are over.

    It does when it becomes known, and whenever the rate changes: it is in seconds, promises are in
    work.
    """
    s.reserving = 0
    while s.over < calendar.reservation.shape[0] and calendar.reservation[s.over].ends <= s.now:
        s.over += 1
    for i in range(s.over, calendar.reservation.shape[0]):
        it = calendar.reservation[i]
        if it.announced <= s.now < it.ends:
            s.reserving = 1
            if it.announced > s.last_pass or s.rate != s.last_rate:
                s.stale = 1
    s.falling = 0
    for i in range(calendar.fall.shape[0]):
        if s.now < calendar.fall[i].ends:
            s.falling = 1
            if s.last_pass == -np.inf or s.rate != s.last_rate:
                s.stale = 1
    s.last_pass = s.now
    s.last_rate = s.rate


@called
def reserved_now(s, calendar):
    """Processors that are kept for a reservation at this moment."""
    kept = np.int64(0)
    for i in range(s.over, calendar.reservation.shape[0]):
        if calendar.reservation[i].begins <= s.now < calendar.reservation[i].ends:
            kept += calendar.reservation[i].what
    return kept


@called
def room_now(s, calendar):
    """Counted processors that may be busy at this moment: there, not reserved, under the caps."""
    room = s.servers - s.gone - reserved_now(s, calendar)
    for i in range(calendar.fall.shape[0]):
        if calendar.fall[i].begins <= s.now < calendar.fall[i].ends:
            room = min(room, calendar.fall[i].amount)
    return room
