"""As many replications as a requested precision needs, and no more."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..errors import OptionError
from .intervals import Interval, around, level_of, mean_interval, sample, student

_METHODS = ("sequential", "two-stage")


def replications_needed(
    values: ArrayLike,
    *,
    relative: float | None = None,
    absolute: float | None = None,
    level: float = 0.95,
) -> int:
    """Return how many replications the mean needs to be known so precisely.

    Parameters
    ----------
    values : one number of each replication so far, at least two.
    relative : half width of the interval over the true mean, such as 0.05.
    absolute : half width in the unit of the values. Where both are given, one will do.
    level : of confidence.

    Returns
    -------
    In all, those so far included: the second stage of [stein1945]. A mean of 0 has no relative
    precision; the largest integer then.
    """
    confidence = level_of(level)
    given = sample(values, "values", 2)
    error = student(confidence, given.size - 1) * float(given.std(ddof=1))
    goal = _goal(float(given.mean()), relative, absolute)
    if error == 0:
        return given.size
    needed = (error / goal) ** 2 if goal > 0 else math.inf
    return max(given.size, math.ceil(needed) if needed < 2**53 else 2**53)


def further_replications(
    interval: Interval, *, relative: float | None = None, absolute: float | None = None
) -> int:
    """Return how many replications would make an interval narrow enough, if their spread stays.

    The interval is that of Student's t over the replications so far, at least two.
    """
    goal, n = _goal(interval.estimate, relative, absolute), interval.n
    spread = interval.half_width * math.sqrt(n) / student(interval.level, n - 1)
    if spread == 0 or goal == 0:
        return n if spread == 0 else 2**53
    # With more of them Student's t reaches less far; the normal's is where to begin.
    needed = max(n, math.ceil((student(interval.level, 2**31) * spread / goal) ** 2))
    while student(interval.level, needed - 1) * spread > goal * math.sqrt(needed):
        needed += max(1, needed // 100)
    return min(needed, 2**53)


def is_precise(
    interval: Interval, *, relative: float | None = None, absolute: float | None = None
) -> bool:
    """Whether an interval is as narrow as requested; see `replications_needed`."""
    return interval.half_width <= _goal(interval.estimate, relative, absolute)


def replicate(
    run: Callable[[int], float],
    *,
    relative: float | None = None,
    absolute: float | None = None,
    level: float = 0.95,
    least: int = 10,
    most: int = 1000,
    method: str = "sequential",
) -> Interval:
    """Run replications until their mean is known as precisely as requested.

    Parameters
    ----------
    run : called with the number of a replication, from 0; returns its value.
    relative, absolute, level : as in `replications_needed`.
    least, most : replications.
    method : ``sequential``, one by one until the interval is narrow enough [chow1965];
        ``two-stage``, as many as the first `least` ask for, at once [stein1945].

    Returns
    -------
    The interval. Its half width may be less than requested, and is more only where `most`
    replications were not enough, which `method` of the interval then says.

    Notes
    -----
    Two stages cover with at least the requested probability if values are normal, at the price of
    more replications. One by one they stop a little too gladly, when the spread happens to look
    small: of 95 % are left 92 to 94 with at least 10 replications.
    """
    checks.choice(method, _METHODS, "method")
    confidence = level_of(level)
    first, last = checks.servers(least, "least"), checks.servers(most, "most")
    if not 2 <= first <= last:
        raise OptionError(f"least = {first}, most = {last}: give 2 or more, and not less as most")
    _goal(1.0, relative, absolute)
    values = [float(run(k)) for k in range(first)]
    if method == "two-stage":
        wanted = replications_needed(values, relative=relative, absolute=absolute, level=confidence)
        spread = float(np.std(sample(values), ddof=1))
        values += [float(run(k)) for k in range(first, min(wanted, last))]
        n = len(values)
        # The spread of the first stage alone is independent of when to stop [stein1945].
        interval = around(
            float(np.mean(sample(values))),
            spread / math.sqrt(n),
            n,
            confidence,
            method,
            freedom=first - 1,
        )
        return interval if wanted <= last else replace(interval, method=f"{method}, not reached")
    while True:
        interval = replace(mean_interval(values, level=confidence), method=method)
        if is_precise(interval, relative=relative, absolute=absolute):
            return interval
        if len(values) == last:
            return replace(interval, method=f"{method}, not reached")
        values.append(float(run(len(values))))


def _goal(mean: float, relative: float | None, absolute: float | None) -> float:
    """Half width that is narrow enough around a mean."""
    if relative is None and absolute is None:
        raise OptionError("no precision is requested; give relative, absolute or both")
    goals = [0.0]
    if relative is not None:
        share = checks.positive(relative, "relative")
        # Of the estimate a little less than of the true mean, which it may exceed [law2015].
        goals.append(share / (1 + share) * abs(mean))
    if absolute is not None:
        goals.append(checks.positive(absolute, "absolute"))
    return max(goals)
