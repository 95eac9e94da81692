"""Another value for one key of a scenario, as people and sweeps give it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from ..files.access import load_toml
from .keys import adapter
from .problems import Source, model_at, unknown_key
from .toml import Path

_ELEMENT = re.compile(r"\[(\d+)\]")


def with_setting(values: dict[str, Any], key: str, value: Any, source: Source) -> dict[str, Any]:
    """Return the keys of a scenario with another value of one of them.

    Parameters
    ----------
    values : the keys that are set; not changed.
    key : dotted; an element of a list by its number from 0 on, as ``rates.1`` or ``rates[1]``.
    value : a plain value, a NumPy scalar, or a text as it is typed.
    source : for messages.

    Raises
    ------
    OptionError
        For a key that is not known, or an element of a list that is not there.
    """
    steps = _ELEMENT.sub(r".\1", key).split(".")
    path: Path = tuple(int(step) if step.isdecimal() else step for step in steps)
    value = value.item() if hasattr(value, "item") else value
    return {**values, **_put(values, path, _reading(values, path, value, source), source)}


def _reading(values: dict[str, Any], path: Path, value: Any, source: Source) -> Any:
    """What a value stands for: the first of its readings that the key can hold, or itself."""
    owner = _owner(path, source)
    if owner is None:
        return value
    model, depth = owner
    check = adapter(model, str(path[depth]))
    for reading in _readings(value):
        held: Any = _put(values, path, reading, source)
        for step in path[: depth + 1]:
            held = held[step]
        if _holds(check, held):
            return reading
    return value


def _owner(path: Path, source: Source) -> tuple[type[BaseModel], int] | None:
    """The table that has the key, and the place of its name; None for a whole table."""
    for depth, step in enumerate(path):
        model = model_at(path[:depth])
        if model is None:
            return _owner(path[:depth], source)
        if isinstance(step, str) and step not in model.model_fields:
            raise source.error(path, unknown_key(path[: depth + 1], path[depth + 1 :]))
    last = max((depth for depth, step in enumerate(path) if isinstance(step, str)), default=0)
    above = model_at(path[:last])
    return (above, last) if above is not None and model_at(path) is None else None


def _put(values: Any, path: Path, value: Any, source: Source, at: int = 0) -> Any:
    """Return the keys with a value in its place; what is on the way there is copied."""
    if at == len(path):
        return value
    step = path[at]
    if isinstance(values, list):
        if step not in range(len(values)):
            raise source.error(path, f"the list has {len(values)} elements, from 0 on")
        return [
            _put(item, path, value, source, at + 1) if place == step else item
            for place, item in enumerate(values)
        ]
    if isinstance(step, int) and not isinstance(values, dict):
        raise source.error(path, "there is no list; set it first")
    table = values if isinstance(values, dict) else {}
    name = str(step)
    return {**table, name: _put(table.get(name), path, value, source, at + 1)}


def _readings(value: Any) -> Iterator[Any]:
    """What a value may stand for: as it is, a number typed as text, a whole number, a text."""
    yield value
    if isinstance(value, str):
        try:
            read = load_toml(f"k = {value}")["k"]
        except ValueError:
            return
        yield read
        value = read
    if isinstance(value, float) and value.is_integer():
        value = int(value)
        yield value
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(ValueError):  # So many digits are no text.
            yield str(value)


def _holds(check: TypeAdapter[Any], value: Any) -> bool:
    try:
        check.validate_python(value)
    except ValidationError:
        return False
    return True
