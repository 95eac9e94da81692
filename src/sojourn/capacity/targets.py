"""Targets for waits, such as ``p95=1h``: at most an hour for 95 % of the jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..errors import OptionError

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_LENGTH = r"(?P<length>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>s|min|m|h|d)"
_TARGET = re.compile(
    rf"\s*(mean|median|max|p(?P<percent>\d{{1,2}}(?:\.\d+)?))\s*(?:<=|=)\s*{_LENGTH}?\s*"
)


@dataclass(frozen=True)
class Target:
    """The largest wait that is still good enough.

    Parameters
    ----------
    name : ``mean``, ``median``, ``max`` or a percentile such as ``p95``.
    limit : seconds.
    """

    name: str
    limit: float

    def __str__(self) -> str:
        for unit in ("d", "h", "min"):
            if self.limit >= _UNITS[unit]:
                return f"{self.name}={self.limit / _UNITS[unit]:g}{unit}"
        return f"{self.name}={self.limit:g}s"

    @property
    def share(self) -> float | None:
        """Share of the jobs that are to wait no longer; None for the mean."""
        if self.name == "mean":
            return None
        fixed = {"median": 0.5, "max": 1.0}
        return fixed[self.name] if self.name in fixed else float(self.name[1:]) / 100

    def of(self, wait: Floats, weight: Floats | None = None) -> float:
        """Return the measure of waits (s), each counted `weight` times; nan without any.

        A percentile is the smallest wait that at least this share does not exceed.
        """
        weights = np.ones(len(wait)) if weight is None else weight
        total = float(weights.sum())
        if not total > 0:
            return float("nan")
        if self.share is None:
            return float(np.dot(wait, weights) / total)
        order = np.argsort(wait)
        return self.of_sorted(wait[order], weights[order])

    def of_sorted(self, wait: Floats, weight: Floats) -> float:
        """Return the measure as `of` does, of waits in ascending order."""
        if self.share is None:
            return float(np.dot(wait, weight) / weight.sum())
        reached = np.cumsum(weight)
        # A hair less than the share, lest rounding of the product asks for one job more.
        at = np.searchsorted(reached, self.share * reached[-1] * (1 - 1e-12))
        return float(wait[at])

    def is_met(self, value: float) -> bool:
        """Whether a measure (s) is within the limit."""
        return value <= self.limit


def parse_length(text: str) -> float:
    """Return a length of time such as ``90s``, ``30m``, ``1.5h`` or ``2d`` in seconds.

    ValueError for any other text.
    """
    match = re.fullmatch(rf"\s*{_LENGTH}\s*", text.lower())
    if match is None or not math.isfinite(float(match["length"])):
        raise ValueError(f"'{text}': write a length of time such as 90s, 30m, 1.5h or 2d")
    return float(match["length"]) * _UNITS[match["unit"]]


def parse_target(text: str) -> Target:
    """Read a target: a measure, ``=``, and a length with its unit (s, m or min, h, d).

    Examples
    --------
    >>> parse_target("p95=1h")
    Target(name='p95', limit=3600.0)
    """
    match = _TARGET.fullmatch(text.lower())
    if match is None:
        raise OptionError(
            f"target '{text}': write mean, median, max or a percentile such as p95, '=' and a "
            "length such as 90s, 30m, 1.5h or 2d"
        )
    if match["unit"] is None and float(match["length"]) != 0:
        raise OptionError(f"target '{text}': which unit? write {text.strip()}s, m, h or d")
    if match["percent"] is not None and not float(match["percent"]) > 0:
        raise OptionError(f"target '{text}': a percentile lies between p0 and p100")
    limit = float(match["length"]) * _UNITS[match["unit"] or "s"]
    if not math.isfinite(limit):
        raise OptionError(f"target '{text}': give a finite length")
    return Target(match[1], limit)


def parse_targets(given: str | Target | Sequence[str | Target]) -> tuple[Target, ...]:
    """Read one target or several, also those of one text with commas between.

    Of several for the same measure only the shortest is left: it holds where all do.
    """
    several = [given] if isinstance(given, str | Target) else list(given)
    parts: list[str | Target] = []
    for item in several:
        parts += [item] if isinstance(item, Target) else item.split(",")
    if not parts:
        raise OptionError("no target: give one such as p95=1h")
    strictest: dict[str, Target] = {}
    for part in parts:
        target = part if isinstance(part, Target) else parse_target(part)
        if target.name not in strictest or target.limit < strictest[target.name].limit:
            strictest[target.name] = target
    return tuple(strictest.values())
