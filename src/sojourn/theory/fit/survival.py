"""Survival without a distribution, from observations some of which are cut short."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError


class Survival(NamedTuple):
    """A survival function that falls at some instants, and its standard error."""

    time: Floats  # s, where it falls
    share: Floats  # share still in service after that
    se: Floats  # of the share, by Greenwood's formula

    def at(self, time: ArrayLike) -> Floats:
        """Return the share still in service at some times (s)."""
        place = np.searchsorted(self.time, np.asarray(time, dtype=np.float64), side="right")
        return np.asarray(np.append(1.0, self.share)[place])

    def time_of(self, finished: float) -> float:
        """Return the least time (s) by which a share has finished; infinite if it never has."""
        # 1 - share may miss the share asked for by rounding alone.
        reached = np.flatnonzero(1 - self.share >= finished - 1e-12)
        return float(self.time[reached[0]]) if reached.size else float("inf")


def kaplan_meier(duration: ArrayLike, ended: ArrayLike) -> Survival:
    """Estimate a survival function by the product-limit formula of Kaplan and Meier.

    Parameters
    ----------
    duration : how long each job was observed (s).
    ended : whether it ended then; if not, it was cut short, for reasons that have nothing to do
        with how long it would have taken.
    """
    observed = np.asarray(duration, dtype=np.float64)
    event = np.asarray(ended, dtype=bool)
    if observed.size == 0 or observed.shape != event.shape:
        raise OptionError("duration and ended: give one of each per job, and at least one job")
    time, place = np.unique(observed, return_inverse=True)
    ends = np.bincount(place, event, minlength=time.size)
    at_risk = observed.size - np.append(0, np.cumsum(np.bincount(place))[:-1])
    falls = ends > 0
    ends, at_risk = ends[falls], at_risk[falls]
    share = np.cumprod(1 - ends / at_risk)
    left = at_risk - ends
    # Where nobody is left the share is 0 for certain.
    terms = np.divide(ends, at_risk * left, out=np.zeros_like(ends), where=left > 0)
    return Survival(time[falls], share, share * np.sqrt(np.cumsum(terms)))
