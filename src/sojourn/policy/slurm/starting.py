"""A job enters the queue, starts, ends and is cancelled; the main loop's pass over the queue."""

from __future__ import annotations

import numpy as np

from ...engine.heap import heap_discard, heap_push
from ...jit import called, inlined
from .selection import count_usable, give_back, take, tightest_groups
from .state import ENDED, JOBS_CHANGED, LEFT, MAIN, NODES_CHANGED, RUNNING, WAITING

__all__ = ["begin", "enqueue", "finish", "is_before", "main_pass", "note", "unqueue"]


@inlined
def note(state, at):
    """Jobs and nodes have changed: the backfill loop has work."""
    state.second[JOBS_CHANGED] = state.second[NODES_CHANGED] = at


@inlined
def is_before(state, wants, machine, i, j):
    """Whether job `i` goes before job `j`: tier, priority, second of the submit, number."""
    tier_i, tier_j = machine.tier[wants.partition[i]], machine.tier[wants.partition[j]]
    if tier_i != tier_j:
        return tier_i > tier_j
    if state.priority[i] != state.priority[j]:
        return state.priority[i] > state.priority[j]
    return i < j


@called
def enqueue(state, wants, machine, j):
    """Insert a job where it belongs in the queue."""
    at = state.count[WAITING]
    while at > 0 and is_before(state, wants, machine, j, state.queue[at - 1]):
        state.queue[at] = state.queue[at - 1]
        at -= 1
    state.queue[at] = j
    state.count[WAITING] += 1


@inlined
def unqueue(state, at):
    """Take the job at a place out of the queue."""
    last = state.count[WAITING] - 1
    for k in range(at, last):
        state.queue[k] = state.queue[k + 1]
    state.count[WAITING] = last


@called
def begin(state, wants, at, now, by):
    """Start the waiting job at a place of the queue on the chosen nodes."""
    j = state.queue[at]
    unqueue(state, at)
    second = int(np.floor(now))
    state.start[j] = now
    state.by[j] = by
    state.planned[j] = second + 60 * wants.limit[j]
    for k in range(wants.nodes[j]):
        node = state.chosen[k]
        state.given[state.first[j] + k] = node
        take(wants, j, node, state.busy, state.cpus, state.memory, state.gpus)
    running = state.count[RUNNING]
    place = running
    while place > 0:
        other = state.active[place - 1]
        if state.planned[other] < state.planned[j] or (
            state.planned[other] == state.planned[j] and other < j
        ):
            break
        state.active[place] = other
        place -= 1
    state.active[place] = j
    ends = now + wants.launch[j] + wants.run[j] + wants.finish[j]
    heap_push(state.end_key, state.end_job, running, ends, j)
    state.count[RUNNING] = running + 1
    note(state, second)


@called
def finish(state, wants, pace, j, now, ending):
    """A running job ends; its nodes are idle a moment later. `ending` others are ending too."""
    running = state.count[RUNNING]
    heap_discard(state.end_key, state.end_job, running, j)
    place = 0
    while state.active[place] != j:
        place += 1
    for k in range(place, running - 1):
        state.active[k] = state.active[k + 1]
    state.count[RUNNING] = running - 1
    state.count[LEFT] -= 1
    state.end[j] = now
    state.ended[state.count[ENDED]] = j
    state.count[ENDED] += 1
    for k in range(state.first[j], state.first[j + 1]):
        node = state.given[k]
        give_back(wants, j, node, state.busy, state.cpus, state.memory, state.gpus)
        state.closing[node] += 1
    heap_push(state.idle_key, state.idle_job, ending, now + pace.epilog, j)
    note(state, int(np.floor(now)))


@called
def main_pass(state, wants, machine, loops, now, everybody):
    """Start jobs in order; one that cannot start holds up all others of its partition.

    `everybody` tells whether the whole queue is looked at, or only its beginning.
    """
    if state.count[WAITING] == 0:
        return
    kept = state.kept
    for node in range(kept.shape[0]):
        kept[node] = state.closing[node] == 0
    stopped = 0
    tested = started = at = 0
    while at < state.count[WAITING]:
        if not everybody and tested > loops.main_depth:
            return
        if loops.main_starts > 0 and started >= loops.main_starts:
            return
        tested += 1
        j = state.queue[at]
        if (stopped >> wants.partition[j]) & 1:
            state.second[JOBS_CHANGED] = int(np.floor(now))
            at += 1
            continue
        found = count_usable(
            wants, machine, j, kept, state.busy, state.cpus, state.memory, state.gpus, state.usable
        )
        if found >= wants.nodes[j]:
            tightest_groups(
                machine, state.usable, wants.nodes[j], state.group, state.members, state.chosen
            )
            begin(state, wants, at, now, MAIN)
            started += 1
            continue
        stopped |= 1 << wants.partition[j]
        for node in range(kept.shape[0]):
            if (machine.partitions[node] >> wants.partition[j]) & 1:
                kept[node] = False
        at += 1
