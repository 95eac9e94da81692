"""A model of server: what it has, and what SPECpower_ssj2008 measures of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ._resources import Counts, resources_of
from .states import PowerStates

__all__ = ["LEVELS", "PROCESSORS", "Node", "Server"]

LEVELS = tuple(i / 10 for i in range(11))
"""Load levels of the benchmark: active idle, 10 %, ..., 100 % of the target."""

PROCESSORS = ("core", "chip", "node")
"""What counts as one processor of a job."""

# What is measured is far from it; sums and ratios of such numbers are finite.
_MOST = 1e12


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
