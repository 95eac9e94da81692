"""The compiled walk through the instants of a run on nodes: who draws what from when to when."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...arrays import Floats, Ints
from ...jit import compiled, inlined

ALL_FIT = -1

# Columns of the account of a node. Sums are pairs: the sum, and after it what rounding dropped.
_SHARE, IDLE, BUSY, _CLOCK, _TIME = 0, 2, 4, 6, 8
ACCOUNT = 9


class BilledJobs(NamedTuple):
    """Columns by job, two orders in time, and the rows of each."""

    start: Floats
    end: Floats
    by_start: Ints  # without jobs that take no time
    by_end: Ints
    first_row: Ints
    joules: Floats


class BilledRows(NamedTuple):
    """Processors in use by node; the share clock of the node when the job started, in two parts.

    From its end on the first part is what the job used there (J).
    """

    node: Ints
    procs: Ints
    share: Floats
    share_rest: Floats


class BilledNodes(NamedTuple):
    """Columns by node; ``[first[k] + b]`` of the others is that of node k with b in use."""

    procs: Ints
    busy: Ints
    first: Ints
    base: Floats  # W of each processor, whatever the rate
    dynamic: Floats  # W of all busy processors together, at rate 1
    account: Floats  # nodes x ACCOUNT


@inlined
def _add(cells: Any, k: int, at: int, value: float) -> None:
    """Add to the sum at `cells[k, at]`, keeping beside it what rounding drops (two-sum).

    A plain sum over millions of short stretches would lose more than the bill may be off by.
    """
    before = cells[k, at]
    total = before + value
    part = total - before
    cells[k, at] = total
    cells[k, at + 1] += (before - (total - part)) + (value - part)


@inlined
def _settle(nodes: Any, k: int, now: float, clock: Any) -> None:
    """Bring the account of node k up to `now`."""
    account = nodes.account
    lapse = now - account[k, _TIME]
    if lapse <= 0:
        return
    busy = nodes.busy[k]
    base = nodes.base[nodes.first[k] + busy]
    if busy > 0:
        scaled = (clock[0, 0] - account[k, _CLOCK]) + (clock[0, 1] - account[k, _CLOCK + 1])
        above = nodes.dynamic[nodes.first[k] + busy] / busy
        _add(account, k, _SHARE, base * lapse + above * scaled)
    _add(account, k, IDLE, (nodes.procs[k] - busy) * base * lapse)
    account[k, _TIME] = now
    account[k, _CLOCK] = clock[0, 0]
    account[k, _CLOCK + 1] = clock[0, 1]


@inlined
def _change(nodes: Any, k: int, more: int, above: Any, below: Any) -> None:
    """Let `more` processors of node k come into use; fewer if negative."""
    before = nodes.first[k] + nodes.busy[k]
    nodes.busy[k] += more
    _add(above, 0, 0, nodes.dynamic[before + more])
    _add(above, 0, 0, -nodes.dynamic[before])
    _add(below, 0, 0, (nodes.base[before + more] - nodes.base[before]) * nodes.procs[k])


@compiled(slow="the energy bill", seconds=1.6)
def walk(
    jobs: Any, rows: Any, nodes: Any, rates: Any, steps: Any, last: float, sums: Any
) -> tuple[int, int]:
    """Go through the instants in order; at each, ends come first, then starts, then the rate.

    Parameters
    ----------
    jobs, rows, nodes : see their classes; joules, shares and accounts are filled in.
    rates : epochs, and the factor of the dynamic part from each on.
    steps : room for the time and watts of each instant.
    last : the last end, s.
    sums : zeros (3 x 1 x 2): the integral of the rate factor, the W above the base at rate 1, and
        the W of the base less that of idle nodes.

    Returns
    -------
    The number of steps; and `ALL_FIT`, or the row that takes more than its node has.
    """
    clock, above, below = sums[0], sums[1], sums[2]
    account = nodes.account
    static = 0.0
    now = rates[0, 0]
    for k in range(len(nodes.procs)):
        static += nodes.base[nodes.first[k]] * nodes.procs[k]
        account[k, _TIME] = now
    factor = rates[1, 0]
    epoch, started, ended, made = 1, 0, 0, 0
    count = len(jobs.by_start)
    while True:
        while ended < started and jobs.end[jobs.by_end[ended]] <= now:
            j = jobs.by_end[ended]
            ended += 1
            spent = 0.0
            for r in range(jobs.first_row[j], jobs.first_row[j + 1]):
                k = rows.node[r]
                _settle(nodes, k, now, clock)
                share = (account[k, _SHARE] - rows.share[r]) + (
                    account[k, _SHARE + 1] - rows.share_rest[r]
                )
                used = rows.procs[r] * share
                spent += used
                rows.share[r] = used  # Nobody needs the clock of a row that has ended.
                _add(account, k, BUSY, used)
                _change(nodes, k, -rows.procs[r], above, below)
            jobs.joules[j] = spent
        if ended == started:  # exactly idle, whatever rounding left
            above[:] = 0.0
            below[:] = 0.0
        while started < count and jobs.start[jobs.by_start[started]] <= now:
            j = jobs.by_start[started]
            started += 1
            for r in range(jobs.first_row[j], jobs.first_row[j + 1]):
                k = rows.node[r]
                _settle(nodes, k, now, clock)
                if nodes.busy[k] + rows.procs[r] > nodes.procs[k]:
                    return made, r
                rows.share[r] = account[k, _SHARE]
                rows.share_rest[r] = account[k, _SHARE + 1]
                _change(nodes, k, rows.procs[r], above, below)
        while epoch < rates.shape[1] and rates[0, epoch] <= now:
            factor = rates[1, epoch]
            epoch += 1
        steps[0, made] = now
        base = static + (below[0, 0] + below[0, 1])
        steps[1, made] = base + (above[0, 0] + above[0, 1]) * factor
        made += 1
        if now >= last:
            break
        soon = last
        if ended < started:
            soon = min(soon, jobs.end[jobs.by_end[ended]])
        if started < count:
            soon = min(soon, jobs.start[jobs.by_start[started]])
        if epoch < rates.shape[1]:
            soon = min(soon, rates[0, epoch])
        _add(clock, 0, 0, (soon - now) * factor)
        now = soon
    for k in range(len(nodes.procs)):
        _settle(nodes, k, now, clock)
    return made, ALL_FIT
