"""A command as a scenario: options of ``sojourn`` as keys, to be run, saved, changed and swept."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, OptionError
from ..files.access import MISSING
from .folder import check_folder, staged
from .inputs import moved
from .keys import Described, PolicyKeys, described, described_by_flag, with_names
from .problems import Source, choices, dotted, field_at
from .toml import Path as KeyPath

if TYPE_CHECKING:
    from .scenario import Scenario


_NO_QUANTITY = re.compile(r"'[^']*'(: '[^']*')? is (not? |too )")


@dataclass(frozen=True)
class CommandLine(Source):
    """A scenario that is written as options of a command; keys go by the names of these.

    Parameters
    ----------
    renamed : options that a command has in place of those of some keys.
    """

    name: str = "command line"
    renamed: Mapping[str, str] = field(default_factory=dict)

    def error(self, key: KeyPath, problem: str) -> OptionError:
        """Return the error for an option."""
        problem = with_names(problem, self.name_of)
        part = self._part(key)
        if part and _NO_QUANTITY.match(problem):  # One of several values of the option.
            text = f"{self._flag(key)} {part}{problem}"
        else:
            text = self._behind(self._flag(key), problem)
        return OptionError(" ".join(text.split()), key=dotted(key))

    def refusal(self, key: KeyPath, value: str, wanted: str, hint: str = "") -> OptionError:
        """Return the error for a value that is not what an option takes."""
        field = field_at(key)
        verb = "choose" if list(choices(field.annotation)) else "give"
        text = f"{self._flag(key)} {self._part(key)}{value}: {verb} {wanted}{hint}"
        return OptionError(" ".join(text.split()), key=dotted(key))

    def name_of(self, key: str) -> str:
        """Return the option of a key."""
        return self._flag(tuple(key.split(".")))

    def located(self, error: InputError, key: KeyPath) -> InputError:
        """Return an error that names the option, where it does not name a file."""
        if not error.key:
            is_missing = str(error).endswith(MISSING) and self._flag(key).startswith("--")
            return (
                OptionError(f"{self._flag(key)}: {error}", path=error.path) if is_missing else error
            )
        # The message may name keys, as it does not know who will read it.
        # "rate control" are words of the field.
        keys = rf"\b(?<!rate )(?:{'|'.join(map(re.escape, described()))})(?![\w.])"
        text = re.sub(keys, lambda match: self.name_of(match[0]), str(error))
        return OptionError(self._behind(self._flag(key), text), key=error.key)

    def _behind(self, flag: str, problem: str) -> str:
        """A problem behind its option, which it may begin with, or with the value of."""
        if problem.startswith(flag):
            return problem
        # Texts such as "warmup 99: ..." begin with the name of what is an option here.
        if re.match(rf"{re.escape(flag.lstrip('-'))}(:| ['\d-])", problem):
            return f"--{problem}"
        return f"{flag}{' ' if problem.startswith(chr(39)) else ': '}{problem}"

    def _part(self, key: KeyPath) -> str:
        """The key inside of an option that has several, such as ``mtbf=``."""
        known = described().get(dotted(key))
        inside = known is not None and not known.first_flag and dotted(key) not in self.renamed
        return f"{key[-1]}=" if inside and self._flag(key[:-1]).startswith("--") else ""

    def _flag(self, key: KeyPath) -> str:
        """The option of a key, or of the table that it is in."""
        names = [".".join(map(str, key[:length])) for length in range(len(key), 0, -1)] or [""]
        if names[0] in self.renamed:
            return self.renamed[names[0]]
        keys = (described()[name] for name in names if name in described())
        return next((known.first_flag for known in keys if known.first_flag), names[0])


TYPED = CommandLine()
"""Where scenarios are from that were typed."""


def keys_of(options: Mapping[str, Any], source: Source = TYPED) -> dict[str, Any]:
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
    values: dict[str, Any] = {}
    for name, key in described_by_flag().items():
        if options.get(name) is None:
            continue
        value = _read(key, options[name], source)
        table = values
        for step in key.path[:-1]:
            table = table.setdefault(step, {})
        table[key.path[-1]] = value
    return values


def _read(key: Described, value: Any, source: Source) -> Any:
    option = key.key.option
    assert option is not None
    if option.read is None:
        return value
    try:
        return option.read(value)
    except (InputError, ValueError) as error:
        raise source.error(key.path, str(error)) from None


def merged(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys with others over them; None takes a key away."""
    new = dict(values)
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(new.get(name, {}), Mapping):
            new[name] = merged(new.get(name, {}), value)
        elif value is None:
            new.pop(name, None)
        else:
            new[name] = value
    return new


def without_defaults(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return keys as they are saved: the policy, and whatever differs from its default."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        key = described()[f"{above}{name}"]
        if key.is_table:
            inner = without_defaults(value, f"{key.name}.")
            kept |= {name: inner} if inner else {}
        elif value != key.default or key.name == "policy.name":
            kept[name] = value
    return kept


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
    from .scenario import Scenario

    values = merged({}, keys_of(options))
    return saved_form(Scenario.from_mapping(values, source=source or TYPED), folder)


def saved_form(scenario: Scenario, folder: str | os.PathLike[str]) -> Scenario:
    """Return a scenario as it is saved in a folder: the policy, and what differs from defaults."""
    there, values = Path(folder), scenario.as_mapping()
    values = merged({"workload": {}, "cluster": {}, "policy": {"name": PolicyKeys().name}}, values)
    keys = moved(without_defaults(values), scenario.folder, there)
    return type(scenario).from_mapping(keys, there, scenario.source)


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
