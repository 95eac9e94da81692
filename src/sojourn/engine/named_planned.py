"""Kernel for named nodes where the queue is a list: scores that change with time, several
reservations, promises for all, and runs whose decisions are logged.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, compiled, inlined, spliced
from .choosing import picked_slowness
from .decided import (
    BACKFILLED_BESIDE,
    BACKFILLED_IN_TIME,
    BEHIND,
    KEPT,
    NO_NODES,
    PROMISED,
    RESERVED,
    STARTED,
    TOO_WIDE,
    WOULD_DELAY,
    note,
)
from .foresight import (
    earliest,
    hold_picks,
    keep_promise_on_nodes,
    plan_running,
    promise,
    release_early,
)
from .heap import heap_push
from .instants import FULL, NAMED_KERNEL, READY, next_instant, settle
from .nodes import (
    LOGGED,
    NEEDED,
    POOLS,
    ROWS,
    STEPS,
    open_nodes,
)
from .placing import release_departed
from .plans import plan_advance, recall_hold
from .promises import is_overdue, list_concerned, next_due, sweep
from .starting import begin_on_nodes, find_shadow_on_nodes, take_picks, try_to_start
from .state import (
    ANCHOR_TIME,
    ANCHOR_WORK,
    ARRIVED,
    CONSERVATIVE,
    DEPARTED,
    DUES,
    EARLY,
    EASY,
    EXTRA,
    FIRST,
    FREE,
    NEW,
    NONE,
    NOW,
    RATE,
    RESERVE,
    RUNNING,
    SHADOW,
    SORTED,
    WAITING,
    WAS_OVERDUE,
    WORK,
)
from .waiting import list_insert, list_remove, put_in_order

__all__ = ["run_named_planned"]

_START, _PASS_OVER, _STOP = range(3)


@inlined
def _time_of_work(clock, work):
    """When the work clock will read `work`, at the present rate."""
    return clock[ANCHOR_TIME] + (work - clock[ANCHOR_WORK]) / clock[RATE]


@spliced
def _make_promises(state, nodes, jobs, rules, rebuild, score, theta):
    """Bring the promises up to date: `sorted` holds whom it may concern, in order.

    As in `promises`: after an overrun all are made anew; after an early end they are moved up,
    in order; then the arrivals of this instant get theirs.
    """
    clock, count = state.clock, state.count
    work = clock[WORK]
    if rebuild:
        plan_running(nodes, work, count[RUNNING], state.planned, state.plan)
        count[DUES] = 0
        for i in range(count[SORTED]):
            recall_hold(nodes, state.sorted[i])
    else:
        plan_advance(nodes, work)
    for arrivals in range(2):
        for i in range(count[SORTED]):
            j = state.sorted[i]
            held = state.promise[j]
            if (rebuild or held < np.inf) != (arrivals == 0):
                continue
            begin = promise(
                nodes, jobs, j, np.inf if rebuild else held, work, clock[NOW], score, theta
            )
            if rebuild or begin != held:
                if count[DUES] == state.due_key.shape[0]:
                    count[DUES] = sweep(state.due_key, state.due_job, count[DUES], state.promise)
                heap_push(state.due_key, state.due_job, count[DUES], begin, j)
                count[DUES] += 1
            state.promise[j] = begin
            if np.isnan(state.first_promise[j]):
                state.first_promise[j] = begin
            if begin != held and begin > work:
                note(nodes, rules.log, clock, j, PROMISED, -1, _time_of_work(clock, begin))


@spliced
def _promise_and_take(state, nodes, jobs, rules, order, theta, new, score, score_theta):
    """Conservative: update the promises, then list the jobs that are due, in order."""
    count = state.count
    overdue = is_overdue(state)
    rebuild = overdue or count[WAS_OVERDUE] == 1 or nodes.number[STEPS] == 0
    count[WAS_OVERDUE] = 1 if overdue else 0
    everybody = rebuild or count[EARLY] == 1
    for step in range(2):
        list_concerned(state, jobs, rules, step, everybody, new, order, theta)
        if step == 0:
            _make_promises(state, nodes, jobs, rules, rebuild, score, score_theta)


@called
def _reserve(clock, count, nodes, jobs, rules, half, j, head, reserved, score, theta):
    """EASY with several reservations: it starts, or gets one, or is passed over."""
    work, logged = clock[WORK], rules.log
    begin, end = earliest(nodes, jobs, j, work, clock[NOW], half == 1, score, theta)
    if begin == np.inf:
        note(nodes, logged, clock, j, WOULD_DELAY, head, np.inf)
        return _PASS_OVER
    if begin <= work:
        # Its nodes are known now. With a plan of 0 it is overdue at once.
        end = work + jobs.plan[j] * picked_slowness(nodes)
        hold_picks(nodes, begin, max(end, np.nextafter(work, np.inf)))
        take_picks(nodes, jobs, j, clock[NOW], score, theta)
        code = STARTED if half == 0 else BACKFILLED_BESIDE
        note(nodes, logged, clock, j, code, head, count[FREE])
        return _START
    hold_picks(nodes, begin, end)
    note(nodes, logged, clock, j, RESERVED, -1, _time_of_work(clock, begin))
    return _STOP if reserved + 1 >= rules.reservations or count[FREE] == 0 else _PASS_OVER


@called
def _start_or_wait(clock, count, nodes, jobs, rules, half, j, head, score, theta):
    """In order, first fit, and EASY with one reservation."""
    logged = rules.log
    behind = half == 1 and rules.backfill == EASY
    fits = jobs.procs[j] <= count[FREE]
    extra = count[EXTRA]
    until = np.inf
    if behind:
        until = _time_of_work(clock, clock[SHADOW])
    if fits and try_to_start(clock, count, nodes, jobs, j, behind, score, theta):
        if not behind:
            note(nodes, logged, clock, j, STARTED, head, count[FREE])
        elif count[EXTRA] < extra:
            note(nodes, logged, clock, j, BACKFILLED_BESIDE, head, count[EXTRA])
        else:
            note(nodes, logged, clock, j, BACKFILLED_IN_TIME, head, until)
        return _START
    if not fits:
        note(nodes, logged, clock, j, TOO_WIDE, head, count[FREE])
    elif behind:
        note(nodes, logged, clock, j, WOULD_DELAY, head, until)
    else:
        note(nodes, logged, clock, j, NO_NODES, head, count[FREE])
    return _STOP if half == 0 else _PASS_OVER


@spliced
def _consider(state, nodes, jobs, rules, half, j, head, reserved, score, theta):
    """One job's turn: in the first half in order, until one blocks the rest."""
    clock, count = state.clock, state.count
    if rules.backfill == CONSERVATIVE:
        promised = state.promise[j]
        if not keep_promise_on_nodes(nodes, jobs, j, promised, clock[WORK]):
            # Held up by a job whose plan is 0 and that started a moment ago.
            heap_push(state.due_key, state.due_job, count[DUES], promised, j)
            count[DUES] += 1
            note(nodes, rules.log, clock, j, NO_NODES, -1, count[FREE])
            return _PASS_OVER
        state.promise[j] = np.nan
        take_picks(nodes, jobs, j, clock[NOW], score, theta)
        note(nodes, rules.log, clock, j, KEPT, -1, count[FREE])
        return _START
    if half == 1:
        if count[FREE] == 0:
            return _STOP
        if j == head:
            return _PASS_OVER
    if rules.backfill == RESERVE and (half == 0 or jobs.procs[j] <= count[FREE]):
        return _reserve(clock, count, nodes, jobs, rules, half, j, head, reserved, score, theta)
    if rules.backfill == RESERVE:
        note(nodes, rules.log, clock, j, TOO_WIDE, head, count[FREE])
        return _PASS_OVER
    return _start_or_wait(clock, count, nodes, jobs, rules, half, j, head, score, theta)


@spliced
def _listed_pass(
    state, nodes, jobs, rules, order, theta, backfill, backfill_theta, score, score_theta
):
    clock, count = state.clock, state.count
    new = count[NEW]
    pools = nodes.number[POOLS]
    if rules.backfill == CONSERVATIVE and count[EARLY] == 1:
        for i in range(count[DEPARTED]):
            j = state.departed[i]
            if state.planned[j] > clock[WORK]:
                release_early(nodes, j, clock[WORK], state.planned[j])
    release_departed(state, nodes)
    for j in range(count[ARRIVED] - new, count[ARRIVED]):
        list_insert(state, j)
        nodes.number[NEEDED] += min(jobs.procs[j], pools)
    count[NEW] = 0
    if rules.backfill != CONSERVATIVE and (count[WAITING] == 0 or count[FREE] == 0):
        return
    examined = 0
    reserved = 0
    head = np.int64(-1)
    for half in range(2):
        listed = rules.backfill != CONSERVATIVE
        if half == 0:
            if rules.backfill == CONSERVATIVE:
                _promise_and_take(state, nodes, jobs, rules, order, theta, new, score, score_theta)
            elif rules.backfill == RESERVE:
                plan_running(nodes, clock[WORK], count[RUNNING], state.planned, state.plan)
        else:
            if examined >= count[SORTED] or rules.backfill in (NONE, CONSERVATIVE):
                break
            if rules.backfill == EASY:
                find_shadow_on_nodes(
                    clock, count, (state.planned, state.held, state.plan), nodes,
                    jobs, head, score, score_theta,
                )  # fmt: skip
                until = _time_of_work(clock, clock[SHADOW])
                note(nodes, rules.log, clock, head, RESERVED, -1, until)
            listed = rules.own_backfill_order
            if listed:
                examined = 0
        if listed:
            own = half == 1
            put_in_order(
                state, jobs, state.waiting, count[FIRST], count[WAITING], clock[NOW],
                rules.dynamic_backfill if own else rules.dynamic_order,
                state.backfill_key if own else state.key,
                backfill if own else order,
                backfill_theta if own else theta,
            )  # fmt: skip
        while examined < count[SORTED]:
            j = state.sorted[examined]
            examined += 1
            verdict = _consider(
                state, nodes, jobs, rules, half, j, head, reserved, score, score_theta
            )
            if half == 0 and verdict != _START:
                reserved += 1
                if head < 0:
                    head = j
            if verdict == _STOP:
                break
            if verdict == _START:
                list_remove(state, j)
                nodes.number[NEEDED] -= min(jobs.procs[j], pools)
                begin_on_nodes(state, nodes, jobs, rules, j)
    if rules.log and rules.backfill == NONE:
        while examined < count[SORTED]:
            note(nodes, True, clock, state.sorted[examined], BEHIND, head, np.inf)
            examined += 1
    if rules.backfill == CONSERVATIVE:
        next_due(state)


@spliced
def _is_cramped(state, nodes, jobs, rules):
    """Whether allocations, plans or the log may not hold one more instant."""
    count = state.count
    if nodes.number[ROWS] + rules.servers >= nodes.given.shape[1]:
        return True
    if rules.log and nodes.number[LOGGED] + 4 * jobs.submit.shape[0] + 8 >= nodes.log.shape[1]:
        return True
    if rules.backfill != RESERVE and rules.backfill != CONSERVATIVE:
        return False
    cells = nodes.number[NEEDED]
    j = count[ARRIVED]
    while j < jobs.submit.shape[0] and jobs.submit[j] == jobs.submit[count[ARRIVED]]:
        cells += min(jobs.procs[j], nodes.number[POOLS])
        j += 1
    steps = 2 * (count[RUNNING] + count[WAITING] + j - count[ARRIVED]) + 8
    return steps > nodes.plan_at.shape[0] or cells > nodes.cell.shape[1]


@compiled(NAMED_KERNEL)
def run_named_planned(
    state, nodes, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, score, score_theta, budget,
):  # fmt: skip
    """Run until done, the budget is spent, or rows are full; the status.

    An instant costs 1, and 1 for each job that waits: a pass may look at all of them.
    """
    open_nodes(nodes)
    while True:
        if _is_cramped(state, nodes, jobs, rules):
            return FULL
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1 + state.count[WAITING]
        _listed_pass(
            state, nodes, jobs, rules, order, order_theta, backfill, backfill_theta, score,
            score_theta,
        )  # fmt: skip
        settle(state, recording, rules, wake, control_theta)
