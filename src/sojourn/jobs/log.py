"""Logs by suffix: one table of formats, one reader and one writer for all of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import LogError, OptionError, did_you_mean
from .formats.csv import read_csv, write_csv
from .formats.hpcwld import read_hpcwld
from .formats.jobcomp import read_jobcomp
from .formats.parquet import read_parquet, write_parquet
from .formats.pbs import read_pbs
from .formats.sacct import read_sacct
from .formats.sniff import SUBMITS, TOLD, format_of
from .formats.submits import read_submit_commands
from .formats.swf import read_swf, write_swf
from .table import Jobs

__all__ = ["FORMATS", "Format", "options_of", "read_log", "write_log"]


class Format(NamedTuple):
    """A file format: how it is read and written, and the suffix that tells it."""

    read: Callable[..., Jobs]
    write: Callable[..., None] | None = None
    suffix: str | None = None


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "swf": Format(read_swf, write_swf, ".swf"),
        "csv": Format(read_csv, write_csv, ".csv"),
        "parquet": Format(read_parquet, write_parquet, ".parquet"),
        "hpcwld": Format(read_hpcwld),
        "sacct": Format(read_sacct),
        "jobcomp": Format(read_jobcomp),
        "pbs": Format(read_pbs),
        "slurm-events": Format(read_submit_commands),
    }
)
"""Every format by name; a new one is one entry here."""

_PACKED = (".gz", ".xz")


def _format_of(path: str | os.PathLike[str], name: str | None) -> Format:
    if name is not None:
        if name not in FORMATS:
            near = did_you_mean(name, FORMATS) or f"; known formats: {', '.join(FORMATS)}"
            raise OptionError(f"no log format is called '{name}'{near}")
        return FORMATS[name]
    file = Path(path)
    if file.suffix.lower() in _PACKED:
        file = file.with_suffix("")
    for entry in FORMATS.values():
        if entry.suffix == file.suffix.lower():
            return entry
    known = ", ".join(entry.suffix for entry in FORMATS.values() if entry.suffix)
    raise LogError(
        path,
        f"the suffix '{file.suffix}' tells no format; use one of {known}"
        f" (or one of these with .gz or .xz), or give format: {', '.join(FORMATS)}",
    )


def options_of(format: str) -> list[str]:
    """Return the options that the reader of a format has."""
    entry = FORMATS.get(format)
    return [] if entry is None else list(inspect.signature(entry.read).parameters)[1:]


def _call(function: Callable[..., Any], given: int, options: Mapping[str, Any]) -> Any:
    known = list(inspect.signature(function).parameters)[given:]
    for name in options:
        if name not in known:
            near = did_you_mean(name, known) or f"; it takes: {', '.join(known)}"
            raise OptionError(f"{function.__name__} has no option '{name}'{near}")
    return function


def read_log(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> Jobs:
    """Read jobs from a file of any known format.

    Parameters
    ----------
    path : the file.
    format : a name in `FORMATS`; by default the suffix decides (``.swf``, ``.csv``,
        ``.parquet``, each also with ``.gz`` or ``.xz`` after it), else the first lines, if they
        are those of accounting (``sacct``, ``jobcomp``, ``pbs``).
    options : options of that format's reader.
    """
    if format is None and os.path.isfile(path) and (told := format_of(path)) in (*TOLD, SUBMITS):
        format = told
    reader = _format_of(path, format).read
    jobs: Jobs = _call(reader, 1, options)(path, **options)
    return jobs


def write_log(
    jobs: Jobs, path: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> None:
    """Write jobs to a file of any known format that can be written; options as in `read_log`."""
    writer = _format_of(path, format).write
    if writer is None:
        raise OptionError(f"the format '{format}' can be read but not written; use another")
    _call(writer, 2, options)(jobs, path, **options)
