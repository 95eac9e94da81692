"""Taking processors of named nodes and giving them back; the placements on the live nodes.

Each placement visits nodes by way of an index that follows every start and end, so that a node
costs a few steps however many there are.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .bits import bit_last, bit_next
from .nodes import (
    BEST,
    CONTIGUOUS,
    COUNT,
    FIRST_ROW,
    GIVEN_NODE,
    GIVEN_PROCS,
    GROUP_FIRST,
    GROUP_SLOWNESS,
    GROUPS,
    JOB_SLOWNESS,
    LIMIT,
    LISTED,
    MEMBERS,
    NODE_FREE,
    ORDER,
    ORDERED,
    PACK,
    PER_CORE,
    PER_NODE,
    PICK,
    PICK_PROCS,
    PICKED,
    POOL_FIRST,
    PROCS,
    RANDOM,
    ROW_COUNT,
    ROWS,
    RULE,
    SEED,
    SLOT,
    SLOWEST,
    SLOWNESS,
    SPREAD,
    TALLY,
    USABLE,
    WHOLE,
    move,
    nth_place,
)
from .state import DEPARTED

__all__ = [
    "draw",
    "first_that_meets",
    "give_back",
    "hand_over",
    "memory_of",
    "pick_live",
    "put_back",
    "release_departed",
    "take_nodes",
    "take_pools",
]


@inlined
def draw(seed, job, turn, below):
    """A number below `below` that depends on seed, job and turn only (SplitMix64)."""
    z = (
        np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(job) * np.uint64(0xBF58476D1CE4E5B9)
        + np.uint64(turn) * np.uint64(0x94D049BB133111EB)
        + np.uint64(0x9E3779B97F4A7C15)
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64((z >> np.uint64(11)) % np.uint64(below))


@inlined
def _stretch_start(nodes, width):
    """Where the first stretch of neighbours begins that has `width` processors, or -1."""
    stretch = nodes.stretch
    if stretch[3, 1] < width:
        return -1
    leaves = stretch.shape[1] >> 1
    at = 1
    while at < leaves:
        a = 2 * at
        if stretch[3, a] >= width:
            at = a
            continue
        if stretch[2, a] + stretch[1, a + 1] >= width:
            # The boundary between the halves, as a leaf.
            edge = a + 1
            while edge < leaves:
                edge *= 2
            at = edge
            break
        at = a + 1
    node = at - leaves
    while node > 0 and nodes.i[NODE_FREE, node - 1] > 0:
        node -= 1
    return node


@inlined
def first_that_meets(nodes, plan, limit):
    """The first group, in the order of falling slowness, on which the plan keeps the limit."""
    low = 0
    high = nodes.number[GROUPS]
    while low < high:
        middle = (low + high) >> 1
        if plan * nodes.f[GROUP_SLOWNESS, middle] <= limit:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _note(nodes, size, node, taken):
    """Take from a node and note it; how many picks there are."""
    slot = nodes.i[SLOT, node]
    if slot < 0:
        slot = size
        nodes.i[SLOT, node] = slot
        nodes.i[PICK, slot] = node
        nodes.i[PICK_PROCS, slot] = 0
        size += 1
    nodes.i[PICK_PROCS, slot] += taken
    move(nodes, node, -taken, 0)
    return size


@called
def _spread_live(nodes, width):
    """One at a time from whoever has most free, a whole level at once."""
    left = width
    reached = np.int64(0)
    level = bit_last(nodes.classes, 0)
    while level > 0:
        reached += nodes.bucket[MEMBERS, level]
        if reached > left:
            break
        left -= reached
        level -= 1
    size = 0
    above = bit_last(nodes.classes, 0)
    while above > level:
        node = bit_next(nodes.bits, above, 0)
        size = _note(nodes, size, node, above - level)
        above = bit_last(nodes.classes, 0)
    node = np.int64(-1)
    while left > 0 and level > 0:
        node = bit_next(nodes.bits, level, node + 1)
        size = _note(nodes, size, node, 1)
        left -= 1
    for i in range(size):
        nodes.i[SLOT, nodes.i[PICK, i]] = -1
    nodes.number[PICKED] = size
    return left == 0


@called
def pick_live(nodes, job, width, plan):
    """Take `width` free processors as the placement has it; whether there were enough.

    They are noted as picks, a node at most once.
    """
    rule = nodes.number[RULE]
    if rule == SPREAD:
        return _spread_live(nodes, width)
    size = 0
    left = width
    at = np.int64(0)
    turn = 0
    group = meets = 0
    if rule == SLOWEST:
        group = meets = first_that_meets(nodes, plan, nodes.real[LIMIT, job])
        at = nodes.i[GROUP_FIRST, group]
    elif rule == CONTIGUOUS:
        at = _stretch_start(nodes, width)
        if at < 0:
            nodes.number[PICKED] = 0
            return False
    while left > 0:
        node = np.int64(-1)
        if rule == ORDERED:
            at = bit_next(nodes.bits, 0, at)
            if at >= 0:
                node = nodes.i[ORDER, at]
        elif rule == SLOWEST:
            at = bit_next(nodes.bits, 0, at)
            if group < meets and at >= nodes.i[GROUP_FIRST, group + 1]:
                at = -1
            while at < 0 and group > 0:
                # The slower ones, the fastest of them first.
                group -= 1
                at = bit_next(nodes.bits, 0, nodes.i[GROUP_FIRST, group])
                if at >= nodes.i[GROUP_FIRST, group + 1]:
                    at = -1
            if at >= 0:
                node = nodes.i[ORDER, at]
        elif rule <= PACK:
            row = np.int64(-1)
            if rule == BEST:
                row = bit_next(nodes.classes, 0, left)
            elif rule == PACK:
                row = bit_next(nodes.classes, 0, 1)
            if row < 0:
                row = bit_last(nodes.classes, 0)
            if row > 0:
                node = bit_next(nodes.bits, row, 0)
        elif rule == RANDOM:
            there = np.int64(0)
            i = nodes.number[COUNT]
            while i > 0:
                there += nodes.i[TALLY, i]
                i -= i & -i
            if there > 0:
                node = nth_place(nodes, TALLY, draw(nodes.number[SEED], job, turn, there))
                turn += 1
        elif at < nodes.number[COUNT] and nodes.i[NODE_FREE, at] > 0:
            node = at
            at += 1
        if node < 0:
            break
        taken = min(nodes.i[NODE_FREE, node], left)
        left -= taken
        nodes.i[PICK, size] = node
        nodes.i[PICK_PROCS, size] = taken
        size += 1
        move(nodes, node, -taken, 0)
    nodes.number[PICKED] = size
    return left == 0


@inlined
def memory_of(nodes, job, procs):
    """KB that a job takes on a node of which it uses so many processors."""
    return procs * nodes.job[PER_CORE, job] + nodes.job[PER_NODE, job]


@called
def put_back(nodes, job):
    """Undo what was taken for the picks."""
    for i in range(nodes.number[PICKED]):
        node = nodes.i[PICK, i]
        procs = nodes.i[PROCS, node] if nodes.job[WHOLE, job] else nodes.i[PICK_PROCS, i]
        move(nodes, node, procs, memory_of(nodes, job, nodes.i[PICK_PROCS, i]))
    nodes.number[PICKED] = 0


@called
def take_pools(nodes):
    """Turn picks of pools into nodes and take them; each pool's nodes in order."""
    size = nodes.number[PICKED]
    for i in range(size):
        nodes.i[LISTED, i] = nodes.i[PICK, i]
        nodes.i[USABLE, i] = nodes.i[PICK_PROCS, i]
    made = 0
    for i in range(size):
        pool = nodes.i[LISTED, i]
        left = nodes.i[USABLE, i]
        at = nodes.i[POOL_FIRST, pool]
        while left > 0:
            at = bit_next(nodes.bits, 0, at)
            node = nodes.i[ORDER, at]
            taken = min(nodes.i[NODE_FREE, node], left)
            nodes.i[PICK, made] = node
            nodes.i[PICK_PROCS, made] = taken
            made += 1
            left -= taken
            move(nodes, node, -taken, 0)
    nodes.number[PICKED] = made


@called
def take_nodes(nodes, job):
    """Take picks of pools that are nodes; the whole of them and memory, if so asked."""
    for i in range(nodes.number[PICKED]):
        node = nodes.i[ORDER, nodes.i[PICK, i]]
        nodes.i[PICK, i] = node
        procs = nodes.i[PROCS, node] if nodes.job[WHOLE, job] else nodes.i[PICK_PROCS, i]
        move(nodes, node, -procs, -(memory_of(nodes, job, nodes.i[PICK_PROCS, i])))


@called
def hand_over(nodes, job):
    """Note the picks as the allocation of a job; how many processors it holds."""
    at = nodes.number[ROWS]
    size = nodes.number[PICKED]
    slowness = 0.0
    held = 0
    nodes.job[FIRST_ROW, job] = at
    nodes.job[ROW_COUNT, job] = size
    for i in range(size):
        node = nodes.i[PICK, i]
        nodes.given[GIVEN_NODE, at + i] = node
        nodes.given[GIVEN_PROCS, at + i] = nodes.i[PICK_PROCS, i]
        held += nodes.i[PROCS, node] if nodes.job[WHOLE, job] else nodes.i[PICK_PROCS, i]
        # The slowest processor sets the pace [gomez2012, eq. 2].
        slowness = max(slowness, nodes.f[SLOWNESS, node])
    nodes.number[ROWS] = at + size
    nodes.real[JOB_SLOWNESS, job] = slowness
    return held


@called
def give_back(nodes, job):
    """Free what a job had."""
    first = nodes.job[FIRST_ROW, job]
    for i in range(first, first + nodes.job[ROW_COUNT, job]):
        node = nodes.given[GIVEN_NODE, i]
        procs = nodes.i[PROCS, node] if nodes.job[WHOLE, job] else nodes.given[GIVEN_PROCS, i]
        move(nodes, node, procs, memory_of(nodes, job, nodes.given[GIVEN_PROCS, i]))


@inlined
def release_departed(state, nodes):
    """Free the nodes of the jobs that ended at this instant."""
    for i in range(state.count[DEPARTED]):
        give_back(nodes, state.departed[i])
