"""Logs: which format a file has, one reader and one writer for all, and from a log to a run."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LogError, OptionError, did_you_mean
from ..files.access import read_bytes
from .header import known_names, without_keys
from .table import Jobs

PathName = str | os.PathLike[str]


class Format(NamedTuple):
    """A file format.

    Parameters
    ----------
    read, write : its reader, whose options are those of the format, and its writer if it has one:
        functions, or where in `formats` they stand, so that no other format need be loaded.
    suffix : that its files have.
    begins : pattern of the first line with something in it, where that shows the format.
    accounting : whether it is that of a manager.
    """

    read: Callable[..., Jobs] | str
    write: Callable[..., None] | str | None = None
    suffix: str | None = None
    begins: str | None = None
    accounting: bool = False


FORMATS: dict[str, Format] = {
    "swf": Format("swf.read_swf", "swf.write_swf", ".swf"),
    "csv": Format("csv.read_csv", "csv.write_csv", ".csv"),
    "parquet": Format("frames.read_parquet", "frames.write_parquet", ".parquet", "PAR1"),
    "hpcwld": Format("hpcwld.read_hpcwld"),
    "jobcomp": Format("jobcomp.read_jobcomp", begins=r"JobId=\d", accounting=True),
    "slurm-events": Format(
        "submits.read_submit_commands", begins=r"-dt\s+\d+(\.\d*)?\s+-e\s+\S+\s*\|"
    ),
    "pbs": Format(
        "pbs.read_pbs",
        begins=r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[A-Za-z];",
        accounting=True,
    ),
    # Names of columns, or many fields between bars.
    "sacct": Format(
        "sacct.read_sacct",
        begins=r"(?i)(?!;)(.*\|.*\|.*\||(.*[^a-z0-9])?jobid(raw)?([^a-z0-9=]|$))",
        accounting=True,
    ),
}
"""Every format by name; a new one is one entry here. Of those whose first line shows them, the
first decides."""

ACCOUNTING = tuple(name for name, entry in FORMATS.items() if entry.accounting)
"""Formats of accounting, which are known by their content alone."""

SIMULATED = (
    *("job", "submit", "wait", "runtime", "work", "procs", "estimate"),
    *("user", "group", "account", "queue", "partition", "qos", "memory", "gpus", "label"),
    *("nodes", "cores_per_node", "gpu_type", "memory_per_node", "whole_node", "licences"),
    *("features", "begin", "after"),
)
"""What a run and its summary look at; the other columns of SWF only cost memory."""

CLEANED = (*SIMULATED, "requested", "allocated")
"""What is looked at before and while jobs are cleaned."""

_PACKED = (".gz", ".xz")
_HEAD = 1 << 16


def format_of(path: PathName) -> str:
    """Return the name of a log's format.

    A suffix that is known decides; else the first line with something in it (`Format.begins`); one
    that shows nothing is of SWF.
    """
    return _by_suffix(path) or _by_content(path) or "swf"


def _by_content(path: PathName) -> str | None:
    text = read_bytes(path)[:_HEAD].decode("latin-1").lstrip("ï»¿")
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    known = ((name, entry.begins) for name, entry in FORMATS.items() if entry.begins)
    return next((name for name, begins in known if re.match(begins, first)), None)


def _suffix(path: PathName) -> str:
    """Return the suffix of a file, without that of its packing."""
    file = Path(path)
    return (file.with_suffix("") if file.suffix.lower() in _PACKED else file).suffix


def _by_suffix(path: PathName) -> str | None:
    known = {entry.suffix: name for name, entry in FORMATS.items() if entry.suffix}
    return known.get(_suffix(path).lower())


def _chosen(path: PathName, name: str | None) -> Format:
    """Return the format of a name, else of a file's suffix."""
    if name is not None and name not in FORMATS:
        near = did_you_mean(name, FORMATS) or f"; known formats: {', '.join(FORMATS)}"
        raise OptionError(f"no log format is called '{name}'{near}")
    name = name or _by_suffix(path)
    if name is None:
        known = ", ".join(entry.suffix for entry in FORMATS.values() if entry.suffix)
        raise LogError(
            path,
            f"the suffix '{_suffix(path)}' is that of no format; use one of {known}"
            f" (or one of these with .gz or .xz), or give format: {', '.join(FORMATS)}",
        )
    return FORMATS[name]


def _function(where: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a reader or writer of the table of formats."""
    if not isinstance(where, str):
        return where
    module, _, name = where.partition(".")
    function: Callable[..., Any] = getattr(import_module(f".formats.{module}", __package__), name)
    return function


def options_of(format: str) -> list[str]:
    """Return the options that the reader of a format takes."""
    if format not in FORMATS:
        return []
    return list(inspect.signature(_function(FORMATS[format].read)).parameters)[1:]


def _check_options(function: Callable[..., Any], first: int, given: Iterable[str]) -> None:
    known = list(inspect.signature(function).parameters)[first:]
    for name in given:
        if name not in known:
            near = did_you_mean(name, known) or f"; it takes: {', '.join(known)}"
            raise OptionError(f"{function.__name__} has no option '{name}'{near}")


def read_log(path: PathName, *, format: str | None = None, **options: Any) -> Jobs:
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
    reader = _function(_chosen(path, format).read)
    _check_options(reader, 1, options)
    jobs: Jobs = reader(path, **options)
    return jobs


def write_log(jobs: Jobs, path: PathName, *, format: str | None = None, **options: Any) -> None:
    """Write jobs to a file of any known format that can be written; options as in `read_log`."""
    chosen = _chosen(path, format)
    if chosen.write is None:
        raise OptionError(f"the format '{format}' can be read but not written; use another")
    writer = _function(chosen.write)
    _check_options(writer, 2, options)
    writer(jobs, path, **options)


def read_jobs(
    path: PathName,
    format: str | None = None,
    *,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    strict: bool = False,
    width: str | None = None,
    only: Sequence[str] | None = None,
    partition_column: str | None = None,
    **accounting: Any,
) -> Jobs:
    """Read a log of any format, with those of the options that its reader has.

    Parameters
    ----------
    path, format : the log.
    columns : of a table, ours by theirs; names of the columns of ``sacct -n``.
    strict : fail at the first bad line.
    width : where processors come from.
    only : columns that are needed, where the reader can leave others aside.
    partition_column : the column of the log that has partitions, such as ``queue``.
    accounting : ``timezone``, ``delimiter`` and ``wait_from``, as the readers of accounting take
        them; None for their defaults.
    """
    options: dict[str, Any] = {}
    kind = format or format_of(path)
    is_table = kind in ("csv", "parquet")
    if is_table and partition_column is not None:
        columns = _with_partition(columns, partition_column)
    if columns is not None:
        options["mapping" if kind == "parquet" else "columns"] = columns
    if width is not None:
        options["width"] = width
    # Any column may be the one that has partitions, and messages list those that there are.
    if only is not None and "only" in options_of(kind) and partition_column is None:
        options["only"] = only
    if strict and "strict" in options_of(kind):
        options["strict"] = True
    options |= accounting_options(kind, **accounting)
    for name, key in (("width", "width"), ("columns", "columns"), ("mapping", "columns")):
        if name in options and name not in options_of(kind):
            raise OptionError(
                f"a log in {kind} has no such key; leave it out", key=f"workload.{key}"
            )
    jobs = read_log(path, format=format, **options)
    if partition_column is None or is_table:
        return jobs
    return _partitioned(jobs, partition_column)


def _with_partition(
    columns: Mapping[str, str] | Sequence[str] | None, column: str
) -> Mapping[str, str]:
    """Return a mapping of columns in which one of the table is the partition."""
    mapping = dict(columns) if isinstance(columns, Mapping) else {}
    if mapping.get("partition", column) != column:
        problem = f"columns name '{mapping['partition']}' as the partition; leave one of them out"
        raise _bad_partition_column(column, problem)
    for name in ("submit", "runtime", "procs"):
        if column == mapping.get(name, name):
            problem = f"that is the {name} of jobs; give the column that says their partitions"
            raise _bad_partition_column(column, problem)
    return mapping | {"partition": column}


def _partitioned(jobs: Jobs, column: str) -> Jobs:
    """Return jobs whose partitions are those of another column."""
    names = [name for name in jobs.names if jobs[name].dtype.kind == "i"]
    if column not in names:
        near = did_you_mean(column, names) or f"; it has: {', '.join(names)}"
        raise _bad_partition_column(column, f"{jobs.source} has no such column{near}")
    if column == "partition":
        return jobs
    lines = [f"Partition: {n} {name}" for n, name in known_names(jobs.header, column).items()]
    header = without_keys(jobs.header, ["Partition:"])
    return jobs.replace(partition=jobs[column], header=[*header, *lines])


def _bad_partition_column(column: str, problem: str) -> OptionError:
    key = "workload.partition_column"
    return OptionError(f"partition-column '{column}': {problem}", key=key)


def accounting_options(kind: str, **given: Any) -> dict[str, Any]:
    """Return the options of accounting that are given; an error where the format has none such."""
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        # Columns of other tables are those of a mapping.
        formats = ACCOUNTING if name == "columns" else FORMATS
        takers = [other for other in formats if name in options_of(other)]
        if takers and kind not in takers:
            raise OptionError(
                f"{name.replace('_', '-')}: only for logs of {', '.join(takers)}, not {kind}; "
                "leave it out",
                key=f"workload.{name}",
            )
    return chosen


def simulated(jobs: Jobs, *, copy: bool = True) -> Jobs:
    """Return jobs with what a run looks at: `SIMULATED`, and further columns.

    The rest of the log may then be freed; `copy` as in `Jobs.only`.
    """
    return jobs.only((*SIMULATED, *jobs.further), copy=copy)


def machine_size(jobs: Jobs, procs: int | None, option: str) -> int:
    """Return the processors that an option gives, else those of the log's header."""
    if procs is not None:
        return procs
    size = jobs[:0].max_procs  # Without jobs only the header has a size.
    if size < 1:
        text = jobs.header.get("MaxProcs")
        what = "no MaxProcs" if text is None else f"MaxProcs {text[:40]!r} is no size of a machine"
        raise OptionError(f"{jobs.source}: {what} in its header; give {option}")
    return size


def size_in_words(jobs: Jobs, procs: int | None, option: str = "--procs") -> str:
    """Return what is taken for the size of the machine; nothing where it was given or MaxProcs."""
    size, source = jobs.machine_size
    if procs is not None or source == "MaxProcs":
        return ""
    what = "the widest job" if source == "widest job" else f"{source} of its header"
    return f"processors: {size:,}, {what}; the log does not say MaxProcs: give {option}"
