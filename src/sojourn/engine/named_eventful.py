"""Kernel for named nodes with external events: as `eventful`, and every promise names its nodes."""

from __future__ import annotations

import numpy as np

from ..jit import called, compiled, inlined, spliced
from .choosing import picked_slowness
from .decided import (
    BACKFILLED_BESIDE,
    BEHIND,
    NO_NODES,
    RESERVED,
    STARTED,
    TOO_WIDE,
    WOULD_DELAY,
    note,
)
from .foresight import earliest, hold_picks, plan_running
from .instants import FULL, READY, settle_with, steer, time_of
from .nodes import (
    FIRST_ROW,
    GIVEN_NODE,
    JOB_SLOWNESS,
    LOGGED,
    MEMORY,
    PICK,
    PICK_HELD,
    PICK_KB,
    POOL,
    PROCS,
    ROW_COUNT,
    ROWS,
    move,
    open_nodes,
)
from .outside import (
    ABOUT,
    DOWN,
    GONE,
    IN_ORDER,
    KIND,
    LOSSES,
    LOST_ROW,
    LOST_ROWS,
    NAMED_OUTSIDE_KERNEL,
    NEXT,
    REQUEUE,
    UP,
    WITHDRAW,
)
from .placing import give_back
from .plans import plan_change
from .starting import begin_on_nodes, take_picks
from .state import (
    ARRIVED,
    DEPARTED,
    FIRST,
    FREE,
    NOW,
    RUNNING,
    SORTED,
    WAITING,
    WORK,
)
from .steps import finish, present
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

__all__ = ["run_named_eventful"]

_START, _RESERVED, _WAIT = range(3)


@inlined
def _is_on(nodes, job, node):
    """Whether a running job has processors of a node."""
    first = nodes.job[FIRST_ROW, job]
    for i in range(first, first + nodes.job[ROW_COUNT, job]):
        if nodes.given[GIVEN_NODE, i] == node:
            return True
    return False


@inlined
def _victim(state, nodes, kind, about):
    """The running job that the event stops next, or -1."""
    chosen = strikes_one(state, kind, about)
    if kind == DOWN:
        for i in range(state.count[RUNNING]):
            if _is_on(nodes, state.plan[i], about):
                chosen = later_victim(state, chosen, state.plan[i])
    return chosen


@inlined
def _strike_on_nodes(state, nodes, outside, jobs, j, returns):
    """As `strike`, and its nodes are free; those of a lost attempt are remembered."""
    give_back(nodes, j)
    seen = strike(state, outside, jobs, j, nodes.real[JOB_SLOWNESS, j], returns)
    if returns:
        at = outside.number[LOSSES] - 1
        outside.lost_what[LOST_ROW, at] = nodes.job[FIRST_ROW, j]
        outside.lost_what[LOST_ROWS, at] = nodes.job[ROW_COUNT, j]
        nodes.job[ROW_COUNT, j] = 0
        nodes.real[JOB_SLOWNESS, j] = 0.0
    return seen


@inlined
def _happen(state, nodes, outside, jobs):
    """One step of the next external event; what the control sees of it."""
    number = outside.number
    kind, about = outside.event[KIND, number[NEXT]], outside.event[ABOUT, number[NEXT]]
    victim = _victim(state, nodes, kind, about)
    if kind != DOWN or victim < 0:
        number[NEXT] += 1
    if victim >= 0:
        returns = kind != WITHDRAW and number[REQUEUE] == 1
        return _strike_on_nodes(state, nodes, outside, jobs, victim, returns)
    more = np.int64(0)
    if kind == UP:
        more = nodes.i[PROCS, about]
        move(nodes, about, more, nodes.i[MEMORY, about])
    elif kind == DOWN:
        more = -nodes.i[PROCS, about]
        move(nodes, about, more, -nodes.i[MEMORY, about])
    return heed(state, outside, jobs, kind, about, more)


@spliced
def _drain(state, nodes, outside, recording, jobs, rules, control, theta):
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
            j = state.departed[count[DEPARTED] - 1]
            leave_service(state, outside, jobs, j, nodes.real[JOB_SLOWNESS, j])
            give_back(nodes, j)
        elif due == HAPPENING:
            seen = _happen(state, nodes, outside, jobs)
        elif due == ARRIVING:
            seen = arrive(state, outside, jobs)
        if rules.controlled and seen != UNSEEN:
            there = rules.servers - outside.number[GONE]
            steer(state, recording, rules, there, control, theta, seen, before)
        if due == SWITCHING:
            return


@inlined
def _keep_reserved(clock, nodes, outside):
    """Take the reserved nodes out of what is free ahead."""
    for i in range(outside.what.shape[0]):
        begins, ends = reserved_stretch(clock, outside, i)
        nodes.i[PICK, 0] = nodes.i[POOL, outside.what[i]]
        nodes.i[PICK_HELD, 0] = nodes.i[PROCS, outside.what[i]]
        nodes.i[PICK_KB, 0] = 0
        plan_change(nodes, begins, ends, 1, -1)


@called
def _consider(clock, count, nodes, jobs, rules, half, j, head, score, theta):
    """One job's turn: it takes its nodes, or in the first half is given a place ahead, or waits."""
    work, logged, free = clock[WORK], rules.log, count[FREE]
    reserves = half == 0 and rules.reservations > 0
    begin = end = np.inf
    if reserves or jobs.procs[j] <= free:
        begin, end = earliest(nodes, jobs, j, work, clock[NOW], not reserves, score, theta)
    if begin <= work:
        # Its nodes are known now. With a plan of 0 it is overdue at once.
        end = work + jobs.plan[j] * picked_slowness(nodes)
        hold_picks(nodes, begin, max(end, np.nextafter(work, np.inf)))
        take_picks(nodes, jobs, j, clock[NOW], score, theta)
        note(nodes, logged, clock, j, STARTED if half == 0 else BACKFILLED_BESIDE, head, free)
        return _START
    if begin < np.inf:
        hold_picks(nodes, begin, end)
        note(nodes, logged, clock, j, RESERVED, -1, time_of(clock, begin))
        return _RESERVED
    if jobs.procs[j] > free:
        note(nodes, logged, clock, j, TOO_WIDE, head, free)
    elif head >= 0:
        note(nodes, logged, clock, j, WOULD_DELAY, head, np.inf)
    else:
        note(nodes, logged, clock, j, NO_NODES, head, free)
    return _WAIT


@spliced
def _eventful_pass(
    state, nodes, outside, jobs, rules, order, theta, backfill, backfill_theta, score, score_theta
):
    clock, count = state.clock, state.count
    if is_idle(state, outside):
        return
    plan_running(nodes, clock[WORK], count[RUNNING], state.planned, state.plan)
    _keep_reserved(clock, nodes, outside)
    examined = 0
    reserved = 0
    head = np.int64(-1)
    brief = outside.number[IN_ORDER] == 1 and not rules.dynamic_order and not rules.log
    for half in range(2):
        if half == 1 and outside.number[IN_ORDER] == 1:
            break
        own = half == 1
        if half == 0 or rules.own_backfill_order:
            examined = 0
            listed = count[WAITING]
            if brief:
                # Each start takes a processor: those further back need not be looked at.
                listed = min(listed, count[FREE] + 1)
            put_in_order(
                state, jobs, state.waiting, count[FIRST], listed, clock[NOW],
                rules.dynamic_backfill if own else rules.dynamic_order,
                state.backfill_key if own else state.key,
                backfill if own else order,
                backfill_theta if own else theta,
            )  # fmt: skip
        while examined < count[SORTED]:
            j = state.sorted[examined]
            examined += 1
            if half == 1 and j == head:
                continue
            verdict = _consider(clock, count, nodes, jobs, rules, half, j, head, score, score_theta)
            if verdict == _START:
                list_remove(state, j)
                begin_on_nodes(state, nodes, jobs, rules, j)
                enter_service(state, outside, j)
                if count[FREE] == 0:
                    return
            elif half == 0:
                if head < 0:
                    head = j
                if verdict == _RESERVED:
                    reserved += 1
                if reserved >= rules.reservations:
                    break
    if rules.log:
        while examined < count[SORTED]:
            note(nodes, True, clock, state.sorted[examined], BEHIND, head, np.inf)
            examined += 1


@spliced
def _is_cramped(state, nodes, outside, jobs, rules):
    """Whether allocations, plans or the log may not hold one more instant."""
    count = state.count
    if nodes.number[ROWS] + rules.servers >= nodes.given.shape[1]:
        return True
    if rules.log and nodes.number[LOGGED] + 4 * jobs.submit.shape[0] + 8 >= nodes.log.shape[1]:
        return True
    j = count[ARRIVED]
    while j < jobs.submit.shape[0] and jobs.submit[j] == jobs.submit[count[ARRIVED]]:
        j += 1
    steps = count[RUNNING] + count[WAITING] + j - count[ARRIVED] + outside.what.shape[0]
    return 2 * steps + 8 > nodes.plan_at.shape[0]


@compiled(NAMED_OUTSIDE_KERNEL)
def run_named_eventful(
    state, nodes, outside, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, score, score_theta, budget,
):  # fmt: skip
    """Run until done, the budget is spent, or rows are full; the status.

    An instant costs 1, and 1 for each job that waits: a pass may look at all of them.
    """
    open_nodes(nodes)
    while True:
        if _is_cramped(state, nodes, outside, jobs, rules):
            return FULL
        status = next_outside(state, outside, recording, jobs, rules, budget)
        if status != READY:
            return status
        budget -= 1 + state.count[WAITING]
        _drain(state, nodes, outside, recording, jobs, rules, control, control_theta)
        _eventful_pass(
            state, nodes, outside, jobs, rules, order, order_theta, backfill, backfill_theta, score,
            score_theta,
        )  # fmt: skip
        there = rules.servers - outside.number[GONE]
        settle_with(state, recording, rules, there, wake, control_theta)
