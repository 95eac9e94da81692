"""Prices of electricity over the week, and the cost of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import OptionError
from ..formulas import clock_at, product_sum, step_integral
from ._values import DAY, JOULES_PER_KWH, pieces
from .clock import Clock

if TYPE_CHECKING:
    from .price import Prices


_WEEK = 7 * DAY
_MOST_STEPS = 20_000_000
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


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
        begins, _ = pieces("tariff", self.begins, self.prices)
        if begins[0] != 0 or begins[-1] >= _WEEK:
            raise OptionError("tariff: begins must start at 0 and end within the week")

    def paid_until(self, second: ArrayLike) -> Floats:
        """Integral of the price from a Monday, 0:00, to so many seconds later, in s / kWh."""
        begins, prices = np.array(self.begins), np.array(self.prices)
        weeks, rest = np.divmod(np.asarray(second, dtype=np.float64), _WEEK)
        whole = clock_at(np.array([_WEEK], dtype=float), begins, prices)[0]
        return np.asarray(weeks * whole + clock_at(rest, begins, prices))

    def over(self, clock: Clock, first: float, last: float) -> tuple[Floats, Floats]:
        """Return times (s) and the price of a kWh from each on, over a stretch of the log.

        Parameters
        ----------
        clock : which moment second 0 of the log is, and how clocks change.
        first, last : of the stretch (s).
        """
        begins, prices = np.array(self.begins), np.array(self.prices)
        if len(prices) == 1:
            return np.array([first]), prices
        times: list[Floats] = []
        values: list[Floats] = []
        for begin, end, shift in clock.pieces(first, max(last, first + 1.0)):
            weeks = np.arange((begin + shift) // _WEEK, (end + shift) // _WEEK + 1)
            if len(weeks) * len(begins) > _MOST_STEPS:
                raise OptionError(f"tariff: {len(weeks):,} weeks are too many; give one price")
            time = (weeks[:, None] * _WEEK + begins[None, :]).reshape(-1) - shift
            price = np.tile(prices, len(weeks))
            kept = np.append(time[1:] > begin, True) & (time < end)
            times.append(np.maximum(time[kept], begin))
            values.append(price[kept])
        return np.concatenate(times), np.concatenate(values)


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
    begins = sorted(day * DAY + second for day in range(7) for second in starts)
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
            f"tariff: '{text[:40]}' is not [DAYS] [HOUR[:MINUTES]:]PRICE, such as 0.25 or "
            "sat 8:30:0.15; or name a CSV file time,price_per_kwh"
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
    day, of_day = divmod(second, DAY)
    for i in range(len(painted) - 1, -1, -1):
        days, begin, _ = painted[i]
        if day in days and begin <= of_day:
            return i
    raise OptionError(f"tariff: no price for {_DAYS[day]} at 0:00; begin with one without an hour")


def electricity_cost(
    time: Floats, watts: Floats, tariff: Tariff | Prices, clock: Clock | None = None
) -> float:
    """Cost of the energy under power steps, in the currency of the tariff.

    Parameters
    ----------
    time, watts : power steps: instants (s), and the W from each to the next; the bill ends at the
        last instant.
    tariff : price per kWh, over the week or of a series.
    clock : which moment second 0 is, and how clocks change; default: midnight, Monday, UTC.
    """
    if not isinstance(tariff, Tariff):
        steps = tariff.over(float(time[0]), float(time[-1]))
        return product_sum(np.diff(clock_at(np.asarray(time), *steps)), watts[:-1]) / JOULES_PER_KWH
    if len(tariff.prices) == 1:
        return step_integral(time, watts) * tariff.prices[0] / JOULES_PER_KWH
    time, total = np.asarray(time), 0.0
    for first, last, shift in (clock or Clock()).pieces(float(time[0]), float(time[-1])):
        # The power steps of this part, of which the first may have begun before it.
        begin = int(np.searchsorted(time, first, side="right"))
        within = time[begin : np.searchsorted(time, last)]
        local = np.concatenate(([first], within, [last])) + shift
        # A clock that begins near the first step is as fine as it can be.
        local = local - np.floor(local[0] / _WEEK) * _WEEK
        paid = np.diff(tariff.paid_until(local))
        total += product_sum(paid, watts[begin - 1 :][: len(paid)])
    return total / JOULES_PER_KWH
