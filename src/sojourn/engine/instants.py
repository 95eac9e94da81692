"""From one instant to the next: the recursion that all disciplines share.

At each instant everything due is drained (departures, then arrivals, then a rate switch), then
one scheduling pass runs. Time is kept on two clocks: seconds, and work, the integral of the rate.
A job that starts at work v and needs work S ends at work v + S whatever the rate does, so a
switch costs O(1).
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from ..jit import inlined, spliced
from .nodes import NODE_SCORE_POINTER, NODES
from .state import (
    ANCHOR_TIME,
    ANCHOR_WORK,
    ARRIVED,
    CONSERVATIVE,
    DEPARTED,
    DUE,
    DUE_WORK,
    EARLY,
    EFFECTIVE,
    EPOCHS,
    EVENTS,
    FREE,
    IN_SERVICE,
    INSTANTS,
    LOAD,
    NEW,
    NOW,
    PAUSE,
    POTENTIAL,
    PREEMPT,
    QUEUE,
    RATE,
    RECORDED,
    RUNNING,
    SEGMENTS,
    SWITCH_AT,
    SWITCH_LEVEL,
    WAITING,
    WASTE,
    WORK,
    WORKLOAD,
    WORKLOAD_LEFT,
    Orders,
    Rules,
    make_recording,
    make_state,
)
from .steps import finish, first_end, present
from .types import (
    ARRIVE,
    CONTROL_POINTER,
    FINISH,
    SCORE_POINTER,
    SWITCH,
    SystemView,
    empty_jobs,
)

__all__ = [
    "DECIDE",
    "DONE",
    "FULL",
    "KERNEL",
    "NAMED_KERNEL",
    "PAUSED",
    "READY",
    "advance",
    "next_instant",
    "settle",
    "settle_with",
    "steer",
    "time_of",
]

DONE, PAUSED, FULL, DECIDE, READY = range(5)

_RULES = Rules(1, 0, 1, *(False,) * 13)
_STATE = make_state(empty_jobs(), _RULES, Orders(np.empty(0), None), 1.0, np.empty(0))
_THETA = types.float64[::1]
# state, recording, jobs, rules, order, backfill order, control, its wake-up, budget of steps
KERNEL = types.int64(
    numba.typeof(_STATE),
    numba.typeof(make_recording(0, _RULES)),
    numba.typeof(empty_jobs()),
    numba.typeof(_RULES),
    SCORE_POINTER,
    _THETA,
    SCORE_POINTER,
    _THETA,
    CONTROL_POINTER,
    CONTROL_POINTER,
    _THETA,
    types.int64,
)
# With named nodes after the state, and the placement's score before the budget.
NAMED_KERNEL = types.int64(
    KERNEL.args[0],
    NODES,
    *KERNEL.args[1:-1],
    NODE_SCORE_POINTER,
    _THETA,
    types.int64,
)


@inlined
def time_of(clock, work):
    """When the work clock will read `work`, at the present rate."""
    return clock[ANCHOR_TIME] + (work - clock[ANCHOR_WORK]) / clock[RATE]


@spliced
def advance(state, rules, servers, at, ends):
    """Move both clocks to `at` and integrate the measures over the interval that ends there.

    `servers` are those that are there, in use or free.
    """
    clock = state.clock
    count = state.count
    total = state.total
    lapse = at - clock[NOW]
    rate = clock[RATE]
    if ends <= at:
        work = first_end(state, rules)
    else:
        work = clock[ANCHOR_WORK] + (at - clock[ANCHOR_TIME]) * rate
    if clock[DUE] <= at:
        # Like a completion, a promise comes at its own work, not at a rounded one.
        work = max(work, clock[DUE_WORK])
    work = max(work, clock[WORK])
    if lapse > 0.0:
        effective = rate * (servers - count[FREE]) * lapse
        total[EFFECTIVE] += effective
        if count[WAITING] > 0:
            total[POTENTIAL] += rate * servers * lapse
            total[WASTE] += rate * count[FREE] * lapse
            total[QUEUE] += count[WAITING] * lapse
        else:
            total[POTENTIAL] += effective
        total[WORKLOAD_LEFT] += clock[LOAD] * lapse
        total[WORKLOAD] += (clock[LOAD] - 0.5 * rate * count[RUNNING] * lapse) * lapse
        total[IN_SERVICE] += count[RUNNING] * lapse
    clock[LOAD] -= count[RUNNING] * (work - clock[WORK])
    if clock[SWITCH_AT] <= at:
        clock[LOAD] = clock[SWITCH_LEVEL]
    clock[NOW] = at
    clock[WORK] = work


@inlined
def _view(state, servers, event, before, coin):
    count = state.count
    return SystemView(
        event,
        before,
        present(count),
        count[WAITING] + count[NEW],
        servers - count[FREE],
        servers,
        state.clock[LOAD],
        state.clock[RATE],
        coin,
    )


@spliced
def steer(state, recording, rules, servers, control, theta, event, before):
    """Ask the control for the rate after an event; a change re-anchors the work clock, O(1)."""
    clock = state.clock
    count = state.count
    coin = 0.0
    if event != SWITCH:
        if count[EVENTS] < state.coins.shape[0]:
            coin = state.coins[count[EVENTS]]
        count[EVENTS] += 1
    rate = control(_view(state, servers, event, before, coin), clock[NOW], theta)
    if rate != clock[RATE]:
        clock[ANCHOR_TIME] = clock[NOW]
        clock[ANCHOR_WORK] = clock[WORK]
        clock[RATE] = rate
        at = count[EPOCHS]
        recording.epoch_time[at] = clock[NOW]
        recording.epoch_rate[at] = rate
        count[EPOCHS] = at + 1


@spliced
def _drain(state, recording, jobs, rules, control, theta):
    """Departures, then arrivals, then the switch; the control looks after each.

    With one pass per event, a single event: arrivals come first, as in other simulators.
    """
    clock = state.clock
    count = state.count
    arrivals = jobs.submit.shape[0]
    while True:
        before = present(count)
        arriving = count[ARRIVED] < arrivals and jobs.submit[count[ARRIVED]] <= clock[NOW]
        ending = count[RUNNING] > 0 and (
            first_end(state, rules) <= clock[WORK]
            or time_of(clock, first_end(state, rules)) <= clock[NOW]
        )
        if rules.per_event and arriving:
            ending = False
        event = SWITCH
        if ending:
            event = FINISH
            finish(state, recording, jobs, rules)
        elif arriving:
            # W grows by the job amount [rumyantsev2018, eq. 4].
            event = ARRIVE
            clock[LOAD] += jobs.work[count[ARRIVED]]
            count[ARRIVED] += 1
            count[NEW] += 1
        elif not (rules.timed_control and clock[SWITCH_AT] <= clock[NOW]):
            return
        if rules.controlled:
            steer(state, recording, rules, rules.servers, control, theta, event, before)
        if event == SWITCH or rules.per_event:
            return


@spliced
def _is_full(state, recording, jobs, rules, at):
    """Whether the rows may not hold one more instant, whatever it brings."""
    count = state.count
    if rules.record and count[RECORDED] + 1 >= recording.time.shape[0]:
        return True
    if rules.controlled:
        calls = count[RUNNING] + 2
        j = count[ARRIVED]
        while j < jobs.submit.shape[0] and jobs.submit[j] <= at:
            calls += 1
            j += 1
        if count[EPOCHS] + calls >= recording.epoch_time.shape[0]:
            return True
    return (
        rules.backfill >= PREEMPT
        and count[SEGMENTS] + 2 * state.finish_job.shape[0] >= recording.segment_job.shape[0]
    )


@spliced
def next_instant(state, recording, jobs, rules, control, theta, budget):
    """Go to the next instant and drain it: READY for a pass, or why not."""
    clock = state.clock
    count = state.count
    if budget <= 0 or count[PAUSE] == 1:
        count[PAUSE] = 0
        return PAUSED
    ends = np.inf
    if count[RUNNING] > 0:
        ends = clock[NOW]
        if first_end(state, rules) > clock[WORK]:
            ends = time_of(clock, first_end(state, rules))
    at = min(ends, clock[SWITCH_AT], clock[DUE])
    if count[ARRIVED] < jobs.submit.shape[0]:
        at = min(at, jobs.submit[count[ARRIVED]])
    if at == np.inf:
        return DONE
    if _is_full(state, recording, jobs, rules, at):
        return FULL
    # A work is turned into a time with rounding; time never runs backwards.
    at = max(at, clock[NOW])
    advance(state, rules, rules.servers, at, ends)
    count[INSTANTS] += 1
    count[DEPARTED] = 0
    count[EARLY] = 0
    _drain(state, recording, jobs, rules, control, theta)
    return READY


@spliced
def settle(state, recording, rules, wake, theta):
    """After a pass: set the timers and write a row."""
    settle_with(state, recording, rules, rules.servers, wake, theta)


@spliced
def settle_with(state, recording, rules, servers, wake, theta):
    """As `settle`, where only so many servers are there.

    W falls with slope R |S|, and a crossing exists only while somebody is served (errata 2).
    """
    clock = state.clock
    count = state.count
    if rules.timed_control:
        clock[SWITCH_AT] = np.inf
        if count[RUNNING] > 0:
            level = wake(_view(state, servers, SWITCH, present(count), 0.0), clock[NOW], theta)
            if clock[LOAD] > level:
                clock[SWITCH_LEVEL] = level
                clock[SWITCH_AT] = clock[NOW] + (clock[LOAD] - level) / (
                    clock[RATE] * count[RUNNING]
                )
    if rules.backfill == CONSERVATIVE:
        clock[DUE] = time_of(clock, clock[DUE_WORK])
    if rules.record:
        at = count[RECORDED]
        recording.time[at] = clock[NOW]
        recording.rate[at] = clock[RATE]
        recording.workload[at] = clock[LOAD]
        recording.present[at] = count[RUNNING] + count[WAITING]
        recording.queued[at] = count[WAITING]
        recording.busy[at] = servers - count[FREE]
        recording.running[at] = count[RUNNING]
        count[RECORDED] = at + 1
