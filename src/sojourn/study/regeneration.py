"""Intervals from one long run that begins anew each time a job finds the system empty.

What happens between two such arrivals is a cycle, and cycles are independent of each other: no
warm-up, no batches to choose [crane1975].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import OptionError
from ._samples import level_of, pairs, sample
from .intervals import Interval
from .ratios import ratio_interval

__all__ = ["regeneration_points", "regenerative_interval"]

_FEWEST = 30
"""Cycles below which the normal approximation of their sums is no good."""


def regeneration_points(submit: ArrayLike, end: ArrayLike) -> NDArray[np.int64]:
    """Return which jobs find the system empty.

    Parameters
    ----------
    submit : submit times (s), ascending.
    end : when each job left (s). A job that leaves at the instant of an arrival has left; one that
        arrives at the same instant as another is not alone.

    Notes
    -----
    Each is a beginning anew if interarrival times are independent and so are jobs, and the machine
    remembers nothing while it is empty. A log with a daily cycle does not begin anew.
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
    found = ratio_interval(sums, np.diff(first), level=level, method=method)
    return Interval(
        found.estimate, found.low, found.high, found.level, found.n, f"regenerative, {found.method}"
    )
