"""Measures: arrays in, numbers out; each with its equation [rumyantsev2018, sec. II-B].

Per customer: delay, sojourn, service, slowdown, bounded slowdown, energy budget (9).
Per system: potential and effective load, job wasting (10), energy (11), time averages (12).
Over all jobs: AWT and ART [gomez2012, eqs. 3 and 4], and their kin that weigh jobs by size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "average_response",
    "average_wait",
    "bounded_slowdown",
    "busy_energy",
    "clock_at",
    "describe",
    "describe_jobs",
    "distribution",
    "effective_load",
    "energy_delay_product",
    "energy_rate",
    "job_wasting",
    "potential_load",
    "product_sum",
    "quantiles",
    "quantiles_by_group",
    "slowdown",
    "step_integral",
    "sum_by_job",
    "time_average",
    "weighted_response",
    "weighted_slowdown",
    "workload_average",
]

Floats = NDArray[np.float64]

QUANTILES = (0.5, 0.9, 0.95, 0.99)


def slowdown(sojourn: Floats, service: Floats) -> Floats:
    """Sojourn over service time (errata 3): 1 if both are 0, infinite if only service is."""
    ratio = np.full_like(sojourn, np.inf)
    np.divide(sojourn, service, out=ratio, where=service > 0)
    ratio[(service == 0) & (sojourn == 0)] = 1.0
    ratio[np.isnan(sojourn)] = np.nan
    return ratio


def bounded_slowdown(sojourn: Floats, service: Floats, bound: float = 10.0) -> Floats:
    """max(1, sojourn / max(service, bound)); `bound` in seconds."""
    return np.maximum(1.0, sojourn / np.maximum(service, bound))


def potential_load(rate: Floats, busy: Floats, queued: Floats, servers: int) -> Floats:
    """Job completion rate if all servers could be used while somebody waits (errata 9)."""
    return rate * np.where(queued > 0, servers, busy)


def effective_load(rate: Floats, busy: Floats) -> Floats:
    """Job completion rate of the busy servers."""
    return rate * busy


def job_wasting(rate: Floats, busy: Floats, queued: Floats, servers: int) -> Floats:
    """Rate at which work is wasted: idle servers while somebody waits [eq. 10, per second]."""
    return (servers - busy) * rate * (queued > 0)


def energy_rate(
    busy: Floats, busy_watts: Floats, idle_watts: Floats, servers: int | NDArray[np.int64]
) -> Floats:
    """Power of the system in watts [eq. 11]."""
    return busy * busy_watts + (servers - busy) * idle_watts


def time_average(
    time: Floats, value: Floats, *, start: float | None = None, end: float | None = None
) -> float:
    """Average of a piecewise constant value over [start, end] [eq. 12].

    `value[i]` holds from `time[i]` to `time[i + 1]`, the last one for ever; the intervals at both
    ends are cut at `start` (default: the first instant) and `end` (default: the last; errata 11).
    """
    begin = float(time[0]) if start is None else start
    finish = float(time[-1]) if end is None else end
    if finish <= begin:
        return float(value[-1]) if len(value) else float("nan")
    edges = np.clip(np.append(time, np.inf), begin, finish)
    return float(np.sum(np.diff(edges) * value) / (finish - begin))


def product_sum(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Sum of the products, the same on every machine.

    The last bits of a dot product depend on the number of threads of the linear algebra.
    """
    return float(np.sum(a * b))


def step_integral(time: Floats, value: Floats) -> float:
    """Integral of a piecewise constant value from the first instant to the last.

    Of power steps in watts this is their energy in joules.
    """
    return product_sum(np.diff(time), value[:-1])


def workload_average(
    time: Floats, workload: Floats, rate: Floats, running: Floats, end: float | None = None
) -> float:
    """Exact average of W, which falls with slope R |S| inside an interval (errata 2)."""
    finish = float(time[-1]) if end is None else end
    edges = np.minimum(np.append(time, finish), finish)
    lapse = np.diff(edges)
    area = (workload - 0.5 * rate * running * lapse) * lapse
    return float(np.sum(area) / (finish - time[0]))


def clock_at(at: Floats, epochs: Floats, speeds: Floats) -> Floats:
    """Integral, from the first epoch to each instant `at`, of a speed that is constant in between.

    `speeds[i]` holds from `epochs[i]` on. With the rate as speed this is the work clock; with the
    watts of a busy server it is the energy clock of eq. (9).
    """
    reached = np.concatenate([[0.0], np.cumsum(np.diff(epochs) * speeds[:-1])])
    i = np.maximum(np.searchsorted(epochs, at, side="right") - 1, 0)
    return reached[i] + (at - epochs[i]) * speeds[i]


def busy_energy(
    start: Floats, stop: Floats, procs: NDArray[np.int64], epochs: Floats, watts: Floats
) -> Floats:
    """Energy, in joules, of stretches of service of `procs` servers each [eq. 9]."""
    if len(epochs) == 1:
        # One rate for ever: no clocks, hence no rounding of their differences.
        return np.asarray(procs * (stop - start) * watts[0])
    return procs * (clock_at(stop, epochs, watts) - clock_at(start, epochs, watts))


def sum_by_job(job: NDArray[np.int64], values: Floats, jobs: int) -> Floats:
    """Sum over each job's stretches of service: of their energy this is eq. (9), in joules."""
    return np.bincount(job, weights=values, minlength=jobs).astype(np.float64)


def distribution(values: Floats) -> tuple[Floats, Floats]:
    """Empirical distribution: each value that occurs, and the share that does not exceed it."""
    known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return known, np.cumsum(counts) / max(counts.sum(), 1)


def quantiles(values: NDArray[Any], shares: Sequence[float]) -> Floats:
    """The smallest values that at least these shares of a sample do not exceed; nan of nothing."""
    if not len(values):
        return np.full(len(shares), np.nan)
    return np.asarray(np.quantile(values, shares, method="inverted_cdf"), dtype=np.float64)


def quantiles_by_group(
    values: Floats, codes: NDArray[np.integer], groups: int, shares: Sequence[float]
) -> Floats:
    """Quantiles of each of several groups, one row per group; values that are nan do not count."""
    known = ~np.isnan(values)
    values, codes = values[known], codes[known]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=groups))
    parts = np.split(values[order], ends[:-1])
    return np.array([quantiles(part, shares) for part in parts]).reshape(groups, len(shares))


def describe(values: Floats) -> dict[str, float]:
    """Mean, quantiles and maximum of a measure.

    A quantile is the smallest value that at least this share of the sample does not exceed: one
    of the sample, so infinite slowdowns do no harm.
    """
    if len(values) == 0:
        return {"mean": float("nan")}
    told: dict[str, Any] = {"mean": float(np.mean(values))}
    for q, x in zip(QUANTILES, quantiles(values, QUANTILES), strict=True):
        told["median" if q == 0.5 else f"p{round(q * 100)}"] = float(x)
    told["max"] = float(np.max(values))
    return told


def _mean(values: Floats) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _weighted_mean(values: Floats, weight: NDArray[Any]) -> float:
    # What weighs nothing does not count, even if it is infinite.
    counted = weight > 0
    if not counted.any():
        return float("nan")
    if not counted.all():
        values, weight = values[counted], weight[counted]
    return product_sum(values, weight) / float(weight.sum())


def average_wait(wait: Floats) -> float:
    """AWT, the average waiting time in seconds [gomez2012, eq. 3]; nan without jobs."""
    return _mean(wait)


def average_response(sojourn: Floats) -> float:
    """ART, the average response (sojourn) time in seconds [gomez2012, eq. 4]; nan without jobs."""
    return _mean(sojourn)


def weighted_response(sojourn: Floats, procs: NDArray[np.int64]) -> float:
    """Average response time weighted by width, in seconds [gomez2012, sec. 5].

    Streit's ARTwW: sum of procs * sojourn over the sum of procs. A user who splits a job into
    narrower ones does not change it.
    """
    return _weighted_mean(sojourn, procs)


def weighted_slowdown(slowdown: Floats, area: Floats) -> float:
    """Average slowdown weighted by area [gomez2012, sec. 5].

    Streit's SLDwA: sum of area * slowdown over the sum of areas, where the area of a job is
    procs * service. Short jobs, whose slowdowns are huge, count for as little as they use; those
    that take no time, for nothing.
    """
    return _weighted_mean(slowdown, area)


def describe_jobs(
    wait: Floats, sojourn: Floats, service: Floats, procs: NDArray[Any]
) -> dict[str, Any]:
    """Return the measures over jobs: of waits, sojourns and times in service, all in seconds."""
    slow = slowdown(sojourn, service)
    return {
        "wait": describe(wait),
        "sojourn": describe(sojourn),
        "service": describe(service),
        "slowdown": describe(slow),
        "bounded_slowdown": describe(bounded_slowdown(sojourn, service)),
        "weighted_response": weighted_response(sojourn, procs),
        "weighted_slowdown": weighted_slowdown(slow, procs * service),
    }


def energy_delay_product(joules: Floats | float, delay: Floats | float) -> Floats | float:
    """Energy times delay, in J s: less of it is better in both at once.

    Of a job: its energy and its sojourn. Of a run: the whole energy, and the average response time
    [gomez2012, eq. 4] or the makespan.
    """
    return joules * delay
