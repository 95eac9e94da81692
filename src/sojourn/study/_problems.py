"""What is wrong with a scenario, in one line: file, line, key, and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import OptionError
from ..workload.jobs import did_you_mean
from ._keys import Says
from ._lines import Path
from ._sections import ScenarioKeys

__all__ = ["Source", "dotted", "model_at", "problem_of", "unknown_key"]

_LONGEST = 60


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
    found: dict[Path, str] = {}
    for each in error.errors(include_url=False):
        key = _told_part(each["loc"], told)
        # Of the alternatives of one key, the one that a parser had words for.
        if key not in found or each["type"] == "value_error":
            found[key] = _problem(dict(each), key, told)
    key = min(found, key=lambda key: source.line(key) or 0)
    return source.error(key, found[key])


def _told_part(where: Sequence[str | int], told: Any) -> Path:
    """The part of a place that is in the file; behind it come names of types."""
    key: Path = ()
    for step in where:
        inside = isinstance(told, Mapping) and step in told
        if not inside and not (isinstance(told, list) and step in range(len(told))):
            break
        key, told = (*key, step), told[step]
    return key


def _problem(error: dict[str, Any], key: Path, told: Any) -> str:
    if error["type"] == "extra_forbidden":
        return unknown_key(key)
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    for step in key:
        told = told[step]
    if error["type"] == "missing":
        return f"has no '{error['loc'][-1]}'; give it"
    field = _field_at(key)
    wanted = next((each.value for each in field.metadata if isinstance(each, Says)), "allowed")
    if wanted == "a table":
        return f"{_short(told)} is not a table; write [{dotted(key)}] and its keys below"
    near = did_you_mean(told, _choices(field.annotation)) if isinstance(told, str) else ""
    return f"{_short(told)} is not {wanted}{near or '; correct it'}"


def _short(value: Any) -> str:
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


def unknown_key(key: Path, below: Path = ()) -> str:
    """Say what was meant by a key that is not known; `below` it is what was wanted of it."""
    *above, last = key
    name = str(last)
    model = model_at(tuple(above)) or ScenarioKeys
    everywhere = {str(each[-1]): each for each in reversed(list(_keys_of(ScenarioKeys, ())))}
    near = difflib.get_close_matches(name.lower(), model.model_fields, n=1)
    far = difflib.get_close_matches(name.lower(), everywhere, n=1, cutoff=0.75)
    if name in everywhere:
        meant = everywhere[name]
    elif near:
        meant = (*above, near[0])
    elif far:
        meant = everywhere[far[0]]
    else:
        return f"is not known; choose from {', '.join(model.model_fields)}"
    if below and below[0] in getattr(model_at(meant), "model_fields", ()):
        meant = (*meant, *below)
    return f"is not known; did you mean '{dotted(meant)}'?"


def _keys_of(model: type[BaseModel], above: Path) -> Iterator[Path]:
    """All keys of a table and of the tables in it."""
    for name, field in model.model_fields.items():
        yield (*above, name)
        inner = _model_in(field.annotation)
        if inner is not None and get_origin(field.annotation) is None:
            yield from _keys_of(inner, (*above, name))
