"""How far a number of one run is from what it estimates: batches of its jobs, or of its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ..figures.binning import Path, bin_path

if TYPE_CHECKING:
    from ...study.intervals import Interval

__all__ = ["mean_of_run", "mean_over_time", "moved", "quantile_of_run"]

Floats = NDArray[np.float64]

_WINDOWS = 512


def mean_of_run(values: Floats, estimate: float | None = None) -> Interval | None:
    """Return the interval of a mean over jobs in order of submission; None of too few."""
    from ...study.batches import batch_means

    return _batched(values, batch_means, estimate)


def quantile_of_run(values: Floats, q: float, estimate: float | None = None) -> Interval | None:
    """Return the interval of a quantile over the jobs of one run, as `mean_of_run` does."""
    from ...study.batches import batch_quantile

    return _batched(values, lambda known: batch_quantile(known, q), estimate)


def mean_over_time(path: Path | None, estimate: float) -> Interval | None:
    """Return the interval of the mean of a path, in any unit, from windows of equal length."""
    from ...study.batches import batch_means

    if path is None:
        return None
    edges = np.linspace(float(path.time[0]), float(path.time[-1]), _WINDOWS + 1)
    if not edges[-1] > edges[0]:
        return None
    windows = bin_path(path, edges).mean
    mean = float(windows.mean())
    if not mean > 0:
        return None
    return _batched(windows * (estimate / mean), batch_means, estimate)


def _batched(
    values: Floats, measure: Callable[[Floats], Interval], estimate: float | None
) -> Interval | None:
    if values.size == 0 or not np.isfinite(values).all() or np.ptp(values) == 0:
        return None
    try:
        found = measure(values)
    except OptionError:
        return None
    return moved(found, found.estimate if estimate is None else estimate)


def moved(interval: Interval, estimate: float) -> Interval:
    """An interval around the mean of all jobs, of which batches of equal length leave some out."""
    by = estimate - interval.estimate
    return replace(interval, estimate=estimate, low=interval.low + by, high=interval.high + by)
