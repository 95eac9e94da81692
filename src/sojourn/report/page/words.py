"""How values of measures, intervals and changes are written on a page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...measures.entry import Measure, Unit
from ..figures.style import number

if TYPE_CHECKING:
    from ...study.intervals import Interval


def in_unit(value: float, unit: Unit) -> str:
    """Write a number in a unit."""
    return f"{number(value / unit.size)} {unit.name}".rstrip()


def value_text(what: Measure, value: float) -> str:
    """Write a value of a measure in the unit in which it reads best."""
    return in_unit(value, what.unit_for([value]))


def bounded(what: Measure, interval: Interval) -> Interval:
    """Return an interval without what the measure can never be."""
    return replace(interval, low=max(interval.low, what.low), high=min(interval.high, what.high))


def bounded_change(what: Measure, change: Interval) -> Interval:
    """Return a relative change without what it can never be: less than nothing left."""
    return replace(change, low=max(change.low, -1.0)) if what.low >= 0 else change


def between(what: Measure, interval: Interval) -> str:
    """Write the ends of an interval in the unit of its estimate; nothing where there are none."""
    if not np.isfinite([interval.low, interval.high]).all():
        return ""
    unit = what.unit_for([interval.estimate or interval.high])
    doubt = ", run too short" if interval.method.endswith("correlated") else ""
    return f"{number(interval.low / unit.size)} to {in_unit(interval.high, unit)}{doubt}"


def with_interval(what: Measure, interval: Interval) -> str:
    """Write an estimate with its interval, all in one unit."""
    ends = between(what, interval)
    spread = f" ({confidence(interval.level)} interval {ends})" if ends else ""
    return value_text(what, interval.estimate) + spread


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


def listed(words: Iterable[str]) -> str:
    """Write words as a list: ``a, b and c``."""
    items = list(words)
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1]))) if items else ""
