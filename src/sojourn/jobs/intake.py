"""From the file of a log to the jobs of a run, as verbs and scenarios ask for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import LogError, OptionError, did_you_mean
from .clean import STANDARD, clean
from .log import ACCOUNTING, FORMATS, format_of, options_of, read_log
from .names import known_names, without_told
from .table import Jobs

__all__ = [
    "CLEANED",
    "SIMULATED",
    "accounting_options",
    "chosen_rules",
    "cleaned",
    "kind_of",
    "machine_size",
    "read_jobs",
    "simulated",
    "size_in_words",
]

SIMULATED = (
    *("job", "submit", "wait", "runtime", "work", "procs", "estimate"),
    *("user", "group", "account", "queue", "partition", "qos", "memory", "gpus", "label"),
    *("nodes", "cores_per_node", "gpu_type", "memory_per_node", "whole_node", "licences"),
    *("features", "begin", "after"),
)
"""What a run and its summary look at; the other columns of SWF only cost memory."""

CLEANED = (*SIMULATED, "requested", "allocated")
"""What is looked at before and while jobs are cleaned."""


def kind_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format that is asked for, else the one that the file tells."""
    return format or format_of(path)


def read_jobs(
    path: str | os.PathLike[str],
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
    partition_column : the column of the log that tells partitions, such as ``queue``.
    accounting : ``timezone``, ``delimiter`` and ``wait_from``, as the readers of accounting take
        them; None for their defaults.
    """
    options: dict[str, Any] = {}
    kind = kind_of(path, format)
    is_table = kind in ("csv", "parquet")
    if is_table and partition_column is not None:
        columns = _with_partition(columns, partition_column)
    if columns is not None:
        options["mapping" if kind == "parquet" else "columns"] = columns
    if width is not None:
        options["width"] = width
    # Any column may be the one that tells partitions, and messages list those that there are.
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
        raise OptionError(
            f"partition-column '{column}': columns name '{mapping['partition']}' as the partition;"
            " leave one of them out",
            key="workload.partition_column",
        )
    for name in ("submit", "runtime", "procs"):
        if column == mapping.get(name, name):
            raise OptionError(
                f"partition-column '{column}': that is the {name} of jobs; give the column that "
                "says their partitions",
                key="workload.partition_column",
            )
    return mapping | {"partition": column}


def _partitioned(jobs: Jobs, column: str) -> Jobs:
    """Return jobs whose partitions are what another column tells."""
    names = [name for name in jobs.names if jobs[name].dtype.kind == "i"]
    if column not in names:
        near = did_you_mean(column, names) or f"; it has: {', '.join(names)}"
        raise OptionError(
            f"partition-column '{column}': {jobs.source} has no such column{near}",
            key="workload.partition_column",
        )
    if column == "partition":
        return jobs
    lines = [f"Partition: {n} {name}" for n, name in known_names(jobs.header, column).items()]
    header = without_told(jobs.header, ["Partition:"])
    return jobs.replace(partition=jobs[column], header=[*header, *lines])


def accounting_options(kind: str, **given: Any) -> dict[str, Any]:
    """Return the options of accounting that are given; an error where the format has none such.

    Parameters
    ----------
    kind : format of the log.
    given : ``timezone``, ``columns``, ``delimiter``, ``wait_from``.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        # Columns of other tables are those of a mapping.
        formats = ACCOUNTING if name == "columns" else FORMATS
        takers = [each for each in formats if name in options_of(each)]
        if takers and kind not in takers:
            known = ", ".join(takers)
            option = name.replace("_", "-")
            raise OptionError(
                f"{option}: only for logs of {known}, not {kind}; leave it out",
                key=f"workload.{name}",
            )
    return chosen


def simulated(jobs: Jobs, *, copy: bool = True) -> Jobs:
    """Return jobs with what a run looks at: `SIMULATED`, and further columns, which it may ask for.

    The rest of the log may then be freed; `copy` as in `Jobs.only`.
    """
    return jobs.only((*SIMULATED, *jobs.further), copy=copy)


def chosen_rules(rules: Iterable[str] | None, *, keep_zero: bool) -> tuple[str, ...]:
    """Return the cleaning rules asked for; None: the standard ones."""
    chosen = STANDARD if rules is None else rules
    return tuple(name for name in chosen if not (keep_zero and name == "zero-runtime"))


def cleaned(jobs: Jobs, procs: int | None, rules: Sequence[str], *, strict: bool = False) -> Jobs:
    """Return the jobs after cleaning; an error if none is left."""
    left = clean(jobs, procs=procs, rules=rules, strict=strict)
    if not len(left):
        first = next(iter(left.report.findings), None)
        told = f" ({first})" if first is not None else ""
        raise LogError(jobs.source, f"no job is left after cleaning{told}; check the log")
    return left


def machine_size(jobs: Jobs, procs: int | None, option: str) -> int:
    """Return the processors asked for by an option, else those that the log's header tells."""
    if procs is not None:
        return procs
    told = jobs[:0].max_procs  # Without jobs only the header can tell.
    if told < 1:
        said = jobs.header.get("MaxProcs")
        what = "no MaxProcs" if said is None else f"MaxProcs {said[:40]!r} is no size of a machine"
        raise OptionError(f"{jobs.source}: {what} in its header; give {option}")
    return told


def size_in_words(jobs: Jobs, procs: int | None, option: str = "--procs") -> str:
    """Return what is taken for the size of the machine; nothing where it was given or MaxProcs.

    Parameters
    ----------
    jobs : the log, whose header or widest job tells the size.
    procs : processors that were given, if any.
    option : that gives them.
    """
    size, told_by = jobs.machine_size
    if procs is not None or told_by == "MaxProcs":
        return ""
    what = "the widest job" if told_by == "widest job" else f"{told_by} of its header"
    return f"processors: {size:,}, {what}; the log does not say MaxProcs: give {option}"
