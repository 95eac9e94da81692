"""A number that was estimated, with the interval that it is known within."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """An estimate and its confidence interval.

    Parameters
    ----------
    value : the estimate.
    low, high : ends of the interval.
    confidence : how often such an interval covers the true value, from 0 to 1.
    """

    value: float
    low: float
    high: float
    confidence: float

    def __contains__(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high
