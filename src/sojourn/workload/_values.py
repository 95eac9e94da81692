"""The values of tables: numbers, dates, lengths of time, amounts of memory, states.

A value that is not known is nan here, whatever it was in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._accounting import ENDED
from .jobs import MISSING

__all__ = ["DATE", "NUMBER", "SPAN", "WHOLE", "date", "is_unknown", "number", "seconds", "span",
    "status", "unix", "whole"]

NUMBER = "a number"
WHOLE = "a whole number"
SPAN = "a number of seconds or a length of time such as 1-02:03:04"
DATE = "a number of seconds or a date such as 2021-02-11T22:36:19"

_UNKNOWN = frozenset(
    {"", "nan", "na", "n/a", "<na>", "nat", "none", "null", "(null)", "unknown", "invalid"}
)
_ENDLESS = frozenset({"unlimited", "infinite", "partition_limit"})
_STATES = {**ENDED, "COMPLETE": 1, "DONE": 1, "FINISHED": 1, "SUCCESS": 1, "EXIT": 0, "ERROR": 0}
_CLOCK = re.compile(
    r"(?:(\d{1,9})(?:-|\s+days?,?\s+))?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2}(?:\.\d{0,18})?)", re.ASCII
)
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)\s*([a-z]+)", re.ASCII)
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_QUARTER = 900.0
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12}


def is_unknown(token: str) -> bool:
    """Whether a text says that a value is not known."""
    return token.strip().lower() in _UNKNOWN or token.strip() == str(MISSING)


def number(token: str) -> float:
    """Return a finite number, or nan for one that is not known; ValueError for anything else."""
    try:
        value = float(token)
        if math.isfinite(value) and "_" not in token:
            return value
    except ValueError:
        pass
    if token.strip().lower() in _UNKNOWN:
        return math.nan
    raise ValueError(token)


def whole(token: str) -> int:
    """Return a whole number, or -1 for one that is not known."""
    try:
        if "_" in token:
            raise ValueError(token)
        return int(token)
    except ValueError:
        value = number(token)
        if math.isnan(value):
            return MISSING
        if not value.is_integer():
            raise
        return int(value)


def span(token: str) -> float:
    """Return a length of time in seconds.

    >>> span("90"), span("1-02:03:04"), span("1 day, 2:03:04"), span("90 min"), span("01:07.402")
    (90.0, 93784.0, 93784.0, 5400.0, 67.402)
    """
    try:
        return number(token)
    except ValueError:
        word = token.strip().lower()
    if word in _ENDLESS:
        return math.nan
    if amount := _AMOUNT.fullmatch(word):
        unit = _UNITS.get(amount[2])
        if unit is not None:
            return unit * float(amount[1])
    clock = _CLOCK.fullmatch(word)
    if clock is None:
        raise ValueError(token)
    days, hours, minutes, seconds = clock.groups()
    # Two numbers may be hours and minutes, or minutes and seconds: only a fraction tells.
    if hours is None and (days is not None or "." not in seconds):
        raise ValueError(token)
    return (
        86400.0 * int(days or 0) + 3600.0 * int(hours or 0) + 60.0 * int(minutes) + float(seconds)
    )


def date(zone: tzinfo) -> Callable[[str], float]:
    """Return a reader of dates as Unix time (s); those that name no time zone are in `zone`.

    >>> date(UTC)("2021-02-11 22:36:19.5"), date(UTC)("2021-02-11T23:36:19+01:00")
    (1613082979.5, 1613082979.0)
    """

    def read(token: str) -> float:
        word = token.strip()
        if word.lower() in _UNKNOWN:
            return math.nan
        if word.replace(".", "", 1).isdecimal():  # A number among dates: seconds since when?
            raise ValueError(token)
        moment = datetime.fromisoformat(word)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()

    return read


def status(word: str) -> int:
    """Return the status of [swf] for a number or the name of a state.

    >>> status("COMPLETED"), status("CANCELLED by 1001"), status("1"), status("RUNNING")
    (1, 5, 1, -1)
    """
    try:
        return whole(word)
    except ValueError:
        return _STATES.get(re.split(r"[\s+]", word.strip().upper())[0], MISSING)


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
