"""A command as a scenario: what was typed once, to be run, changed and swept later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OptionError
from . import inputs
from .command import TYPED, merged, told_of, without_defaults
from .folder import check_folder, staged
from .keys import PolicyKeys
from .problems import Source
from .scenario import Scenario

__all__ = ["check_saving", "save_options", "save_scenario", "saved_form", "scenario_of"]


def scenario_of(
    options: Mapping[str, Any],
    folder: str | os.PathLike[str],
    source: Source | None = None,
) -> Scenario:
    """Return the scenario that does what ``sojourn simulate`` does with its options.

    Parameters
    ----------
    options : by name, as the command line has them.
    folder : where the scenario will be saved; paths become relative to it, unless they are
        absolute.
    source : what the scenario is called in messages.
    """
    told = merged({}, told_of(options))
    return saved_form(Scenario.from_mapping(told, source=source or TYPED), folder)


def saved_form(scenario: Scenario, folder: str | os.PathLike[str]) -> Scenario:
    """Return a scenario as it is saved in a folder: the policy, and what differs from defaults."""
    there, told = Path(folder), scenario.as_mapping()
    told = merged({"workload": {}, "cluster": {}, "policy": {"name": PolicyKeys().name}}, told)
    moved = inputs.moved(without_defaults(told), scenario.folder, there)
    return Scenario.from_mapping(moved, there, scenario.source)


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
