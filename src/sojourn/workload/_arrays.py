"""Arrays of NumPy as plain numbers: masks, dates and lengths of time."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import OptionError

__all__ = ["distinct", "for_kernels", "plain", "seconds", "unix"]

_QUARTER = 900.0
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
    """Return dates of NumPy, on the clock of a time zone, as Unix time (s); nan where not known."""
    clock = seconds(values)
    if zone is UTC:
        return clock
    known = np.isfinite(clock)
    # Clocks are moved by quarters of an hour, so that few moments need to be looked up.
    quarters, places = np.unique(np.floor(clock[known] / _QUARTER), return_inverse=True)
    shifts = [
        datetime.fromtimestamp(q * _QUARTER, UTC).replace(tzinfo=zone).utcoffset()
        for q in quarters.tolist()
    ]
    clock[known] -= np.array([s.total_seconds() if s else 0.0 for s in shifts])[places]
    return clock


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
