"""Tests of the exponential assumption, whose rate is estimated from the same sample."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats
from ...errors import OptionError
from .risks import Rates, drawn, fit_rates, residuals

_SAMPLE = 2000
_REPLICATIONS = 999
_BLOCK = 250_000
_REFITTED, _REFITS = 500, 199


class Statistic(NamedTuple):
    """A test statistic and the probability of one at least as extreme if the model holds."""

    value: float
    p_value: float
    size: int  # observations it was computed from


def exponential_test(
    values: ArrayLike, *, sample: int = _SAMPLE, seed: int = 0
) -> tuple[Statistic, Statistic]:
    """Test whether values are exponential, of whatever mean.

    The mean is estimated, so tables for a known one do not apply: p-values come from 999 samples
    of exponential variables, each divided by its own mean.

    Parameters
    ----------
    values : non-negative, at least two.
    sample : of more values than this so many are drawn without replacement. With hundreds of
        thousands every model is rejected; a sample of 2,000 asks for a misfit worth knowing.
    seed : of that draw and of the bootstrap.

    Returns
    -------
    tuple of Statistic
        By Kolmogorov and Smirnov (the greatest distance) and by Anderson and Darling.
    """
    sizes = np.asarray(values, dtype=np.float64)
    if sizes.size < 2 or not sizes.sum() > 0:
        raise OptionError("a test needs at least two values, not all of them 0")
    if sizes.size > sample:
        sizes = np.random.default_rng(seed).choice(sizes, sample, replace=False)
    return _judged(_scaled(sizes[None, :]), _null(sizes.size, seed), sizes.size)


def sub_request_test(
    duration: Floats,
    width: NDArray[Any],
    rates: Rates,
    *,
    limits: str = "each",
    sample: int = _REFITTED,
    seed: int = 0,
) -> tuple[Statistic, Statistic]:
    """Test whether durations are those of the reading ``sub-request``, as `exponential_test` does.

    p-values come from 199 samples drawn from the model, to each of which it is fitted anew.
    Duration (s) and width are of jobs that ended, `limits` is as in `fit_rates`; of more jobs than
    `sample` so many are drawn without replacement.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(duration.size)[:sample]
    k = width[chosen].astype(np.float64)

    def statistics(lasted: Floats, fitted: Rates) -> tuple[Floats, Floats]:
        left = residuals(lasted, fitted, k, reading="sub-request", limits=limits)
        return _statistics(left[None, :])

    null = []
    for _ in range(_REFITS):
        lasted, served = drawn(rates, k, rng, limits=limits)
        again = fit_rates(lasted, served, ~served, k, reading="sub-request", limits=limits)
        null.append(statistics(lasted, again))
    ks, ad = (np.sort(np.concatenate(part)) for part in zip(*null, strict=True))
    return _judged(statistics(duration[chosen], rates), (ks, ad), k.size)


def _judged(
    measured: tuple[Floats, Floats], null: tuple[Floats, Floats], count: int
) -> tuple[Statistic, Statistic]:
    ks, ad = (
        Statistic(float(value[0]), _p_value(under, float(value[0])), count)
        for value, under in zip(measured, null, strict=True)
    )
    return ks, ad


def _scaled(samples: Floats) -> tuple[Floats, Floats]:
    """Return both statistics of each row, divided by its own mean."""
    return _statistics(samples / samples.mean(axis=1, keepdims=True))


def _statistics(samples: Floats) -> tuple[Floats, Floats]:
    """Return both statistics of each row against the exponential distribution of mean 1."""
    n = samples.shape[1]
    z = np.sort(samples, axis=1)
    below = -np.expm1(-z)
    rank = np.arange(1, n + 1)
    ks = np.maximum(rank / n - below, below - (rank - 1) / n).max(axis=1)
    # log F_(i) + log(1 - F_(n+1-i)); zeros of a clock with coarse ticks count as its smallest.
    log_below = np.log(np.maximum(below, np.finfo(np.float64).tiny))
    ad = -n - ((2 * rank - 1) * (log_below - z[:, ::-1])).sum(axis=1) / n
    return ks, ad


@lru_cache(maxsize=16)
def _null(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return both statistics of exponential samples, in order: they do not depend on the rate."""
    rng = np.random.default_rng([seed, n])
    rows = max(_BLOCK // n, 1)
    blocks = [
        _scaled(rng.standard_exponential((min(rows, _REPLICATIONS - first), n)))
        for first in range(0, _REPLICATIONS, rows)
    ]
    ks, ad = (np.sort(np.concatenate(part)) for part in zip(*blocks, strict=True))
    return ks, ad


def _p_value(null: Floats, statistic: float) -> float:
    beyond = null.size - np.searchsorted(null, statistic, side="left")
    return float((1 + beyond) / (1 + null.size))


def stitched(duration: Floats, ended: NDArray[np.bool_]) -> Floats:
    """Return the exposure between one end and the next, all jobs laid end to end.

    Exponential services have no memory: whatever was cut short, these are independent with the
    same rate, and without censoring they are the durations themselves.
    """
    return np.diff(np.cumsum(duration)[ended], prepend=0.0)


def dispersion_test(instants: Floats, window: float) -> Statistic:
    """Test whether counts in equal windows (s) vary as a Poisson process lets them.

    Returns the index of dispersion (variance over mean, 1 for a Poisson process); its two-sided
    p-value by chi-square; the number of windows. What is left after the last whole one does not
    count.
    """
    from scipy.stats import chi2

    windows = int((instants[-1] - instants[0]) // window)
    if windows < 2:
        raise OptionError(f"window = {window:g}: the sample holds fewer than two")
    place = ((instants - instants[0]) // window).astype(np.int64)
    counts = np.bincount(place[place < windows], minlength=windows)
    index = float(counts.var(ddof=1) / counts.mean())
    scaled = index * (windows - 1)
    tail = min(chi2.sf(scaled, windows - 1), chi2.cdf(scaled, windows - 1))
    return Statistic(index, float(min(2 * tail, 1.0)), windows)


def rank_tests(
    residual: Floats, removed: NDArray[np.bool_], width: NDArray[np.int64]
) -> dict[str, Statistic]:
    """Test two independences that the model assumes, of jobs that ended.

    ``cause_duration`` is the probability that a removed job outlasts a served one, ties counting
    half (1/2 if cause and duration are independent), by Mann and Whitney; ``width_duration``
    Spearman's rank correlation. Those that can be computed are returned. Of the residual durations
    is gone what the model lets depend on the width.
    """
    from scipy import stats

    tests: dict[str, Statistic] = {}
    gone, kept = residual[removed], residual[~removed]
    if gone.size and kept.size:
        u = stats.mannwhitneyu(gone, kept, method="asymptotic")
        share = float(u.statistic) / gone.size / kept.size
        tests["cause_duration"] = Statistic(share, float(u.pvalue), residual.size)
    if width.size > 2 and np.ptp(width) > 0 and np.ptp(residual) > 0:
        r = stats.spearmanr(width, residual)
        tests["width_duration"] = Statistic(float(r.statistic), float(r.pvalue), width.size)
    return tests
