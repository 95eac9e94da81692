"""Availability by pool over future work, and the promises that hold some of it.

As `profile`, with a number of free processors (and KB of memory) for each pool. Step i begins at
``plan_at[i]``; its numbers are in row ``plan_row[STEP_ROW, i]`` of the tables, so that steps are
inserted and removed without moving their numbers. What a waiting job is promised is a chain of
cells, one for each pool.
"""

from __future__ import annotations

from ..jit import called, inlined
from .nodes import (
    CELL_POOL,
    CELL_PROCS,
    FIRST_CELL,
    FREE_CELL,
    FREE_CELLS,
    FREE_ROW,
    FREE_ROWS,
    HELD_UNTIL,
    NEXT_CELL,
    PICK,
    PICK_HELD,
    PICK_KB,
    PICK_PROCS,
    POOL_FREE,
    POOL_MEMORY,
    POOLS,
    STEP_ROW,
    STEPS,
    THERE,
    THERE_MEMORY,
)

__all__ = [
    "note_hold",
    "plan_advance",
    "plan_append",
    "plan_change",
    "plan_find",
    "plan_reset",
    "recall_hold",
    "stays_free",
    "worst_over",
]


@called
def plan_reset(nodes, work):
    """Forget all steps: what is free now stays so."""
    for i in range(nodes.number[STEPS]):
        nodes.plan_row[FREE_ROW, nodes.number[FREE_ROWS]] = nodes.plan_row[STEP_ROW, i]
        nodes.number[FREE_ROWS] += 1
    nodes.number[FREE_ROWS] -= 1
    row = nodes.plan_row[FREE_ROW, nodes.number[FREE_ROWS]]
    nodes.plan_row[STEP_ROW, 0] = row
    nodes.plan_at[0] = work
    nodes.number[STEPS] = 1
    for q in range(nodes.number[POOLS]):
        nodes.plan[0, row, q] = nodes.i[POOL_FREE, q]
        nodes.plan[1, row, q] = nodes.i[POOL_MEMORY, q]


@called
def plan_advance(nodes, work):
    """Drop the steps that end at or before `work`."""
    size = nodes.number[STEPS]
    gone = 0
    while gone + 1 < size and nodes.plan_at[gone + 1] <= work:
        nodes.plan_row[FREE_ROW, nodes.number[FREE_ROWS]] = nodes.plan_row[STEP_ROW, gone]
        nodes.number[FREE_ROWS] += 1
        gone += 1
    if gone > 0:
        for i in range(size - gone):
            nodes.plan_at[i] = nodes.plan_at[i + gone]
            nodes.plan_row[STEP_ROW, i] = nodes.plan_row[STEP_ROW, i + gone]
        nodes.number[STEPS] = size - gone


@inlined
def plan_find(nodes, work):
    """Index of the step that covers `work` (0 if it lies before all)."""
    low = 0
    high = nodes.number[STEPS]
    while high - low > 1:
        middle = (low + high) >> 1
        if nodes.plan_at[middle] <= work:
            low = middle
        else:
            high = middle
    return low


@called
def _cut(nodes, work):
    """Make a step begin exactly at `work`; its index."""
    i = plan_find(nodes, work)
    if nodes.plan_at[i] >= work:
        return i
    size = nodes.number[STEPS]
    for k in range(size, i + 1, -1):
        nodes.plan_at[k] = nodes.plan_at[k - 1]
        nodes.plan_row[STEP_ROW, k] = nodes.plan_row[STEP_ROW, k - 1]
    nodes.number[FREE_ROWS] -= 1
    row = nodes.plan_row[FREE_ROW, nodes.number[FREE_ROWS]]
    before = nodes.plan_row[STEP_ROW, i]
    nodes.plan_at[i + 1] = work
    nodes.plan_row[STEP_ROW, i + 1] = row
    for q in range(nodes.number[POOLS]):
        nodes.plan[0, row, q] = nodes.plan[0, before, q]
        nodes.plan[1, row, q] = nodes.plan[1, before, q]
    nodes.number[STEPS] = size + 1
    return i + 1


@called
def _join(nodes, i):
    """Remove step i if it equals its predecessor."""
    size = nodes.number[STEPS]
    if not 0 < i < size:
        return
    a, b = nodes.plan_row[STEP_ROW, i - 1], nodes.plan_row[STEP_ROW, i]
    for q in range(nodes.number[POOLS]):
        if nodes.plan[0, a, q] != nodes.plan[0, b, q] or nodes.plan[1, a, q] != nodes.plan[1, b, q]:
            return
    nodes.plan_row[FREE_ROW, nodes.number[FREE_ROWS]] = b
    nodes.number[FREE_ROWS] += 1
    for k in range(i, size - 1):
        nodes.plan_at[k] = nodes.plan_at[k + 1]
        nodes.plan_row[STEP_ROW, k] = nodes.plan_row[STEP_ROW, k + 1]
    nodes.number[STEPS] = size - 1


@called
def plan_change(nodes, begin, end, size, sign):
    """The first `size` picked pools become free (sign 1) or taken (-1) in [begin, end)."""
    if end <= begin:
        return
    first = _cut(nodes, begin)
    last = _cut(nodes, end)
    for i in range(first, last):
        row = nodes.plan_row[STEP_ROW, i]
        for k in range(size):
            nodes.plan[0, row, nodes.i[PICK, k]] += sign * nodes.i[PICK_HELD, k]
            nodes.plan[1, row, nodes.i[PICK, k]] += sign * nodes.i[PICK_KB, k]
    _join(nodes, last)
    _join(nodes, first)


@called
def stays_free(nodes, step, end, size):
    """Whether the picked pools stay free from a step on until `end`."""
    i = step
    while i < nodes.number[STEPS] and (i == step or nodes.plan_at[i] < end):
        row = nodes.plan_row[STEP_ROW, i]
        for k in range(size):
            q = nodes.i[PICK, k]
            if (
                nodes.plan[0, row, q] < nodes.i[PICK_HELD, k]
                or nodes.plan[1, row, q] < nodes.i[PICK_KB, k]
            ):
                return False
        i += 1
    return True


@called
def worst_over(nodes, step, end):
    """Put the least availability from a step on until `end` into the vectors of `choose`."""
    i = step
    while i < nodes.number[STEPS] and (i == step or nodes.plan_at[i] < end):
        row = nodes.plan_row[STEP_ROW, i]
        for q in range(nodes.number[POOLS]):
            if i == step:
                nodes.i[THERE, q] = nodes.plan[0, row, q]
                nodes.i[THERE_MEMORY, q] = nodes.plan[1, row, q]
            else:
                nodes.i[THERE, q] = min(nodes.i[THERE, q], nodes.plan[0, row, q])
                nodes.i[THERE_MEMORY, q] = min(nodes.i[THERE_MEMORY, q], nodes.plan[1, row, q])
        i += 1


@called
def plan_append(nodes, end, size):
    """The first `size` picked pools are free from `end` on, which no step begins after."""
    last = nodes.number[STEPS] - 1
    if end > nodes.plan_at[last]:
        last = _cut(nodes, end)
    row = nodes.plan_row[STEP_ROW, last]
    for k in range(size):
        nodes.plan[0, row, nodes.i[PICK, k]] += nodes.i[PICK_HELD, k]
        nodes.plan[1, row, nodes.i[PICK, k]] += nodes.i[PICK_KB, k]


@called
def note_hold(nodes, size, job, end):
    """Remember the first `size` picked pools as promised to a job until `end`."""
    nodes.job[FIRST_CELL, job] = -1
    nodes.real[HELD_UNTIL, job] = end
    for k in range(size - 1, -1, -1):
        nodes.number[FREE_CELLS] -= 1
        cell = nodes.cell[FREE_CELL, nodes.number[FREE_CELLS]]
        nodes.cell[CELL_POOL, cell] = nodes.i[PICK, k]
        nodes.cell[CELL_PROCS, cell] = nodes.i[PICK_PROCS, k]
        nodes.cell[NEXT_CELL, cell] = nodes.job[FIRST_CELL, job]
        nodes.job[FIRST_CELL, job] = cell


@called
def recall_hold(nodes, job):
    """Forget what was promised to a job and put it as picks; how many pools."""
    size = 0
    cell = nodes.job[FIRST_CELL, job]
    while cell >= 0:
        nodes.i[PICK, size] = nodes.cell[CELL_POOL, cell]
        nodes.i[PICK_PROCS, size] = nodes.cell[CELL_PROCS, cell]
        size += 1
        nodes.cell[FREE_CELL, nodes.number[FREE_CELLS]] = cell
        nodes.number[FREE_CELLS] += 1
        cell = nodes.cell[NEXT_CELL, cell]
    nodes.job[FIRST_CELL, job] = -1
    return size
