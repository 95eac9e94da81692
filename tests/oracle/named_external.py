"""Runs on named nodes with external events: nodes go down and up, and are reserved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .checkpoints import Lives
from .disciplines import _next_promise, _sorted
from .dispatcher import Dispatcher, Scheduling
from .external import ExternalOutcome, ExternalRun, Happening
from .model import Control, Discipline, Exact, Instant, Job, State, exact, ratio
from .named import why_never
from .nodes import Allocation, Node, Request
from .placements import Placement
from .pools import Hold, Machine, visits
from .preemption import Preemptive
from .profile import planned_end
from .queues import Queues
from .sleep import Change, Sleep, SleepyDispatcher
from .surroundings import Around, Reservation


class NamedExternalOutcome(NamedTuple):
    """Per accepted job: what became of it, and its nodes; those of the attempts that were lost."""

    run: ExternalOutcome
    accepted: list[int]
    allocations: list[Allocation]
    lost_allocations: list[Allocation]
    stretches: list[Stretch]
    changes: list[Change]
    boots: dict[int, Exact]


class _AroundDispatcher(Dispatcher):
    """One run's scheduling passes, around nodes that are down or reserved: the former rules."""

    def select(self, state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        score, backfill, reservations, backfill_score, _ = self.scheduling
        most = {"none": 0, "first-fit": 0, "conservative": math.inf}.get(backfill, reservations)
        self.state = state
        self.now = (state.clock, 0)
        self.starts = []
        self.ends = {j: planned_end(state, j) for j in state.running}
        nodes = self.machine.nodes
        self.holds = [
            *(
                Hold(self.now, planned_end(state, j), self.machine.held(j, self.pools[j]))
                for j in state.running
            ),
            *(Hold(begin, end, {k: (nodes[k].procs, 0)}) for begin, end, k in state.kept()),
            *(
                Hold(
                    self.now,
                    (math.inf, 0),
                    {self.machine.pool_of(k): nodes[k].capacity},
                )
                for k in self.down
            ),
        ]
        order = _sorted(state, state.waiting, score)
        second = [] if backfill == "none" else _sorted(state, order, backfill_score or score)
        self._plan_around(order, second, most)
        return state.running + self.starts

    def _plan_around(self, order: list[int], second: list[int], most: float) -> None:
        blocked: list[int] = []
        reserved = 0
        for j in order:
            if self._start(j):
                continue
            blocked.append(j)
            place = self._place_ahead(j) if most > 0 else None
            if place is not None:
                begin, pools = place
                end = self._end(j, begin, pools)
                self.holds.append(Hold(begin, end, self.machine.held(j, pools)))
                reserved += 1
            if reserved >= most:
                break
        for j in second:
            if j not in self.starts and j not in blocked:
                self._start(j)

    def _place_ahead(self, j: int) -> tuple[Instant, Allocation] | None:
        """Begin and nodes of the first stretch that a job can have; None while nodes miss."""
        future = self._future()
        for begin in [x for x in future.breakpoints if self.now < x and x[0] < math.inf]:
            pools = self.machine.select(self._asked(j), begin, future)
            if pools is not None:
                return begin, pools
        return None


class Stretch(NamedTuple):
    """An uninterrupted stretch of service, and the tasks of the job on each node."""

    job: int
    start: Exact
    stop: Exact
    nodes: Allocation


class _NamedRun(ExternalRun):
    """As of counted processors; a node's failure stops those who have processors there."""

    dispatcher: Dispatcher | Preemptive
    lost_allocations: list[Allocation]
    stretches: list[Stretch]

    def _happen(self, happening: Happening) -> None:
        if happening.kind in ("down", "up"):
            if isinstance(self.dispatcher, SleepyDispatcher):
                self.dispatcher.downed ^= {happening.about}
                if happening.about in self.dispatcher.broken:
                    # It is away already, until it is repaired.
                    self.state.spoilt = self.state.changed = True
                    return
            self.dispatcher.down ^= {happening.about}
        super()._happen(happening)
        if happening.kind in ("down", "up") and isinstance(self.dispatcher, SleepyDispatcher):
            self.dispatcher.shift(happening.about, self.state.now)

    def instant(self, switch_due: bool) -> None:
        self._change_states()
        super().instant(switch_due)

    def _change_states(self) -> bool:
        """Changes of nodes' states end, before all else; jobs of failed boots wait again."""
        dispatcher, state = self.dispatcher, self.state
        if not isinstance(dispatcher, SleepyDispatcher):
            return False
        due = any(time <= state.now for time in dispatcher.arrives.values())
        while (k := dispatcher.arrive(state)) is not None:
            procs = dispatcher.machine.nodes[k].procs
            state.spoilt = state.changed = True
            requeue, self.requeue = self.requeue, True
            struck = [j for j in state.running if k in dict(dispatcher.nodes[j])]
            for j in self.latest_first(struck if k in dispatcher.down else []):
                self._fail(j)
            self.requeue = requeue
            state.servers += procs if k not in dispatcher.down else -procs
        return due

    def _tell(self, kind: str, before: int, coin: float | None) -> None:
        rate = self.state.rate
        super()._tell(kind, before, coin)
        if isinstance(self.dispatcher, SleepyDispatcher):
            self.dispatcher.speed_up(self.state, self.state.rate - rate)

    def _other_epochs(self) -> list[Exact]:
        times = super()._other_epochs()
        if isinstance(self.dispatcher, SleepyDispatcher) and self.trajectory:
            times += self.dispatcher.next_times()
        return times

    def boots(self) -> dict[int, Exact]:
        dispatcher = self.dispatcher
        return dispatcher.boot if isinstance(dispatcher, SleepyDispatcher) else {}

    def is_on_the_way(self) -> bool:
        """Whether a node is on its way to be up."""
        return isinstance(self.dispatcher, SleepyDispatcher) and bool(self.dispatcher.arrives)

    def _pass(self) -> None:
        super()._pass()
        if isinstance(self.dispatcher, SleepyDispatcher):
            self.dispatcher.rest(self.state)

    def _fail(self, j: int) -> None:
        if self.requeue:
            self.lost_allocations.append(self.dispatcher.nodes[j])
        super()._fail(j)
        if self.requeue:
            del self.dispatcher.nodes[j]
            job = self.state.jobs[j]
            asked = self.dispatcher.machine.jobs
            asked[j] = asked[j]._replace(work=job.work, plan=job.plan)
            if isinstance(self.dispatcher, Preemptive):
                self.dispatcher.asked[j] = job

    def _serve(self, j: int) -> None:
        dispatcher, state = self.dispatcher, self.state
        if isinstance(dispatcher, Preemptive):
            machine, asked = dispatcher.machine, dispatcher.asked[j]
            dispatcher.nodes[j] = nodes = dispatcher.begun[j]
            slowness, held = machine.slowness(nodes), machine.held(j, nodes)
            procs = sum(held[k][0] for k, _ in nodes)
            state.jobs[j] = Job(asked.submit, asked.work * slowness, procs, asked.plan * slowness)
            state.remaining[j] *= slowness
        super()._serve(j)

    def _stop(self, j: int) -> None:
        dispatcher, state = self.dispatcher, self.state
        self.stretches.append(Stretch(j, self.resumed[j], state.now, dispatcher.nodes[j]))
        super()._stop(j)
        if isinstance(dispatcher, SleepyDispatcher):
            dispatcher.release(state, j)
        if isinstance(dispatcher, Preemptive):
            state.remaining[j] = ratio(state.remaining[j], dispatcher.slowness(j))
            state.jobs[j] = dispatcher.asked[j]


def simulate_around_nodes(
    jobs: Sequence[Request],
    nodes: Sequence[Node],
    scheduling: Scheduling,
    control: Control,
    placement: Placement,
    happenings: Sequence[Happening],
    reservations: Sequence[Reservation] = (),
    coins: Sequence[float] = (),
    *,
    requeue: bool = False,
    former: bool = False,
) -> NamedExternalOutcome:
    """Run all jobs that can ever run; events are about these; the rest as of `named.simulate`.

    With the `former` rules promises name nodes where nodes are reserved, and every discipline but
    conservative backfilling plans with the profile.
    """
    accepted = [i for i, job in enumerate(jobs) if why_never(job, nodes, placement) is None]
    asked = [jobs[i] for i in accepted]
    dispatcher: Dispatcher
    if former:
        # Promises name nodes where nodes are reserved; else any will do, as without events.
        machine = Machine(nodes, placement, asked, scheduling.blind, bool(reservations))
        dispatcher = _AroundDispatcher(machine, scheduling)
    else:
        dispatcher = dispatcher_of(Machine(nodes, placement, asked, scheduling.blind), scheduling)
    outside = Outside(tuple(happenings), tuple(reservations), requeue)
    return run_on_nodes(dispatcher, control, coins, outside)._replace(accepted=accepted)


class Outside(NamedTuple):
    """External events, reservations, and whether jobs of failed nodes wait again."""

    happenings: Sequence[Happening] = ()
    reservations: Sequence[Reservation] = ()
    requeue: bool = False
    lives: Lives | None = None


def dispatcher_of(
    machine: Machine,
    scheduling: Scheduling,
    queues: Queues | None = None,
    sleep: Sleep | None = None,
    reserved: bool = False,
) -> Dispatcher:
    """The passes of a discipline that does not stop jobs."""
    if (scheduling.blind or sleep is not None) and scheduling.backfill == "conservative":
        scheduling = scheduling._replace(backfill="easy", reservations=math.inf)
    if sleep is None:
        return Dispatcher(machine, scheduling, queues)
    order = visits(machine.nodes, machine.placement)
    first = exact(min(job.submit for job in machine.jobs))
    return SleepyDispatcher(machine, scheduling, queues, sleep, order, first, reserved)


def run_on_nodes(
    dispatcher: Dispatcher | Preemptive,
    control: Control,
    coins: Sequence[float],
    outside: Outside,
    passes: str = "instant",
) -> NamedExternalOutcome:
    """All jobs of the machine to their end."""
    machine = dispatcher.machine
    nodes, asked = machine.nodes, machine.jobs

    def on_node(run: ExternalRun, happening: Happening) -> list[int]:
        struck = [
            j
            for j in run.state.running
            if happening.about in [node for node, _ in dispatcher.nodes[j]]
        ]
        return run.latest_first(struck)

    def next_promise(state: State) -> Exact | None:
        assert isinstance(state, Around)
        return None if state.stopped else _next_promise(state)

    run = _NamedRun(
        [Job(exact(job.submit), exact(job.work), job.procs, exact(job.plan)) for job in asked],
        sum(node.procs for node in nodes),
        Discipline(dispatcher.select, next_promise, isinstance(dispatcher, Preemptive)),
        control,
        coins,
        *outside[:3],
        on_node,
        lambda node: nodes[node].procs,
        outside.lives,
    )
    run.state.counted = False
    run.dispatcher, run.lost_allocations, run.stretches = dispatcher, [], []
    outcome = run.to_the_end(passes)
    return NamedExternalOutcome(
        outcome,
        list(range(len(asked))),
        [dispatcher.nodes.get(j, ()) for j in range(len(asked))],
        run.lost_allocations,
        sorted(run.stretches),
        getattr(dispatcher, "changes", []),
        getattr(dispatcher, "boot", {}),
    )
