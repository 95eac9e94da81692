"""Intervals of a ratio of two means that are measured together.

The mean over jobs is such a ratio when jobs come in cycles (the sum of a cycle over its number of
jobs), and so is the change from one policy to another under the same random numbers. A cycle is
what happens from one job that finds the system empty to the next: cycles are independent of each
other, so that there is no warm-up and there are no batches to choose [crane1975].
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from .intervals import Interval, around, level_of, mean_interval, pairs, sample, student

_FEWEST = 30
"""Cycles below which the normal approximation of their sums is no good."""
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
    """All r for which the mean of above - r below does not differ from 0 by Student's t."""
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
    logs = mean_interval(np.log(above / below), level=level)
    estimate, low, high = map(math.exp, (logs.estimate, logs.low, logs.high))
    return Interval(estimate, low, high, level, logs.n, "geometric")


def regeneration_points(submit: ArrayLike, end: ArrayLike) -> NDArray[np.int64]:
    """Return which jobs find the system empty.

    Parameters
    ----------
    submit : submit times (s), ascending.
    end : when each job left (s). A job that leaves at the instant of an arrival has left; one that
        arrives at the same instant as another is not alone.

    Notes
    -----
    The system begins anew there if interarrival times are independent and so are jobs, and the
    machine remembers nothing while it is empty. A log with a daily cycle does not begin anew.
    """
    arrived, left = pairs(submit, end, ("submit", "end"))
    if np.any(np.diff(arrived) < 0):
        raise OptionError("submit: goes back in time; sort the jobs by submit time")
    before = np.maximum.accumulate(left)[:-1]
    alone = (before <= arrived[1:]) & (arrived[:-1] < arrived[1:])
    return np.concatenate([[0], np.flatnonzero(alone) + 1])


def regenerative_interval(
    values: ArrayLike,
    points: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delta",
) -> Interval:
    """Estimate the mean over jobs by cycles.

    Parameters
    ----------
    values : one number of each job, by submit time; also the warm-up.
    points : which jobs find the system empty, as `regeneration_points` returns them. The cycle
        after the last is not complete, and left out.
    level : of confidence.
    method : how the ratio of sums to numbers of jobs is estimated; see `ratio_interval`.

    Notes
    -----
    For an average over time give the integrals over the cycles, and their lengths, to
    `ratio_interval`.
    """
    level_of(level)
    given = sample(values)
    first = np.asarray(points)
    if first.ndim != 1 or first.dtype.kind not in "iu":
        raise OptionError("points: give places of jobs, as regeneration_points returns them")
    if first.size and not (
        first[0] >= 0 and first[-1] < given.size and bool(np.all(np.diff(first) > 0))
    ):
        raise OptionError(f"points: give ascending places from 0 to {given.size - 1}")
    if first.size <= _FEWEST:
        raise OptionError(
            f"points: {max(first.size - 1, 0)} complete cycles, of at least {_FEWEST}: the system "
            "is seldom empty; take batch_means, or a longer run"
        )
    sums = np.add.reduceat(given[: first[-1]], first[:-1])
    ratio = ratio_interval(sums, np.diff(first), level=level, method=method)
    return replace(ratio, method=f"regenerative, {ratio.method}")
