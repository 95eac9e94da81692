"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tomli_w

__all__ = ["as_toml", "value_as_toml"]

_WIDTH = 88
_LIST = re.compile(r"^\S.* = \[\n(?: .*\n)+\]$", re.MULTILINE)


def as_toml(mapping: Mapping[str, Any]) -> str:
    """Return a mapping as a document, its tables as sections; an empty table leaves nothing."""
    text = tomli_w.dumps({name: value for name, value in mapping.items() if value != {}})
    # The library gives each value of a list a line of its own, also where one would do.
    return _LIST.sub(lambda found: _shorter(found[0]), text)


def value_as_toml(value: Any) -> str:
    """Return one plain value as TOML has it, in one line."""
    # Inside of a list of lists nothing becomes a section.
    text = _in_one_line(tomli_w.dumps({"": [[value]]}).strip())
    return text.removeprefix('"" = [[').removesuffix("]]")


def _shorter(text: str) -> str:
    line = _in_one_line(text)
    return line if len(line) <= _WIDTH else text


def _in_one_line(text: str) -> str:
    """Join the lines of a list; no text has a line break of its own."""
    for pattern, instead in ((r",\n *\]", "]"), (r"\[\n *", "["), (r"\n *", " ")):
        text = re.sub(pattern, instead, text)
    return text
