"""A scenario file as plain values, and the lines on which they stand."""

from __future__ import annotations

import os
import re
from typing import Any

from ..errors import OptionError
from ..files.access import load_toml, read_text
from ._lines import Path, key_lines, statements
from .problems import Source, dotted

__all__ = ["read_toml"]

_WHERE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_TWICE = re.compile(r"Cannot (?:overwrite|declare|mutate|redefine|update)|Duplicate .* key")


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Source]:
    """Return the values in a file, and where each is from.

    Raises
    ------
    OptionError
        When it cannot be read, or is not TOML.
    """
    text = read_text(path)
    try:
        told = load_toml(text)
    except ValueError as error:
        raise _problem(path, text, str(error)) from None
    return told, Source(str(path), key_lines(text))


def _problem(path: str | os.PathLike[str], text: str, told: str) -> OptionError:
    """Put the line where other messages have it, and say which key is given twice."""
    found = _WHERE.search(told)
    line = int(found[1]) if found and found[1] else None
    if _TWICE.match(told):
        before = text.replace("\r\n", "\n").split("\n")[:line]
        if found and found[2]:
            before[-1] = before[-1][: int(found[2]) - 1]
        key, problem = _given_twice("\n".join(before), told)
        return Source(str(path), {key: line} if line else None).error(key, problem)
    where = f"{path}" if line is None else f"{path}, line {line}"
    if "so many digits" in told:
        return OptionError(f"{where}: a number of so many digits; give a smaller one")
    problem = told.replace(found[0], "") if found and line is not None else told
    return OptionError(" ".join(f"{where}: is not TOML: {problem}; correct it".split()))


def _given_twice(text: str, told: str) -> tuple[Path, str]:
    """The key or table at the end of a text, which stands there for the second time."""
    *before, (key, _) = statements(text)
    inside = re.match(r"Duplicate .* key (\S+)", told)
    if inside is not None:
        return key, f"{inside[1]} is given twice; leave one of them out"
    for other, there in before:
        if other == key:
            return key, f"is given twice, on line {there} too; leave one of them out"
    for other, there in before:
        if key[: len(other)] == other or other[: len(key)] == key:
            return key, f"'{dotted(other)}' stands on line {there} already; put the two together"
    return key, "is given twice; leave one of them out"
