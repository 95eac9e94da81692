"""The waiting jobs: in one or two queue indices, or in a list by (key, job)."""

from __future__ import annotations

from ..jit import called, inlined
from .heap import heap_pop, heap_push
from .queue import queue_insert, queue_remove
from .state import FIRST, HEAD, SHADOW_KNOWN, SORTED, WAITING

__all__ = ["enqueue", "list_insert", "list_remove", "list_return", "put_in_order", "unqueue"]


@inlined
def enqueue(state, jobs, rules, j):
    """Let `j` wait, in one index or in two."""
    count = state.count
    rank = state.queue.rank[j]
    if count[WAITING] == 0 or rank < count[HEAD]:
        count[HEAD] = rank
        count[SHADOW_KNOWN] = 0
    for which in range(2 if rules.own_backfill_order else 1):
        index = state.queue if which == 0 else state.backfill
        queue_insert(index, j, jobs.procs[j], jobs.plan[j])
    count[WAITING] += 1


@inlined
def unqueue(state, rules, j):
    """`j` waits no longer."""
    queue_remove(state.queue, j)
    if rules.own_backfill_order:
        queue_remove(state.backfill, j)
    state.count[WAITING] -= 1


@inlined
def _position(state, j):
    """Where `j` stands, or would stand, in the list of waiting jobs by (key, job)."""
    low = state.count[FIRST]
    high = low + state.count[WAITING]
    key = state.key[j]
    while low < high:
        middle = (low + high) >> 1
        other = state.waiting[middle]
        if state.key[other] < key or (state.key[other] == key and other < j):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def list_insert(state, j):
    """Let `j` wait in the list; each job does so once, so the list never outgrows its array."""
    count = state.count
    at = _position(state, j)
    for i in range(count[FIRST] + count[WAITING], at, -1):
        state.waiting[i] = state.waiting[i - 1]
    state.waiting[at] = j
    count[WAITING] += 1


@inlined
def list_return(state, j):
    """Let `j` wait in the list, also a second time; the shorter side makes room, if it has any."""
    count = state.count
    at = _position(state, j)
    last = count[FIRST] + count[WAITING]
    if count[FIRST] == 0 or (last < state.waiting.shape[0] and last - at < at - count[FIRST]):
        list_insert(state, j)
        return
    count[FIRST] -= 1
    for i in range(count[FIRST], at - 1):
        state.waiting[i] = state.waiting[i + 1]
    state.waiting[at - 1] = j
    count[WAITING] += 1


@inlined
def list_remove(state, j):
    """`j` waits no longer; the shorter side closes the gap."""
    count = state.count
    at = _position(state, j)
    count[WAITING] -= 1
    if at - count[FIRST] < count[WAITING] >> 1:
        for i in range(at, count[FIRST], -1):
            state.waiting[i] = state.waiting[i - 1]
        count[FIRST] += 1
    else:
        for i in range(at, count[FIRST] + count[WAITING]):
            state.waiting[i] = state.waiting[i + 1]


@called
def _sort_heap(key, job, size, target):
    """Write the jobs of a heap to `target`, by (key, job)."""
    for i in range(size):
        target[i] = job[0]
        heap_pop(key, job, size - i)


@inlined
def put_in_order(state, jobs, source, first, size, now, dynamic, keys, score, theta):
    """Put jobs in order in `state.sorted`: by their score now, or by their fixed keys."""
    state.count[SORTED] = size
    in_order = not dynamic
    for i in range(size):
        j = source[first + i]
        state.sorted[i] = j
        if in_order and i > 0:
            before = state.sorted[i - 1]
            in_order = keys[before] < keys[j] or (keys[before] == keys[j] and before < j)
    if in_order:
        return
    for i in range(size):
        j = source[first + i]
        value = score(jobs, j, now, theta) if dynamic else keys[j]
        heap_push(state.score, state.scored, i, value, j)
    _sort_heap(state.score, state.scored, size, state.sorted)
