"""When could a job start, and on which pools? Promises on named nodes."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .choosing import choose, picked_slowness
from .nodes import (
    FIRST_ROW,
    GIVEN_NODE,
    GIVEN_PROCS,
    HELD_UNTIL,
    PICK,
    PICK_HELD,
    PICK_KB,
    PICK_PROCS,
    PICKED,
    POOL,
    POOL_FREE,
    POOL_MEMORY,
    POOL_PROCS,
    POOLS,
    ROW_COUNT,
    SPEED_COUNT,
    SPEEDS,
    STEPS,
    WHOLE,
    expected,
)
from .placing import memory_of
from .plans import (
    note_hold,
    plan_append,
    plan_change,
    plan_find,
    plan_reset,
    recall_hold,
    stays_free,
    worst_over,
)
from .profile import hold_end

__all__ = [
    "earliest",
    "hold_picks",
    "keep_promise_on_nodes",
    "plan_running",
    "promise",
    "release_early",
]


@inlined
def _weigh(nodes, job, size):
    """What the first `size` picked pools will be occupied with."""
    for k in range(size):
        procs = nodes.i[PICK_PROCS, k]
        whole = nodes.job[WHOLE, job]
        nodes.i[PICK_HELD, k] = nodes.i[POOL_PROCS, nodes.i[PICK, k]] if whole else procs
        nodes.i[PICK_KB, k] = memory_of(nodes, job, procs)


@called
def _recall_nodes(nodes, job):
    """Pick the pools of a running job, one pair for each of its nodes; how many."""
    first = nodes.job[FIRST_ROW, job]
    size = nodes.job[ROW_COUNT, job]
    for k in range(size):
        nodes.i[PICK, k] = nodes.i[POOL, nodes.given[GIVEN_NODE, first + k]]
        nodes.i[PICK_PROCS, k] = nodes.given[GIVEN_PROCS, first + k]
    _weigh(nodes, job, size)
    return size


@called
def plan_running(nodes, work, running, planned, plan):
    """Plans of the running jobs alone; an overdue one is expected at once, but not yet."""
    soonest = np.nextafter(work, np.inf)
    plan_reset(nodes, work)
    for i in range(running - 1, -1, -1):
        size = _recall_nodes(nodes, plan[i])
        plan_append(nodes, max(planned[plan[i]], soonest), size)


@called
def release_early(nodes, job, work, planned):
    """A job has ended before its plan: its pools are free for the rest of it."""
    size = _recall_nodes(nodes, job)
    plan_change(nodes, work, planned, size, 1)


@called
def earliest(nodes, jobs, job, work, now, at_once, score, theta):
    """The earliest start of a job, and the end of its plan there; the pools are picked.

    At each time: the pools that the placement would choose then, if they stay free as long as
    the job would run on them; else the placement's choice among such as stay free long enough,
    counting on ever faster processors. Infinite if `at_once` is asked and it is not.
    """
    plan = jobs.plan[job]
    step = plan_find(nodes, work)
    while step < nodes.number[STEPS]:
        begin = max(nodes.plan_at[step], work)
        turn = -1
        while turn < nodes.number[SPEED_COUNT]:
            slowest = np.inf
            # Of length 0: what is free at that time.
            length = 0.0
            if turn >= 0:
                slowest = nodes.f[SPEEDS, turn]
                length = expected(nodes, plan, slowest)
            worst_over(nodes, step, hold_end(work, begin, length))
            turn += 1
            if choose(nodes, jobs, job, slowest, now, score, theta):
                size = nodes.number[PICKED]
                _weigh(nodes, job, size)
                end = hold_end(work, begin, expected(nodes, plan, picked_slowness(nodes)))
                if turn > 0 or stays_free(nodes, step, end, size):
                    return begin, end
                if nodes.number[POOLS] == 1:
                    break
            elif turn == 0:
                break
        if at_once:
            break
        step += 1
    return np.inf, np.inf


@called
def hold_picks(nodes, begin, end):
    """Nobody else may have the picked pools in [begin, end)."""
    plan_change(nodes, begin, end, nodes.number[PICKED], -1)


@called
def promise(nodes, jobs, job, held, work, now, score, theta):
    """Promise a job its earliest start, never later than the one it holds; that start."""
    if held < np.inf:
        size = recall_hold(nodes, job)
        _weigh(nodes, job, size)
        plan_change(nodes, held, nodes.real[HELD_UNTIL, job], size, 1)
    begin, end = earliest(nodes, jobs, job, work, now, False, score, theta)
    plan_change(nodes, begin, end, nodes.number[PICKED], -1)
    note_hold(nodes, nodes.number[PICKED], job, end)
    return begin


@called
def keep_promise_on_nodes(nodes, jobs, job, promised, work):
    """A job's turn has come: whether its pools are free; then they are picked."""
    end = nodes.real[HELD_UNTIL, job]
    size = recall_hold(nodes, job)
    nodes.number[PICKED] = size
    _weigh(nodes, job, size)
    for k in range(size):
        q = nodes.i[PICK, k]
        if (
            nodes.i[POOL_FREE, q] < nodes.i[PICK_HELD, k]
            or nodes.i[POOL_MEMORY, q] < nodes.i[PICK_KB, k]
        ):
            note_hold(nodes, size, job, end)
            return False
    if promised < work:
        plan_change(nodes, promised, end, size, 1)
        length = jobs.plan[job] * picked_slowness(nodes)
        plan_change(nodes, work, work + length, size, -1)
    return True
