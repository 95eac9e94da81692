"""How often intervals cover what theory knows: whole studies through the engine.

Each study is one that a user could make: replications from an empty system with the warm-up left
out, one long run, or pairs under common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import sojourn
from sojourn import theory
from sojourn.jobs.models.resample import resample_blocks
from sojourn.measures.warmup import mser
from sojourn.study.batches import batch_means, batch_quantile
from sojourn.study.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    quantile_interval,
    resampled_interval,
    sectioned_quantile,
)
from sojourn.study.paired import paired_difference, relative_change
from sojourn.study.ratios import regeneration_points, regenerative_interval
from sojourn.study.sequential import replicate
from sojourn.study.sweeping import sweep

Floats = NDArray[np.float64]

LEVEL = 0.95
REPLICATIONS, JOBS = 10, 5_000
SHORT, LONG = 2_000, 40_000
LOG, SERVICE, DRAWS = 8_000, 720.0, 12
"""Jobs of a log, their mean service (s) that makes it two months, and logs drawn from it."""
WRONG = 1.25
"""A truth that is so much too large must be found out."""


@dataclass(frozen=True)
class Model:
    """Poisson arrivals to two servers, widths up to `widest` alike, mean service 1 s.

    `other_servers` of `other_speed` are what it is compared with.
    """

    arrival_rate: float
    widest: int
    mean_wait: float
    p90: float | None
    other_servers: int
    other_speed: float
    other_wait: float

    def wait(self, speed: float) -> float:
        """Mean wait (s) if the machine were so much faster."""
        if self.widest == 1:
            return theory.multiserver_wait(self.arrival_rate, speed, 2)
        return theory.two_server(self.arrival_rate, 0.5, speed).mean_wait

    def run(self, seed: list[int], jobs: int, *, other: bool = False) -> tuple[Floats, ...]:
        """Submits, waits and ends; `other` is the machine to compare with, with the same jobs."""
        rng = np.random.default_rng(seed)
        submit = np.cumsum(rng.exponential(1 / self.arrival_rate, jobs))
        work = rng.exponential(1.0, jobs)
        procs = rng.integers(1, self.widest + 1, jobs)
        if other:
            work = work / self.other_speed
        stream = sojourn.Jobs({"submit": submit, "runtime": work, "procs": procs})
        servers = self.other_servers if other else 2
        result = sojourn.simulate(stream, servers, "fcfs", estimates="exact", clean=())
        return submit, result.start - submit, result.end


def many_servers() -> Model:
    """M/M/2 at a load of 0.6; the other machine has a third server."""
    rate = 1.2
    # P{W > t} = C exp(-(s mu - lambda) t).
    p90 = math.log(theory.erlang_c(2, rate) / 0.1) / (2 - rate)
    wait, other = (theory.multiserver_wait(rate, 1.0, servers) for servers in (2, 3))
    return Model(rate, 1, wait, p90, 3, 1.0, other)


def two_servers() -> Model:
    """Jobs need one server or both; the other machine is a quarter faster."""
    rate = 0.7
    wait, other = (theory.two_server(rate, 0.5, mu).mean_wait for mu in (1.0, 1.25))
    return Model(rate, 2, wait, None, 2, 1.25, other)


Found = Iterator[tuple[str, Interval, float]]


def replications(model: Model, study: int) -> Found:
    """Independent runs, cut alike."""
    waits = np.array([model.run([1, study, k], JOBS)[1] for k in range(REPLICATIONS)])
    waits = waits[:, mser(waits).cut :]
    means = waits.mean(axis=1)
    yield "replications", mean_interval(means), model.mean_wait
    yield "BCa bootstrap", bootstrap_interval(means, draws=1000, seed=study), model.mean_wait
    if model.p90 is not None:
        yield "sectioned quantile", sectioned_quantile(waits, 0.9), model.p90
        # Jobs this far apart are as good as independent.
        apart = waits[:, ::50].ravel()
        yield "quantile", quantile_interval(apart, 0.9), model.p90


def long_run(model: Model, study: int) -> Found:
    """One run, without what is known to be affected by its start."""
    submit, wait, end = model.run([2, study], LONG)
    points = regeneration_points(submit, end)
    yield "regenerative", regenerative_interval(wait, points), model.mean_wait
    jackknife = regenerative_interval(wait, points, method="jackknife")
    yield "regenerative, jackknife", jackknife, model.mean_wait
    settled = wait[LONG // 20 :]
    yield "batch means", batch_means(settled), model.mean_wait
    if model.p90 is not None:
        yield "batch quantile", batch_quantile(settled, 0.9), model.p90


def pairs(model: Model, study: int) -> Found:
    """The same jobs on two machines."""
    both = np.array(
        [
            [model.run([1, study, k], JOBS, other=other)[1] for k in range(REPLICATIONS)]
            for other in (False, True)
        ]
    )
    base, other = both[:, :, mser(both[0]).cut :].mean(axis=2)
    change = model.other_wait / model.mean_wait - 1
    yield "paired difference", paired_difference(other, base), model.other_wait - model.mean_wait
    yield "paired ratio, Fieller", relative_change(other, base), change
    yield "paired ratio, delta", relative_change(other, base, method="delta"), change


def precision(model: Model, study: int) -> Found:
    """Short replications until the mean is known to 8 %."""

    @cache
    def run(k: int) -> float:
        return float(model.run([3, study, k], SHORT)[1][SHORT // 10 :].mean())

    for method in ("sequential", "two-stage"):
        yield method, replicate(run, relative=0.08, method=method), model.mean_wait


def sweeps(model: Model, study: int) -> Found:
    """A sweep as a user makes it, of two speeds of the same machine."""
    workload = {
        "model": "poisson",
        "jobs": SHORT,
        "interarrival": f"exponential:{SERVICE / model.arrival_rate}",
        "work": f"exponential:{SERVICE}",
        "widths": f"uniform:1-{model.widest}",
        "warmup": 0.1,
    }
    scenario = {
        "workload": workload,
        "cluster": {"procs": 2},
        "policy": {"name": "fcfs", "estimates": "exact"},
    }
    found = sweep(
        scenario, {"control.rate": [1.0, 1.25]}, REPLICATIONS, workers=1, seed=10_000 + study
    )
    slow, fast = (point.measures["wait_mean"] for point in found.points(["wait_mean"]))
    *_, change = found.changes({"control.rate": 1.0}, ["wait_mean"])
    faster = model.wait(1.25)
    yield "points of a sweep", slow, SERVICE * model.mean_wait
    yield "points of a sweep, faster", fast, SERVICE * faster
    change_of = faster / model.mean_wait - 1
    yield "changes of a sweep", change.measures["wait_mean"], change_of


def one_log(model: Model, study: int) -> Found:
    """One log of two months, and others drawn from its weeks."""
    rng = np.random.default_rng([4, study])
    submit = np.cumsum(rng.exponential(SERVICE / model.arrival_rate, LOG))
    work = rng.exponential(SERVICE, LOG)
    procs = rng.integers(1, model.widest + 1, LOG)
    log = sojourn.Jobs({"submit": submit, "runtime": work, "procs": procs})

    def mean_wait(jobs: sojourn.Jobs) -> float:
        result = sojourn.simulate(jobs, 2, "fcfs", estimates="exact", clean=())
        return float(np.mean(result.start - jobs.submit)) / SERVICE

    draws = [mean_wait(resample_blocks(log, "week", k)) for k in range(DRAWS)]
    found = resampled_interval(draws, estimate=mean_wait(log))
    yield "weeks of a log", found, model.mean_wait


def coverage(
    make: Callable[[Model, int], Found], model: Model, studies: int
) -> dict[str, tuple[float, float]]:
    """Shares of the intervals of each method that cover the truth, and a wrong one."""
    hits: dict[str, list[tuple[bool, bool]]] = {}
    for study in range(studies):
        for method, interval, truth in make(model, study):
            assert interval.level == LEVEL
            told = truth in interval, WRONG * truth in interval
            hits.setdefault(method, []).append(told)
    assert all(len(told) == studies for told in hits.values())
    return {method: tuple(np.mean(told, axis=0)) for method, told in hits.items()}


def bounds(studies: int) -> tuple[float, float]:
    """Coverages that a true 95 % may have by chance; of 500 studies those that are asked for."""
    if studies >= 500:
        return 0.92, 0.98
    low, high = binom.ppf([0.0005, 0.9995], studies, LEVEL) / studies
    return float(low), float(high)


@pytest.mark.parametrize("studies", [100, pytest.param(500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "model", [pytest.param(many_servers, marks=pytest.mark.nightly), two_servers]
)
@pytest.mark.parametrize("make", [replications, long_run, pairs, precision, sweeps])
def test_intervals_cover(make, model, studies):
    low, high = bounds(studies)
    found = coverage(make, model(), studies)
    for method, (covered, wrong) in found.items():
        assert low <= covered <= high, (method, found)
        assert wrong < 0.2, (method, found)


def test_draws_from_a_log_cover():
    """A little less than asked for: a log of eight weeks has eight blocks."""
    found = coverage(one_log, many_servers(), 100)
    ((covered, wrong),) = found.values()
    assert 0.85 <= covered <= bounds(100)[1], found
    assert wrong < 0.5, found
