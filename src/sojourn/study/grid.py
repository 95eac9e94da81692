"""Which values a study tries: grids, lists, Latin hypercubes and Sobol points.

A point is one value for each key. Points of a grid are in the order in which its axes were given,
the last axis fastest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException, InvalidOperation
from typing import Any

import numpy as np

from ..errors import OptionError, did_you_mean
from ..files.access import load_toml
from .braces import Around, split_braces

Value = Any
"""A number, a text, a truth value or a list, as TOML has them."""

Axes = Mapping[str, Iterable[Value] | Value] | Sequence[Mapping[str, Value]]
"""Values by key, or points one by one."""

_MOST = 10_000_000
"""Points of a grid."""
_WHOLE = 2**63
"""Whole numbers from here on fit no column."""
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
        for key in self.keys:
            if not isinstance(key, str):
                raise OptionError(f"a key of the study is {key!r}; write keys as 'control.k'")
        if len(set(self.keys)) < len(self.keys):
            twice = next(key for key in self.keys if self.keys.count(key) > 1)
            raise OptionError(f"'{twice}' is varied twice; give all of its values at once")
        if not self.points:
            raise OptionError("the study has no points; give each key at least one value")
        for point in self.points:
            for key, value in zip(self.keys, point, strict=True):
                if problem := _problem(value):
                    raise OptionError(f"{key}: {problem}")

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
        whole = isinstance(points, Sequence) and not isinstance(points, str)
        if not whole or not all(isinstance(point, Mapping) for point in points):
            raise OptionError(
                f"a grid of {_short(points)}: give values by key, as {{'control.k': [0, 1e5]}}, or "
                "a list of points, as [{'control.k': 0}]"
            )
        keys = tuple(points[0]) if points else ()
        for place, point in enumerate(points, 1):
            if set(point) != set(keys):
                raise OptionError(
                    f"point {place} has the keys {', '.join(point)}, the first one has "
                    f"{', '.join(keys)}; give every point the same"
                )
        return cls(keys, tuple(tuple(_plain(point[key]) for key in keys) for point in points))

    def check_baseline(self, baseline: Mapping[str, Value]) -> None:
        """Raise OptionError where points cannot be compared with those that have some values."""
        for key in baseline:
            if key not in self.keys:
                near = did_you_mean(key, self.keys) or f"; varied are {', '.join(self.keys)}"
                raise OptionError(f"baseline: '{key}' is not varied{near}")
        known = {tuple(map(_cell, point)) for point in self.points}
        for point in self.points:
            wanted = {**dict(zip(self.keys, point, strict=True)), **baseline}
            if tuple(map(_cell, wanted.values())) not in known:
                other = ", ".join(f"{key}={value}" for key, value in baseline.items())
                raise OptionError(f"baseline: no point has {other}; give values that are run")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."


def _cell(value: Value) -> Any:
    """A value that can be looked up."""
    return repr(value) if isinstance(value, list | dict) else value


def _problem(value: Value) -> str:
    """What is wrong with a value, whatever its key; nothing where it can be kept in a table."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"{value!a} is no text in UTF-8; write it in another way"
    elif isinstance(value, int) and not -_WHOLE < value < _WHOLE:
        return f"a number of {value.bit_length()} bits; whole ones go up to 2**63 - 1"
    elif isinstance(value, Mapping):
        return next(filter(None, map(_problem, [*value, *value.values()])), "")
    elif isinstance(value, list | tuple):
        return next(filter(None, map(_problem, value)), "")
    return ""


def _axis(key: str, axis: Any) -> list[Value]:
    if isinstance(axis, str):
        return parse_axis(f"{key}={axis}")[1]
    return [_plain(value) for value in axis] if isinstance(axis, Iterable) else [_plain(axis)]


def _plain(value: Any) -> Value:
    """A value as TOML has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


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
    around : the text that has the number in it; None: the value is the number itself.
    """

    key: str
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    logarithmic: bool = False
    choices: tuple[Value, ...] = ()
    around: Around | None = None

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise OptionError(f"{self.key}: {problem}")

    def _problem(self) -> str:
        if self.choices:
            return _problem(self.choices)
        low, high = self.low, self.high
        if not low < high:
            return f"{low:g} is not below {high:g}"
        if self.logarithmic and low <= 0:
            return "equal ratios need a low end above 0"
        if not math.isfinite(high / low if self.logarithmic else high - low):
            return "the ends are too far apart; give finite numbers"
        if self.whole and not -_WHOLE < low < high < _WHOLE:
            return "whole numbers go up to 2**63 - 1; write 1e19 for others"
        return ""

    @property
    def count(self) -> int:
        """How many values there are; 0 where all between the ends are."""
        if self.choices:
            return len(self.choices)
        return int(self.high) - int(self.low) + 1 if self.whole else 0

    def at(self, share: float) -> Value:
        """Return the value at a share of the way, 0 to 1."""
        value = self._plain_at(share)
        return value if self.around is None else self.around.filled(value)

    def _plain_at(self, share: float) -> Value:
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
        tuple(item.at(share) for item, share in zip(ranges, row, strict=True))
        for row in draws.tolist()
    )
    # Whole numbers and choices can be drawn twice, which would say nothing new.
    once = {repr(point): point for point in points}  # A list has no other way to be looked up.
    return Grid(tuple(item.key for item in ranges), tuple(once.values()))


def parse_axis(text: str) -> tuple[str, list[Value]]:
    """Return the key and the values of ``KEY=A:B:STEP`` or ``KEY=a,b,c``.

    Steps are counted in decimal: ``0:1:0.1`` has 0.3 in it. Each item of a list is read as TOML
    reads a value, and as text where that cannot be; commas in quotes or brackets do not part. Both
    may stand in braces inside a text: ``policy.sleep=idle:{60,600}``.
    """
    key, listed = _halves(text)
    return key, _checked(_axis_values(key, listed, text), text, "--set")


def _axis_values(key: str, listed: str, text: str) -> list[Value]:
    ends = _numbers(listed, 3)
    if ends is None:
        if _numbers(listed, 2) is not None:
            raise OptionError(f"--set {text}: has no step; write {key}={listed}:STEP")
        return [value for item in _items(listed, text) for value in _item(key, item, text)]
    first, last, step = ends
    try:
        if step == 0 or (last - first) / step < 0:
            raise OptionError(f"--set {text}: no step of {step} leads from {first} to {last}")
        if (last - first) / step >= _MOST:
            raise OptionError(f"--set {text}: more than {_MOST:,} values; give a larger step")
        count = int((last - first) / step) + 1
    except DecimalException:
        raise OptionError(f"--set {text}: too large or too small; give other numbers") from None
    whole = all(set(part.strip()) <= set("+-0123456789") for part in listed.split(":"))
    kind = int if whole else float
    if not all(math.isfinite(float(end)) for end in (first, last)):
        raise OptionError(f"--set {text}: too large; give finite numbers")
    return [kind(first + place * step) for place in range(count)]


def _item(key: str, item: str, text: str) -> list[Value]:
    """The values of an item of a list: one, or several where it has braces."""
    parted = split_braces(item)
    if parted is None:
        return [parse_value(item)]
    around, inside = parted
    return [around.filled(value) for value in _axis_values(key, _several(inside, text), text)]


def parse_range(text: str, option: str = "--vary") -> Range:
    """Return the range of ``KEY=LO:HI``, ``KEY=LO:HI:log`` or ``KEY=a,b,c``.

    Two ends without a decimal point or an exponent are whole numbers. A range or a list may stand
    in braces inside a text: ``policy.sleep=idle:{60:7200:log}``.
    """
    key, listed = _halves(text, option)
    parted = split_braces(listed)
    if parted is None:
        return _range(key, listed, text, option)
    around, inside = parted
    found = _range(key, _several(inside, text, option), text, option)
    if not found.choices:
        return replace(found, around=around)
    return replace(found, choices=tuple(map(around.filled, found.choices)))


def _range(key: str, listed: str, text: str, option: str) -> Range:
    head, _, last = listed.rpartition(":")
    logarithmic = last.strip() == "log"
    ends = _numbers(head if logarithmic else listed, 2)
    if ends is None:
        items = [parse_value(item) for item in _items(listed, text, option)]
        if logarithmic or len(items) < 2:
            raise OptionError(f"{option} {text}: write {key}=LOW:HIGH, or {key}=a,b,c")
        return Range(key, choices=tuple(_checked(items, text, option)))
    whole = not logarithmic and set(listed) <= set("+-0123456789: ")
    try:
        return Range(key, float(ends[0]), float(ends[1]), whole, logarithmic)
    except OptionError as error:
        problem = str(error).removeprefix(f"{key}: ")
        raise OptionError(f"{option} {text}: {problem}") from None


def _several(inside: str, text: str, option: str = "--set") -> str:
    """What stands in braces, if it is a range or a list."""
    if not set(inside) & {":", ","}:
        raise OptionError(
            f"{option} {text}: {{{inside}}} is neither a range nor a list; write such as "
            "{60:3600} or {60,600}"
        )
    return inside


def _checked(values: list[Value], text: str, option: str) -> list[Value]:
    if problem := next(filter(None, map(_problem, values)), ""):
        plain = text.encode(errors="backslashreplace").decode()
        raise OptionError(f"{option} {plain}: {problem}")
    return values


def parse_ranges(vary: Sequence[Range | str] | Mapping[str, str]) -> list[Range]:
    """Return ranges of different keys, each as of `parse_range`, or by key."""
    given = [f"{k}={v}" for k, v in vary.items()] if isinstance(vary, Mapping) else list(vary)
    ranges = [item if isinstance(item, Range) else parse_range(item) for item in given]
    if not ranges:
        raise OptionError("nothing is varied; give keys and their ranges, such as control.k=0:3e6")
    keys = [item.key for item in ranges]
    if len(set(keys)) < len(keys):
        raise OptionError(f"{', '.join(keys)}: a key is varied twice; give each one range")
    return ranges


def parse_value(text: str) -> Value:
    """Return one value as TOML reads it; anything else is text."""
    word = text.strip()
    try:
        return load_toml(f"v = {word}\n")["v"]
    except ValueError:
        return word


def _halves(text: str, option: str = "--set") -> tuple[str, str]:
    key, equals, listed = text.partition("=")
    if not (key.strip() and equals and listed.strip()):
        raise OptionError(f"{option} {text}: write {option} KEY=VALUES")
    return key.strip(), listed.strip()


def _numbers(text: str, count: int) -> list[Decimal] | None:
    """The numbers between colons, or None if these are not so many."""
    parts = text.split(":")
    if len(parts) != count:
        return None
    try:
        numbers = [Decimal(part.strip()) for part in parts]
    except InvalidOperation:
        return None
    return numbers if all(number.is_finite() for number in numbers) else None


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
