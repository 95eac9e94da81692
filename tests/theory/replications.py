"""Estimates by independent runs of the engine, beside what the theory says.

Runs start empty; their first part is left out. Waits of one run depend on each other, so an
interval comes from the differences between runs alone (Student's t).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import sojourn

SEED = 1
REPLICATIONS = 20
CONFIDENCE = 0.99
JOBS = 30_000
WARM_UP = 0.1
"""Part of the jobs, and of the time in which they come, that is left out at the beginning."""

Floats = NDArray[np.float64]
Measures = Mapping[str, float]


class Row(NamedTuple):
    """One measure of one case."""

    model: str
    parameters: str
    measure: str
    theory: float
    simulation: float
    half_width: float

    def covers(self, value: float) -> bool:
        """Whether the interval around the estimate has a value in it."""
        return abs(value - self.simulation) <= self.half_width


@dataclass(frozen=True)
class Case:
    """A model with its parameters.

    Parameters
    ----------
    model, parameters : for the reader; together they seed the runs.
    theory : gives the measures that are compared, by name.
    run : gives an estimate of each by one run.
    """

    model: str
    parameters: str
    theory: Callable[[], Measures]
    run: Callable[[Generator], Measures]

    @property
    def name(self) -> str:
        return f"{self.model}: {self.parameters}"

    def compare(self, replications: int = REPLICATIONS) -> list[Row]:
        """Run it and put the estimates beside the theory."""
        from scipy.stats import t

        # Seeded by name: another case in the list changes no other's runs.
        seeds = np.random.SeedSequence([SEED, zlib.crc32(self.name.encode())])
        runs = [self.run(np.random.default_rng(child)) for child in seeds.spawn(replications)]
        quantile = t.ppf(0.5 + CONFIDENCE / 2, replications - 1)
        rows = []
        for measure, value in self.theory().items():
            found = np.array([run[measure] for run in runs])
            half = quantile * found.std(ddof=1) / np.sqrt(replications)
            rows.append(Row(self.model, self.parameters, measure, value, found.mean(), float(half)))
        return rows


def widths(rng: Generator, p: Floats, jobs: int) -> NDArray[np.int64]:
    """Widths with P{N = k} = p[k-1]."""
    return rng.choice(len(p), jobs, p=p) + 1


def stream(rng: Generator, arrival_rate: float, p: Floats, rates: Floats, jobs: int) -> Floats:
    """Poisson arrivals with exponential services, as rows of submit, work and width."""
    width = widths(rng, p, jobs)
    submit = np.cumsum(rng.exponential(1 / arrival_rate, jobs))
    return np.array([submit, rng.exponential(1.0, jobs) / rates[width - 1], width])


def serve(rows: Floats, servers: sojourn.Cluster | int, **options: object) -> sojourn.Result:
    """FCFS, as the theory has it."""
    submit, work, width = rows
    jobs = sojourn.Jobs({"submit": submit, "runtime": work, "procs": width.astype(np.int64)})
    return sojourn.simulate(jobs, servers, "fcfs", estimates="exact", clean=(), **options)


def window(submit: Floats) -> tuple[float, float]:
    """The time that is measured: neither the beginning nor the end, when no more jobs come."""
    jobs = len(submit)
    return float(submit[int(WARM_UP * jobs)]), float(submit[int(0.99 * jobs)])


def time_average(time: Floats, value: Floats, first: float, last: float) -> float:
    """Mean over [first, last] of a step function that is value[i] from time[i] on."""
    inside = np.clip(np.append(time, max(last, time[-1])), first, last)
    return float(np.dot(np.diff(inside), value) / (last - first))


def present(begin: Floats, end: Floats, weight: Floats | float = 1.0) -> tuple[Floats, Floats]:
    """Total weight of the intervals (begin, end) that hold each instant, as a step function."""
    time = np.concatenate([begin, end])
    order = np.argsort(time, kind="stable")
    step = np.broadcast_to(weight, len(begin))
    return time[order], np.cumsum(np.concatenate([step, -step])[order])
