"""What is wrong with a scenario, in one line: where, which key, and the nearest valid name."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import InputError, OptionError, did_you_mean
from ._lines import Path
from ._toml import value_as_toml
from .keys import (
    OF_LOGS,
    OF_MODELS,
    Key,
    ScenarioKeys,
    described,
    described_by_flag,
    model_in,
    with_names,
)

__all__ = ["CommandLine", "Source", "dotted", "model_at", "problem_of", "unknown_key"]

_LONGEST = 60
_LIKELY = ("cluster", "policy", "workload")
"""Sections in which a key is looked for before the others."""
_LIMITS = {"less_than": ("less than", "lt"), "less_than_equal": ("at most", "le")}


@dataclass(frozen=True)
class Source:
    """Where a scenario is from, for messages.

    Parameters
    ----------
    name : its file, or what it is called.
    lines : line of each key, where there is a file.
    """

    name: str = "scenario"
    lines: Mapping[Path, int] | None = None

    def error(self, key: Path, problem: str) -> OptionError:
        """Return the error for a key; its line, or that of the table where it is missing."""
        line = self.line(key)
        where = self.name if line is None else f"{self.name}, line {line}"
        if key:
            where += f", key '{dotted(key)}'"
        problem = with_names(problem, self.name_of)
        return OptionError(" ".join(f"{where}: {problem}".split()), key=dotted(key))

    def refusal(self, key: Path, value: str, wanted: str, hint: str = "") -> OptionError:
        """Return the error for a value that is not what a key holds."""
        return self.error(key, f"{value} is not {wanted}{hint or '; correct it'}")

    def name_of(self, key: str) -> str:
        """Return what whoever wrote the scenario calls a key."""
        return key

    def changed(self) -> Source:
        """Return where a scenario is from whose values are no longer those of its lines."""
        return replace(self, lines=None)

    @contextlib.contextmanager
    def locating(self, files: Sequence[tuple[str, Path]], key: Path = ()) -> Iterator[None]:
        """Say in errors of the input which key they are about.

        Parameters
        ----------
        files : with the keys that name them.
        key : to blame where an error does not tell.
        """
        try:
            yield
        except InputError as error:
            told = tuple(error.key.split(".")) if error.key else _file_key(error, files, key)
            raise self.located(error, told or key) from None

    def located(self, error: InputError, key: Path) -> InputError:
        """Return an error that says which key it is about."""
        return self.error(key, str(error))

    def line(self, key: Path) -> int | None:
        """Return the line of a key, or of the table in which it should be."""
        for length in range(len(key), 0, -1):
            found = (self.lines or {}).get(key[:length])
            if found is not None:
                return found
        return None


def _file_key(error: InputError, files: Sequence[tuple[str, Path]], likely: Path) -> Path:
    """The key that names the file which an error is about; one file may be named by several."""
    path = os.path.normpath(error.path) if error.path else None
    named = [key for file, key in files if os.path.normpath(file) == path]
    return likely if likely in named else next(iter(named), ())


@dataclass(frozen=True)
class CommandLine(Source):
    """A scenario that is written as options of a command; keys go by the names of these.

    Parameters
    ----------
    renamed : options that a command has in place of those of some keys.
    """

    name: str = "command line"
    renamed: Mapping[str, str] = field(default_factory=dict)

    def error(self, key: Path, problem: str) -> OptionError:
        """Return the error for an option."""
        told = self._behind(self._flag(key), with_names(problem, self.name_of))
        return OptionError(" ".join(told.split()), key=dotted(key))

    def refusal(self, key: Path, value: str, wanted: str, hint: str = "") -> OptionError:
        """Return the error for a value that is not what an option takes."""
        field = _field_at(key)
        verb = "choose" if list(_choices(field.annotation)) else "give"
        told = f"{self._flag(key)} {value}: {verb} {wanted}{hint}"
        return OptionError(" ".join(told.split()), key=dotted(key))

    def name_of(self, key: str) -> str:
        """Return the option of a key."""
        return self._flag(tuple(key.split(".")))

    def located(self, error: InputError, key: Path) -> InputError:
        """Return an error that names the option, where it does not name a file."""
        if not error.key:
            return error
        # The message may name keys, as it does not know who will read it.
        keys = rf"\b(?:{'|'.join(map(re.escape, described()))})(?![\w.])"
        told = re.sub(keys, lambda found: self.name_of(found[0]), str(error))
        return OptionError(self._behind(self._flag(key), told), key=error.key)

    def _behind(self, flag: str, problem: str) -> str:
        """A problem behind its option, which it may begin with, or with the value of."""
        if problem.startswith(flag):
            return problem
        # Texts such as "warmup 99: ..." begin with the name of what is an option here.
        if re.match(rf"{re.escape(flag.lstrip('-'))}(:| ['\d-])", problem):
            return f"--{problem}"
        return f"{flag}{' ' if problem.startswith(chr(39)) else ': '}{problem}"

    def _flag(self, key: Path) -> str:
        """The option of a key, or of the table that it is in."""
        if dotted(key) in self.renamed:
            return self.renamed[dotted(key)]
        found = (described().get(dotted(key[:length])) for length in range(len(key), 0, -1))
        flags = (each.first_flag for each in found if each is not None and each.first_flag)
        return next(flags, dotted(key))


def dotted(key: Path) -> str:
    """Return a key as it is typed."""
    return ".".join(map(str, key))


def problem_of(error: ValidationError, told: Mapping[str, Any], source: Source) -> OptionError:
    """Return the first problem in the order of the file."""
    found: dict[Path, dict[str, Any]] = {}
    for each in error.errors(include_url=False):
        key = _told_part(each["loc"], told)
        # Of the alternatives of one key, the one that a parser had words for.
        if key not in found or each["type"] == "value_error" or _is_name(each["loc"]):
            found[key] = dict(each)
    key = min(found, key=lambda key: source.line(key) or 0)
    return _problem(found[key], key, told, source)


def _told_part(where: Sequence[str | int], told: Any) -> Path:
    """The part of a place that is in the file; behind it come names of types."""
    key: Path = ()
    for step in where:
        inside = isinstance(told, Mapping) and step in told
        if not inside and not (isinstance(told, list) and step in range(len(told))):
            break
        key, told = (*key, step), told[step]
    return key


def _is_name(where: Sequence[str | int]) -> bool:
    """Whether a place is the name of a key that people choose, not its value."""
    return where[-1:] == ("[key]",)


def _problem(error: dict[str, Any], key: Path, told: Any, source: Source) -> OptionError:
    if error["type"] == "extra_forbidden":
        return source.error(key, unknown_key(key, told=told))
    if error["type"] == "value_error":
        return source.error(key, str(error["ctx"]["error"]))
    for step in key:
        told = told[step]
    if error["type"] == "string_unicode":
        return source.error(
            key, f"{_short(told)} is no text in UTF-8, as TOML is; choose another name"
        )
    if error["type"] == "missing":
        return source.error(key, f"has no '{error['loc'][-1]}'; give it")
    field = _field_at(key)
    if _is_name(error["loc"]):
        name = str(error["loc"][-2])
        choices = error["type"] == "literal_error"
        kind = error["ctx"]["expected"] if choices else "a whole number in quotation marks"
        near = did_you_mean(name, _choices(field.annotation)) if choices else ""
        return source.refusal(key, f"'{name}'", kind, near)
    wanted = next((each.value for each in field.metadata if isinstance(each, Key)), "allowed")
    if wanted == "a table":
        return source.refusal(
            key, _short(told), f"a table; write [{dotted(key)}] and its keys below", " "
        )
    # Words such as "1 or more" do not tell how large is too large.
    if error["type"] in _LIMITS and "or more" in wanted and told == told:  # nan is not too large
        word, name = _LIMITS[error["type"]]
        limit = int(error["ctx"][name])
        return source.error(key, f"{_short(told)} is too large; give {word} {limit}")
    near = did_you_mean(told, _choices(field.annotation)) if isinstance(told, str) else ""
    return source.refusal(key, _short(told), wanted, near)


def _short(value: Any) -> str:
    try:
        # Texts as all messages quote them, other values as they are written in the file.
        text = repr(value) if isinstance(value, str) else value_as_toml(value)
    except ValueError:
        return "a number of so many digits"
    except TypeError:  # TOML has no such values, but a mapping may.
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _choices(annotation: Any) -> Iterator[str]:
    """Words of a choice."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    for part in get_args(annotation):
        yield from _choices(part)


def model_at(key: Path) -> type[BaseModel] | None:
    """Return the table at a key; None where there is a value."""
    model: type[BaseModel] | None = ScenarioKeys
    for step in key:
        if isinstance(step, int):
            continue
        if model is None or step not in model.model_fields:
            return None
        model = model_in(model.model_fields[step].annotation)
    return model


def _field_at(key: Path) -> FieldInfo:
    """The deepest field on the way to a key."""
    for length in range(len(key), 0, -1):
        model = model_at(key[: length - 1])
        if model is not None and key[length - 1] in model.model_fields:
            return model.model_fields[str(key[length - 1])]
    raise KeyError(key)


def unknown_key(key: Path, below: Path = (), told: Mapping[str, Any] | None = None) -> str:
    """Say what was meant by a key that is not known.

    Parameters
    ----------
    key : as it was given.
    below : what was wanted of it.
    told : the values of all keys, if they are at hand.
    """
    *above, last = key
    name = str(last).lower().replace("-", "_")
    model = model_at(tuple(above)) or ScenarioKeys
    everywhere = _by_name(told or {})
    near = difflib.get_close_matches(name, model.model_fields, n=1)
    far = difflib.get_close_matches(name, everywhere, n=1, cutoff=0.75)
    # An option may be called as a section is: workload.policy = "easy".
    section = name in ScenarioKeys.model_fields and (below or _is_table(key, told))
    option = described_by_flag().get(name)
    if name in everywhere and (section or option is None or option.path[0] != name):
        meant = everywhere[name]
    elif option is not None:
        meant = [option.path]
    elif near:
        meant = [(*above, near[0])]
    elif far:
        meant = everywhere[far[0]]
    else:
        return f"is not known; choose from {', '.join(model.model_fields)}"
    if below:
        inner = [getattr(model_at(each), "model_fields", ()) for each in meant]
        meant = [
            (*each, *below) if below[0] in has else each
            for each, has in zip(meant, inner, strict=True)
        ]
    return f"is not known; did you mean {' or '.join(repr(dotted(each)) for each in meant)}?"


def _is_table(key: Path, told: Any) -> bool:
    """Whether a key, known or not, holds a table."""
    for step in key:
        if not isinstance(told, Mapping):
            return False
        told = told.get(step)
    return isinstance(told, Mapping)


def _by_name(told: Mapping[str, Any]) -> dict[str, list[Path]]:
    """All keys by their last name, the most likely first, without those of other workloads."""
    workload = told.get("workload")
    given = workload if isinstance(workload, Mapping) else {}
    others: set[str] = set()
    if "log" in given:
        others = {name for names in OF_MODELS.values() for name in names}
    elif "model" in given:
        others = set(OF_LOGS)
    found: dict[str, list[Path]] = {}
    for each in described().values():
        found.setdefault(each.path[-1], []).append(each.path)
    for name, keys in found.items():
        keys.sort(key=lambda key: _LIKELY.index(key[0]) if key[0] in _LIKELY else len(_LIKELY))
        fitting = [key for key in keys if key[0] != "workload" or name not in others]
        found[name] = fitting or keys
    return found
