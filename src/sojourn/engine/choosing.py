"""The placements on a vector of usable processors by pool: now, or at a time to come.

The same choices as on the live nodes, in time proportional to the number of pools.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined, spliced
from .heap import heap_pop, heap_push
from .nodes import (
    ASKED,
    BEST,
    BUCKET,
    BUDGET,
    BY_NODE,
    CHEAP,
    CONTIGUOUS,
    COUNT,
    FEATURE,
    GROUP_POOL,
    IDLE_WATTS,
    KEY,
    LIMIT,
    LISTED,
    MEMORY,
    MOST,
    ONE_POOL,
    OPS,
    ORDER,
    ORDERED,
    PACK,
    PER_CORE,
    PER_NODE,
    PICK,
    PICK_PROCS,
    PICKED,
    PLAIN,
    POOL_PROCS,
    POOL_SLOWNESS,
    POOLING,
    POOLS,
    PROCS,
    RANDOM,
    RULE,
    SCORED,
    SEED,
    SLOWEST,
    SLOWNESS,
    SPREAD,
    THERE,
    THERE_MEMORY,
    USABLE,
    WATTS,
    WHOLE,
    NodeView,
)
from .placing import draw, first_that_meets

__all__ = ["choose", "pick_by_key", "picked_slowness", "score_nodes"]


@inlined
def _note(nodes, size, pool, taken):
    nodes.i[PICK, size] = pool
    nodes.i[PICK_PROCS, size] = taken


@inlined
def _take(nodes, size, pool, left):
    """Pick what is usable of a pool, up to what is left to pick; what is left then."""
    taken = min(nodes.i[USABLE, pool], left)
    _note(nodes, size, pool, taken)
    return left - taken


@called
def _fill_usable(nodes, job, slowness):
    """How many processors of each pool the job could use, if no slower than `slowness`."""
    total = np.int64(0)
    for q in range(nodes.number[POOLS]):
        usable = nodes.i[THERE, q]
        if nodes.f[POOL_SLOWNESS, q] > slowness:
            usable = 0
        elif not nodes.job[PLAIN, job]:
            # Every node is a pool here.
            node = nodes.i[ORDER, q]
            if nodes.job[WHOLE, job] and usable < nodes.i[PROCS, node]:
                usable = 0
            if nodes.job[ASKED, job] & ~nodes.i[FEATURE, node]:
                usable = 0
            if nodes.job[PER_NODE, job] > 0 and nodes.i[THERE_MEMORY, q] < nodes.job[PER_NODE, job]:
                usable = 0
            if nodes.job[PER_CORE, job] > 0:
                usable = min(usable, nodes.i[THERE_MEMORY, q] // nodes.job[PER_CORE, job])
        usable = max(usable, 0)
        nodes.i[USABLE, q] = usable
        total += usable
    return total


@called
def _walk(nodes, first, last, size, left):
    """Take from the pools `first` to `last`; how many picks there are, and what is left."""
    q = first
    while left > 0 and q < last:
        if nodes.i[USABLE, q] > 0:
            left = _take(nodes, size, q, left)
            size += 1
        q += 1
    return size, left


@called
def _in_groups(nodes, job, width, plan):
    """Slowest that meets the limit; then the slower ones, the fastest group of them first."""
    meets = first_that_meets(nodes, plan, nodes.real[LIMIT, job])
    pools = nodes.number[POOLS]
    size, left = _walk(nodes, nodes.i[GROUP_POOL, meets], pools, 0, width)
    group = meets
    while group > 0 and left > 0:
        group -= 1
        begin, end = nodes.i[GROUP_POOL, group], nodes.i[GROUP_POOL, group + 1]
        size, left = _walk(nodes, begin, end, size, left)
    return size, left


@called
def _by_class(nodes, rule):
    """List the pools by their number of usable processors in `sorted`; how many have any.

    Fewest first for pack, which puts entirely free ones last; most first for the others.
    """
    bucket = nodes.bucket[BUCKET]
    for c in range(bucket.shape[0]):
        bucket[c] = 0
    pools = nodes.number[POOLS]
    most = nodes.number[MOST]
    size = 0
    for turn in range(2):
        for q in range(pools):
            usable = nodes.i[USABLE, q]
            if usable == 0:
                continue
            if rule == PACK:
                c = usable + (most if nodes.i[THERE, q] == nodes.i[POOL_PROCS, q] else 0)
            else:
                c = most - usable
            if turn == 0:
                bucket[c + 1] += 1
                size += 1
            else:
                nodes.i[LISTED, bucket[c]] = q
                bucket[c] += 1
        if turn == 0:
            for c in range(1, bucket.shape[0]):
                bucket[c] += bucket[c - 1]
    return size


@called
def _fit(nodes, rule, listed, width):
    """Best fit, worst fit and pack, over the list made by `_by_class`."""
    left = width
    size = 0
    i = 0
    while left > 0 and i < listed:
        q = nodes.i[LISTED, i]
        if rule == BEST and nodes.i[USABLE, q] >= left:
            # The tightest that holds the rest; the first of its kind.
            best = q
            while i < listed and nodes.i[USABLE, nodes.i[LISTED, i]] >= left:
                if nodes.i[USABLE, nodes.i[LISTED, i]] < nodes.i[USABLE, best]:
                    best = nodes.i[LISTED, i]
                i += 1
            q = best
        left = _take(nodes, size, q, left)
        size += 1
        i += 1
    return size, left


@called
def _level(nodes, listed, width):
    """Spread: one at a time from whoever has most left, which leaves all at one level."""
    total = np.int64(0)
    for i in range(listed):
        total += nodes.i[USABLE, nodes.i[LISTED, i]]
    if total < width:
        return 0, width - total
    # The lowest level down to which all can be lowered, and how many more go below it.
    low = 0
    high = nodes.i[USABLE, nodes.i[LISTED, 0]]
    while low < high:
        middle = (low + high) >> 1
        taken = np.int64(0)
        for i in range(listed):
            taken += max(nodes.i[USABLE, nodes.i[LISTED, i]] - middle, 0)
        if taken <= width:
            high = middle
        else:
            low = middle + 1
    left = width
    for i in range(listed):
        left -= max(nodes.i[USABLE, nodes.i[LISTED, i]] - low, 0)
    size = 0
    for q in range(nodes.number[POOLS]):
        taken = max(np.int64(0), nodes.i[USABLE, q] - low)
        if left > 0 and low > 0 and nodes.i[USABLE, q] >= low:
            taken += 1
            left -= 1
        if taken > 0:
            _note(nodes, size, q, taken)
            size += 1
    return size, left


@called
def _by_lot(nodes, job, width):
    """Random: any pool with usable processors is as likely as any other."""
    there = 0
    for q in range(nodes.number[POOLS]):
        if nodes.i[USABLE, q] > 0:
            nodes.i[LISTED, there] = q
            there += 1
    left = width
    size = 0
    while left > 0 and there > 0:
        at = draw(nodes.number[SEED], job, size, there)
        q = nodes.i[LISTED, at]
        for i in range(at, there - 1):
            nodes.i[LISTED, i] = nodes.i[LISTED, i + 1]
        there -= 1
        left = _take(nodes, size, q, left)
        size += 1
    return size, left


@called
def _in_a_stretch(nodes, width):
    """Contiguous: the first stretch of neighbours that holds the job."""
    first = 0
    total = np.int64(0)
    pools = nodes.number[POOLS]
    for q in range(pools):
        if nodes.i[USABLE, q] == 0:
            first = q + 1
            total = 0
            continue
        total += nodes.i[USABLE, q]
        if total >= width:
            return _walk(nodes, first, pools, 0, width)
    return 0, width


@called
def pick_by_key(nodes, pools, width):
    """A user's score: the smallest first, as far as needed."""
    there = 0
    for q in range(pools):
        if nodes.i[USABLE, q] > 0:
            heap_push(nodes.f[KEY], nodes.i[LISTED], there, nodes.f[KEY, q], q)
            there += 1
    left = width
    size = 0
    while left > 0 and there > 0:
        q = nodes.i[LISTED, 0]
        heap_pop(nodes.f[KEY], nodes.i[LISTED], there)
        there -= 1
        left = _take(nodes, size, q, left)
        size += 1
    return size, left


@called
def _draw_of(nodes):
    """Watts of the picks at full load."""
    watts = 0.0
    for i in range(nodes.number[PICKED]):
        watts += nodes.i[PICK_PROCS, i] * nodes.f[WATTS, nodes.i[ORDER, nodes.i[PICK, i]]]
    return watts


@called
def _cheapest(nodes, width):
    """Lowest power, whatever the placement."""
    left = width
    size = 0
    for i in range(nodes.number[POOLS]):
        q = nodes.i[CHEAP, i]
        if nodes.i[USABLE, q] > 0 and left > 0:
            left = _take(nodes, size, q, left)
            size += 1
    return size, left


@spliced
def _apply(nodes, job, width, plan):
    rule = nodes.number[RULE]
    pools = nodes.number[POOLS]
    if rule == ORDERED or nodes.number[POOLING] == ONE_POOL:
        return _walk(nodes, 0, pools, 0, width)
    if rule == SLOWEST:
        return _in_groups(nodes, job, width, plan)
    if rule <= SPREAD:
        listed = _by_class(nodes, rule)
        if rule == SPREAD:
            return _level(nodes, listed, width)
        return _fit(nodes, rule, listed, width)
    if rule == RANDOM:
        return _by_lot(nodes, job, width)
    if rule == CONTIGUOUS:
        return _in_a_stretch(nodes, width)
    return pick_by_key(nodes, pools, width)


@inlined
def score_nodes(nodes, jobs, job, now, score, theta):
    """A user's score of every node, given what would be there."""
    i, f = nodes.i, nodes.f
    view = NodeView(
        i[PROCS], i[THERE], i[MEMORY], i[THERE_MEMORY], f[OPS], f[SLOWNESS], f[WATTS], f[IDLE_WATTS]
    )
    for node in range(nodes.number[COUNT]):
        f[KEY, node] = score(view, node, jobs, job, now, theta)


@called
def choose(nodes, jobs, job, slowness, now, score, theta):
    """Pick pools for a job from the vectors of what is there; whether it worked.

    Only pools no slower than `slowness` are looked at.
    """
    width = jobs.procs[job]
    if _fill_usable(nodes, job, slowness) < width:
        return False
    if nodes.number[RULE] == SCORED and nodes.number[POOLING] == BY_NODE:
        score_nodes(nodes, jobs, job, now, score, theta)
    size, left = _apply(nodes, job, width, jobs.plan[job])
    nodes.number[PICKED] = size
    if left > 0:
        return False
    budget = nodes.real[BUDGET, job]
    if budget < np.inf and _draw_of(nodes) > budget:
        if nodes.number[RULE] == CONTIGUOUS:
            return False
        size, left = _cheapest(nodes, width)
        nodes.number[PICKED] = size
        return _draw_of(nodes) <= budget
    return True


@called
def picked_slowness(nodes):
    """Slowness of the picks, by pool [gomez2012, eq. 2]."""
    slowness = 0.0
    for i in range(nodes.number[PICKED]):
        slowness = max(slowness, nodes.f[POOL_SLOWNESS, nodes.i[PICK, i]])
    return slowness
