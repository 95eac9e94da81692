"""The nouns of the recursion: jobs, the state at an instant, and what a run leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

# An integer is an exact rational too, and a much faster one: integral values stay `int`.
Exact = int | Fraction

# A point of the work clock. An overdue job is expected to end right after now, later than
# now and earlier than every other instant: the second component counts that infinitesimal,
# so that tuples compare as the instants do.
Instant = tuple[Exact, int]


def exact(value: float | Fraction) -> Exact:
    """The rational that `value` is, without rounding."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else number


def ratio(numerator: Exact, denominator: Exact) -> Exact:
    """Quotient of two rationals."""
    return numerator if denominator == 1 else exact(Fraction(numerator, denominator))


class Job(NamedTuple):
    """A customer: submit (s), work and plan (s at rate 1), procs (servers)."""

    submit: Exact
    work: Exact
    procs: int
    plan: Exact


@dataclass
class State:
    """System state after the last event [rumyantsev2018, sec. II-A], and what the pass may know."""

    jobs: Sequence[Job]
    servers: int
    rate: Exact
    now: Exact
    clock: Exact  # V(now), the integral of the rate
    arrivals: int = 0  # A(now): also the label of the next customer
    present: list[int] = field(default_factory=list)  # M_i, in the order of arrival
    running: list[int] = field(default_factory=list)  # script M_i (errata 1)
    remaining: dict[int, Exact] = field(default_factory=dict)  # B_i
    started: dict[int, Exact] = field(default_factory=dict)  # clock at the latest start
    arrived: list[int] = field(default_factory=list)  # since the last pass
    departed: list[int] = field(default_factory=list)  # since the last pass
    ended_early: bool = False  # since the last pass
    promises: dict[int, Instant] = field(default_factory=dict)
    first_promises: dict[int, Instant] = field(default_factory=dict)
    was_overdue: bool = False  # at the beginning of the previous pass
    moved: list[int] = field(default_factory=list)  # in this pass, to other nodes
    scored: dict[int, Job] = field(default_factory=dict)  # who came back smaller: as it was

    def rated(self, j: int) -> Job:
        """A job as scores see it, which do not know how much of it is done."""
        return self.scored.get(j, self.jobs[j])

    @property
    def waiting(self) -> list[int]:
        """M_i without script M_i, in the order of arrival."""
        return [j for j in self.present if j not in self.running]

    @property
    def busy(self) -> int:
        """Busy servers, phi_i."""
        return sum(self.jobs[j].procs for j in self.running)

    @property
    def there(self) -> int:
        """Servers that a preemptive discipline can give away now."""
        return self.servers

    @property
    def selects(self) -> bool:
        """Whether LPF and SPF choose anew in this pass."""
        return bool(self.departed)

    @property
    def workload(self) -> Exact:
        """Remaining work of all present, W_i."""
        return sum(self.remaining[j] for j in self.present)

    @property
    def overdue(self) -> bool:
        """Whether a running job is at or past its planned end."""
        return any(self.started[j] + self.jobs[j].plan <= self.clock for j in self.running)


class Discipline(NamedTuple):
    """Who runs.

    `select` gives the running set after a pass; `wake` the point of the work clock at which
    the discipline wants a pass of its own, if any; `preemptive`: whether it stops jobs.
    """

    select: Callable[[State], list[int]]
    wake: Callable[[State], Exact | None] = lambda state: None
    preemptive: bool = False


class Event(NamedTuple):
    """What a control sees: kind "A", "D" or "S", counts, workload, rate and the event's coin."""

    kind: str
    present_before: int
    present: int
    workload: Exact
    rate: Exact
    coin: float | None


class Control(NamedTuple):
    """How fast: the initial rate, the rate after an event, the W that fires the switch timer."""

    initial: Exact
    rate: Callable[[Event], Exact]
    level: Callable[[Exact], Exact | None] = lambda rate: None


class Row(NamedTuple):
    """The system right after a scheduling pass."""

    time: Exact
    rate: Exact
    present: int
    queued: int
    busy: int
    running: int
    workload: Exact


class Segment(NamedTuple):
    """An uninterrupted stretch of service of one job."""

    job: int
    start: Exact
    stop: Exact


@dataclass
class Outcome:
    """Start (first start), end and first promise per job; service segments; the trajectory.

    `promises` are points of the work clock (equal to times at rate 1), None where none was
    given; the infinitesimal of a promise made beside an overdue job is dropped.
    """

    start: list[Fraction]
    end: list[Fraction]
    segments: list[Segment]
    trajectory: list[Row]
    promises: list[Fraction | None]

    @property
    def rates(self) -> list[tuple[Exact, Exact]]:
        """Rate epochs (time, rate): times increase strictly, neighbouring rates differ."""
        last = {row.time: row.rate for row in self.trajectory}
        epochs: list[tuple[Exact, Exact]] = []
        for time, rate in last.items():
            if not epochs or epochs[-1][1] != rate:
                epochs.append((time, rate))
        return epochs
