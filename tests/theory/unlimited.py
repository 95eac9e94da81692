"""Servers without end, with time limits: the theory, and one run of the engine for each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import sojourn
from sojourn import theory
from sojourn.run.result import STATUS
from sojourn.theory.widths import Geometric

from .models import in_words
from .replications import JOBS, Case, Floats, Measures, present, time_average, widths, window

BUSY, BUSY_VARIANCE = "mean of busy servers", "variance of busy servers"
COMPLETION = "P{completed}"

PLENTY = 500
"""Servers enough that nobody waits."""

Draw = Callable[[Generator, int], Floats]


@dataclass(frozen=True)
class Requests:
    """A stream of requests for servers without end.

    Parameters
    ----------
    arrival_rate : of requests (1/s).
    service, limit : draw so many service times and limits (s).
    p : p[k-1] is the probability of k sub-requests.
    reading : the options of `sojourn.theory.infinite_servers`.
    """

    arrival_rate: float
    service: Draw
    limit: Draw
    p: Floats
    reading: Mapping[str, str]

    def __call__(self, rng: Generator) -> Measures:
        """Each sub-request is a job; the engine removes jobs at their limits.

        Under concurrent release a request is one wide job.
        """
        requests = JOBS // 2
        width = widths(rng, self.p, requests)
        together = self.reading.get("release") == "concurrent"
        count = np.ones_like(width) if together else width
        owner = np.repeat(np.arange(requests), count)
        service = self.service(rng, len(owner))
        if self.reading.get("limits") == "shared":
            limit = self.limit(rng, requests)[owner]
        else:
            limit = self.limit(rng, len(owner))
        if self.reading.get("siblings") == "killed-together":
            removed = np.where(limit < service, limit, np.inf)
            limit = np.minimum(limit, np.minimum.reduceat(removed, np.cumsum(count) - count)[owner])
        submit = np.cumsum(rng.exponential(1 / self.arrival_rate, requests))
        held = width if together else np.ones(len(owner), dtype=np.int64)
        jobs = sojourn.Jobs(
            {"submit": submit[owner], "runtime": service, "estimate": limit, "procs": held}
        )
        result = sojourn.simulate(jobs, PLENTY, "fcfs", clean=())
        assert np.array_equal(result.start, jobs.submit), "somebody waited"
        killed = result.job_columns()["status"] == STATUS.index("killed")
        begin, end = window(submit)
        time, busy = present(result.start, result.end, held)
        mean = time_average(time, busy, begin, end)
        return {
            BUSY: mean,
            BUSY_VARIANCE: time_average(time, (busy - mean) ** 2, begin, end),
            COMPLETION: float(np.mean(np.bincount(owner, killed) == 0)),
        }


def _solved(model: theory.InfiniteServers) -> Measures:
    return {BUSY: model.mean, BUSY_VARIANCE: model.var, COMPLETION: model.completion_probability}


def _told(p: Sequence[float] | Geometric, reading: Mapping[str, str]) -> str:
    width = f"p = ({in_words(p)})" if isinstance(p, tuple) else f"geometric, a = {p.a:g}"
    return "; ".join([width, *(f"{name} {value}" for name, value in reading.items())])


def infinite(
    arrival_rate: float,
    service_rate: float,
    limit_rate: float,
    p: tuple[float, ...] | Geometric,
    **reading: str,
) -> Case:
    """M/M/infinity with limits; `reading` as in `sojourn.theory.infinite_servers`."""
    run = Requests(
        arrival_rate,
        lambda rng, n: rng.exponential(1 / service_rate, n),
        lambda rng, n: rng.exponential(1 / limit_rate, n),
        np.array(p) if isinstance(p, tuple) else (1 - p.a) * p.a ** np.arange(1000),
        reading,
    )
    rates = f"λ = {arrival_rate:g}, μ = {service_rate:g}, ν = {limit_rate:g}"
    return Case(
        "infinite servers",
        f"{rates}, {_told(p, reading)}",
        lambda: _solved(
            theory.infinite_servers(arrival_rate, service_rate, limit_rate, p, **reading)
        ),
        run,
    )


def general(
    name: str, arrival_rate: float, service: Any, limit: Any, p: tuple[float, ...], **reading: str
) -> Case:
    """Any service times, and limits at random or all at one number of seconds."""

    def limits(rng: Generator, n: int) -> Floats:
        return np.full(n, limit) if isinstance(limit, float) else limit.rvs(n, random_state=rng)

    run = Requests(
        arrival_rate,
        lambda rng, n: service.rvs(n, random_state=rng),
        limits,
        np.array(p),
        reading,
    )
    return Case(
        "infinite servers, any distribution",
        f"λ = {arrival_rate:g}, {name}, {_told(p, reading)}",
        lambda: _solved(theory.batch_infinite_servers(arrival_rate, service, limit, p, **reading)),
        run,
    )
