"""Prices of electricity: a tariff over the week, or a series of a market; by one name."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...arrays import Floats
from .carbon import Carbon
from .clock import Clock
from .series import TimeSeries, ValueColumn, Wanted, read_series
from .tariff import Tariff, parse_tariff

_FILE = re.compile(r".*\.csv(\.gz|\.xz)?", re.IGNORECASE | re.DOTALL)
_UNITS = {"kwh": 1.0, "mwh": 1e-3}
_NAMED = re.compile(
    r"price(?:[ _]per[ _](?P<plain>[km]wh))?"
    r"|(?P<word>[a-z]{3})[ _]per[ _](?P<per>[km]wh)"
    r"|(?:.*\s)?price\s*[\[(](?P<money>[a-z]{3}|[$€£¥])/(?P<unit>[km]wh)e?[\])]"
)


@dataclass(frozen=True, eq=False)
class Prices(TimeSeries):
    """Prices of a kWh over time.

    Parameters
    ----------
    time : seconds of the log from which each holds.
    price : of a kWh, from each on. Negative ones are allowed: markets have them.
    currency : a word for people, such as ``EUR``.
    source : the file, for messages.
    is_dated : whether the file has timestamps.
    repeats : whether the series begins again where it ends, and before it begins.
    clock : which moment second 0 of the log is, for messages.
    """

    time: Floats
    price: Floats
    currency: str = ""
    source: str = "prices"
    is_dated: bool = False
    repeats: bool = False
    clock: Clock | None = None

    _value = "price"


def _price(names: Sequence[str]) -> ValueColumn | None:
    """Return the column of prices: ``price_per_kwh``, ``eur_per_mwh``, ``Price (EUR/MWhe)``."""
    for place, name in enumerate(names):
        match = _NAMED.fullmatch(name)
        if match is not None:
            unit = match["plain"] or match["per"] or match["unit"] or "kwh"
            money = match["word"] or match["money"] or ""
            return ValueColumn(place, money.upper(), _UNITS[unit])
    return None


def read_prices(
    path: str | os.PathLike[str], clock: Clock | None = None, *, repeats: bool = False
) -> Prices:
    """Read a series of prices: CSV with a header such as ``time,price_per_kwh``.

    Parameters
    ----------
    path : the file; its column of prices may name a currency and a unit, as ``eur_per_mwh`` or
        ``Price (EUR/MWhe)`` do. Times as for `read_carbon`.
    clock : which moment second 0 of the log is; needed for timestamps.
    repeats : whether the series begins again where it ends.
    """
    read = read_series(path, clock, Wanted("time,price_per_kwh", _price))
    source = os.fspath(path)
    return Prices(read.time, read.value, read.currency, source, read.is_dated, repeats, clock)


def is_price_file(price: object) -> bool:
    """Whether a price is the name of a file."""
    return isinstance(price, str) and _FILE.fullmatch(price) is not None


def parse_price(
    price: str | float, clock: Clock | None = None, *, repeats: bool = False
) -> Tariff | Prices:
    """Return a tariff from its text or from one price per kWh, or the prices of a CSV file."""
    if is_price_file(price):
        return read_prices(str(price), clock, repeats=repeats)
    return parse_tariff(price)


def steps_over(
    what: Carbon | Tariff | Prices, clock: Clock | None, first: float, last: float
) -> tuple[Floats, Floats]:
    """Return times (s) and what a kWh costs or emits from each on, over a stretch of the log.

    Parameters
    ----------
    what : intensity (g per kWh) or price (per kWh).
    clock : for a tariff.
    first, last : of the stretch (s).
    """
    if isinstance(what, Tariff):
        return what.over(clock or Clock(), first, last)
    return what.over(first, last)


def known_span(what: Carbon | Tariff | Prices) -> tuple[float, float]:
    """Return from when to when a price or an intensity is known (s of the log)."""
    return (-math.inf, math.inf) if isinstance(what, Tariff) else what.span
