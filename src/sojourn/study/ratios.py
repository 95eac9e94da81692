"""Intervals of a ratio of two means that are measured together.

The mean over jobs is such a ratio when jobs come in cycles (the sum of a cycle over its number of
jobs), and so is the change from one policy to another under the same random numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..errors import OptionError
from ._samples import Floats, level_of, pairs, student
from .intervals import Interval, around, mean_interval

__all__ = ["ratio_interval"]

_METHODS = ("fieller", "delta", "jackknife", "geometric")


def ratio_interval(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "fieller",
) -> Interval:
    """Estimate the mean of one column over the mean of another.

    Parameters
    ----------
    numerator, denominator : pairs, row by row; pairs are independent of each other.
    level : of confidence.
    method : ``fieller`` [fieller1954], exact for normal pairs of any number, and unbounded where
        the denominator may be 0; ``delta``, symmetric, for many pairs; ``jackknife``, less biased
        than that for few [iglehart1975]; ``geometric``, not of the means but the geometric mean of
        the ratios of pairs, for positive values that differ by factors from pair to pair.
    """
    confidence = level_of(level)
    checks.choice(method, _METHODS, "method")
    above, below = pairs(numerator, denominator, ("numerator", "denominator"))
    if below.mean() == 0:
        raise OptionError("denominator: its mean is 0, so there is no ratio to it")
    if above.size == 1:
        ratio = float(above[0] / below[0])
        return Interval(ratio, math.nan, math.nan, confidence, 1, method)
    estimate = {
        "fieller": _fieller,
        "delta": _delta,
        "jackknife": _jackknife,
        "geometric": _geometric,
    }[method]
    return estimate(above, below, confidence)


def _fieller(above: Floats, below: Floats, level: float) -> Interval:
    """All r for which the mean of above - r below is not told from 0 by Student's t."""
    n = above.size
    reach = np.cov(above, below) * (student(level, n - 1) ** 2 / n)
    x, y = float(above.mean()), float(below.mean())
    # (x - r y)^2 <= t^2 var(x - r y), a quadratic inequality in r.
    a = y * y - float(reach[1, 1])
    b = x * y - float(reach[0, 1])
    c = x * x - float(reach[0, 0])
    if a <= 0:
        return Interval(x / y, -math.inf, math.inf, level, n, "fieller, unbounded")
    root = math.sqrt(max(b * b - a * c, 0.0))
    return Interval(x / y, (b - root) / a, (b + root) / a, level, n, "fieller")


def _delta(above: Floats, below: Floats, level: float) -> Interval:
    n = above.size
    ratio = float(above.mean() / below.mean())
    error = float(np.std(above - ratio * below, ddof=1)) / abs(float(below.mean())) / math.sqrt(n)
    return around(ratio, error, n, level, "delta")


def _jackknife(above: Floats, below: Floats, level: float) -> Interval:
    n = above.size
    left = below.sum() - below
    if np.any(left == 0):
        raise OptionError("denominator: all but one are 0; the jackknife needs more")
    pseudo = n * (above.sum() / below.sum()) - (n - 1) * (above.sum() - above) / left
    error = float(np.std(pseudo, ddof=1)) / math.sqrt(n)
    return around(float(pseudo.mean()), error, n, level, "jackknife")


def _geometric(above: Floats, below: Floats, level: float) -> Interval:
    if not (np.all(above > 0) and np.all(below > 0)):
        raise OptionError("method = 'geometric': some values are not above 0; choose another")
    found = mean_interval(np.log(above / below), level=level)
    estimate, low, high = (math.exp(value) for value in (found.estimate, found.low, found.high))
    return Interval(estimate, low, high, level, found.n, "geometric")
