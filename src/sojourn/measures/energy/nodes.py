"""The energy of named nodes, which jobs may share.

A node with b of its c processors in use draws P(b) at rate 1: its measured curve at load b/c, with
straight lines between the levels; at rate R it draws B + D * R**exponent, where the base is
B = min(P(0), P(b)) and the dynamic part D = P(b) - B. Each processor, busy or idle, costs B/c; the
b busy ones share the dynamic part equally. So jobs and idle processors together pay for the power
of all nodes, and none of them less than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats, Ints
from ...errors import RunError
from .. import formulas
from ._checks import check, check_epochs, check_stretches, is_known, own
from ._merge import BilledStates, Changes, Steps, merge
from ._walk import (
    ABOVE,
    ACCOUNT,
    ALL_FIT,
    BASE,
    BUSY,
    DYNAMIC,
    IDLE,
    UNUSED,
    BilledJobs,
    BilledNodes,
    BilledRows,
    walk,
)

_LEVELS = 11


class Bill(NamedTuple):
    """The energy of a run on nodes, from the first epoch to the last end.

    ``job_joules.sum() + node_idle_joules.sum()`` is the integral of the steps.
    """

    job_joules: Floats  # per job
    row_joules: Floats  # per row: what the job used on that node
    node_busy_joules: Floats  # per node: what its jobs used there
    node_idle_joules: Floats  # per node: what its idle processors used
    step_time: Floats  # s; each instant at which a job or a rate could change
    step_watts: Floats  # W of the whole cluster from then on


class OtherStates(NamedTuple):
    """Stretches in which nodes are not on, by the instants at which they begin and end."""

    node: Ints
    time: Floats  # s; instants, of which some may be of no stretch
    begin: NDArray[np.integer]  # place among the instants
    end: NDArray[np.integer]
    watts: Floats  # that the node draws in place of idle ones


def watts_by_busy(procs: Ints, curves: Floats) -> tuple[Floats, Ints]:
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


def _watts_table(procs: Ints, curves: Floats) -> tuple[Floats, Ints]:
    """Watts of each node by the number of its processors in use, in the columns of the walk.

    Parameters
    ----------
    procs, curves : as of `watts_by_busy`.

    Returns
    -------
    The watts, and where those of each node begin: those of nodes that are all alike, once.
    """
    alike = len(procs) > 0 and (procs == procs[0]).all() and (curves == curves[0]).all()
    some = slice(1) if alike else slice(None)
    count, idle = procs[some], curves[some, 0]
    watts, first = watts_by_busy(count, curves[some])
    busy = np.arange(len(watts)) - np.repeat(first, count + 1)
    base = np.minimum(watts, np.repeat(idle, count + 1))
    table = np.empty((len(watts), 4))
    table[:, BASE] = base / np.repeat(count, count + 1)
    table[:, DYNAMIC] = watts - base
    table[:, ABOVE] = table[:, DYNAMIC] / np.maximum(busy, 1)
    table[:, UNUSED] = (np.repeat(count, count + 1) - busy) * table[:, BASE]
    return table, np.zeros(len(procs), dtype=np.int64) if alike else first


def _check_nodes(first: Ints, rows: BilledRows, procs: Ints, curves: Floats) -> None:
    check((procs >= 1).all(), "a node without processors")
    shape = (len(procs), _LEVELS)
    check(curves.shape == shape, f"curves of shape {curves.shape}; give {shape} watts")
    check(is_known(curves), "watts must be numbers of at least 0")
    leads = first[0] == 0 and first[-1] == len(rows.node) == len(rows.procs)
    check(leads and (np.diff(first) >= 0).all(), "first_row must lead from 0 to the rows' number")
    if len(rows.node):
        low, high = rows.node.min(), rows.node.max()
        check(low >= 0 and high < len(procs), f"a row names node {low if low < 0 else high}")
        check(rows.procs.min() >= 0, "a row with a negative number of processors")


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
    epoch, speed = own(epochs, np.float64), own(rates, np.float64)
    begin, stop = own(start, np.float64), own(end, np.float64)
    count, curve = own(procs, np.int64), own(curves, np.float64)
    check_epochs(epoch, speed, "rates")
    check_stretches(begin, stop, epoch)
    by_start, by_end = (np.argsort(column, kind="stable") for column in (begin, stop))
    lasting = stop > begin
    if not lasting.all():
        by_start, by_end = by_start[lasting[by_start]], by_end[lasting[by_end]]
    jobs = BilledJobs(begin, stop, by_start, by_end, own(first_row, np.int64), np.zeros(len(begin)))
    node = own(row_node, np.int64)
    rows = BilledRows(node, own(row_procs, np.int64), np.zeros(len(node)), np.empty(len(node)))
    check(len(jobs.first_row) == len(begin) + 1, "first_row needs one entry more than jobs")
    _check_nodes(jobs.first_row, rows, count, curve)
    table, first = _watts_table(count, curve)
    busy, account = np.zeros_like(count), np.zeros((len(count), ACCOUNT))
    nodes = BilledNodes(procs=count, busy=busy, first=first, watts=table, account=account)
    steps = np.empty((2, 2 * len(by_start) + len(epoch) + 1))
    last = float(stop.max(initial=max(epoch[0], until)))
    made, overfull = walk(jobs, rows, nodes, np.stack([epoch, speed**exponent]), steps, last)
    if overfull != ALL_FIT:
        j, k = np.searchsorted(jobs.first_row, overfull, side="right") - 1, node[overfull]
        raise RunError(
            f"energy bill: with job {j} more than the {count[k]} processors of node {k} are in "
            f"use at {begin[j]:g} s; please report this as a bug"
        )
    return Bill(
        job_joules=jobs.joules,
        row_joules=rows.share,
        node_busy_joules=nodes.account[:, BUSY : BUSY + 2].sum(axis=1),
        node_idle_joules=nodes.account[:, IDLE : IDLE + 2].sum(axis=1),
        step_time=steps[0, :made].copy(),
        step_watts=steps[1, :made].copy(),
    )


def bill_domains(
    start: ArrayLike,
    end: ArrayLike,
    first_row: ArrayLike,
    row_node: ArrayLike,
    row_procs: ArrayLike,
    procs: ArrayLike,
    curves: ArrayLike,
    domain: ArrayLike,
    rates: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    until: float = -np.inf,
) -> Bill:
    """As `bill_nodes`, where nodes in several domains have rates of their own.

    Parameters
    ----------
    start, end, first_row, row_node, row_procs, procs, curves, until : as of `bill_nodes`.
    domain : of each node.
    rates : by domain, epochs (s) and the service rate from each on; all begin with the same one.
    """
    first, node = own(first_row, np.int64), own(row_node, np.int64)
    taken, count = own(row_procs, np.int64), own(procs, np.int64)
    curve, where = own(curves, np.float64), own(domain, np.int64)
    joules, of_rows = np.zeros(len(own(start, np.float64))), np.zeros(len(node))
    accounts = np.zeros((2, len(count)))
    steps = []
    for d, (epochs, speed) in enumerate(rates):
        members = np.flatnonzero(where == d)
        if not len(members):
            continue
        place = np.full(len(count), -1)
        place[members] = np.arange(len(members))
        mine = where[node] == d
        rows = np.concatenate([[0], np.cumsum(mine)])[first]
        part = bill_nodes(
            start,
            end,
            rows,
            place[node[mine]],
            taken[mine],
            count[members],
            curve[members],
            epochs,
            speed,
            until=until,
        )
        joules += part.job_joules
        of_rows[mine] = part.row_joules
        accounts[0, members], accounts[1, members] = part.node_busy_joules, part.node_idle_joules
        steps.append((part.step_time, part.step_watts))
    time = np.unique(np.concatenate([at for at, _ in steps]))
    watts = sum(drawn[np.searchsorted(at, time, side="right") - 1] for at, drawn in steps)
    return Bill(joules, of_rows, accounts[0], accounts[1], time, np.asarray(watts))


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
    return in_other_states(bill, node, begin, end, 0.0, idle_watts)[0]


def in_other_states(
    bill: Bill,
    node: ArrayLike,
    begin: ArrayLike,
    end: ArrayLike,
    watts: ArrayLike,
    idle_watts: ArrayLike,
) -> tuple[Bill, Floats]:
    """Return a bill of nodes that are not on all the time, and what they use in other states.

    Parameters
    ----------
    bill : of nodes that are on all the time, none of them in use in the stretches below.
    node, begin, end, watts : stretches in which a node is in another state: from when to when (s),
        and the W that it draws in place of idle ones.
    idle_watts : W of each whole node, idle.

    Returns
    -------
    The bill, with idle energy of nodes that are on, and the power of all nodes in its steps; and
    the joules of each stretch.
    """
    since, to = own(begin, np.float64), own(end, np.float64)
    time, places = np.unique(np.concatenate([since, to]), return_inverse=True)
    drawn = np.broadcast_to(np.asarray(watts, dtype=np.float64), since.shape)
    which = own(node, np.int64)
    states = OtherStates(which, time, places[: len(since)], places[len(since) :], drawn)
    return with_states(bill, states, idle_watts)


def with_states(bill: Bill, states: OtherStates, idle_watts: ArrayLike) -> tuple[Bill, Floats]:
    """As `in_other_states`, of stretches that need not be sorted by time."""
    idle, node = own(idle_watts, np.float64), own(states.node, np.int64)
    known = not len(node) or (node.min() >= 0 and node.max() < len(idle))
    check(known, "a stretch in another state names a node that is not there")
    instants = np.clip(states.time, bill.step_time[0], bill.step_time[-1])
    time, place = _numbered(instants)
    stretches = BilledStates(
        node,
        own(states.begin, np.int32),
        own(states.end, np.int32),
        place.astype(np.int32),
        own(states.watts, np.float64),
        np.empty(len(node)),
    )
    steps = Steps(own(bill.step_time, np.float64), own(bill.step_watts, np.float64))
    most = len(bill.step_time) + len(time)
    merged = Steps(np.empty(most), np.empty(most))
    changes = Changes(time, np.zeros(len(time)), np.zeros(len(time), dtype=np.bool_))
    saved = np.zeros(len(bill.node_idle_joules))
    made = merge(steps, stretches, changes, idle, saved, merged)
    after = bill._replace(
        node_idle_joules=bill.node_idle_joules - saved,
        step_time=merged.time[:made].copy(),
        step_watts=merged.value[:made].copy(),
    )
    return after, stretches.joules


def _numbered(time: Floats) -> tuple[Floats, Ints]:
    """Return the different instants in order, and which of these each is."""
    if not (time[1:] >= time[:-1]).all():
        times, places = np.unique(time, return_inverse=True)
        return times, places
    new = np.ones(len(time), dtype=np.bool_)
    np.greater(time[1:], time[:-1], out=new[1:])
    return time[new], np.cumsum(new) - 1


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
    return formulas.sum_by_job(job, drawn, len(lapse)) * lapse
