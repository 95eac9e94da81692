"""The configuration file of ``sojourn peas``: keys of a scenario under shorter names.

A run in the manner of [gomez2012] is a workload, a cluster and a configuration; this is the last.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OptionError
from .command import merged
from .keys import ConstraintKeys
from .problems import Source, read_toml
from .scenario import Scenario
from .toml import Path as KeyPath

KEYS: dict[str, str] = {
    "policy": "policy.name",
    "placement": "policy.placement",
    "processor": "cluster.processor",
    "estimates": "policy.estimates",
    "first": "workload.first",
    "where": "cluster.where",
    "seed": "run.seed",
    "foresight": "policy.foresight",
    **{f"constraints.{name}": f"policy.constraints.{name}" for name in ConstraintKeys.model_fields},
    **{f"cost.{name}": f"power.{name}" for name in ("price", "carbon", "starts")},
}
"""Keys of the configuration, and what they are in a scenario."""

_TABLES = ("constraints", "cost")


class _Config(Source):
    """A configuration, whose keys have names of their own."""

    def error(self, key: KeyPath, problem: str) -> OptionError:
        """Return the error for a key, by the name that it has in the file."""
        ours = {scenario: name for name, scenario in KEYS.items()}
        for length in range(len(key), 0, -1):
            name = ours.get(".".join(map(str, key[:length])))
            if name is not None:
                return super().error((*name.split("."), *key[length:]), problem)
        return super().error(key, problem)


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a configuration in TOML says, as the keys of a scenario.

    Parameters
    ----------
    path : the file. A file that it names (``carbon``) is looked for beside it.

    Raises
    ------
    OptionError
        When it is not TOML, has a key that is not known, or a value that its key cannot have.
    """
    values, place = read_toml(path)
    source = _Config(place.name, place.text)
    keys: dict[str, Any] = {}
    for name, value in _flat(values, source):
        if name not in KEYS:
            raise source.error(tuple(name.split(".")), _unknown(name))
        new: Any = value
        for step in reversed(KEYS[name].split(".")):
            new = {step: new}
        keys = merged(keys, new)
    # Which jobs and nodes will be there is not known here, and any would do.
    anything = {"workload": {"log": "log"}, "cluster": {"nodes": "1 x 1"}}
    checked = Scenario.from_mapping(merged(keys, anything), source=source)
    carbon = checked.keys.power.carbon
    if isinstance(carbon, str):
        keys["power"]["carbon"] = str(Path(path).parent / carbon)
    return keys


def _flat(values: Mapping[str, Any], source: Source) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in values.items():
        if name not in _TABLES:
            flat.append((name, value))
        elif isinstance(value, Mapping):
            flat += [(f"{name}.{key}", inner) for key, inner in value.items()]
        else:
            raise source.refusal((name,), repr(value)[:60], "a table")
    return flat


def _unknown(name: str) -> str:
    """Say what was meant by a key that is not known."""
    table, _, last = name.rpartition(".")
    for key in KEYS:
        home, _, known = key.rpartition(".")
        if known == last and home != table:
            return f"belongs into [{home}]" if home else "belongs above all tables"
    here = [key.rpartition(".")[2] for key in KEYS if key.rpartition(".")[0] == table]
    names = here if table else [*here, *_TABLES]
    # Options are shorter than keys: --memory is far from memory_per_core, and yet the same.
    near = difflib.get_close_matches(last.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(names)}"
    return f"is not known; {hint}"
