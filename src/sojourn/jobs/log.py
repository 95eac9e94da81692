"""Logs by suffix: one table of formats, one reader and one writer for all of them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LogError, OptionError, did_you_mean
from ..files.access import read_bytes
from .formats.csv import read_csv, write_csv
from .formats.hpcwld import read_hpcwld
from .formats.jobcomp import read_jobcomp
from .formats.parquet import read_parquet, write_parquet
from .formats.pbs import read_pbs
from .formats.sacct import read_sacct
from .formats.submits import SUBMIT_COMMAND, read_submit_commands
from .formats.swf import read_swf, write_swf
from .table import Jobs

__all__ = ["ACCOUNTING", "FORMATS", "Format", "format_of", "options_of", "read_log", "write_log"]


class Format(NamedTuple):
    """A file format.

    Parameters
    ----------
    read, write : its reader, whose options are those of the format, and its writer if it has one.
    suffix : that tells it.
    begins : what the first line with something in it is like, where that tells it.
    accounting : whether it is that of a manager.
    """

    read: Callable[..., Jobs]
    write: Callable[..., None] | None = None
    suffix: str | None = None
    begins: re.Pattern[str] | None = None
    accounting: bool = False


FORMATS: dict[str, Format] = {
    "swf": Format(read_swf, write_swf, ".swf"),
    "csv": Format(read_csv, write_csv, ".csv"),
    "parquet": Format(read_parquet, write_parquet, ".parquet", re.compile("PAR1")),
    "hpcwld": Format(read_hpcwld),
    "jobcomp": Format(read_jobcomp, begins=re.compile(r"JobId=\d"), accounting=True),
    "slurm-events": Format(read_submit_commands, begins=SUBMIT_COMMAND),
    "pbs": Format(
        read_pbs,
        begins=re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[A-Za-z];"),
        accounting=True,
    ),
    # Names of columns, or many fields between bars.
    "sacct": Format(
        read_sacct,
        begins=re.compile(r"(?i)(?!;)(.*\|.*\|.*\||(.*[^a-z0-9])?jobid(raw)?([^a-z0-9=]|$))"),
        accounting=True,
    ),
}
"""Every format by name; a new one is one entry here. Of those whose first line tells them, the
first decides."""

ACCOUNTING = tuple(name for name, entry in FORMATS.items() if entry.accounting)
"""Formats of accounting, which only the content tells."""

_PACKED = (".gz", ".xz")
_HEAD = 1 << 16


def _suffix(path: str | os.PathLike[str]) -> str:
    file = Path(path)
    if file.suffix.lower() in _PACKED:
        file = file.with_suffix("")
    return file.suffix


def _by_suffix(path: str | os.PathLike[str]) -> str | None:
    suffix = _suffix(path).lower()
    told = (name for name, entry in FORMATS.items() if suffix and entry.suffix == suffix)
    return next(told, None)


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a log's format.

    A suffix that is known decides; else the first line with something in it; any that tells nothing
    is of SWF.
    """
    known = _by_suffix(path)
    return known if known is not None else _by_content(path) or "swf"


def _by_content(path: str | os.PathLike[str]) -> str | None:
    text = read_bytes(path)[:_HEAD].decode("latin-1").lstrip("ï»¿")
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    told = (name for name, entry in FORMATS.items() if entry.begins and entry.begins.match(first))
    return next(told, None)


def _format_of(path: str | os.PathLike[str], name: str | None) -> Format:
    if name is not None:
        if name not in FORMATS:
            near = did_you_mean(name, FORMATS) or f"; known formats: {', '.join(FORMATS)}"
            raise OptionError(f"no log format is called '{name}'{near}")
        return FORMATS[name]
    told = _by_suffix(path)
    if told is not None:
        return FORMATS[told]
    known = ", ".join(entry.suffix for entry in FORMATS.values() if entry.suffix)
    raise LogError(
        path,
        f"the suffix '{_suffix(path)}' tells no format; use one of {known}"
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
    if format is None and os.path.isfile(path):
        format = _by_suffix(path) or _by_content(path)
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
