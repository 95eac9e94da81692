"""The placements on a vector of usable tasks by pool: now, or at a time to come.

The same choices as on the live nodes, in time proportional to the number of pools.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined, spliced
from .address import at
from .booting import is_up_by
from .caps import look_at_room, may_draw, note_draw, watts_of_task
from .heap import heap_pop, heap_push
from .nodes import (
    BEST,
    BY_NODE,
    CONTIGUOUS,
    IDLE_WATTS,
    KEY,
    LISTED,
    ONE_POOL,
    OPS,
    ORDERED,
    PACK,
    PER_JOB,
    PER_TASK,
    PICK,
    PICK_TASKS,
    RANDOM,
    SCORED,
    SIZE,
    SLOWEST,
    SLOWNESS,
    SPREAD,
    THERE,
    USABLE,
    VIEW_FREE,
    VIEW_FREE_MEMORY,
    VIEW_MEMORY,
    VIEW_PROCS,
    WATTS,
    NodeView,
    note_picks,
)
from .placing import draw, first_that_meets, room
from .state import ASLEEP

_MANY = np.int64(2**31)


@inlined
def _note(nodes, size, pool, taken):
    nodes.list[PICK, size] = pool
    nodes.list[PICK_TASKS, size] = taken


@inlined
def _take(nodes, size, pool, left):
    """Pick what is usable of a pool, up to what is left to pick; what is left then."""
    taken = min(nodes.list[USABLE, pool], left)
    _note(nodes, size, pool, taken)
    return left - taken


@called
def _fill_usable(s, nodes, j, choice, slowness):
    """How many tasks of each pool the job could have, if no slower than `slowness`."""
    total = np.int64(0)
    plain = nodes.job[j].plain == 1
    for q in range(s.pools):
        if nodes.pool[q].slowness > slowness:
            usable = np.int64(0)
        elif s.only_up == 1 and not is_up_by(s, nodes, q):
            usable = np.int64(0)
        elif plain:
            usable = max(nodes.stock[THERE, 0, q], np.int64(0))
        else:
            usable = room(s, nodes, THERE, j, q, choice, _MANY)
        nodes.list[USABLE, q] = usable
        total += usable
    return total


@called
def _walk(nodes, first, last, size, left):
    """Take from the pools `first` to `last`; how many picks there are, and what is left."""
    q = first
    while left > 0 and q < last:
        if nodes.list[USABLE, q] > 0:
            left = _take(nodes, size, q, left)
            size += 1
        q += 1
    return size, left


@called
def _in_groups(s, nodes, j, width, plan):
    """Slowest that meets the limit; then the slower ones, the fastest group of them first."""
    meets = first_that_meets(s, nodes, plan, nodes.job[j].limit)
    pools = s.pools
    size, left = _walk(nodes, nodes.pool[meets].group_pool, pools, 0, width)
    group = meets
    while group > 0 and left > 0:
        group -= 1
        begin, end = nodes.pool[group].group_pool, nodes.pool[group + 1].group_pool
        size, left = _walk(nodes, begin, end, size, left)
    return size, left


@called
def _by_class(s, nodes, rule):
    """List the pools by their number of usable processors in `sorted`; how many have any.

    Fewest first for pack, which puts entirely free ones last; most first for the others.
    """
    bucket = nodes.bucket[0]
    for c in range(bucket.shape[0]):
        bucket[c] = 0
    pools = s.pools
    most = s.most
    size = 0
    for turn in range(2):
        for q in range(pools):
            usable = nodes.list[USABLE, q]
            if usable == 0:
                continue
            if rule == PACK:
                c = usable + (most if nodes.stock[THERE, 0, q] == nodes.stock[SIZE, 0, q] else 0)
            else:
                c = most - usable
            if turn == 0:
                bucket[c + 1] += 1
                size += 1
            else:
                nodes.list[LISTED, bucket[c]] = q
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
        q = nodes.list[LISTED, i]
        if rule == BEST and nodes.list[USABLE, q] >= left:
            # The tightest that holds the rest; the first of its kind.
            best = q
            while i < listed and nodes.list[USABLE, nodes.list[LISTED, i]] >= left:
                if nodes.list[USABLE, nodes.list[LISTED, i]] < nodes.list[USABLE, best]:
                    best = nodes.list[LISTED, i]
                i += 1
            q = best
        left = _take(nodes, size, q, left)
        size += 1
        i += 1
    return size, left


@called
def _level(s, nodes, listed, width):
    """Spread: one at a time from whoever has most left, which leaves all at one level."""
    total = np.int64(0)
    for i in range(listed):
        total += nodes.list[USABLE, nodes.list[LISTED, i]]
    if total < width:
        return 0, width - total
    # The lowest level down to which all can be lowered, and how many more go below it.
    low = 0
    high = nodes.list[USABLE, nodes.list[LISTED, 0]]
    while low < high:
        middle = (low + high) >> 1
        taken = np.int64(0)
        for i in range(listed):
            taken += max(nodes.list[USABLE, nodes.list[LISTED, i]] - middle, 0)
        if taken <= width:
            high = middle
        else:
            low = middle + 1
    left = width
    for i in range(listed):
        left -= max(nodes.list[USABLE, nodes.list[LISTED, i]] - low, 0)
    size = 0
    for q in range(s.pools):
        taken = max(np.int64(0), nodes.list[USABLE, q] - low)
        if left > 0 and low > 0 and nodes.list[USABLE, q] >= low:
            taken += 1
            left -= 1
        if taken > 0:
            _note(nodes, size, q, taken)
            size += 1
    return size, left


@called
def _by_lot(s, nodes, j, width):
    """Random: any pool with usable processors is as likely as any other."""
    there = 0
    for q in range(s.pools):
        if nodes.list[USABLE, q] > 0:
            nodes.list[LISTED, there] = q
            there += 1
    left = width
    size = 0
    while left > 0 and there > 0:
        at = draw(s.seed, j, size, there)
        q = nodes.list[LISTED, at]
        for i in range(at, there - 1):
            nodes.list[LISTED, i] = nodes.list[LISTED, i + 1]
        there -= 1
        left = _take(nodes, size, q, left)
        size += 1
    return size, left


@called
def _in_a_stretch(s, nodes, width):
    """Contiguous: the first stretch of neighbours that holds the job."""
    first = 0
    total = np.int64(0)
    pools = s.pools
    for q in range(pools):
        if nodes.list[USABLE, q] == 0:
            first = q + 1
            total = 0
            continue
        total += nodes.list[USABLE, q]
        if total >= width:
            return _walk(nodes, first, pools, 0, width)
    return 0, width


@called
def pick_by_key(nodes, pools, width):
    """A user's score: the smallest first, as far as needed."""
    there = 0
    for q in range(pools):
        if nodes.list[USABLE, q] > 0:
            heap_push(nodes.real[KEY], nodes.list[LISTED], there, nodes.real[KEY, q], q)
            there += 1
    left = width
    size = 0
    while left > 0 and there > 0:
        q = nodes.list[LISTED, 0]
        heap_pop(nodes.real[KEY], nodes.list[LISTED], there)
        there -= 1
        left = _take(nodes, size, q, left)
        size += 1
    return size, left


@inlined
def _draw_of(s, nodes, j):
    """Watts of the picks at full load."""
    cores = nodes.ask[PER_TASK, 0, j]
    watts = 0.0
    for i in range(s.picked):
        node = nodes.node[nodes.list[PICK, i]].order
        watts += nodes.list[PICK_TASKS, i] * cores * nodes.node[node].watts
    return watts


@called
def _cheapest(s, nodes, width):
    """Lowest power, whatever the placement."""
    left = width
    size = 0
    for i in range(s.pools):
        q = nodes.pool[i].cheap
        if nodes.list[USABLE, q] > 0 and left > 0:
            left = _take(nodes, size, q, left)
            size += 1
    return size, left


@inlined
def _apply(s, nodes, j, width, plan):
    rule = s.rule
    pools = s.pools
    if rule == ORDERED or s.pooling == ONE_POOL:
        return _walk(nodes, 0, pools, 0, width)
    if rule == SLOWEST:
        return _in_groups(s, nodes, j, width, plan)
    if rule <= SPREAD:
        listed = _by_class(s, nodes, rule)
        if rule == SPREAD:
            return _level(s, nodes, listed, width)
        return _fit(nodes, rule, listed, width)
    if rule == RANDOM:
        return _by_lot(s, nodes, j, width)
    if rule == CONTIGUOUS:
        return _in_a_stretch(s, nodes, width)
    return pick_by_key(nodes, pools, width)


@called
def score_nodes(s, nodes, jobs, j, score, theta):
    """A user's score of every node, given what would be there."""
    view = NodeView(
        nodes.list[VIEW_PROCS],
        nodes.list[VIEW_FREE],
        nodes.list[VIEW_MEMORY],
        nodes.list[VIEW_FREE_MEMORY],
        nodes.real[OPS],
        nodes.real[SLOWNESS],
        nodes.real[WATTS],
        nodes.real[IDLE_WATTS],
    )
    for node in range(s.nodes):
        nodes.real[KEY, node] = score(view, node, at(jobs), j, s.now, theta)


@inlined
def _look_at_there(s, nodes):
    """Let a score see what would be there; every node is a pool, in the order of the file."""
    for node in range(s.nodes):
        nodes.list[VIEW_FREE, node] = nodes.stock[THERE, 0, node]
        if s.resources > 1:
            nodes.list[VIEW_FREE_MEMORY, node] = nodes.stock[THERE, 1, node]


@inlined
def _has_licences(s, nodes, table, j):
    for r in range(s.resources):
        if nodes.ask[PER_JOB, r, j] > nodes.stock[table, r, s.pools]:
            return False
    return True


@called
def _choose_in_order(s, nodes, table, j, choice, slowness):
    """Pick pools in the order of visits, looking at no more of them than are needed.

    Where nodes sleep, those that will be up come first.
    """
    left = nodes.job[j].tasks
    plain = nodes.job[j].plain == 1
    size = 0
    rounds = 1 if s.not_up == 0 or s.only_up == 1 else 2
    for turn in range(rounds):
        q = 0
        while left > 0 and q < s.pools:
            usable = np.int64(0)
            good = slowness == np.inf or nodes.pool[q].slowness <= slowness
            if good and s.not_up > 0:
                good = is_up_by(s, nodes, q) == (turn == 0)
            if good:
                if plain:
                    usable = min(nodes.stock[table, 0, q], left)
                elif nodes.stock[table, 0, q] > 0:
                    usable = room(s, nodes, table, j, q, choice, left)
            if usable > 0:
                _note(nodes, size, q, usable)
                size += 1
                left -= usable
            q += 1
    note_picks(s, size)
    return left == 0


@spliced
def _choose_among(s, nodes, jobs, j, choice, slowness, score, theta):
    """Pick pools out of one set of eligible nodes."""
    width = nodes.job[j].tasks
    if s.rule == ORDERED and nodes.job[j].budget == np.inf:
        return _choose_in_order(s, nodes, THERE, j, choice, slowness)
    if _fill_usable(s, nodes, j, choice, slowness) < width:
        return False
    if s.rule == SCORED and s.pooling == BY_NODE:
        _look_at_there(s, nodes)
        score_nodes(s, nodes, jobs, j, score, theta)
    size, left = _apply(s, nodes, j, width, jobs.plan[j])
    note_picks(s, size)
    if left > 0:
        return False
    budget = nodes.job[j].budget
    if budget < np.inf and _draw_of(s, nodes, j) > budget:
        if s.rule == CONTIGUOUS:
            return False
        size, left = _cheapest(s, nodes, width)
        note_picks(s, size)
        return _draw_of(s, nodes, j) <= budget
    return True


@called
def _cheapest_under_caps(s, nodes, caps, table, j, choice, slowness):
    """Pick pools by what a processor adds, of each no more than all its caps have room for."""
    left = nodes.job[j].tasks
    size = 0
    if caps is not None:
        for c in range(caps.left.shape[0]):
            caps.left[c] = caps.free[table, c]
        plain = nodes.job[j].plain == 1
        # Of those that add the same, who is not asleep comes first.
        first, turn, i = 0, 0, 0
        while left > 0 and i < s.pools:
            q = caps.cheap[i]
            i += 1
            asleep = s.lends == 1 and nodes.sleeper[nodes.node[q].order].state == ASLEEP
            skipped = asleep == (turn == 0)
            if s.lends == 0:
                skipped = False
            elif i == s.pools or caps.of_proc[caps.cheap[i]] != caps.of_proc[q]:
                # The last of its kind.
                if turn == 0:
                    turn, i = 1, first
                else:
                    turn, first = 0, i
            if skipped or nodes.pool[q].slowness > slowness:
                continue
            if s.only_up == 1 and not is_up_by(s, nodes, q):
                continue
            if plain:
                usable = min(nodes.stock[table, 0, q], left)
            else:
                usable = room(s, nodes, table, j, q, choice, left)
            watts = watts_of_task(s, nodes, caps, j, q)
            for c in range(caps.left.shape[0]):
                if caps.over[c, q]:
                    free = max(caps.left[c], np.int64(0))
                    if asleep:
                        free -= caps.lent[q]
                        if free < caps.changing[q]:
                            usable = np.int64(0)
                    if watts > 0 and watts * usable > free:
                        usable = max(free, np.int64(0)) // watts
            if usable > 0:
                _note(nodes, size, q, usable)
                size += 1
                left -= usable
                more = usable * watts
                if asleep:
                    more = caps.lent[q] + max(more, caps.changing[q])
                for c in range(caps.left.shape[0]):
                    if caps.over[c, q]:
                        caps.left[c] -= more
    note_picks(s, size)
    return left == 0


@called
def pick_under_caps(s, nodes, caps, table, j, choice, slowness):
    """The placement's picks add too much: pick such as do not; whether there are."""
    if s.rule == CONTIGUOUS:
        return False
    if not _cheapest_under_caps(s, nodes, caps, table, j, choice, slowness):
        return False
    note_draw(s, nodes, caps, j, False)
    return nodes.job[j].budget == np.inf or _draw_of(s, nodes, j) <= nodes.job[j].budget


@inlined
def keep_caps(s, nodes, caps, table, j, choice, slowness):
    """Whether the pools that were picked, or others in their place, keep all caps.

    Where what a job adds is the same everywhere, that was asked before.
    """
    if caps is None:
        return True
    if s.varied == 0:
        return True
    note_draw(s, nodes, caps, j, False)
    if may_draw(caps, table, j):
        return True
    return pick_under_caps(s, nodes, caps, table, j, choice, slowness)


@called
def choose(s, nodes, jobs, j, slowness, score, theta):
    """Pick pools for a job from `there`, what would be free; whether it worked.

    Only pools no slower than `slowness` are looked at; its sets of eligible nodes in their order.
    Where nodes sleep, it is tried first with those alone that are up at the work `s.awake_by`.
    """
    if s.varied == 0 and not may_draw(nodes.caps, THERE, j):
        return False
    if s.not_up > 0:
        s.only_up = 1
        found = _choose_any(s, nodes, jobs, j, slowness, score, theta)
        s.only_up = 0
        if found:
            return True
    return _choose_any(s, nodes, jobs, j, slowness, score, theta)


@called
def _choose_any(s, nodes, jobs, j, slowness, score, theta):
    if s.vectors == 0:
        if not _choose_among(s, nodes, jobs, j, 0, slowness, score, theta):
            return False
        return keep_caps(s, nodes, nodes.caps, THERE, j, 0, slowness)
    if _has_licences(s, nodes, THERE, j):
        first = nodes.job[j].choice
        for choice in range(first, first + nodes.job[j].choices):
            if _choose_among(s, nodes, jobs, j, choice, slowness, score, theta):
                if keep_caps(s, nodes, nodes.caps, THERE, j, choice, slowness):
                    return True
    return False


@inlined
def look_at(s, nodes, table):
    """Let choices be made from a table."""
    for r in range(s.resources):
        for q in range(s.pools + 1):
            nodes.stock[THERE, r, q] = nodes.stock[table, r, q]
    look_at_room(nodes.caps, THERE, table)


@called
def choose_from(s, nodes, jobs, table, j, slowness, score, theta):
    """As `choose`, from a table; where pools are visited in one order it is not copied first."""
    if s.vectors == 0 or s.rule != ORDERED or nodes.job[j].budget < np.inf or s.not_up > 0:
        look_at(s, nodes, table)
        return choose(s, nodes, jobs, j, slowness, score, theta)
    if s.varied == 0 and not may_draw(nodes.caps, table, j):
        return False
    if _has_licences(s, nodes, table, j):
        first = nodes.job[j].choice
        for choice in range(first, first + nodes.job[j].choices):
            if _choose_in_order(s, nodes, table, j, choice, slowness):
                if keep_caps(s, nodes, nodes.caps, table, j, choice, slowness):
                    return True
    return False


@called
def picked_slowness(s, nodes):
    """Slowness of the picks, by pool [gomez2012, eq. 2]."""
    slowness = 0.0
    for i in range(s.picked):
        slowness = max(slowness, nodes.pool[nodes.list[PICK, i]].slowness)
    return slowness
