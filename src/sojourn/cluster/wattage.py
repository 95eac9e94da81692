"""Whether an energy is worth stating, and what it rests on where nobody gave watts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .power import AssumedPower

__all__ = ["assumed_watts", "assumed_watts_of_study", "states_energy", "study_asks"]

_WATTS = ("busy", "idle", "levels", "static", "dynamic", "exponent", "reference")
_PRICES = ("price", "carbon")


def assumed_watts(summary: Mapping[str, Any]) -> str:
    """Return what watts the energy of a run rests on if nobody gave any; else nothing.

    Parameters
    ----------
    summary : of a run.
    """
    energy = summary.get("energy") or {}
    return str(energy.get("power_model") or "")


def states_energy(summary: Mapping[str, Any]) -> bool:
    """Whether the energy of a run is stated: watts were given, or its energy was asked for.

    A price, a carbon intensity or a service rate that is controlled ask for it: then it is stated
    with the watts that are assumed.

    Parameters
    ----------
    summary : of a run.
    """
    energy = summary.get("energy")
    if not energy:
        return False
    asked = "cost" in energy or "carbon_kg" in energy
    controlled = not str(summary.get("rate", "constant")).startswith("constant")
    return asked or controlled or not assumed_watts(summary)


def assumed_watts_of_study(settings: Mapping[str, Any], varied: Collection[str]) -> str:
    """Return what watts the energies of a study rest on if nobody gave any; else nothing.

    Parameters
    ----------
    settings : the tables of its scenario, as they were written.
    varied : keys that the study varies, such as ``power.busy``.
    """
    power, cluster = _table(settings, "power"), _table(settings, "cluster")
    given = any(name in power or f"power.{name}" in varied for name in _WATTS)
    named = cluster.get("nodes") is not None or "cluster.nodes" in varied
    return "" if given or named else str(AssumedPower())


def study_asks(settings: Mapping[str, Any], varied: Collection[str]) -> bool:
    """Whether a study asks for energy: by a price, a carbon intensity or a rate control.

    Parameters
    ----------
    settings, varied : as in `assumed_watts_of_study`.
    """
    power, control = _table(settings, "power"), _table(settings, "control")
    priced = any(name in power or f"power.{name}" in varied for name in _PRICES)
    controlled = control.get("kind", "constant") != "constant"
    return priced or controlled or any(key.startswith("control.") for key in varied)


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, Mapping) else {}
