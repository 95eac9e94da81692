"""Measures in words: what each is called, its unit, which end is better, how a value is written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..report.style import number

if TYPE_CHECKING:
    from ..study.intervals import Interval

__all__ = [
    "MAIN",
    "Measure",
    "Unit",
    "between",
    "confidence",
    "listed",
    "measure",
    "percent",
    "plural",
    "signed",
    "told",
]

MAIN = ("wait_mean", "energy_kwh", "bounded_slowdown_mean", "utilisation", "makespan")
"""What a page tells first, in this order, where it is known."""


@dataclass(frozen=True)
class Unit:
    """A unit and its size in the unit that numbers are kept in."""

    name: str
    size: float = 1.0

    def text(self, value: float) -> str:
        """Write a number in this unit."""
        return f"{number(value / self.size)} {self.name}".rstrip()


@dataclass(frozen=True)
class Measure:
    """What a number means.

    Parameters
    ----------
    name : column.
    label : in words.
    units : the smallest first; the largest that a value fills is used.
    lower : whether less is better; None where neither end is.
    known : whether it is one of ours.
    """

    name: str
    label: str
    units: tuple[Unit, ...]
    lower: bool | None = None
    known: bool = True

    def unit(self, values: Iterable[float]) -> Unit:
        """Choose the unit in which the largest of some values reads best."""
        finite = [abs(value) for value in values if np.isfinite(value)]
        most = max(finite, default=0.0)
        return next((unit for unit in reversed(self.units) if most >= unit.size), self.units[0])

    def text(self, value: float) -> str:
        """Write a value with its unit."""
        return self.unit([value]).text(value)

    def bounded(self, interval: Interval) -> Interval:
        """Return an interval without what the measure can never be."""
        least, most = self._bounds
        return replace(interval, low=max(interval.low, least), high=min(interval.high, most))

    def bounded_change(self, change: Interval) -> Interval:
        """Return a relative change without what it can never be: less than nothing left."""
        least, _ = self._bounds
        return replace(change, low=max(change.low, -1.0)) if least >= 0 else change

    @property
    def _bounds(self) -> tuple[float, float]:
        if not self.known or self.label == "cost of energy":
            return -np.inf, np.inf  # Electricity may be so cheap that one is paid for taking it.
        if "slowdown" in self.name:
            return 1.0, np.inf
        return 0.0, 1.0 if self.name == "utilisation" else np.inf


_SECONDS = (Unit("s"), Unit("min", 60.0), Unit("h", 3600.0), Unit("d", 86400.0))
_KWH = (Unit("kWh"), Unit("MWh", 1e3), Unit("GWh", 1e6))
_JOULES = (Unit("J"), Unit("kWh", 3.6e6), Unit("MWh", 3.6e9), Unit("GWh", 3.6e12))
_WATTS = (Unit("W"), Unit("kW", 1e3), Unit("MW", 1e6))
_PERCENT = (Unit("%", 0.01),)
_KILOGRAMS = (Unit("kg"), Unit("t", 1e3))
_PLAIN = (Unit(""),)

_PERIODS: Mapping[str, tuple[str, tuple[Unit, ...]]] = MappingProxyType(
    {
        "wait": ("wait", _SECONDS),
        "sojourn": ("response time", _SECONDS),
        "service": ("time in service", _SECONDS),
        "slowdown": ("slowdown", _PLAIN),
        "bounded_slowdown": ("bounded slowdown", _PLAIN),
    }
)
_PLACES: Mapping[str, str] = MappingProxyType(
    {
        "mean": "mean {}",
        "median": "median {}",
        "p90": "90th percentile of {}",
        "p95": "95th percentile of {}",
        "p99": "99th percentile of {}",
        "max": "longest {}",
    }
)
_KNOWN: Mapping[str, tuple[str, tuple[Unit, ...], bool | None]] = MappingProxyType(
    {
        "utilisation": ("utilisation", _PERCENT, False),
        "makespan": ("makespan", _SECONDS, True),
        "throughput": ("throughput", (Unit("jobs/h", 1 / 3600.0),), False),
        "mean_queue": ("mean number of jobs waiting", _PLAIN, True),
        "mean_present": ("mean number of jobs in the system", _PLAIN, True),
        "mean_busy": ("mean number of busy processors", _PLAIN, None),
        "mean_workload": ("mean workload", (Unit("s of work"),), True),
        "weighted_response": ("response time weighted by width", _SECONDS, True),
        "weighted_slowdown": ("slowdown weighted by processor time", _PLAIN, True),
        "job_wasting": ("processors idle while somebody waits (job wasting)", _PLAIN, True),
        "potential_load": (
            "processors that could work if jobs that wait fitted (potential load)",
            (Unit("processors"),),
            None,
        ),
        "effective_load": ("processors at work (effective load)", (Unit("processors"),), None),
        "rate_switches": ("switches of the rate", _PLAIN, None),
        "energy_kwh": ("energy", _KWH, True),
        "total_kwh": ("energy", _KWH, True),
        "peas_kwh": ("energy of jobs at full load", _KWH, True),
        "total_joules": ("energy in joules", _JOULES, True),
        "busy_joules": ("energy of busy processors", _JOULES, True),
        "idle_joules": ("energy of idle processors", _JOULES, True),
        "mean_watts": ("mean power", _WATTS, True),
        "power_peak": ("peak power", _WATTS, True),
        "cost": ("cost of energy", _PLAIN, True),
        "carbon_kg": ("carbon dioxide", _KILOGRAMS, True),
        "killed": ("jobs killed at their limit", _PLAIN, None),
        "completed": ("jobs completed", _PLAIN, None),
        "unaccepted": ("jobs not accepted", _PLAIN, None),
        "jobs": ("jobs", _PLAIN, None),
        "awt": ("average waiting time", _SECONDS, True),
        "art": ("average response time", _SECONDS, True),
        "mean_slowness": ("mean slowness", _PLAIN, True),
    }
)


def measure(name: str) -> Measure:
    """Return what a column of measures means; an unknown one is called by its name."""
    plain = name.replace(".", "_")
    stem, _, place = plain.rpartition("_")
    if stem in _PERIODS and place in _PLACES:
        what, units = _PERIODS[stem]
        return Measure(name, _PLACES[place].format(what), units, True)
    for known in (plain, plain.removeprefix("energy_")):
        if known in _KNOWN:
            return Measure(name, *_KNOWN[known])
    return Measure(name, name, _PLAIN, known=False)


def between(what: Measure, interval: Interval) -> str:
    """Write the ends of an interval in the unit of its estimate; nothing where there are none."""
    if not np.isfinite([interval.low, interval.high]).all():
        return ""
    unit = what.unit([interval.estimate or interval.high])
    doubt = ", run too short" if interval.method.endswith("correlated") else ""
    return f"{number(interval.low / unit.size)} to {unit.text(interval.high)}{doubt}"


def told(what: Measure, interval: Interval) -> str:
    """Write an estimate with its interval, all in one unit."""
    ends = between(what, interval)
    spread = f" ({confidence(interval.level)} interval {ends})" if ends else ""
    return what.text(interval.estimate) + spread


def confidence(level: float) -> str:
    """Write a level of confidence, with so many digits that it is not taken for certainty."""
    left = 100 * (1 - level)
    digits = max(1 - math.floor(math.log10(left)), 1) if left > 0 else 1
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".") + " %"


def signed(share: float) -> str:
    """Write a change as a number of percent with its sign."""
    sign = "+" if share > 0 else "−" if share < 0 else ""
    return f"{sign}{number(100 * abs(share))}"


def percent(share: float) -> str:
    """Write a share as percent, with the digits that matter."""
    if not np.isfinite(share):
        return "–"
    size = abs(100 * share)
    return f"{100 * share:.0f} %" if size >= 10 or size == 0 else f"{100 * share:.2g} %"


def plural(count: int, word: str, words: str | None = None) -> str:
    """Write how many there are of something."""
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def listed(words: Iterable[str]) -> str:
    """Write words as a list: ``a, b and c``."""
    items = list(words)
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1]))) if items else ""
