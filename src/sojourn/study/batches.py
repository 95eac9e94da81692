"""Intervals from one long run, whose values depend on each other: means of batches.

Neighbouring jobs wait for the same reasons, so their waits say less than as many independent
ones. Means of long batches hardly depend on each other any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from .intervals import (
    Interval,
    around,
    level_of,
    quantile_level,
    sample,
    sectioned_quantile,
)

_FEWEST, _MOST = 10, 30
"""Batches: more say hardly more, and each is then shorter [schmeiser1982]."""
_DOUBT = 0.2
"""Batches count as correlated if chance would make them so alike as rarely as this."""
_BEYOND = 50
"""Values beyond a quantile in each batch, or its quantile is too crude to estimate an error by."""


def batch_means(values: ArrayLike, *, batches: int | None = None, level: float = 0.95) -> Interval:
    """Estimate the mean of a long run by the means of batches.

    Parameters
    ----------
    values : in the order of time, without the warm-up, such as the first tenth.
    batches : how many; by default as many from 30 down to 10 as are not correlated.
    level : of confidence.

    Notes
    -----
    Where even 10 batches are correlated, the interval is widened by sqrt((1 + r) / (1 - r)), r
    their lag-1 correlation, and `method` says so: the run is too short to be sure.
    """
    confidence = level_of(level)
    parts, doubt = _divided(values, batches, lambda table: table.mean(axis=1))
    means = parts.mean(axis=1)
    n = means.size
    error = float(means.std(ddof=1)) / math.sqrt(n) * _widening(means, doubt)
    return around(float(means.mean()), error, n, confidence, f"batch means{doubt}")


def batch_quantile(
    values: ArrayLike, q: float, *, batches: int | None = None, level: float = 0.95
) -> Interval:
    """Estimate a quantile over the jobs of a long run by sections of it.

    Parameters
    ----------
    values, level : as in `batch_means`.
    q : which quantile.
    batches : as in `batch_means`; by default also so few that each has some values beyond it.
    """
    share = quantile_level(q)

    def quantiles(table: Floats) -> Floats:
        return np.asarray(np.quantile(table, share, axis=1, method="inverted_cdf"))

    beyond = np.size(values) * min(share, 1 - share)
    most = int(beyond / _BEYOND)
    if batches is None and round(beyond, 9) < _FEWEST:
        least = math.ceil(round(_FEWEST / min(share, 1 - share), 9))
        raise OptionError(
            f"values: {np.size(values)} are too few for {_FEWEST} batches with one beyond the "
            f"quantile {share:g} in each; give at least {least}"
        )
    parts, doubt = _divided(values, batches, quantiles, min(_MOST, most))
    sections = sectioned_quantile(parts, share, level=level)
    error = sections.half_width * _widening(quantiles(parts), doubt)
    low, high = sections.estimate - error, sections.estimate + error
    return replace(sections, low=low, high=high, method=f"batch quantiles{doubt}")


def split(values: ArrayLike, batches: int) -> Floats:
    """Return batches of equal length as rows; what is left over is dropped at the beginning."""
    given = sample(values)
    count = checks.servers(batches, "batches")
    if count > given.size:
        raise OptionError(f"batches = {count}: there are {given.size} values; give fewer batches")
    return given[given.size % count :].reshape(count, -1)


def correlation_test(means: ArrayLike) -> float:
    """Test whether neighbours are alike, by von Neumann's ratio [fishman1997].

    Parameters
    ----------
    means : of batches, in the order of time; at least three.

    Returns
    -------
    How often independent normal values would have neighbours at least as much alike.
    """
    from scipy.special import ndtr

    given = sample(means, "means", 3)
    n = given.size
    spread = float(np.sum((given - given.mean()) ** 2))
    if spread == 0:
        return 1.0
    ratio = 1 - float(np.sum(np.diff(given) ** 2)) / (2 * spread)
    return float(ndtr(-ratio * math.sqrt((n * n - 1) / (n - 2))))


def _divided(
    values: ArrayLike,
    batches: int | None,
    measure: Callable[[Floats], Floats],
    most: int = _MOST,
) -> tuple[Floats, str]:
    """Return batches as rows, and a word where they depend on each other all the same."""
    given = sample(values)
    if batches is not None:
        if checks.servers(batches, "batches") < 2:
            raise OptionError("batches = 1: give at least 2")
        return split(given, batches), ""
    if given.size < 2 * _FEWEST:
        raise OptionError(
            f"values: {given.size} are too few for {_FEWEST} batches; give at least {2 * _FEWEST}"
        )
    parts = split(given, _FEWEST)
    for count in range(max(min(most, given.size // 2), _FEWEST), _FEWEST - 1, -1):
        parts = split(given, count)
        if correlation_test(measure(parts)) >= _DOUBT:
            return parts, ""
    return parts, ", correlated"


def _widening(means: Floats, doubt: str) -> float:
    """By how much correlated batches understate the error, if their correlation fades evenly."""
    if not doubt:
        return 1.0
    gaps = means - means.mean()
    lag = float(np.sum(gaps[1:] * gaps[:-1]) / np.sum(gaps**2))
    lag = min(max(lag, 0.0), 0.9)
    return math.sqrt((1 + lag) / (1 - lag))
