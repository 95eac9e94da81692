"""Nodes that sleep as the simulation has them: M/M/c with setup, where a boot belongs to its job.

Poisson arrivals, exponential service, boots and idle times. A job that finds an idle server that is
on takes it; else it takes one that is off, if there is one, and the boot is the first part of its
service; else it waits for the next server that is left. No boot is given up, and nobody takes a
server that is free sooner. A server that a job leaves, and nobody waits for, is switched off after
its delay, unless a job takes it before that.

With n jobs, b of which wait for their server's boot, and i servers idle, (n, b, i) is a chain:
min(n, c) - b jobs are served, and where n >= c nobody is idle. Levels are n; from c on they repeat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ._qbd import Levels, solve
from ._sleeping import SleepingSystem, checked

_MOST = 50
"""Servers beyond which solving takes more than seconds."""


def sleeping_nodes(
    arrival_rate: float,
    service_rate: float = 1.0,
    count: int = 1,
    *,
    setup: float,
    delay: float = 0.0,
) -> SleepingNodes:
    """Solve M/M/c with setup and delayed off where each boot belongs to the job that began it.

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
    One server that sleeps at once has one job to wake it: it is `sleeping_servers`. Of several, a
    job that waits for a boot of its own waits longer than one that takes whatever is up first.

    >>> from sojourn.theory import sleeping_nodes, sleeping_servers
    >>> round(sleeping_nodes(0.5, setup=10.0).mean_response, 9)
    12.0
    >>> round(sleeping_nodes(2.0, 1.0, 4, setup=10.0).mean_wait, 4)
    4.507
    >>> round(sleeping_servers(2.0, 1.0, 4, setup=10.0).mean_wait, 4)
    3.4621
    """
    return SleepingNodes(
        *checked(arrival_rate, service_rate, count, setup=setup, delay=delay, most=_MOST)
    )


@dataclass(frozen=True)
class SleepingNodes(SleepingSystem):
    """The stationary distribution of nodes that sleep, and what follows from it.

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

    def _phases(self, jobs: int) -> list[tuple[int, int]]:
        """Jobs whose servers boot, and idle servers, with so many jobs."""
        here = min(jobs, self.count)
        left = self.count - here
        if self.delay == math.inf:
            return [(0, left)]
        most = left if self.delay else 0
        return [(boots, idle) for boots in range(here + 1) for idle in range(most + 1)]

    def _left(self, jobs: int) -> Floats:
        """Rates from a level to the one below: somebody is served."""
        mine, below = self._phases(jobs), self._phases(jobs - 1)
        rates = np.zeros((len(mine), len(below)))
        for i, (boots, idle) in enumerate(mine):
            served = min(jobs, self.count) - boots
            # Whoever waits takes the server; else it is idle, or goes off at once.
            after = idle if jobs > self.count or not self.delay else idle + 1
            if served:
                rates[i, below.index((boots, after))] = served * self.service_rate
        return rates

    @cached_property
    def _levels(self) -> Levels:
        up, down, within = [], [], []
        for jobs in range(self.count + 1):
            mine, above = self._phases(jobs), self._phases(jobs + 1)
            come, change = np.zeros((len(mine), len(above))), np.zeros((len(mine), len(mine)))
            for i, (boots, idle) in enumerate(mine):
                after = boots, idle
                if jobs < self.count:
                    after = (boots, idle - 1) if idle else (boots + 1, 0)
                come[i, above.index(after)] = self.arrival_rate
                if boots:
                    change[i, mine.index((boots - 1, idle))] = boots / self.setup
                if idle and self.delay < math.inf:
                    change[i, mine.index((boots, idle - 1))] = idle / self.delay
            up.append(come)
            within.append(change)
            down.append(self._left(jobs) if jobs else np.zeros((len(mine), 0)))
        return solve(up, down, self._left(self.count + 1), within)

    def _shares(self) -> list[tuple[int, Floats]]:
        """Jobs, and probabilities of the phases; the last has all with c jobs or more."""
        levels = self._levels
        return [(n, levels.level(n)) for n in range(self.count)] + [(self.count, levels.above)]

    @cached_property
    def mean_number(self) -> float:
        """Mean number of jobs in the system, those whose servers boot with them."""
        return self._levels.mean

    @property
    def servers(self) -> int:
        """How many servers there are."""
        return self.count

    @property
    def mean_service(self) -> float:
        """Mean time in service (s), without the boot."""
        return 1 / self.service_rate

    @property
    def mean_busy(self) -> float:
        """Mean number of servers that serve a job."""
        return self.arrival_rate / self.service_rate

    @cached_property
    def mean_idle(self) -> float:
        """Mean number of servers that are on and idle."""
        return sum(
            float(pi @ [idle for _, idle in self._phases(jobs)]) for jobs, pi in self._shares()
        )

    @cached_property
    def mean_waking(self) -> float:
        """Mean number of servers in setup."""
        return sum(
            float(pi @ [boots for boots, _ in self._phases(jobs)]) for jobs, pi in self._shares()
        )

    @cached_property
    def boot_share(self) -> float:
        """Probability that a job wakes a server."""
        return sum(
            float(share)
            for jobs, pi in self._shares()[:-1]
            for (_, idle), share in zip(self._phases(jobs), pi, strict=True)
            if not idle
        )

    @property
    def wake_rate(self) -> float:
        """How often a server is woken (1/s)."""
        return self.arrival_rate * self.boot_share
