"""What is wrong with a scenario, in one line: file, line, key, and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import OptionError
from ..workload.schema import did_you_mean
from ._keys import Says
from ._lines import Path
from ._option_names import OPTIONS
from ._sections import ScenarioKeys
from ._toml import value_as_toml
from ._workload_keys import OF_LOGS, OF_MODELS

__all__ = ["Source", "dotted", "model_at", "problem_of", "unknown_key"]

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
        return OptionError(" ".join(f"{where}: {problem}".split()))

    def line(self, key: Path) -> int | None:
        """Return the line of a key, or of the table in which it should be."""
        for length in range(len(key), 0, -1):
            found = (self.lines or {}).get(key[:length])
            if found is not None:
                return found
        return None


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
    return source.error(key, _problem(found[key], key, told))


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


def _problem(error: dict[str, Any], key: Path, told: Any) -> str:
    if error["type"] == "extra_forbidden":
        return unknown_key(key, told=told)
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    for step in key:
        told = told[step]
    if error["type"] == "string_unicode":
        return f"{_short(told)} is no text in UTF-8, as TOML is; choose another name"
    if error["type"] == "missing":
        return f"has no '{error['loc'][-1]}'; give it"
    field = _field_at(key)
    if _is_name(error["loc"]):
        name = str(error["loc"][-2])
        choices = error["type"] == "literal_error"
        kind = error["ctx"]["expected"] if choices else "a whole number in quotation marks"
        near = did_you_mean(name, _choices(field.annotation)) if choices else ""
        return f"'{name}' is not {kind}{near or '; correct it'}"
    wanted = next((each.value for each in field.metadata if isinstance(each, Says)), "allowed")
    if wanted == "a table":
        return f"{_short(told)} is not a table; write [{dotted(key)}] and its keys below"
    # Words such as "1 or more" do not tell how large is too large.
    if error["type"] in _LIMITS and "or more" in wanted:
        word, name = _LIMITS[error["type"]]
        return f"{_short(told)} is too large; give {word} {int(error['ctx'][name])}"
    near = did_you_mean(told, _choices(field.annotation)) if isinstance(told, str) else ""
    return f"{_short(told)} is not {wanted}{near or '; correct it'}"


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


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The table that a key holds, or one of those in its list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def model_at(key: Path) -> type[BaseModel] | None:
    """Return the table at a key; None where there is a value."""
    model: type[BaseModel] | None = ScenarioKeys
    for step in key:
        if isinstance(step, int):
            continue
        if model is None or step not in model.model_fields:
            return None
        model = _model_in(model.model_fields[step].annotation)
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
    if name in everywhere and (section or OPTIONS.get(name, ())[:1] != (name,)):
        meant = everywhere[name]
    elif name in OPTIONS:
        meant = [OPTIONS[name]]
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
    for key in _keys_of(ScenarioKeys, ()):
        found.setdefault(str(key[-1]), []).append(key)
    for name, keys in found.items():
        keys.sort(key=lambda key: _LIKELY.index(key[0]) if key[0] in _LIKELY else len(_LIKELY))
        fitting = [key for key in keys if key[0] != "workload" or name not in others]
        found[name] = fitting or keys
    return found


def _keys_of(model: type[BaseModel], above: Path) -> Iterator[Path]:
    """All keys of a table and of the tables in it."""
    for name, field in model.model_fields.items():
        yield (*above, name)
        inner = _model_in(field.annotation)
        if inner is not None and get_origin(field.annotation) is None:
            yield from _keys_of(inner, (*above, name))
