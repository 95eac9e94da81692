"""How far a number of a log is from that of what it is a sample of: the spread over drawn logs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..errors import OptionError
from ._samples import level_of, pairs, sample
from .intervals import Interval, around
from .paired import possible_change

__all__ = ["resampled_change", "resampled_interval"]

_METHODS = ("standard", "percentile")


def resampled_interval(
    draws: ArrayLike,
    *,
    estimate: float | None = None,
    level: float = 0.95,
    method: str = "standard",
) -> Interval:
    """Tell how far a number of a log is from that of what it is a sample of.

    The spread of the draws is the error of the number. It does not shrink with more draws: they
    are made of one log, which is all there is to know. (`mean_interval` of draws tells how well
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
    checks.choice(method, _METHODS, "method")
    given = sample(draws, "draws", 2)
    middle = float(given.mean()) if estimate is None else float(sample([estimate], "estimate")[0])
    if method == "standard":
        return around(middle, float(given.std(ddof=1)), given.size, confidence, "resampled")
    low, high = np.quantile(given, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(
        middle, float(low), float(high), confidence, given.size, "resampled, percentile"
    )


def resampled_change(values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> Interval:
    """Tell how far the relative change between two policies on one log is from the true one.

    The change is that of the means over the draws, its error the spread of what is left of each
    draw, by the delta method.

    Parameters
    ----------
    values, baseline : one number of each log drawn by `resample_blocks`, in the same order.
    level : of confidence.
    """
    confidence = level_of(level)
    these, those = pairs(values, baseline, ("values", "baseline"), 2)
    middle = float(those.mean())
    if middle == 0:
        raise OptionError("baseline: its mean is 0, so there is no change relative to it")
    ratio = float(these.mean()) / middle
    spread = float(np.std(these - ratio * those, ddof=1)) / abs(middle)
    found = around(ratio - 1, spread, these.size, confidence, "resampled ratio")
    return possible_change(found, these, those)
