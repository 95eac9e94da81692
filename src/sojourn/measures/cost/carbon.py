"""Carbon intensity of the electricity, and the carbon dioxide of a run."""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError, OptionError
from ...files.access import read_text
from ..formulas import clock_at, product_sum, step_integral
from ._values import JOULES_PER_KWH, number, pieces
from .clock import START_HINT, Clock, timestamp

__all__ = ["Carbon", "emissions", "parse_carbon", "read_carbon"]

Floats = NDArray[np.float64]


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
    is_dated : whether the file has timestamps.
    """

    time: Floats
    grams: Floats
    source: str = "carbon"
    is_dated: bool = False

    def __post_init__(self) -> None:
        time, grams = pieces(self.source, self.time, self.grams)
        if (grams < 0).any():
            raise OptionError(
                f"{self.source}: {grams.min():g} g per kWh; give at least 0", path=self.source
            )
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
    grams = number(carbon)
    return read_carbon(str(carbon), clock) if grams is None else Carbon.constant(grams)


def read_carbon(path: str | os.PathLike[str], clock: Clock | None = None) -> Carbon:
    """Read a series of carbon intensities: CSV, with the header ``time,g_per_kwh``.

    Parameters
    ----------
    path : the file, packed by gzip or xz if it likes. Times are seconds of the log, or ISO 8601
        timestamps (UTC where they have no offset), one kind throughout, increasing.
    clock : which moment second 0 of the log is; needed for timestamps.
    """
    rows = csv.reader(read_text(path).splitlines())

    def wrong(problem: object, field: str | None = None) -> OptionError:
        told = LogError(path, str(problem), line=rows.line_num or 1, field=field)
        return OptionError(str(told), path=path)

    series: list[tuple[float, float]] = []
    dated = False
    try:
        if [name.strip().lower() for name in next(rows, [])] != ["time", "g_per_kwh"]:
            raise wrong("the header must be time,g_per_kwh")
        for row in filter(None, rows):
            if len(row) != 2:
                raise wrong(f"{len(row)} fields; give time,g_per_kwh")
            second, moment, grams = number(row[0]), timestamp(row[0]), number(row[1])
            if not series:
                dated = second is None and moment is not None
                if dated and (clock is None or not clock.known):
                    raise wrong(f"the log does not say when it begins; {START_HINT}", "time")
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
    return Carbon(time, values, os.fspath(path), dated)


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
        return step_integral(time, watts) * float(carbon.grams[0]) / JOULES_PER_KWH
    first, last = carbon.span
    if not first <= time[0] <= time[-1] <= last:
        raise OptionError(
            f"{carbon.source}: known from {first:.15g} s to {last:.15g} s of the log, but the run "
            f"lasts from {time[0]:.15g} s to {time[-1]:.15g} s; give a series that covers it",
            path=carbon.source,
        )
    emitted = np.diff(clock_at(np.asarray(time), carbon.time, carbon.grams))
    return product_sum(emitted, watts[:-1]) / JOULES_PER_KWH
