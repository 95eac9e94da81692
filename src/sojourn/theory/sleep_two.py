"""Two servers that sleep, and jobs that need one or both: the two-server model with setup.

Poisson arrivals; a job needs one server or both at once, and jobs start in the order in which they
come. Present jobs want w servers: both if there are two jobs or a wide one, else one, else none.
While fewer than w servers are on, the others that are wanted are in setup; a setup that is wanted
no more is given up. Servers that are on beyond w are switched off after their delay. A server that
is on and waits for the other one, because a wide job is next, is wanted, and stays on.

The chain has as levels the number of jobs. Who is served follows from the first two jobs: a wide
one is first (W); two narrow ones (NN); a narrow and a wide one (NW). All others are drawn when they
become one of the first two. With how many servers are on, a level has at most nine phases, and from
two jobs on they repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..checks import non_negative, numbers, positive, probability, stable
from ..errors import OptionError
from ._qbd import Levels, block, solve
from ._sleeping import SleepingSystem
from .saturated import max_throughput

Phase = tuple[str, int]
"""The first jobs (N and W: one job), and how many servers are on."""

_FRONTS = (("",), ("N", "W"), ("NN", "NW", "W"))


def sleeping_two_server(
    arrival_rate: float,
    p1: float,
    service_rates: ArrayLike = 1.0,
    *,
    setup: float,
    delay: float = 0.0,
) -> SleepingTwoServer:
    """Solve the two-server system whose servers are switched off when idle, exactly.

    Parameters
    ----------
    arrival_rate : of the Poisson arrivals (1/s).
    p1 : probability that a job needs one server; else it needs both.
    service_rates : of jobs of width 1 and 2 (1/s), or one for both; exponential.
    setup : mean time to wake a server (s), exponential.
    delay : mean time that a server that is not wanted stays on (s), exponential; 0 switches it off
        at once, infinity never, which leaves `two_server`.

    Examples
    --------
    >>> from math import inf
    >>> from sojourn.theory import sleeping_two_server, two_server
    >>> for delay in (0, 10, inf):
    ...     print(round(sleeping_two_server(0.3, 0.5, setup=2.0, delay=delay).mean_wait, 4))
    2.621
    1.3327
    0.315
    >>> round(two_server(0.3, 0.5).mean_wait, 4)
    0.315
    """
    rate, narrow = positive(arrival_rate, "arrival_rate"), probability(p1, "p1")
    rates = numbers(service_rates, "service_rates").reshape(-1)
    if rates.size not in (1, 2):
        raise OptionError(f"service_rates: {rates.size} rates; give one, or one for each width")
    first, second = (positive(float(x), "service_rates") for x in np.broadcast_to(rates, 2))
    stays = delay if delay == math.inf else non_negative(delay, "delay")
    limit = max_throughput([narrow, 1 - narrow], [first, second], 2)
    stable(rate / limit, limit)
    return SleepingTwoServer(rate, narrow, (first, second), positive(setup, "setup"), stays)


@dataclass(frozen=True)
class SleepingTwoServer(SleepingSystem):
    """The stationary distribution of two servers that sleep, and what follows from it.

    Parameters
    ----------
    arrival_rate : 1/s.
    p1 : probability that a job needs one server.
    service_rates : of jobs of width 1 and 2 (1/s).
    setup, delay : mean times (s).
    """

    arrival_rate: float
    p1: float
    service_rates: tuple[float, float]
    setup: float
    delay: float

    def _phases(self, jobs: int) -> list[Phase]:
        """The phases of a level."""
        on = (2,) if self.delay == math.inf else (0, 1, 2)
        return [(front, servers) for front in _FRONTS[min(jobs, 2)] for servers in on]

    def _after(self, front: str, jobs: int) -> Iterator[tuple[str, float]]:
        """Who is first, with which probability, where `front` are and further jobs follow."""
        if front == "W" or len(front) >= min(jobs, 2):
            yield front, 1.0
            return
        for letter, share in (("N", self.p1), ("W", 1 - self.p1)):
            for whole, more in self._after(front + letter, jobs):
                yield whole, share * more

    def _joined(self, jobs: int, phase: Phase) -> Iterator[tuple[Phase, float]]:
        """Rates of arrivals: the phase that each makes."""
        front, on = phase
        for after, share in self._after(front, jobs + 1):
            yield (after, on), self.arrival_rate * share

    def _left(self, jobs: int, phase: Phase) -> Iterator[tuple[Phase, float]]:
        """Rates of departures: the phase that each leaves behind."""
        front, on = phase
        served = _served(front, on)
        if not served:
            return
        if front == "W":
            rate, rest = self.service_rates[1], ""
        else:
            rate, rest = served * self.service_rates[0], front[1:]
        for after, share in self._after(rest, jobs - 1):
            # Without a delay a server that is not wanted goes off at once.
            still = on if self.delay else min(on, _wanted(after))
            yield (after, still), rate * share

    def _switched(self, jobs: int, phase: Phase) -> Iterator[tuple[Phase, float]]:
        """Rates at which a server is on, or off."""
        front, on = phase
        wanted = _wanted(front)
        if wanted > on:
            yield (front, on + 1), (wanted - on) / self.setup
        elif wanted < on and self.delay < math.inf:
            # A state that is never reached must lead back.
            yield (front, on - 1), (on - wanted) / (self.delay or 1.0)

    @cached_property
    def _levels(self) -> Levels:
        def rates(
            step: Callable[..., Iterator[tuple[Phase, float]]], jobs: int, more: int
        ) -> Floats:
            return block(self._phases(jobs), self._phases(jobs + more), partial(step, jobs))

        up, down, within = (
            [rates(step, jobs, more) for jobs in range(3)]
            for step, more in ((self._joined, 1), (self._left, -1), (self._switched, 0))
        )
        return solve(up, down, rates(self._left, 3, -1), within)

    def _mean(self, number: Callable[[str, int], int]) -> float:
        """Mean of a number of servers, by who is first and how many are on."""
        levels = self._levels
        parts = [levels.level(0), levels.level(1), levels.above]
        return sum(
            float(part[i]) * number(front, on)
            for jobs, part in enumerate(parts)
            for i, (front, on) in enumerate(self._phases(jobs))
        )

    @cached_property
    def mean_number(self) -> float:
        """Mean number of jobs in the system."""
        return self._levels.mean

    @property
    def mean_service(self) -> float:
        """Mean time in service (s)."""
        return self.p1 / self.service_rates[0] + (1 - self.p1) / self.service_rates[1]

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return 2

    @property
    def mean_busy(self) -> float:
        """Mean number of servers that serve a job."""
        work = self.p1 / self.service_rates[0] + 2 * (1 - self.p1) / self.service_rates[1]
        return self.arrival_rate * work

    @cached_property
    def mean_idle(self) -> float:
        """Mean number of servers that are on and idle, be they wanted or not."""
        return self._mean(lambda front, on: on - _busy(front, on))

    @cached_property
    def mean_waking(self) -> float:
        """Mean number of servers in setup."""
        return self._mean(lambda front, on: max(_wanted(front) - on, 0))


def _wanted(front: str) -> int:
    """How many servers the jobs that are present want."""
    return {"": 0, "N": 1}.get(front, 2)


def _served(front: str, on: int) -> int:
    """How many jobs are served."""
    if front == "W":
        return 1 if on == 2 else 0
    return min(on, 2 if front == "NN" else len(front[:1]))


def _busy(front: str, on: int) -> int:
    """How many servers serve a job."""
    return 2 * _served(front, on) if front == "W" else _served(front, on)
