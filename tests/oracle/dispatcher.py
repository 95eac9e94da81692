"""Scheduling passes on named nodes, without stopping jobs: who starts, and where.

A job that starts becomes one of its simulated size, eq. (2): work and plan times the slowness of
its allocation, and the processors that it holds. The recursion knows nothing else of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .disciplines import _end_if_started, _sorted
from .model import Exact, Instant, Job, State
from .nodes import Allocation, Request, Vector
from .orders import Score, fcfs
from .placements import Asked
from .pools import Future, Hold, Machine
from .profile import later, planned_end
from .queues import Queues
from .surroundings import Around, is_news, settle, take_back


class Scheduling(NamedTuple):
    """`backfill`: "none", "first-fit", "easy" (with so many `reservations`) or "conservative".

    A `blind` scheduler expects of a waiting job its plan, wherever it will run. As jobs outlast
    such promises, conservative backfilling then makes all of them anew in each pass.

    Disciplines that stop jobs are "preempt", "longest-remaining" and "shortest-remaining".
    """

    score: Score = fcfs
    backfill: str = "none"
    reservations: float = 1
    backfill_score: Score | None = None
    blind: bool = False


class Kept(NamedTuple):
    """A node that is known to be reserved over the half-open stretch [begin, end)."""

    begin: Instant
    end: Instant
    node: int


class Dispatcher:
    """One run's scheduling passes, and where its jobs are."""

    def __init__(
        self, machine: Machine, scheduling: Scheduling, queues: Queues | None = None
    ) -> None:
        self.machine = machine
        self.scheduling = scheduling
        self.queues = queues
        self.down: set[int] = set()
        self.pools: dict[int, Allocation] = {}  # of jobs started or promised
        self.nodes: dict[int, Allocation] = {}  # of jobs started
        self.holds: list[Hold] = []
        self.starts: list[int] = []
        self.kept: list[Kept] = []
        backfill, reservations = scheduling.backfill, scheduling.reservations
        # One reservation of so many processors: where any will do, its start is safe by count.
        self.by_count = self.counts = machine.counts and (
            backfill in ("none", "first-fit") or (backfill == "easy" and reservations == 1)
        )

    def select(self, state: State) -> list[int]:
        """One pass: the running set after it."""
        if isinstance(state, Around) and state.stopped:
            return list(state.running)
        score, backfill, reservations, backfill_score, _ = self.scheduling
        self._survey(state)
        order = self.queues.order(state) if self.queues else _sorted(state, state.waiting, score)
        second = _sorted(state, order, backfill_score) if backfill_score else order
        if backfill == "none":
            all(self._starts_or_is_passed_over(j) for j in order)  # up to the first that does not
        elif backfill == "first-fit":
            for j in order:
                self._starts_or_is_passed_over(j)
        elif backfill == "easy" and self.counts:
            self._easy_by_count(order, second)
        elif backfill == "easy":
            self._easy(order, second, reservations)
        elif backfill == "conservative":
            self._conservative(order)
        else:
            raise ValueError(f"unknown backfill {backfill!r}")
        if self.queues:
            self.queues.started(self.starts)
        return state.running + self.starts

    def _survey(self, state: State) -> None:
        """What is held at the beginning of a pass."""
        machine = self.machine
        self.state = state
        self.now: Instant = (state.clock, 0)
        self.starts = []
        self.ends = {j: planned_end(state, j) for j in state.running}
        self.holds = [
            Hold(self.now, end, machine.held(j, self.pools[j])) for j, end in self.ends.items()
        ]
        self.holds += [self._whole(k, self.now, (math.inf, 0)) for k in sorted(self.down)]
        falls = self._falls()
        self.falling = bool(falls)
        self.counts = self.by_count and not falls
        self.holds += falls
        self.kept = self._known()
        if not self.counts:
            self.holds += [self._whole(k, *stretch) for k, stretch in self._reserved_once()]

    def _falls(self) -> list[Hold]:
        """What caps will not leave; from now on, as all of it is known."""
        draws, state = self.machine.draws, self.state
        if not draws:
            return []
        assert isinstance(state, Around)
        where, caps = len(self.machine.whole) + 1, range(len(draws.room))
        return [
            Hold(
                (state.work_at(max(fall.begin, state.now)), 0),
                (math.inf if fall.end == math.inf else state.work_at(fall.end), 0),
                {where: tuple(fall.amount if c == fall.cap else 0 for c in caps)},
            )
            for fall in draws.falls
            if fall.end > state.now
        ]

    def _whole(self, k: int, begin: Instant, end: Instant) -> Hold:
        return Hold(begin, end, {self.machine.pool_of(k): self.machine.nodes[k].capacity})

    def _known(self) -> list[Kept]:
        """Reservations that are announced and not over, of nodes that are there."""
        state = self.state
        if not isinstance(state, Around):
            return []
        return [
            Kept((state.work_at(r.begin), 0), (state.work_at(r.end), 0), r.what)
            for r in state.known
            if r.what not in self.down
        ]

    def _reserved_once(self) -> list[tuple[int, tuple[Instant, Instant]]]:
        """Stretches in which a node is reserved: where reservations overlap they are one."""
        merged: list[tuple[int, tuple[Instant, Instant]]] = []
        for k, begin, end in sorted((r.node, max(r.begin, self.now), r.end) for r in self.kept):
            if merged and merged[-1][0] == k and begin <= merged[-1][1][1]:
                first, last = merged.pop()[1]
                begin, end = first, max(last, end)
            merged.append((k, (begin, end)))
        return merged

    def _asked(self, j: int) -> Asked:
        return Asked(self.machine.jobs[j], j, self.state.now)

    def _future(self) -> Future:
        return self.machine.future(self.holds)

    def _passed_over(self, j: int) -> bool:
        running = self.state.running + self.starts
        return self.queues is not None and self.queues.passes_over(j, running)

    def _excluded(self, job: Request, at: Instant) -> set[int]:
        """Nodes that a job cannot have if it starts then, however slow its processors may be."""
        longest = max(map(self.machine.node_slowness, range(len(self.machine.nodes))))
        end = later(at, self.machine.expected(job.plan, longest))
        return {r.node for r in self.kept if r.begin < end and r.end > at}

    def _free_on(self, k: int, at: Instant) -> int:
        """Processors of a node that are free then, by the plans of those who run."""
        if k in self.down:
            return 0
        taken = [dict(self.nodes[j]).get(k, 0) for j, end in self.ends.items() if end > at]
        return self.machine.nodes[k].procs - sum(taken)

    def _rooms_now(self, j: int) -> list[Vector]:
        """Where job j can start; without a profile, not on nodes that are excluded for it."""
        rooms = list(self._future().free(self.now))
        if self.counts:
            for k in self._excluded(self.machine.jobs[j], self.now):
                q = self.machine.pool_of(k)
                rooms[q] = (rooms[q][0] - self._free_on(k, self.now), *rooms[q][1:])
        return rooms

    def _barred(self, j: int, pools: Allocation) -> set[int]:
        """Nodes that job j cannot have if it starts now in these pools."""
        if self.counts:
            return self._excluded(self.machine.jobs[j], self.now)
        end = self._end(j, self.now, pools)
        return {r.node for r in self.kept if r.begin < end and r.end > self.now}

    def _has_nodes(self, j: int, pools: Allocation) -> bool:
        """Whether the pools have enough free processors on nodes that job j can have now."""
        machine = self.machine
        if machine.pinned:
            return True
        barred = self._barred(j, pools)
        return all(
            want <= sum(self._free_on(k, self.now) for k in machine.pools[q] if k not in barred)
            for q, want in pools
        )

    def _begin(self, j: int, pools: Allocation) -> None:
        state, machine = self.state, self.machine
        taken = [n.procs if k in self.down else 0 for k, n in enumerate(machine.nodes)]
        for i in state.running + self.starts:
            for k, procs in self.nodes[i]:
                taken[k] += procs
        for k in self._barred(j, pools):
            taken[k] = machine.nodes[k].procs
        self.pools[j] = pools
        self.nodes[j] = machine.concrete(self._asked(j), pools, taken)
        job, slowness, held = machine.jobs[j], machine.slowness(pools), machine.held(j, pools)
        procs = sum(held[q][0] for q, _ in pools)
        state.jobs[j] = Job(job.submit, job.work * slowness, procs, job.plan * slowness)
        state.remaining[j] = job.work * slowness
        self.starts.append(j)
        self.ends[j] = _end_if_started(state, j)
        self.holds.append(Hold(self.now, self.ends[j], held))

    def _starts_or_is_passed_over(self, j: int) -> bool:
        return self._passed_over(j) or self._start_naturally(j)

    def _start_naturally(self, j: int) -> bool:
        """Start where the placement finds room now; beside reservations, for all of the plan."""
        if (self.kept or self.falling) and not self.counts:
            return self._start(j)
        pools = self.machine.place(self._asked(j), self._rooms_now(j), start=self.now)
        if pools is not None:
            self._begin(j, pools)
        return pools is not None

    def _start(self, j: int) -> bool:
        pools = self.machine.select(self._asked(j), self.now, self._future())
        if pools is None or not self._has_nodes(j, pools):
            return False
        self._begin(j, pools)
        return True

    def _earliest(
        self, j: int, holds: Sequence[Hold], *, now_too: bool = True
    ) -> tuple[Instant, Allocation] | None:
        """Begin and pools of the first stretch that a job can have; None if it has no place."""
        future = self.machine.future(holds)
        ahead = [x for x in future.breakpoints if self.now < x and x[0] < math.inf]
        for begin in [self.now, *ahead] if now_too else ahead:
            pools = self.machine.select(self._asked(j), begin, future)
            if pools is not None and (begin > self.now or self._has_nodes(j, pools)):
                return begin, pools
        assert self.down or self.falling, "an accepted job has no place when everything has ended"
        return None

    def _end(self, j: int, begin: Instant, pools: Allocation) -> Instant:
        plan, slowness = self.machine.jobs[j].plan, self.machine.slowness(pools)
        boot = self.machine.boot(pools, begin)
        return later(begin, boot + self.machine.expected(plan, slowness))

    def _end_later(self, j: int) -> None:
        """A job that has started in this pass ends later by its boot."""
        hold = self.holds.pop()
        self.ends[j] = _end_if_started(self.state, j)
        self.holds.append(hold._replace(end=self.ends[j]))

    def _count_on(self, begin: Instant, pools: Allocation) -> None:
        """A reservation is made: nobody sleeps here."""

    def _easy_by_count(self, order: list[int], second: list[int]) -> None:
        machine = self.machine
        nodes = range(len(machine.nodes))
        there = sum(machine.nodes[k].procs for k in nodes if k not in self.down)
        head = next(
            (
                j
                for j in order
                if not self._starts_or_is_passed_over(j) and machine.jobs[j].procs <= there
            ),
            None,
        )
        if head is None:
            return
        width = machine.jobs[head].procs

        def free_by(instant: Instant) -> int:
            excluded = self._excluded(machine.jobs[head], instant)
            return sum(self._free_on(k, instant) for k in nodes if k not in excluded)

        def watts_by(instant: Instant) -> Vector:
            return self._future().free(instant)[-1] if machine.draws else ()

        def watts_of(instant: Instant) -> Vector:
            """What the head adds then."""
            return self._drawn_by_count(head, free_by(instant)) if machine.draws else ()

        def within(some: Vector, others: Vector) -> bool:
            return all(a <= max(b, 0) for a, b in zip(some, others, strict=True))

        def less(some: Vector, others: Vector) -> Vector:
            return tuple(a - b for a, b in zip(some, others, strict=True))

        ends = [*self.ends.values(), *(r.end for r in self.kept)]
        ends += [hold.end for hold in self.holds if hold.end == (self.now[0], 1)]
        shadow = min(
            end for end in ends if free_by(end) >= width and within(watts_of(end), watts_by(end))
        )
        extra = free_by(shadow) - width
        spare = less(watts_by(shadow), watts_of(shadow))

        def is_in_time(j: int, pools: Allocation) -> bool:
            """Whether it has ended by the shadow, and what it wakes may stay on."""
            waking = machine.waking(machine.jobs[j], pools) if machine.draws else ()
            return self._end(j, self.now, pools) <= shadow and within(waking, spare)

        for j in second:
            if j in self.starts or j == head or self._passed_over(j):
                continue
            asked = self._asked(j)
            rooms = self._rooms_now(j)
            pools = machine.place(asked, rooms, start=self.now)
            if pools is None:
                continue
            taken: Vector = ()
            if not is_in_time(j, pools):
                drawn = machine.drawn(asked.job, pools) if machine.draws else ()
                if asked.job.procs <= extra and within(drawn, spare):
                    extra -= asked.job.procs
                    taken = drawn
                else:
                    boot = machine.boot(pools, self.now)
                    pools = self._fast_enough(asked, rooms, shadow, boot)
                    if pools is not None and not is_in_time(j, pools):
                        pools = None
            if pools is not None:
                if machine.draws:
                    # Its nodes are up by then.
                    waking = machine.waking(asked.job, pools)
                    way = less(waking, machine.lending(pools))
                    spare = less(spare, less(taken or waking, way))
                self._begin(j, pools)
        self._reserve(shadow, extra)

    def _drawn_by_count(self, j: int, free: int) -> Vector:
        """What a job adds wherever it runs, if so many processors are free (mW)."""
        job = self.machine.jobs[j]
        return self.machine.drawn(job, ((0, job.width),))

    def _reserve(self, shadow: Instant, extra: int) -> None:
        """The head has a reservation, beside which so many processors are left."""

    def _fast_enough(
        self, asked: Asked, rooms: Sequence[Vector], until: Instant, boot: Exact
    ) -> Allocation | None:
        """The placement's choice of the processors on which the job would end in time."""
        machine = self.machine
        slowness = [
            slow
            for slow in map(machine.node_slowness, range(len(machine.nodes)))
            if later(self.now, boot + machine.expected(asked.job.plan, slow)) <= until
        ]
        return machine.place(asked, rooms, max(slowness), self.now) if slowness else None

    def _easy(self, order: list[int], second: list[int], most: float) -> None:
        reserved = 0
        blocked: list[int] = []
        for j in order:
            if reserved >= most:
                break
            if self._passed_over(j) or self._start(j):
                continue
            blocked.append(j)
            place = self._earliest(j, self.holds)
            if place is not None:
                begin, pools = place
                end = self._end(j, begin, pools)
                if most == 1:  # the shadow is kept free for a head of no length, too
                    end = max(end, (begin[0], begin[1] + 1))
                self.holds.append(Hold(begin, end, self.machine.held(j, pools)))
                self._count_on(begin, pools)
                reserved += 1
        for j in second:
            if j not in self.starts and j not in blocked and not self._passed_over(j):
                self._start(j)

    def _conservative(self, order: list[int]) -> None:
        state, promises = self.state, self.state.promises
        overdue, spoilt = state.overdue, self._is_spoilt()
        anew = overdue or state.was_overdue or spoilt
        state.was_overdue = overdue
        if anew:
            promises.clear()
        passed_over = True
        while passed_over:
            order = [j for j in order if j not in self.starts]
            order = take_back(state, order, self.queues, self.starts)
            if state.ended_early and not anew:
                for j in [j for j in order if j in promises]:
                    del promises[j]
                    self._promise(j)
            anew = passed_over = False
            for j in [j for j in order if j not in promises]:
                self._promise(j)
            for j in [j for j in order if promises.get(j, (math.inf, 0)) <= self.now]:
                if self._passed_over(j):
                    passed_over = True
                else:
                    self._start_promised(j)
        settle(state)

    def _promise(self, j: int, *, now_too: bool = True) -> None:
        """The earliest start that a job can have beside all others, if it has a place."""
        promises = self.state.promises
        others = [
            Hold(begin, self._end(i, begin, self.pools[i]), self.machine.held(i, self.pools[i]))
            for i, begin in promises.items()
        ]
        place = self._earliest(j, self.holds + others, now_too=now_too)
        if place is not None:
            promises[j], self.pools[j] = place

    def _start_promised(self, j: int) -> None:
        """Start a job whose promise has come, if its processors are free."""
        pools, rooms = self.pools[j], self._future().free(self.now)
        if not self.machine.fits(j, pools, rooms):
            return
        begin = self.state.promises.pop(j)
        if self._has_nodes(j, pools):
            self.state.first_promises.setdefault(j, begin)
            self._begin(j, pools)
        else:
            self._promise(j, now_too=False)

    def _is_spoilt(self) -> bool:
        """Whether what was promised no longer holds, because of the outside."""
        state = self.state
        if not isinstance(state, Around):
            return False
        spoilt = state.spoilt or is_news(state)
        spoilt |= self.falling and (state.passed is None or state.passed[1] != state.rate)
        state.spoilt, state.passed = False, (state.now, state.rate)
        return spoilt
