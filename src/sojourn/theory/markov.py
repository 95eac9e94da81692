"""Small FCFS systems with simultaneous service and rate control, solved exactly.

Poisson arrivals, exponential service times by class, all servers of a job released together, and
a common speed that follows the events [rumyantsev2018, sec. III]. The number in the system and
the phase form a chain that moves one level at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..checks import positive, probability, stable
from ..errors import OptionError
from ._chain import explore
from ._phases import NOBODY, Classes, Phase, classes_of
from ._qbd import Levels, block, solve
from ._speeds import SpeedControl, control_of

_MOST = 2_000
"""States of a level: the largest matrices that are solved in seconds."""


_TOO_LARGE = (
    f"p: more than {_MOST:,} states of a level, too many servers or widths for an exact solution; "
    "approximate with sojourn.theory.response_time, or simulate"
)


class _Power(Protocol):
    """Watts of a server by its speed; every power model of `sojourn.cluster` will do."""

    def busy(self, rate: Floats) -> Floats: ...

    def idle(self, rate: Floats) -> Floats: ...


class _State(NamedTuple):
    phase: Phase
    speed: int


def small_system(
    arrival_rate: float,
    p: ArrayLike,
    service_rates: ArrayLike = 1.0,
    servers: int | None = None,
    *,
    speeds: ArrayLike = 1.0,
    switch: tuple[float, float] | None = None,
    thresholds: tuple[ArrayLike, ArrayLike] | None = None,
) -> SmallSystem:
    """Solve an FCFS system of few servers as a Markov chain.

    Parameters
    ----------
    arrival_rate : of the Poisson arrivals (1/s).
    p : p[k-1] is the probability that a job needs k servers at once.
    service_rates : service rate of each width (1/s) at speed 1, or one for all.
    servers : of the machine; as many as `p` has entries if not given.
    speeds : of all servers, increasing; the system begins with the first.
    switch : probability that a departure lowers the speed to the first of two, and that an
        arrival raises it to the second [rumyantsev2018, eq. 5].
    thresholds : numbers of jobs k_L and k_H between each speed and the next: at k_L and below the
        speed goes down, above k_H up [rumyantsev2018, sec. III-A].

    Examples
    --------
    >>> from sojourn.theory import small_system
    >>> system = small_system(1.4, [1.0], servers=2)
    >>> round(system.mean_wait, 7)
    0.9607843
    """
    rate = positive(arrival_rate, "arrival_rate")
    classes = classes_of(p, service_rates, servers)
    return SmallSystem(rate, classes, control_of(speeds, switch, thresholds))


def two_server(
    arrival_rate: float,
    p1: float,
    service_rates: ArrayLike = 1.0,
    *,
    speeds: ArrayLike = 1.0,
    switch: tuple[float, float] | None = None,
    thresholds: tuple[ArrayLike, ArrayLike] | None = None,
) -> SmallSystem:
    """Solve the two-server system: a job needs one server with probability `p1`, else both.

    The other parameters are those of `small_system`.

    Examples
    --------
    >>> from sojourn.theory import two_server
    >>> system = two_server(0.8, 0.5)
    >>> round(system.mean_number, 7), round(system.mean_wait, 7)
    (2.5227019, 2.1533773)
    """
    narrow = probability(p1, "p1")
    p = [narrow, 1 - narrow]
    return small_system(
        arrival_rate, p, service_rates, 2, speeds=speeds, switch=switch, thresholds=thresholds
    )


@dataclass(frozen=True)
class SmallSystem:
    """The stationary distribution of a small system, and what follows from it.

    Parameters
    ----------
    arrival_rate : of the Poisson arrivals (1/s).
    classes : widths, shares and service rates of the jobs; the servers.
    control : the speeds and when they change.
    """

    arrival_rate: float
    classes: Classes
    control: SpeedControl

    def __post_init__(self) -> None:
        if self.classes.combinations > _MOST:
            raise OptionError(_TOO_LARGE)
        limit = self.max_throughput
        stable(self.arrival_rate / limit, limit)
        _ = self._states

    @cached_property
    def max_throughput(self) -> float:
        """Arrival rate (1/s) at which the queue begins to grow without bound."""
        from .saturated import throughput_of

        speeds, switch = self.control.speeds, self.control.switch
        if switch is not None:
            return throughput_of(self.classes, (speeds[0], speeds[-1]), switch)
        # Any queue that grows ends up at the highest speed.
        return throughput_of(self.classes, (speeds[-1], speeds[-1]), (0.0, 0.0))

    @property
    def load(self) -> float:
        """Rho, below 1: the arrival rate over the largest the system can take."""
        return self.arrival_rate / self.max_throughput

    def _up(self, n: int, state: _State) -> Iterator[tuple[_State, float]]:
        for phase, share in self.classes.arrive(state.phase):
            for speed, chance in self.control.at_arrival(n, state.speed):
                yield _State(phase, speed), self.arrival_rate * share * chance

    def _down(self, n: int, state: _State) -> Iterator[tuple[_State, float]]:
        pace = self.control.speeds[state.speed]
        waiting = n - sum(state.phase.running)
        for kind, rate in self.classes.departures(state.phase):
            for phase, share in self.classes.depart(state.phase, kind, waiting).items():
                for speed, chance in self.control.at_departure(n, state.speed):
                    yield _State(phase, speed), pace * rate * share * chance

    @cached_property
    def _last(self) -> int:
        """The level from which on all levels look the same."""
        return max(self.classes.together, self.control.highest) + 1

    @cached_property
    def _states(self) -> list[list[_State]]:
        """States of each level; those of the last are the states of all levels above too."""
        last = self._last

        def neighbours(at: tuple[int, _State]) -> list[tuple[int, _State]]:
            n, state = at
            reached = [(min(n + 1, last), after) for after, _ in self._up(n, state)]
            if n:
                reached += [(n - 1, after) for after, _ in self._down(n, state)]
            if n == last:
                reached += [(n, after) for after, _ in self._down(n + 1, state)]
            return reached

        begin = (0, _State(self.classes.empty, self.control.begin))
        levels: list[list[_State]] = [[] for _ in range(last + 1)]
        states = explore([begin], neighbours, most=_MOST * (last + 1))
        for n, state in states or ():
            levels[n].append(state)
        if states is None or max(map(len, levels)) > _MOST:
            raise OptionError(_TOO_LARGE)
        return levels

    @cached_property
    def levels(self) -> Levels:
        """Stationary probabilities by the number in the system."""
        states, last = self._states, self._last
        up = [
            block(states[n], states[min(n + 1, last)], partial(self._up, n))
            for n in range(last + 1)
        ]
        down = [np.zeros((len(states[0]), 0))]
        down += [
            block(states[n], states[n - 1], partial(self._down, n)) for n in range(1, last + 1)
        ]
        return solve(up, down, block(states[last], states[last], partial(self._down, last + 1)))

    def pmf(self, n: ArrayLike) -> Floats:
        """Probability of n jobs in the system, waiting or running."""
        numbers = np.asarray(n)
        wanted = [float(self.levels.level(int(k)).sum()) if k >= 0 else 0.0 for k in numbers.flat]
        return np.array(wanted).reshape(numbers.shape)

    def mean(self, value: Callable[[Phase, float], float]) -> float:
        """Long-run mean of a value of (phase, speed).

        Parameters
        ----------
        value : of a phase (`running`, the number of each class; `head`, the class that blocks the
            queue, or -1) and a speed.
        """
        speeds = self.control.speeds
        chances = [*self.levels.boundary[:-1], self.levels.above]
        return sum(
            float(pi @ [value(s.phase, speeds[s.speed]) for s in states])
            for pi, states in zip(chances, self._states, strict=True)
        )

    @property
    def empty(self) -> float:
        """Probability that nobody is there."""
        return float(self.levels.boundary[0].sum())

    @property
    def mean_number(self) -> float:
        """Mean number of jobs in the system."""
        return self.levels.mean

    @property
    def var_number(self) -> float:
        """Variance of the number of jobs in the system."""
        return self.levels.second - self.levels.mean**2

    @cached_property
    def mean_running(self) -> float:
        """Mean number of jobs in service."""
        return self.mean(lambda phase, speed: sum(phase.running))

    @cached_property
    def mean_waiting(self) -> float:
        """Mean number of jobs in the queue."""
        # Added up, not the difference of two means: in light traffic these are nearly equal.
        chances = [*self.levels.boundary[:-1], self.levels.above]
        queued = sum(
            float(pi @ [n - sum(state.phase.running) for state in states])
            for n, (pi, states) in enumerate(zip(chances, self._states, strict=True))
        )
        return queued + self.levels.excess

    @property
    def mean_wait(self) -> float:
        """Mean wait of a job (s), by Little's law."""
        return self.mean_waiting / self.arrival_rate

    @property
    def mean_response(self) -> float:
        """Mean time from arrival to departure (s)."""
        return self.mean_number / self.arrival_rate

    @cached_property
    def delay_probability(self) -> float:
        """Probability that a job has to wait at all."""
        shares = self.classes.shares

        def waits(phase: Phase, speed: float) -> float:
            if phase.head != NOBODY:
                return 1.0
            return sum(p for kind, p in enumerate(shares) if not self.classes.fits(phase, kind))

        return min(self.mean(waits), 1.0)

    @cached_property
    def mean_busy(self) -> float:
        """Mean number of servers in use."""
        return self.mean(lambda phase, speed: self.classes.busy(phase))

    @property
    def utilisation(self) -> float:
        """Share of the servers in use."""
        return self.mean_busy / self.classes.servers

    @cached_property
    def speed_shares(self) -> dict[float, float]:
        """Share of the time at each speed."""

        def share(pace: float) -> float:
            return self.mean(lambda phase, speed: float(speed == pace))

        return {pace: share(pace) for pace in self.control.speeds}

    def mean_power(self, power: _Power) -> float:
        """Mean power of all servers (W) [rumyantsev2018, eq. 11].

        Parameters
        ----------
        power : watts of a busy and of an idle server by speed, such as `sojourn.XEON_5430`.
        """
        paces = np.array(self.control.speeds)
        watts_of = {
            pace: (float(busy), float(idle))
            for pace, busy, idle in zip(
                self.control.speeds, power.busy(paces), power.idle(paces), strict=True
            )
        }

        def watts(phase: Phase, speed: float) -> float:
            used = self.classes.busy(phase)
            busy, idle = watts_of[speed]
            return used * busy + (self.classes.servers - used) * idle

        return self.mean(watts)

    def energy_per_job(self, power: _Power) -> float:
        """Energy of the whole system per job (J)."""
        return self.mean_power(power) / self.arrival_rate
