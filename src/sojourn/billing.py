"""The energy bill: what each job used, what idle processors used, and the power over time.

Nodes may be shared. A node with b of its c processors in use draws P(b): its measured curve at
load b/c, with straight lines between the levels. Each processor, busy or idle, costs the idle
share P(0)/c; the dynamic part, P(b) - P(0), is split equally over the b busy ones and grows with
the rate as R**exponent. So jobs and idle processors together pay for the power of all nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import measures
from .errors import OptionError, RunError
from .jit import compiled, inlined

__all__ = ["Bill", "bill_nodes", "counted_steps", "peas_energy", "switched_off", "watts_by_busy"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LEVELS = 11
_ALL_FIT = -1

# Columns of the account of a node. Sums are pairs: the sum, and after it what rounding dropped.
_SHARE, _IDLE, _BUSY, _CLOCK, _TIME = 0, 2, 4, 6, 8
_ACCOUNT = 9


class Bill(NamedTuple):
    """The energy of a run on nodes, from the first epoch to the last end.

    ``job_joules.sum() + node_idle_joules.sum()`` is the integral of the steps.
    """

    job_joules: Floats  # per job
    node_busy_joules: Floats  # per node: what its jobs used there
    node_idle_joules: Floats  # per node: what its idle processors used
    step_time: Floats  # s; each instant at which a job or a rate could change
    step_watts: Floats  # W of the whole cluster from then on


class _Jobs(NamedTuple):
    """Columns by job, two orders in time, and the rows of each."""

    start: Floats
    end: Floats
    by_start: Integers  # without jobs that take no time
    by_end: Integers
    first_row: Integers
    joules: Floats


class _Rows(NamedTuple):
    """Processors in use by node; the share clock of the node when the job started, in two parts."""

    node: Integers
    procs: Integers
    share: Floats
    share_rest: Floats


class _Nodes(NamedTuple):
    """Columns by node; `dynamic[first[k] + b]` is the W above idle of node k with b in use."""

    procs: Integers
    busy: Integers
    idle_watts: Floats  # per processor
    first: Integers
    dynamic: Floats
    account: Floats  # nodes x _ACCOUNT


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
    if busy > 0:
        scaled = (clock[0, 0] - account[k, _CLOCK]) + (clock[0, 1] - account[k, _CLOCK + 1])
        above = nodes.dynamic[nodes.first[k] + busy] / busy
        _add(account, k, _SHARE, nodes.idle_watts[k] * lapse + above * scaled)
    _add(account, k, _IDLE, (nodes.procs[k] - busy) * lapse)
    account[k, _TIME] = now
    account[k, _CLOCK] = clock[0, 0]
    account[k, _CLOCK + 1] = clock[0, 1]


@inlined
def _change(nodes: Any, k: int, more: int, above: Any) -> None:
    """Let `more` processors of node k come into use; fewer if negative."""
    before = nodes.first[k] + nodes.busy[k]
    nodes.busy[k] += more
    _add(above, 0, 0, nodes.dynamic[before + more])
    _add(above, 0, 0, -nodes.dynamic[before])


@compiled()
def _walk(
    jobs: Any, rows: Any, nodes: Any, rates: Any, steps: Any, last: float, sums: Any
) -> tuple[int, int]:
    """Go through the instants in order; at each, ends come first, then starts, then the rate.

    Parameters
    ----------
    jobs, rows, nodes : see their classes; joules, shares and accounts are filled in.
    rates : epochs, and the factor of the dynamic part from each on.
    steps : room for the time and watts of each instant.
    last : the last end, s.
    sums : zeros (2 x 1 x 2): the integral of the rate factor, and the W above idle at rate 1.

    Returns
    -------
    The number of steps; and `_ALL_FIT`, or the row that takes more than its node has.
    """
    clock, above = sums[0], sums[1]
    account = nodes.account
    static = 0.0
    now = rates[0, 0]
    for k in range(len(nodes.procs)):
        static += nodes.idle_watts[k] * nodes.procs[k]
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
                _add(account, k, _BUSY, used)
                _change(nodes, k, -rows.procs[r], above)
            jobs.joules[j] = spent
        if ended == started:  # exactly idle, whatever rounding left
            above[0, 0], above[0, 1] = 0.0, 0.0
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
                _change(nodes, k, rows.procs[r], above)
        while epoch < rates.shape[1] and rates[0, epoch] <= now:
            factor = rates[1, epoch]
            epoch += 1
        steps[0, made] = now
        steps[1, made] = static + (above[0, 0] + above[0, 1]) * factor
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
    return made, _ALL_FIT


def watts_by_busy(procs: Integers, curves: Floats) -> tuple[Floats, Integers]:
    """Watts of each node by the number of its processors in use, one node after the other.

    Parameters
    ----------
    procs : processors of each node.
    curves : W of each node at active idle, 10 %, ..., 100 % load (nodes x 11).

    Returns
    -------
    The watts, and where those of each node begin: ``watts[first[k] + b]``. At the eleven levels
    they are those of the curve exactly.
    """
    first = np.concatenate([[0], np.cumsum(procs + 1)])
    node = np.repeat(np.arange(len(procs)), procs + 1)
    busy = np.arange(first[-1]) - first[node]
    # Whole numbers find the level, so that no rounding can miss one.
    level, beyond = np.divmod((_LEVELS - 1) * busy, procs[node])
    low = curves[node, level]
    high = curves[node, np.minimum(level + 1, _LEVELS - 1)]
    return np.where(beyond > 0, low + (high - low) * (beyond / procs[node]), low), first[:-1]


def _own(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array that kernels take: of one type, in one piece, not read-only."""
    return np.require(values, dtype=dtype, requirements=["C", "W"])


def _check(good: object, problem: str) -> None:
    if not good:
        raise OptionError(f"energy bill: {problem}")


def _known(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all())


def _check_epochs(epochs: Floats, values: Floats, what: str) -> None:
    _check(0 < len(epochs) == len(values), f"{len(epochs)} epochs but {len(values)} {what}")
    _check(np.isfinite(epochs).all() and (np.diff(epochs) > 0).all(), "epochs must increase")
    _check(_known(values), f"{what} must be numbers of at least 0")


def _check_stretches(start: Floats, end: Floats, epochs: Floats) -> None:
    _check(len(start) == len(end), f"{len(start)} starts but {len(end)} ends")
    finite = np.isfinite(start).all() and np.isfinite(end).all()
    _check(finite and (end >= start).all(), "every job needs a start, and an end not before it")
    _check((start >= epochs[0]).all(), f"a job starts before the first epoch, {epochs[0]:g} s")


def _check_nodes(first: Integers, rows: _Rows, procs: Integers, curves: Floats) -> None:
    _check((procs >= 1).all(), "a node without processors")
    shape = (len(procs), _LEVELS)
    _check(curves.shape == shape, f"curves of shape {curves.shape}; give {shape} watts")
    _check(_known(curves), "watts must be numbers of at least 0")
    leads = first[0] == 0 and first[-1] == len(rows.node) == len(rows.procs)
    _check(leads and (np.diff(first) >= 0).all(), "first_row must lead from 0 to the rows' number")
    if len(rows.node):
        low, high = rows.node.min(), rows.node.max()
        _check(low >= 0 and high < len(procs), f"a row names node {low if low < 0 else high}")
        _check(rows.procs.min() >= 0, "a row with a negative number of processors")


def bill_nodes(
    start: ArrayLike,
    end: ArrayLike,
    first_row: ArrayLike,
    row_node: ArrayLike,
    row_procs: ArrayLike,
    procs: ArrayLike,
    curves: ArrayLike,
    epochs: ArrayLike,
    rates: ArrayLike,
    exponent: float = 3.0,
    until: float = -np.inf,
) -> Bill:
    """Bill the energy of named nodes, which jobs may share.

    Parameters
    ----------
    start, end : of each job, s. A job that takes no time uses no energy.
    first_row : where the rows of each job begin, and at last their number: those of job j are
        ``first_row[j]:first_row[j + 1]``.
    row_node, row_procs : a node of the job, and the processors it has in use there.
    procs : processors of each node.
    curves : W of each node at active idle, 10 %, ..., 100 % load (nodes x 11).
    epochs, rates : the service rate from each epoch (s) on; the first is where the bill begins.
    exponent : the dynamic part of the power grows as this power of the rate.
    until : s; the bill goes on to there if no job ends later.

    Raises
    ------
    RunError
        If jobs have more processors of a node in use at a time than it has.
    """
    epoch, speed = _own(epochs, np.float64), _own(rates, np.float64)
    begin, stop = _own(start, np.float64), _own(end, np.float64)
    count, curve = _own(procs, np.int64), _own(curves, np.float64)
    _check_epochs(epoch, speed, "rates")
    _check_stretches(begin, stop, epoch)
    by_start, by_end = (np.argsort(column, kind="stable") for column in (begin, stop))
    lasting = stop > begin
    if not lasting.all():
        by_start, by_end = by_start[lasting[by_start]], by_end[lasting[by_end]]
    jobs = _Jobs(begin, stop, by_start, by_end, _own(first_row, np.int64), np.zeros(len(begin)))
    node = _own(row_node, np.int64)
    rows = _Rows(node, _own(row_procs, np.int64), np.empty(len(node)), np.empty(len(node)))
    _check(len(jobs.first_row) == len(begin) + 1, "first_row needs one entry more than jobs")
    _check_nodes(jobs.first_row, rows, count, curve)
    watts, first = watts_by_busy(count, curve)
    idle = curve[:, 0] / count
    nodes = _Nodes(
        procs=count,
        busy=np.zeros_like(count),
        idle_watts=idle,
        first=first,
        dynamic=watts - np.repeat(curve[:, 0], count + 1),
        account=np.zeros((len(count), _ACCOUNT)),
    )
    steps = np.empty((2, 2 * len(by_start) + len(epoch) + 1))
    last = float(stop.max(initial=max(epoch[0], until)))
    table = np.stack([epoch, speed**exponent])
    made, overfull = _walk(jobs, rows, nodes, table, steps, last, np.zeros((2, 1, 2)))
    if overfull != _ALL_FIT:
        j, k = np.searchsorted(jobs.first_row, overfull, side="right") - 1, node[overfull]
        raise RunError(
            f"energy bill: with job {j} more than the {count[k]} processors of node {k} are in "
            f"use at {begin[j]:g} s; please report this as a bug"
        )
    return Bill(
        job_joules=jobs.joules,
        node_busy_joules=nodes.account[:, _BUSY : _BUSY + 2].sum(axis=1),
        node_idle_joules=nodes.account[:, _IDLE : _IDLE + 2].sum(axis=1) * idle,
        step_time=steps[0, :made].copy(),
        step_watts=steps[1, :made].copy(),
    )


def peas_energy(
    start: ArrayLike,
    end: ArrayLike,
    first_row: ArrayLike,
    row_node: ArrayLike,
    row_procs: ArrayLike,
    watts: ArrayLike,
) -> Floats:
    """Energy of each job as the paper counts it, in joules [gomez2012, eq. 5].

    Watts at 100 % load times the simulated runtime, summed over the processors of the job; power
    of idle processors, and that a part load draws more per processor, are left out (errata 1).

    Parameters
    ----------
    start, end, first_row, row_node, row_procs : as for `bill_nodes`.
    watts : W of one processor of each node at 100 % load.
    """
    first = np.asarray(first_row, dtype=np.int64)
    lapse = np.asarray(end, dtype=np.float64) - np.asarray(start, dtype=np.float64)
    drawn = np.asarray(row_procs) * np.asarray(watts, dtype=np.float64)[np.asarray(row_node)]
    job = np.repeat(np.arange(len(lapse)), np.diff(first))
    return measures.sum_by_job(job, drawn, len(lapse)) * lapse


def counted_steps(
    start: ArrayLike,
    stop: ArrayLike,
    procs: ArrayLike,
    servers: int,
    epochs: ArrayLike,
    busy_watts: ArrayLike,
    idle_watts: ArrayLike,
    *,
    until: float = -np.inf,
    gone: tuple[ArrayLike, ArrayLike] = ((), ()),
) -> tuple[Floats, Floats]:
    """Power over time of equal servers that are only counted [rumyantsev2018, eq. 11].

    Parameters
    ----------
    start, stop, procs : stretches of service, s, and the servers of each.
    servers : of the whole cluster.
    epochs : at which the rate changes, s; the first is where the bill begins.
    busy_watts, idle_watts : W of one server, busy and idle, from each epoch on.
    until : s; the steps go on to there if no stretch stops later.
    gone : instants (s), and how many servers are switched off from each on.

    Returns
    -------
    Instants (s), the last of them the last stop, and the W of the cluster from each on.
    """
    epoch = _own(epochs, np.float64)
    busy_power, idle_power = _own(busy_watts, np.float64), _own(idle_watts, np.float64)
    for watts, what in ((busy_power, "busy watts"), (idle_power, "idle watts")):
        _check_epochs(epoch, watts, what)
    begin, finish = _own(start, np.float64), _own(stop, np.float64)
    _check_stretches(begin, finish, epoch)
    width = _own(procs, np.int64)
    _check(len(width) == len(begin), f"{len(begin)} starts but {len(width)} widths")
    last = finish.max(initial=max(epoch[0], until))
    left, number = _own(gone[0], np.float64), _own(gone[1], np.int64)
    seen = left[(left > epoch[0]) & (left < last)]
    instants = np.concatenate([epoch[epoch <= last], [last], seen, begin, finish])
    time, at = np.unique(instants, return_inverse=True)
    change = np.zeros(len(time), dtype=np.int64)
    np.add.at(change, at[len(at) - 2 * len(begin) :], np.concatenate([width, -width]))
    busy = np.cumsum(change).astype(np.float64)
    off = np.append(number, 0)[np.searchsorted(left, time, side="right") - 1]
    over = busy - (servers - off)
    if over.max() > 0:
        at = over.argmax()
        raise RunError(
            f"energy bill: {busy[at]:g} of {servers - off[at]} servers are in use at "
            f"{time[at]:g} s; please report this as a bug"
        )
    now = np.searchsorted(epoch, time, side="right") - 1
    return time, measures.energy_rate(busy, busy_power[now], idle_power[now], servers - off)


def switched_off(
    bill: Bill, node: ArrayLike, begin: ArrayLike, end: ArrayLike, idle_watts: ArrayLike
) -> Bill:
    """Return a bill without the idle power of nodes while they are switched off.

    Parameters
    ----------
    bill : of nodes that are on all the time, none of them in use while it is off.
    node, begin, end : which node, and from when to when (s).
    idle_watts : W of each whole node, idle.
    """
    which = _own(node, np.int64)
    first, last = bill.step_time[0], bill.step_time[-1]
    since = np.clip(_own(begin, np.float64), first, last)
    to = np.clip(_own(end, np.float64), first, last)
    saved = _own(idle_watts, np.float64)[which]
    joules = np.bincount(which, weights=saved * (to - since), minlength=len(bill.node_idle_joules))
    time = np.unique(np.concatenate([bill.step_time, since, to]))
    watts = bill.step_watts[np.searchsorted(bill.step_time, time, side="right") - 1]
    for low, high, less in zip(since, to, saved, strict=True):
        watts[(time >= low) & (time < high)] -= less
    return bill._replace(
        node_idle_joules=bill.node_idle_joules - joules, step_time=time, step_watts=watts
    )
