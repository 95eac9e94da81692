"""Errors for parameters that no distribution can have."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import OptionError

__all__ = ["at_least_one", "positive", "probabilities"]


def positive(who: str, what: str, value: float) -> None:
    """Refuse anything but a finite number > 0."""
    if not (math.isfinite(value) and value > 0):
        raise OptionError(f"{who}: {what} is {value}; give a finite number > 0")


def at_least_one(who: str, what: str, value: int) -> None:
    """Refuse anything but a whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise OptionError(f"{who}: {what} is {value!r}; give a whole number >= 1")


def probabilities(who: str, probs: Sequence[float], n: int) -> None:
    """Refuse anything but `n` probabilities that sum to 1."""
    if len(probs) != n or n == 0:
        raise OptionError(f"{who}: {len(probs)} probabilities for {n} values; give one for each")
    if not all(0.0 <= p <= 1.0 for p in probs):
        raise OptionError(f"{who}: a probability is outside [0, 1]; got {tuple(probs)}")
    if abs(math.fsum(probs) - 1.0) > 1e-9:
        raise OptionError(f"{who}: probabilities sum to {math.fsum(probs)}; make them sum to 1")
