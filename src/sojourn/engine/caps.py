"""Caps: watts as one more thing that jobs take, of sets of named nodes.

Watts are whole milliwatts, so that sums are exact. A cap leaves room for what jobs add to the idle
power of its nodes. What a job adds under each cap is noted with the nodes that are picked for it,
and taken and given back with them. A node that is asleep lends others what it draws less than an
idle one; who wakes it needs that. Where there is no cap, all of this is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import called, inlined
from .state import ASLEEP

# Rows of Caps.free: as of `Nodes.stock`; then what nodes on their way hold beside idle power, and
# by how much the lowest step ahead leaves less.
_SIZE, _FREE, _AHEAD, _THERE, _ON_WAY, _FALLS = range(6)
_PICK, _PICK_TASKS = 2, 3
_PER_TASK = 0


class CapFacts(NamedTuple):
    """What never changes during a run, in mW.

    Parameters
    ----------
    room : what jobs may add under each cap at the most.
    over : by cap and node, whether the node belongs to it.
    of_proc : what a busy processor of each node adds.
    of_task : what each task of a job adds, wherever it is; -1 where that is for its nodes to say.
    fixed : by cap and job, what it adds wherever it runs; zeros where that differs.
    varied : whether what jobs add depends on where they run.
    evenly : what every busy processor adds, where that is the same for all jobs; else 0.
    lent : what each node draws less when it is asleep than when it is idle; None if none sleeps.
    changing : what it draws more on its way, at the most.
    """

    room: NDArray[np.int64]
    over: NDArray[np.bool_]
    of_proc: NDArray[np.int64]
    of_task: NDArray[np.int64]
    fixed: NDArray[np.int64]
    varied: bool
    evenly: int = 0
    lent: NDArray[np.int64] | None = None
    changing: NDArray[np.int64] | None = None

    @property
    def lends(self) -> bool:
        """Whether watts depend on who is asleep."""
        return any(it is not None and it.any() for it in (self.lent, self.changing))


class Caps(NamedTuple):
    """The tables: `free` as `Nodes.stock`, by cap; `draw` what jobs add with the nodes they have.

    `of_proc`, `over`, `cheap`, `lent` and `changing` are by pool, in the order of visits; `cheap`
    has the pools by watts. `plan` has rows as `Nodes.plan`; `left` is scratch, and `waking` what
    waking the sleepers among some picks takes.
    """

    free: np.ndarray
    draw: np.ndarray
    of_task: np.ndarray
    of_proc: np.ndarray
    over: np.ndarray
    cheap: np.ndarray
    plan: np.ndarray
    left: np.ndarray
    lent: np.ndarray
    changing: np.ndarray
    waking: np.ndarray


def make_caps(facts: CapFacts, order: NDArray[np.int64]) -> Caps:
    """Return the caps before the first job; `order` has the nodes as they are visited."""
    number = len(facts.room)
    free = np.zeros((6, number), dtype=np.int64)
    free[_SIZE] = facts.room
    none = np.zeros(len(order), np.int64)
    lent, changing = (none if it is None else it for it in (facts.lent, facts.changing))
    return Caps(
        free=free,
        draw=np.ascontiguousarray(facts.fixed, np.int64),
        of_task=np.ascontiguousarray(facts.of_task, np.int64),
        of_proc=np.ascontiguousarray(facts.of_proc[order], np.int64),
        over=np.ascontiguousarray(facts.over[:, order], np.bool_),
        # By watts, then as in the file.
        cheap=np.lexsort((order, facts.of_proc[order])).astype(np.int64),
        plan=np.zeros((0, number), dtype=np.int64),
        left=np.zeros(number, dtype=np.int64),
        lent=np.ascontiguousarray(lent[order], np.int64),
        changing=np.ascontiguousarray(changing[order], np.int64),
        waking=np.zeros(number, dtype=np.int64),
    )


def no_caps() -> CapFacts:
    """Return a cap over one node without jobs: the example whose type fixes signatures."""
    one, nobody = np.zeros(1, np.int64), np.zeros(0, np.int64)
    return CapFacts(one, np.ones((1, 1), np.bool_), one, nobody, np.zeros((1, 0), np.int64), False)


def widen(caps: Caps | None, rows: int) -> Any:
    """Return the caps with room for so many rows of the plan."""
    if caps is None:
        return None
    plan = np.zeros((rows, caps.plan.shape[1]), dtype=np.int64)
    plan[: len(caps.plan)] = caps.plan
    return caps._replace(plan=plan)


@inlined
def open_caps(caps):
    """All that caps leave is free."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[_FREE, c] = caps.free[_SIZE, c]


@inlined
def may_draw(caps, table, j):
    """Whether, by a table, caps have room for what `j` is noted to add; for nothing they have."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if caps.draw[c, j] > max(caps.free[table, c], 0):
                return False
    return True


@called
def procs_under(s, nodes, caps, table, procs):
    """No more processors than caps have room for, where all add the same; a job may find less."""
    if caps is not None:
        if s.evenly > 0:
            each, awake, least = s.evenly, procs, np.int64(0)
            q, size = s.nap_pool, s.nap_procs
            if s.lends == 1 and s.asleep > 0:
                awake = s.free - s.asleep * size
                least = _least_of_sleeper(s, nodes, caps, each)
            for c in range(caps.free.shape[1]):
                free = max(caps.free[table, c], 0)
                if free < awake * each:
                    most = free // each
                elif procs <= awake:
                    continue
                else:
                    # The rest are on nodes that must be woken.
                    free -= awake * each
                    whole = caps.lent[q] + max(size * each, caps.changing[q])
                    most = awake + free // whole * size
                    rest = free % whole - caps.lent[q]
                    if rest >= max(each, least):
                        most += min(rest // each, size - 1)
                procs = min(procs, most)
    return procs


@inlined
def _least_of_sleeper(s, nodes, caps, each):
    """What a job takes at least on a node that it wakes, beside what that lends (mW).

    Where nodes on their way have free processors, it may have more tasks on sleepers than it must.
    """
    least = caps.changing[s.nap_pool]
    if least <= each:
        return np.int64(0)
    for i in range(s.transits):
        if nodes.node[nodes.arriving[i]].free > 0:
            return np.int64(0)
    return least


@inlined
def procs_that_may_wake(s, caps, procs):
    """No more processors than may be had for a time, if what is woken for them stays on ahead."""
    if caps is not None:
        lent = caps.lent[s.nap_pool]
        if s.lends == 1 and s.pinned == 0 and s.asleep > 0 and lent > 0:
            for c in range(caps.free.shape[1]):
                woken = max(caps.free[_AHEAD, c], 0) // lent * s.nap_procs
                procs = min(procs, s.free - s.asleep * s.nap_procs + woken)
    return procs


@inlined
def shift_draw(caps, table, j, sign):
    """What `j` adds is free again in a table (sign 1), or is not (-1)."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[table, c] += sign * caps.draw[c, j]


@inlined
def look_at_room(caps, table, other):
    """Let one table be as another."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[table, c] = caps.free[other, c]


@inlined
def spare_room(caps):
    """Let choices be made from what is free now and at the head's reservation."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[_THERE, c] = min(caps.free[_FREE, c], caps.free[_AHEAD, c])


@inlined
def least_room(caps, row, first):
    """Let choices be made from a row of the plan (`first`), or from what rows have at least."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if first:
                caps.free[_THERE, c] = caps.plan[row, c]
            else:
                caps.free[_THERE, c] = min(caps.free[_THERE, c], caps.plan[row, c])


@inlined
def leave_room(caps, row, j, sign):
    """In a row of the plan, what `j` adds is free (sign 1) or taken (-1)."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.plan[row, c] += sign * caps.draw[c, j]


@inlined
def row_from_now(caps, row):
    """Let a row of the plan be what is free now."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.plan[row, c] = caps.free[_FREE, c]


@inlined
def copy_row(caps, row, before):
    """Let a row of the plan be as another."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.plan[row, c] = caps.plan[before, c]


@inlined
def rows_differ(caps, a, b):
    """Whether two rows of the plan leave different room."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if caps.plan[a, c] != caps.plan[b, c]:
                return True
    return False


@inlined
def row_has_room(caps, row, j):
    """Whether a row of the plan has room for what `j` is noted to add."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if max(caps.plan[row, c], 0) < caps.draw[c, j]:
                return False
    return True


@inlined
def lower_row(caps, row, c, amount):
    """A row of the plan has so much less room under a cap."""
    if caps is not None:
        caps.plan[row, c] -= amount


@inlined
def lower_now(caps, c, amount):
    """So much less is free now under a cap."""
    if caps is not None:
        caps.free[_FREE, c] -= amount


@inlined
def watts_of_task(s, nodes, caps, j, q):
    """What a task of `j` adds in a pool (mW)."""
    if caps.of_task[j] >= 0:
        return caps.of_task[j]
    if s.vectors == 0:
        return caps.of_proc[q]
    return caps.of_proc[q] * nodes.ask[_PER_TASK, 0, j]


@called
def note_draw(s, nodes, caps, j, as_nodes):
    """Note what `j` adds with its picks, which are pools, or nodes."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.draw[c, j] = 0
        if s.pinned == 0 and as_nodes and s.unsure == 0:
            # It adds the same wherever it runs, under caps of all nodes.
            watts = nodes.job[j].tasks * watts_of_task(s, nodes, caps, j, np.int64(0))
            for c in range(caps.free.shape[1]):
                caps.draw[c, j] = watts
            return
        for i in range(s.picked):
            q = nodes.list[_PICK, i]
            if as_nodes:
                q = nodes.node[q].pool
            watts = nodes.list[_PICK_TASKS, i] * watts_of_task(s, nodes, caps, j, q)
            watts += _to_wake(s, nodes, caps, q, watts)
            for c in range(caps.free.shape[1]):
                if caps.over[c, q]:
                    caps.draw[c, j] += watts


# Nodes that sleep.


@inlined
def _to_wake(s, nodes, caps, q, watts):
    """What waking the node of a pool takes, beside the watts that a job adds there (mW)."""
    more = np.int64(0)
    if s.lends == 1:
        if nodes.sleeper[nodes.node[q].order].state == ASLEEP:
            more = caps.lent[q] + max(caps.changing[q] - watts, np.int64(0))
    return more


@called
def note_waking(s, nodes, caps, j, as_nodes):
    """Note in `waking` what it takes to wake the sleepers among the picks of `j`; whether any."""
    if caps is None:
        return False
    anything = np.int64(0)
    for c in range(caps.free.shape[1]):
        caps.waking[c] = 0
    for i in range(s.picked):
        q = nodes.list[_PICK, i]
        if as_nodes:
            q = nodes.node[q].pool
        watts = nodes.list[_PICK_TASKS, i] * watts_of_task(s, nodes, caps, j, q)
        more = _to_wake(s, nodes, caps, q, watts)
        anything += more
        for c in range(caps.free.shape[1]):
            if caps.over[c, q]:
                caps.waking[c] += more
    return anything > 0


@inlined
def may_stay_on(caps, table):
    """Whether, by a table, there is room for what was noted in `waking`; it is taken then."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if caps.waking[c] > max(caps.free[table, c], 0):
                return False
        for c in range(caps.free.shape[1]):
            caps.free[table, c] -= caps.waking[c]
    return True


@inlined
def note_nothing(caps):
    """Nothing is noted in `waking`."""
    if caps is not None:
        for c in range(caps.waking.shape[0]):
            caps.waking[c] = 0


@inlined
def note_on_way(s, nodes, caps, j, i):
    """Note in `waking`, too, what the sleeper of pick `i` of `j` holds until it is up; whether any.

    It is the node of a pool.
    """
    if caps is None:
        return False
    q = nodes.list[_PICK, i]
    watts = nodes.list[_PICK_TASKS, i] * watts_of_task(s, nodes, caps, j, q)
    more = max(caps.changing[q] - watts, np.int64(0))
    for c in range(caps.free.shape[1]):
        if caps.over[c, q]:
            caps.waking[c] += more
    return more > 0


@inlined
def row_keeps_on(caps, row):
    """Whether a row of the plan has room for what was noted in `waking`."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if caps.waking[c] > max(caps.plan[row, c], 0):
                return False
    return True


@inlined
def shift_by_waking(caps, row, sign):
    """A row of the plan has so much more room (sign 1), or less, as was noted in `waking`."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.plan[row, c] += sign * caps.waking[c]


@inlined
def anything_on_way(caps):
    """Whether nodes on their way hold watts beside idle power."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            if caps.free[_ON_WAY, c] > 0:
                return True
    return False


@inlined
def arrive_ahead(caps):
    """At the head's reservation nodes that are on their way have arrived."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[_AHEAD, c] += caps.free[_ON_WAY, c]


@inlined
def row_with_arrived(caps, row):
    """In a row of the plan nodes that are on their way have arrived."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.plan[row, c] += caps.free[_ON_WAY, c]


@inlined
def _from_sleepers(s, nodes, j, free):
    """How many of so many free processors `j` can have from sleepers only, which are all alike."""
    return max(nodes.job[j].tasks - (free - s.asleep * s.nap_procs), 0)


@inlined
def is_hopeless(s, nodes, caps, table, j):
    """Whether, by a table, `j` adds too much wherever it runs; for sleepers that are all alike."""
    if caps is not None:
        if s.lends == 1 and s.pinned == 0:
            each = watts_of_task(s, nodes, caps, j, 0)
            watts = nodes.job[j].tasks * each
            left = _from_sleepers(s, nodes, j, s.free)
            if left > 0:
                watts += (left + s.nap_procs - 1) // s.nap_procs * caps.lent[s.nap_pool]
                rest = left % s.nap_procs * each
                if rest > 0:
                    watts += max(_least_of_sleeper(s, nodes, caps, each) - rest, np.int64(0))
            for c in range(caps.free.shape[1]):
                if watts > max(caps.free[table, c], 0):
                    return True
    return False


@inlined
def fits_by_count(s, nodes, caps, table, j, free):
    """Whether, by a table, `j` keeps all caps if so many processors are free; then it is noted.

    It wakes no more than it must. For sleepers that are all alike.
    """
    if caps is not None:
        each = watts_of_task(s, nodes, caps, j, 0)
        watts = nodes.job[j].tasks * each
        for c in range(caps.free.shape[1]):
            if watts > max(caps.free[table, c], 0):
                return False
        left = _from_sleepers(s, nodes, j, free)
        if left > 0:
            q, procs, zero = s.nap_pool, s.nap_procs, np.int64(0)
            whole, rest = left // procs, left % procs
            watts += whole * (caps.lent[q] + max(caps.changing[q] - procs * each, zero))
            if rest > 0:
                watts += caps.lent[q] + max(caps.changing[q] - rest * each, zero)
        for c in range(caps.free.shape[1]):
            if watts > max(caps.free[table, c], 0):
                return False
        for c in range(caps.free.shape[1]):
            caps.draw[c, j] = watts
    return True


@inlined
def note_falls(s, caps, calendar):
    """Note by how much the lowest step ahead of each cap leaves less."""
    if caps is not None:
        for c in range(caps.free.shape[1]):
            caps.free[_FALLS, c] = 0
        for i in range(calendar.fall.shape[0]):
            it = calendar.fall[i]
            if s.now < it.ends:
                caps.free[_FALLS, it.cap] = max(caps.free[_FALLS, it.cap], it.amount)


@inlined
def may_draw_more(caps, q, from_sleep):
    """Whether the node of a pool may change its state from now on, idle or asleep until now."""
    if caps is not None:
        watts = caps.changing[q]
        if from_sleep:
            watts += caps.lent[q]
        for c in range(caps.free.shape[1]):
            free = max(caps.free[_FREE, c] - caps.free[_FALLS, c], 0)
            if caps.over[c, q] and watts > free:
                return False
    return True


@inlined
def draw_more(caps, it, q, extra, lent):
    """The node of a pool holds so much beside idle power, and lends so many times what it can.

    `it` is its row among those that sleep; `lent` is 1 if it lends from now on, -1 if it has lent
    until now, 0 if nothing changes.
    """
    if caps is not None:
        more = extra - it.extra
        it.extra = extra
        for c in range(caps.free.shape[1]):
            if caps.over[c, q]:
                caps.free[_ON_WAY, c] += more
                caps.free[_FREE, c] += lent * caps.lent[q] - more


@inlined
def wake_for(s, nodes, caps, j, q, tasks):
    """A sleeper wakes for `j`, which was noted to add what that takes: now the node holds it."""
    if caps is not None:
        it = nodes.sleeper[nodes.node[q].order]
        watts = tasks * watts_of_task(s, nodes, caps, j, q)
        it.extra = max(caps.changing[q] - watts, np.int64(0))
        it.waker = j
        for c in range(caps.free.shape[1]):
            if caps.over[c, q]:
                caps.free[_ON_WAY, c] += it.extra
                # It has arrived by the head's reservation.
                caps.free[_AHEAD, c] += it.extra
                caps.draw[c, j] -= caps.lent[q] + it.extra
