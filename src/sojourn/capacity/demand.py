"""What a log asks of a machine: its arrival rate, widths, service times and bursts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..errors import OptionError
from ..jobs import Jobs
from ..jobs import clean as clean_jobs
from ..theory.stability import constant

LARGEST = 10_000_000
"""Processors of a machine that is still planned: the largest that answers within seconds."""

_DAY, _FEWEST_DAYS = 86_400.0, 10


@dataclass(frozen=True)
class Demand:
    """What a log asks of a machine, on average.

    Parameters
    ----------
    jobs : number of jobs.
    arrival_rate : lambda, jobs/s: one less than the jobs, over the time from first to last submit.
    mean_service : E[S] in s.
    mean_area : E[N S], processor-seconds of a job.
    p : p[k-1] is the share of jobs with k processors, up to the widest.
    dispersion : variance over mean of the number of submits per day: 1 for a Poisson stream, more
        for bursts; 1 for a log that is too short to say.
    """

    jobs: int
    arrival_rate: float
    mean_service: float
    mean_area: float
    p: Floats
    dispersion: float = 1.0

    @property
    def widest(self) -> int:
        """Processors of the widest job."""
        return len(self.p)

    @property
    def mean_width(self) -> float:
        """E[N], processors."""
        return float(np.dot(np.arange(1, len(self.p) + 1), self.p))

    @property
    def peakedness(self) -> float:
        """E[N^2] / E[N], processors: how coarsely widths fill a machine."""
        widths = np.arange(1, len(self.p) + 1)
        return float(np.dot(widths**2, self.p) / np.dot(widths, self.p))

    @property
    def dependence(self) -> float:
        """E[N S] over E[N] E[S]: above 1 where wide jobs run longer."""
        return self.mean_area / (self.mean_width * self.mean_service)

    @property
    def busy(self) -> float:
        """Processors that are busy on average if the machine keeps up: lambda E[N S]."""
        return self.arrival_rate * self.mean_area

    def constant(self, servers: int) -> float:
        """C of these widths on any machine that holds the widest job [rumyantsev2014, eq. 4]."""
        return constant(self.p, servers)


def demand_of(jobs: Jobs, over_limit: str = "kill") -> Demand:
    """Return what jobs ask for on average; runtimes are cut at the user's limit if that kills."""
    span = float(np.ptp(jobs.submit)) if len(jobs) else 0.0
    if len(jobs) < 2 or span <= 0:
        raise OptionError(
            f"{jobs.source or 'the log'}: {len(jobs)} jobs that fit the machine, submitted within "
            f"{span:g} s, have no arrival rate; give a longer log"
        )
    widest = int(jobs.procs.max())
    if widest > LARGEST:
        raise OptionError(
            f"{jobs.source or 'the log'}: job {int(jobs.job[jobs.procs.argmax()])} has {widest} "
            f"processors, of at most {LARGEST}; correct it, or leave it out"
        )
    if over_limit == "kill":
        jobs = clean_jobs(jobs, rules=("clamp-runtime",))
    mean = float(jobs.work.mean())
    if not mean > 0:
        raise OptionError(f"{jobs.source or 'the log'}: all runtimes are 0; give another log")
    return Demand(
        jobs=len(jobs),
        arrival_rate=(len(jobs) - 1) / span,
        mean_service=mean,
        mean_area=float(np.dot(jobs.procs, jobs.work)) / len(jobs),
        p=np.bincount(jobs.procs)[1:] / len(jobs),
        dispersion=_dispersion(jobs.submit, span),
    )


def _dispersion(submit: Floats, span: float) -> float:
    days = int(span // _DAY)
    if days < _FEWEST_DAYS:
        return 1.0
    day = (submit - submit.min()) // _DAY
    # The last day is not whole, and left out; those without a job are only counted.
    _, counts = np.unique(day[day < days], return_counts=True)
    mean = counts.sum() / days
    spread = np.sum((counts - mean) ** 2) + (days - counts.size) * mean**2
    return float(spread / (days - 1) / mean)
