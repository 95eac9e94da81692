"""Kernel for counted processors with external events: every discipline plans around what is known.

All disciplines look at the availability profile, which also holds what is reserved: a job starts
if it fits there for all of its plan. EASY is the rule of several reservations with one of them.
Conservative backfilling keeps its promises from pass to pass, and its profile with them, until an
event spoils the plan (STALE).
"""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined, spliced
from .instants import READY, settle_with, steer
from .outside import (
    ABOUT,
    ANNOUNCED,
    DOWN,
    ENDS,
    FATE,
    GONE,
    IN_ORDER,
    KIND,
    NEXT,
    OUTSIDE_KERNEL,
    REQUEUE,
    RESUME,
    SEEN,
    STALE,
    STOPPED,
    UNDECIDED,
    UP,
    WITHDRAW,
)
from .profile import hold_end, profile_add, profile_earliest, profile_fits
from .promises import (
    is_overdue,
    keep_promise,
    list_concerned,
    make_promises,
    next_due,
    plan_profile,
    renew_profile,
)
from .state import (
    ARRIVED,
    CONSERVATIVE,
    DEPARTED,
    DUE_WORK,
    EARLY,
    FIRST,
    FREE,
    NOW,
    PASSED,
    PASSED_RATE,
    RATE,
    RUNNING,
    SORTED,
    WAITING,
    WAS_OVERDUE,
    WORK,
)
from .steps import begin, finish, present
from .striking import (
    ARRIVING,
    ENDING,
    HAPPENING,
    NOTHING,
    SWITCHING,
    UNSEEN,
    arrive,
    due_now,
    enter_service,
    heed,
    is_idle,
    later_victim,
    leave_service,
    next_outside,
    reserved_stretch,
    strike,
    strikes_one,
)
from .types import FINISH, SWITCH
from .waiting import list_remove, put_in_order

__all__ = ["run_eventful"]


@inlined
def _victim(state, kind, about):
    """The running job that the event stops next, or -1."""
    count = state.count
    chosen = strikes_one(state, kind, about)
    if kind == DOWN and count[FREE] < about:
        for i in range(count[RUNNING]):
            chosen = later_victim(state, chosen, state.plan[i])
    return chosen


@inlined
def _vacate(state, jobs, j, begin, end):
    """The place of job `j` in the profile is free: promises may be moved up."""
    if end > begin:
        profile_add(state.profile, begin, end, jobs.procs[j])
    state.count[EARLY] = 1


@inlined
def _upset_promises(state, outside, jobs, kind, about, victim, returns):
    """Conservative: what the next external event does to the promises."""
    if victim >= 0:
        if returns:
            outside.number[STALE] = 1
            state.promise[victim] = np.inf
        elif state.planned[victim] > state.clock[WORK]:
            _vacate(state, jobs, victim, state.clock[WORK], state.planned[victim])
    elif kind in (DOWN, UP) or (kind == RESUME and outside.number[STOPPED] == 1):
        outside.number[STALE] = 1
    elif kind == WITHDRAW and outside.fate[FATE, about] == UNDECIDED:
        held = state.promise[about]
        if held < np.inf:
            _vacate(state, jobs, about, held, held + jobs.plan[about])
        state.promise[about] = np.nan


@inlined
def _happen(state, outside, jobs, rules):
    """One step of the next external event; what the control sees of it."""
    number = outside.number
    kind, about = outside.event[KIND, number[NEXT]], outside.event[ABOUT, number[NEXT]]
    victim = _victim(state, kind, about)
    returns = kind != WITHDRAW and number[REQUEUE] == 1
    if kind != DOWN or victim < 0:
        number[NEXT] += 1
    if rules.backfill == CONSERVATIVE:
        _upset_promises(state, outside, jobs, kind, about, victim, returns)
    if victim >= 0:
        return strike(state, outside, jobs, victim, 1.0, returns)
    more = np.int64(0)
    if kind == UP:
        more = about
    elif kind == DOWN:
        more = -about
    return heed(state, outside, jobs, kind, about, more)


@spliced
def _drain(state, outside, recording, jobs, rules, control, theta):
    """All that is due now; the control looks after each."""
    count = state.count
    while True:
        before = present(count)
        due = due_now(state, outside, jobs, rules)
        if due == NOTHING:
            return
        seen = SWITCH
        if due == ENDING:
            seen = FINISH
            finish(state, recording, jobs, rules)
            leave_service(state, outside, jobs, state.departed[count[DEPARTED] - 1], 1.0)
        elif due == HAPPENING:
            seen = _happen(state, outside, jobs, rules)
        elif due == ARRIVING:
            seen = arrive(state, outside, jobs)
        if rules.controlled and seen != UNSEEN:
            there = rules.servers - outside.number[GONE]
            steer(state, recording, rules, there, control, theta, seen, before)
        if due == SWITCHING:
            return


@inlined
def _start_if_fits(state, outside, jobs, rules, j):
    """Start `j` if it fits for all of its plan; whether it does."""
    work, procs = state.clock[WORK], jobs.procs[j]
    if procs > state.count[FREE] or not profile_fits(state.profile, work, procs, jobs.plan[j]):
        return False
    # With a plan of 0 it is overdue at once.
    until = max(work + jobs.plan[j], np.nextafter(work, np.inf))
    profile_add(state.profile, work, until, -procs)
    list_remove(state, j)
    begin(state, jobs, rules, j, 1.0)
    enter_service(state, outside, j)
    return True


@inlined
def _reserve(state, jobs, j):
    """Give a job that cannot start yet the earliest place it can have."""
    work, procs, plan = state.clock[WORK], jobs.procs[j], jobs.plan[j]
    at = profile_earliest(state.profile, work, procs, plan)
    profile_add(state.profile, at, hold_end(work, at, plan), -procs)


@inlined
def _keep_reserved(state, outside):
    """Take what is reserved out of the profile."""
    for i in range(outside.what.shape[0]):
        begins, ends = reserved_stretch(state.clock, outside, i)
        profile_add(state.profile, begins, ends, -outside.what[i])


@inlined
def _is_spoilt(state, outside):
    """Whether an event since the last pass, or an overdue job, makes all promises void.

    A reservation does when it becomes known, and whenever the rate changes: it is in seconds,
    promises are in work.
    """
    clock, count = state.clock, state.count
    overdue = is_overdue(state)
    spoilt = overdue or count[WAS_OVERDUE] == 1 or outside.number[STALE] == 1
    count[WAS_OVERDUE] = 1 if overdue else 0
    outside.number[STALE] = 0
    for i in range(outside.what.shape[0]):
        announced = outside.reserved[ANNOUNCED, i]
        if announced <= clock[NOW] < outside.reserved[ENDS, i]:
            is_new = announced > clock[PASSED]
            spoilt = spoilt or is_new or clock[RATE] != clock[PASSED_RATE]
    clock[PASSED] = clock[NOW]
    clock[PASSED_RATE] = clock[RATE]
    return spoilt


@inlined
def _conservative_pass(state, outside, jobs, rules, order, theta):
    """Bring the promises up to date, and start the jobs whose promise has come."""
    count, number = state.count, outside.number
    state.clock[DUE_WORK] = np.inf
    if number[STOPPED] == 1:
        return
    new = count[ARRIVED] - number[SEEN]
    number[SEEN] = count[ARRIVED]
    rebuild = _is_spoilt(state, outside)
    everybody = rebuild or count[EARLY] == 1
    for step in range(2):
        list_concerned(state, jobs, rules, step, everybody, new, order, theta)
        if step == 0:
            renew_profile(state, rebuild)
            if rebuild:
                _keep_reserved(state, outside)
            make_promises(state, jobs, rebuild, rules.servers - number[GONE])
    for i in range(count[SORTED]):
        j = state.sorted[i]
        fits = jobs.procs[j] <= count[FREE]
        keep_promise(state, jobs, j, fits)
        if fits:
            list_remove(state, j)
            begin(state, jobs, rules, j, 1.0)
            enter_service(state, outside, j)
    next_due(state)


@inlined
def _eventful_pass(state, outside, jobs, rules, order, theta, backfill, backfill_theta):
    count = state.count
    if is_idle(state, outside):
        return
    now = state.clock[NOW]
    plan_profile(state)
    _keep_reserved(state, outside)
    listed = count[WAITING]
    if outside.number[IN_ORDER] == 1 and not rules.dynamic_order:
        # Each start takes a processor: those further back need not be looked at.
        listed = min(listed, count[FREE] + 1)
    examined = 0
    reserved = 0
    for half in range(2):
        if half == 0:
            put_in_order(
                state, jobs, state.waiting, count[FIRST], listed, now,
                rules.dynamic_order, state.key, order, theta,
            )  # fmt: skip
        elif outside.number[IN_ORDER] == 1:
            return
        elif rules.own_backfill_order:
            examined = 0
            put_in_order(
                state, jobs, state.waiting, count[FIRST], count[WAITING], now,
                rules.dynamic_backfill, state.backfill_key, backfill, backfill_theta,
            )  # fmt: skip
        while examined < count[SORTED]:
            j = state.sorted[examined]
            examined += 1
            if _start_if_fits(state, outside, jobs, rules, j):
                if count[FREE] == 0:
                    return
            elif half == 0:
                if rules.reservations == 0:
                    break
                # One that is wider than what is there has no place to be given.
                if jobs.procs[j] <= rules.servers - outside.number[GONE]:
                    _reserve(state, jobs, j)
                    reserved += 1
                    if reserved >= rules.reservations:
                        break


@compiled(OUTSIDE_KERNEL)
def run_eventful(
    state, outside, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run until done, the budget is spent, or rows are full; the status.

    An instant costs 1, and 1 for each job that waits: a pass may look at all of them.
    """
    while True:
        status = next_outside(state, outside, recording, jobs, rules, budget)
        if status != READY:
            return status
        budget -= 1 + state.count[WAITING]
        _drain(state, outside, recording, jobs, rules, control, control_theta)
        if rules.backfill == CONSERVATIVE:
            _conservative_pass(state, outside, jobs, rules, order, order_theta)
        else:
            _eventful_pass(
                state, outside, jobs, rules, order, order_theta, backfill, backfill_theta
            )
        there = rules.servers - outside.number[GONE]
        settle_with(state, recording, rules, there, wake, control_theta)
