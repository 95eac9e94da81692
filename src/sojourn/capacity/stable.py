"""Whether a machine keeps up with a log, with what margin, and the smallest that would."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..arrays import Floats
from ..errors import OptionError, plural
from ..jobs import Jobs
from ..policy import Policy, Score, parse_policy
from ..theory.estimate import Estimate
from ..theory.stability import smallest_stable, stability_constants
from .backlog import Backlog
from .demand import LARGEST, Demand, demand_of
from .saturation import default_jobs, log_backlog, looks_at_all

_CURVE_REPLICATIONS, _CURVE_SIZES, _CURVE_POINTS = 4, 9, 200
_GROWTH = 1.3


@dataclass(frozen=True)
class Bound:
    """What a machine can take of a log's jobs under one assumption.

    Parameters
    ----------
    name : ``exponential`` for the formula, else the policy that was simulated.
    max_rate : largest arrival rate (jobs/s); low = value = high where it is exact.
    utilisation : share of processors busy at that rate.
    load : rho, the log's arrival rate over the largest.
    smallest : processors of the smallest machine with rho < 1.
    """

    name: str
    max_rate: Estimate
    utilisation: float
    load: float
    smallest: int

    @property
    def margin(self) -> float:
        """By how much the arrival rate could grow: 1 / rho - 1."""
        return 1.0 / self.load - 1.0

    @property
    def state(self) -> str:
        """``stable``, ``unstable``, or ``undecided`` where the interval has rho = 1 in it."""
        rate = self.load * self.max_rate.value
        if self.max_rate.low > rate:
            return "stable"
        return "unstable" if self.max_rate.high <= rate else "undecided"

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {**asdict(self), "margin": self.margin, "state": self.state}


@dataclass(frozen=True)
class Stability:
    """Whether a machine keeps up with a log.

    Parameters
    ----------
    procs : processors of the machine.
    demand : what the log asks for, without the jobs that are wider than the machine.
    unaccepted : how many those are.
    constant : C of the log's widths on this machine.
    exponential : by rho = lambda C E[S] [rumyantsev2014, eq. 3]: FCFS, exact if service times were
        exponential and did not depend on the width.
    simulated : for each policy, by working off a backlog of the log's own jobs.
    curve : largest arrival rate (jobs/s) against processors: ``exponential``, and each policy.
    """

    procs: int
    demand: Demand
    unaccepted: int
    constant: float
    exponential: Bound
    simulated: tuple[Bound, ...]
    curve: dict[str, tuple[NDArray[np.int64], Floats]]

    @property
    def offered(self) -> float:
        """Utilisation that the log offers: the area of its jobs over that of the machine."""
        return self.demand.busy / self.procs

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        return "; ".join(_sentence(bound) for bound in self.simulated or [self.exponential])

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; rates in jobs/s, times in s."""
        demand = self.demand
        return {
            "procs": self.procs,
            "jobs": demand.jobs,
            "unaccepted": self.unaccepted,
            "widest": demand.widest,
            "arrival_rate": demand.arrival_rate,
            "mean_service": demand.mean_service,
            "mean_width": demand.mean_width,
            "dependence": demand.dependence,
            "offered_utilisation": self.offered,
            "constant": self.constant,
            "exponential": self.exponential.as_dict(),
            "simulated": [bound.as_dict() for bound in self.simulated],
            "curve": {
                name: {"procs": sizes.tolist(), "max_rate": rates.tolist()}
                for name, (sizes, rates) in self.curve.items()
            },
            "verdict": self.verdict,
        }


def stability(
    jobs: Jobs,
    procs: int | None = None,
    *,
    policies: Sequence[str | Policy | Score] = ("fcfs",),
    batch: int | None = None,
    replications: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Stability:
    """Say whether a machine keeps up with a log, and by what margin.

    Parameters
    ----------
    jobs : the log, cleaned; jobs wider than the machine are left out, as `simulate` does.
    procs : processors; default: those of the log.
    policies : disciplines to simulate saturated, as for `simulate`.
    batch, replications, confidence, seed : of the saturated runs, see `saturated_throughput`.
    progress : called with (saturated runs done, about how many there will be).
    **options : of `simulate`, such as estimates and over_limit.

    Notes
    -----
    Two answers stand side by side: the formula, exact for exponential service times, and the
    simulation of the log's own jobs, drawn independently. A log that comes in bursts can still
    have long waits far below its limit; `plan` looks at those. The smallest machine is found by
    bisection, every size with the same draw. FCFS never loses throughput by more processors;
    other disciplines might, and for them the answer is the size at which the bisection ended.
    """
    size = checks.servers(jobs.max_procs if procs is None else procs, "procs", LARGEST)
    chosen = [parse_policy(policy) for policy in policies]
    fits = jobs.procs <= size
    if len(jobs) and not fits.any():
        raise OptionError(
            f"procs = {size}: every job of {jobs.source or 'the log'} is wider; give at least "
            f"{int(jobs.procs.min())}"
        )
    taken = jobs if fits.all() else jobs[fits]
    demand = demand_of(taken, options.get("over_limit", "kill"))
    rate, ratio = demand.arrival_rate, demand.constant(size)
    limit = 1 / (ratio * demand.mean_service)
    exact = Bound(
        "exponential",
        Estimate(limit, limit, limit, 1.0),
        limit * demand.mean_service * demand.mean_width / size,
        rate / limit,
        smallest_stable(rate, demand.mean_service, demand.p),
    )
    steps = _Steps(progress, len(chosen))
    bounds, curve = [], {}
    last = max(2 * size, math.ceil(1.25 * exact.smallest))
    sizes = _spaced(demand.widest, last, _CURVE_POINTS)
    constants = stability_constants(demand.p, last)[sizes - demand.widest]
    curve["exponential"] = (sizes, 1 / (constants * demand.mean_service))
    for policy in chosen:
        count = default_jobs(policy, size / demand.mean_width) if batch is None else batch
        backlog = log_backlog(taken, count, replications, seed, options.get("over_limit", "kill"))
        full = backlog.throughput(size, policy, confidence=confidence, **options)
        steps.done()
        few = backlog.part(_CURVE_REPLICATIONS)
        least = least_processors(
            few if looks_at_all(policy) else backlog,
            demand,
            policy,
            known=(size, full.value > rate),
            done=steps.done,
            **options,
        )
        bounds.append(
            Bound(
                str(policy),
                Estimate(full.value, full.low, full.high, confidence),
                full.utilisation.value,
                rate / full.value,
                least,
            )
        )
        some = _spaced(demand.widest, last, _CURVE_SIZES)
        rates = []
        for servers in some:
            # The machine itself is known better, and drawn as it is reported.
            at = full if servers == size else few.throughput(int(servers), policy, **options)
            rates.append(at.value)
            steps.done()
        curve[str(policy)] = (some, np.array(rates))
    return Stability(size, demand, len(jobs) - len(taken), ratio, exact, tuple(bounds), curve)


def least_processors(
    backlog: Backlog,
    demand: Demand,
    policy: Policy,
    *,
    known: tuple[int, bool] | None = None,
    done: Callable[[], None] | None = None,
    **options: Any,
) -> int:
    """Return the smallest machine whose saturated throughput is above the arrival rate.

    Parameters
    ----------
    backlog : of the same jobs as `demand`; may be a rough one.
    demand : whose arrival rate is to be kept up with.
    policy : the discipline.
    known : a size, and whether it keeps up.
    done : called after each saturated run.
    **options : of `simulate`.
    """

    def keeps_up(servers: int) -> bool:
        rate = backlog.throughput(servers, policy, **options).value
        if done is not None:
            done()
        return rate > demand.arrival_rate

    # Fewer processors than are busy on average cannot be enough.
    low = max(demand.widest, math.floor(demand.busy) + 1)
    high = None
    if known is not None and known[0] >= low:
        low, high = (low, known[0]) if known[1] else (known[0] + 1, None)
    if high is None:
        high = low
        while not keeps_up(high):
            low, high = high + 1, math.ceil(_GROWTH * high)
    return low + bisect_left(range(low, high), True, key=keeps_up)


class _Steps:
    """Reports how many saturated runs are done."""

    def __init__(self, progress: Callable[[int, int], None] | None, policies: int) -> None:
        self._progress = progress
        self._count, self._likely = 0, policies * (1 + _CURVE_SIZES + 6)

    def done(self) -> None:
        self._count += 1
        if self._progress is not None:
            self._progress(self._count, max(self._likely, self._count))


def _spaced(first: int, last: int, most: int) -> NDArray[np.int64]:
    """Return at most so many whole numbers from first to last, evenly apart."""
    return np.unique(np.linspace(first, last, most).round().astype(np.int64))


def _sentence(bound: Bound) -> str:
    times = 1.0 / bound.load
    if bound.state == "undecided":
        return f"at the edge: {bound.name} keeps up to {times:.2f} times this load, give or take"
    if bound.state == "stable":
        return f"stable: {bound.name} keeps up to {times:.2f} times this load"
    return (
        f"unstable: {bound.name} keeps up with {100 * times:.0f} % of this load, and needs "
        f"{plural(bound.smallest, 'processor')}"
    )
