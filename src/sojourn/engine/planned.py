"""Kernel for scores that change with time and for backfilling that looks further ahead.

The waiting jobs are kept in a list by (key, job); where a score depends on the time they are
scored and sorted anew in each pass.
"""

from __future__ import annotations

import numpy as np

from ..jit import compiled, inlined
from .easy import find_shadow, may_backfill
from .instants import KERNEL, READY, next_instant, settle
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
    EARLY,
    EASY,
    FIRST,
    FREE,
    NEW,
    NONE,
    RESERVE,
    SORTED,
    WAITING,
    WAS_OVERDUE,
    WORK,
)
from .steps import begin
from .waiting import list_insert, list_remove, put_in_order

__all__ = ["run_planned"]

_START, _PASS_OVER, _STOP = range(3)


@inlined
def _promise_and_take(state, jobs, rules, order, theta, new):
    """Conservative: update the promises, then list the jobs that are due, in order."""
    count = state.count
    overdue = is_overdue(state)
    rebuild = overdue or count[WAS_OVERDUE] == 1
    count[WAS_OVERDUE] = 1 if overdue else 0
    everybody = rebuild or count[EARLY] == 1
    for step in range(2):
        list_concerned(state, jobs, rules, step, everybody, new, order, theta)
        if step == 0:
            renew_profile(state, rebuild)
            make_promises(state, jobs, rebuild, rules.servers)


@inlined
def _consider_head(state, jobs, rules, j, reserved):
    """First half of a pass: in order, until one blocks the rest."""
    count = state.count
    work = state.clock[WORK]
    procs, plan = jobs.procs[j], jobs.plan[j]
    fits = procs <= count[FREE]
    if rules.backfill == CONSERVATIVE:
        keep_promise(state, jobs, j, fits)
        return _START if fits else _PASS_OVER
    if rules.backfill != RESERVE:
        return _START if fits else _STOP
    at = work
    fits = fits and profile_fits(state.profile, work, procs, plan)
    if not fits:
        at = profile_earliest(state.profile, work, procs, plan)
    until = hold_end(work, at, plan)
    if fits:
        # With a plan of 0 it is overdue at once.
        until = max(until, np.nextafter(work, np.inf))
    profile_add(state.profile, at, until, -procs)
    if fits:
        return _START
    return _STOP if reserved + 1 >= rules.reservations or count[FREE] == 0 else _PASS_OVER


@inlined
def _consider_backfill(state, jobs, rules, j):
    """Second half: whatever fits and delays no reservation."""
    count = state.count
    work = state.clock[WORK]
    procs, plan = jobs.procs[j], jobs.plan[j]
    if count[FREE] == 0:
        return _STOP
    if procs > count[FREE]:
        return _PASS_OVER
    if rules.backfill == EASY:
        return _START if may_backfill(state, jobs, j) else _PASS_OVER
    if rules.backfill == RESERVE:
        if not profile_fits(state.profile, work, procs, plan):
            return _PASS_OVER
        until = max(work + plan, np.nextafter(work, np.inf))
        profile_add(state.profile, work, until, -procs)
    return _START


@inlined
def _planned_pass(state, jobs, rules, now, order, theta, backfill, backfill_theta):
    count = state.count
    new = count[NEW]
    for j in range(count[ARRIVED] - new, count[ARRIVED]):
        list_insert(state, j)
    count[NEW] = 0
    if rules.backfill != CONSERVATIVE and (count[WAITING] == 0 or count[FREE] == 0):
        return
    examined = 0
    reserved = 0
    for half in range(2):
        if half == 0:
            if rules.backfill == CONSERVATIVE:
                _promise_and_take(state, jobs, rules, order, theta, new)
            else:
                if rules.backfill == RESERVE:
                    plan_profile(state)
                put_in_order(
                    state, jobs, state.waiting, count[FIRST], count[WAITING], now,
                    rules.dynamic_order, state.key, order, theta,
                )  # fmt: skip
        else:
            if examined >= count[SORTED] or rules.backfill in (NONE, CONSERVATIVE):
                break
            if rules.backfill == EASY:
                find_shadow(state, jobs.procs[state.sorted[examined - 1]])
            if rules.own_backfill_order:
                examined = 0
                put_in_order(
                    state, jobs, state.waiting, count[FIRST], count[WAITING], now,
                    rules.dynamic_backfill, state.backfill_key, backfill, backfill_theta,
                )  # fmt: skip
        while examined < count[SORTED]:
            j = state.sorted[examined]
            examined += 1
            if half == 0:
                verdict = _consider_head(state, jobs, rules, j, reserved)
                if verdict != _START:
                    reserved += 1
            else:
                verdict = _consider_backfill(state, jobs, rules, j)
            if verdict == _STOP:
                break
            if verdict == _START:
                list_remove(state, j)
                begin(state, jobs, rules, j, 1.0)
    if rules.backfill == CONSERVATIVE:
        next_due(state)


@compiled(KERNEL)
def run_planned(
    state, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run until done, the budget is spent, or rows are full; the status.

    An instant costs 1, and 1 for each job that waits: a pass may look at all of them.
    """
    while True:
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1 + state.count[WAITING]
        _planned_pass(
            state,
            jobs,
            rules,
            state.clock[0],
            order,
            order_theta,
            backfill,
            backfill_theta,
        )
        settle(state, recording, rules, wake, control_theta)
