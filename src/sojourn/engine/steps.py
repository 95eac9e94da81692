"""The elementary steps of a run: a customer starts, stops, waits; shared by every discipline."""

from __future__ import annotations

import numpy as np

from ..jit import inlined
from .heap import heap_discard, heap_pop, heap_push
from .profile import profile_add
from .state import (
    CONSERVATIVE,
    DEPARTED,
    EARLY,
    EASY,
    FREE,
    LOAD,
    NEW,
    NOW,
    PREEMPT,
    REMAINING,
    RUNNING,
    SEGMENTS,
    SHADOW_KNOWN,
    WAITING,
    WORK,
)

__all__ = [
    "begin",
    "finish",
    "first_end",
    "plan_remove",
    "preempt",
    "present",
]


@inlined
def present(count):
    """nu: customers in the system."""
    return count[RUNNING] + count[WAITING] + count[NEW]


@inlined
def first_end(state, rules):
    """The work at which the next job ends; call only while one runs.

    With exact estimates the plan itself is the order of completions, and no heap is kept.
    """
    if rules.exact:
        return state.planned[state.plan[state.count[RUNNING] - 1]]
    return state.finish_key[0]


@inlined
def _plan_place(state, end, job, last):
    """Where (planned end, job) stands in the plan, or would: after all that end later."""
    low = 0
    high = last
    while low < high:
        middle = (low + high) >> 1
        other = state.plan[middle]
        if state.planned[other] > end or (state.planned[other] == end and other > job):
            low = middle + 1
        else:
            high = middle
    return max(low, 0)


@inlined
def _plan_insert(state, job):
    """Keep the running jobs sorted by (planned end, job), the soonest last."""
    at = state.count[RUNNING]
    place = _plan_place(state, state.planned[job], job, at)
    # Bounded by 0 as well, so that the compiler need not think of negative places.
    while at > 0 and at > place:
        state.plan[at] = state.plan[at - 1]
        at -= 1
    state.plan[at] = job


@inlined
def plan_remove(state, job):
    """Take a running job out of the plan; call before RUNNING is lowered."""
    last = state.count[RUNNING] - 1
    if state.plan[last] == job:
        return
    at = _plan_place(state, state.planned[job], job, last)
    while at < last:
        state.plan[at] = state.plan[at + 1]
        at += 1


@inlined
def begin(state, jobs, rules, j, slowness):
    """Customer `j` enters service, for the first time or again [rumyantsev2018, eq. 6].

    It takes `slowness` times the recorded amount [gomez2012, eq. 2]. While it runs, `remaining`
    and `left` hold the work at which they run out.
    """
    count = state.count
    work = state.clock[WORK]
    amount = jobs.work[j] * slowness
    if rules.backfill >= PREEMPT:
        amount = state.remaining[j]
        state.remaining[j] = work + amount
        state.left[j] = work + state.left[j]
        state.resumed[j] = state.clock[NOW]
        if np.isnan(state.start[j]):
            state.start[j] = state.clock[NOW]
        # Running jobs are kept in the order of the discipline: by fixed key, or by what runs out.
        state.planned[j] = state.key[j]
        if rules.backfill == REMAINING:
            state.planned[j] = -state.left[j] if rules.longest_first else state.left[j]
        _plan_insert(state, j)
    else:
        state.start[j] = state.clock[NOW]
        if rules.backfill >= EASY:
            state.planned[j] = work + jobs.plan[j] * slowness
            _plan_insert(state, j)
    if not rules.exact:
        heap_push(state.finish_key, state.finish_job, count[RUNNING], work + amount, j)
    count[RUNNING] += 1
    count[FREE] -= state.held[j]


@inlined
def _close_segment(state, recording, j):
    """Note the stretch of service that ends now."""
    at = state.count[SEGMENTS]
    recording.segment_job[at] = j
    recording.segment_start[at] = state.resumed[j]
    recording.segment_stop[at] = state.clock[NOW]
    state.count[SEGMENTS] = at + 1


@inlined
def preempt(state, recording, jobs, rules, j):
    """Customer `j` leaves service and keeps its remaining job amount."""
    count = state.count
    work = state.clock[WORK]
    heap_discard(state.finish_key, state.finish_job, count[RUNNING], j)
    plan_remove(state, j)
    count[RUNNING] -= 1
    count[FREE] += state.held[j]
    state.remaining[j] -= work
    state.left[j] -= work
    _close_segment(state, recording, j)


@inlined
def finish(state, recording, jobs, rules):
    """The job that ends first departs [rumyantsev2018, eq. 3]."""
    count = state.count
    j = state.plan[count[RUNNING] - 1] if rules.exact else state.finish_job[0]
    if rules.backfill >= EASY:
        plan_remove(state, j)
    if rules.backfill == CONSERVATIVE and state.planned[j] > state.clock[WORK]:
        if not rules.named:
            profile_add(state.profile, state.clock[WORK], state.planned[j], jobs.procs[j])
        count[EARLY] = 1
    if not rules.exact:
        heap_pop(state.finish_key, state.finish_job, count[RUNNING])
    count[RUNNING] -= 1
    count[FREE] += state.held[j]
    state.departed[count[DEPARTED]] = j
    count[DEPARTED] += 1
    count[SHADOW_KNOWN] = 0
    state.end[j] = state.clock[NOW]
    if rules.backfill >= PREEMPT:
        _close_segment(state, recording, j)
    if present(count) == 0:
        state.clock[LOAD] = 0.0
