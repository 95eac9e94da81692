"""The values of tables: numbers, dates, lengths of time, amounts of memory, states.

A value that is not known is nan here, whatever it was in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ..schema import MISSING
from ._clock import Clock
from .accounting import ENDED

__all__ = [
    "DATE",
    "FLAG",
    "NUMBER",
    "SPAN",
    "WHOLE",
    "date",
    "flag",
    "is_unknown",
    "number",
    "span",
    "status",
    "whole",
]

NUMBER = "a number"
WHOLE = "a whole number"
FLAG = "0, 1, yes or no"
SPAN = "a number of seconds or a length of time such as 1-02:03:04"
DATE = "a number of seconds or a date such as 2021-02-11T22:36:19"

_UNKNOWN = frozenset(
    {"", "nan", "na", "n/a", "<na>", "nat", "none", "null", "(null)", "unknown", "invalid"}
)
_ENDLESS = frozenset({"unlimited", "infinite", "partition_limit"})
_STATES = {**ENDED, "COMPLETE": 1, "DONE": 1, "FINISHED": 1, "SUCCESS": 1, "EXIT": 0, "ERROR": 0}
_FLAGS = {
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y", "exclusive", "excl"), 1),
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n", "shared", "ok"), 0),
}
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


def flag(token: str) -> int:
    """Return 1 or 0 for a yes or no, or -1 where it is not known.

    >>> flag("True"), flag("no"), flag("")
    (1, 0, -1)
    """
    word = token.strip().lower()
    if word in _FLAGS:
        return _FLAGS[word]
    if is_unknown(token) or word == "-1.0":
        return MISSING
    raise ValueError(token)


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


def date(clock: Clock) -> Callable[[str], float]:
    """Return a reader of dates as Unix time (s); those that name no time zone are on `clock`.

    >>> read = date(Clock(None))
    >>> read("2021-02-11 22:36:19.5"), read("2021-02-11T23:36:19+01:00")
    (1613082979.5, 1613082979.0)
    """

    def read(token: str) -> float:
        word = token.strip()
        if word.lower() in _UNKNOWN:
            return math.nan
        if word.replace(".", "", 1).isdecimal():  # A number among dates: seconds since when?
            raise ValueError(token)
        return clock.moment(word).time

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
