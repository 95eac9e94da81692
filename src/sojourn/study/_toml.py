"""Plain values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tomli_w

__all__ = ["as_toml", "value_as_toml"]


def as_toml(mapping: Mapping[str, Any]) -> str:
    """Return a mapping as a document, its tables as sections; an empty table leaves nothing."""
    return tomli_w.dumps({name: value for name, value in mapping.items() if value != {}})


def value_as_toml(value: Any) -> str:
    """Return one plain value as TOML has it, in one line."""
    # Inside of a list of lists nothing becomes a section; no text has a line break of its own.
    text = tomli_w.dumps({"": [[value]]}, indent=0)
    for pattern, instead in ((r",\n\]", "]"), (r"\[\n", "["), (r"\n(?!\Z)", " ")):
        text = re.sub(pattern, instead, text)
    return text.strip().removeprefix('"" = [[').removesuffix("]]")
