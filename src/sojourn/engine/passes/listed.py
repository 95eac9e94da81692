"""Orders that change with time, several reservations, and external events: over a list.

The waiting jobs are kept by (key, job); where a score depends on the time they are scored and
sorted anew in each pass. Whoever blocks the others gets a reservation: EASY's, a time and a number
of processors that is left over then, or a place in the plan, which also holds what is reserved from
outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit import inlined
from ..calendar import look_ahead
from ..decided import (
    BACKFILLED_BESIDE,
    BACKFILLED_IN_TIME,
    BEHIND,
    NO_NODES,
    RESERVED,
    STARTED,
    TOO_WIDE,
    WOULD_DELAY,
)
from ..profile import Profile
from ..starting import note_reserved
from ..verbs import earliest, find_shadow, fits, hold, note, plan_ahead, start, take, time_of
from ..waiting import Waiting, admit, list_remove, put_in_order
from . import FIRST_FIT, GO_ON, NONE, RESERVE, discipline

__all__ = ["Listed"]

_STARTS, _RESERVED, _WAITS = range(3)


class Listed(NamedTuple):
    """The waiting jobs, and processors free over the work to come."""

    waiting: Waiting
    profile: Profile


@inlined
def _turn(d, s, jobs, recording, nodes, j, planned, beside, head, laws):
    """Whether `j` may start now, in the plan or beside the head; a line of the log says why."""
    free, extra = s.free, s.extra
    if planned:
        begins, ends = earliest(s, jobs, d.profile, nodes, j, True, laws)
        may_start = begins <= s.work
        if may_start:
            take(s, jobs, d.profile, nodes, j, ends, laws)
    else:
        may_start = fits(s, jobs, nodes, j, beside, laws)
    if s.logs == 1:
        _explain(s, jobs, recording, j, may_start, planned, beside, head, free, extra)
    return may_start


@inlined
def _explain(s, jobs, recording, j, starts, planned, beside, head, free, extra):
    """Log what became of a job whose turn it was."""
    due = np.inf
    if beside and not planned:
        due = time_of(s, s.shadow)
    if starts:
        if not beside:
            note(s, recording, j, STARTED, head, free)
        elif planned:
            note(s, recording, j, BACKFILLED_BESIDE, head, free)
        elif s.extra < extra:
            note(s, recording, j, BACKFILLED_BESIDE, head, s.extra)
        else:
            note(s, recording, j, BACKFILLED_IN_TIME, head, due)
    elif jobs.procs[j] > free:
        note(s, recording, j, TOO_WIDE, head, free)
    elif beside:
        note(s, recording, j, WOULD_DELAY, head, due)
    else:
        note(s, recording, j, NO_NODES, head, free)


@inlined
def _start_or_reserve(d, s, jobs, recording, nodes, j, head, laws):
    """A job's turn in the plan: it starts, or is given a place, or finds none."""
    begins, ends = earliest(s, jobs, d.profile, nodes, j, False, laws)
    if begins <= s.work:
        note(s, recording, j, STARTED, head, s.free)
        take(s, jobs, d.profile, nodes, j, ends, laws)
        return _STARTS
    if begins == np.inf:
        if s.logs == 1:
            _explain(s, jobs, recording, j, False, True, False, head, s.free, s.extra)
        return _WAITS
    hold(s, jobs, d.profile, nodes, j, begins, ends)
    if s.logs == 1:
        note(s, recording, j, RESERVED, -1, time_of(s, begins))
    return _RESERVED


@inlined
def _first_turn(d, s, jobs, run, recording, nodes, calendar, j, planned, reserves, head, laws):
    """A job's turn, in order: it starts, or is given a reservation, or waits."""
    if planned and reserves:
        return _start_or_reserve(d, s, jobs, recording, nodes, j, head, laws)
    if _turn(d, s, jobs, recording, nodes, j, planned, False, head, laws):
        return _STARTS
    if reserves and find_shadow(s, jobs, run, nodes, calendar, j, laws):
        if s.logs == 1:
            note(s, recording, j, RESERVED, -1, time_of(s, s.shadow))
        return _RESERVED
    return _WAITS


@inlined
def _list(d, s, jobs, own, size, laws):
    """Put the waiting jobs in order, in that of the queue or in backfilling's own."""
    w = d.waiting
    if own:
        put_in_order(
            s, w, jobs, w.job, s.first, size, s.dynamic_backfill, w.backfill_key,
            laws.backfill, laws.backfill_theta,
        )  # fmt: skip
    else:
        put_in_order(
            s, w, jobs, w.job, s.first, size, s.dynamic_order, w.key, laws.order, laws.order_theta
        )


@discipline(Listed)
def listed_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """In order, until somebody is blocked; then whoever delays no reservation."""
    w = d.waiting
    admit(s, w, calendar)
    look_ahead(s, calendar)
    s.stale = 0
    if s.stopped == 1 or s.waiting == 0 or s.free == 0:
        return GO_ON
    planned = s.backfill == RESERVE
    if s.reserving == 1:
        if nodes is None:
            planned = True
        elif s.pinned == 1:
            planned = True
        else:
            note_reserved(s, nodes, calendar)
    if planned:
        plan_ahead(s, run, d.profile, nodes, calendar)
    reservations = s.reservations
    if s.backfill == NONE or s.backfill == FIRST_FIT:
        reservations = 0
    size = s.waiting
    if s.backfill == NONE and s.dynamic_order == 0 and s.logs == 0:
        # Each start takes a processor: those further back need not be looked at.
        size = min(size, s.free + 1)
    _list(d, s, jobs, False, size, laws)
    examined = 0
    reserved = 0
    head = np.int64(-1)
    while examined < s.sorted and (s.free > 0 or s.logs == 1):
        j = w.sorted[examined]
        examined += 1
        verdict = _first_turn(
            d, s, jobs, run, recording, nodes, calendar, j, planned, reservations > 0, head, laws
        )
        if verdict == _STARTS:
            list_remove(s, w, j)
            start(s, jobs, run, nodes, calendar, j)
            continue
        if head < 0:
            head = j
        if verdict == _RESERVED:
            reserved += 1
        if reserved >= reservations:
            break
    if s.backfill != NONE and head >= 0 and s.free > 0:
        if s.own_order == 1:
            examined = 0
            _list(d, s, jobs, True, s.waiting, laws)
        beside = reserved > 0
        while examined < s.sorted and s.free > 0:
            j = w.sorted[examined]
            examined += 1
            if j == head:
                continue
            if _turn(d, s, jobs, recording, nodes, j, planned, beside, head, laws):
                list_remove(s, w, j)
                start(s, jobs, run, nodes, calendar, j)
    if s.logs == 1 and s.backfill == NONE:
        while examined < s.sorted:
            note(s, recording, w.sorted[examined], BEHIND, head, np.inf)
            examined += 1
    return GO_ON
