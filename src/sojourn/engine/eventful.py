"""Kernel for counted processors with external events: every discipline plans around what is known.

All disciplines look at the availability profile, which also holds what is reserved: a job starts
if it fits there for all of its plan. EASY is the rule of several reservations with one of them,
and conservative backfilling gives everybody one anew in each pass.
"""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined, spliced
from .instants import READY, settle_with, steer
from .outside import (
    ABOUT,
    DOWN,
    GONE,
    IN_ORDER,
    KIND,
    NEXT,
    OUTSIDE_KERNEL,
    REQUEUE,
    UP,
    WITHDRAW,
)
from .profile import hold_end, profile_add, profile_earliest, profile_fits
from .promises import plan_profile
from .state import (
    DEPARTED,
    FIRST,
    FREE,
    NOW,
    RUNNING,
    SORTED,
    WAITING,
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
def _happen(state, outside, jobs):
    """One step of the next external event; what the control sees of it."""
    number = outside.number
    kind, about = outside.event[KIND, number[NEXT]], outside.event[ABOUT, number[NEXT]]
    victim = _victim(state, kind, about)
    if kind != DOWN or victim < 0:
        number[NEXT] += 1
    if victim >= 0:
        return strike(state, outside, jobs, victim, 1.0, kind != WITHDRAW and number[REQUEUE] == 1)
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
            seen = _happen(state, outside, jobs)
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
def _eventful_pass(state, outside, jobs, rules, order, theta, backfill, backfill_theta):
    count = state.count
    if is_idle(state, outside):
        return
    now = state.clock[NOW]
    plan_profile(state)
    for i in range(outside.what.shape[0]):
        begins, ends = reserved_stretch(state.clock, outside, i)
        profile_add(state.profile, begins, ends, -outside.what[i])
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
    """Run until done, `budget` instants on, or rows full; the status."""
    while True:
        status = next_outside(state, outside, recording, jobs, rules, budget)
        if status != READY:
            return status
        budget -= 1
        _drain(state, outside, recording, jobs, rules, control, control_theta)
        _eventful_pass(state, outside, jobs, rules, order, order_theta, backfill, backfill_theta)
        there = rules.servers - outside.number[GONE]
        settle_with(state, recording, rules, there, wake, control_theta)
