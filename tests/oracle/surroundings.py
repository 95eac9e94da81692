"""What is known of the outside, and disciplines that plan around it on counted processors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .caps import Fall
from .disciplines import _end_if_started, _next_promise, _sorted
from .model import Discipline, Exact, Instant, State
from .orders import Score
from .profile import Hold, earliest_start, fits, later, running_holds
from .queues import Queues


class Reservation(NamedTuple):
    """So many processors, or a node, are kept free in [begin, end) (s), known from `announced`.

    With `joined` it is one with the reservation before it, but for the node.
    """

    announced: Exact
    begin: Exact
    end: Exact
    what: int
    joined: bool = False


@dataclass
class Around(State):
    """The state, and what is known of the outside."""

    stopped: bool = False
    reservations: Sequence[Reservation] = field(default_factory=list)
    spoilt: bool = False  # what was promised no longer holds
    changed: bool = False  # since the last pass, what is there or who is
    counted: bool = True  # whether reservations are of processors
    passed: tuple[Exact, Exact] | None = None  # time and rate at the last pass
    limits: Sequence[Fall] = ()  # how many processors caps let be busy

    @property
    def there(self) -> int:
        reserved = [r.what for r in self.reservations if r.begin <= self.now < r.end]
        if not self.counted:
            return self.servers
        low = [fall.amount for fall in self.limits if fall.begin <= self.now < fall.end]
        return min([max(self.servers - sum(reserved), 0), *low])

    @property
    def selects(self) -> bool:
        return bool(self.departed) or self.changed

    @property
    def known(self) -> list[Reservation]:
        """The reservations that are announced and not over."""
        return [r for r in self.reservations if r.announced <= self.now < r.end]

    def work_at(self, time: Exact) -> Exact:
        """The work clock at a time to come, at the present rate."""
        return self.clock + (time - self.now) * self.rate

    def unused(self) -> list[Hold]:
        """Processors that caps keep from being busy, beside what is reserved."""
        ahead = [
            (self.work_at(max(fall.begin, self.now)), self._end(fall), fall.amount)
            for fall in self.limits
            if fall.end > self.now
        ]
        kept = self.kept()
        edges = {x for begin, end, _ in ahead for x in ((begin, 0), (end, 0))}
        edges |= {x for begin, end, _ in kept for x in (begin, end)}
        steps = sorted(x for x in edges if x >= (self.clock, 0))
        holds = []
        for begin, end in pairwise(steps):
            free = self.servers - sum(n for a, b, n in kept if a <= begin < b)
            most = [n for a, b, n in ahead if (a, 0) <= begin < (b, 0)]
            if most and free > min(most):
                holds.append(Hold(begin, end, free - min(most)))
        return holds

    def _end(self, fall: Fall) -> Exact | float:
        return fall.end if fall.end == math.inf else self.work_at(fall.end)

    def kept(self) -> list[tuple[Instant, Instant, int]]:
        """The stretches of the work clock that are reserved, as far as they are announced."""
        return [
            ((self.work_at(max(r.begin, self.now)), 0), (self.work_at(r.end), 0), r.what)
            for r in self.known
        ]


def around(
    score: Score,
    backfill: str = "none",
    reservations: float = 1,
    backfill_score: Score | None = None,
    *,
    queues: Queues | None = None,
    former: bool = False,
) -> Discipline:
    """As `disciplines.ordered`, planning around what is known.

    `former`: no moment is kept free for a head of no plan.
    """

    def select(state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        order = queues.order(state) if queues else _sorted(state, state.waiting, score)
        if backfill == "conservative":
            starts = _keep_promises(state, order, queues)
        else:
            most = {"none": 0, "first-fit": 0}.get(backfill, reservations)
            second = _sorted(state, order, backfill_score) if backfill_score else order
            second = [] if backfill == "none" else second
            moment = 1 if backfill == "easy" and reservations == 1 and not former else 0
            starts = _plan_around(state, order, second, most, queues, moment)
        if queues:
            queues.started(starts)
        return state.running + starts

    def next_promise(state: State) -> Exact | None:
        assert isinstance(state, Around)
        return None if state.stopped else _next_promise(state)

    return Discipline(select, next_promise if backfill == "conservative" else lambda state: None)


def unless_stopped(discipline: Discipline) -> Discipline:
    """A preemptive discipline: as long as the manager is stopped, all goes on as it is."""

    def select(state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        selected = discipline.select(state)
        state.changed = False
        return selected

    return Discipline(select, preemptive=True)


def take_back(
    state: State, order: list[int], queues: Queues | None, starts: list[int]
) -> list[int]:
    """Promises of who would exceed a limit of its queue; the order of all others."""
    if queues is None:
        return order
    over = [j for j in order if queues.passes_over(j, state.running + starts)]
    for j in over:
        state.ended_early |= state.promises.pop(j, None) is not None
    return [j for j in order if j not in over]


def _keep_promises(state: Around, order: list[int], queues: Queues | None) -> list[int]:
    """Promises last from pass to pass, until the outside spoils them."""
    now = (state.clock, 0)
    fixed = running_holds(state) + [Hold(*kept) for kept in state.kept()] + state.unused()
    promises = state.promises
    starts: list[int] = []

    def promise(j: int) -> None:
        job = state.jobs[j]
        if job.procs > state.servers:
            return
        others = [
            Hold(begin, later(begin, state.jobs[i].plan), state.jobs[i].procs)
            for i, begin in promises.items()
        ]
        promises[j] = earliest_start(now, job.plan, job.procs, state.servers, fixed + others)

    anew = state.overdue or state.was_overdue or state.spoilt or is_news(state)
    state.was_overdue, state.spoilt = state.overdue, False
    state.passed = (state.now, state.rate)
    if anew:
        promises.clear()
    passed_over = True
    while passed_over:
        order = take_back(state, [j for j in order if j not in starts], queues, starts)
        if state.ended_early and not anew:
            for j in [j for j in order if j in promises]:
                del promises[j]
                promise(j)
        anew = passed_over = False
        for j in [j for j in order if j not in promises]:
            promise(j)
        for j in order:
            if j not in promises or promises[j] > now:
                continue
            if queues and queues.passes_over(j, state.running + starts):
                passed_over = True
            elif sum(state.jobs[i].procs for i in [*starts, j]) <= state.servers - state.busy:
                starts.append(j)
                state.first_promises.setdefault(j, promises.pop(j))
                fixed.append(Hold(now, _end_if_started(state, j), state.jobs[j].procs))
    settle(state)
    return starts


def settle(state: State) -> None:
    """The pass is over: what is promised now counts."""
    for j, begin in state.promises.items():
        state.first_promises.setdefault(j, begin)
    # Who starts with no plan is overdue at once: a promise behind it lasts no longer than it does.
    state.was_overdue |= any(infinitesimal for _, infinitesimal in state.promises.values())


def is_news(state: Around) -> bool:
    """Whether a reservation has become known, or lies elsewhere on the work clock.

    So does a limit by a cap, which is known from the beginning.
    """
    limited = any(fall.end > state.now for fall in state.limits)
    if state.passed is None:
        return bool(state.known) or limited
    time, rate = state.passed
    if limited and state.rate != rate:
        return True
    return any(r.announced > time or state.rate != rate for r in state.known)


def _plan_around(
    state: Around,
    order: list[int],
    second: list[int],
    most: float,
    queues: Queues | None,
    moment: int,
) -> list[int]:
    now = (state.clock, 0)
    holds = running_holds(state) + [Hold(*kept) for kept in state.kept()] + state.unused()
    starts: list[int] = []
    blocked: list[int] = []

    def start_if_fits(j: int) -> bool:
        job = state.jobs[j]
        if not fits(now, job.plan, job.procs, state.servers, holds):
            return False
        starts.append(j)
        holds.append(Hold(now, _end_if_started(state, j), job.procs))
        return True

    def passed_over(j: int) -> bool:
        return queues is not None and queues.passes_over(j, state.running + starts)

    reserved = 0
    for j in order:
        if passed_over(j) or start_if_fits(j):
            continue
        blocked.append(j)
        job = state.jobs[j]
        if most > 0 and job.procs <= state.servers:
            begin = earliest_start(now, job.plan, job.procs, state.servers, holds)
            # The shadow is kept free for a head of no plan, too.
            end = max(later(begin, job.plan), (begin[0], begin[1] + moment))
            holds.append(Hold(begin, end, job.procs))
            reserved += 1
        if reserved >= most:
            break
    for j in second:
        if j not in starts and j not in blocked and not passed_over(j):
            start_if_fits(j)
    return starts
