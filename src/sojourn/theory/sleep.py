"""Servers that are switched off when idle and take their time to wake: M/M/c with setup.

Poisson arrivals, exponential service, setup and delay times [gandhi2014]. A job that finds no idle
server that is on puts one that is off into setup, if there is one. Jobs wait in one queue: the
server that is free first takes the next, and a setup that no waiting job needs any more is given
up. A server that becomes idle is switched off after its delay, unless a job arrives before that.

The number of jobs j and of servers that are on, i, form a chain: min(i, j) are busy, (i - j)+ idle,
min(c - i, (j - i)+) in setup, the others off. Levels are j; from c on they repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ._qbd import Levels, solve
from ._sleeping import SleepingSystem, checked

_MOST = 500
"""Servers beyond which solving takes more than seconds."""


def sleeping_servers(
    arrival_rate: float,
    service_rate: float = 1.0,
    count: int = 1,
    *,
    setup: float,
    delay: float = 0.0,
) -> SleepingServers:
    """Solve M/M/c with setup times and delayed off exactly.

    Parameters
    ----------
    arrival_rate : of the Poisson arrivals (1/s).
    service_rate : of one server (1/s).
    count : servers, c.
    setup : mean time to wake a server (s), exponential.
    delay : mean time that a server stays on idle (s), exponential; 0 switches it off at once,
        infinity never, which leaves M/M/c.

    Examples
    --------
    One server that sleeps at once: every first job of a busy period waits for the setup, and the
    mean response is that of M/M/1 and one setup more [gandhi2014].

    >>> from sojourn.theory import sleeping_servers
    >>> round(sleeping_servers(0.5, 1.0, setup=10.0).mean_response, 9)
    12.0
    """
    return SleepingServers(
        *checked(arrival_rate, service_rate, count, setup=setup, delay=delay, most=_MOST)
    )


@dataclass(frozen=True)
class SleepingServers(SleepingSystem):
    """The stationary distribution of M/M/c with setup and delayed off, and what follows from it.

    Parameters
    ----------
    arrival_rate, service_rate : 1/s.
    count : servers.
    setup, delay : mean times (s).
    """

    arrival_rate: float
    service_rate: float
    count: int
    setup: float
    delay: float

    @cached_property
    def _on(self) -> NDArray[np.int64]:
        """How many servers may be on: the phases of a level."""
        return np.arange(self.count if self.delay == math.inf else 0, self.count + 1)

    def _idle(self, jobs: int) -> NDArray[np.int64]:
        return np.maximum(self._on - jobs, 0)

    def _waking(self, jobs: int) -> NDArray[np.int64]:
        return np.minimum(self.count - self._on, np.maximum(jobs - self._on, 0))

    @cached_property
    def _levels(self) -> Levels:
        up = [self.arrival_rate * np.eye(len(self._on))] * (self.count + 1)
        down = [self._departures(jobs) for jobs in range(self.count + 1)]
        within = []
        for jobs in range(self.count + 1):
            wake = self._waking(jobs)[:-1] / self.setup
            # Without a delay nobody is idle; a state that is never reached must lead back.
            sleep = self._idle(jobs)[1:] / (self.delay or 1.0)
            within.append(np.diag(wake, 1) + np.diag(sleep, -1))
        return solve(up, down, np.diag(self._on * self.service_rate), within)

    def _departures(self, jobs: int) -> Floats:
        """Rates from a level to the one below; without a delay a server without a job goes off."""
        size = len(self._on)
        rates = np.zeros((size, size))
        after = self._on if self.delay else np.minimum(self._on, max(jobs - 1, 0))
        rates[np.arange(size), after - self._on[0]] = np.minimum(self._on, jobs)
        return rates * self.service_rate

    def _mean(self, count: Callable[[int], NDArray[np.int64]]) -> float:
        """Mean of a number of servers; from level c on it is the same at every level."""
        below = sum(float(self._levels.level(jobs) @ count(jobs)) for jobs in range(self.count))
        return below + float(self._levels.above @ count(self.count))

    @cached_property
    def mean_number(self) -> float:
        """Mean number of jobs in the system."""
        return self._levels.mean

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return self.count

    @property
    def mean_service(self) -> float:
        """Mean time in service (s)."""
        return 1 / self.service_rate

    @property
    def mean_busy(self) -> float:
        """Mean number of servers that serve a job."""
        return self.arrival_rate / self.service_rate

    @cached_property
    def mean_idle(self) -> float:
        """Mean number of servers that are on and idle."""
        return self._mean(self._idle)

    @cached_property
    def mean_waking(self) -> float:
        """Mean number of servers in setup."""
        return self._mean(self._waking)
