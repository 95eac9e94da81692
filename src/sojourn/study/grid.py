"""Which values a study tries: grids, lists, Latin hypercubes and Sobol points.

A point is one value for each key. Points of a grid are in the order in which its axes were given,
the last axis fastest.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from ..errors import OptionError

__all__ = [
    "Axes",
    "Grid",
    "Range",
    "Value",
    "latin_hypercube",
    "parse_axis",
    "parse_range",
    "parse_ranges",
    "parse_value",
    "sobol",
]

Value = Any
"""A number, a text, a truth value or a list, as TOML has them."""

Axes = Mapping[str, Iterable[Value] | Value] | Sequence[Mapping[str, Value]]
"""Values by key, or points one by one."""

_MOST = 10_000_000
"""Points of a grid."""
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True)
class Grid:
    """Points of a study.

    Parameters
    ----------
    keys : what is varied, such as ``control.k``.
    points : one value for each key.
    """

    keys: tuple[str, ...]
    points: tuple[tuple[Value, ...], ...]

    def __len__(self) -> int:
        return len(self.points)

    def __post_init__(self) -> None:
        if len(set(self.keys)) < len(self.keys):
            twice = next(key for key in self.keys if self.keys.count(key) > 1)
            raise OptionError(f"'{twice}' is varied twice; give all of its values at once")
        if not self.points:
            raise OptionError("the study has no points; give each key at least one value")

    @classmethod
    def of(cls, axes: Axes | None) -> Grid:
        """Return every combination of the values of some keys, or points that are listed.

        Parameters
        ----------
        axes : values by key, each a list, one value, or a text as of `parse_axis`; or a list of
            points, each with the same keys. No axes give one point: the scenario as it is.
        """
        if axes is not None and not isinstance(axes, Mapping):
            return cls._listed(axes)
        values = {key: _axis(key, axis) for key, axis in (axes or {}).items()}
        if math.prod(len(axis) for axis in values.values()) > _MOST:
            raise OptionError(f"the grid has more than {_MOST:,} points; give fewer values")
        return cls(tuple(values), tuple(itertools.product(*values.values())))

    @classmethod
    def _listed(cls, points: Sequence[Mapping[str, Value]]) -> Grid:
        keys = tuple(points[0]) if points else ()
        for place, point in enumerate(points, 1):
            if set(point) != set(keys):
                raise OptionError(
                    f"point {place} has the keys {', '.join(point)}, the first one has "
                    f"{', '.join(keys)}; give every point the same"
                )
        return cls(keys, tuple(tuple(_plain(point[key]) for key in keys) for point in points))


def _axis(key: str, axis: Any) -> list[Value]:
    if isinstance(axis, str):
        return parse_axis(f"{key}={axis}")[1]
    return [_plain(value) for value in axis] if isinstance(axis, Iterable) else [_plain(axis)]


def _plain(value: Any) -> Value:
    """A value as TOML has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Range:
    """Values between two ends, or one of a list.

    Parameters
    ----------
    key : what is varied.
    low, high : the ends, both included.
    whole : whether only whole numbers are meant.
    logarithmic : whether equal ratios are equally likely, in place of equal differences.
    choices : a list to choose from in place of two ends.
    """

    key: str
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    logarithmic: bool = False
    choices: tuple[Value, ...] = ()

    @property
    def count(self) -> int:
        """How many values there are; 0 where all between the ends are."""
        if self.choices:
            return len(self.choices)
        return int(self.high) - int(self.low) + 1 if self.whole else 0

    def at(self, share: float) -> Value:
        """Return the value at a share of the way, 0 to 1."""
        if self.count:
            place = min(int(share * self.count), self.count - 1)
            return self.choices[place] if self.choices else int(self.low) + place
        if self.logarithmic:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        return float(min(max(value, self.low), self.high))


def latin_hypercube(ranges: Sequence[Range], count: int, seed: int = 0) -> Grid:
    """Return points of which each key's values fall into `count` equal parts, one in each."""
    from scipy.stats import qmc

    draws = qmc.LatinHypercube(d=len(ranges), seed=np.random.default_rng(seed)).random(count)
    return _sampled(ranges, draws)


def sobol(ranges: Sequence[Range], count: int, seed: int = 0) -> Grid:
    """Return the first `count` points of a scrambled Sobol sequence; a power of 2 is best."""
    from scipy.stats import qmc

    # Drawn as a whole power of 2, of which the balance of the sequence is a property.
    sequence = qmc.Sobol(d=len(ranges), seed=np.random.default_rng(seed))
    draws = sequence.random_base2(max(count - 1, 0).bit_length())
    return _sampled(ranges, draws[:count])


def _sampled(ranges: Sequence[Range], draws: Any) -> Grid:
    points = tuple(
        tuple(each.at(share) for each, share in zip(ranges, row, strict=True))
        for row in draws.tolist()
    )
    # Whole numbers and choices can be drawn twice, which would say nothing new.
    return Grid(tuple(each.key for each in ranges), tuple(dict.fromkeys(points)))


def parse_axis(text: str) -> tuple[str, list[Value]]:
    """Return the key and the values of ``KEY=A:B:STEP`` or ``KEY=a,b,c``.

    Steps are counted in decimal: ``0:1:0.1`` has 0.3 in it. Each item of a list is read as TOML
    reads a value, and as text where that cannot be; commas in quotes or brackets do not part.
    """
    key, told = _halves(text)
    ends = _numbers(told, 3)
    if ends is None:
        if _numbers(told, 2) is not None:
            raise OptionError(f"--set {text}: has no step; write {key}={told}:STEP")
        return key, [parse_value(item) for item in _items(told, text)]
    first, last, step = ends
    if step == 0 or (last - first) / step < 0:
        raise OptionError(f"--set {text}: no step of {step} leads from {first} to {last}")
    count = int((last - first) / step) + 1
    if count > _MOST:
        raise OptionError(f"--set {text}: more than {_MOST:,} values; give a larger step")
    whole = all(set(part.strip()) <= set("+-0123456789") for part in told.split(":"))
    kind = int if whole else float
    return key, [kind(first + place * step) for place in range(count)]


def parse_range(text: str, option: str = "--vary") -> Range:
    """Return the range of ``KEY=LO:HI``, ``KEY=LO:HI:log`` or ``KEY=a,b,c``.

    Two ends without a decimal point or an exponent are whole numbers.
    """
    key, told = _halves(text, option)
    head, _, last = told.rpartition(":")
    logarithmic = last.strip() == "log"
    ends = _numbers(head if logarithmic else told, 2)
    if ends is None:
        items = [parse_value(item) for item in _items(told, text, option)]
        if logarithmic or len(items) < 2:
            raise OptionError(f"{option} {text}: write {key}=LOW:HIGH, or {key}=a,b,c")
        return Range(key, choices=tuple(items))
    low, high = float(ends[0]), float(ends[1])
    if not low < high:
        raise OptionError(f"{option} {text}: {ends[0]} is not below {ends[1]}")
    if logarithmic and low <= 0:
        raise OptionError(f"{option} {text}: equal ratios need a low end above 0")
    whole = not logarithmic and set(told) <= set("+-0123456789: ")
    return Range(key, low, high, whole, logarithmic)


def parse_ranges(vary: Sequence[Range | str] | Mapping[str, str]) -> list[Range]:
    """Return ranges of different keys, each as of `parse_range`, or by key."""
    given = [f"{k}={v}" for k, v in vary.items()] if isinstance(vary, Mapping) else list(vary)
    found = [each if isinstance(each, Range) else parse_range(each) for each in given]
    if not found:
        raise OptionError("nothing is varied; give keys and their ranges, such as control.k=0:3e6")
    keys = [each.key for each in found]
    if len(set(keys)) < len(keys):
        raise OptionError(f"{', '.join(keys)}: a key is varied twice; give each one range")
    return found


def parse_value(text: str) -> Value:
    """Return one value as TOML reads it; anything else is text."""
    word = text.strip()
    try:
        return tomllib.loads(f"v = {word}\n")["v"]
    except tomllib.TOMLDecodeError:
        return word


def _halves(text: str, option: str = "--set") -> tuple[str, str]:
    key, equals, told = text.partition("=")
    if not (key.strip() and equals and told.strip()):
        raise OptionError(f"{option} {text}: write {option} KEY=VALUES")
    return key.strip(), told.strip()


def _numbers(text: str, count: int) -> list[Decimal] | None:
    """The numbers between colons, or None if these are not so many."""
    parts = text.split(":")
    if len(parts) != count:
        return None
    try:
        found = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        return None
    return found if all(number.is_finite() for number in found) else None


def _items(text: str, whole: str, option: str = "--set") -> list[str]:
    """The parts of a list between commas that stand outside quotes and brackets."""
    items, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        else:
            depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign == "," and not depth and not quote:
            items.append("")
        else:
            items[-1] += sign
    if not all(item.strip() for item in items):
        raise OptionError(f"{option} {whole}: an item of the list is empty")
    return items
