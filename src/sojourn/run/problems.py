"""A scenario file as plain values, and what is wrong with it: where, which key, and the nearest."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import InputError, OptionError, did_you_mean
from ..files.access import load_toml, read_text
from .inputs import key_of
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
from .toml import Path, key_lines, statements, value_as_toml

_LONGEST = 60
_WHERE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_TWICE = re.compile(r"Cannot (?:overwrite|declare|mutate|redefine|update)|Duplicate .* key")
_LIKELY = ("cluster", "policy", "workload")
"""Sections in which a key is looked for before the others."""
_LIMITS = {"less_than": ("less than", "lt"), "less_than_equal": ("at most", "le")}


@dataclass(frozen=True)
class Source:
    """Where a scenario is from, for messages.

    Parameters
    ----------
    name : its file, or what it is called.
    text : of its file, which says where each key stands.
    lines : of some keys, where there is no such text.
    """

    name: str = "scenario"
    text: str = ""
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
        return replace(self, text="", lines=None)

    @contextlib.contextmanager
    def locating(self, files: Mapping[str, str], key: Path = ()) -> Iterator[None]:
        """Say in errors of the input which key they are about.

        Parameters
        ----------
        files : by what they are, which tells the keys that name them.
        key : to blame where an error does not tell.
        """
        try:
            yield
        except InputError as error:
            about = tuple(error.key.split(".")) if error.key else _file_key(error, files, key)
            raise self.located(error, about or key) from None

    def located(self, error: InputError, key: Path) -> InputError:
        """Return an error that says which key it is about."""
        return self.error(key, str(error))

    def line(self, key: Path) -> int | None:
        """Return the line of a key, or of the table in which it should be."""
        above = (key[:length] for length in range(len(key), 0, -1))
        return next((self._known[part] for part in above if part in self._known), None)

    @cached_property
    def _known(self) -> Mapping[Path, int]:
        """Lines of keys, looked up when the first of them is asked for."""
        return self.lines or key_lines(self.text)


def _file_key(error: InputError, files: Mapping[str, str], likely: Path) -> Path:
    """The key that names the file which an error is about; one file may be named by several."""
    path = os.path.normpath(error.path) if error.path else None
    named = [key_of(name) for name, file in files.items() if os.path.normpath(file) == path]
    return likely if likely in named else next(iter(named), ())


def dotted(key: Path) -> str:
    """Return a key as it is typed."""
    return ".".join(map(str, key))


def problem_of(error: ValidationError, values: Mapping[str, Any], source: Source) -> OptionError:
    """Return the first problem in the order of the file."""
    problems: dict[Path, dict[str, Any]] = {}
    for problem in error.errors(include_url=False):
        key = _written_part(problem["loc"], values)
        # Of the alternatives of one key, the one that a parser had words for.
        if key not in problems or problem["type"] == "value_error" or _is_name(problem["loc"]):
            problems[key] = dict(problem)
    key = min(problems, key=lambda key: source.line(key) or 0)
    return _problem(problems[key], key, values, source)


def _written_part(where: Sequence[str | int], values: Any) -> Path:
    """The part of a place that is in the file; behind it come names of types."""
    key: Path = ()
    for step in where:
        inside = isinstance(values, Mapping) and step in values
        if not inside and not (isinstance(values, list) and step in range(len(values))):
            break
        key, values = (*key, step), values[step]
    return key


def _is_name(where: Sequence[str | int]) -> bool:
    """Whether a place is the name of a key that people choose, not its value."""
    return where[-1:] == ("[key]",)


def _problem(error: dict[str, Any], key: Path, value: Any, source: Source) -> OptionError:
    if error["type"] == "extra_forbidden":
        return source.error(key, unknown_key(key, values=value))
    for step in key:
        value = value[step]
    if error["type"] == "value_error" and not _is_word(value, key):
        return source.error(key, str(error["ctx"]["error"]))
    if error["type"] == "string_unicode":
        return source.error(
            key, f"{_short(value)} is no text in UTF-8, as TOML is; choose another name"
        )
    if error["type"] == "missing":
        return source.error(key, f"has no '{error['loc'][-1]}'; give it")
    field = field_at(key)
    if _is_name(error["loc"]):
        name = str(error["loc"][-2])
        of_few = error["type"] == "literal_error"
        kind = error["ctx"]["expected"] if of_few else "a whole number in quotation marks"
        near = did_you_mean(name, choices(field.annotation)) if of_few else ""
        return source.refusal(key, f"'{name}'", kind, near)
    wanted = next((item.value for item in field.metadata if isinstance(item, Key)), "allowed")
    if wanted == "a table":
        return source.refusal(
            key, _short(value), f"a table; write [{dotted(key)}] and its keys below", " "
        )
    # Words such as "1 or more" do not tell how large is too large.
    if error["type"] in _LIMITS and "or more" in wanted and value == value:  # nan is not too large
        word, name = _LIMITS[error["type"]]
        limit = int(error["ctx"][name])
        return source.error(key, f"{_short(value)} is too large; give {word} {limit}")
    near = did_you_mean(value, choices(field.annotation)) if isinstance(value, str) else ""
    return source.refusal(key, _short(value), wanted, near)


def _is_word(value: Any, key: Path) -> bool:
    """Whether a value without a number is given to a key that takes words besides numbers."""
    return (
        isinstance(value, str)
        and not any(letter.isdigit() for letter in value)
        and any(True for _ in choices(field_at(key).annotation))
    )


def _short(value: Any) -> str:
    try:
        # Texts as all messages quote them, other values as they are written in the file.
        text = repr(value) if isinstance(value, str) else value_as_toml(value)
    except ValueError:
        return "a number of so many digits"
    except TypeError:  # TOML has no such values, but a mapping may.
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def choices(annotation: Any) -> Iterator[str]:
    """Words of a choice."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    for part in get_args(annotation):
        yield from choices(part)


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


def field_at(key: Path) -> FieldInfo:
    """The deepest field on the way to a key."""
    for length in range(len(key), 0, -1):
        model = model_at(key[: length - 1])
        if model is not None and key[length - 1] in model.model_fields:
            return model.model_fields[str(key[length - 1])]
    raise KeyError(key)


def unknown_key(key: Path, below: Path = (), values: Mapping[str, Any] | None = None) -> str:
    """Say what was meant by a key that is not known.

    Parameters
    ----------
    key : as it was given.
    below : what was wanted of it.
    values : the values of all keys, if they are at hand.
    """
    *above, last = key
    name = str(last).lower().replace("-", "_")
    model = model_at(tuple(above)) or ScenarioKeys
    everywhere = _by_name(values or {})
    near = _near(name, model.model_fields, cutoff=0.6)
    far = _near(name, everywhere, cutoff=0.75)
    # An option may be called as a section is: workload.policy = "easy".
    section = name in ScenarioKeys.model_fields and (below or _is_table(key, values))
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
        inner = [getattr(model_at(path), "model_fields", ()) for path in meant]
        meant = [
            (*path, *below) if below[0] in has else path
            for path, has in zip(meant, inner, strict=True)
        ]
    return f"is not known; did you mean {' or '.join(repr(dotted(path)) for path in meant)}?"


def _near(name: str, known: Collection[str], cutoff: float) -> list[str]:
    """The nearest name, if it is near: people seldom err in the first letter."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    alike = [other for other in known if other[:1] == name[:1]]
    return close or difflib.get_close_matches(name, alike, n=1, cutoff=cutoff)


def _is_table(key: Path, values: Any) -> bool:
    """Whether a key, known or not, holds a table."""
    for step in key:
        if not isinstance(values, Mapping):
            return False
        values = values.get(step)
    return isinstance(values, Mapping)


def _by_name(values: Mapping[str, Any]) -> dict[str, list[Path]]:
    """All keys by their last name, the most likely first, without those of other workloads."""
    workload = values.get("workload")
    given = workload if isinstance(workload, Mapping) else {}
    others: set[str] = set()
    if "log" in given:
        others = {name for names in OF_MODELS.values() for name in names}
    elif "model" in given:
        others = set(OF_LOGS)
    paths: dict[str, list[Path]] = {}
    for known in described().values():
        paths.setdefault(known.path[-1], []).append(known.path)
    for name, keys in paths.items():
        keys.sort(key=lambda key: _LIKELY.index(key[0]) if key[0] in _LIKELY else len(_LIKELY))
        fitting = [key for key in keys if key[0] != "workload" or name not in others]
        paths[name] = fitting or keys
    return paths


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Source]:
    """Return the values in a file, and where each is from.

    Raises
    ------
    OptionError
        When it cannot be read, or is not TOML.
    """
    text = read_text(path)
    try:
        values = load_toml(text)
    except ValueError as error:
        raise _toml_problem(path, text, str(error)) from None
    return values, Source(str(path), text)


def _toml_problem(path: str | os.PathLike[str], text: str, message: str) -> OptionError:
    """Put the line where other messages have it, and say which key is given twice."""
    match = _WHERE.search(message)
    line = int(match[1]) if match and match[1] else None
    if _TWICE.match(message):
        before = text.replace("\r\n", "\n").split("\n")[:line]
        if match and match[2]:
            before[-1] = before[-1][: int(match[2]) - 1]
        key, problem = _given_twice("\n".join(before), message)
        return Source(str(path), lines={key: line} if line else None).error(key, problem)
    where = f"{path}" if line is None else f"{path}, line {line}"
    if "so many digits" in message:
        return OptionError(f"{where}: a number of so many digits; give a smaller one")
    problem = message.replace(match[0], "") if match and line is not None else message
    return OptionError(" ".join(f"{where}: is not TOML: {problem}; correct it".split()))


def _given_twice(text: str, message: str) -> tuple[Path, str]:
    """The key or table at the end of a text, which stands there for the second time."""
    *before, (key, _) = statements(text)
    inside = re.match(r"Duplicate .* key (\S+)", message)
    if inside is not None:
        return key, f"{inside[1]} is given twice; leave one of them out"
    for other, there in before:
        if other == key:
            return key, f"is given twice, on line {there} too; leave one of them out"
    for other, there in before:
        if key[: len(other)] == other or other[: len(key)] == key:
            return key, f"'{dotted(other)}' stands on line {there} already; put the two together"
    return key, "is given twice; leave one of them out"
