"""Carbon intensity of the electricity, and the carbon dioxide of a run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...errors import OptionError
from ...files.access import is_no_file
from ..formulas import clock_at, product_sum, step_integral
from ._values import JOULES_PER_KWH, number
from .clock import Clock
from .series import TimeSeries, ValueColumn, Wanted, read_series


@dataclass(frozen=True, eq=False)
class Carbon(TimeSeries):
    """Carbon intensity of the electricity, in grams of CO2 per kWh.

    Nothing is known before the first value nor after the last one, which lasts as long as the one
    before it: to ask for it is an error, unless it repeats. One value alone holds at all times.

    Parameters
    ----------
    time : seconds of the log from which each value holds.
    grams : per kWh, from each on.
    source : the file, for messages.
    is_dated : whether the file has timestamps.
    repeats : whether it begins again where it ends, and before it begins: it is then known at all
        times.
    column : of the file, that the values are from.
    clock : which moment second 0 of the log is, for messages.
    """

    time: Floats
    grams: Floats
    source: str = "carbon"
    is_dated: bool = False
    repeats: bool = False
    column: str = ""
    clock: Clock | None = None

    _value = "grams"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.grams < 0).any():
            raise OptionError(
                f"{self.source}: {self.grams.min():g} g per kWh; give at least 0", path=self.source
            )

    @classmethod
    def constant(cls, grams: float) -> Carbon:
        """Return an intensity that never changes."""
        return cls(np.zeros(1), np.array([grams]))


def parse_carbon(
    carbon: str | float, clock: Clock | None = None, *, repeats: bool = False
) -> Carbon:
    """Return a carbon intensity from a number (g per kWh), or from a file; see `read_carbon`."""
    grams = number(carbon)
    if grams is None:
        if is_no_file(str(carbon)):
            raise OptionError(
                f"carbon '{os.path.basename(str(carbon))[:40]}' is neither a number of g per kWh, "
                "such as 300, nor a CSV file time,g_per_kwh; give one",
                key="power.carbon",
            )
        return read_carbon(str(carbon), clock, repeats=repeats)
    return Carbon.constant(grams)


def read_carbon(
    path: str | os.PathLike[str], clock: Clock | None = None, *, repeats: bool = False
) -> Carbon:
    """Read a series of carbon intensities: CSV, with the header ``time,g_per_kwh``.

    Files of Electricity Maps are read as they are: of several intensities that of the whole life
    cycle is taken; and those of Great Britain's Carbon Intensity API and of WattTime, where the
    unit in the name of the column, or of MOER pounds per MWh, counts. So is a table of shifted
    jobs of one hour, whose ``slack_0`` is hourly from second 0 on.

    Parameters
    ----------
    path : the file, packed by gzip or xz if it likes. Times are seconds of the log, or ISO 8601
        timestamps (UTC where they have no offset), one kind throughout, increasing.
    clock : which moment second 0 of the log is; needed for timestamps.
    repeats : whether the series begins again where it ends.
    """
    read = read_series(path, clock, Wanted("time,g_per_kwh", _grams, 0.0))
    source = os.fspath(path)
    return Carbon(read.time, read.value, source, read.is_dated, repeats, read.column, clock)


_NAMED = re.compile(r"(?:actual |forecast )?carbon[ _]?intensity|intensity\.|moer\b")
_IN_UNITS = re.compile(
    r"(?P<mass>kg|lbs?|t|g)[ _]?(?:co\S*?)?[ _]*(?:/|per[ _])[ _]*(?P<per>[km]wh)\b"
)
_MASS = {"g": 1.0, "kg": 1e3, "lb": 453.59237, "lbs": 453.59237, "t": 1e6}
_ENERGY = {"kwh": 1.0, "mwh": 1e3}
_OURS, _MOER = "g_per_kwh", "moer"


def _grams(names: Sequence[str]) -> ValueColumn | None:
    """Return the column of intensities: our own, else any of that name, direct ones last.

    What its name says of its unit counts; without, it is in g per kWh, and a marginal intensity of
    WattTime, MOER, in lb per MWh.
    """
    known = [name for name in names if name in (_OURS, "slack_0")]
    others = [name for name in names if _NAMED.match(name) or _IN_UNITS.match(name)]
    others.sort(key=lambda name: "direct" in name or "forecast" in name)
    name = next((name for name in (*known, *others) if "version" not in name), None)
    if name is None:
        return None
    unit = _IN_UNITS.search(name)
    mass, per = (unit["mass"], unit["per"]) if unit else ("g", "kwh")
    if unit is None and name.startswith(_MOER):
        mass, per = "lb", "mwh"
    grams = _MASS[mass] / _ENERGY[per]
    said = "" if grams == 1.0 else f", of {grams:.4g} g/kWh each"
    return ValueColumn(names.index(name), unit=grams, said=said)


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
    steps = carbon.over(float(time[0]), float(time[-1]))
    emitted = np.diff(clock_at(np.asarray(time), *steps))
    return product_sum(emitted, watts[:-1]) / JOULES_PER_KWH
