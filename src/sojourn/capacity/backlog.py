"""Working off a backlog: jobs that are all there at time 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import OptionError
from ..jobs import Jobs
from ..policy import Policy, Score, parse_policy
from ..run.build.engine import finish
from ..run.simulate import prepare
from ..theory.estimate import Estimate

_UNKNOWN = ("rate", "reference_rate", "clean")
"""Options that would change the work of the jobs drawn."""
_WARM_UP = 0.1
"""Share of a batch under FCFS that only fills the machine."""
_FIRST_BATCH = 0.5
"""Share of the jobs that are in the smaller of two batches."""


@dataclass(frozen=True)
class Saturation(Estimate):
    """Throughput of a saturated machine: the estimate, in jobs/s, with its interval.

    Parameters
    ----------
    utilisation : share of the processors that are busy.
    policy : name of the discipline.
    servers : processors.
    jobs : jobs in each replication.
    samples : throughput found by each replication (jobs/s).
    """

    utilisation: Estimate
    policy: str
    servers: int
    jobs: int
    samples: tuple[float, ...]

    @property
    def time_per_job(self) -> float:
        """Mean time between starts (s): the reciprocal of the throughput."""
        return 1.0 / self.value


@dataclass(frozen=True)
class Backlog:
    """Batches of jobs that are all there at time 0, to be worked off by any machine.

    The same jobs serve every machine and discipline, so that differences between these are not
    those of the draw (common random numbers).

    Parameters
    ----------
    batches : one per replication, all of the same length.
    mean_area : expected processor-seconds of a job.
    """

    batches: tuple[Jobs, ...]
    mean_area: float

    def part(self, replications: int) -> Backlog:
        """Return some of the batches, for a quicker and rougher answer."""
        return replace(self, batches=self.batches[:replications])

    def throughput(
        self,
        servers: int,
        policy: str | Policy | Score = "fcfs",
        *,
        confidence: float = 0.95,
        **options: Any,
    ) -> Saturation:
        """Work off the backlog and measure how fast that went; see `saturated_throughput`."""
        for name in _UNKNOWN:
            if name in options:
                raise OptionError(f"{name}: saturated runs take jobs as they are; leave it out")
        scheduling = parse_policy(policy)
        widest = max(int(batch.procs.max()) for batch in self.batches)
        if widest > servers:
            raise OptionError(
                f"servers = {servers}: the widest job has {widest} processors and never starts; "
                f"give at least {widest}, or leave out wider jobs"
            )
        areas, times = np.transpose(
            [_slope(batch, servers, scheduling, options) for batch in self.batches]
        )
        if not areas.sum() > 0:
            raise OptionError("all service times are 0: such jobs have no largest throughput")
        if not times.sum() > 0:
            raise OptionError(
                f"servers = {servers}: all {len(self.batches[0]):,} jobs of a batch fit at once, "
                "which shows no throughput; give a larger batch"
            )
        share = _ratio(areas / servers, times, confidence)
        # No more than all processors are busy, whatever a short batch says.
        value, low, high = (min(x, 1.0) for x in (share.value, share.low, share.high))
        busy = Estimate(value, low, high, confidence)
        per_job = servers / self.mean_area
        # The mean area is known, so only the share of busy processors is left to estimate: most of
        # the noise of the service times cancels in areas / times.
        with np.errstate(divide="ignore"):
            # Of two small batches the larger one may be done no later.
            samples = areas / times / self.mean_area
        return Saturation(
            value=per_job * busy.value,
            low=per_job * busy.low,
            high=per_job * busy.high,
            confidence=confidence,
            utilisation=busy,
            policy=str(scheduling),
            servers=servers,
            jobs=len(self.batches[0]),
            samples=tuple(samples.tolist()),
        )


def _slope(
    batch: Jobs, servers: int, policy: Policy, options: dict[str, Any]
) -> tuple[float, float]:
    """Return the processor-seconds of the jobs between two batches, and the time between them."""
    count = len(batch)
    if policy.backfill == "none" and policy.score.name == "fcfs":
        first = int(_WARM_UP * count)
        work, start, _ = _run(batch, servers, policy, options)
        # Job n1 begins what is counted, the last job ends it: its own area is not in it.
        area = np.dot(work[first:-1], batch.procs[first:-1])
        return float(area), float(start[-1] - start[first])
    first = int(_FIRST_BATCH * count)
    work, start, end = _run(batch, servers, policy, options)
    _, sooner, ended = _run(batch[:first], servers, policy, options)
    # A job that is preempted starts long before it is done with.
    last, before = (end, ended) if policy.preemptive else (start, sooner)
    area = np.dot(work[first:], batch.procs[first:])
    return float(area), float(last.max() - before.max())


def _run(
    batch: Jobs, servers: int, policy: Policy, options: dict[str, Any]
) -> tuple[Floats, Floats, Floats]:
    run, prepared = prepare(batch, servers, policy, clean=(), **options)
    finish(run, prepared)
    return run.jobs.work, run.start, run.end


def _ratio(above: Floats, below: Floats, confidence: float) -> Estimate:
    """Estimate a ratio of expectations from pairs, with an interval by the delta method."""
    if not 0 < confidence < 1:
        raise OptionError(f"confidence = {confidence:g}: give a number between 0 and 1")
    from scipy.special import stdtrit

    value = float(above.sum() / below.sum())
    spread = np.std(above - value * below, ddof=1) / np.sqrt(len(above)) / below.mean()
    half = float(stdtrit(len(above) - 1, 0.5 + confidence / 2) * spread)
    return Estimate(value, max(value - half, 0.0), value + half, confidence)
