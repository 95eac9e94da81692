"""Arrays of NumPy as plain numbers: masks, dates and lengths of time."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import OptionError

__all__ = ["distinct", "for_kernels", "plain", "seconds", "unix"]

_DAY = 86400.0
_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12}


def plain(name: str, values: ArrayLike, unknown: int) -> NDArray[Any]:
    """Return the values of a column as an array of numbers, of whichever type.

    Parameters
    ----------
    name : of the column, for messages.
    values : numbers, or lengths of time, which become seconds.
    unknown : what stands for values that are masked, or no time.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise OptionError(
            f"column '{name}' is no list of numbers; give one value per job"
        ) from None
    kind = array.dtype.kind
    if array.ndim != 1:
        raise OptionError(f"column '{name}' has {array.ndim} dimensions; give one value per job")
    if kind == "M":
        raise OptionError(
            f"column '{name}' holds dates; give seconds, or use Jobs.from_pandas, which reads them"
        )
    if kind == "m":
        try:
            array = seconds(array)
        except ValueError as error:
            raise OptionError(f"column '{name}': {error}; give seconds") from None
        array = np.where(np.isnan(array), unknown, array)
    elif kind not in "iubf":
        try:
            if kind == "c":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"column '{name}' holds values that are not numbers") from None
    if isinstance(values, np.ma.MaskedArray):
        known = ~np.ma.getmaskarray(values)
        wide = array.astype(np.int64) if array.dtype.kind in "ib" or kind == "u" else array
        array = np.where(known, wide, unknown)
    return array


def for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels take it: without gaps, and writable; itself if it is so."""
    return np.require(array, requirements=["C", "A", "W"])


def unix(values: NDArray[Any], zone: tzinfo = UTC) -> NDArray[np.float64]:
    """Return dates of NumPy, on the clock of a time zone, as Unix time (s); nan where not known.

    Of an hour that occurs twice the first is meant.
    """
    clock = seconds(values)
    if zone is UTC:
        return clock
    known = np.flatnonzero(np.isfinite(clock))
    days, places = np.unique(np.floor(clock[known] / _DAY), return_inverse=True)
    offsets = [[_offset(day * _DAY, zone), _offset((day + 1) * _DAY, zone)] for day in days]
    begin, end = np.array(offsets).reshape(-1, 2).T
    shifts = begin[places]
    # Days on which clocks are moved are few: each moment of them is looked up.
    moved = np.flatnonzero((begin != end)[places])
    shifts[moved] = [_offset(time, zone) for time in clock[known[moved]]]
    clock[known] -= shifts
    return clock


def _offset(time: float, zone: tzinfo) -> float:
    """Return how far the clock of a zone is ahead of UTC (s) when it shows a time."""
    ahead = (_EPOCH + timedelta(seconds=math.floor(time))).replace(tzinfo=zone).utcoffset()
    return ahead.total_seconds() if ahead is not None else 0.0


def seconds(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return lengths of time, or dates since 1970, of NumPy in seconds; nan where not known."""
    kind, (unit, steps) = values.dtype.kind, np.datetime_data(values.dtype)
    if unit == "generic" or (kind == "m" and unit in "YM"):
        if np.isnat(values).all():
            return np.full(values.size, np.nan)
        raise ValueError(f"{values.dtype} has no fixed length")
    per_second = _PER_SECOND.get(unit)
    if per_second is None:
        values, per_second, steps = values.astype(f"{kind}8[s]"), 1, 1
    # Whole seconds and the rest apart: nanoseconds since 1970 do not fit a float.
    counts, rest = np.divmod(values.astype(np.int64) * steps, per_second)
    return np.where(np.isnat(values), np.nan, counts + rest / per_second)


def distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different numbers, ascending, and the place of each value among them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low > 4 * values.size + 1024:
        return np.unique(values, return_inverse=True)
    # Numbers of people and queues lie close together: counted, a million take a tenth of the time.
    shifted = values - low
    there = np.flatnonzero(np.bincount(shifted, minlength=1))
    table = np.zeros(high - low + 1, np.int64)
    table[there] = np.arange(there.size)
    return there + low, table[shifted]
