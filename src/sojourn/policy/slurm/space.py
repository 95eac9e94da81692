"""The backfill loop's map of the future: in which stretch of time which nodes are free for others.

Stretches follow each other without a gap. Only reservations and the jobs that the pass itself has
started stand in the map; what runs besides is known to the selection of nodes.
"""

from __future__ import annotations

from ...jit import called, inlined
from .state import SLOTS

NO_TIME = -(2**62)

__all__ = ["NO_TIME", "copy", "free_between", "is_taken", "open_map", "reserve"]


@inlined
def copy(target, source):
    """Copy an array without making one."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inlined
def open_map(state, begin, end):
    """One stretch in which every node is free."""
    state.space_begin[0] = begin
    state.space_end[0] = end
    state.space_free[0, :] = True
    state.count[SLOTS] = 1


@inlined
def _split(state, k, at):
    """Cut a stretch in two."""
    slots = state.count[SLOTS]
    for i in range(slots, k, -1):
        state.space_begin[i] = state.space_begin[i - 1]
        state.space_end[i] = state.space_end[i - 1]
        copy(state.space_free[i], state.space_free[i - 1])
    state.space_end[k] = at
    state.space_begin[k + 1] = at
    state.count[SLOTS] = slots + 1


@inlined
def _merge_one(state, k):
    """Join the first two equal neighbours from stretch `k` on."""
    slots = state.count[SLOTS]
    while k + 1 < slots:
        same = True
        for node in range(state.space_free.shape[1]):
            if state.space_free[k, node] != state.space_free[k + 1, node]:
                same = False
                break
        if same:
            state.space_end[k] = state.space_end[k + 1]
            for i in range(k + 1, slots - 1):
                state.space_begin[i] = state.space_begin[i + 1]
                state.space_end[i] = state.space_end[i + 1]
                copy(state.space_free[i], state.space_free[i + 1])
            state.count[SLOTS] = slots - 1
            return
        k += 1


@called
def reserve(state, begin, end, resolution, nodes, number):
    """Keep others off `number` nodes from `begin` until `end`, at least for one resolution."""
    begin = max(begin, state.space_begin[0])
    end = max(end, begin + resolution)
    k = 0
    while k < state.count[SLOTS] and state.space_end[k] < begin:
        k += 1
    if k == state.count[SLOTS]:
        return
    if state.space_end[k] > begin:
        _split(state, k, begin)
    k += 1
    first = k
    while k < state.count[SLOTS]:
        if end < state.space_end[k]:
            _split(state, k, end)
        for i in range(number):
            state.space_free[k, nodes[i]] = False
        if end == state.space_end[k]:
            break
        k += 1
    _merge_one(state, max(first - 2, 0))


@called
def free_between(state, begin, end, allowed, kept):
    """Mark the allowed nodes that are free from `begin` until `end`; when to look again.

    That is the end of the first stretch after which a node becomes free that was not, or NO_TIME.
    """
    later = NO_TIME
    copy(kept, allowed)
    slots = state.count[SLOTS]
    for k in range(slots):
        if state.space_end[k] <= begin:
            continue
        if k + 1 < slots and later == NO_TIME:
            for node in range(kept.shape[0]):
                if (
                    allowed[node]
                    and state.space_free[k + 1, node]
                    and not (kept[node] and state.space_free[k, node])
                ):
                    later = state.space_end[k]
                    break
        if state.space_begin[k] > end:
            break
        for node in range(kept.shape[0]):
            kept[node] = kept[node] and state.space_free[k, node]
    return later


@inlined
def is_taken(state, begin, end, nodes, number):
    """Whether one of the nodes is reserved at any time in between."""
    for k in range(state.count[SLOTS]):
        if state.space_end[k] > begin and state.space_begin[k] < end:
            for i in range(number):
                if not state.space_free[k, nodes[i]]:
                    return True
    return False
