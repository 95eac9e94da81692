"""Confidence intervals from independent values, such as one number of each replication."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError

_EVEN = 0.1
"""Difference of both sides, over their mean, that is not worth stating."""
_CELLS = 1 << 22
"""Numbers drawn at once, so that memory does not grow with the sample."""
_FLAT = 1e-9
"""Beyond this the levels of the bootstrap have come to an end of what was drawn."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that it is known within.

    Parameters
    ----------
    estimate : in the unit of what was measured.
    low, high : ends of the interval; nan where a single value says nothing about them, infinite
        where the sample is too small to bound an end.
    level : how often such intervals cover the true value, from 0 to 1.
    n : replications, pairs, batches or cycles behind it.
    method : how it was made.
    """

    estimate: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def __contains__(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends: what stands after ±."""
        return (self.high - self.low) / 2

    @property
    def is_even(self) -> bool:
        """Whether it reaches about as far to either side, so that ± says it all."""
        return abs(self.high + self.low - 2 * self.estimate) <= _EVEN * self.half_width

    @property
    def relative_half_width(self) -> float:
        """Half width over the size of the estimate; infinite for an estimate of 0."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.estimate) if self.estimate else math.inf

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def around(
    estimate: float, error: float, n: int, level: float, method: str, *, freedom: int | None = None
) -> Interval:
    """Return the interval of Student's t around an estimate with a standard error.

    The error has n - 1 degrees of freedom, unless others are given.
    """
    left = n - 1 if freedom is None else freedom
    half = student(level, left) * error if left > 0 else math.nan
    return Interval(estimate, estimate - half, estimate + half, level, n, method)


def mean_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Estimate a mean from independent replications, by Student's t.

    Parameters
    ----------
    values : one number of each replication. The interval of a single one is nan to nan.
    level : of confidence.

    Examples
    --------
    >>> mean = mean_interval([4.0, 5.0, 6.0])
    >>> round(mean.estimate, 3), round(mean.half_width, 3)
    (5.0, 2.484)
    """
    confidence = level_of(level)
    given = sample(values)
    n = given.size
    error = float(given.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return around(float(given.mean()), error, n, confidence, "Student t")


def resampled_interval(
    draws: ArrayLike,
    *,
    estimate: float | None = None,
    level: float = 0.95,
    method: str = "standard",
) -> Interval:
    """Estimate how far a number of a log is from that of what it is a sample of.

    The spread of the draws is the error of the number. It does not shrink with more draws: they
    are made of one log, which is all there is to know. (`mean_interval` of draws says how well
    their own mean is known, which is another question.)

    Parameters
    ----------
    draws : one number of each log drawn by `resample_blocks`; for a comparison the differences, or
        ratios, of two policies on the same draws.
    estimate : the number of the log itself; the mean of the draws if not given.
    level : of confidence.
    method : ``standard``, Student's t times the standard deviation of the draws; ``percentile``,
        quantiles of the draws, of which there should be 100 or more.

    Notes
    -----
    A log of few blocks understates its error: of m weeks, or of m days of each weekday, by
    sqrt((m - 1) / m).
    """
    confidence = level_of(level)
    checks.choice(method, ("standard", "percentile"), "method")
    given = sample(draws, "draws", 2)
    middle = float(given.mean()) if estimate is None else float(sample([estimate], "estimate")[0])
    if method == "standard":
        return around(middle, float(given.std(ddof=1)), given.size, confidence, "resampled")
    low, high = np.quantile(given, [0.5 - confidence / 2, 0.5 + confidence / 2]).tolist()
    return Interval(middle, low, high, confidence, given.size, "resampled, percentile")


def quantile_interval(values: ArrayLike, q: float, *, level: float = 0.95) -> Interval:
    """Estimate a quantile of the distribution of independent values, from two of them in order.

    Parameters
    ----------
    values : independent of each other, as replications are; the waits of one run are not.
    q : which quantile: the value that a share `q` does not exceed.
    level : of confidence, kept whatever the distribution; more where values are few. An end is
        infinite where no value of the sample bounds it.
    """
    from scipy.stats import binom

    confidence, share = level_of(level), quantile_level(q)
    ordered = np.sort(sample(values))
    n = ordered.size
    # How many values lie below the quantile is binomial: so the k-th value is below it with
    # P{Bin(n, q) >= k}, whatever the distribution.
    tail = 0.5 - confidence / 2
    first, last = int(binom.ppf(tail, n, share)), int(binom.ppf(1 - tail, n, share)) + 1
    return Interval(
        float(np.quantile(ordered, share, method="inverted_cdf")),
        float(ordered[first - 1]) if first >= 1 else -math.inf,
        float(ordered[last - 1]) if last <= n else math.inf,
        confidence,
        n,
        "order statistics",
    )


def sectioned_quantile(
    sections: Sequence[ArrayLike] | Floats, q: float, *, level: float = 0.95
) -> Interval:
    """Estimate a quantile over all jobs from sections of them: replications, or batches of a run.

    Parameters
    ----------
    sections : the values of each section, independent of those of the others.
    q : which quantile.
    level : of confidence.

    Notes
    -----
    The estimate is the quantile of all values together; the quantiles of the sections, which are
    more biased, give only its error [asmussen2007].
    """
    confidence, share = level_of(level), quantile_level(q)
    if len(sections) < 2:
        raise OptionError(f"sections: there is {len(sections)}; give at least two")
    parts = [sample(part, f"sections[{k}]") for k, part in enumerate(sections)]
    whole, *quantiles = (
        float(np.quantile(part, share, method="inverted_cdf"))
        for part in (np.concatenate(parts), *parts)
    )
    n = len(parts)
    error = math.sqrt(float(np.sum((np.array(quantiles) - whole) ** 2)) / (n - 1) / n)
    return around(whole, error, n, confidence, "sectioning")


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    level: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
) -> Interval:
    """Estimate a statistic of independent values by drawing from them (BCa) [efron1987].

    For what has no formula, or is far from normal: the median or a quantile over replications.

    Parameters
    ----------
    values : one number of each replication.
    statistic : called with an array and ``axis=-1``, such as ``np.mean`` or
        ``functools.partial(np.quantile, q=0.9)``.
    level : of confidence.
    draws : samples drawn with replacement.
    seed : of the draws.

    Notes
    -----
    Samples drawn from n values spread less than the values by sqrt((n - 1) / n), and know nothing
    of Student's t; so the levels are moved outwards by what both are short of [hesterberg2015].
    Of 10 replications this covers in 93 % instead of 88 % of studies.
    """
    from scipy.special import ndtr, ndtri

    confidence = level_of(level)
    given = sample(values)
    n, count = given.size, checks.servers(draws, "draws")
    rng = checks.generator(seed)
    estimate = float(statistic(given, axis=-1))
    if n == 1:
        return Interval(estimate, math.nan, math.nan, confidence, n, "BCa bootstrap")
    at_once = max(1, _CELLS // n)
    drawn = np.concatenate(
        [
            statistic(given[rng.integers(0, n, (min(at_once, count - k), n))], axis=-1)
            for k in range(0, count, at_once)
        ]
    )
    reach = student(confidence, n - 1) * math.sqrt(n / (n - 1))
    below = np.count_nonzero(drawn < estimate) + np.count_nonzero(drawn == estimate) / 2
    # Where all lie on one side, as those of a maximum may, the bias is not known.
    bias = float(ndtri(below / count)) if 0 < below < count else 0.0
    shift = bias + np.array([-reach, reach])
    slope = np.maximum(1 - _acceleration(given, statistic) * shift, _FLAT)
    levels = ndtr(bias + shift / slope)
    low, high = np.quantile(drawn, levels)
    return Interval(estimate, float(low), float(high), confidence, n, "BCa bootstrap")


def _acceleration(given: Floats, statistic: Callable[..., Any]) -> float:
    """How fast the error of a statistic changes with it, by leaving out each value in turn."""
    n = given.size
    left = np.array([statistic(np.delete(given, k), axis=-1) for k in range(n)])
    gaps = left.mean() - left
    spread = float(np.sum(gaps**2))
    return float(np.sum(gaps**3)) / (6 * spread**1.5) if spread > 0 else 0.0


def sample(values: ArrayLike, name: str = "values", least: int = 1) -> Floats:
    """Return a column of at least so many finite numbers; `name` is for messages."""
    array = checks.numbers(values, name)
    if array.ndim != 1 or array.size < least:
        raise OptionError(
            f"{name}: has {array.size} numbers in {array.ndim} dimensions; "
            f"give a column of at least {least}"
        )
    checks.refuse_unknown(array, name)
    return array


def pairs(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str], least: int = 1
) -> tuple[Floats, Floats]:
    """Return two columns of finite numbers that belong together row by row."""
    one, other = sample(first, names[0], least), sample(second, names[1], least)
    if one.size != other.size:
        raise OptionError(
            f"{names[0]} has {one.size} numbers, {names[1]} has {other.size}; "
            "give the same replications of both, in the same order"
        )
    return one, other


def level_of(level: float) -> float:
    """Return a level of confidence, strictly between 0 and 1."""
    return _inside(level, "level", "such as 0.95")


def quantile_level(q: float) -> float:
    """Return which quantile is meant, strictly between 0 and 1."""
    return _inside(q, "q", "such as 0.95 for the value that 5 % exceed")


def _inside(value: float, name: str, example: str) -> float:
    number = checks.probability(value, name)
    if not 0 < number < 1:
        raise OptionError(f"{name} = {number:g}: give a number between 0 and 1, {example}")
    return number


def student(level: float, freedom: int) -> float:
    """Return how many standard errors Student's t reaches to either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
