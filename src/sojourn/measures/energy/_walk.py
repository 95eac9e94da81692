"""The compiled walk through the instants of a run on nodes: who draws what from when to when."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...jit import compiled, inlined

ALL_FIT = -1

# Of places that are whole numbers without a sign, a kernel need not see whether they count from
# the end.
_place: Any = np.uintp

# Columns of the account of a node. Sums are pairs: the sum, and after it what rounding dropped.
_SHARE, IDLE, BUSY, _CLOCK, _TIME = 0, 2, 4, 6, 8
ACCOUNT = 9

# Columns of the watts of a node with so many processors in use: of each processor, whatever the
# rate; at rate 1 of each busy one beside that, and of all of these; of all idle ones.
BASE, ABOVE, DYNAMIC, UNUSED = 0, 1, 2, 3


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
    """Columns by node; ``watts[first[k] + b]`` is that of node k with b in use, see `WATTS`."""

    procs: Ints
    busy: Ints
    first: Ints
    watts: Floats
    account: Floats  # nodes x ACCOUNT


@inlined
def _plus(total: float, rest: float, value: float) -> tuple[float, float]:
    """Add to a sum, and to what rounding dropped from it (two-sum).

    A plain sum over millions of short stretches would lose more than the bill may be off by.
    """
    after = total + value
    part = after - total
    return after, rest + ((total - (after - part)) + (value - part))


@inlined
def _add(cells: Any, k: int, at: int, value: float) -> None:
    """As `_plus`, to the sum at `cells[k, at]`, beside which is what rounding dropped."""
    cells[k, at], cells[k, at + 1] = _plus(cells[k, at], cells[k, at + 1], value)


@inlined
def _settle(nodes: Any, k: int, now: float, clock: float, clock_rest: float) -> None:
    """Bring the account of node k up to `now`."""
    account, watts = nodes.account, nodes.watts
    lapse = now - account[k, _TIME]
    if lapse <= 0:
        return
    busy = nodes.busy[k]
    at = _place(nodes.first[k] + busy)
    if busy > 0:
        scaled = (clock - account[k, _CLOCK]) + (clock_rest - account[k, _CLOCK + 1])
        _add(account, k, _SHARE, watts[at, BASE] * lapse + watts[at, ABOVE] * scaled)
    if watts[at, UNUSED] > 0:
        _add(account, k, IDLE, watts[at, UNUSED] * lapse)
    account[k, _TIME] = now
    account[k, _CLOCK] = clock
    account[k, _CLOCK + 1] = clock_rest


@compiled(slow="the energy bill", seconds=1.6)
def walk(jobs: Any, rows: Any, nodes: Any, rates: Any, steps: Any, last: float) -> tuple[int, Any]:
    """Go through the instants in order; at each, ends come first, then starts, then the rate.

    Parameters
    ----------
    jobs, rows, nodes : see their classes; joules, shares and accounts are filled in.
    rates : epochs, and the factor of the dynamic part from each on.
    steps : room for the time and watts of each instant.
    last : the last end, s.

    Returns
    -------
    The number of steps; and `ALL_FIT`, or the row that takes more than its node has.
    """
    account, watts = nodes.account, nodes.watts
    # The integral of the rate factor, the W above the base at rate 1, and the W of the base less
    # that of idle nodes.
    clock, clock_rest, above, above_rest, below, below_rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    static = 0.0
    now = rates[0, 0]
    for k in range(len(nodes.procs)):
        static += watts[nodes.first[k], BASE] * nodes.procs[k]
        account[k, _TIME] = now
    factor = rates[1, 0]
    epoch, started, ended, made = 1, 0, 0, 0
    count = len(jobs.by_start)
    while True:
        while ended < started and jobs.end[jobs.by_end[ended]] <= now:
            j = jobs.by_end[ended]
            ended += 1
            spent = 0.0
            for r in range(_place(jobs.first_row[j]), _place(jobs.first_row[j + 1])):
                k = _place(rows.node[r])
                _settle(nodes, k, now, clock, clock_rest)
                share = (account[k, _SHARE] - rows.share[r]) + (
                    account[k, _SHARE + 1] - rows.share_rest[r]
                )
                used = rows.procs[r] * share
                spent += used
                rows.share[r] = used  # Nobody needs the clock of a row that has ended.
                _add(account, k, BUSY, used)
                before = _place(nodes.first[k] + nodes.busy[k])
                nodes.busy[k] -= rows.procs[r]
                after = _place(nodes.first[k] + nodes.busy[k])
                above, above_rest = _plus(above, above_rest, watts[after, DYNAMIC])
                above, above_rest = _plus(above, above_rest, -watts[before, DYNAMIC])
                if watts[after, BASE] != watts[before, BASE]:
                    more = (watts[after, BASE] - watts[before, BASE]) * nodes.procs[k]
                    below, below_rest = _plus(below, below_rest, more)
            jobs.joules[j] = spent
        if ended == started:  # exactly idle, whatever rounding left
            above, above_rest, below, below_rest = 0.0, 0.0, 0.0, 0.0
        while started < count and jobs.start[jobs.by_start[started]] <= now:
            j = jobs.by_start[started]
            started += 1
            for r in range(_place(jobs.first_row[j]), _place(jobs.first_row[j + 1])):
                k = _place(rows.node[r])
                _settle(nodes, k, now, clock, clock_rest)
                if nodes.busy[k] + rows.procs[r] > nodes.procs[k]:
                    return made, np.int64(r)
                rows.share[r] = account[k, _SHARE]
                rows.share_rest[r] = account[k, _SHARE + 1]
                before = _place(nodes.first[k] + nodes.busy[k])
                nodes.busy[k] += rows.procs[r]
                after = _place(nodes.first[k] + nodes.busy[k])
                above, above_rest = _plus(above, above_rest, watts[after, DYNAMIC])
                above, above_rest = _plus(above, above_rest, -watts[before, DYNAMIC])
                if watts[after, BASE] != watts[before, BASE]:
                    more = (watts[after, BASE] - watts[before, BASE]) * nodes.procs[k]
                    below, below_rest = _plus(below, below_rest, more)
        while epoch < rates.shape[1] and rates[0, epoch] <= now:
            factor = rates[1, epoch]
            epoch += 1
        steps[0, made] = now
        base = static + (below + below_rest)
        steps[1, made] = base + (above + above_rest) * factor
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
        clock, clock_rest = _plus(clock, clock_rest, (soon - now) * factor)
        now = soon
    for k in range(len(nodes.procs)):
        _settle(nodes, k, now, clock, clock_rest)
    return made, ALL_FIT
