"""External events on named nodes: nodes go down and up, and are reserved; promises name nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .disciplines import _sorted
from .external import Around, ExternalOutcome, ExternalRun, Happening, Reservation
from .model import Control, Discipline, Instant, Job, State
from .named import Scheduling, _Dispatcher, why_never
from .nodes import Allocation, Node, Request
from .placements import Placement, first_fit
from .pools import Hold, Machine, Room
from .profile import planned_end


@dataclass
class NamedExternalOutcome:
    """Per accepted job: what became of it, and its nodes; those of the attempts that were lost."""

    run: ExternalOutcome
    accepted: list[int]
    allocations: list[Allocation]
    lost_allocations: list[Allocation]


class _AroundDispatcher(_Dispatcher):
    """One run's scheduling passes, around nodes that are down or reserved."""

    def __init__(self, machine: Machine, scheduling: Scheduling) -> None:
        super().__init__(machine, scheduling)
        self.down: set[int] = set()

    def select(self, state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        score, backfill, reservations, backfill_score, _ = self.scheduling
        most = {"none": 0, "first-fit": 0, "conservative": math.inf}.get(backfill, reservations)
        self.state = state
        self.now = (state.clock, 0)
        self.starts = []
        nodes = self.machine.nodes
        self.holds = [
            *(
                Hold(self.now, planned_end(state, j), self.machine.held(j, self.pools[j]))
                for j in state.running
            ),
            *(Hold(begin, end, {k: Room(nodes[k].procs, 0)}) for begin, end, k in state.kept()),
            *(
                Hold(
                    self.now,
                    (math.inf, 0),
                    {self.machine.pool_of(k): Room(nodes[k].procs, nodes[k].memory)},
                )
                for k in self.down
            ),
        ]
        order = _sorted(state, state.waiting, score)
        second = [] if backfill == "none" else _sorted(state, order, backfill_score or score)
        self._plan_around(order, second, most)
        return state.running + self.starts

    def _missing(self) -> list[int]:
        return [n.procs if k in self.down else 0 for k, n in enumerate(self.machine.nodes)]

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


class _NamedRun(ExternalRun):
    """As of counted processors; a node's failure stops those who have processors there."""

    dispatcher: _AroundDispatcher
    lost_allocations: list[Allocation]

    def _happen(self, happening: Happening) -> None:
        if happening.kind in ("down", "up"):
            self.dispatcher.down ^= {happening.about}
        super()._happen(happening)

    def _fail(self, j: int) -> None:
        if self.requeue:
            self.lost_allocations.append(self.dispatcher.nodes.pop(j))
        super()._fail(j)


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
) -> NamedExternalOutcome:
    """Run all jobs that can ever run; events are about these; the rest as of `named.simulate`."""
    accepted = [i for i, job in enumerate(jobs) if why_never(job, nodes, placement) is None]
    asked = [jobs[i] for i in accepted]
    counted = [Job(job.submit, job.work, job.procs, job.plan) for job in asked]
    # Promises name nodes where nodes are reserved; else any will do, as without events.
    pinned = bool(reservations)
    machine = Machine(nodes, placement or first_fit, asked, scheduling.blind, pinned)
    dispatcher = _AroundDispatcher(machine, scheduling)

    def on_node(run: ExternalRun, happening: Happening) -> list[int]:
        struck = [
            j
            for j in run.state.running
            if happening.about in [node for node, _ in dispatcher.nodes[j]]
        ]
        return run.latest_first(struck)

    run = _NamedRun(
        counted,
        sum(node.procs for node in nodes),
        Discipline(dispatcher.select),
        control,
        coins,
        happenings,
        reservations,
        requeue,
        on_node,
        lambda node: nodes[node].procs,
    )
    run.dispatcher, run.lost_allocations = dispatcher, []
    outcome = run.to_the_end()
    return NamedExternalOutcome(
        outcome,
        accepted,
        [dispatcher.nodes.get(j, ()) for j in range(len(asked))],
        run.lost_allocations,
    )
