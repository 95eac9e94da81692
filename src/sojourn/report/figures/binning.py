"""Paths and distributions, brought to the width of a picture without losing what matters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError


class Path(NamedTuple):
    """A path that jumps at instants and is straight between them, right-continuous."""

    time: Floats  # s, never falling; of several rows at one instant the last one counts
    value: Floats  # from each instant on
    slope: Floats  # change per second until the next instant; 0 for a path of steps

    @classmethod
    def of(cls, time: ArrayLike, value: ArrayLike, slope: ArrayLike = 0.0) -> Path:
        """Make a path of columns, and check that time does not run backwards."""
        instants = np.asarray(time, dtype=np.float64)
        values = np.asarray(value, dtype=np.float64)
        if instants.size == 0:
            raise OptionError("the table has no rows; there is nothing to draw")
        back = np.flatnonzero(np.diff(instants) < 0)
        if back.size:
            raise OptionError(f"column 'time' falls after row {back[0]}; sort the table by time")
        return cls(instants, values, np.broadcast_to(np.asarray(slope, np.float64), values.shape))

    def corners(self) -> tuple[Floats, Floats]:
        """Return the points that a line through the path has to visit."""
        last = self.time.size - 1
        time = np.empty(2 * last + 1)
        value = np.empty(2 * last + 1)
        time[0::2], time[1::2] = self.time, self.time[1:]
        value[0::2] = self.value
        value[1::2] = self.value[:-1] + self.slope[:-1] * np.diff(self.time)
        return time, value


class Bins(NamedTuple):
    """What a path did between consecutive edges."""

    edges: Floats  # n + 1 of them, s
    mean: Floats  # exact: ``sum(mean * diff(edges))`` is the path's integral
    low: Floats  # smallest value held for any length of time in the bin
    high: Floats  # largest, likewise


def bin_path(path: Path, edges: ArrayLike) -> Bins:
    """Average a path over bins with rising edges (s), exactly.

    The path is 0 before its first instant and keeps its last value.
    """
    edge = np.asarray(edges, dtype=np.float64)
    inside = path.time[(path.time > edge[0]) & (path.time < edge[-1])]
    cut = np.unique(np.concatenate((inside, edge)))
    row = np.searchsorted(path.time, cut[:-1], side="right") - 1
    known = row >= 0
    row = np.maximum(row, 0)
    slope = np.where(known & (row < path.time.size - 1), path.slope[row], 0.0)
    length = np.diff(cut)
    begin = np.where(known, path.value[row] + slope * (cut[:-1] - path.time[row]), 0.0)
    finish = begin + slope * length
    first = np.searchsorted(cut, edge[:-1])
    return Bins(
        edge,
        np.add.reduceat((begin + finish) / 2 * length, first) / np.diff(edge),
        np.minimum.reduceat(np.minimum(begin, finish), first),
        np.maximum.reduceat(np.maximum(begin, finish), first),
    )


def counted(enter: Floats, leave: Floats, weight: ArrayLike = 1.0) -> Path:
    """Return how much is present over time: `weight` of an item enters and later leaves (s)."""
    amount = np.broadcast_to(np.asarray(weight, dtype=np.float64), enter.shape)
    time = np.concatenate((enter, leave))
    order = np.argsort(time, kind="stable")
    time = time[order]
    level = np.cumsum(np.concatenate((amount, -amount))[order])
    last = np.flatnonzero(np.diff(time, append=np.inf) > 0)
    # Sums of fractions end a rounding error away from the 0 they stand for.
    return Path.of(time[last], np.maximum(level[last], 0.0))


class Curve(NamedTuple):
    """A distribution function: places, rising, and the share of the sample at or below each."""

    value: Floats
    share: Floats


def distribution_curve(values: Floats, low: float, most: int = 400) -> Curve:
    """Return the distribution function of a sample from `low` on, at about `most` points.

    Of a larger sample there are evenly spaced quantiles and the hundred
    largest values: each point is one of the sample, with its exact share.
    """
    value, count = np.unique(values[np.isfinite(values)], return_counts=True)
    share = np.cumsum(count) / max(count.sum(), 1)
    at_low = float(share[value <= low][-1]) if (value <= low).any() else 0.0
    value, share = value[value > low], share[value > low]
    if value.size > most:
        even = np.searchsorted(share, np.linspace(at_low, 1.0, most - 100, endpoint=False))
        chosen = np.unique(np.concatenate((even, np.arange(value.size - 100, value.size))))
        value, share = value[chosen], share[chosen]
    return Curve(np.append(low, value), np.append(at_low, share))
