"""Tables of jobs with what became of them, in CSV or Parquet."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import LogError, OptionError, did_you_mean
from ..files.access import read_bytes, read_log_text
from ..jobs.formats.clock import instant
from ..jobs.formats.slurm_fields import DURATION, duration
from ..jobs.schema import MISSING

_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "job", "job_id", "jobid"),
    "submit": ("submit", "submit_time", "submission_time"),
    "start": ("start", "start_time", "starting_time"),
    "end": ("end", "end_time", "finish_time"),
    "nodes": ("nodes", "nnodes", "num_nodes"),
    "procs": (
        *("procs", "cores", "ncpus", "processors"),
        *("requested_number_of_resources", "requested_number_of_processors"),
    ),
    "limit": ("limit", "estimate", "timelimit", "requested_time"),
    "limit_min": ("limit_min",),
    "user": ("user",),
    "queue": ("queue", "partition"),
    "account": ("account",),
    "partition": ("partition",),
    "qos": ("qos",),
}
"""Columns, and what a table may call them."""

_MORE = ("account", "partition", "qos")
_NEEDED = ("id", "submit", "start", "end")
_OF_LOGS = ("wait", "runtime")
_MINUTE = 60.0


def table_columns(
    path: str | os.PathLike[str], format: str, mapping: Mapping[str, str] | None = None
) -> dict[str, Any] | None:
    """Return the columns of a stream in CSV or Parquet, as `JobStream.of` takes them.

    None if the table is a log with waits and runtimes instead of starts and ends. The mapping leads
    from our names to the table's.
    """
    table = csv_columns(path) if format == "csv" else _parquet(path, mapping)
    chosen = _chosen(path, list(table), mapping)
    if "start" not in chosen and set(_OF_LOGS) <= set(table):
        return None
    for name in _NEEDED:
        if name not in chosen:
            near = did_you_mean(name, table) or f"; it has: {', '.join(table)}"
            raise LogError(path, f"has no column '{name}'{near}")
    if "nodes" not in chosen and "procs" not in chosen:
        raise LogError(path, "has no column 'nodes' or 'procs'; add what each job ordered")

    def numbers(name: str) -> Floats:
        values = enumerate(table[chosen[name]], 2)
        return np.array([_number(path, value, line, chosen[name]) for line, value in values])

    def words(name: str) -> list[str] | None:
        return [_word(value) for value in table[chosen[name]]] if name in chosen else None

    limit = np.full(len(table[chosen["id"]]), np.nan)
    if "limit" in chosen:
        limit = numbers("limit")
    elif "limit_min" in chosen:
        limit = _MINUTE * numbers("limit_min")
    submit = numbers("submit")
    unknown = np.flatnonzero(~np.isfinite(submit))
    if unknown.size:
        line = int(unknown[0]) + 2
        raise LogError(path, "is not known; give a time", line=line, field=chosen["submit"])
    return {
        "submit": submit,
        "start": numbers("start"),
        "end": numbers("end"),
        "label": words("id"),
        "nodes": _counts(numbers("nodes")) if "nodes" in chosen else None,
        "procs": _counts(numbers("procs")) if "procs" in chosen else None,
        "limit": np.where(limit > 0, limit, np.nan),
        "user": words("user"),
        "queue": words("queue"),
        "more": {name: column for name in _MORE if (column := words(name)) is not None},
    }


def csv_columns(path: str | os.PathLike[str]) -> dict[str, Sequence[str]]:
    """Return the columns of a CSV table as text, by their names."""
    reader = csv.reader(io.StringIO(read_log_text(path)), skipinitialspace=True)
    rows: list[list[str]] = []
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
        for row in reader:
            if row and len(row) != len(names):
                raise LogError(
                    path,
                    f"{len(row)} columns where the first line names {len(names)}; correct the line",
                    line=reader.line_num,
                )
            if row:
                rows.append(row)
    except csv.Error as error:
        raise LogError(
            path, f"is not a table ({error}); correct the line", line=reader.line_num
        ) from None
    if not rows:
        raise LogError(path, "has column names but no job; check that the table is complete")
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _parquet(
    path: str | os.PathLike[str], mapping: Mapping[str, str] | None
) -> dict[str, Sequence[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    wanted = {name for names in _NAMES.values() for name in names}
    wanted |= {*_OF_LOGS, *(mapping or {}).values()}
    data = read_bytes(path)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = [name for name in file.schema_arrow.names if name in wanted]
        table = file.read(columns=names)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise LogError(path, f"is not a Parquet file ({reason}); check its format") from None
    return {name: table[name].to_pylist() for name in names}


def _chosen(
    path: str | os.PathLike[str], available: Sequence[str], mapping: Mapping[str, str] | None
) -> dict[str, str]:
    lower = {name.lower(): name for name in reversed(available)}
    chosen = {
        ours: lower[next(name for name in theirs if name in lower)]
        for ours, theirs in _NAMES.items()
        if any(name in lower for name in theirs)
    }
    for ours, theirs in (mapping or {}).items():
        if ours not in _NAMES:
            near = did_you_mean(ours, _NAMES) or f"; known: {', '.join(_NAMES)}"
            raise OptionError(f"a stream has no column '{ours}'{near}")
        if theirs not in available:
            near = did_you_mean(theirs, available) or f"; it has: {', '.join(available)}"
            raise LogError(path, f"has no column '{theirs}' (for '{ours}'){near}")
        chosen[ours] = theirs
    return chosen


def _counts(values: Floats) -> Ints:
    return np.where(np.isfinite(values), values, MISSING).astype(np.int64)


def _word(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _number(path: str | os.PathLike[str], value: Any, line: int, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip()
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        is_length = ":" in text and DURATION.fullmatch(text)
        return duration(text) if is_length else instant(text)
    except ValueError:
        raise LogError(
            path, f"'{text[:40]}' is no number or time; correct it", line=line, field=name
        ) from None
