"""A command as a scenario: what was typed once, to be run, changed and swept later."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..output import staged
from . import inputs
from ._keys import number_or_text
from ._sections import ScenarioKeys
from .scenario import Scenario

__all__ = ["save_options", "save_scenario", "scenario_of"]

_BY_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,18})\s*=\s*(\S+)\s*")
_THRESHOLDS = {"count": ("low", "high"), "workload": ("low", "high"), "threshold": ("k",)}


def scenario_of(options: Mapping[str, Any], folder: str | os.PathLike[str]) -> Scenario:
    """Return the scenario that does what ``sojourn simulate`` does with its options.

    Parameters
    ----------
    options : every option by name, as the command line has them.
    folder : where the scenario will be saved; paths become relative to it, unless they are
        absolute.
    """
    o = dict(options)
    told = {
        "workload": {
            "log": os.fspath(o["log"]),
            "format": o["log_format"],
            "columns": _columns(o["columns"]),
            "width": o["width"],
            "first": o["first"],
            "strict": o["strict"],
            "keep_zero": o["keep_zero"],
            "rules": _rules(o["rules"]),
            "events": None if o["events"] is None else os.fspath(o["events"]),
        },
        "cluster": {
            "procs": o["procs"],
            "nodes": o["cluster"],
            "where": o["where"],
            "processor": o["processor"],
            "keep_noncompliant": o["keep_noncompliant"],
        },
        "policy": {
            "name": o["policy"].strip(),
            "order": o["policy_file"],
            "placement": _placement(o["placement"]),
            "estimates": number_or_text(o["estimates"]),
            "over_limit": o["over_limit"],
            "passes": o["passes"],
            "foresight": o["foresight"],
            "node_failure": o["node_failure"],
            "constraints": _constraints(o),
        },
        "control": {**_control(o["rate"]), "reference_rate": o["reference_rate"]},
        "power": {
            "busy": o["watts_busy"],
            "idle": o["watts_idle"],
            "levels": _levels(o["watts"]),
            "price": number_or_text(o["price"]),
            "carbon": number_or_text(o["carbon"]),
            "starts": o["starts"],
        },
        "run": {
            "seed": o["seed"],
            "trajectory": o["trajectory"],
            "format": o["format"],
            "plots": o["plots"],
            "decisions": o["debug"],
        },
    }
    kept = {name: _changed(name, table) for name, table in told.items()}
    there = Path(folder)
    return Scenario.from_mapping(
        inputs.moved({name: table for name, table in kept.items() if table}, Path(), there), there
    )


def _changed(section: str, table: dict[str, Any]) -> dict[str, Any]:
    """The keys of a table that are not left at their defaults; the policy is always told."""
    model = type(getattr(ScenarioKeys(), section))
    defaults = {name: field.default for name, field in model.model_fields.items()}
    return {
        name: value
        for name, value in table.items()
        if value is not None and (value != defaults[name] or (section, name) == ("policy", "name"))
    }


def _columns(text: str | None) -> dict[str, str] | list[str] | None:
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        return [part.strip() for part in text.split(",")]
    return {ours.strip(): theirs.strip() for ours, _, theirs in parts}


def _rules(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip() != "none"]


def _placement(text: str) -> str:
    return text if ".py:" in text else text.strip().lower()


def _constraints(o: dict[str, Any]) -> dict[str, Any] | None:
    memory = o["memory"].strip().lower()
    asked = {
        "memory_per_core": None if memory == "none" else number_or_text(memory),
        "memory_per_node": o["memory_per_node"],
        "whole_node": o["whole_nodes"] or None,
        "feature": _feature(o["feature"] or []),
        "power_budget": o["power_budget"],
    }
    return {name: value for name, value in asked.items() if value is not None} or None


def _feature(asked: list[str]) -> str | dict[str, dict[str, str]] | None:
    by_column: dict[str, dict[str, str]] = {}
    for text in asked:
        found = _BY_COLUMN.fullmatch(text)
        if found is None:
            return text.strip()
        by_column.setdefault(found[1].lower(), {})[str(int(found[2]))] = found[3]
    return by_column or None


def _levels(per_rate: list[str] | None) -> list[dict[str, float]] | None:
    if not per_rate:
        return None
    numbers = [map(float, text.split(":")) for text in per_rate]
    return [dict(zip(("rate", "busy", "idle"), each, strict=True)) for each in numbers]


def _control(text: str | None) -> dict[str, Any]:
    """The keys of a control that is known to be written well."""
    if text is None:
        return {}
    kind, _, rest = text.partition(":")
    numbers = [[float(x) for x in part.split(",")] for part in (rest or kind).split(":")]
    if not rest or kind == "constant":
        return {"rate": numbers[0][0]}
    if kind == "random":
        (low, high, *_), (p_low, p_high, *_) = numbers
        return {"kind": kind, "rates": [low, high], "p_low": p_low, "p_high": p_high}
    levels = [each[0] if len(each) == 1 else each for each in numbers[1:]]
    return {"kind": kind, "rates": numbers[0], **dict(zip(_THRESHOLDS[kind], levels, strict=True))}


def save_options(options: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write options of ``sojourn simulate`` as a scenario; see `scenario_of`."""
    save_scenario(scenario_of(options, Path(path).parent), path)


def save_scenario(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario to a file, all of it or nothing; paths lead to the same files from there."""
    target = Path(path)
    try:
        text = scenario.as_toml(target.parent).encode()
    except UnicodeEncodeError:
        raise OptionError(f"{target}: TOML cannot name a file that is no text in UTF-8") from None
    with staged(target.parent) as place:
        place(target.name).write_bytes(text)
