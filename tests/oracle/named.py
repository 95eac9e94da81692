"""Scheduling on named nodes: the recursion of counted servers, with a place for each job.

A job that starts becomes one of its simulated size, eq. (2): work and plan times the slowness of
its allocation, and the processors that it holds. The recursion knows nothing else of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .disciplines import _end_if_started, _next_promise, _sorted
from .model import Control, Discipline, Exact, Instant, Job, Outcome, State
from .nodes import Allocation, Node, Request, usable
from .orders import Score, fcfs
from .placements import Asked, Placement, first_fit
from .pools import Future, Hold, Machine
from .profile import later, planned_end
from .recursion import simulate as simulate_counted


class Scheduling(NamedTuple):
    """`backfill`: "none", "first-fit", "easy" (with so many `reservations`) or "conservative".

    A `blind` scheduler expects of a waiting job its plan, wherever it will run. As jobs outlast
    such promises, conservative backfilling then makes all of them anew in each pass.
    """

    score: Score = fcfs
    backfill: str = "none"
    reservations: float = 1
    backfill_score: Score | None = None
    blind: bool = False


@dataclass
class NamedOutcome:
    """Per accepted job: `run` as of counted servers, nodes, slowness; by place: who is refused."""

    run: Outcome
    accepted: list[int]
    unaccepted: dict[int, str]
    allocations: list[Allocation]
    slowness: list[Exact]


def simulate(
    jobs: Sequence[Request],
    nodes: Sequence[Node],
    scheduling: Scheduling,
    control: Control,
    placement: Placement = first_fit,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> NamedOutcome:
    """Run all jobs that can ever run to their end; the other parameters as of the recursion."""
    if scheduling.blind and scheduling.backfill == "conservative":
        scheduling = scheduling._replace(backfill="easy", reservations=math.inf)
    reasons = [why_never(job, nodes, placement) for job in jobs]
    accepted = [i for i, reason in enumerate(reasons) if reason is None]
    asked = [jobs[i] for i in accepted]
    counted = [Job(job.submit, job.work, job.procs, job.plan) for job in asked]
    dispatcher = _Dispatcher(Machine(nodes, placement, asked, scheduling.blind), scheduling)
    wake = _next_promise if scheduling.backfill == "conservative" else lambda state: None
    discipline = Discipline(dispatcher.select, wake)
    servers = sum(node.procs for node in nodes)
    run = simulate_counted(counted, servers, discipline, control, coins, passes)
    allocations = [dispatcher.nodes[j] for j in range(len(asked))]
    return NamedOutcome(
        run,
        accepted,
        {i: reason for i, reason in enumerate(reasons) if reason is not None},
        allocations,
        [max(nodes[k].slowness for k, _ in allocation) for allocation in allocations],
    )


def why_never(job: Request, nodes: Sequence[Node], placement: Placement) -> str | None:
    """Why a job cannot run even on the empty cluster: what it asks for is added one by one."""
    plain = Request(job.submit, job.work, job.procs, job.plan, job.limit)
    featured = plain._replace(feature=job.feature)
    asking = job._replace(power_budget=None)
    machine = Machine(nodes, placement, [job])
    empty = machine.future([])

    def short(some: Request) -> bool:
        return sum(usable(node, node.procs, node.memory, some) for node in nodes) < job.procs

    def nowhere(some: Request) -> bool:
        return machine.natural(Asked(some, 0, job.submit), (0, 0), empty) is None

    if short(plain):
        return "procs"
    if short(featured):
        return "feature"
    if short(asking):
        return "memory"
    if nowhere(asking):
        return "contiguous"
    return "power" if nowhere(job) else None


class _Dispatcher:
    """One run's scheduling passes, and where its jobs are."""

    def __init__(self, machine: Machine, scheduling: Scheduling) -> None:
        self.machine = machine
        self.scheduling = scheduling
        self.pools: dict[int, Allocation] = {}  # of jobs started or promised
        self.nodes: dict[int, Allocation] = {}  # of jobs started
        self.holds: list[Hold] = []
        self.starts: list[int] = []

    def select(self, state: State) -> list[int]:
        """One pass: the running set after it."""
        score, backfill, reservations, backfill_score, _ = self.scheduling
        self.state = state
        self.now: Instant = (state.clock, 0)
        self.starts = []
        self.holds = [
            Hold(self.now, planned_end(state, j), self.machine.held(j, self.pools[j]))
            for j in state.running
        ]
        order = _sorted(state, state.waiting, score)
        if backfill == "none":
            all(self._start_naturally(j) for j in order)  # up to the first that finds no place
        elif backfill == "first-fit":
            for j in order:
                self._start_naturally(j)
        elif backfill == "easy":
            second = _sorted(state, order, backfill_score or score)
            if reservations == 1 and self.machine.counts:
                self._easy_by_count(order, second)
            else:
                self._easy(order, second, reservations)
        elif backfill == "conservative":
            self._conservative(order)
        else:
            raise ValueError(f"unknown backfill {backfill!r}")
        return state.running + self.starts

    def _asked(self, j: int) -> Asked:
        return Asked(self.machine.jobs[j], j, self.state.now)

    def _future(self) -> Future:
        return self.machine.future(self.holds)

    def _begin(self, j: int, pools: Allocation) -> None:
        state, machine = self.state, self.machine
        taken = self._missing()
        for i in state.running + self.starts:
            for k, procs in self.nodes[i]:
                taken[k] += procs
        self.pools[j] = pools
        self.nodes[j] = machine.concrete(self._asked(j), pools, taken)
        job, slowness, held = machine.jobs[j], machine.slowness(pools), machine.held(j, pools)
        procs = sum(room.procs for room in held.values())
        state.jobs[j] = Job(job.submit, job.work * slowness, procs, job.plan * slowness)
        state.remaining[j] = job.work * slowness
        self.starts.append(j)
        self.holds.append(Hold(self.now, _end_if_started(state, j), held))

    def _missing(self) -> list[int]:
        """Processors of each node that are not there."""
        return [0] * len(self.machine.nodes)

    def _start_naturally(self, j: int) -> bool:
        pools = self.machine.natural(self._asked(j), self.now, self._future())
        if pools is not None:
            self._begin(j, pools)
        return pools is not None

    def _start(self, j: int) -> bool:
        pools = self.machine.select(self._asked(j), self.now, self._future())
        if pools is not None:
            self._begin(j, pools)
        return pools is not None

    def _earliest(self, j: int, holds: Sequence[Hold]) -> tuple[Instant, Allocation]:
        """Begin and pools of the first stretch that a job can have."""
        future = self.machine.future(holds)
        for begin in [self.now] + [x for x in future.breakpoints if x > self.now]:
            pools = self.machine.select(self._asked(j), begin, future)
            if pools is not None:
                return begin, pools
        raise AssertionError("an accepted job has no place when everything has ended")

    def _end(self, j: int, begin: Instant, pools: Allocation) -> Instant:
        plan, slowness = self.machine.jobs[j].plan, self.machine.slowness(pools)
        return later(begin, self.machine.expected(plan, slowness))

    def _easy_by_count(self, order: list[int], second: list[int]) -> None:
        """One reservation of so many processors: where any will do, its start is safe by count."""
        machine = self.machine
        head = next((j for j in order if not self._start_naturally(j)), None)
        if head is None:
            return

        def free_by(instant: Instant) -> int:
            return sum(room.procs for room in future.free(instant))

        future = self._future()
        width = machine.jobs[head].procs
        shadow = min(hold.end for hold in self.holds if free_by(hold.end) >= width)
        extra = free_by(shadow) - width
        for j in second:
            if j in self.starts or j == head:
                continue
            asked = self._asked(j)
            pools = machine.natural(asked, self.now, self._future())
            if pools is None:
                continue
            if self._end(j, self.now, pools) > shadow:
                if asked.job.procs <= extra:
                    extra -= asked.job.procs
                else:
                    pools = self._fast_enough(asked, shadow)
            if pools is not None:
                self._begin(j, pools)

    def _fast_enough(self, asked: Asked, until: Instant) -> Allocation | None:
        """The placement's choice of the processors on which the job would end in time."""
        machine = self.machine
        slowness = [
            node.slowness
            for node in machine.nodes
            if later(self.now, machine.expected(asked.job.plan, node.slowness)) <= until
        ]
        free = self._future().free(self.now)
        return machine.place(asked, free, max(slowness)) if slowness else None

    def _easy(self, order: list[int], second: list[int], most: float) -> None:
        reserved: list[int] = []
        for j in order:
            if len(reserved) >= most:
                break
            if not self._start(j):
                begin, pools = self._earliest(j, self.holds)
                end = self._end(j, begin, pools)
                if most == 1:  # the shadow is kept free for a head of no length, too
                    end = max(end, (begin[0], begin[1] + 1))
                self.holds.append(Hold(begin, end, self.machine.held(j, pools)))
                reserved.append(j)
        for j in second:
            if j not in self.starts and j not in reserved:
                self._start(j)

    def _conservative(self, order: list[int]) -> None:
        state, machine = self.state, self.machine
        promises = state.promises
        running = list(self.holds)

        def promise(j: int) -> None:
            others = [
                Hold(begin, self._end(i, begin, self.pools[i]), machine.held(i, self.pools[i]))
                for i, begin in promises.items()
            ]
            begin, self.pools[j] = self._earliest(j, running + others)
            promises[j] = begin
            state.first_promises.setdefault(j, begin)

        overdue = state.overdue
        if overdue or state.was_overdue:
            promises.clear()
        elif state.ended_early:
            for j in [j for j in order if j in promises]:
                del promises[j]
                promise(j)
        state.was_overdue = overdue
        for j in [j for j in order if j not in promises]:
            promise(j)
        for j in order:
            room = self._future().free(self.now)
            if promises[j] <= self.now and machine.fits(j, self.pools[j], room):
                del promises[j]
                self._begin(j, self.pools[j])
