"""Service and limit rates as competing risks, by maximum likelihood.

A job is exposed to two risks at once: its service X ends, or its limit Z does [mminf2023, eqs. 4
and 6]. Three readings of a job of k processors, all of them exponential:

- ``job``: one X and one Z. It lasts min(X, Z), of rate mu + nu.
- ``sub-request``, limits ``each``: k independent pairs, as the paper has it, siblings running on
  after one is removed (errata 4). It lasts as long as the longest of k variables of rate
  mu + nu, and completes with probability (mu / (mu + nu))**k, whatever it lasts [eq. 37].
- ``sub-request``, limits ``shared``: k independent X and one Z. It lasts min(max X, Z).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats, Mask
from ...errors import OptionError

READINGS = ("job", "sub-request")
LIMITS = ("each", "shared")
_STEP = 1e-4


class Rates(NamedTuple):
    """Rates of the two risks (1/s) with their standard errors.

    The errors come from the information in the sample, so they hold if the model does; those
    called robust hold for rates of any stationary process, and are known for one pair per job.
    """

    service_rate: float
    limit_rate: float
    service_se: float
    limit_se: float
    service_robust_se: float
    limit_robust_se: float
    served: int
    removed: int
    censored: int
    exposure: float  # s, all jobs together


def check_reading(reading: str, limits: str) -> None:
    """Refuse readings that nobody has named."""
    if reading not in READINGS:
        raise OptionError(f"reading = {reading!r}: give one of {', '.join(READINGS)}")
    if limits not in LIMITS:
        raise OptionError(f"limits = {limits!r}: give one of {', '.join(LIMITS)}")


def fit_rates(
    duration: ArrayLike,
    served: ArrayLike,
    removed: ArrayLike,
    width: ArrayLike | None = None,
    *,
    reading: str = "job",
    limits: str = "each",
) -> Rates:
    """Estimate the rates of service and of the dispatcher's limit.

    Parameters
    ----------
    duration : time in service of each job (s).
    served : whether its service ended then.
    removed : whether it was removed then; a job that is neither is censored.
    width : processors of each job; needed by the reading ``sub-request``.
    reading : ``job`` or ``sub-request``.
    limits : of a sub-request: ``each`` its own, or ``shared`` by all of a job.

    Returns
    -------
    Rates
        A risk that ended no job has rate 0 and standard error 0.
    """
    check_reading(reading, limits)
    lasted = np.asarray(duration, dtype=np.float64)
    done, dropped = np.asarray(served, dtype=bool), np.asarray(removed, dtype=bool)
    if lasted.size == 0 or not lasted.shape == done.shape == dropped.shape:
        raise OptionError("duration, served and removed: give one of each per job, and some jobs")
    exposure = float(lasted.sum())
    if not exposure > 0 or not (done | dropped).any():
        raise OptionError("no job with a runtime ends: there are no rates to estimate")
    counts = int(done.sum()), int(dropped.sum()), int((~(done | dropped)).sum())
    if reading == "job":
        mu, nu = counts[0] / exposure, counts[1] / exposure
        return Rates(
            mu,
            nu,
            counts[0] ** 0.5 / exposure,
            counts[1] ** 0.5 / exposure,
            float(np.linalg.norm(done - mu * lasted)) / exposure,
            float(np.linalg.norm(dropped - nu * lasted)) / exposure,
            *counts,
            exposure,
        )
    if width is None:
        raise OptionError("reading 'sub-request' needs the jobs' widths; give width")
    k = np.asarray(width, dtype=np.float64)
    if k.shape != lasted.shape or k.min() < 1:
        raise OptionError("width: give processors, at least 1, of each job")
    fit = _own_limits if limits == "each" else _shared
    return Rates(*fit(lasted, done, dropped, k, exposure), np.nan, np.nan, *counts, exposure)


_Four = tuple[float, float, float, float]


def _own_limits(lasted: Floats, done: Mask, dropped: Mask, k: Floats, exposure: float) -> _Four:
    """Estimate mu and nu of k pairs; the likelihood is one of mu + nu times one of p."""
    rate, rate_se = _longest_of(lasted, k, done | dropped)
    phi, phi_se = _loss(k, done, dropped)
    p, loss = np.exp(-phi), -np.expm1(-phi)
    mu, nu = rate * p, rate * loss
    mu_se = p * np.hypot(rate_se, rate * phi_se)
    nu_se = np.hypot(loss * rate_se, rate * p * phi_se)
    return float(mu), float(nu), float(mu_se), float(nu_se)


def _shared(lasted: Floats, done: Mask, dropped: Mask, k: Floats, exposure: float) -> _Four:
    """Estimate mu and nu of k services and one limit, each of which censors the other."""
    mu, mu_se = _longest_of(lasted, k, done) if done.any() else (0.0, 0.0)
    gone = float(dropped.sum())
    return mu, gone / exposure, mu_se, float(np.sqrt(gone)) / exposure


def _longest_of(lasted: Floats, k: Floats, ended: Mask) -> tuple[float, float]:
    """Estimate the common rate of k variables of which the longest is seen, or outlives the look.

    With x = rate * t the score of one that ended is (1 + (k-1) x / (e**x - 1)) / rate - t.
    """
    t, others = lasted[ended], k[ended] - 1
    after = ~ended & (lasted > 0)
    cut, many = lasted[after], k[after]

    def score(rate: float) -> float:
        seen = np.sum(1 + others * _over_expm1(rate * t)) / rate - t.sum()
        # The hazard of the longest of k; after 30 mean lives it is that of the last one.
        x = np.minimum(rate * cut, 30.0)
        log_gone = many * np.log(-np.expm1(-x))
        hazard = many * np.exp(log_gone) / (np.expm1(x) * -np.expm1(log_gone))
        return float(seen - np.sum(cut * np.where(x < 30.0, hazard, 1.0)))

    return _root(score, float(np.count_nonzero(ended)) / float(lasted.sum()))


def _loss(k: Floats, done: Mask, dropped: Mask) -> tuple[float, float]:
    """Estimate phi = -log p from how jobs ended: log P(done) = -k phi."""
    if not dropped.any():
        return 0.0, 0.0
    if not done.any():
        return np.inf, 0.0
    lost, times = np.unique(k[dropped], return_counts=True)
    kept = float(k[done].sum())

    def score(phi: float) -> float:
        return float(np.sum(times * _over_expm1(lost * phi)) / phi - kept)

    return _root(score, float(dropped.sum()) / (kept + float(k[dropped].sum())))


def _root(score: Callable[[float], float], guess: float) -> tuple[float, float]:
    """Return where a falling score is 0, and the standard error from its slope there."""
    from scipy.optimize import brentq

    low = high = guess
    while score(low) < 0:
        low /= 4
    while score(high) > 0:
        high *= 4
    at = low if low == high else float(brentq(score, low, high, xtol=1e-12 * low, rtol=1e-12))
    information = (score(at * (1 - _STEP)) - score(at * (1 + _STEP))) / (2 * _STEP * at)
    return at, 1 / float(np.sqrt(information))


def _over_expm1(x: Floats) -> Floats:
    """Return x / (e**x - 1), which is 1 at 0 and 0 far away."""
    bounded = np.minimum(x, 700.0)
    return np.divide(bounded, np.expm1(bounded), out=np.ones_like(bounded), where=bounded > 0)


def residuals(
    duration: Floats,
    rates: Rates,
    width: NDArray[Any],
    *,
    reading: str = "job",
    limits: str = "each",
) -> Floats:
    """Return durations (s) in a clock in which the model makes them exponential with mean 1.

    They are of jobs that ended; reading and limits are as in `fit_rates`.
    """
    if reading == "job":
        return (rates.service_rate + rates.limit_rate) * duration
    if limits == "shared":
        return _outlived(rates.service_rate * duration, width) + rates.limit_rate * duration
    return _outlived((rates.service_rate + rates.limit_rate) * duration, width)


def _outlived(x: Floats, k: NDArray[Any]) -> Floats:
    """Return -log P(the longest of k exponential variables of rate 1 is beyond x)."""
    with np.errstate(divide="ignore"):
        gone = k * np.log1p(-np.exp(-x))
        # The probability rounds to 0 far out, where it is k e**-x.
        return np.asarray(np.where(x > 30, x - np.log(k), -np.log(-np.expm1(gone))))


def drawn(
    rates: Rates, width: Floats, rng: np.random.Generator, *, limits: str = "each"
) -> tuple[Floats, Mask]:
    """Draw durations (s) of jobs of the reading ``sub-request``, and whether they are served."""

    def longest(rate: float) -> Floats:
        return -np.log(-np.expm1(np.log(rng.random(width.size)) / width)) / rate

    if limits == "shared":
        if rates.limit_rate == 0:
            return longest(rates.service_rate), np.ones(width.size, dtype=bool)
        service, limit = (
            longest(rates.service_rate),
            rng.exponential(1 / rates.limit_rate, width.size),
        )
        return np.minimum(service, limit), service < limit
    both = rates.service_rate + rates.limit_rate
    return longest(both), rng.random(width.size) < (rates.service_rate / both) ** width
