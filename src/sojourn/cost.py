"""What the energy of a run costs, in money and in carbon dioxide.

Power, price and carbon intensity are constant between their changes, so both are exact integrals
of power steps (`billing`). A `Clock` says which moment second 0 of the log is.

Local time runs at one distance from UTC for the whole log, the one that holds at its second 0:
changes to and from daylight saving time within a log are not followed.
"""

from __future__ import annotations

import csv
import math
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import LogError, OptionError
from .measures import clock_at, product_sum, step_integral
from .workload._files import read_bytes
from .workload.jobs import Header

__all__ = [
    "Carbon",
    "Clock",
    "Tariff",
    "electricity_cost",
    "emissions",
    "parse_carbon",
    "parse_tariff",
    "read_carbon",
]

Floats = NDArray[np.float64]

_JOULES_PER_KWH = 3.6e6
_DAY = 86400
_WEEK = 7 * _DAY
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
_START_HINT = "give the start as 2011-05-01T00:00+09:00"


@dataclass(frozen=True)
class Clock:
    """Which moment second 0 of a log is, and so the time of day and the day of the week.

    Parameters
    ----------
    start : that moment, with its distance from UTC.
    known : whether it is the real one. It is not where nobody said it: then the log begins at
        midnight, Monday, UTC, of no particular week.
    """

    start: datetime = _MONDAY
    known: bool = False

    @classmethod
    def of(cls, header: Header | None = None, start: str | datetime | None = None) -> Clock:
        """Return the clock of a log.

        Parameters
        ----------
        header : of the log (`Jobs.header`), where ``UnixStartTime`` is second 0, and
            ``TimeZoneString`` (else ``TimeZone``, in seconds; else UTC) its local time.
        start : second 0 as an ISO 8601 timestamp or a datetime, instead of what the header says;
            in UTC where it has no offset.
        """
        if start is not None:
            moment = _timestamp(str(start))
            if moment is None:
                raise OptionError(f"start '{start}' is no ISO 8601 timestamp; {_START_HINT}")
            return cls(moment, known=True)
        seconds = _header_number(header, "UnixStartTime")
        if header is None or seconds is None or seconds <= 0:
            return cls()
        try:
            moment = datetime.fromtimestamp(seconds, UTC)
            return cls(moment.astimezone(_time_zone(header, moment)), known=True)
        except (OverflowError, OSError, ValueError):
            raise OptionError(
                f"log header: no moment is {seconds:g} s (UnixStartTime) in its zone; {_START_HINT}"
            ) from None

    @cached_property
    def second_of_week(self) -> float:
        """Local seconds from Monday, 0:00, to second 0 of the log."""
        at = self.start
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        return at.weekday() * _DAY + (at.replace(tzinfo=None) - midnight).total_seconds()


def _header_number(header: Header | None, key: str) -> float | None:
    """Return the number at the beginning of a header's value; remarks may follow it."""
    words = ((header.get(key) if header is not None else None) or "").split()
    value = _number(words[0]) if words else None
    if words and value is None:
        raise OptionError(f"log header: {key} '{words[0]}' is not a number; {_START_HINT}")
    return value


def _time_zone(header: Header, moment: datetime) -> timezone:
    """Return the distance from UTC that holds at a moment in the zone of a log."""
    shift = _header_number(header, "TimeZone")
    name = header.get("TimeZoneString")
    if name:
        try:
            return timezone(moment.astimezone(ZoneInfo(name)).utcoffset() or timedelta())
        except (KeyError, OSError, ValueError):
            # The number is only the winter time of the zone, but better than nothing.
            if shift is None:
                raise OptionError(
                    f"log header: time zone '{name}' is not known here; {_START_HINT}"
                ) from None
    return timezone(timedelta(seconds=shift or 0.0))


def _timestamp(text: str) -> datetime | None:
    """Read an ISO 8601 timestamp; UTC where it has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _pieces(what: str, begins: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Return the pieces of a piecewise constant function, checked."""
    time, value = np.array(begins, dtype=np.float64), np.array(values, dtype=np.float64)
    if not 0 < len(time) == len(value):
        raise OptionError(f"{what}: {len(value)} values for {len(time)} times; give at least one")
    if not (np.isfinite(time).all() and np.isfinite(value).all() and (np.diff(time) > 0).all()):
        raise OptionError(f"{what}: give finite values, and times that increase")
    return time, value


@dataclass(frozen=True)
class Tariff:
    """Price of a kWh over the week, in local time.

    Parameters
    ----------
    begins : seconds from Monday, 0:00, at which a price begins; the first is 0.
    prices : of a kWh, from each on. Negative ones are allowed: markets have them.
    currency : a word for people, such as ``EUR``.
    """

    begins: tuple[float, ...]
    prices: tuple[float, ...]
    currency: str = ""

    def __post_init__(self) -> None:
        begins, _ = _pieces("tariff", self.begins, self.prices)
        if begins[0] != 0 or begins[-1] >= _WEEK:
            raise OptionError("tariff: begins must start at 0 and end within the week")

    def paid_until(self, second: ArrayLike) -> Floats:
        """Integral of the price from a Monday, 0:00, to so many seconds later, in s / kWh."""
        begins, prices = np.array(self.begins), np.array(self.prices)
        weeks, rest = np.divmod(np.asarray(second, dtype=np.float64), _WEEK)
        whole = clock_at(np.array([_WEEK], dtype=float), begins, prices)[0]
        return np.asarray(weeks * whole + clock_at(rest, begins, prices))


# Days, the second of the day from which on, price.
_Entry = tuple[tuple[int, ...], int, float]
_ENTRY = re.compile(
    r"(?:(?P<from>[a-z]{3})(?:-(?P<to>[a-z]{3}))?\s+)?"
    r"(?:(?P<hour>\d{1,2}):(?:(?P<minute>\d\d):)?)?\s*"
    r"(?P<price>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"(?<=[\d.])\s*([A-Za-z]+|[$€£¥])$")


def parse_tariff(tariff: str | float, *, currency: str = "") -> Tariff:
    """Return a tariff from its text, or from one price per kWh.

    The text is entries between commas, and at the end, if you like, a word for the currency. An
    entry is ``[DAYS] [HOUR[:MINUTES]:]PRICE``: from that hour (0:00 if none is given) to the end
    of the day, on these days (every day if none are given; ``sat``, ``mon-fri``), a kWh costs
    PRICE. Later entries overwrite earlier ones.

    Examples
    --------
    >>> parse_tariff("0.15, 8:0.30, 20:0.15 EUR").begins[:4]
    (0.0, 28800.0, 72000.0, 115200.0)
    >>> parse_tariff("0.15, mon-fri 7:30:0.30, mon-fri 20:0.15").prices
    (0.15, 0.3, 0.15, 0.3, 0.15, 0.3, 0.15, 0.3, 0.15, 0.3, 0.15)
    """
    if not isinstance(tariff, str):
        return Tariff((0.0,), (float(tariff),), currency)
    text, *word = _CURRENCY.split(tariff.strip(), maxsplit=1)
    entries = [part.strip() for part in text.split(",")]
    painted = [_entry(entry) for entry in entries]
    starts = {0, *(second for _, second, _ in painted)}
    begins = sorted(day * _DAY + second for day in range(7) for second in starts)
    owners = [_owner(painted, begin) for begin in begins]
    for i, entry in enumerate(entries):
        if i not in owners:
            raise OptionError(
                f"tariff: '{entry}' never holds, later entries overwrite it; "
                "leave it out, or give the hours in order"
            )
    prices = [painted[owner][2] for owner in owners]
    kept = [i for i in range(len(begins)) if i == 0 or prices[i] != prices[i - 1]]
    unit = word[0] if word else currency
    return Tariff(tuple(float(begins[i]) for i in kept), tuple(prices[i] for i in kept), unit)


def _entry(text: str) -> _Entry:
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise OptionError(
            f"tariff: '{text[:40]}' is not [DAYS] [HOUR[:MINUTES]:]PRICE, such as sat 8:30:0.15"
        )
    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    if hour > 23 or minute > 59:
        raise OptionError(f"tariff: '{text}': hours go from 0 to 23, minutes from 00 to 59")
    return _days(match["from"], match["to"]), hour * 3600 + minute * 60, float(match["price"])


def _days(first: str | None, last: str | None) -> tuple[int, ...]:
    """Return the numbers of the days from `first` to `last`, over the weekend if need be."""
    if first is None:
        return tuple(range(7))
    for day in (first, last or first):
        if day.lower() not in _DAYS:
            raise OptionError(f"tariff: day '{day}': choose from {', '.join(_DAYS)}")
    begin, end = _DAYS.index(first.lower()), _DAYS.index((last or first).lower())
    return tuple((begin + i) % 7 for i in range((end - begin) % 7 + 1))


def _owner(painted: list[_Entry], second: int) -> int:
    """Return which entry holds at a second of the week: the last that covers it."""
    day, of_day = divmod(second, _DAY)
    for i in range(len(painted) - 1, -1, -1):
        days, begin, _ = painted[i]
        if day in days and begin <= of_day:
            return i
    raise OptionError(f"tariff: no price for {_DAYS[day]} at 0:00; begin with one without an hour")


@dataclass(frozen=True, eq=False)
class Carbon:
    """Carbon intensity of the electricity, in grams of CO2 per kWh.

    Nothing is known before the first value nor after the last one, which lasts as long as the one
    before it: to ask for it is an error. One value alone holds at all times.

    Parameters
    ----------
    time : seconds of the log from which each value holds.
    grams : per kWh, from each on.
    source : the file, for messages.
    """

    time: Floats
    grams: Floats
    source: str = "carbon"

    def __post_init__(self) -> None:
        time, grams = _pieces(self.source, self.time, self.grams)
        if (grams < 0).any():
            raise OptionError(f"{self.source}: {grams.min():g} g per kWh; give at least 0")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "grams", grams)

    @classmethod
    def constant(cls, grams: float) -> Carbon:
        """Return an intensity that never changes."""
        return cls(np.zeros(1), np.array([grams]))

    @property
    def span(self) -> tuple[float, float]:
        """From when to when it is known, in seconds of the log."""
        if len(self.time) == 1:
            return -math.inf, math.inf
        return float(self.time[0]), float(2 * self.time[-1] - self.time[-2])


def parse_carbon(carbon: str | float, clock: Clock | None = None) -> Carbon:
    """Return a carbon intensity from a number (g per kWh), or from a file; see `read_carbon`."""
    grams = _number(carbon)
    return read_carbon(str(carbon), clock) if grams is None else Carbon.constant(grams)


def read_carbon(path: str | os.PathLike[str], clock: Clock | None = None) -> Carbon:
    """Read a series of carbon intensities: CSV, with the header ``time,g_per_kwh``.

    Parameters
    ----------
    path : the file, packed by gzip or xz if it likes. Times are seconds of the log, or ISO 8601
        timestamps (UTC where they have no offset), one kind throughout, increasing.
    clock : which moment second 0 of the log is; needed for timestamps.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except LogError as error:
        raise OptionError(str(error)) from None
    except UnicodeDecodeError:
        raise OptionError(f"{path}: not a text in UTF-8; save it as such") from None
    rows = csv.reader(text.splitlines())

    def wrong(problem: object, field: str | None = None) -> OptionError:
        return OptionError(str(LogError(path, str(problem), line=rows.line_num or 1, field=field)))

    series: list[tuple[float, float]] = []
    dated = False
    try:
        if [name.strip().lower() for name in next(rows, [])] != ["time", "g_per_kwh"]:
            raise wrong("the header must be time,g_per_kwh")
        for row in filter(None, rows):
            if len(row) != 2:
                raise wrong(f"{len(row)} fields; give time,g_per_kwh")
            second, moment, grams = _number(row[0]), _timestamp(row[0]), _number(row[1])
            if not series:
                dated = second is None and moment is not None
                if dated and (clock is None or not clock.known):
                    raise wrong(f"the log does not say when it begins; {_START_HINT}", "time")
            if dated and clock is not None:
                second = None if moment is None else (moment - clock.start).total_seconds()
            if second is None or not math.isfinite(second):
                kind = "an ISO 8601 timestamp" if dated else "a number of seconds"
                raise wrong(f"'{row[0][:40]}' is not {kind}", "time")
            if series and second <= series[-1][0]:
                raise wrong(f"'{row[0][:40]}' is not after the row above", "time")
            if grams is None or not 0 <= grams < math.inf:
                raise wrong(f"'{row[1][:40]}' is not a number of at least 0", "g_per_kwh")
            series.append((second, grams))
    except csv.Error as error:
        raise wrong(error) from None
    time, values = np.array(series).reshape(-1, 2).T
    return Carbon(time, values, os.fspath(path))


def _number(text: str | float) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def electricity_cost(
    time: Floats, watts: Floats, tariff: Tariff, clock: Clock | None = None
) -> float:
    """Cost of the energy under power steps, in the currency of the tariff.

    Parameters
    ----------
    time, watts : power steps: instants (s), and the W from each to the next; the bill ends at the
        last instant.
    tariff : price per kWh.
    clock : which moment second 0 is; default: midnight, Monday.
    """
    if len(tariff.prices) == 1:
        return step_integral(time, watts) * tariff.prices[0] / _JOULES_PER_KWH
    local = np.asarray(time) + (clock or Clock()).second_of_week
    # A clock that begins near the first step is as fine as it can be.
    local = local - np.floor(local[0] / _WEEK) * _WEEK
    paid = np.diff(tariff.paid_until(local))
    return product_sum(paid, watts[:-1]) / _JOULES_PER_KWH


def emissions(time: Floats, watts: Floats, carbon: Carbon) -> float:
    """Mass of CO2 of the energy under power steps, in grams.

    Parameters
    ----------
    time, watts : as for `electricity_cost`.
    carbon : intensity of the electricity.

    Raises
    ------
    OptionError
        If the steps reach beyond what is known of the intensity.
    """
    if len(carbon.grams) == 1:
        return step_integral(time, watts) * float(carbon.grams[0]) / _JOULES_PER_KWH
    first, last = carbon.span
    if not first <= time[0] <= time[-1] <= last:
        raise OptionError(
            f"{carbon.source}: known from {first:.15g} s to {last:.15g} s of the log, but the run "
            f"lasts from {time[0]:.15g} s to {time[-1]:.15g} s; give a series that covers it"
        )
    emitted = np.diff(clock_at(np.asarray(time), carbon.time, carbon.grams))
    return product_sum(emitted, watts[:-1]) / _JOULES_PER_KWH
