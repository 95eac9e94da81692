"""A command as a scenario: what was typed once, to be run, changed and swept later."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..classes import CLASSES
from ..errors import OptionError
from ..output import check_folder, staged
from ..workload.classes import listed_classes
from . import inputs
from ._keys import number_or_text
from ._option_names import OPTIONS
from ._problems import Source, model_at
from ._sections import ControlKeys, ScenarioKeys
from .scenario import Scenario

__all__ = ["check_saving", "save_options", "save_scenario", "scenario_of"]

_BY_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,18})\s*=\s*(\S+)\s*")
_THRESHOLDS = {"count": ("low", "high"), "workload": ("low", "high"), "threshold": ("k",)}


def scenario_of(
    options: Mapping[str, Any],
    folder: str | os.PathLike[str],
    source: Source | None = None,
) -> Scenario:
    """Return the scenario that does what ``sojourn simulate`` does with its options.

    Parameters
    ----------
    options : every option by name, as the command line has them.
    folder : where the scenario will be saved; paths become relative to it, unless they are
        absolute.
    source : what the scenario is called in messages.
    """
    told: dict[str, Any] = {section: {} for section in ScenarioKeys.model_fields}
    told["control"] = _control(options["rate"])
    if told["control"] == {"rate": ControlKeys().rate}:
        told["control"] = {}
    for option, (section, *inner, name) in OPTIONS.items():
        value = options[option]
        if value is not None and option in _READERS:
            value = _READERS[option](value)
        field = _model(section, *inner).model_fields[name]
        # The policy is always told, other keys where they are not left at their defaults.
        if value is None or (value == field.default and option != "policy"):
            continue
        table = told[section]
        for step in inner:
            table = table.setdefault(step, {})
        table[name] = value
    there = Path(folder)
    kept = {section: table for section, table in told.items() if table}
    return Scenario.from_mapping(inputs.moved(kept, Path(), there), there, source)


def _model(*key: str) -> type[BaseModel]:
    found = model_at(key)
    assert found is not None
    return found


def _columns(text: str) -> dict[str, str] | list[str]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        return [part.strip() for part in text.split(",")]
    return {ours.strip(): theirs.strip() for ours, _, theirs in parts}


def _rules(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip() != "none"]


def _classes(text: str) -> list[str]:
    return listed_classes(text, CLASSES)


def _placement(text: str) -> str:
    return text if ".py:" in text else text.strip().lower()


def _memory(text: str) -> float | str | None:
    word = text.strip().lower()
    return None if word == "none" else number_or_text(word)


def _budget(watts: float) -> float | None:
    """An infinite budget asks for nothing."""
    return watts if math.isfinite(watts) else None


def _feature(asked: list[str]) -> str | dict[str, dict[str, str]] | None:
    by_column: dict[str, dict[str, str]] = {}
    for text in asked:
        found = _BY_COLUMN.fullmatch(text)
        if found is None:
            return text.strip()
        by_column.setdefault(found[1].lower(), {})[str(int(found[2]))] = found[3]
    return by_column or None


def _levels(per_rate: list[str]) -> list[dict[str, float]] | None:
    numbers = [map(float, text.split(":")) for text in per_rate]
    return [dict(zip(("rate", "busy", "idle"), each, strict=True)) for each in numbers] or None


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


# How the command line writes what a key holds, where the two differ.
_READERS: dict[str, Callable[[Any], Any]] = {
    "log": os.fspath,
    "columns": _columns,
    "rules": _rules,
    "events": os.fspath,
    "policy": str.strip,
    "placement": _placement,
    "estimates": number_or_text,
    "memory": _memory,
    "feature": _feature,
    "power_budget": _budget,
    "watts": _levels,
    "price": number_or_text,
    "carbon": number_or_text,
    "by": _classes,
}


def save_options(options: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write options of ``sojourn simulate`` as a scenario; see `scenario_of`."""
    save_scenario(scenario_of(options, Path(path).parent), path)


def save_scenario(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario to a file, all of it or nothing; paths lead to the same files from there.

    Raises
    ------
    OptionError
        As `check_saving` does.
    """
    text = check_saving(scenario, path)
    target = Path(path)
    with staged(target.parent) as place:
        place(target.name).write_bytes(text)


def check_saving(scenario: Scenario, path: str | os.PathLike[str]) -> bytes:
    """Return what will be written of a scenario.

    Raises
    ------
    OptionError
        If it could not be written there: to a folder that cannot be written to, in place of a
        folder, or of a file that the scenario names.
    """
    target = Path(path)
    check_folder(target.parent)
    if target.is_dir():
        raise OptionError(f"{target}: is a folder; name a file")
    for name, file in scenario.files.items():
        if _is_same(target, file):
            raise OptionError(f"{target}: the run reads it ({name}); name another file")
    try:
        return scenario.as_toml(target.parent).encode()
    except UnicodeEncodeError:
        raise OptionError(f"{target}: TOML cannot name a file that is no text in UTF-8") from None


def _is_same(one: str | os.PathLike[str], two: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):  # One of them is not there.
        return False
