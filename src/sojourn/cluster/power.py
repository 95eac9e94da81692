"""Power of one server, in watts, by service rate, and what an energy rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arrays import Floats
from ..errors import OptionError

_WATTS = ("busy", "idle", "levels", "static", "dynamic", "exponent", "reference")
_PRICES = ("price", "carbon")


class Power(Protocol):
    """Watts of a busy and of an idle server at given rates."""

    def busy(self, rate: Floats) -> Floats:
        """e(r) [rumyantsev2018, eq. 9]."""

    def idle(self, rate: Floats) -> Floats:
        """e_0(r) [rumyantsev2018, eq. 11]."""


def _check(name: str, watts: float) -> None:
    if not (np.isfinite(watts) and watts >= 0):
        raise OptionError(f"power: {name} = {watts} W; give a finite number of at least 0")


@dataclass(frozen=True)
class ConstantPower:
    """The same at every rate.

    The defaults are those of one core of a Quad-Core Xeon 5430 at its high rate, with its share
    of the whole system [rumyantsev2018, sec. IV; errata 12].
    """

    busy_watts: float = 41.0
    idle_watts: float = 18.0

    def __post_init__(self) -> None:
        _check("busy", self.busy_watts)
        _check("idle", self.idle_watts)

    def busy(self, rate: Floats) -> Floats:
        """Watts of a busy server."""
        return np.full_like(rate, self.busy_watts)

    def idle(self, rate: Floats) -> Floats:
        """Watts of an idle server."""
        return np.full_like(rate, self.idle_watts)


@dataclass(frozen=True)
class AssumedPower(ConstantPower):
    """Watts that nobody gave: those of `ConstantPower`, so that a bill can be made at all.

    Energies that rest on it are marked, unlike those of a machine whose watts are known.
    """

    def __str__(self) -> str:
        return f"assumed {self.busy_watts:g}/{self.idle_watts:g} W per processor"


@dataclass(frozen=True)
class RatePower:
    """Measured watts at each rate: ``{rate: (busy, idle)}``."""

    table: Mapping[float, tuple[float, float]]

    def __post_init__(self) -> None:
        for rate, (busy, idle) in self.table.items():
            _check(f"busy at rate {rate:g}", busy)
            _check(f"idle at rate {rate:g}", idle)

    def _look_up(self, rate: Floats, column: int) -> Floats:
        known = np.array(sorted(self.table))
        watts = np.array([self.table[r][column] for r in known])
        at = np.minimum(np.searchsorted(known, rate), len(known) - 1)
        if np.any(known[at] != rate):
            missing = float(np.asarray(rate)[known[at] != rate][0])
            raise OptionError(
                f"power: no watts for rate {missing:g}; the table has "
                f"{', '.join(f'{r:g}' for r in known)}",
                key="power.levels",
            )
        return watts[at]

    def busy(self, rate: Floats) -> Floats:
        """Watts of a busy server."""
        return self._look_up(rate, 0)

    def idle(self, rate: Floats) -> Floats:
        """Watts of an idle server."""
        return self._look_up(rate, 1)


@dataclass(frozen=True)
class ScaledPower:
    """Dynamic power grows as a power of the rate (about its cube, by voltage scaling).

    busy(r) = static + dynamic * (r / reference)**exponent, idle(r) = static.
    """

    static: float = 18.0
    dynamic: float = 23.0
    exponent: float = 3.0
    reference: float = 1.0

    def __post_init__(self) -> None:
        _check("static", self.static)
        _check("dynamic", self.dynamic)

    def busy(self, rate: Floats) -> Floats:
        """Watts of a busy server."""
        return self.static + self.dynamic * (np.asarray(rate) / self.reference) ** self.exponent

    def idle(self, rate: Floats) -> Floats:
        """Watts of an idle server."""
        return np.full_like(rate, self.static)


XEON_5430 = RatePower({2.0: (34.0, 14.0), 2.66: (41.0, 18.0)})
"""Watts per core at 2.0 and 2.66 GHz [rumyantsev2018, sec. IV], busy values swapped (errata 12)."""


def assumed_watts(summary: Mapping[str, Any]) -> str:
    """Return what watts the energy of a run rests on if nobody gave any; else nothing."""
    energy = summary.get("energy") or {}
    return str(energy.get("power_model") or "")


def states_energy(summary: Mapping[str, Any]) -> bool:
    """Whether the energy of a run is stated: watts were given, or its energy was requested.

    A price, a carbon intensity or a service rate that is controlled request it: then it is stated
    with the watts that are assumed.
    """
    energy = summary.get("energy")
    if not energy:
        return False
    asked = "cost" in energy or "carbon_kg" in energy
    controlled = not str(summary.get("rate", "constant")).startswith("constant")
    return asked or controlled or not assumed_watts(summary)


def assumed_watts_of_study(settings: Mapping[str, Any], varied: Collection[str]) -> str:
    """Return what watts the energies of a study rest on if nobody gave any; else nothing.

    `settings` are the tables of its scenario, `varied` the keys that it varies.
    """
    power, cluster = _table(settings, "power"), _table(settings, "cluster")
    given = any(name in power or f"power.{name}" in varied for name in _WATTS)
    named = cluster.get("nodes") is not None or "cluster.nodes" in varied
    return "" if given or named else str(AssumedPower())


def study_asks(settings: Mapping[str, Any], varied: Collection[str]) -> bool:
    """Whether a study asks for energy: by a price, a carbon intensity or a rate control."""
    power, control = _table(settings, "power"), _table(settings, "control")
    priced = any(name in power or f"power.{name}" in varied for name in _PRICES)
    controlled = control.get("kind", "constant") != "constant"
    return priced or controlled or any(key.startswith("control.") for key in varied)


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = settings.get(name)
    return table if isinstance(table, Mapping) else {}
