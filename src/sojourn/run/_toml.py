"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

__all__ = ["as_toml", "value_as_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 88


def as_toml(mapping: Mapping[str, Any]) -> str:
    """Return a mapping as a document: its tables as sections, tables within them in one line.

    Reads back as the same values; an empty table leaves nothing.
    """
    plain = {name: value for name, value in mapping.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in mapping.items() if isinstance(value, Mapping)}
    parts = ["\n".join(_pairs(plain))] if plain else []
    parts += ["\n".join([f"[{_key(name)}]", *_pairs(of)]) for name, of in tables.items() if of]
    return "\n\n".join(parts) + "\n" if parts else ""


def value_as_toml(value: Any) -> str:
    """Return one plain value as TOML has it, in one line."""
    return _value(value)


def _pairs(of: Mapping[str, Any]) -> Iterator[str]:
    for name, value in of.items():
        line = f"{_key(name)} = {_value(value)}"
        if len(line) > _WIDTH and isinstance(value, list) and value:
            rows = "".join(f"    {_value(each)},\n" for each in value)
            line = f"{_key(name)} = [\n{rows}]"
        yield line


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(str(name))} = {_value(of)}" for name, of in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(map(_value, value))}]"
