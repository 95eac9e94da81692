"""Conservative backfilling: everybody is promised a start, and nobody may delay a promise."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .heap import heap_pop, heap_push
from .profile import (
    hold_end,
    profile_add,
    profile_advance,
    profile_earliest,
    profile_reset,
    profile_sooner,
)
from .state import (
    ARRIVED,
    DUE_WORK,
    DUES,
    FIRST,
    FREE,
    NOW,
    RUNNING,
    SORTED,
    WAITING,
    WORK,
)
from .waiting import put_in_order

__all__ = [
    "is_overdue",
    "keep_promise",
    "list_concerned",
    "make_promises",
    "next_due",
    "plan_profile",
    "renew_profile",
    "sweep",
]


@inlined
def is_overdue(state):
    """Whether a running job is past its plan."""
    last = state.count[RUNNING] - 1
    return last >= 0 and state.planned[state.plan[last]] <= state.clock[WORK]


@called
def _plan_steps(profile, work, free, ends, procs, plan, running):
    soonest = np.nextafter(work, np.inf)
    profile_reset(profile, work, free)
    last = 0
    for i in range(running - 1, -1, -1):
        end = max(ends[plan[i]], soonest)
        if end > profile.at[last]:
            last += 1
            profile.at[last] = end
            profile.free[last] = profile.free[last - 1]
        profile.free[last] += procs[plan[i]]
    profile.size[0] = last + 1


@inlined
def plan_profile(state):
    """Profile of the running jobs alone; an overdue one is expected at once, but not yet."""
    _plan_steps(
        state.profile,
        state.clock[WORK],
        state.count[FREE],
        state.planned,
        state.held,
        state.plan,
        state.count[RUNNING],
    )


@called
def sweep(key, job, size, promise):
    """Drop the entries of promises that were moved or kept; the size that is left."""
    kept = 0
    for i in range(size):
        if promise[job[i]] == key[i]:
            heap_push(key, job, kept, key[i], job[i])
            kept += 1
    return kept


@inlined
def _promise(state, jobs, j, held):
    """Promise job `j` its earliest start, if that is before the one it holds."""
    count = state.count
    work = state.clock[WORK]
    procs, plan = jobs.procs[j], jobs.plan[j]
    if held == np.inf:
        at = profile_earliest(state.profile, work, procs, plan)
    else:
        tried = state.profile.tried
        at = profile_sooner(state.profile, work, procs, plan, held, tried)
        if at == held:
            return
        profile_add(state.profile, held, held + plan, procs)
        for k in range(tried.shape[0]):
            tried[k, 2] = min(tried[k, 2], held)
    profile_add(state.profile, at, hold_end(work, at, plan), -procs)
    state.promise[j] = at
    if np.isnan(state.first_promise[j]):
        state.first_promise[j] = at
    if count[DUES] == state.due_key.shape[0]:
        count[DUES] = sweep(state.due_key, state.due_job, count[DUES], state.promise)
    heap_push(state.due_key, state.due_job, count[DUES], at, j)
    count[DUES] += 1


@inlined
def renew_profile(state, rebuild):
    """Bring the profile to the present: of the running jobs alone, if all is to be made anew."""
    if rebuild:
        plan_profile(state)
        state.count[DUES] = 0
    else:
        profile_advance(state.profile, state.clock[WORK])
        for k in range(state.profile.tried.shape[0]):
            state.profile.tried[k, 2] = -np.inf


@inlined
def make_promises(state, jobs, rebuild, servers):
    """Bring the promises up to date: `sorted` holds whom it may concern, in order.

    After an overrun all are made anew. After an early end they are moved up, one by one, in
    order; then the arrivals of this instant get theirs. A job that is wider than the `servers`
    that are there gets none.
    """
    count = state.count
    for arrivals in range(2):
        for i in range(count[SORTED]):
            j = state.sorted[i]
            held = np.inf if rebuild else state.promise[j]
            if (rebuild or held < np.inf) == (arrivals == 0):
                if jobs.procs[j] <= servers:
                    _promise(state, jobs, j, held)
                else:
                    state.promise[j] = np.inf


@inlined
def take_due(state):
    """Move the jobs whose promise has come to `sorted`, by (promise, job)."""
    count = state.count
    due = 0
    while count[DUES] > 0:
        j = state.due_job[0]
        key = state.due_key[0]
        live = state.promise[j] == key
        if live and key > state.clock[WORK]:
            break
        heap_pop(state.due_key, state.due_job, count[DUES])
        count[DUES] -= 1
        if live:
            state.sorted[due] = j
            due += 1
    count[SORTED] = due


@inlined
def list_concerned(state, jobs, rules, step, everybody, new, order, theta):
    """Conservative: put in order whom promises concern (step 0), or whose have come (step 1)."""
    count = state.count
    if step == 0:
        source, first, size = state.waiting, count[FIRST], count[WAITING]
        if not everybody:
            # Only the arrivals of this instant are without a promise.
            source, first, size = state.chosen, 0, 0
            for j in range(count[ARRIVED] - new, count[ARRIVED]):
                # One that was cancelled before it came gets none.
                if state.promise[j] == np.inf:
                    state.chosen[size] = j
                    size += 1
    else:
        take_due(state)
        source, first, size = state.chosen, 0, count[SORTED]
        for i in range(size):
            state.chosen[i] = state.sorted[i]
    put_in_order(
        state, jobs, source, first, size, state.clock[NOW], rules.dynamic_order, state.key, order,
        theta,
    )  # fmt: skip


@inlined
def keep_promise(state, jobs, j, started):
    """After a due job's turn: its promise is kept, or it tries again in the next pass."""
    count = state.count
    promise = state.promise[j]
    if not started:
        # Held up by a job whose plan is 0 and that started a moment ago.
        heap_push(state.due_key, state.due_job, count[DUES], promise, j)
        count[DUES] += 1
        return
    work, plan, procs = state.clock[WORK], jobs.plan[j], jobs.procs[j]
    if promise < work:
        profile_add(state.profile, promise, promise + plan, procs)
        profile_add(state.profile, work, work + plan, -procs)
    state.promise[j] = np.nan


@called
def _first_after(key, job, size, promise, work):
    first = np.inf
    for i in range(size):
        if work < key[i] < first and promise[job[i]] == key[i]:
            first = key[i]
    return first


@inlined
def next_due(state):
    """The first promise still to come, as work; none while an overdue job spoils the plan."""
    count = state.count
    state.clock[DUE_WORK] = np.inf
    if count[DUES] == 0 or is_overdue(state):
        return
    # After `take_due` the heap begins with a live promise to come, or with one held up by a job
    # whose plan is 0 and that started a moment ago.
    first = state.due_key[0]
    if first <= state.clock[WORK]:
        first = _first_after(
            state.due_key, state.due_job, count[DUES], state.promise, state.clock[WORK]
        )
    state.clock[DUE_WORK] = first
