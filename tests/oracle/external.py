"""External events: jobs cancelled and killed, processors down and up, stops, reservations.

At one instant jobs end, then external events come in their order, then arrivals and the switch
timer; one pass follows. Every discipline plans around what is reserved: a job starts if it fits
for all of its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .disciplines import _end_if_started, _next_promise, _sorted
from .model import Control, Discipline, Exact, Instant, Job, Outcome, State, exact
from .orders import Score
from .profile import Hold, earliest_start, fits, later, running_holds
from .recursion import _Run

# (started, label) of the running jobs that an event may stop, the first to go last.
Victims = Callable[["ExternalRun", "Happening"], list[int]]


class Happening(NamedTuple):
    """What happens: kind, and the job, number of processors or node that it is about.

    "withdraw" a job (cancelled if it waits, killed if it runs), "strike" it (a node of it fails),
    "down", "up", "stop", "resume", or "look" (nothing, but a pass).
    """

    time: Exact
    kind: str
    about: int = 0


class Reservation(NamedTuple):
    """So many processors, or a node, are kept free in [begin, end) (s), known from `announced`."""

    announced: Exact
    begin: Exact
    end: Exact
    what: int


@dataclass
class Fate:
    """What became of a job: "completed", "killed", "cancelled" or "waiting", and when it left."""

    state: str = "waiting"
    left: Exact | None = None
    restarts: int = 0


@dataclass
class ExternalOutcome:
    """As `Outcome`, with None where a job has no start or no end; and attempts that were lost."""

    start: list[Exact | None]
    end: list[Exact | None]
    fates: list[Fate]
    lost: list[tuple[int, Exact, Exact]]
    run: Outcome
    ended: Exact
    area: Exact  # processors times work, of all attempts


@dataclass
class Around(State):
    """The state, and what is known of the outside."""

    stopped: bool = False
    reservations: Sequence[Reservation] = field(default_factory=list)
    spoilt: bool = False  # what was promised no longer holds
    passed: tuple[Exact, Exact] | None = None  # time and rate at the last pass

    def work_at(self, time: Exact) -> Exact:
        """The work clock at a time to come, at the present rate."""
        return self.clock + (time - self.now) * self.rate

    def kept(self) -> list[tuple[Instant, Instant, int]]:
        """The stretches of the work clock that are reserved, as far as they are announced."""
        return [
            ((self.work_at(max(r.begin, self.now)), 0), (self.work_at(r.end), 0), r.what)
            for r in self.reservations
            if r.announced <= self.now < r.end
        ]


def around(
    score: Score,
    backfill: str = "none",
    reservations: float = 1,
    backfill_score: Score | None = None,
) -> Discipline:
    """As `disciplines.ordered`, planning around what is known."""
    if backfill == "conservative":
        return _conservative(score)
    most = {"none": 0, "first-fit": 0}.get(backfill, reservations)

    def select(state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        order = _sorted(state, state.waiting, score)
        second = _sorted(state, order, backfill_score or score)
        starts = _plan_around(state, order, [] if backfill == "none" else second, most)
        return state.running + starts

    return Discipline(select)


def _conservative(score: Score) -> Discipline:
    def select(state: State) -> list[int]:
        assert isinstance(state, Around)
        if state.stopped:
            return list(state.running)
        return state.running + _keep_promises(state, _sorted(state, state.waiting, score))

    def next_promise(state: State) -> Exact | None:
        assert isinstance(state, Around)
        return None if state.stopped else _next_promise(state)

    return Discipline(select, next_promise)


def _keep_promises(state: Around, order: list[int]) -> list[int]:
    """Promises last from pass to pass, until the outside spoils them."""
    now = (state.clock, 0)
    fixed = running_holds(state) + [Hold(*kept) for kept in state.kept()]
    promises = state.promises

    def promise(j: int) -> None:
        job = state.jobs[j]
        if job.procs > state.servers:
            return
        others = [
            Hold(begin, later(begin, state.jobs[i].plan), state.jobs[i].procs)
            for i, begin in promises.items()
        ]
        promises[j] = earliest_start(now, job.plan, job.procs, state.servers, fixed + others)

    if state.overdue or state.was_overdue or state.spoilt or _is_news(state):
        promises.clear()
    elif state.ended_early:
        for j in [j for j in order if j in promises]:
            del promises[j]
            promise(j)
    state.was_overdue, state.spoilt = state.overdue, False
    state.passed = (state.now, state.rate)
    for j in [j for j in order if j not in promises]:
        promise(j)
    starts: list[int] = []
    for j in order:
        free = state.servers - state.busy - sum(state.jobs[i].procs for i in starts)
        if j in promises and promises[j] <= now and state.jobs[j].procs <= free:
            starts.append(j)
            del promises[j]
    return starts


def _is_news(state: Around) -> bool:
    """Whether a reservation has become known, or lies elsewhere on the work clock."""
    known = [r for r in state.reservations if r.announced <= state.now < r.end]
    if state.passed is None:
        return bool(known)
    time, rate = state.passed
    return any(r.announced > time or state.rate != rate for r in known)


def _plan_around(state: Around, order: list[int], second: list[int], most: float) -> list[int]:
    now = (state.clock, 0)
    holds = running_holds(state) + [Hold(*kept) for kept in state.kept()]
    starts: list[int] = []
    blocked: list[int] = []

    def start_if_fits(j: int) -> bool:
        job = state.jobs[j]
        if not fits(now, job.plan, job.procs, state.servers, holds):
            return False
        starts.append(j)
        holds.append(Hold(now, _end_if_started(state, j), job.procs))
        return True

    reserved = 0
    for j in order:
        if start_if_fits(j):
            continue
        blocked.append(j)
        job = state.jobs[j]
        if most > 0 and job.procs <= state.servers:
            begin = earliest_start(now, job.plan, job.procs, state.servers, holds)
            holds.append(Hold(begin, later(begin, job.plan), job.procs))
            reserved += 1
        if reserved >= most:
            break
    for j in second:
        if j not in starts and j not in blocked:
            start_if_fits(j)
    return starts


def last_started(run: ExternalRun, happening: Happening) -> list[int]:
    """Counted processors: jobs go, the last started first, until enough are free."""
    state = run.state
    gone: list[int] = []
    free = state.servers - state.busy
    for j in run.latest_first(state.running):
        if free >= happening.about:
            break
        gone.append(j)
        free += state.jobs[j].procs
    return gone


class ExternalRun(_Run):
    """A run with external events; `requeue`: whether jobs of failed nodes wait again."""

    def __init__(
        self,
        jobs: Sequence[Job],
        servers: int,
        discipline: Discipline,
        control: Control,
        coins: Sequence[float],
        happenings: Sequence[Happening],
        reservations: Sequence[Reservation],
        requeue: bool,
        victims: Victims = last_started,
        width: Callable[[int], int] = lambda about: about,
    ) -> None:
        super().__init__(jobs, servers, discipline, control, coins)
        state = self.state
        self.state = Around(
            jobs, servers, state.rate, state.now, state.clock, reservations=reservations
        )
        looks = [Happening(r.end, "look") for r in reservations]
        origin = state.now
        # Nothing happens before the first job comes.
        early = [h._replace(time=max(exact(h.time), origin)) for h in [*looks, *happenings]]
        self.happenings = sorted(early, key=lambda h: h.time)
        self.requeue = requeue
        self.victims = victims
        self.width = width
        self.fates = [Fate() for _ in jobs]
        self.lost: list[tuple[int, Exact, Exact]] = []
        self.area: Exact = 0
        self.original = list(jobs)

    def to_the_end(self) -> ExternalOutcome:
        """Until nobody is left, or nothing will ever happen."""
        state = self.state
        while state.arrivals < len(state.jobs) or state.present:
            if not state.running and state.arrivals == len(state.jobs) and not self.happenings:
                break
            self.instant(self.advance())
        labels = range(len(state.jobs))
        trajectory = Outcome([], [], sorted(self.segments), self.trajectory, [])
        return ExternalOutcome(
            [self.start.get(j) for j in labels],
            [self.end.get(j) for j in labels],
            self.fates,
            self.lost,
            trajectory,
            state.now,
            self.area,
        )

    def latest_first(self, jobs: Sequence[int]) -> list[int]:
        """By start and label, the latest first."""
        return sorted(jobs, key=lambda j: (self.start[j], j), reverse=True)

    def _other_epochs(self) -> list[Exact]:
        return [self.happenings[0].time] if self.happenings else []

    def instant(self, switch_due: bool) -> None:
        state = self.state
        for j in self._complete():
            self._depart(j)
            self.fates[j] = Fate("completed", state.now, self.fates[j].restarts)
        while self.happenings and self.happenings[0].time <= state.now:
            self._happen(self.happenings.pop(0))
        while self._arrival_due():
            self._arrive()
        if switch_due:
            self._switch()
        self._pass()

    def _happen(self, happening: Happening) -> None:
        state, kind, about = self.state, happening.kind, happening.about
        if kind == "withdraw":
            self._withdraw(about)
        elif kind == "strike" and about in state.running:
            self._fail(about)
        elif kind == "down":
            for j in self.victims(self, happening):
                self._fail(j)
            state.servers -= self.width(about)
            state.spoilt = True
        elif kind == "up":
            state.servers += self.width(about)
            state.spoilt = True
        elif kind in ("stop", "resume"):
            state.spoilt |= state.stopped and kind == "resume"
            state.stopped = kind == "stop"

    def _withdraw(self, j: int) -> None:
        state = self.state
        if j >= state.arrivals:
            self.fates[j].state = "cancelled"
        elif j in state.running:
            self._kill(j)
        elif j in state.present:
            before = len(state.present)
            state.present.remove(j)
            state.ended_early |= state.promises.pop(j, None) is not None
            self.fates[j] = Fate("cancelled", state.now, self.fates[j].restarts)
            self._tell("D", before, next(self.coins, None))

    def _kill(self, j: int) -> None:
        state = self.state
        before = len(state.present)
        state.ended_early |= state.clock < state.started[j] + state.jobs[j].plan
        state.present.remove(j)
        self._stop(j)
        self.end[j] = state.now
        self.fates[j] = Fate("killed", state.now, self.fates[j].restarts)
        self._tell("D", before, next(self.coins, None))

    def _fail(self, j: int) -> None:
        state = self.state
        if not self.requeue:
            self._kill(j)
            return
        self.lost.append((j, self.start.pop(j), state.now))
        self._stop(j)
        state.jobs[j] = self.original[j]
        state.remaining[j] = state.jobs[j].work
        self.fates[j].restarts += 1
        state.spoilt = True
        self._tell("S", len(state.present), None)

    def _stop(self, j: int) -> None:
        state = self.state
        self.area += state.jobs[j].procs * (state.jobs[j].work - state.remaining[j])
        super()._stop(j)

    def _arrive(self) -> None:
        state = self.state
        if self.fates[state.arrivals].state == "cancelled":
            self.fates[state.arrivals].left = state.now
            state.arrivals += 1
            return
        super()._arrive()


def simulate_around(
    jobs: Sequence[Job],
    servers: int,
    discipline: Discipline,
    control: Control,
    happenings: Sequence[Happening],
    reservations: Sequence[Reservation] = (),
    coins: Sequence[float] = (),
    *,
    requeue: bool = False,
) -> ExternalOutcome:
    """Run all jobs with external events; the other parameters as of `recursion.simulate`."""
    exact_jobs = [Job(exact(j.submit), exact(j.work), j.procs, exact(j.plan)) for j in jobs]
    run = ExternalRun(
        exact_jobs, servers, discipline, control, coins, happenings, reservations, requeue
    )
    return run.to_the_end()
