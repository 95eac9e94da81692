"""The compiled walk through the instants at which nodes are taken, left, go down or come up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit import compiled, inlined

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

USED, STRANDED, FREE, DOWN = 0, 1, 2, 3
ALL_FIT = -1


class Rows(NamedTuple):
    """What is held, by row, and the rows that take time, in the order of starts and of stops."""

    node: Integers
    start: Floats
    stop: Floats
    held: Integers  # resources x rows
    by_start: Integers
    by_stop: Integers


class Gone(NamedTuple):
    """When nodes are not there, and two orders in time."""

    node: Integers
    begin: Floats
    end: Floats
    by_begin: Integers
    by_end: Integers


class NodeTables(NamedTuple):
    """The nodes as they are now, and what they were until `since`."""

    capacity: Integers  # resources x nodes
    left: Integers  # resources x nodes: held by nobody
    used_up: Integers  # how many of the resources that a node has are used up
    gone: Integers  # how many stretches of absence a node is in
    since: Floats  # s
    seconds: Floats  # resources x states x nodes: resource-seconds
    rest: Floats  # what rounding dropped of them


class Steps(NamedTuple):
    """Room for the state after each instant; none where it is not asked for."""

    time: Floats
    level: Integers  # steps x resources x states


@inlined
def _state(nodes: Any, k: int) -> int:
    """What that which nobody holds of node k counts as."""
    if nodes.gone[k] > 0:
        return DOWN
    return STRANDED if nodes.used_up[k] > 0 else FREE


@inlined
def _add(nodes: Any, r: int, state: int, k: int, value: float) -> None:
    """Add resource-seconds, keeping beside the sum what rounding drops (two-sum).

    A plain sum over millions of short stretches would lose more than the parts may be off by.
    """
    before = nodes.seconds[r, state, k]
    total = before + value
    part = total - before
    nodes.seconds[r, state, k] = total
    nodes.rest[r, state, k] += (before - (total - part)) + (value - part)


@inlined
def _settle(nodes: Any, k: int, now: float) -> None:
    """Bring the sums of node k up to `now`."""
    lapse = now - nodes.since[k]
    if lapse <= 0:
        return
    state = _state(nodes, k)
    for r in range(nodes.capacity.shape[0]):
        left = nodes.left[r, k]
        if nodes.capacity[r, k] > left:
            _add(nodes, r, USED, k, (nodes.capacity[r, k] - left) * lapse)
        if left > 0:
            _add(nodes, r, state, k, left * lapse)
    nodes.since[k] = now


@inlined
def _count(nodes: Any, k: int, level: Any, sign: int) -> None:
    """Add what node k has to the level of the whole cluster, or take it away."""
    state = _state(nodes, k)
    for r in range(nodes.capacity.shape[0]):
        left = nodes.left[r, k]
        level[r, USED] += sign * (nodes.capacity[r, k] - left)
        level[r, state] += sign * left


@inlined
def _hold(nodes: Any, rows: Any, row: int, sign: int, level: Any) -> bool:
    """Let the job of a row have its part of a node, or give it back; whether there is enough."""
    k = rows.node[row]
    fits = True
    _count(nodes, k, level, -1)
    for r in range(nodes.capacity.shape[0]):
        if nodes.capacity[r, k] > 0 and nodes.left[r, k] == 0:
            nodes.used_up[k] -= 1
        nodes.left[r, k] -= sign * rows.held[r, row]
        if nodes.capacity[r, k] > 0 and nodes.left[r, k] == 0:
            nodes.used_up[k] += 1
        if nodes.left[r, k] < 0:
            fits = False
    _count(nodes, k, level, 1)
    return fits


@inlined
def _absent(nodes: Any, k: int, sign: int, level: Any) -> None:
    """Let node k go down, or come up."""
    _count(nodes, k, level, -1)
    nodes.gone[k] += sign
    _count(nodes, k, level, 1)


@inlined
def _record(steps: Any, made: int, now: float, level: Any) -> int:
    """Write the level of the whole cluster from `now` on, unless it is what it was."""
    if len(steps.time) == 0:
        return made
    if made > 0:
        alike = True
        for r in range(level.shape[0]):
            for state in range(4):
                if steps.level[made - 1, r, state] != level[r, state]:
                    alike = False
        if alike:
            return made
    steps.time[made] = now
    for r in range(level.shape[0]):
        for state in range(4):
            steps.level[made, r, state] = level[r, state]
    return made + 1


@compiled(slow="the shares of unused resources", seconds=1.6)
def walk(
    rows: Any, gone: Any, nodes: Any, steps: Any, level: Any, begin: float, end: float
) -> tuple[int, int]:
    """Go through the instants in order; at each, stops come first, and starts last.

    Parameters
    ----------
    rows, gone, nodes, steps : see their classes; sums and steps are filled in.
    level : zeros (resources x states), the state of the whole cluster.
    begin, end : of the time that is measured, s; all rows lie in it, no absence begins before it.

    Returns
    -------
    The number of steps; and `ALL_FIT`, or the row that takes more than its node has.
    """
    for k in range(len(nodes.since)):
        nodes.since[k] = begin
        _count(nodes, k, level, 1)
    started, stopped, left, back, made = 0, 0, 0, 0, 0
    count, absences = len(rows.by_start), len(gone.by_begin)
    now = begin
    while True:
        while stopped < started and rows.stop[rows.by_stop[stopped]] <= now:
            row = rows.by_stop[stopped]
            stopped += 1
            _settle(nodes, rows.node[row], now)
            _hold(nodes, rows, row, -1, level)
        while back < left and gone.end[gone.by_end[back]] <= now:
            k = gone.node[gone.by_end[back]]
            back += 1
            _settle(nodes, k, now)
            _absent(nodes, k, -1, level)
        while left < absences and gone.begin[gone.by_begin[left]] <= now:
            k = gone.node[gone.by_begin[left]]
            left += 1
            _settle(nodes, k, now)
            _absent(nodes, k, 1, level)
        while started < count and rows.start[rows.by_start[started]] <= now:
            row = rows.by_start[started]
            started += 1
            _settle(nodes, rows.node[row], now)
            if not _hold(nodes, rows, row, 1, level):
                return made, row
        made = _record(steps, made, now, level)
        if now >= end:
            break
        soon = end
        if stopped < started:
            soon = min(soon, rows.stop[rows.by_stop[stopped]])
        if started < count:
            soon = min(soon, rows.start[rows.by_start[started]])
        if back < left:
            soon = min(soon, gone.end[gone.by_end[back]])
        if left < absences:
            soon = min(soon, gone.begin[gone.by_begin[left]])
        now = soon
    for k in range(len(nodes.since)):
        _settle(nodes, k, now)
    return made, ALL_FIT
