"""How many jobs a machine can take: its throughput when there is always somebody waiting.

By the saturation rule a queue is stable up to the rate at which it works off an endless backlog:
n jobs that are all there at time 0, n / T(n) for large n. For service that is not exponential, and
for disciplines other than FCFS, no formula is known [rumyantsev2014, errata 4]: it is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from ..jobs import Jobs
from ..jobs import clean as clean_jobs
from ..policy import Policy, Score, parse_policy
from .backlog import Backlog, Saturation

_JOBS, _FEW_JOBS, _FEWEST_JOBS, _MOST_JOBS = 20_000, 1_000, 300, 50_000
_FILLINGS = 5
"""A batch has at least so many times the jobs that fill the machine."""
_LOOKED_AT = (
    *("job", "submit", "runtime", "work", "procs", "estimate"),
    *("user", "group", "queue", "partition", "memory"),
)
"""Columns that a discipline may look at."""


class ServiceTimes(Protocol):
    """A frozen distribution of `scipy.stats`, as far as it is used here."""

    def rvs(self, *, size: int, random_state: np.random.Generator) -> ArrayLike:
        """Draw values (s)."""

    def mean(self) -> Any:
        """Return the expected value (s)."""


def saturated_throughput(
    service: ServiceTimes | ArrayLike | Jobs,
    width: ArrayLike | None = None,
    servers: int | None = None,
    *,
    policy: str | Policy | Score = "fcfs",
    jobs: int | None = None,
    replications: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Saturation:
    """Estimate the largest throughput of a machine, by working off a long backlog.

    Parameters
    ----------
    service : service times (s): a frozen distribution of `scipy.stats`, a sample to draw from, or
        a log: its rows are drawn with replacement, so that width, runtime and estimate stay as
        dependent as they are. Runtimes are cut at the user's limit unless over_limit is "run".
    width : ``width[k-1]`` is the probability of k processors; not given with a log.
    servers : processors; default: those of the log, or the largest width.
    policy : the discipline, as for `simulate`.
    jobs : in each replication; default 20,000, or 1,000 for disciplines that look at every waiting
        job again in each pass (more than one reservation, orders that change with time), or 300
        for conservative; more on a machine that takes hundreds of jobs at once.
    replications : independent ones; at least 2.
    confidence : of the intervals, by Student's t over the replications.
    seed : of the draws; the same jobs are drawn for every policy and number of servers.
    **options : of `simulate`, such as estimates and over_limit.

    Notes
    -----
    Throughput is the slope between two batches, (n2 - n1) / (T(n2) - T(n1)), where T(n) is the
    last start of the first n jobs: filling and draining the machine cancel. Under FCFS one run
    has T of all n, and the rule is a theorem: starts are monotone and separable in the sense of
    Baccelli and Foss, and arrivals below this rate, and only those, are kept up with. Other
    disciplines take two runs, and the figure is the rate at which they clear a long backlog, which
    gives them all the choice they can have.

    Examples
    --------
    >>> rate = saturated_throughput([1.0], [0.5, 0.5], jobs=2000)
    >>> rate.low < 6 / 5 < rate.high
    True
    """
    scheduling = parse_policy(policy)
    if isinstance(service, Jobs):
        if width is not None:
            raise OptionError("width: a log has its own; leave it out")
        size = service.max_procs if servers is None else checks.servers(servers)
        over_limit = options.get("over_limit", "kill")
        mean = float(service.procs.mean()) if len(service) else 1.0
        count = default_jobs(scheduling, size / mean) if jobs is None else jobs
        backlog = log_backlog(service, count, replications, seed, over_limit)
    else:
        if width is None:
            raise OptionError("width: give the probabilities of 1, 2, ... processors")
        p = checks.probabilities(width, "width")
        size = len(p) if servers is None else checks.servers(servers)
        mean = float(np.dot(np.arange(1, len(p) + 1), p))
        count = default_jobs(scheduling, size / mean) if jobs is None else jobs
        backlog = _drawn(service, p, count, replications, seed)
    return backlog.throughput(size, scheduling, confidence=confidence, **options)


def looks_at_all(policy: Policy) -> bool:
    """Whether a discipline looks at every waiting job again in each pass: slow with a backlog."""
    own = policy.backfill_score
    timed = policy.score.depends_on_time or (own is not None and own.depends_on_time)
    return timed or (policy.rule.indexed is None and not policy.preemptive)


def default_jobs(policy: Policy, at_once: float = 0.0) -> int:
    """Return how many jobs a batch of a discipline has if nobody says.

    A batch is long only if it has many times the jobs that fill the machine, which are `at_once`.
    """
    if policy.rule.keeps_promises:
        # Each end before the estimate plans all of them anew: cubic in the backlog.
        least = _FEWEST_JOBS
    else:
        least = _FEW_JOBS if looks_at_all(policy) else _JOBS
    return max(least, min(math.ceil(_FILLINGS * at_once), _MOST_JOBS))


def log_backlog(
    log: Jobs, jobs: int, replications: int = 10, seed: int = 0, over_limit: str = "kill"
) -> Backlog:
    """Draw rows of a log, with replacement.

    Parameters
    ----------
    log : at least one job.
    jobs, replications : how many in a batch, and how many batches.
    seed : of the draws.
    over_limit : whether the user's limit cuts runtimes ("kill") or not ("run").
    """
    if not len(log):
        raise OptionError("the log has no jobs; give one with some")
    if over_limit == "kill":
        log = clean_jobs(log, rules=("clamp-runtime",))
    log = log.only(_LOOKED_AT).replace(submit=np.zeros(len(log)))
    area = float(np.dot(log.procs, log.work)) / len(log)
    batches = []
    for rng in _generators(jobs, replications, seed):
        batch = log[rng.integers(0, len(log), jobs)]
        batches.append(batch.replace(job=np.arange(1, jobs + 1)))
    return Backlog(tuple(batches), area)


def _drawn(
    service: ServiceTimes | ArrayLike, p: Floats, jobs: int, replications: int, seed: int
) -> Backlog:
    """Draw widths and service times that do not depend on each other."""
    widths = np.arange(1, len(p) + 1)
    sample: Floats | None = None
    if isinstance(service, int | float | Sequence | np.ndarray):
        sample = np.atleast_1d(np.asarray(service, dtype=np.float64))
        mean = float(sample.mean()) if sample.size else float("nan")
    elif hasattr(service, "rvs") and hasattr(service, "mean"):
        mean = float(service.mean())
    else:
        raise OptionError(
            f"service {service!r}: give a frozen distribution of scipy.stats, a sample or a log"
        )
    if sample is not None and not (sample.size and np.all(np.isfinite(sample) & (sample >= 0))):
        raise OptionError("service: give a sample of finite times of at least 0 s")
    checks.positive(mean, "mean service time")
    batches = []
    for rng in _generators(jobs, replications, seed):
        procs = rng.choice(widths, jobs, p=p / p.sum())
        if sample is None:
            times = np.asarray(service.rvs(size=jobs, random_state=rng))  # type: ignore[union-attr]
        else:
            times = sample[rng.integers(0, sample.size, jobs)]
        batches.append(Jobs({"submit": np.zeros(jobs), "runtime": times, "procs": procs}))
    return Backlog(tuple(batches), mean * float(np.dot(widths, p)))


def _generators(jobs: int, replications: int, seed: int) -> list[np.random.Generator]:
    if jobs < 10:
        raise OptionError(f"jobs = {jobs}: a backlog has at least 10; give more")
    if replications < 2:
        raise OptionError(f"replications = {replications}: an interval needs at least 2")
    if seed < 0:
        raise OptionError(f"seed = {seed}: give a whole number of at least 0")
    return np.random.default_rng(seed).spawn(replications)
