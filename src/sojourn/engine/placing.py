"""Taking tasks' worth of named nodes and giving it back; the placements on the live nodes.

Each placement visits nodes by way of an index that follows every start and end, so that a node
costs a few steps however many there are.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .bits import bit_last, bit_next
from .caps import may_draw, shift_draw
from .draws import mixed
from .nodes import (
    BEST,
    CONTIGUOUS,
    FREE,
    GIVEN_NODE,
    LISTED,
    ORDERED,
    PACK,
    PER_JOB,
    PER_NODE,
    PER_TASK,
    PICK,
    PICK_TASKS,
    RANDOM,
    SIZE,
    SLOWEST,
    SPREAD,
    USABLE,
    move,
    note_picks,
    nth_place,
    takes,
)
from .sleeping import return_idle


@inlined
def draw(seed, job, turn, below):
    """A number below `below` that depends on seed, job and turn only (SplitMix64)."""
    z = mixed(seed, job, turn, np.uint64(0x9E3779B97F4A7C15))
    return np.int64((z >> np.uint64(11)) % np.uint64(below))


@inlined
def room(s, nodes, table, j, q, choice, most):
    """How many tasks of `j`, at most `most`, a pool has room for, by what a table says is free.

    Every node is a pool here.
    """
    job = nodes.job[j]
    if not nodes.eligible[choice, q]:
        return np.int64(0)
    if job.whole == 1 and nodes.stock[table, 0, q] < nodes.stock[SIZE, 0, q]:
        return np.int64(0)
    if job.distinct == 1:
        most = min(most, 1)
    for r in range(s.resources):
        need, once = nodes.ask[PER_TASK, r, j], nodes.ask[PER_NODE, r, j]
        left = nodes.stock[table, r, q] - once
        if need + once > 0 and left < need:
            return np.int64(0)
        # As a product of integers it may be too large; a division takes longer than all the rest.
        if need == 1:
            most = min(most, left)
        elif float(need) * most > left and need > 0:
            most = left // need
    return most


@inlined
def shift_licences(s, nodes, table, j, sign):
    """What `j` has of the cluster's licences is free again (sign 1), or is not (-1)."""
    if s.vectors == 1:
        for r in range(s.resources):
            nodes.stock[table, r, s.pools] += sign * nodes.ask[PER_JOB, r, j]


@inlined
def shift_rows(s, nodes, table, lowest, j, rows, a, first, last, sign):
    """What `j` has on nodes is free again in a table (sign 1), or is not (-1).

    From the resource `lowest` on; the nodes stand in row `a` of `rows`, the tasks below them.
    Resource by resource: most jobs ask for few of them.
    """
    for r in range(lowest, s.resources):
        need, once = np.int64(1), np.int64(0)
        whole = False
        if s.vectors == 1:
            need, once = nodes.ask[PER_TASK, r, j], nodes.ask[PER_NODE, r, j]
            whole = r == 0 and nodes.job[j].whole == 1
        if need + once > 0 or whole:
            for i in range(first, last):
                q = nodes.node[rows[a, i]].pool
                taken = nodes.stock[SIZE, 0, q] if whole else rows[a + 1, i] * need + once
                nodes.stock[table, r, q] += sign * taken


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
    while node > 0 and nodes.node[node - 1].free > 0:
        node -= 1
    return node


@inlined
def first_that_meets(s, nodes, plan, limit):
    """The first group, in the order of falling slowness, on which the plan keeps the limit."""
    low = 0
    high = s.groups
    while low < high:
        middle = (low + high) >> 1
        if plan * nodes.pool[middle].group_slowness <= limit:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _note(s, nodes, size, node, taken):
    """Take from a node and note it; how many picks there are."""
    slot = nodes.node[node].slot
    if slot < 0:
        slot = size
        nodes.node[node].slot = slot
        nodes.list[PICK, slot] = node
        nodes.list[PICK_TASKS, slot] = 0
        size += 1
    nodes.list[PICK_TASKS, slot] += taken
    move(s, nodes, node, -taken)
    return size


@called
def _spread_live(s, nodes, width):
    """One at a time from whoever has most free, a whole level at once."""
    left = width
    reached = np.int64(0)
    level = bit_last(nodes.bits, s.classes)
    while level > 0:
        reached += nodes.bucket[1, level]
        if reached > left:
            break
        left -= reached
        level -= 1
    size = 0
    above = bit_last(nodes.bits, s.classes)
    while above > level:
        node = bit_next(nodes.bits, above, 0)
        size = _note(s, nodes, size, node, above - level)
        above = bit_last(nodes.bits, s.classes)
    node = np.int64(-1)
    while left > 0 and level > 0:
        node = bit_next(nodes.bits, level, node + 1)
        size = _note(s, nodes, size, node, 1)
        left -= 1
    for i in range(size):
        nodes.node[nodes.list[PICK, i]].slot = -1
    note_picks(s, size)
    return left == 0


@called
def pick_live(s, nodes, j, width, plan):
    """Take `width` free processors as the placement has it; whether there were enough.

    They are noted as picks, a node at most once. For jobs that ask for processors only.
    """
    rule = s.rule
    if rule == SPREAD:
        return _spread_live(s, nodes, width)
    size = 0
    left = width
    at = np.int64(0)
    turn = 0
    shelf = np.int64(0)
    group = meets = 0
    if rule == SLOWEST:
        group = meets = first_that_meets(s, nodes, plan, nodes.job[j].limit)
        at = nodes.pool[group].group_first
    elif rule == CONTIGUOUS:
        at = _stretch_start(nodes, width)
        if at < 0:
            note_picks(s, 0)
            return False
    while left > 0:
        node = np.int64(-1)
        if rule == ORDERED:
            at = bit_next(nodes.bits, shelf, at)
            if at < 0 and shelf == 0 and s.not_up > 0:
                # Then those that are not up.
                shelf = s.classes + 1
                at = bit_next(nodes.bits, shelf, 0)
            if at >= 0:
                node = nodes.node[at].order
        elif rule == SLOWEST:
            at = bit_next(nodes.bits, 0, at)
            if group < meets and at >= nodes.pool[group + 1].group_first:
                at = -1
            while at < 0 and group > 0:
                # The slower ones, the fastest of them first.
                group -= 1
                at = bit_next(nodes.bits, 0, nodes.pool[group].group_first)
                if at >= nodes.pool[group + 1].group_first:
                    at = -1
            if at >= 0:
                node = nodes.node[at].order
        elif rule <= PACK:
            row = np.int64(-1)
            if rule == BEST:
                row = bit_next(nodes.bits, s.classes, left)
            elif rule == PACK:
                row = bit_next(nodes.bits, s.classes, 1)
            if row < 0:
                row = bit_last(nodes.bits, s.classes)
            if row > 0:
                node = bit_next(nodes.bits, row, 0)
        elif rule == RANDOM:
            there = np.int64(0)
            i = s.nodes
            while i > 0:
                there += nodes.node[i].tally
                i -= i & -i
            if there > 0:
                node = nth_place(nodes, s.nodes, False, draw(s.seed, j, turn, there))
                turn += 1
        elif at < s.nodes and nodes.node[at].free > 0:
            node = at
            at += 1
        if node < 0:
            break
        taken = min(nodes.node[node].free, left)
        left -= taken
        nodes.list[PICK, size] = node
        nodes.list[PICK_TASKS, size] = taken
        size += 1
        move(s, nodes, node, -taken)
    note_picks(s, size)
    if rule == ORDERED and shelf == 0 and s.light == 0:
        # Those on the first row are up.
        s.unsure = 0
    return left == 0


@called
def pick_in_order(s, nodes, j, choice):
    """Pick pools for `j` in the order of visits, from what is free now; whether it has enough.

    For a placement that always visits nodes in one order, where every node is a pool.
    """
    left = nodes.job[j].tasks
    size = 0
    for r in range(s.resources):
        if nodes.ask[PER_JOB, r, j] > nodes.stock[FREE, r, s.pools]:
            return False
    q = bit_next(nodes.bits, 0, 0)
    while q >= 0:
        tasks = room(s, nodes, FREE, j, q, choice, left)
        if tasks > 0:
            nodes.list[PICK, size] = q
            nodes.list[PICK_TASKS, size] = tasks
            size += 1
            left -= tasks
            if left == 0:
                break
        q = bit_next(nodes.bits, 0, q + 1)
    note_picks(s, size)
    return left == 0


@called
def take_pools(s, nodes):
    """Turn picks of pools into nodes and take them; each pool's nodes in order."""
    size = s.picked
    for i in range(size):
        nodes.list[LISTED, i] = nodes.list[PICK, i]
        nodes.list[USABLE, i] = nodes.list[PICK_TASKS, i]
    made = 0
    for i in range(size):
        left = nodes.list[USABLE, i]
        at = nodes.pool[nodes.list[LISTED, i]].first
        while left > 0:
            at = bit_next(nodes.bits, 0, at)
            node = nodes.node[at].order
            taken = min(nodes.node[node].free, left)
            nodes.list[PICK, made] = node
            nodes.list[PICK_TASKS, made] = taken
            made += 1
            left -= taken
            move(s, nodes, node, -taken)
    note_picks(s, made)


@inlined
def _shift(s, nodes, j, rows, a, first, last, sign):
    """What `j` has on nodes, as in `shift_rows`, is free again (sign 1), or is not (-1)."""
    for i in range(first, last):
        node = rows[a, i]
        move(s, nodes, node, sign * takes(s, nodes, j, 0, nodes.node[node].pool, rows[a + 1, i]))
    shift_rows(s, nodes, FREE, 1, j, rows, a, first, last, sign)


@called
def take_nodes(s, nodes, j):
    """Take picks of pools that are nodes, and the licences; the picks are nodes then."""
    for i in range(s.picked):
        nodes.list[PICK, i] = nodes.node[nodes.list[PICK, i]].order
    _shift(s, nodes, j, nodes.list, PICK, 0, s.picked, -1)
    shift_licences(s, nodes, FREE, j, -1)


@called
def put_back(s, nodes, j, licences):
    """Undo what was taken for the picks."""
    _shift(s, nodes, j, nodes.list, PICK, 0, s.picked, 1)
    if licences:
        shift_licences(s, nodes, FREE, j, 1)
        shift_draw(nodes.caps, FREE, j, 1)
    note_picks(s, 0)


@called
def hand_over(s, nodes, j):
    """Note the picks as the allocation of a job; how many processors it holds."""
    at = s.given
    slowness = 0.0
    held = 0
    nodes.job[j].row = at
    nodes.job[j].rows = s.picked
    for i in range(s.picked):
        node, tasks = nodes.list[PICK, i], nodes.list[PICK_TASKS, i]
        nodes.given[0, at + i] = node
        nodes.given[1, at + i] = tasks
        held += takes(s, nodes, j, 0, nodes.node[node].pool, tasks)
        # The slowest processor sets the pace [gomez2012, eq. 2].
        slowness = max(slowness, nodes.node[node].slowness)
    s.given = at + s.picked
    nodes.job[j].slowness = slowness
    return held


@called
def give_back(s, nodes, j):
    """Free what a job had."""
    first = nodes.job[j].row
    _shift(s, nodes, j, nodes.given, GIVEN_NODE, first, first + nodes.job[j].rows, 1)
    shift_licences(s, nodes, FREE, j, 1)
    shift_draw(nodes.caps, FREE, j, 1)
    if s.sleeps == 1:
        return_idle(s, nodes, j)


@called
def retake(s, nodes, j):
    """Take again what a job had, if all of it is free; whether it is."""
    first, last = nodes.job[j].row, nodes.job[j].row + nodes.job[j].rows
    for i in range(first, last):
        node, tasks = nodes.given[0, i], nodes.given[1, i]
        q = nodes.node[node].pool
        if nodes.node[node].free < takes(s, nodes, j, 0, q, tasks):
            return False
        for r in range(1, s.resources):
            if nodes.stock[FREE, r, q] < takes(s, nodes, j, r, q, tasks):
                return False
    if s.vectors == 1:
        for r in range(s.resources):
            if nodes.stock[FREE, r, s.pools] < nodes.ask[PER_JOB, r, j]:
                return False
    if not may_draw(nodes.caps, FREE, j):
        return False
    _shift(s, nodes, j, nodes.given, GIVEN_NODE, first, last, -1)
    shift_licences(s, nodes, FREE, j, -1)
    shift_draw(nodes.caps, FREE, j, -1)
    return True
