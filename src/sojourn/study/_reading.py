"""A scenario file as plain values, and the lines on which they stand."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from ..errors import OptionError
from ..workload._files import read_text
from ._lines import key_lines
from ._problems import Source

__all__ = ["read_toml"]


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Source]:
    """Return the values in a file, and where each is from.

    Raises
    ------
    OptionError
        When it cannot be read, or is not TOML.
    """
    text = read_text(path)
    try:
        told = tomllib.loads(text)
    except ValueError as error:
        raise OptionError(_problem(path, str(error))) from None
    except RecursionError:
        raise OptionError(f"{path}: is not a scenario; check the file") from None
    return told, Source(str(path), key_lines(text))


def _problem(path: str | os.PathLike[str], told: str) -> str:
    """Put the line where other messages have it."""
    found = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)", told)
    where = f"{path}, line {found[1]}" if found and found[1] else f"{path}"
    problem = told.replace(found[0], "") if found and found[1] else told
    return " ".join(f"{where}: is not TOML: {problem}; correct it".split())
