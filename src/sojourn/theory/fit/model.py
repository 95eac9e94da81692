"""A log as a model: all parameters at once, with what speaks against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...jobs import Jobs, clean
from ...jobs.facts import local_clock
from .arrivals import Arrivals, fit_arrivals
from .doubts import doubts
from .goodness import Statistic, exponential_test, rank_tests, stitched, sub_request_test
from .outcomes import Outcomes, classify, separate
from .risks import Rates, check_reading, fit_rates, residuals
from .widths import Widths, fit_widths

if TYPE_CHECKING:
    from ..infinite import InfiniteServers

FITTED = ("negative-submit", "absurd-time", "missing-procs", "no-procs", "unsorted-submits")
"""Cleaning before a fit: runtimes of 0 and missing estimates carry information, so they stay."""

SOURCES = ("ends", "estimates")
_PARTIAL = (2, 3, 4)  # [swf]: pieces of a job that has a line of its own


class RequestedLimits(NamedTuple):
    """Limits as users ask for them: the estimates of jobs that started."""

    jobs: int
    mean: float  # s
    rate: float  # 1/s, of an exponential law
    rate_se: float
    scv: float  # squared coefficient of variation, 1 for an exponential law


@dataclass(frozen=True)
class Fit:
    """The parameters of a log.

    Parameters
    ----------
    arrival_rate : lambda, jobs per second.
    service_rate : mu (1/s), of a job or of each of its sub-requests as `reading` says.
    limit_rate : nu (1/s), likewise.
    width : p[k-1] is the share of jobs of k processors.
    standard_errors : by name of the parameter, and of ``mean_width``; those that end in
        ``_robust`` do not rest on the exponential assumption.
    tests : `Statistic` by name.
    warnings : where the data contradict the model, one line each.
    reading, limits, limits_from : as given to `fit_model`.
    arrivals, widths, outcomes, rates, requested : the parts; `requested` is None without
        estimates.
    duration_scv : squared coefficient of variation of durations, 1 if the model holds.
    """

    arrival_rate: float
    service_rate: float
    limit_rate: float
    width: NDArray[np.float64]
    standard_errors: dict[str, float]
    tests: dict[str, Statistic]
    warnings: tuple[str, ...]
    reading: str
    limits: str
    limits_from: str
    arrivals: Arrivals
    widths: Widths
    outcomes: Outcomes
    rates: Rates
    requested: RequestedLimits | None
    duration_scv: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; rates in 1/s, times in s."""
        return {
            "arrival_rate": self.arrival_rate,
            "service_rate": self.service_rate,
            "limit_rate": self.limit_rate,
            "standard_errors": self.standard_errors,
            "reading": self.reading,
            "limits": self.limits,
            "limits_from": self.limits_from,
            "arrivals": self.arrivals.as_dict(),
            "width": self.widths.as_dict(),
            "outcomes": self.outcomes.counts,
            "served": self.rates.served,
            "removed": self.rates.removed,
            "censored": self.rates.censored,
            "exposure": self.rates.exposure,
            "requested_limits": None if self.requested is None else self.requested._asdict(),
            "duration_scv": self.duration_scv,
            "tests": {name: test._asdict() for name, test in self.tests.items()},
            "warnings": list(self.warnings),
        }

    def duration_survival(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of jobs that the model lets last longer than some times (s)."""
        widths = np.flatnonzero(self.width) + 1
        if self.reading == "job":
            widths = widths[:1]
        weights = self.width[widths - 1] / self.width[widths - 1].sum()
        total = np.zeros_like(time)
        for k, weight in zip(widths, weights, strict=True):
            left = residuals(
                time, self.rates, np.array(k), reading=self.reading, limits=self.limits
            )
            total += weight * np.exp(-left)
        return total

    def infinite_servers(self) -> InfiniteServers:
        """Return the model with these parameters on a machine without end.

        A job of the reading ``job`` frees its processors together, sub-requests one by one.
        """
        from ..infinite import infinite_servers

        release = "concurrent" if self.reading == "job" else "independent"
        return infinite_servers(
            self.arrival_rate,
            self.service_rate,
            self.limit_rate,
            self.width,
            limits=self.limits,
            release=release,
        )

    def busy_as_measured(self) -> InfiniteServers:
        """Return busy processors on a machine without end, from the durations of the log.

        With Poisson arrivals only the mean duration of each width matters, not its distribution,
        so this assumes nothing of service, limits, or their dependence on the width.
        """
        from .._compound import CompoundPoisson
        from ..infinite import InfiniteServers

        seen = self.outcomes
        area = np.bincount(seen.width, seen.width * seen.duration)[1:]
        ended = self.rates.served + self.rates.removed
        return InfiniteServers(
            CompoundPoisson(np.asarray(area * (self.arrival_rate / seen.width.size))),
            self.rates.served / ended,
        )


def fit_model(
    jobs: Jobs,
    *,
    servers: int | None = None,
    reading: str = "job",
    limits: str = "each",
    limits_from: str = "ends",
    served: Sequence[str] = ("completed", "failed"),
    removed: Sequence[str] = ("killed", "cancelled"),
    tolerance: float = 0.0,
    end: float | None = None,
    seed: int = 0,
) -> Fit:
    """Estimate arrival, service and limit rates and widths from a log, by maximum likelihood.

    Parameters
    ----------
    jobs : the log as it was read: cleaning for a simulation drops what a fit needs. Lines of
        partial executions are left out, their jobs having lines of their own.
    servers : leave out jobs wider than this; None: none.
    reading : ``job`` (one service and one limit per job, which is what logs record) or
        ``sub-request`` (of each processor, as [mminf2023] has it); see `theory.fit.risks`.
    limits : of sub-requests: ``each`` its own, or ``shared`` by those of a job.
    limits_from : ``ends``: the limit rate from when jobs were removed; ``estimates``: from the
        times that users asked for, which are seen of completed jobs too. One is asked for a
        whole job, so sub-requests then share it.
    served : ends of service. A failed job is among them: it freed its processors on its own
        account, and the dispatcher did not remove it.
    removed : ends by removal. A cancelled job is among them: it left before its service ended,
        though by its user's hand. What is in neither list is censored when it ends.
    tolerance, end : as in `theory.fit.classify` (s).
    seed : of the bootstrap of the tests.

    Examples
    --------
    >>> rows = {"submit": [0, 60, 90], "runtime": [10, 30, 20], "procs": [1, 2, 4]}
    >>> fit = fit_model(Jobs({**rows, "estimate": [60, 30, 60], "status": [1, 0, 1]}))
    >>> round(1 / fit.service_rate), round(1 / fit.limit_rate)
    (30, 60)
    """
    check_reading(reading, limits)
    if limits_from not in SOURCES:
        raise OptionError(f"limits_from = {limits_from!r}: give one of {', '.join(SOURCES)}")
    rules = FITTED if servers is None else (*FITTED, "too-wide")
    log = clean(jobs, procs=servers, rules=rules)
    pieces = np.isin(log["status"], _PARTIAL)
    log = log[~pieces] if pieces.any() else log
    source = jobs.source or "jobs"
    if len(log) < 2:
        raise OptionError(f"{source}: {len(log)} left to fit; give at least 2 jobs")
    if np.ptp(log.submit) == 0:
        raise OptionError(
            f"{source}: all jobs are submitted at the same instant, which is no arrival rate; "
            "give a longer log"
        )

    offset, clock = local_clock(log.header)
    arrivals = fit_arrivals(log.submit, offset=offset or None, clock=clock, seed=seed)
    widths = fit_widths(log.procs)
    seen = classify(log, tolerance=tolerance, end=end)
    if not seen.duration.size:
        raise OptionError(f"{source}: no job started; there are no rates to estimate")
    done, dropped = separate(seen, served, removed)
    if not seen.duration.sum() > 0 or not (done | dropped).any():
        raise OptionError(
            f"{source}: no job with a runtime ends as served or removed; give a log with runtimes, "
            "or count other ends"
        )
    shared = limits_from == "estimates" and reading == "sub-request"
    limits = "shared" if shared else limits
    rates = fit_rates(seen.duration, done, dropped, seen.width, reading=reading, limits=limits)
    requested = _requested(seen)
    tests, scv = _goodness(seen, rates, done, dropped, reading, limits, seed)
    if requested is not None and requested.jobs > 1:
        asked = exponential_test(seen.estimate[seen.estimate > 0], seed=seed)
        tests |= dict(zip(("requested_ks", "requested_ad"), asked, strict=True))
    errors = {
        "arrival_rate": arrivals.rate_se,
        "arrival_rate_robust": arrivals.rate_robust_se,
        "service_rate": rates.service_se,
        "limit_rate": rates.limit_se,
        "mean_width": widths.mean_se,
    }
    if reading == "job":
        errors |= {
            "service_rate_robust": rates.service_robust_se,
            "limit_rate_robust": rates.limit_robust_se,
        }
    limit_rate = rates.limit_rate
    if limits_from == "estimates":
        if requested is None:
            raise OptionError("limits_from = 'estimates': the log has none; use 'ends'")
        limit_rate, errors["limit_rate"] = requested.rate, requested.rate_se
        errors.pop("limit_rate_robust", None)
    tests = {**arrivals.tests, **tests}
    notes = list(seen.notes)
    if pieces.any():
        notes.insert(0, f"{np.count_nonzero(pieces):,} lines of partial executions left out")
    return Fit(
        arrivals.rate,
        rates.service_rate,
        limit_rate,
        widths.p,
        errors,
        tests,
        (*notes, *doubts(tests, arrivals, rates, scv, limits_from)),
        reading,
        limits,
        limits_from,
        arrivals,
        widths,
        seen,
        rates,
        requested,
        scv,
    )


def _requested(seen: Outcomes) -> RequestedLimits | None:
    asked = seen.estimate[seen.estimate > 0]
    if not asked.size:
        return None
    mean, n = float(asked.mean()), int(asked.size)
    return RequestedLimits(n, mean, 1 / mean, 1 / mean / n**0.5, float(asked.var()) / mean**2)


def _goodness(
    seen: Outcomes,
    rates: Rates,
    done: NDArray[np.bool_],
    dropped: NDArray[np.bool_],
    reading: str,
    limits: str,
    seed: int,
) -> tuple[dict[str, Statistic], float]:
    """Return tests of durations by name, and their squared coefficient of variation."""
    ended = done | dropped
    duration, width = seen.duration[ended], seen.width[ended]
    left = residuals(duration, rates, width, reading=reading, limits=limits)
    spread = stitched(seen.duration, ended) if reading == "job" else left
    if spread.size < 2 or not spread.sum() > 0 or rates.service_rate == 0:
        return {}, float("nan")
    scv = float(spread.var() / spread.mean() ** 2)
    if reading == "job":
        ks, ad = exponential_test(spread, seed=seed)
    else:
        ks, ad = sub_request_test(duration, width, rates, limits=limits, seed=seed)
    tests = {"durations_ks": ks, "durations_ad": ad}
    ranks = rank_tests(left, dropped[ended], width)
    if reading == "sub-request" and limits == "shared":
        # A limit that all share removes the longer ones.
        ranks.pop("cause_duration", None)
    return tests | ranks, scv
