"""From one instant to the next with external events, and what these do to jobs.

The jobs themselves arrive as ever. At one instant jobs end first, then external events come in
their order, then arrivals and the rate switch; one pass follows.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, spliced
from .heap import heap_discard
from .instants import DONE, FULL, PAUSED, READY, advance, time_of
from .outside import (
    ANNOUNCED,
    BEGAN,
    BEGINS,
    CANCELLED,
    COMPLETED,
    ENDS,
    FATE,
    GONE,
    KILLED,
    LEFT,
    LOSSES,
    LOST_HELD,
    LOST_JOB,
    LOST_SLOWNESS,
    LOST_START,
    LOST_STOP,
    LOST_WORK,
    NEXT,
    RESTARTS,
    RESUME,
    STOP,
    STOPPED,
    STRIKE,
    UNDECIDED,
    WITHDRAW,
    WORKED,
)
from .state import (
    ANCHOR_TIME,
    ANCHOR_WORK,
    ARRIVED,
    DEPARTED,
    DUE,
    EARLY,
    EPOCHS,
    FREE,
    INSTANTS,
    LOAD,
    NOW,
    PAUSE,
    RATE,
    RECORDED,
    RUNNING,
    SWITCH_AT,
    WAITING,
    WORK,
)
from .steps import first_end, plan_remove, present
from .types import ARRIVE, FINISH, SWITCH
from .waiting import list_remove, list_return

__all__ = [
    "arrive",
    "due_now",
    "enter_service",
    "heed",
    "is_idle",
    "later_victim",
    "leave_service",
    "next_outside",
    "reserved_stretch",
    "strike",
    "strikes_one",
]

# What is due at an instant; and what the control does not see.
NOTHING, ENDING, HAPPENING, ARRIVING, SWITCHING = range(5)
UNSEEN = 0


@spliced
def _is_cramped(state, outside, recording, jobs, rules, at):
    """Whether rows or losses may not hold one more instant, whatever it brings."""
    count = state.count
    if outside.number[LOSSES] + count[RUNNING] > outside.lost.shape[1]:
        return True
    if rules.record and count[RECORDED] + 1 >= recording.time.shape[0]:
        return True
    if not rules.controlled:
        return False
    # Each running job may end or be stopped, and each event and arrival may change the rate.
    calls = 2 * count[RUNNING] + 2
    i = outside.number[NEXT]
    while i < outside.time.shape[0] and outside.time[i] <= at:
        calls += 1
        i += 1
    j = count[ARRIVED]
    while j < jobs.submit.shape[0] and jobs.submit[j] <= at:
        calls += 1
        j += 1
    return count[EPOCHS] + calls >= recording.epoch_time.shape[0]


@spliced
def next_outside(state, outside, recording, jobs, rules, budget):
    """Go to the next instant: READY to be drained, or why not."""
    clock = state.clock
    count = state.count
    if budget <= 0 or count[PAUSE] == 1:
        count[PAUSE] = 0
        return PAUSED
    arriving = count[ARRIVED] < jobs.submit.shape[0]
    if not arriving and present(count) == 0:
        return DONE
    ends = np.inf
    if count[RUNNING] > 0:
        ends = clock[NOW]
        if first_end(state, rules) > clock[WORK]:
            ends = time_of(clock, first_end(state, rules))
    at = min(ends, clock[SWITCH_AT], clock[DUE])
    if arriving:
        at = min(at, jobs.submit[count[ARRIVED]])
    if outside.number[NEXT] < outside.time.shape[0]:
        at = min(at, outside.time[outside.number[NEXT]])
    if at == np.inf:
        return DONE
    if _is_cramped(state, outside, recording, jobs, rules, at):
        return FULL
    at = max(at, clock[NOW])
    advance(state, rules, rules.servers - outside.number[GONE], at, ends)
    count[INSTANTS] += 1
    count[DEPARTED] = 0
    count[EARLY] = 0
    return READY


@inlined
def due_now(state, outside, jobs, rules):
    """What comes next at this instant: departures, external events, arrivals, then the switch."""
    clock, count, number = state.clock, state.count, outside.number
    if count[RUNNING] > 0 and (
        first_end(state, rules) <= clock[WORK]
        or time_of(clock, first_end(state, rules)) <= clock[NOW]
    ):
        return ENDING
    if number[NEXT] < outside.time.shape[0] and outside.time[number[NEXT]] <= clock[NOW]:
        return HAPPENING
    j = count[ARRIVED]
    if j < jobs.submit.shape[0] and jobs.submit[j] <= clock[NOW]:
        return ARRIVING
    if rules.timed_control and clock[SWITCH_AT] <= clock[NOW]:
        return SWITCHING
    return NOTHING


@inlined
def arrive(state, outside, jobs):
    """The next job comes, unless it was cancelled before; what the control sees."""
    j = state.count[ARRIVED]
    state.count[ARRIVED] += 1
    if outside.fate[FATE, j] == CANCELLED:
        outside.job[LEFT, j] = jobs.submit[j]
        return UNSEEN
    # W grows by the job amount [rumyantsev2018, eq. 4].
    state.clock[LOAD] += jobs.work[j]
    list_return(state, j)
    return ARRIVE


@inlined
def enter_service(state, outside, j):
    """Note where the work clock stands when `j` starts."""
    outside.job[BEGAN, j] = state.clock[WORK]


@inlined
def leave_service(state, outside, jobs, j, slowness):
    """`j` has come to its end."""
    outside.fate[FATE, j] = COMPLETED
    outside.job[LEFT, j] = state.clock[NOW]
    outside.job[WORKED, j] = jobs.work[j] * slowness


@inlined
def later_victim(state, j, other):
    """Of two running jobs (-1 for none) the one that a failure takes first: the last to start."""
    if j < 0 or other < 0:
        return max(j, other)
    if state.start[j] != state.start[other]:
        return j if state.start[j] > state.start[other] else other
    return max(j, other)


@inlined
def _quiet(state):
    """An empty system has no workload, whatever rounding left."""
    if present(state.count) == 0:
        state.clock[LOAD] = 0.0


@inlined
def _cancel(state, outside, jobs, j):
    """`j` is withdrawn while it waits, or before it comes; what the control sees."""
    if outside.fate[FATE, j] != UNDECIDED:
        return UNSEEN
    outside.fate[FATE, j] = CANCELLED
    if j >= state.count[ARRIVED]:
        return UNSEEN
    outside.job[LEFT, j] = state.clock[NOW]
    list_remove(state, j)
    state.clock[LOAD] -= jobs.work[j]
    _quiet(state)
    return FINISH


@inlined
def strike(state, outside, jobs, j, slowness, returns):
    """The running job `j` is stopped: it waits again, from the beginning, or is killed.

    What the control sees of it: a departure, or that the workload has grown.
    """
    count, clock = state.count, state.clock
    worked = clock[WORK] - outside.job[BEGAN, j]
    still = max(jobs.work[j] * slowness - worked, 0.0)
    heap_discard(state.finish_key, state.finish_job, count[RUNNING], j)
    plan_remove(state, j)
    count[RUNNING] -= 1
    count[FREE] += state.held[j]
    clock[LOAD] -= still
    if not returns:
        state.end[j] = clock[NOW]
        outside.fate[FATE, j] = KILLED
        outside.job[LEFT, j] = clock[NOW]
        outside.job[WORKED, j] = worked
        _quiet(state)
        return FINISH
    at = outside.number[LOSSES]
    outside.lost[LOST_START, at] = state.start[j]
    outside.lost[LOST_STOP, at] = clock[NOW]
    outside.lost[LOST_WORK, at] = worked
    outside.lost[LOST_SLOWNESS, at] = slowness
    outside.lost_what[LOST_JOB, at] = j
    outside.lost_what[LOST_HELD, at] = state.held[j]
    outside.number[LOSSES] = at + 1
    outside.fate[RESTARTS, j] += 1
    state.start[j] = np.nan
    clock[LOAD] += jobs.work[j]
    list_return(state, j)
    return SWITCH


@inlined
def strikes_one(state, kind, about):
    """The running job that an event about a job stops, or -1."""
    if kind != WITHDRAW and kind != STRIKE:
        return np.int64(-1)
    runs = not np.isnan(state.start[about]) and np.isnan(state.end[about])
    return about if runs else np.int64(-1)


@inlined
def heed(state, outside, jobs, kind, about, procs):
    """An event that stops no running job; `procs` more are there. What the control sees."""
    if kind == WITHDRAW:
        return _cancel(state, outside, jobs, about)
    state.count[FREE] += procs
    outside.number[GONE] -= procs
    if kind == STOP:
        outside.number[STOPPED] = 1
    elif kind == RESUME:
        outside.number[STOPPED] = 0
    return UNSEEN


@inlined
def reserved_stretch(clock, outside, i):
    """What reservation `i` keeps of the work to come, at the present rate; nothing if it is over.

    One that is not announced yet is not known of.
    """
    if outside.reserved[ANNOUNCED, i] > clock[NOW] or outside.reserved[ENDS, i] <= clock[NOW]:
        return np.inf, np.inf
    begins = max(outside.reserved[BEGINS, i], clock[NOW])
    begin = clock[ANCHOR_WORK] + (begins - clock[ANCHOR_TIME]) * clock[RATE]
    end = clock[ANCHOR_WORK] + (outside.reserved[ENDS, i] - clock[ANCHOR_TIME]) * clock[RATE]
    return max(begin, clock[WORK]), end


@inlined
def is_idle(state, outside):
    """Whether a pass could not start anybody."""
    count = state.count
    return outside.number[STOPPED] == 1 or count[WAITING] == 0 or count[FREE] == 0
