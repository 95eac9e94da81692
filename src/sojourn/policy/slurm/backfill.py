"""The backfill loop's pass: jobs start out of order where nobody's reservation is touched.

Reservations are kept on particular nodes and made anew in each pass, in whole seconds, rounded
down to the resolution.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from .selection import count_usable, give_back, has_room, suits, tightest_groups
from .space import NO_TIME, copy, free_between, is_taken, open_map, reserve
from .starting import begin
from .state import (
    BACKFILL,
    CONSUMABLE,
    JOBS_CHANGED,
    NODES_CHANGED,
    RUNNING,
    TRIED,
    WAITING,
)

__all__ = ["backfill_pass"]

_WINDOW = 30  # s in which jobs that end count as ending together, at first


@inlined
def round_down(at, step, epoch):
    """Round a second down to a multiple of the step, counted from the epoch."""
    return (at + epoch) // step * step - epoch


@inlined
def _choose(state, wants, machine, j):
    """Choose among the usable nodes, which are enough."""
    tightest_groups(machine, state.usable, wants.nodes[j], state.group, state.members, state.chosen)


@inlined
def _leave(state, wants, machine, i, j):
    """Take running job `i` away in thought; how many nodes that makes usable for job `j`."""
    found = 0
    for at in range(state.first[i], state.first[i + 1]):
        node = state.given[at]
        give_back(
            wants, i, node, state.then_busy, state.then_cpus, state.then_memory, state.then_gpus
        )
        if state.usable[node] or not state.kept[node] or not suits(wants, machine, j, node):
            continue
        state.usable[node] = has_room(
            wants, j, node, state.then_busy, state.then_cpus, state.then_memory, state.then_gpus
        )
        found += state.usable[node]
    return found


@inlined
def _concerns(state, i):
    """Whether a running job holds a node that is kept."""
    found = False
    for at in range(state.first[i], state.first[i + 1]):
        found = found or state.kept[state.given[at]]
    return found


@called
def _earliest(state, wants, machine, loops, epoch, j, now, now_only):
    """When a job could start on the kept nodes as jobs end at their limits, and on which.

    Jobs that are just ending count as gone. Where nodes are shared, Slurm lets jobs end in batches:
    those within a window of time, which doubles. `NO_TIME` where the nodes do not suffice.
    """
    need = wants.nodes[j]
    found = count_usable(
        wants, machine, j, state.kept, state.busy, state.cpus, state.memory, state.gpus,
        state.usable,
    )  # fmt: skip
    if found >= need:
        _choose(state, wants, machine, j)
        return now
    if now_only:
        return NO_TIME
    copy(state.then_busy, state.busy)
    copy(state.then_cpus, state.cpus)
    copy(state.then_memory, state.memory)
    copy(state.then_gpus, state.gpus)
    shared = loops.select == CONSUMABLE
    window = _WINDOW
    barrier = NO_TIME
    gone = -1
    for k in range(state.count[RUNNING]):
        i = state.active[k]
        if shared and not _concerns(state, i):
            continue
        gone = i
        found += _leave(state, wants, machine, i, j)
        if shared:
            if barrier == NO_TIME:
                barrier = round_down(state.planned[i], window, epoch) + window
            if k + 1 < state.count[RUNNING]:
                following = state.planned[state.active[k + 1]]
                if following <= barrier + window:
                    continue
                window *= 2
                while following > barrier + window:
                    window *= 2
        if found >= need:
            break
    if found < need:
        return NO_TIME
    _choose(state, wants, machine, j)
    return max(state.planned[gone], now + 1)


@inlined
def _suffice(state, wants, machine, j):
    """Whether enough of the kept nodes would do for a job, were they empty."""
    found = 0
    for node in range(state.kept.shape[0]):
        found += state.kept[node] and suits(wants, machine, j, node)
    return found >= wants.nodes[j]


@inlined
def _plan(state, wants, machine, loops, epoch, j, now, now_only):
    """Find when and where a job starts: now, at a time to be reserved, or `NO_TIME`."""
    limit = 60 * wants.limit[j]
    allowed = state.allowed
    later = now
    while True:
        begin_at = later
        later = free_between(state, begin_at, max(begin_at, now) + limit, allowed, state.kept)
        if not _suffice(state, wants, machine, j):
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        state.count[TRIED] = 1
        at = _earliest(state, wants, machine, loops, epoch, j, now, now_only)
        if at == NO_TIME:
            if later != NO_TIME and not now_only:
                continue
            return NO_TIME
        if begin_at > at:
            at = begin_at
            state.second[JOBS_CHANGED] = now
        if at <= now:
            closing = False
            for k in range(wants.nodes[j]):
                closing = closing or state.closing[state.chosen[k]] > 0
            if not closing:
                return now
            at = now + 1
            later = NO_TIME
        if now_only:
            return NO_TIME
        if later != NO_TIME and at > later:
            continue
        if at > now + loops.window:
            return NO_TIME
        step = loops.resolution
        begins, ends = round_down(at, step, epoch), round_down(at + limit, step, epoch)
        if is_taken(state, begins, ends, state.chosen, wants.nodes[j]):
            later = at
            continue
        return at


@called
def backfill_pass(state, wants, machine, loops, epoch, instant):
    """Look at the waiting jobs in order: start them, or keep nodes for them."""
    now = int(np.floor(instant))
    step = loops.resolution
    if state.planned_nodes.any():
        state.second[NODES_CHANGED] = now
        state.planned_nodes[:] = False
    if state.count[WAITING] == 0:
        return
    open_map(state, round_down(now, step, epoch), round_down(now + loops.window, step, epoch))
    state.tested[:] = 0
    state.reserved[:] = 0
    state.looked[:] = 0
    tests = started = at = 0
    while at < state.count[WAITING] and tests < loops.tests:
        j = state.queue[at]
        part = wants.partition[j]
        at += 1
        if loops.tests_per_user > 0:
            if state.tested[wants.user[j]] >= loops.tests_per_user:
                continue
            state.tested[wants.user[j]] += 1
        if loops.tests_per_partition > 0:
            if state.looked[part] >= loops.tests_per_partition:
                continue
            state.looked[part] += 1
        young = loops.least_age > 0 and now - int(np.floor(wants.submit[j])) < loops.least_age
        now_only = young or (loops.reserve > 0 and state.reserved[part] >= loops.reserve)
        for node in range(state.allowed.shape[0]):
            state.allowed[node] = (machine.partitions[node] >> part) & 1 == 1
        state.count[TRIED] = 0
        when = _plan(state, wants, machine, loops, epoch, j, now, now_only)
        tests += state.count[TRIED]
        if when == NO_TIME:
            continue
        until = round_down(when + 60 * wants.limit[j], step, epoch)
        if when == now:
            at -= 1
            begin(state, wants, at, instant, BACKFILL)
            if wants.whole[j]:
                reserve(state, state.space_begin[0], until, step, state.chosen, wants.nodes[j])
            started += 1
            if loops.backfill_starts > 0 and started >= loops.backfill_starts:
                return
            continue
        state.reserved[part] += 1
        for k in range(wants.nodes[j]):
            node = state.chosen[k]
            if state.busy[node] == 0:
                state.planned_nodes[node] = True
        begins = round_down(when, step, epoch)
        reserve(state, begins, until, step, state.chosen, wants.nodes[j])
    if state.planned_nodes.any():
        state.second[NODES_CHANGED] = now
