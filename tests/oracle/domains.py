"""Domains: sets of nodes with rates of their own. Time is the work clock; switches stretch jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from .bill import Bill, watts_at
from .disciplines import _next_promise
from .dispatcher import Dispatcher, Scheduling
from .model import Control, Discipline, Event, Exact, Job, exact, ratio
from .named import NamedOutcome, why_never
from .nodes import Node, Partition, Request
from .placements import Placement, first_fit
from .pools import Machine
from .recursion import _Run

NOBODY = -1
"""The domain of nodes that are in none."""


@dataclass
class DomainOutcome:
    """What became of the jobs; of each domain, the time and the rate from each switch on."""

    named: NamedOutcome
    rates: list[list[tuple[Exact, Exact]]]


def simulate(
    jobs: Sequence[Request],
    nodes: Sequence[Node],
    domains: Sequence[int],
    controls: Sequence[Control],
    scheduling: Scheduling,
    placement: Placement = first_fit,
    coins: Sequence[float] = (),
    passes: str = "instant",
    partitions: Sequence[Partition] = (),
) -> DomainOutcome:
    """Run all jobs that can ever run to their end.

    `domains` has the domain of each node, or NOBODY; the other parameters as of the recursion.
    """
    if scheduling.blind and scheduling.backfill == "conservative":
        scheduling = scheduling._replace(backfill="easy", reservations=math.inf)
    reasons = [why_never(job, nodes, placement, partitions) for job in jobs]
    accepted = [i for i, reason in enumerate(reasons) if reason is None]
    asked = [jobs[i] for i in accepted]
    machine = Machine(
        nodes, placement, asked, scheduling.blind, partitions=partitions, domains=domains
    )
    dispatcher = _Dispatcher(machine, scheduling)
    wake = _next_promise if scheduling.backfill == "conservative" else lambda state: None
    run = _DomainRun(asked, dispatcher, wake, domains, controls, coins)
    step = run.instant if passes == "instant" else run.events
    while run.state.arrivals < len(asked) or run.state.present:
        step(run.advance())
    allocations = [dispatcher.nodes[j] for j in range(len(asked))]
    named = NamedOutcome(
        run.outcome(),
        accepted,
        {i: reason for i, reason in enumerate(reasons) if reason is not None},
        allocations,
        [max(nodes[k].slowness for k, _ in allocation) for allocation in allocations],
    )
    return DomainOutcome(named, run.switches)


class _Dispatcher(Dispatcher):
    """Promises are made anew in the pass after a switch."""

    switched = False

    def _is_spoilt(self) -> bool:
        switched, self.switched = self.switched, False
        return super()._is_spoilt() or switched


class _DomainRun(_Run):
    def __init__(
        self,
        asked: Sequence[Request],
        dispatcher: _Dispatcher,
        wake: object,
        domains: Sequence[int],
        controls: Sequence[Control],
        coins: Sequence[float],
    ) -> None:
        counted = [Job(exact(j.submit), exact(j.work), j.procs, exact(j.plan)) for j in asked]
        servers = sum(node.procs for node in dispatcher.machine.nodes)
        always_1 = Control(1, lambda event: 1)
        super().__init__(counted, servers, Discipline(dispatcher.select, wake), always_1, coins)
        self.dispatcher, self.domains, self.controls = dispatcher, domains, controls
        self.rates = [control.initial for control in controls]
        self.timers: list[Exact | None] = [None] * len(controls)
        self.switches = [[(self.state.now, rate)] for rate in self.rates]
        self.may = [self._where(job) for job in asked]
        self._set_rates()

    def _where(self, job: Request) -> set[int]:
        """The domains that have a node which the job could use."""
        machine = self.dispatcher.machine
        groups = [range(len(machine.nodes))]
        if job.partitions is not None:
            groups = [machine.partitions[i].nodes for i in job.partitions]
        able = {
            k
            for group in groups
            for k in group
            if job.feature is None or job.feature in machine.nodes[k].features
        }
        return {self.domains[k] for k in able} - {NOBODY}

    def _set_rates(self) -> None:
        every = [1 if d == NOBODY else self.rates[d] for d in self.domains]
        self.dispatcher.machine.rates = every

    def _pace(self, j: int) -> Exact:
        """How fast a running job is, 1 being the speed of its nodes at rate 1."""
        machine = self.dispatcher.machine
        mine = [k for k, _ in self.dispatcher.nodes[j]]
        own = max(machine.nodes[k].slowness for k in mine)
        return ratio(own, max(machine.node_slowness(k) for k in mine))

    def _left(self, j: int) -> Exact:
        """Unfinished work, in seconds at rate 1."""
        state = self.state
        return state.remaining[j] * (self._pace(j) if j in state.running else 1)

    def _present(self, d: int) -> list[int]:
        return [j for j in self.state.present if d in self.may[j]]

    def _workload(self, d: int) -> Exact:
        return sum(self._left(j) for j in self._present(d))

    def _switch_epoch(self) -> Exact | None:
        """When the unfinished work of some domain falls to the level of its control."""
        state = self.state
        for d, control in enumerate(self.controls):
            self.timers[d] = None
            level = control.level(self.rates[d])
            slope = sum(self._pace(j) for j in state.running if d in self.may[j])
            work = self._workload(d)
            if level is not None and slope and work > level:
                self.timers[d] = state.now + ratio(work - level, slope)
        ahead = [timer for timer in self.timers if timer is not None]
        return min(ahead, default=None)

    def _depart(self, j: int) -> None:
        state = self.state
        state.ended_early |= state.clock < state.started[j] + state.jobs[j].plan
        state.present.remove(j)
        state.departed.append(j)
        self._stop(j)
        self.end[j] = state.now
        for d in sorted(self.may[j]):
            self._ask(d, "D", len(self._present(d)) + 1, next(self.coins, None))

    def _arrive(self) -> None:
        state = self.state
        j = state.arrivals
        state.arrivals += 1
        state.present.append(j)
        state.arrived.append(j)
        state.remaining[j] = state.jobs[j].work
        for d in sorted(self.may[j]):
            self._ask(d, "A", len(self._present(d)) - 1, next(self.coins, None))

    def _switch(self) -> None:
        for d, timer in enumerate(self.timers):
            if timer == self.state.now:
                self._ask(d, "S", len(self._present(d)), None)

    def _ask(self, d: int, kind: str, before: int, coin: float | None) -> None:
        present, work = len(self._present(d)), self._workload(d)
        rate = self.controls[d].rate(Event(kind, before, present, work, self.rates[d], coin))
        if rate == self.rates[d]:
            return
        state, dispatcher = self.state, self.dispatcher
        paces = {j: self._pace(j) for j in state.running}
        self.rates[d] = rate
        self._set_rates()
        for j, pace in paces.items():
            longer = ratio(pace, self._pace(j))
            state.remaining[j] *= longer
            planned = state.started[j] + state.jobs[j].plan
            if planned > state.clock:
                planned = state.clock + (planned - state.clock) * longer
            state.jobs[j] = state.jobs[j]._replace(plan=planned - state.started[j])
        dispatcher.switched = True
        self.switches[d].append((state.now, rate))

    def _pass(self) -> None:
        super()._pass()
        running = self.state.running
        pace = ratio(sum(map(self._pace, running)), len(running)) if running else 1
        work = sum(map(self._left, self.state.present))
        self.trajectory[-1] = self.trajectory[-1]._replace(rate=pace, workload=work)


def epochs_of(switches: Sequence[tuple[Exact, Exact]]) -> list[tuple[Exact, Exact]]:
    """The switches that last: of several at one instant the last."""
    return [
        switch
        for i, switch in enumerate(switches)
        if i + 1 == len(switches) or switches[i + 1][0] > switch[0]
    ]


def bill(outcome: DomainOutcome, nodes: Sequence[Node], domains: Sequence[int]) -> Bill:
    """What nodes draw at the rates of their domains, as of nodes that all have one rate."""
    run, allocations = outcome.named.run, outcome.named.allocations
    jobs: list[Exact] = [0] * len(run.start)
    idle: Exact = 0
    total: Exact = 0
    if not jobs:
        return Bill(jobs, idle, total)
    last = max(run.end)
    switched = {time for epochs in outcome.rates for time, _ in epochs if time <= last}
    times = sorted({*run.start, *run.end, *switched})
    for begin, end in pairwise(times):
        rates = [[rate for time, rate in epochs if time <= begin][-1] for epochs in outcome.rates]
        running = [j for j in range(len(jobs)) if run.start[j] <= begin < run.end[j]]
        used = [dict(allocations[j]) for j in running]
        for k, node in enumerate(nodes):
            rate = 1 if domains[k] == NOBODY else rates[domains[k]]
            busy = sum(taken.get(k, 0) for taken in used)
            watts = watts_at(node, busy, rate)
            unused = Fraction(node.procs - busy, node.procs) * min(
                node.watts[0], watts_at(node, busy)
            )
            idle += unused * (end - begin)
            total += watts * (end - begin)
            for j, taken in zip(running, used, strict=True):
                if k in taken:
                    jobs[j] += (watts - unused) * Fraction(taken[k], busy) * (end - begin)
    return Bill(jobs, idle, total)
