"""External events: jobs cancelled and killed, processors down and up, stops, reservations.

At one instant jobs end, then external events come in their order, then arrivals and the switch
timer; one pass follows. With a pass after each event arrivals come first, then ends, one by one,
then external events. Every discipline plans around what is reserved: a job starts if it fits
for all of its plan. Preemptive ones do without what is reserved, while it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .caps import Fall
from .checkpoints import Checkpoint, Lives, with_dumps
from .model import Control, Discipline, Exact, Job, Outcome, Segment, exact
from .recursion import _Run
from .surroundings import Around, Reservation, around

__all__ = [
    "ExternalOutcome",
    "ExternalRun",
    "Fate",
    "Happening",
    "Reservation",
    "around",
    "in_full",
    "last_started",
    "simulate_around",
]

# (started, label) of the running jobs that an event may stop, the first to go last.
Victims = Callable[["ExternalRun", "Happening"], list[int]]


class Happening(NamedTuple):
    """What happens: kind, and the job, number of processors or node that it is about.

    "withdraw" a job (cancelled if it waits, killed if it runs), "strike" it (a node of it fails),
    "down", "up", "stop", "resume", "edge" (a reservation begins or ends), or "look" (nothing, but
    a pass). With `joined` it is of one event with the one before it, at the same time.
    """

    time: Exact
    kind: str
    about: int = 0
    joined: bool = False


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
    lost_service: list[Segment]  # what was lost, stretch by stretch
    run: Outcome
    ended: Exact
    area: Exact  # processors times work, of all attempts


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
        lives: Lives | None = None,
    ) -> None:
        super().__init__(jobs, servers, discipline, control, coins)
        self.lives = lives or Lives(jobs, ())
        state = self.state
        self.state = Around(
            jobs, servers, state.rate, state.now, state.clock, reservations=reservations
        )
        looks = [Happening(r.end, "edge", joined=r.joined) for r in reservations]
        if discipline.preemptive:
            looks += [Happening(r.begin, "edge", joined=r.joined) for r in reservations]
        origin = state.now
        # Nothing happens before the first job comes; what was due then keeps its order.
        in_order = sorted([*looks, *happenings], key=lambda h: h.time)
        self.happenings = [h._replace(time=max(exact(h.time), origin)) for h in in_order]
        self.requeue = requeue
        self.victims = victims
        self.width = width
        self.fates = [Fate() for _ in jobs]
        self.lost: list[tuple[int, Exact, Exact]] = []
        self.attempts: dict[int, list[Segment]] = {}
        self.lost_service: list[Segment] = []
        self.area: Exact = 0
        self.original = list(jobs)

    def to_the_end(self, passes: str = "instant") -> ExternalOutcome:
        """Until nobody is left, or nothing will ever happen."""
        state = self.state
        step = self.instant if passes == "instant" else self.events
        while state.arrivals < len(state.jobs) or state.present:
            # With promises compressed in order there may be a gap in which nobody runs.
            ahead = state.running or self.happenings or self.is_on_the_way()
            ahead = ahead or self.discipline.wake(state) is not None
            if not ahead and state.arrivals == len(state.jobs):
                break
            step(self.advance())
        labels = range(len(state.jobs))
        promised = [state.first_promises.get(j) for j in labels]
        promises = [None if first is None else Fraction(first[0]) for first in promised]
        trajectory = Outcome([], [], sorted(self.segments), self.trajectory, promises)
        return ExternalOutcome(
            [self.start.get(j) for j in labels],
            [self.end.get(j) for j in labels],
            self.fates,
            self.lost,
            sorted(self.lost_service),
            trajectory,
            state.now,
            self.area,
        )

    def is_on_the_way(self) -> bool:
        """Whether something comes back that is away: nothing does here."""
        return False

    def latest_first(self, jobs: Sequence[int]) -> list[int]:
        """By label and start of their present service, the latest first."""
        return sorted(jobs, key=lambda j: (self.resumed[j], j), reverse=True)

    def advance(self) -> bool:
        state = self.state
        before, rate = state.now, state.rate
        left = {j: state.remaining[j] for j in state.running}
        switch_due = super().advance()
        self.lives.note(state, before, left, rate, self.boots())
        return switch_due

    def boots(self) -> dict[int, Exact]:
        """What is before the work of jobs while their nodes boot: none do here."""
        return {}

    def _other_epochs(self) -> list[Exact]:
        return [self.happenings[0].time] if self.happenings else []

    def instant(self, switch_due: bool) -> None:
        state = self.state
        for j in self._complete():
            self._complete_one(j)
        while self.happenings and self.happenings[0].time <= state.now:
            self._happen(self.happenings.pop(0))
        while self._arrival_due():
            self._arrive()
        if switch_due:
            self._switch()
        self._pass()

    def events(self, switch_due: bool) -> None:
        rows = len(self.trajectory)
        while True:
            over = len(self.trajectory) > rows and not self._somebody_is_or_comes()
            changed = not over and self._change_states()
            if self._arrival_due():
                self._arrive()
            elif complete := self._complete():
                self._complete_one(complete[0])
            elif self._somebody_comes() and self.happenings[0].time <= self.state.now:
                self._happen(self.happenings.pop(0))
                while self.happenings and self.happenings[0].joined:
                    self._happen(self.happenings.pop(0))
            elif not changed:
                break
            self._pass()
        if switch_due:
            self._switch()
            self._pass()
        if len(self.trajectory) == rows:
            self._pass()

    def _change_states(self) -> bool:
        """End changes of what there is that are due; whether some were: none are here."""
        return False

    def _somebody_comes(self) -> bool:
        """Whether something happens while a job is there or still to come."""
        return bool(self.happenings) and self._somebody_is_or_comes()

    def _somebody_is_or_comes(self) -> bool:
        """Whether a job is there or still to come."""
        state = self.state
        return state.arrivals < len(state.jobs) or bool(state.present)

    def _complete_one(self, j: int) -> None:
        self._depart(j)
        self.fates[j] = Fate("completed", self.state.now, self.fates[j].restarts)

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
            state.spoilt = state.changed = True
        elif kind == "up":
            state.servers += self.width(about)
            state.spoilt = state.changed = True
        elif kind in ("stop", "resume"):
            goes_on = state.stopped and kind == "resume"
            state.spoilt |= goes_on
            state.changed |= goes_on
            state.stopped = kind == "stop"
        elif kind == "edge":
            state.changed = True

    def _withdraw(self, j: int) -> None:
        state = self.state
        if j >= state.arrivals:
            self.fates[j].state = "cancelled"
        elif j in state.running:
            self._kill(j)
        elif j in state.present:
            before = len(state.present)
            state.present.remove(j)
            state.changed = True
            state.ended_early |= state.promises.pop(j, None) is not None
            self.fates[j] = Fate("cancelled", state.now, self.fates[j].restarts)
            self._tell("D", before, next(self.coins, None))

    def _kill(self, j: int) -> None:
        state = self.state
        before = len(state.present)
        state.ended_early |= state.clock < state.started[j] + state.jobs[j].plan
        state.present.remove(j)
        state.changed = True
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
        stretches = self.attempts.pop(j)
        state.jobs[j] = state.scored[j] = self.original[j]
        if j in self.lives.of:
            stretches = self.lives.again(j, stretches, state.now)
            work, plan = self.lives.size(j)
            state.jobs[j] = self.original[j]._replace(work=work, plan=plan)
        self.lost_service += stretches
        state.remaining[j] = state.jobs[j].work
        self.fates[j].restarts += 1
        state.spoilt = state.changed = True
        self._tell("S", len(state.present), None)

    def _stop(self, j: int) -> None:
        state = self.state
        self.area += state.jobs[j].procs * (state.clock - state.started[j])
        super()._stop(j)
        self.attempts.setdefault(j, []).append(self.segments[-1])

    def _arrive(self) -> None:
        state = self.state
        if self.fates[state.arrivals].state == "cancelled":
            self.fates[state.arrivals].left = state.now
            state.arrivals += 1
            return
        super()._arrive()


def in_full(jobs: Sequence[Job], checkpoints: Sequence[Checkpoint]) -> list[Job]:
    """Jobs with their dumps."""
    if not checkpoints:
        return list(jobs)
    return [
        job._replace(work=with_dumps(job.work, it), plan=with_dumps(job.plan, it))
        for job, it in zip(jobs, checkpoints, strict=True)
    ]


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
    passes: str = "instant",
    checkpoints: Sequence[Checkpoint] = (),
    limits: Sequence[Fall] = (),
) -> ExternalOutcome:
    """Run all jobs with external events; the other parameters as of `recursion.simulate`.

    `limits`: how many processors caps let be busy.
    """
    exact_jobs = [Job(exact(j.submit), exact(j.work), j.procs, exact(j.plan)) for j in jobs]
    run = ExternalRun(
        in_full(exact_jobs, checkpoints),
        servers,
        discipline,
        control,
        coins,
        happenings,
        reservations,
        requeue,
        lives=Lives(exact_jobs, checkpoints),
    )
    run.state.limits = limits
    return run.to_the_end(passes)
