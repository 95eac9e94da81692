"""Which key of a scenario an error is about that came up while the run was made."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping

from ..errors import InputError, OptionError
from ._lines import Path
from ._problems import Source
from .inputs import key_of

__all__ = ["blaming"]

# How messages begin that are about one key, whatever part of a run they come from.
_BEGINNINGS: dict[str, Path] = {
    "cluster: no node is left by the selection": ("cluster", "where"),
    "generate: a width of": ("workload", "widths"),
    "estimate model": ("workload", "estimates"),
    "by = ": ("workload", "resample"),
    "warmup": ("workload", "warmup"),
    "power: no watts for rate": ("power", "levels"),
    "timezone": ("workload", "timezone"),
    "wait-from": ("workload", "wait_from"),
    "delimiter": ("workload", "delimiter"),
    "partition-column": ("workload", "partition_column"),
}
# Those who read a scenario have given no options.
_OPTION = re.compile(r"(?:--policy-file|--placement) |generate: ")
_NO_OPTION = re.compile(r"read_(\w+) has no option '(\w+)'")


@contextlib.contextmanager
def blaming(source: Source, files: Mapping[str, str], key: Path = ()) -> Iterator[None]:
    """Say in errors of the input which key of a scenario they are about.

    Parameters
    ----------
    source : where the scenario is from.
    files : that it names, by what they are.
    key : to blame where a message does not tell which one it is.
    """
    try:
        yield
    except InputError as error:
        raise _located(str(error), source, files, key) from None


def _located(told: str, source: Source, files: Mapping[str, str], key: Path) -> OptionError:
    unknown = _NO_OPTION.match(told)
    if unknown is not None:
        name = "width" if unknown[2] == "width" else "columns"
        problem = f"a log in {unknown[1]} has no such key; leave it out"
        return source.error(("workload", name), problem)
    problem = _OPTION.sub("", told, count=1) if _OPTION.match(told) else told
    begun = next((each for begin, each in _BEGINNINGS.items() if told.startswith(begin)), None)
    if begun is not None:
        return source.error(begun, problem)
    named: list[Path] = [key_of(name) for name, path in files.items() if _is_about(problem, path)]
    # One file may be named by several keys.
    return source.error(key if key in named else next(iter(named), key), problem)


def _is_about(problem: str, path: str) -> bool:
    """Whether a message begins with a file."""
    return problem.startswith(tuple(f"{os.path.normpath(path)}{end}" for end in ":,"))
