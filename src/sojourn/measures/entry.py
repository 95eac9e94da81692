"""What is known of a measure: its name, label, units, better end, bounds, and where it is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, NamedTuple

from .._html import plain

KINDS = ("job", "system", "count", "energy", "cost", "events")
"""What measures are of: jobs, the machine over time, numbers of jobs, energy, what energy costs,
external events. Those of energy and cost rest on watts."""

TABLES = ("simulate", "compare", "sweep", "report")
"""Where a measure is shown unless others are asked for: the tables of these commands, and the
numbers at the head of a page."""


class Unit(NamedTuple):
    """A unit, and its size in the unit that numbers are kept in."""

    name: str
    size: float = 1.0


UNITS: Mapping[str, tuple[Unit, ...]] = MappingProxyType(
    {
        "s": (Unit("s"), Unit("min", 60.0), Unit("h", 3600.0), Unit("d", 86400.0)),
        "kWh": (Unit("kWh"), Unit("MWh", 1e3), Unit("GWh", 1e6)),
        "J": (Unit("J"), Unit("kWh", 3.6e6), Unit("MWh", 3.6e9), Unit("GWh", 3.6e12)),
        "W": (Unit("W"), Unit("kW", 1e3), Unit("MW", 1e6)),
        "kg": (Unit("kg"), Unit("t", 1e3)),
        "share": (Unit("%", 0.01),),
        "jobs/s": (Unit("jobs/h", 1 / 3600.0),),
    }
)
"""Units for people by the unit that numbers are kept in, the smallest first."""


@dataclass(frozen=True)
class Measure:
    """A number of a run, and all that tables and pages have to know of it.

    Parameters
    ----------
    name : column of a comparison and a sweep, objective of a search.
    label : in words, without the unit.
    unit : that numbers are kept in; ``share`` of 0 to 1, empty for a ratio or a sum of money.
    better : ``lower`` or ``higher``; empty where neither end is.
    path : where the number is in a summary; default: under its name.
    low, high : what it can never be less, or more, than.
    kind : one of `KINDS`.
    needs : what a run must have for it: ``nodes`` with names, ``events``, ``failures``, nodes
        that ``sleep``, a ``price``, ``carbon``.
    tables : of `TABLES`, those that show it.
    heading : of a narrow column, in two lines; ``{unit}`` is where its unit stands.
    meaning, source : for the reference: what it is, and the equation or paper that it is from.
    function : computes it from a `Result`; None where the summary has it already.
    digest : of the function, so that runs measured in another way are other runs.
    """

    name: str
    label: str
    unit: str = ""
    better: str = ""
    path: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    kind: str = "system"
    needs: str = ""
    tables: tuple[str, ...] = ()
    heading: str = ""
    meaning: str = ""
    source: str = ""
    function: Callable[[Any], float] | None = None
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.path:
            object.__setattr__(self, "path", (self.name,))

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units for people, the smallest first."""
        return UNITS.get(self.unit) or (Unit(self.unit),)

    @property
    def title(self) -> str:
        """The label with the unit of `shown`, such as ``mean wait (s)``."""
        return self.titled(self.units[0])

    def titled(self, unit: Unit) -> str:
        """Return the label with a unit."""
        return f"{self.label} ({unit.name})" if unit.name else self.label

    def shown(self, value: float) -> float:
        """Return a number in the smallest unit for people: 63 for a share of 0.63."""
        return value / self.units[0].size

    def unit_for(self, values: Iterable[float]) -> Unit:
        """Choose the unit in which the largest of some values reads best."""
        most = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        return next((unit for unit in reversed(self.units) if most >= unit.size), self.units[0])

    def unit_of_column(self, rows: Iterable[Mapping[str, float]]) -> Unit:
        """Choose the unit of a column: h or kW where its largest number fills one, else s or W.

        Times of jobs are all in the unit of the mean wait.
        """
        by = "wait_mean" if self.unit == "s" and self.kind == "job" else self.name
        large = next((unit for unit in self.units if unit.name in ("h", "kW")), None)
        filled = large is not None and any(row[by] > large.size for row in rows)
        return large if large is not None and filled else self.units[0]

    def text(self, value: float) -> str:
        """Return a number with the unit in which it reads best; a dash where there is none."""
        if not math.isfinite(value):
            return plain(value)
        unit = self.unit_for([value])
        return f"{plain(value / unit.size)} {unit.name}".rstrip()

    def column(self, unit: str) -> str:
        """Return the heading of a narrow column of numbers in a unit, in two lines."""
        if self.heading:
            return self.heading.format(unit=unit).rstrip()
        words = [*self.label.split(), *([unit] if unit else [])]
        ways = (
            (" ".join(words[:place]), " ".join(words[place:]))
            for place in range(1, max(len(words), 2))
        )
        first, second = min(ways, key=lambda lines: max(map(len, lines)))
        return f"{first}\n{second}".rstrip()

    @property
    def lower(self) -> bool | None:
        """Whether less is better; None where neither end is."""
        return None if not self.better else self.better == "lower"

    @property
    def rests_on_watts(self) -> bool:
        """Whether it is an energy, or what an energy costs."""
        return self.kind in ("energy", "cost")

    def of(self, summary: Mapping[str, Any]) -> float:
        """Return the number of a summary; nan where it has none, or null for what is not finite."""
        value: Any = summary
        for key in self.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return math.nan if value is None else float(value)

    def described(self) -> dict[str, Any]:
        """Return what files say of a measure that is not one of ours, ready for JSON."""
        limits = {
            name: getattr(self, name)
            for name in ("low", "high")
            if math.isfinite(getattr(self, name))
        }
        return {"label": self.label, "unit": self.unit, "better": self.better, **limits}

    @classmethod
    def from_file(cls, name: str, described: Mapping[str, Any]) -> Measure:
        """Return a measure as a file describes it; see `described`."""
        known = {each.name for each in fields(cls)}
        given = {key: value for key, value in described.items() if key in known}
        limits = {"low": -math.inf, "high": math.inf}
        return cls(**{**limits, **given, "name": name, "tables": TABLES})
