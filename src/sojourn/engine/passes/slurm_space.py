"""The backfill loop's map of the future: in which stretch of time which nodes are free for others.

Stretches follow each other without a gap. Only reservations and the jobs that the pass itself has
started stand in the map; what runs besides is known to the selection of nodes.
"""

from __future__ import annotations

from ...jit import called, inlined
from .slurm_nodes import has, remove

NO_TIME = -(2**62)


@inlined
def copy(target, source):
    """Copy an array without making one."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inlined
def open_map(d, begin, end):
    """One stretch in which every node is free that can be given to jobs."""
    c = d.controller[0]
    d.space_begin[0] = begin
    d.space_end[0] = end
    for w in range(d.space_free.shape[1]):
        d.space_free[0, w] = 0xFFFFFFFF & ~d.down[w]
    if d.power.saving.on:
        for w in range(d.space_free.shape[1]):
            d.space_free[0, w] &= ~d.power.blocked[w]
    c.slots = 1
    c.plans += 1


@inlined
def _split(d, k, at):
    """Cut a stretch in two."""
    slots = d.controller[0].slots
    for i in range(slots, k, -1):
        d.space_begin[i] = d.space_begin[i - 1]
        d.space_end[i] = d.space_end[i - 1]
        copy(d.space_free[i], d.space_free[i - 1])
    d.space_end[k] = at
    d.space_begin[k + 1] = at
    d.controller[0].slots = slots + 1


@inlined
def _merge_one(d, k):
    """Join the first two equal neighbours from stretch `k` on."""
    slots = d.controller[0].slots
    while k + 1 < slots:
        same = True
        for w in range(d.space_free.shape[1]):
            if d.space_free[k, w] != d.space_free[k + 1, w]:
                same = False
                break
        if same:
            d.space_end[k] = d.space_end[k + 1]
            for i in range(k + 1, slots - 1):
                d.space_begin[i] = d.space_begin[i + 1]
                d.space_end[i] = d.space_end[i + 1]
                copy(d.space_free[i], d.space_free[i + 1])
            d.controller[0].slots = slots - 1
            return
        k += 1


@called
def reserve(d, begin, end, resolution, nodes, number):
    """Keep others off `number` nodes from `begin` until `end`, at least for one resolution."""
    d.controller[0].plans += 1
    begin = max(begin, d.space_begin[0])
    end = max(end, begin + resolution)
    k = 0
    while k < d.controller[0].slots and d.space_end[k] < begin:
        k += 1
    if k == d.controller[0].slots:
        return
    if d.space_end[k] > begin:
        _split(d, k, begin)
    k += 1
    first = k
    while k < d.controller[0].slots:
        if end < d.space_end[k]:
            _split(d, k, end)
        for i in range(number):
            remove(d.space_free[k], nodes[i])
        if end == d.space_end[k]:
            break
        k += 1
    _merge_one(d, max(first - 2, 0))


@called
def free_between(d, begin, end, allowed, kept):
    """Mark the allowed nodes that are free from `begin` until `end`; when to look again.

    That is the end of the first stretch after which a node becomes free that was not, or NO_TIME.
    """
    later = NO_TIME
    copy(kept, allowed)
    slots = d.controller[0].slots
    for k in range(slots):
        if d.space_end[k] <= begin:
            continue
        if k + 1 < slots and later == NO_TIME:
            for w in range(kept.shape[0]):
                if allowed[w] & d.space_free[k + 1, w] & ~(kept[w] & d.space_free[k, w]):
                    later = d.space_end[k]
                    break
        if d.space_begin[k] > end:
            break
        for w in range(kept.shape[0]):
            kept[w] &= d.space_free[k, w]
    return later


@inlined
def is_taken(d, begin, end, nodes, number):
    """Whether one of the nodes is reserved at any time in between."""
    for k in range(d.controller[0].slots):
        if d.space_end[k] > begin and d.space_begin[k] < end:
            for i in range(number):
                if not has(d.space_free[k], nodes[i]):
                    return True
    return False


@called
def leave_reserved(d, instant, begin, end, part):
    """Note which nodes of a partition no advance reservation needs from `begin` until `end`.

    Those are `unreserved`. Whether there are others; only what is known at an instant (s) counts.
    """
    outside, members = d.outside, d.members_of[part]
    copy(d.unreserved, members)
    meets = False
    for i in range(outside.begin.shape[0]):
        if outside.announced[i] <= instant and outside.begin[i] < end and outside.end[i] > begin:
            for w in range(members.shape[0]):
                meets = meets or members[w] & outside.nodes[i, w] != 0
                d.unreserved[w] &= ~outside.nodes[i, w]
    return meets


@called
def first_reserved_end(d, instant, begin):
    """When the first known reservation ends that is not over at `begin`."""
    outside = d.outside
    first = NO_TIME
    for i in range(outside.begin.shape[0]):
        if outside.announced[i] <= instant and outside.end[i] >= begin:
            if first == NO_TIME or outside.end[i] < first:
                first = outside.end[i]
    return first
