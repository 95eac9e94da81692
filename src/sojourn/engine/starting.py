"""May a job start now on named nodes? If so, it gets them."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .choosing import choose, pick_by_key, score_nodes
from .nodes import (
    AHEAD,
    AHEAD_MEMORY,
    BY_NODE,
    BY_SPEED,
    CONTIGUOUS,
    COUNT,
    FIRST_ROW,
    GIVEN_NODE,
    GIVEN_PROCS,
    JOB_SLOWNESS,
    NODE_FREE,
    PICK,
    PICK_PROCS,
    PICKED,
    PINNED,
    PLAIN,
    POOL,
    POOL_FREE,
    POOL_MEMORY,
    POOL_PROCS,
    POOLING,
    POOLS,
    PROCS,
    RANKED,
    ROW_COUNT,
    RULE,
    SCORED,
    SLOWNESS,
    SPEED_COUNT,
    SPEED_TALLY,
    SPEEDS,
    THERE,
    THERE_MEMORY,
    USABLE,
    WHOLE,
    expected,
    nth_place,
    weigh_stretch,
)
from .placing import hand_over, memory_of, pick_live, put_back, take_nodes, take_pools
from .state import (
    EXTRA,
    FREE,
    LOAD,
    NOW,
    RUNNING,
    SHADOW,
    SHADOW_KNOWN,
    UNTIL,
    WORK,
)
from .steps import begin

__all__ = ["begin_on_nodes", "find_shadow_on_nodes", "take_picks", "try_to_start"]


@called
def take_picks(nodes, jobs, j, now, score, theta):
    """Take what was picked by pool; concrete nodes inside a pool go by the placement."""
    pooling = nodes.number[POOLING]
    if pooling == BY_SPEED:
        take_pools(nodes)
        return
    if pooling != BY_NODE:
        if nodes.number[RULE] != SCORED:
            pick_live(nodes, j, jobs.procs[j], jobs.plan[j])
            return
        count = nodes.number[COUNT]
        for node in range(count):
            nodes.i[THERE, node] = nodes.i[USABLE, node] = nodes.i[NODE_FREE, node]
        score_nodes(nodes, jobs, j, now, score, theta)
        size, _ = pick_by_key(nodes, count, jobs.procs[j])
        nodes.number[PICKED] = size
    take_nodes(nodes, j)


@inlined
def _look_at_live(nodes):
    """Put what is free now into the vectors of `choose`."""
    for q in range(nodes.number[POOLS]):
        nodes.i[THERE, q] = nodes.i[POOL_FREE, q]
        nodes.i[THERE_MEMORY, q] = nodes.i[POOL_MEMORY, q]


@inlined
def _look_at_spare(nodes):
    """Put what is free now and not needed by the head at its reservation there."""
    for q in range(nodes.number[POOLS]):
        nodes.i[THERE, q] = min(nodes.i[POOL_FREE, q], nodes.i[AHEAD, q])
        nodes.i[THERE_MEMORY, q] = min(nodes.i[POOL_MEMORY, q], nodes.i[AHEAD_MEMORY, q])


@inlined
def _change_spare(nodes, job, sign):
    """Take the picked nodes from what the head leaves (sign -1), or not; whether it can."""
    good = True
    for i in range(nodes.number[PICKED]):
        node = nodes.i[PICK, i]
        q = nodes.i[POOL, node]
        held = nodes.i[PROCS, node] if nodes.job[WHOLE, job] else nodes.i[PICK_PROCS, i]
        nodes.i[AHEAD, q] += sign * held
        nodes.i[AHEAD_MEMORY, q] += sign * memory_of(nodes, job, nodes.i[PICK_PROCS, i])
        good = good and nodes.i[AHEAD, q] >= 0 and nodes.i[AHEAD_MEMORY, q] >= 0
    return good


@inlined
def _leaves_head_alone(count, nodes, job, width):
    """Whether a job that runs past the shadow time may have the picked nodes."""
    if nodes.number[PINNED]:
        if _change_spare(nodes, job, -1):
            return True
        _change_spare(nodes, job, 1)
        return False
    if width > count[EXTRA]:
        return False
    count[EXTRA] -= width
    return True


@inlined
def _slowness_of_nodes(nodes):
    slowness = 0.0
    for i in range(nodes.number[PICKED]):
        slowness = max(slowness, nodes.f[SLOWNESS, nodes.i[PICK, i]])
    return slowness


@inlined
def _slowest_in_time(nodes, work, plan, shadow):
    """The largest slowness with which a plan is over by `shadow`; below all if none."""
    for i in range(nodes.number[SPEED_COUNT]):
        if work + expected(nodes, plan, nodes.f[SPEEDS, i]) <= shadow:
            return nodes.f[SPEEDS, i]
    return -1.0


@inlined
def _nth_slowness(nodes, width):
    """Slowness of the `width`-th fastest free processor; that of the slowest if there are fewer."""
    if nodes.number[SPEED_COUNT] == 1:
        return nodes.f[SPEEDS, 0]
    place = nth_place(nodes, SPEED_TALLY, width - 1)
    return nodes.f[RANKED, min(place, nodes.number[COUNT] - 1)]


@called
def try_to_start(clock, count, nodes, jobs, j, reserved, score, theta):
    """Take nodes for `j`, if it may start now; whether it may.

    Without a reservation to respect (`reserved`) any that the placement finds. With one: those
    if the head does not need them, or not before they are free again; else such as the head
    leaves over; else such as are fast enough to be free in time.
    """
    work, now, shadow = clock[WORK], clock[NOW], clock[SHADOW]
    plan, width = jobs.plan[j], jobs.procs[j]
    if reserved and width > count[EXTRA]:
        # Then the fastest free processors must do.
        soonest = work + expected(nodes, plan, _nth_slowness(nodes, width))
        if soonest > shadow:
            return False
    for step in range(3):
        if step == 0 and nodes.job[PLAIN, j] and nodes.number[RULE] != SCORED:
            found = pick_live(nodes, j, width, plan)
            if not found:
                put_back(nodes, j)
        else:
            slowest = np.inf
            if step == 1:
                if not nodes.number[PINNED]:
                    continue
                _look_at_spare(nodes)
            else:
                _look_at_live(nodes)
            if step == 2:
                slowest = _slowest_in_time(nodes, work, plan, shadow)
                if slowest < 0.0:
                    return False
            found = choose(nodes, jobs, j, slowest, now, score, theta)
            if found:
                take_picks(nodes, jobs, j, now, score, theta)
        if found:
            if not reserved or work + expected(nodes, plan, _slowness_of_nodes(nodes)) <= shadow:
                return True
            if _leaves_head_alone(count, nodes, j, width):
                return True
            put_back(nodes, j)
        elif step == 0:
            return False
    return False


@inlined
def begin_on_nodes(state, nodes, jobs, rules, j):
    """Job `j` starts on the picked nodes."""
    state.held[j] = hand_over(nodes, j)
    slowness = nodes.real[JOB_SLOWNESS, j]
    # Until now its amount was that on the reference processor.
    state.clock[LOAD] += jobs.work[j] * slowness - jobs.work[j]
    begin(state, jobs, rules, j, slowness)


@inlined
def _release_ahead(nodes, job):
    """Add a running job's nodes to what is free ahead."""
    first = nodes.job[FIRST_ROW, job]
    for i in range(first, first + nodes.job[ROW_COUNT, job]):
        node, procs = nodes.given[GIVEN_NODE, i], nodes.given[GIVEN_PROCS, i]
        q = nodes.i[POOL, node]
        nodes.i[AHEAD, q] += nodes.i[PROCS, node] if nodes.job[WHOLE, job] else procs
        nodes.i[AHEAD_MEMORY, q] += memory_of(nodes, job, procs)


@inlined
def _weigh_ahead(nodes, job, row):
    """Let the stretches of neighbours tell what a row of `i` says of a running job's nodes."""
    first = nodes.job[FIRST_ROW, job]
    for i in range(first, first + nodes.job[ROW_COUNT, job]):
        node = nodes.given[GIVEN_NODE, i]
        weigh_stretch(nodes.stretch, node, nodes.i[row, node])


@inlined
def _hold_ahead(nodes, job):
    """Take the head's picks (by pool) from what is free ahead."""
    for i in range(nodes.number[PICKED]):
        q, procs = nodes.i[PICK, i], nodes.i[PICK_PROCS, i]
        nodes.i[AHEAD, q] -= nodes.i[POOL_PROCS, q] if nodes.job[WHOLE, job] else procs
        nodes.i[AHEAD_MEMORY, q] -= memory_of(nodes, job, procs)


@inlined
def _most_spare(nodes):
    """Processors that the widest job could have beside the head, at most."""
    most = stretch = np.int64(0)
    for q in range(nodes.number[POOLS]):
        spare = min(nodes.i[POOL_FREE, q], nodes.i[AHEAD, q])
        if spare <= 0 and nodes.number[RULE] == CONTIGUOUS:
            stretch = np.int64(0)
        stretch += max(spare, 0)
        most = max(most, stretch)
    return most


@called
def find_shadow_on_nodes(clock, count, running, nodes, jobs, head, score, theta):
    """The blocked head's reservation: when, and what it leaves to others.

    As `find_shadow`: nothing depends on its end, so it holds a number of processors; where nodes
    matter it holds those that the placement would choose at that time. `running` has planned
    ends and processors by job, and the running jobs, the soonest last.
    """
    planned, held, plan = running
    pinned = nodes.number[PINNED] == 1
    pools = nodes.number[POOLS]
    soonest = np.nextafter(clock[WORK], np.inf)
    if pinned:
        for q in range(pools):
            nodes.i[AHEAD, q] = nodes.i[POOL_FREE, q]
            nodes.i[AHEAD_MEMORY, q] = nodes.i[POOL_MEMORY, q]
    # Stretches of neighbours are known without looking at all nodes at each end.
    stretched = pinned and nodes.number[RULE] == CONTIGUOUS and nodes.job[PLAIN, head] == 1
    i = count[RUNNING] - 1
    have = count[FREE]
    shadow = soonest
    while i >= 0:
        shadow = max(planned[plan[i]], soonest)
        while i >= 0 and max(planned[plan[i]], soonest) == shadow:
            have += held[plan[i]]
            if pinned:
                _release_ahead(nodes, plan[i])
            if stretched:
                _weigh_ahead(nodes, plan[i], AHEAD)
            i -= 1
        if have >= jobs.procs[head]:
            if not pinned:
                break
            if stretched and nodes.stretch[3, 1] < jobs.procs[head]:
                continue
            for q in range(pools):
                nodes.i[THERE, q] = nodes.i[AHEAD, q]
                nodes.i[THERE_MEMORY, q] = nodes.i[AHEAD_MEMORY, q]
            if choose(nodes, jobs, head, np.inf, clock[NOW], score, theta):
                break
    if stretched:
        for k in range(i + 1, count[RUNNING]):
            _weigh_ahead(nodes, plan[k], NODE_FREE)
    clock[SHADOW] = shadow
    # Generous by the rounding of work + plan; `try_to_start` decides.
    fastest = expected(nodes, 1.0, _nth_slowness(nodes, 1))
    until = shadow - clock[WORK] + 4.5e-16 * abs(shadow)
    clock[UNTIL] = until / fastest * (1.0 + 1e-15)
    count[EXTRA] = have - jobs.procs[head]
    if pinned:
        _hold_ahead(nodes, head)
        count[EXTRA] = _most_spare(nodes)
    count[SHADOW_KNOWN] = 1
