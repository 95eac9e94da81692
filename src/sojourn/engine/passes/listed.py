"""Orders that change with time, several reservations, and external events: over a list.

The waiting jobs are kept by (key, job); where a score depends on the time they are scored and
sorted anew in each pass. Whoever blocks the others gets a reservation: EASY's, a time and a number
of processors that is left over then, or a place in the plan, which also holds what is reserved from
outside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit import called, inlined
from ..address import at
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
from ..heap import heap_pop, make_heap
from ..profile import Profile, make_profile
from ..queues import Queues, count_running, is_passed_over, note_limit, note_turn, take_turns
from ..sleeping import is_unsettled
from ..starting import note_reserved
from ..verbs import earliest, find_shadow, fits, hold, note, plan_ahead, start, take, time_of
from ..waiting import Waiting, admit, list_remove, make_waiting
from . import FIRST_FIT, GO_ON, NONE, RESERVE, Setting, discipline

_STARTS, _RESERVED, _WAITS = range(3)

_SEARCHES = 4
"""Who is next in an order that changes is looked for so often in a pass, before they are sorted."""


class Listed(NamedTuple):
    """The waiting jobs, processors free over the work to come, and the queues if several."""

    waiting: Waiting
    profile: Profile
    queues: Queues | None


def list_and_profile(given: Setting, steps: int = 0) -> tuple[Waiting, Profile]:
    """Return the list of waiting jobs, and the profile with room for at least so many steps."""
    rules, orders, n = given.rules, given.orders, len(given.jobs.submit)
    steps = steps or 4 * (min(n, rules.servers) + 1) + 64
    if rules.backfill.code == RESERVE:
        steps += 2 * min(n, rules.reservations)
    if given.reserved:
        steps += 2 * given.reserved + 2 * min(n, rules.reservations)
    return make_waiting(n, orders.order, orders.backfill), make_profile(steps, rules.servers)


def _make(given: Setting) -> Listed:
    return Listed(*list_and_profile(given), given.queues)


@inlined
def _turn(d, s, jobs, recording, nodes, calendar, j, planned, beside, head, laws):
    """Whether `j` may start now, in the plan or beside the head; a line of the log says why."""
    free, extra = s.free, s.extra
    if planned:
        begins, ends = earliest(s, jobs, d.profile, nodes, calendar, j, True, laws)
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
def _start_or_reserve(d, s, jobs, recording, nodes, calendar, j, head, laws):
    """A job's turn in the plan: it starts, or is given a place, or finds none."""
    begins, ends = earliest(s, jobs, d.profile, nodes, calendar, j, False, laws)
    if begins <= s.work:
        note(s, recording, j, STARTED, head, s.free)
        take(s, jobs, d.profile, nodes, j, ends, laws)
        return _STARTS
    if begins == np.inf:
        if s.logs == 1:
            _explain(s, jobs, recording, j, False, True, False, head, s.free, s.extra)
        return _WAITS
    if s.reservations == 1:
        # A moment is kept for a head of no length, too.
        ends = max(ends, np.nextafter(begins, np.inf))
    hold(s, jobs, d.profile, nodes, j, begins, ends)
    if s.logs == 1:
        note(s, recording, j, RESERVED, -1, time_of(s, begins))
    return _RESERVED


@inlined
def _first_turn(
    d, s, jobs, run, recording, nodes, calendar, j, planned, reserves, others, head, laws
):
    """A job's turn, in order: it starts, or is given a reservation, or waits."""
    if planned and reserves:
        return _start_or_reserve(d, s, jobs, recording, nodes, calendar, j, head, laws)
    if _turn(d, s, jobs, recording, nodes, calendar, j, planned, False, head, laws):
        return _STARTS
    # Without others to be held back there is nothing to reserve for.
    if reserves and others and find_shadow(s, jobs, run, nodes, calendar, j, laws):
        if s.logs == 1:
            note(s, recording, j, RESERVED, -1, time_of(s, s.shadow))
        return _RESERVED
    return _WAITS


@called
def _anybody_fits(s, waiting, procs):
    """Whether a waiting job needs no more than is free."""
    i, last = max(s.first, 0), s.first + s.waiting
    while i < last and procs[waiting[i]] > s.free:
        i += 1
    return i < last


@inlined
def _score_all(d, s, jobs, laws):
    """Score all who wait, in the order of submission."""
    w = d.waiting
    for i in range(s.waiting):
        w.scored[i] = w.job[s.first + i]
    laws.order(at(jobs), w.scored, 0, s.waiting, s.now, laws.order_theta, w.score)


@called
def _take_first(score, scored, left, taken):
    """Take the first by (score, job) out of `left` that were scored, of whom some were `taken`.

    Mostly a pass looks at few before one is blocked. So the first ones are looked for among all,
    who stay in the order of submission; if it goes on, a heap is made of them.
    """
    if taken >= _SEARCHES:
        if taken == _SEARCHES:
            make_heap(score, scored, left)
        j = scored[0]
        heap_pop(score, scored, left)
        return j
    best, least = np.uintp(0), score[0]
    end = np.uintp(left)
    i = np.uintp(1)
    while i < end:
        if score[i] < least:
            best, least = i, score[i]
        i += np.uintp(1)
    j = scored[best]
    i = best + np.uintp(1)
    while i < end:
        score[i - np.uintp(1)] = score[i]
        scored[i - np.uintp(1)] = scored[i]
        i += np.uintp(1)
    return j


@inlined
def _is_candidate(s, jobs, nodes, j, planned, beside):
    """Whether job `j` could be backfilled, as long as nobody else is; with a log, all are."""
    if s.logs == 1:
        return True
    if jobs.procs[j] > s.free:
        return False
    if nodes is not None or planned or not beside:
        return True
    return jobs.procs[j] <= s.extra or s.work + jobs.plan[j] <= s.shadow


@inlined
def _list_candidates(d, s, jobs, nodes, left, planned, beside, laws):
    """List those who could be backfilled, of the `left` not looked at yet; how many.

    A job that does not fit when backfilling begins does not fit later in the same pass, since
    starts only take away. So only those who fit are put in order: in a heap, or as they wait. Who
    is blocked is not tried again: where a placement must keep to a budget, what others take may
    lead it to nodes that it can have.
    """
    w = d.waiting
    size = 0
    behind = max(s.first + s.waiting - left, 0)
    for i in range(left):
        # In an order that changes with time they are left with their scores; else they wait in
        # order.
        j, value = w.job[behind + i], 0.0
        if s.dynamic_order == 1:
            j, value = w.scored[i], w.score[i]
        if _is_candidate(s, jobs, nodes, j, planned, beside):
            w.scored[size] = j
            w.score[size] = value
            size += 1
    if s.own_order == 1 and s.dynamic_backfill == 1:
        laws.backfill(at(jobs), w.scored, 0, size, s.now, laws.backfill_theta, w.score)
    elif s.own_order == 1:
        for i in range(size):
            w.score[i] = w.backfill_key[w.scored[i]]
    if s.own_order == 1 or s.dynamic_order == 1:
        make_heap(w.score, w.scored, size)
    return size


@inlined
def _is_over(d, s, jobs, recording, j):
    """Whether `j` is passed over: it would exceed a limit of its queue."""
    if not is_passed_over(s, jobs, d.queues, j):
        return False
    note_limit(s, recording, d.queues, j)
    return True


@inlined
def _start(d, s, jobs, run, nodes, calendar, j):
    """`j` waits no longer, and starts."""
    list_remove(s, d.waiting, j)
    start(s, jobs, run, nodes, calendar, j)
    note_turn(s, jobs, d.queues, j)


@inlined
def _backfill(d, s, jobs, run, recording, nodes, calendar, left, planned, beside, head, laws):
    """Of those who fit now, in order, start whoever delays no reservation."""
    w = d.waiting
    size = _list_candidates(d, s, jobs, nodes, left, planned, beside, laws)
    ranked = s.dynamic_order == 1 or s.own_order == 1
    narrowest, shortest = s.servers + 1, np.inf
    for i in range(size):
        if s.free == 0:
            return
        j = w.scored[i]
        if ranked:
            j = w.scored[0]
            heap_pop(w.score, w.scored, size - i)
        if j == head or (jobs.procs[j] >= narrowest and jobs.plan[j] >= shortest):
            continue
        if _is_over(d, s, jobs, recording, j):
            continue
        if _turn(d, s, jobs, recording, nodes, calendar, j, planned, beside, head, laws):
            _start(d, s, jobs, run, nodes, calendar, j)
        elif nodes is None:
            if s.logs == 0:
                # Starts only take away: what did not fit a moment ago does not fit now.
                narrowest, shortest = jobs.procs[j], jobs.plan[j]


@discipline(
    Listed,
    "changing orders, events and several reservations",
    _make,
    ("try_to_start", "find_shadow", "earliest", "take_now"),
)
def listed_pass(d, s, jobs, run, recording, nodes, calendar, laws):
    """In order, until somebody is blocked; then whoever delays no reservation."""
    w = d.waiting
    admit(s, w, calendar)
    look_ahead(s, calendar)
    s.stale = 0
    s.blocked = -1
    # Another job may be the head, and nodes that were there may have gone.
    s.shadow_known = 0
    if s.stopped == 1 or s.waiting == 0 or s.free == 0:
        return GO_ON
    # Reservations decide who sleeps, whether or not somebody fits beside them.
    if s.logs == 0 and s.sleeps == 0 and not _anybody_fits(s, w.job, jobs.procs):
        return GO_ON
    if nodes is not None:
        if is_unsettled(s):
            s.reserved_for = -1
    planned = s.backfill == RESERVE
    if s.reserving == 1:
        if nodes is None:
            planned = True
        elif s.pinned == 1:
            planned = True
        else:
            note_reserved(s, nodes, calendar)
    if s.falling == 1:
        planned = True
    if planned:
        plan_ahead(s, run, d.profile, nodes, calendar, s.work)
    reservations = s.reservations
    if s.backfill == NONE or s.backfill == FIRST_FIT:
        reservations = 0
    count_running(s, jobs, run, d.queues)
    take_turns(s, w, jobs, d.queues, laws)
    if s.dynamic_order == 1:
        _score_all(d, s, jobs, laws)
    left = s.waiting
    taken = 0
    passed = 0
    reserved = 0
    head = np.int64(-1)
    while left > 0 and (s.free > 0 or s.logs == 1):
        if s.dynamic_order == 1:
            j = _take_first(w.score, w.scored, left, taken)
        else:
            j = w.job[s.first + passed]
        left -= 1
        taken += 1
        if _is_over(d, s, jobs, recording, j):
            passed += 1
            continue
        verdict = _first_turn(
            d,
            s,
            jobs,
            run,
            recording,
            nodes,
            calendar,
            j,
            planned,
            reservations > 0,
            left > 0,
            head,
            laws,
        )
        if verdict == _STARTS:
            _start(d, s, jobs, run, nodes, calendar, j)
            continue
        passed += 1
        if head < 0:
            head = j
        # Of those so far it alone may have a reservation: others before it can have none.
        s.blocked = j
        if verdict == _RESERVED:
            reserved += 1
        if reserved >= reservations:
            break
    if s.backfill != NONE and head >= 0 and s.free > 0:
        _backfill(
            d, s, jobs, run, recording, nodes, calendar, left, planned, reserved > 0, head, laws
        )
    elif s.logs == 1 and s.backfill == NONE:
        for i in range(left):
            j = w.job[s.first + passed + i]
            if s.dynamic_order == 1:
                j = _take_first(w.score, w.scored, left - i, taken + i)
            note(s, recording, j, BEHIND, head, np.inf)
    return GO_ON
