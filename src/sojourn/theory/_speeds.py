"""When the common speed of all servers changes: at arrivals and departures, by one of two laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers, pair, positive, probability
from ..errors import OptionError

_FARTHEST = 10_000
"""The highest threshold: up to it each number of jobs is a level of its own."""


@dataclass(frozen=True)
class SpeedControl:
    """Speeds and the law by which they change; with neither law the first speed stays.

    At `low` numbers of jobs a departure lowers the speed, one below each speed but the first; above
    `high` ones an arrival raises it.
    """

    speeds: tuple[float, ...]  # increasing
    switch: tuple[float, float] | None = None  # chances to go down at a departure, up at an arrival
    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()

    @property
    def begin(self) -> int:
        """The speed that the system begins with, or comes to sooner or later and never leaves."""
        return 1 if self.switch is not None and self.switch[0] == 0 < self.switch[1] else 0

    @property
    def highest(self) -> int:
        """The number of jobs above which nothing depends on it."""
        return max(self.high, default=0)

    def at_arrival(self, before: int, speed: int) -> Iterator[tuple[int, float]]:
        """Speeds after an arrival that finds so many jobs, with their probabilities."""
        if self.switch is not None:
            yield from _flip(speed, 1, self.switch[1])
            return
        for step, high in enumerate(self.high):
            if before == high:
                speed = max(speed, step + 1)
        yield speed, 1.0

    def at_departure(self, before: int, speed: int) -> Iterator[tuple[int, float]]:
        """Speeds after a departure from so many jobs, with their probabilities."""
        if self.switch is not None:
            yield from _flip(speed, 0, self.switch[0])
            return
        for step, low in enumerate(self.low):
            if before == low + 1:
                speed = min(speed, step)
        yield speed, 1.0


def _flip(speed: int, to: int, chance: float) -> Iterator[tuple[int, float]]:
    if speed == to or chance == 0:
        yield speed, 1.0
    else:
        yield to, chance
        if chance < 1:
            yield speed, 1 - chance


def control_of(
    speeds: ArrayLike,
    switch: tuple[float, float] | None,
    thresholds: tuple[ArrayLike, ArrayLike] | None,
) -> SpeedControl:
    """Check the speeds and their law."""
    given = np.atleast_1d(numbers(speeds, "speeds"))
    if given.ndim != 1 or given.size == 0:
        raise OptionError("speeds: give one speed, or a list of them")
    paces = tuple(positive(float(speed), f"speeds[{i}]") for i, speed in enumerate(given))
    if any(a >= b for a, b in pairwise(paces)):
        raise OptionError(f"speeds = {', '.join(f'{v:g}' for v in paces)}: give them increasing")
    if switch is not None and thresholds is not None:
        raise OptionError("switch and thresholds: give one of the two")
    if switch is not None:
        if len(paces) != 2:
            raise OptionError(f"switch: needs a low and a high speed; speeds has {len(paces)}")
        down, up = pair(switch, "switch")
        return SpeedControl(paces, (probability(down, "switch[0]"), probability(up, "switch[1]")))
    if thresholds is None:
        if len(paces) > 1:
            raise OptionError("speeds: several, but neither switch nor thresholds say when")
        return SpeedControl(paces)
    low, high = (
        tuple(np.ravel(numbers(k, f"thresholds: {name}")).tolist())
        for name, k in zip(("k_L", "k_H"), pair(thresholds, "thresholds"), strict=True)
    )
    steps = len(paces) - 1
    if len(low) != steps or len(high) != steps:
        raise OptionError(
            f"thresholds: {len(paces)} speeds need {steps} of each kind, not {len(low)} and "
            f"{len(high)}"
        )
    for name, ks in (("k_L", low), ("k_H", high)):
        whole = all(k == np.rint(k) and 0 <= k < np.inf for k in ks)
        if not whole or any(a > b for a, b in pairwise(ks)):
            shown = ", ".join(f"{k:g}" for k in ks)
            raise OptionError(f"thresholds: {name} = {shown}; give rising whole numbers from 0")
    if high and high[-1] > _FARTHEST:
        raise OptionError(f"thresholds: k_H = {high[-1]:g}; give at most {_FARTHEST:,}")
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise OptionError("thresholds: a k_L above its k_H")
    return SpeedControl(paces, None, tuple(int(k) for k in low), tuple(int(k) for k in high))
