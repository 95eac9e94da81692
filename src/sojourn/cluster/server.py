"""A model of server: what it has, and what SPECpower_ssj2008 measures of it."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from .states import PowerStates

MOST_COUNTED = 2**53
_NAME = re.compile(r"[A-Za-z_][\w.+-]*(:[\w.+-]+)?")
_TAKEN = ("cores", "core", "memory", "nodes", "node", "procs", "processors", "cpus", "cpu")
_SHORT = {"gpus": "gpu", "mics": "mic", "fpgas": "fpga", "licences": "licence"}

LEVELS = tuple(i / 10 for i in range(11))
"""Load levels of the benchmark: active idle, 10 %, ..., 100 % of the target."""

PROCESSORS = ("core", "chip", "node")
"""What counts as one processor of a job."""

# What is measured is far from it; sums and ratios of such numbers are finite.
_MOST = 1e12


class Counts(Mapping[str, int]):
    """An immutable mapping from names to whole numbers, sorted by name.

    It can be hashed, so that servers which are equal are counted together.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = dict(sorted((counts or {}).items()))

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __hash__(self) -> int:
        return hash(tuple(self._counts.items()))

    def __repr__(self) -> str:
        return repr(self._counts)

    def __reduce__(self) -> tuple[type[Counts], tuple[dict[str, int]]]:
        return Counts, (self._counts,)


def resource_name(name: object, where: str) -> str:
    """Return the name of a resource: ``gpus`` is ``gpu``, a typed one is ``gpu:a100``."""
    text = name.strip() if isinstance(name, str) else ""
    if not _NAME.fullmatch(text):
        raise OptionError(f"{where}: {str(name)[:40]!r} is no name of a resource; use letters")
    kind, colon, model = text.partition(":")
    if kind.lower() in _TAKEN:
        raise OptionError(f"{where}: '{text}' is no further resource; choose another name")
    return _SHORT.get(kind.lower(), kind) + colon + model


def resources_of(given: Mapping[str, object], where: str) -> Counts:
    """Return counts by name, without zeros; those of a type count under their kind as well.

    ``{"gpu:a100": 2, "gpu:t4": 1}`` has three of ``gpu``, unless it says more. An error begins with
    `where`.
    """
    if not isinstance(given, Mapping):
        raise OptionError(f"{where}: {given!r} are no counts by name")
    counts: dict[str, int] = {}
    for name, count in given.items():
        known = resource_name(name, where)
        if known in counts:
            raise OptionError(f"{where}: '{known}' is given twice; remove one")
        counts[known] = whole_count(count, f"{where}: {known}")
    typed: dict[str, int] = {}
    for name, count in counts.items():
        kind, colon, _ = name.partition(":")
        if colon:
            typed[kind] = typed.get(kind, 0) + count
    for kind, count in typed.items():
        if counts.setdefault(kind, count) < count:
            raise OptionError(
                f"{where}: {counts[kind]} {kind}, but {count} of its types; correct one of them"
            )
    return Counts({name: count for name, count in counts.items() if count})


def whole_count(value: object, where: str) -> int:
    """Return a whole number that is not negative, whichever type of number it came as."""
    try:
        count = -1 if isinstance(value, (bool, str)) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = int(value) if isinstance(value, float) and value.is_integer() else -1
    if not 0 <= count <= MOST_COUNTED:
        most = f"at most {MOST_COUNTED:,}" if count > MOST_COUNTED else "0 or more"
        raise OptionError(f"{where}: {value!r}; give a whole number, {most}")
    return count


@dataclass(frozen=True)
class Server:
    """One model of server.

    Parameters
    ----------
    model : its short name, such as ``X5670``.
    cores : of the whole server.
    ops : operations per second at 100 % load, of the whole server; nan if not known.
    watts : of the whole server at the eleven `LEVELS`, active idle first; or only at idle and
        100 %, with a straight line between; none if not known.
    chips : sockets.
    memory : GB; nan if not known.
    features : words that jobs can ask for, such as ``gpu``.
    idle_known : whether the idle watts were measured; where they were not, they count as 0.
    facts : what else is known (vendor, system, processor, published, ...), for queries.
    resources : what else it has that can be counted, such as ``{"gpu": 2}``; those of a type, as
        ``gpu:a100``, count under ``gpu`` as well.
    states : depths it sleeps at, levels it runs at, and its watts when it is off or has failed.
    """

    model: str
    cores: int
    ops: float = math.nan
    watts: tuple[float, ...] = ()
    chips: int = 1
    memory: float = math.nan
    features: frozenset[str] = frozenset()
    idle_known: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    resources: Mapping[str, int] = field(default_factory=Counts)
    states: PowerStates = field(default_factory=PowerStates)

    def __post_init__(self) -> None:
        if len(self.watts) == 2:
            idle, full = self.watts
            object.__setattr__(
                self, "watts", tuple(idle + (full - idle) * level for level in LEVELS)
            )
        self._unify()
        resources = resources_of(self.resources, f"server {self.model}: resources")
        object.__setattr__(self, "resources", resources)
        self._check("cores", self.cores, 1 <= self.cores <= _MOST and self.cores == int(self.cores))
        self._check("chips", self.chips, 1 <= self.chips <= _MOST and self.chips == int(self.chips))
        self._check("ops", self.ops, not self.has_speed or 1 / _MOST <= self.ops <= _MOST)
        self._check("memory", self.memory, math.isnan(self.memory) or 0 < self.memory <= _MOST)
        if not self.has_watts:
            object.__setattr__(self, "idle_known", False)
            return
        if len(self.watts) != len(LEVELS):
            raise OptionError(
                f"server {self.model}: {len(self.watts)} watts; give 2 (idle, 100 %) or 11 levels"
            )
        for level, watts in zip(LEVELS, self.watts, strict=True):
            self._check(f"watts at {level:.0%}", watts, 0 <= watts <= _MOST)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._unify()

    def _unify(self) -> None:
        """Make unknown numbers the one nan of the module, which is equal to itself."""
        for name in ("memory", "ops"):
            if math.isnan(getattr(self, name)):
                object.__setattr__(self, name, math.nan)

    @property
    def has_speed(self) -> bool:
        """Whether its operations per second are known."""
        return not math.isnan(self.ops)

    @property
    def has_watts(self) -> bool:
        """Whether it is known what it draws."""
        return bool(self.watts)

    def _check(self, name: str, value: float, good: bool) -> None:
        if not good:
            raise OptionError(
                f"server {self.model}: {name} = {value:g}; give a number above 0"
                + (" (of W), or 0" if name.startswith("watts") else f", at most {_MOST:g}")
            )

    def procs(self, processor: str = "core") -> int:
        """How many processors it is, if one is a core, a chip or a whole node."""
        return {"core": self.cores, "chip": self.chips, "node": 1}[processor]

    def watts_at(self, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """Watts at a load between 0 and 1, on straight lines between the measured levels."""
        if not self.has_watts:
            raise OptionError(f"server {self.model}: its watts are not known; give them")
        return np.interp(load, LEVELS, self.watts)


@dataclass(frozen=True)
class Node:
    """One machine of a cluster: a name, and the model of server it is."""

    name: str
    server: Server
