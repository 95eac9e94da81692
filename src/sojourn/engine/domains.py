"""Domains: sets of nodes with a rate of their own, and controls that look at what concerns them.

The work clock is time here: the rate of a domain divides the slowness of its nodes, and when it
changes, what is left of the jobs on them is stretched or shortened. Where all servers have one
rate, all of this is None. See `docs/background/domains`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import called, inlined
from .heap import heap_pop, make_heap
from .state import table
from .types import ARRIVE, FINISH, SWITCH, SystemView

_SLOWNESS, _SPEED = 1, 4
"""Rows of `Nodes.real`: slownesses at rate 1, and those of now, the largest first."""

DOMAIN = np.dtype(
    [(name, "f8") for name in ("rate", "load", "slope", "switch_at", "switch_level")]
    + [(name, "i8") for name in ("present", "running", "busy", "servers", "event")]
    + [(name, "i8") for name in ("first", "cursor", "theta", "last")],
    align=True,
)
"""Of a domain: its rate; of the jobs that may run there the unfinished work (s at rate 1), how fast
it falls, when and where it falls to a level at which the control is asked, how many are there and
in service; processors of it in use, and there; the event that its control has not seen yet. Its
nodes begin at `first` in `Domains.order`; `theta` to `last` are the parameters of its control. The
last domain has the nodes of no other, and rate 1."""

SHARE = np.dtype(
    [(name, "f8") for name in ("pace", "since", "done", "ratio")] + [("may", "i8")], align=True
)
"""Of a job: how fast it runs, 1 being the speed of its nodes at rate 1; since when (s), and what it
had done by then (s at rate 1); by how much what is left of it is stretched; the domains in which it
may run, as bits."""


class DomainFacts(NamedTuple):
    """What never changes during a run.

    Parameters
    ----------
    node : the domain of each node; behind the last, of nodes in none.
    may : the domains in which each job may run, as bits.
    rates : of each domain at first.
    theta : where the parameters of each control begin in those of all, and the end.
    """

    node: NDArray[np.int64]
    may: NDArray[np.int64]
    rates: NDArray[np.float64]
    theta: NDArray[np.int64]


class Domains(NamedTuple):
    """The tables: `order` has the nodes by domain, in each the fastest first; `node` their domain.

    `key` and `who` are scratch, to put running jobs in order.
    """

    domain: np.ndarray
    job: np.ndarray
    node: np.ndarray
    order: np.ndarray
    key: np.ndarray
    who: np.ndarray


def make_domains(facts: DomainFacts, slowness: NDArray[np.float64], most: int) -> Domains:
    """Return the domains before the first job; at the `most` so many jobs run."""
    number = len(facts.rates)
    domain = table(number + 1, DOMAIN)
    domain["rate"][:number], domain["rate"][number] = facts.rates, 1.0
    domain["switch_at"] = np.inf
    domain["theta"][:number], domain["last"][:number] = facts.theta[:-1], facts.theta[1:]
    order = np.lexsort((slowness, facts.node)).astype(np.int64)
    domain["first"] = np.searchsorted(facts.node[order], np.arange(number + 1))
    job = table(len(facts.may), SHARE)
    job["may"], job["pace"] = facts.may, 1.0
    nodes = np.ascontiguousarray(facts.node, np.int64)
    return Domains(domain, job, nodes, order, np.zeros(most + 1), np.zeros(most + 1, np.int64))


def no_domains() -> DomainFacts:
    """Return a domain of one node without jobs: the example whose type fixes signatures."""
    nobody = np.zeros(0, np.int64)
    return DomainFacts(np.zeros(1, np.int64), nobody, np.ones(1), np.zeros(2, np.int64))


@inlined
def _next_fastest(s, nodes, domains):
    """The fastest node that is not ranked yet."""
    best = np.int64(-1)
    last = domains.domain.shape[0] - 1
    for d in range(last + 1):
        at = domains.domain[d].cursor
        end = s.nodes if d == last else domains.domain[d + 1].first
        if at < end:
            if (
                best < 0
                or nodes.node[domains.order[at]].slowness
                < nodes.node[domains.order[domains.domain[best].cursor]].slowness
            ):
                best = np.int64(d)
    node = domains.order[domains.domain[best].cursor]
    domains.domain[best].cursor += 1
    return node


@called
def set_speeds(s, nodes, domains):
    """Let nodes, pools and the ranking by speed know how fast everybody is now."""
    if domains is not None:
        for node in range(s.nodes):
            rate = domains.domain[domains.node[node]].rate
            nodes.node[node].slowness = nodes.real[_SLOWNESS, node] / rate
        for q in range(s.pools):
            nodes.pool[q].slowness = nodes.node[nodes.node[nodes.pool[q].first].order].slowness
        for d in range(domains.domain.shape[0]):
            domains.domain[d].cursor = domains.domain[d].first
        s.speeds = 0
        for rank in range(s.nodes):
            node = _next_fastest(s, nodes, domains)
            slowness = nodes.node[node].slowness
            nodes.node[node].speed_rank = rank
            nodes.node[rank].ranked = slowness
            if s.speeds == 0 or nodes.real[_SPEED, s.speeds - 1] != slowness:
                nodes.real[_SPEED, s.speeds] = slowness
                s.speeds += 1
        for i in range(s.speeds // 2):
            fast, slow = nodes.real[_SPEED, i], nodes.real[_SPEED, s.speeds - 1 - i]
            nodes.real[_SPEED, i], nodes.real[_SPEED, s.speeds - 1 - i] = slow, fast
        for rank in range(s.nodes + 1):
            nodes.node[rank].speed_tally = 0
        if s.speeds > 1:
            for node in range(s.nodes):
                i = nodes.node[node].speed_rank + 1
                while i <= s.nodes:
                    nodes.node[i].speed_tally += nodes.node[node].free
                    i += i & -i


@inlined
def shift_servers(domains, node, procs):
    """So many processors of a node are there, or not any more."""
    if domains is not None:
        domains.domain[domains.node[node]].servers += procs


@inlined
def _slowness_of(nodes, domains, j, at_rate_1):
    """Slowness of the nodes that a job has, now or at rate 1."""
    slowness = 0.0
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        node = nodes.given[0, i]
        own = nodes.real[_SLOWNESS, node] if at_rate_1 else nodes.node[node].slowness
        slowness = max(slowness, own)
    return slowness


@inlined
def _use(s, nodes, domains, j, sign):
    """The processors of a job come into use in their domains, or out of it."""
    first = nodes.job[j].row
    for i in range(first, first + nodes.job[j].rows):
        node = nodes.given[0, i]
        procs = nodes.given[1, i]
        if s.vectors == 1:
            procs *= nodes.ask[0, 0, j]
            if nodes.job[j].whole == 1:
                procs = nodes.node[node].procs
        domains.domain[domains.node[node]].busy += sign * procs
    for d in range(domains.domain.shape[0] - 1):
        if (domains.job[j].may >> d) & 1:
            domains.domain[d].running += sign


@called
def begin_in_domains(s, nodes, domains, calendar, j, work, amount):
    """Job `j` has started, with `work` on the reference processor; its `amount` at rate 1.

    Boots are no work: at its pace they take as long as they do.
    """
    if domains is None:
        return amount
    it = domains.job[j]
    own = _slowness_of(nodes, domains, j, True)
    it.pace = own / nodes.job[j].slowness
    it.since, it.done = s.now, 0.0
    nodes.job[j].slowness = own
    amount = work * own
    if s.sleeps == 1:
        nodes.job[j].boot *= it.pace
        amount += nodes.job[j].boot
    if calendar is not None:
        calendar.job[j].amount = amount
    _use(s, nodes, domains, j, 1)
    change_load(domains, j, amount - work)
    return amount


@inlined
def leave_service(s, nodes, domains, j):
    """Job `j` is in service no longer."""
    if domains is not None:
        _use(s, nodes, domains, j, -1)


@inlined
def worked_since(s, domains, j, worked):
    """Work at rate 1 that a running job has done since it started, which is `worked` seconds."""
    if domains is None:
        return worked
    return domains.job[j].done + (s.now - domains.job[j].since) * domains.job[j].pace


@called
def change_load(domains, j, more):
    """What job `j` has before it (s at rate 1) has become more."""
    if domains is not None:
        for d in range(domains.domain.shape[0] - 1):
            if (domains.job[j].may >> d) & 1:
                domains.domain[d].load += more


@called
def come_to_domains(domains, j, event, work):
    """Job `j` comes, or is struck and waits again with `work` more before it."""
    if domains is not None:
        for d in range(domains.domain.shape[0] - 1):
            if (domains.job[j].may >> d) & 1:
                domains.domain[d].load += work
                domains.domain[d].event = event
                if event == ARRIVE:
                    domains.domain[d].present += 1


@called
def leave_domains(domains, j, left):
    """Job `j` departs, with so much work before it (s at rate 1)."""
    if domains is not None:
        for d in range(domains.domain.shape[0] - 1):
            if (domains.job[j].may >> d) & 1:
                domains.domain[d].present -= 1
                domains.domain[d].load -= left
                domains.domain[d].event = FINISH
                if domains.domain[d].present == 0:
                    domains.domain[d].load = 0.0


@inlined
def let_domains_fall(s, domains, at):
    """Unfinished work falls until `at`; where a timer is due, to its level."""
    lapse = at - s.now
    for d in range(domains.domain.shape[0] - 1):
        it = domains.domain[d]
        it.load -= it.slope * lapse
        if it.switch_at <= at:
            it.load = it.switch_level


@inlined
def _view(domains, d, event, before, coin):
    it = domains.domain[d]
    waiting = it.present - it.running
    return SystemView(
        event, before, it.present, waiting, it.busy, it.servers, it.load, it.rate, coin
    )


@inlined
def _in_service(s, run, i):
    return run.plan[i] if s.plans == 1 else run.finish_job[i]


@called
def _stretch(s, run, nodes, domains, calendar):
    """Let all who run know how fast they are now, and when they end."""
    changed = False
    for i in range(s.running):
        j = _in_service(s, run, i)
        it = domains.job[j]
        pace = nodes.job[j].slowness / _slowness_of(nodes, domains, j, False)
        it.ratio = it.pace / pace
        if it.ratio == 1.0:
            continue
        changed = True
        it.done += (s.now - it.since) * it.pace
        it.since = s.now
        boot = 0.0
        if s.sleeps == 1 and nodes.job[j].up > s.now:
            # Which takes as long as before, and so more work or less.
            boot = nodes.job[j].up - s.now
            more = (pace - it.pace) * boot
            nodes.job[j].boot += more
            s.load += more
            change_load(domains, j, more)
            if calendar is not None:
                calendar.job[j].amount += more
        it.pace = pace
        if s.plans == 1 and run.planned[j] > s.work + boot:
            rest = run.planned[j] - s.work - boot
            run.planned[j] = s.work + boot + rest * it.ratio
    if not changed:
        return
    if s.exact == 0:
        for k in range(s.running):
            j = run.finish_job[k]
            boot = 0.0
            if s.sleeps == 1:
                boot = max(nodes.job[j].up - s.now, 0.0)
            rest = run.finish_key[k] - s.work - boot
            if domains.job[j].ratio != 1.0 and rest > 0.0:
                run.finish_key[k] = s.work + boot + rest * domains.job[j].ratio
        make_heap(run.finish_key, run.finish_job, s.running)
    if s.plans == 1:
        for i in range(s.running):
            domains.who[i] = run.plan[i]
            domains.key[i] = run.planned[run.plan[i]]
        make_heap(domains.key, domains.who, s.running)
        for i in range(s.running - 1, -1, -1):
            run.plan[i] = domains.who[0]
            heap_pop(domains.key, domains.who, i + 1)


@called
def _change_rate(s, run, recording, nodes, domains, calendar, d, rate):
    """A domain has another rate from now on: whatever was planned is planned anew."""
    domains.domain[d].rate = rate
    set_speeds(s, nodes, domains)
    _stretch(s, run, nodes, domains, calendar)
    s.shadow_known = 0
    s.reserved_for = -1
    s.stale = 1
    s.switched = 1
    recording.epoch[s.epochs].time = s.now
    recording.epoch[s.epochs].rate = rate
    recording.epoch[s.epochs].domain = d
    s.epochs += 1


@inlined
def steer_domains(s, run, recording, nodes, domains, calendar, control, timed):
    """Ask the controls that an event concerns; `timed`: it is a timer that is due."""
    for d in range(domains.domain.shape[0] - 1):
        it = domains.domain[d]
        event = it.event
        if timed and event == 0 and it.switch_at <= s.now:
            event = SWITCH
        if event == 0:
            continue
        it.event = 0
        it.switch_at = np.inf
        before = it.present
        if event == ARRIVE:
            before -= 1
        elif event == FINISH:
            before += 1
        coin = 0.0
        if event != SWITCH:
            if s.events < recording.coins.shape[0]:
                coin = recording.coins[s.events]
            s.events += 1
        law = control.law[d]
        theta = control.theta[it.theta : it.last]
        rate = law(_view(domains, d, event, before, coin), s.now, theta)
        if rate != it.rate:
            _change_rate(s, run, recording, nodes, domains, calendar, d, rate)


@called
def _measure_flow(s, run, domains):
    """How much work is done per second, how much could be, and how fast unfinished work falls."""
    s.flow = s.slope = s.most_flow = 0.0
    last = domains.domain.shape[0] - 1
    for d in range(last + 1):
        it = domains.domain[d]
        it.slope = 0.0
        s.most_flow += it.rate * it.servers
    for i in range(s.running):
        j = _in_service(s, run, i)
        pace, may = domains.job[j].pace, domains.job[j].may
        s.flow += pace * run.held[j]
        s.slope += pace
        d = 0
        while may > 0:
            if may & 1:
                domains.domain[d].slope += pace
            may >>= 1
            d += 1


@inlined
def settle_domains(s, run, domains, control):
    """After a pass: set the timers of all controls; one that is due and was not asked stays so."""
    s.switched = 0
    _measure_flow(s, run, domains)
    if s.timed == 1:
        s.switch_at = np.inf
        for d in range(domains.domain.shape[0] - 1):
            it = domains.domain[d]
            if it.switch_at > s.now:
                it.switch_at = np.inf
                if it.slope > 0.0:
                    wake = control.wake[d]
                    theta = control.theta[it.theta : it.last]
                    level = wake(_view(domains, d, SWITCH, it.present, 0.0), s.now, theta)
                    if it.load > level:
                        it.switch_level = level
                        it.switch_at = s.now + (it.load - level) / it.slope
            s.switch_at = min(s.switch_at, it.switch_at)
