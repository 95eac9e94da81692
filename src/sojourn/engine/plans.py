"""Availability by pool and resource over future work, and the promises that hold some of it.

As `profile`, with a vector for each pool. Step i begins at ``plan_at[i]``; its numbers are in row
``plan_row[STEP_ROW, i]`` of the tables, so that steps are inserted and removed without moving their
numbers. What a waiting job is promised is a chain of cells, one for each pool.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .caps import (
    anything_on_way,
    copy_row,
    least_room,
    leave_room,
    lower_row,
    note_nothing,
    note_on_way,
    note_waking,
    row_from_now,
    row_has_room,
    row_keeps_on,
    row_with_arrived,
    rows_differ,
    shift_by_waking,
)
from .nodes import (
    CELL_POOL,
    CELL_TASKS,
    FREE,
    FREE_CELL,
    FREE_ROW,
    NEXT_CELL,
    PER_JOB,
    PICK,
    PICK_TASKS,
    SIZE,
    STEP_ROW,
    THERE,
    note_picks,
    takes,
)
from .sleeping import is_up_at_once
from .state import ASLEEP


@inlined
def _drop_row(s, nodes, row):
    nodes.plan_row[FREE_ROW, s.free_rows] = row
    s.free_rows += 1


@inlined
def _new_row(s, nodes):
    s.free_rows -= 1
    return nodes.plan_row[FREE_ROW, s.free_rows]


@called
def plan_reset(s, nodes):
    """Forget all steps: what is free now stays so."""
    for i in range(s.steps):
        _drop_row(s, nodes, nodes.plan_row[STEP_ROW, i])
    row = _new_row(s, nodes)
    nodes.plan_row[STEP_ROW, 0] = row
    nodes.plan_at[0] = s.work
    s.steps = 1
    for r in range(s.resources):
        for q in range(s.pools + 1):
            nodes.plan[r, row, q] = nodes.stock[FREE, r, q]
    row_from_now(nodes.caps, row)


@called
def plan_advance(s, nodes):
    """Drop the steps that end by now."""
    gone = 0
    while gone + 1 < s.steps and nodes.plan_at[gone + 1] <= s.work:
        _drop_row(s, nodes, nodes.plan_row[STEP_ROW, gone])
        gone += 1
    if gone > 0:
        for i in range(s.steps - gone):
            nodes.plan_at[i] = nodes.plan_at[i + gone]
            nodes.plan_row[STEP_ROW, i] = nodes.plan_row[STEP_ROW, i + gone]
        s.steps -= gone


@inlined
def plan_find(s, nodes, work):
    """Index of the step that covers `work` (0 if it lies before all)."""
    low = 0
    high = s.steps
    while high - low > 1:
        middle = (low + high) >> 1
        if nodes.plan_at[middle] <= work:
            low = middle
        else:
            high = middle
    return low


@called
def _cut(s, nodes, work):
    """Make a step begin exactly at `work`; its index."""
    i = plan_find(s, nodes, work)
    if nodes.plan_at[i] >= work:
        return i
    for k in range(s.steps, i + 1, -1):
        nodes.plan_at[k] = nodes.plan_at[k - 1]
        nodes.plan_row[STEP_ROW, k] = nodes.plan_row[STEP_ROW, k - 1]
    row = _new_row(s, nodes)
    before = nodes.plan_row[STEP_ROW, i]
    nodes.plan_at[i + 1] = work
    nodes.plan_row[STEP_ROW, i + 1] = row
    for r in range(s.resources):
        for q in range(s.pools + 1):
            nodes.plan[r, row, q] = nodes.plan[r, before, q]
    copy_row(nodes.caps, row, before)
    s.steps += 1
    return i + 1


@called
def _join(s, nodes, i):
    """Remove step i if it equals its predecessor."""
    if not 0 < i < s.steps:
        return
    a, b = nodes.plan_row[STEP_ROW, i - 1], nodes.plan_row[STEP_ROW, i]
    for r in range(s.resources):
        for q in range(s.pools + 1):
            if nodes.plan[r, a, q] != nodes.plan[r, b, q]:
                return
    if rows_differ(nodes.caps, a, b):
        return
    _drop_row(s, nodes, b)
    for k in range(i, s.steps - 1):
        nodes.plan_at[k] = nodes.plan_at[k + 1]
        nodes.plan_row[STEP_ROW, k] = nodes.plan_row[STEP_ROW, k + 1]
    s.steps -= 1


@inlined
def _change_row(s, nodes, row, j, sign):
    """The picked pools, and the licences of `j`, become free (sign 1) or taken (-1) in a row."""
    for r in range(s.resources):
        for k in range(s.picked):
            q = nodes.list[PICK, k]
            nodes.plan[r, row, q] += sign * takes(s, nodes, j, r, q, nodes.list[PICK_TASKS, k])
        if s.vectors == 1:
            nodes.plan[r, row, s.pools] += sign * nodes.ask[PER_JOB, r, j]
    leave_room(nodes.caps, row, j, sign)


@called
def plan_change(s, nodes, j, begin, end, sign):
    """What `j` has in the picked pools becomes free (sign 1) or taken (-1) in [begin, end)."""
    if end <= begin:
        return
    first = _cut(s, nodes, begin)
    last = _cut(s, nodes, end)
    for i in range(first, last):
        _change_row(s, nodes, nodes.plan_row[STEP_ROW, i], j, sign)
    _join(s, nodes, last)
    _join(s, nodes, first)


@called
def plan_block(s, nodes, node, begin, end):
    """Nobody has a node in [begin, end); a pool has so much less."""
    if end <= begin:
        return
    q = nodes.node[node].pool
    first = _cut(s, nodes, begin)
    last = _cut(s, nodes, end)
    for i in range(first, last):
        row = nodes.plan_row[STEP_ROW, i]
        nodes.plan[0, row, q] -= nodes.node[node].procs
        for r in range(1, s.resources):
            nodes.plan[r, row, q] -= nodes.stock[SIZE, r, q]


@called
def plan_fall(s, nodes, cap, begin, end, amount):
    """A cap leaves so much less room in [begin, end), which may have no end."""
    if end <= begin:
        return
    first = _cut(s, nodes, begin)
    last = s.steps
    if end < np.inf:
        last = _cut(s, nodes, end)
    for i in range(first, last):
        lower_row(nodes.caps, nodes.plan_row[STEP_ROW, i], cap, amount)


@called
def plan_arrivals(s, nodes, soonest):
    """Right after now nodes that are on their way have arrived, as far as no fall depends on it."""
    if s.falling == 0 and anything_on_way(nodes.caps):
        row_with_arrived(nodes.caps, nodes.plan_row[STEP_ROW, _cut(s, nodes, soonest)])


@inlined
def _note_on_way(s, nodes, j, at_once):
    """Note what sleepers in the picked pools hold until they are up, `at_once` or later."""
    anything = False
    note_nothing(nodes.caps)
    for i in range(s.picked):
        node = nodes.node[nodes.list[PICK, i]].order
        if nodes.sleeper[node].state == ASLEEP and is_up_at_once(s, nodes, node) == at_once:
            anything |= note_on_way(s, nodes, nodes.caps, j, i)
    return anything


@called
def plan_waking(s, nodes, j, end):
    """What `j` wakes in the picked pools stays on after its end; right after now it is up.

    With a fall ahead that is not planned with. A node that takes no time to wake is up now.
    """
    if note_waking(s, nodes, nodes.caps, j, False):
        for i in range(_cut(s, nodes, end), s.steps):
            shift_by_waking(nodes.caps, nodes.plan_row[STEP_ROW, i], -1)
        if _note_on_way(s, nodes, j, True):
            for i in range(plan_find(s, nodes, s.work), s.steps):
                shift_by_waking(nodes.caps, nodes.plan_row[STEP_ROW, i], 1)
        if s.falling == 0 and _note_on_way(s, nodes, j, False):
            for i in range(_cut(s, nodes, np.nextafter(s.work, np.inf)), s.steps):
                shift_by_waking(nodes.caps, nodes.plan_row[STEP_ROW, i], 1)


@called
def stays_on(s, nodes, j, end):
    """Whether what `j` would wake in the picked pools may stay on after its end."""
    if s.lends == 1 and s.asleep > 0:
        if note_waking(s, nodes, nodes.caps, j, False):
            for i in range(s.steps - 1, -1, -1):
                if nodes.plan_at[i] < end:
                    break
                if not row_keeps_on(nodes.caps, nodes.plan_row[STEP_ROW, i]):
                    return False
    return True


@called
def plan_append(s, nodes, j, end):
    """What `j` has in the picked pools is free from `end` on, which no step begins after."""
    last = s.steps - 1
    if end > nodes.plan_at[last]:
        last = _cut(s, nodes, end)
    _change_row(s, nodes, nodes.plan_row[STEP_ROW, last], j, 1)


@called
def stays_free(s, nodes, j, step, end):
    """Whether what `j` wants of the picked pools stays free from a step on until `end`."""
    i = step
    while i < s.steps and (i == step or nodes.plan_at[i] < end):
        row = nodes.plan_row[STEP_ROW, i]
        for r in range(s.resources):
            for k in range(s.picked):
                q = nodes.list[PICK, k]
                if nodes.plan[r, row, q] < takes(s, nodes, j, r, q, nodes.list[PICK_TASKS, k]):
                    return False
            if s.vectors == 1:
                if nodes.plan[r, row, s.pools] < nodes.ask[PER_JOB, r, j]:
                    return False
        if not row_has_room(nodes.caps, row, j):
            return False
        i += 1
    return True


@called
def worst_over(s, nodes, step, end):
    """Let choices be made from what is free at least, from a step on until `end`."""
    i = step
    while i < s.steps and (i == step or nodes.plan_at[i] < end):
        row = nodes.plan_row[STEP_ROW, i]
        for r in range(s.resources):
            for q in range(s.pools + 1):
                if i == step:
                    nodes.stock[THERE, r, q] = nodes.plan[r, row, q]
                else:
                    nodes.stock[THERE, r, q] = min(nodes.stock[THERE, r, q], nodes.plan[r, row, q])
        least_room(nodes.caps, row, i == step)
        i += 1


@called
def note_hold(s, nodes, j, end):
    """Remember the picked pools as promised to a job until `end`."""
    nodes.job[j].cell = -1
    nodes.job[j].until = end
    for k in range(s.picked - 1, -1, -1):
        s.free_cells -= 1
        cell = nodes.cell[FREE_CELL, s.free_cells]
        nodes.cell[CELL_POOL, cell] = nodes.list[PICK, k]
        nodes.cell[CELL_TASKS, cell] = nodes.list[PICK_TASKS, k]
        nodes.cell[NEXT_CELL, cell] = nodes.job[j].cell
        nodes.job[j].cell = cell


@called
def recall_hold(s, nodes, j):
    """Forget what was promised to a job, and pick it."""
    note_picks(s, 0)
    cell = nodes.job[j].cell
    while cell >= 0:
        nodes.list[PICK, s.picked] = nodes.cell[CELL_POOL, cell]
        nodes.list[PICK_TASKS, s.picked] = nodes.cell[CELL_TASKS, cell]
        s.picked += 1
        nodes.cell[FREE_CELL, s.free_cells] = cell
        s.free_cells += 1
        cell = nodes.cell[NEXT_CELL, cell]
    nodes.job[j].cell = -1
