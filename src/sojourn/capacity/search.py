"""Trying machines of several sizes until the smallest that is good enough is known."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..jobs import Jobs
from ..jobs.arrivals import order_of_arrival
from ..policy import Policy
from ..policy.slurm import SlurmPolicy
from ..policy.slurm.site_cluster import scaled_conf
from ..run.simulate import simulate
from ..theory.response import Response
from ..theory.saturated import Saturated
from ..theory.stability import stability_constants
from .demand import Demand
from .targets import Target

_FACTOR = 1.25
_BELOW = 4
"""Sizes just below the answer that are tried too: waits need not fall with every processor."""
_CURVE = (0.75, 0.85, 0.93, 1.08, 1.2, 1.4)
"""Sizes of the curve, as multiples of the answer."""
_RESOLUTION = 500
_THEORY = 80
"""Points of the curve of theory."""
_LIKELY = 22
"""About how many sizes a search tries."""


@dataclass(frozen=True)
class Size:
    """One machine on which the log was run.

    Parameters
    ----------
    procs : its processors.
    values : the measure of each target (s).
    mean_wait : of all jobs (s).
    utilisation : share of the processors busy, from first submit to last end.
    met : whether every target holds.
    expected : the same measures by the formula for exponential service (s); inf where rho >= 1.
    """

    procs: int
    values: tuple[float, ...]
    mean_wait: float
    utilisation: float
    met: bool
    expected: tuple[float, ...]


@dataclass(frozen=True)
class Expected:
    """What theory expects over a range of sizes."""

    procs: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]  # of each target at each size (s); inf where rho >= 1


def whole(procs: float, step: int) -> int:
    """Return the least multiple of a step that is not below a number of processors."""
    return step * math.ceil(procs / step)


def expected_waits(
    demand: Demand, servers: int, targets: Sequence[Target], constant: float | None = None
) -> tuple[float, ...]:
    """Return the measures of waits (s) that theory expects; inf where rho >= 1.

    FCFS with exponential service of one rate, and arrivals as bursty as the days of the log: the
    largest throughput is 1 / (C E[S]) with 1 / C jobs in service [rumyantsev2014, eq. 3]; what
    the saturated system completes is taken to be a Poisson stream. `constant` is C on these
    servers where it is known.
    """
    jobs = 1 / (demand.constant(servers) if constant is None else constant)
    largest = jobs / demand.mean_service
    if demand.arrival_rate >= largest:
        return tuple(math.inf for _ in targets)
    alike = min(jobs, servers / demand.peakedness)
    full = Saturated(largest, jobs, jobs * demand.mean_width, alike, 1.0)
    waits = Response(demand.arrival_rate, demand.mean_service, full, demand.dispersion)
    # The longest of n waits is about the quantile that one of n exceeds.
    most = 1 - 1 / demand.jobs
    return tuple(
        waits.mean_wait if t.share is None else waits.wait_quantile(min(t.share, most))
        for t in targets
    )


class Search:
    """Runs a log on machines of several sizes.

    Parameters
    ----------
    jobs : the log, in order of submission.
    targets : all of which are to hold.
    policy : the discipline.
    step : sizes are multiples of it, but for that of today. Machines of 1,000 processors or more
        differ by 0.2 % at least: a processor more or less is not what makes waits there.
    demand : what the log asks for.
    options : of `simulate`.
    progress : called with (jobs simulated, about how many there will be).
    of_site : sizes are those of Slurm's own machine with more or fewer nodes of each kind; else
        processors are counted.
    """

    def __init__(
        self,
        jobs: Jobs,
        targets: Sequence[Target],
        policy: Policy,
        step: int,
        demand: Demand,
        options: Mapping[str, Any],
        progress: Callable[[int, int], None] | None = None,
        *,
        of_site: bool = False,
    ) -> None:
        self._jobs, self._targets, self._policy = jobs, targets, policy
        self._of_site = of_site
        self._demand, self._options, self._progress = demand, dict(options), progress
        self._tried: dict[int, Size] = {}
        self.waits: dict[int, Floats] = {}
        # A job that never fits, or more work than processors, rules smaller machines out.
        self._least = max(demand.widest, math.floor(demand.busy) + 1)
        self.step = whole(max(step, self._least // _RESOLUTION), step)
        self._floor = whole(self._least, self.step)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Every size that was tried, from the smallest on."""
        return tuple(self._tried[procs] for procs in sorted(self._tried))

    @property
    def answer(self) -> int | None:
        """The smallest size of whole steps from which on every size tried is good enough."""
        best = None
        for size in reversed(self.sizes):
            if not size.met:
                break
            if size.procs % self.step == 0:
                best = size.procs
        return best

    def theory(self) -> Expected:
        """Return what theory expects from the smallest size tried to the largest."""
        sizes = [size.procs for size in self.sizes] or [self._floor]
        procs = sorted({round(x) for x in np.linspace(sizes[0], sizes[-1], _THEORY)})
        known = stability_constants(self._demand.p, procs[-1])
        rows = [
            expected_waits(self._demand, s, self._targets, float(known[s - self._demand.widest]))
            for s in procs
        ]
        return Expected(tuple(procs), tuple(zip(*rows, strict=True)))

    def guess(self) -> int:
        """Return the smallest size at which theory expects the targets to hold."""

        def holds(steps: int) -> bool:
            values = expected_waits(self._demand, steps * self.step, self._targets)
            return self._all_met(values)

        low = high = self._floor // self.step
        while not holds(high):
            low, high = high + 1, 2 * high
        return self.step * (low + bisect_left(range(low, high), True, key=holds))

    def around(self, first: int, today: int) -> None:
        """Search from a first size on; the machine of today is tried too if it can be."""
        size = max(first, self._floor)
        while not self._try(size):
            size = self._moved(size, _FACTOR)
        while size > self._floor and self._try(size):
            size = self._moved(size, 1 / _FACTOR)
        if today >= self._least:
            self._try(today)
        self._narrow()
        for factor in _CURVE:
            self._try(self._moved(self.answer or size, factor))
        # A larger size of the curve may have failed, and the answer have moved behind it.
        self._narrow()
        answer = self.answer
        for k in range(1, _BELOW + 1):
            if answer is not None and answer - k * self.step >= self._floor:
                self._try(answer - k * self.step)

    def _narrow(self) -> None:
        """Bisect between the answer so far and the largest size that is not good enough."""
        while True:
            high = self.answer
            if high is None:
                # All sizes failed from some point on: go beyond the largest.
                self._try(self._moved(max(self._tried), _FACTOR))
                continue
            low = max((size.procs for size in self.sizes if not size.met), default=0)
            low = max(low, self._floor - self.step)
            middle = self.step * ((low + high) // (2 * self.step))
            if middle <= low:
                middle += self.step
            if not low < middle < high:
                return
            self._try(middle)

    def _moved(self, procs: int, factor: float) -> int:
        """Return another size, at least a step away and not below the floor."""
        near = whole(procs * factor, self.step)
        if near == procs:
            near += self.step if factor > 1 else -self.step
        return max(near, self._floor)

    def _try(self, procs: int) -> bool:
        """Run the log on a machine, once, and say whether it is good enough."""
        if procs not in self._tried:
            where, policy = self._machine(procs)
            result = simulate(
                self._jobs, where, policy, progress=self._report, clean=(), **self._options
            )
            wait = self._in_order(result.start - result.submit)
            if len(wait) < len(self._jobs):
                # A machine that some job never fits on is too small, however short waits are.
                wait = np.full(len(self._jobs), np.inf)
            values = tuple(target.of(wait) for target in self._targets)
            span = float(result.end.max(initial=self._jobs.submit[-1]) - self._jobs.submit[0])
            self._tried[procs] = Size(
                procs,
                values,
                float(wait.mean()),
                self._demand.mean_area * len(wait) / (procs * span),
                self._all_met(values),
                expected_waits(self._demand, procs, self._targets),
            )
            self.waits[procs] = wait
            self._report(0, len(wait))
        return self._tried[procs].met

    def _machine(self, procs: int) -> tuple[int | None, Policy]:
        """What a size is, and the policy there."""
        if not (self._of_site and isinstance(self._policy, SlurmPolicy)):
            return procs, self._policy
        return None, replace(self._policy, conf=scaled_conf(self._policy.conf, procs))

    def _in_order(self, wait: Floats) -> Floats:
        """Waits of jobs as they came, in the order of their submits."""
        order = order_of_arrival(self._jobs)
        if order is None:
            return wait
        placed = np.empty_like(wait)
        placed[order] = wait
        return placed

    def _all_met(self, values: Sequence[float]) -> bool:
        return all(t.is_met(value) for t, value in zip(self._targets, values, strict=True))

    def _report(self, arrived: int, jobs: int) -> None:
        if self._progress is not None:
            done = len(self._tried)
            self._progress(done * jobs + arrived, max(_LIKELY, done + 1) * jobs)
