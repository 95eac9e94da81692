"""A command as a scenario: options of ``sojourn`` as the keys that say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from .keys import SAME, Described, described, described_by_flag
from .problems import CommandLine, Source

__all__ = ["TYPED", "default_of", "merged", "told_of", "without_defaults"]

TYPED = CommandLine()
"""Where scenarios are from that were typed."""


def default_of(each: Described) -> Any:
    """Return what an option is where it is not given, as it would be typed."""
    option = each.key.option
    assert option is not None
    return each.default if option.default is SAME else option.default


def told_of(options: Mapping[str, Any], source: Source = TYPED) -> dict[str, Any]:
    """Return the keys that options say, as a scenario file has them.

    Parameters
    ----------
    options : by name, as they were typed; what is None says nothing.
    source : for messages.

    Raises
    ------
    OptionError
        For what cannot be read as what its option takes.
    """
    told: dict[str, Any] = {}
    for name, each in described_by_flag().items():
        if options.get(name) is None:
            continue
        value = _read(each, options[name], source)
        table = told
        for step in each.path[:-1]:
            table = table.setdefault(step, {})
        table[each.path[-1]] = value
    return told


def _read(each: Described, value: Any, source: Source) -> Any:
    option = each.key.option
    assert option is not None
    if option.read is None:
        return value
    try:
        return option.read(value)
    except (InputError, ValueError) as error:
        raise source.error(each.path, str(error)) from None


def merged(told: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys with others over them; None takes a key away."""
    new = dict(told)
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(new.get(name, {}), Mapping):
            new[name] = merged(new.get(name, {}), value)
        elif value is None:
            new.pop(name, None)
        else:
            new[name] = value
    return new


def without_defaults(told: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return keys as they are saved: the policy, and whatever differs from its default."""
    kept: dict[str, Any] = {}
    for name, value in told.items():
        each = described()[f"{above}{name}"]
        if each.is_table:
            inner = without_defaults(value, f"{each.name}.")
            kept |= {name: inner} if inner else {}
        elif value != each.default or each.name == "policy.name":
            kept[name] = value
    return kept
