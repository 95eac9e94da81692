"""The columns of a job table: their names, their types, and what may stand in them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import JobError, OptionError, check_choice, did_you_mean

_DAY = 86400.0
_EPOCH = datetime(1970, 1, 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12}


def plain(name: str, values: ArrayLike, unknown: int) -> NDArray[Any]:
    """Return the values of a column as an array of numbers; lengths of time become seconds.

    `unknown` stands for values that are masked, or no time.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise OptionError(
            f"column '{name}' is no list of numbers; give one value per job"
        ) from None
    kind = array.dtype.kind
    if array.ndim != 1:
        raise OptionError(f"column '{name}' has {array.ndim} dimensions; give one value per job")
    if kind == "M":
        raise OptionError(
            f"column '{name}' holds dates; give seconds, or use Jobs.from_pandas, which reads them"
        )
    if kind == "m":
        try:
            array = seconds(array)
        except ValueError as error:
            raise OptionError(f"column '{name}': {error}; give seconds") from None
        array = np.where(np.isnan(array), unknown, array)
    elif kind not in "iubf":
        try:
            if kind == "c":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"column '{name}' holds values that are not numbers") from None
    if isinstance(values, np.ma.MaskedArray):
        known = ~np.ma.getmaskarray(values)
        wide = array.astype(np.int64) if array.dtype.kind in "ib" or kind == "u" else array
        array = np.where(known, wide, unknown)
    return array


def for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels take it: without gaps, and writable; itself if it is so."""
    return np.require(array, requirements=["C", "A", "W"])


def unix(values: NDArray[Any], zone: tzinfo = UTC) -> NDArray[np.float64]:
    """Return dates of NumPy, on the clock of a time zone, as Unix time (s); nan where not known.

    Of an hour that occurs twice the first is meant.
    """
    clock = seconds(values)
    if zone is UTC:
        return clock
    known = np.isfinite(clock)
    clock[known] -= offsets(clock[known], lambda time: _offset(time, zone))
    return clock


def offsets(times: NDArray[np.float64], offset: Callable[[float], float]) -> NDArray[np.float64]:
    """Return how far a clock is ahead of another at some times (s).

    Days on which clocks are moved are few: only on these each instant is looked up.
    """
    days, places = np.unique(np.floor(times / _DAY), return_inverse=True)
    pairs = [(offset(day * _DAY), offset((day + 1) * _DAY)) for day in days.tolist()]
    first, last = np.array(pairs, np.float64).reshape(-1, 2).T
    shifts = first[places]
    moved = np.flatnonzero((first != last)[places])
    shifts[moved] = [offset(time) for time in times[moved].tolist()]
    return shifts


def _offset(time: float, zone: tzinfo) -> float:
    """Return how far the clock of a zone is ahead of UTC (s) when it shows a time."""
    ahead = (_EPOCH + timedelta(seconds=math.floor(time))).replace(tzinfo=zone).utcoffset()
    return ahead.total_seconds() if ahead is not None else 0.0


def seconds(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return lengths of time, or dates since 1970, of NumPy in seconds; nan where not known."""
    kind, (unit, steps) = values.dtype.kind, np.datetime_data(values.dtype)
    if unit == "generic" or (kind == "m" and unit in "YM"):
        if np.isnat(values).all():
            return np.full(values.size, np.nan)
        raise ValueError(f"{values.dtype} has no fixed length")
    per_second = _PER_SECOND.get(unit)
    if per_second is None:
        values, per_second, steps = values.astype(f"{kind}8[s]"), 1, 1
    # Whole seconds and the rest apart: nanoseconds since 1970 do not fit a float.
    counts, rest = np.divmod(values.astype(np.int64) * steps, per_second)
    return np.where(np.isnat(values), np.nan, counts + rest / per_second)


def distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different numbers, ascending, and the place of each value among them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low > 4 * values.size + 1024:
        return np.unique(values, return_inverse=True)
    # Numbers of people and queues lie close together: counted, a million take a tenth of the time.
    shifted = values - low
    there = np.flatnonzero(np.bincount(shifted, minlength=1))
    table = np.zeros(high - low + 1, np.int64)
    table[there] = np.arange(there.size)
    return there + low, table[shifted]


MISSING = -1
"""The value of a field that is not known, in every column [swf]."""

_INT = np.dtype(np.int64)
_FLOAT = np.dtype(np.float64)

SWF_FIELDS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "job": _INT,
        "submit": _FLOAT,
        "wait": _FLOAT,
        "runtime": _FLOAT,
        "allocated": _INT,
        "cpu_time": _FLOAT,
        "used_memory": _FLOAT,
        "requested": _INT,
        "estimate": _FLOAT,
        "memory": _FLOAT,
        "status": _INT,
        "user": _INT,
        "group": _INT,
        "executable": _INT,
        "queue": _INT,
        "partition": _INT,
        "preceding": _INT,
        "think_time": _FLOAT,
    }
)
"""The 18 fields of the Standard Workload Format, in its order."""

SCHEMA: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        **SWF_FIELDS,
        "account": _INT,
        "qos": _INT,
        "nodes": _INT,
        "cores_per_node": _INT,
        "gpus": _INT,
        "gpu_type": _INT,
        "memory_per_node": _FLOAT,
        "whole_node": _INT,
        "licences": _INT,
        "features": _INT,
        "begin": _FLOAT,
        "after": _INT,
        "procs": _INT,
        "work": _FLOAT,
    }
)
"""Every column that has a meaning here, with its type; a `Jobs` may have further ones."""

NAMED: Mapping[str, str] = MappingProxyType(
    {
        "user": "User",
        "group": "Group",
        "account": "Account",
        "queue": "Queue",
        "partition": "Partition",
        "qos": "QOS",
        "gpu_type": "GpuType",
        "licences": "Licences",
        "features": "Features",
        "after": "After",
    }
)
"""Columns of numbers that stand for names, and the header's key of ``; Key: number name``."""

LABEL = "label"
"""The one column of texts: jobs as their manager names them, such as ``12_3``."""

STORED = (*SCHEMA, LABEL)
"""Every column that is known by name."""

# Others mean something by them: instants of a table, and what `Jobs.replace` takes besides columns.
_TAKEN = frozenset({"start", "end", "interarrival", "header", "source", "report"})
_LONGEST_NAME = 80
_LIKENESS = 0.8
"""Of two names of which one may be the other misspelt; `watts` is not `wait`."""

WIDTHS = ("requested", "allocated", "max")
"""The ways to take a job's width from its requested and allocated processors."""

Column = NDArray[Any]


def check_names(names: Iterable[str], valid: Iterable[str] = SCHEMA) -> None:
    """Raise OptionError at the first name that is not a column."""
    valid = list(valid)
    for name in names:
        if name not in valid:
            near = did_you_mean(name, valid) or f"; known columns: {', '.join(valid)}"
            raise OptionError(f"no column is called '{name}'{near}")


def is_further(name: object) -> bool:
    """Whether a column that is not known by name may be called so.

    >>> is_further("mics"), is_further("watts"), is_further("runtme"), is_further("procs")
    (True, True, False, False)
    """
    return _fits(name) and not difflib.get_close_matches(
        str(name).lower(), STORED, n=1, cutoff=_LIKENESS
    )


def _fits(name: object) -> bool:
    """Whether a name stands on one line, and for nothing else."""
    if not isinstance(name, str) or name in _TAKEN or name != " ".join(name.split()):
        return False
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def check_columns(names: Iterable[str]) -> None:
    """Raise OptionError at the first name that is neither known nor that of a further column."""
    for name in names:
        if name not in STORED and not is_further(name):
            if not isinstance(name, str):
                raise OptionError(f"no column is called {name!r}; give names as texts")
            if _fits(name):
                near = difflib.get_close_matches(name.lower(), STORED, n=1, cutoff=_LIKENESS)
                raise OptionError(f"no column is called '{name}'; did you mean '{near[0]}'?")
            if name in _TAKEN:
                check_names([name], STORED)
            raise OptionError(
                f"no column can be called {name[:_LONGEST_NAME]!r}; give a name on one line, of at "
                f"most {_LONGEST_NAME} letters"
            )


def _integers(array: Column) -> Column | None:
    """Return an array as int64, or None if a value would change."""
    if array.dtype.kind in "ib":
        return array.astype(_INT, copy=False)
    if array.dtype.kind == "u":
        return array.astype(_INT) if array.size == 0 or array.max() < 2**63 else None
    exact = (array == np.trunc(array)) & (np.abs(array) < 2.0**63)
    return array.astype(_INT) if exact.all() else None


def checked_column(name: str, values: ArrayLike, ids: Column | None) -> Column:
    """Return one column in its own type, checked: one dimension, numbers, finite."""
    if name == LABEL:
        texts = np.asarray(values).astype(np.str_)
        if texts.ndim != 1:
            raise OptionError(f"column '{name}': give one text per job")
        return texts
    array = plain(name, values, MISSING)
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            row = int(bad[0])
            job = row + 1 if ids is None or row >= ids.size else int(ids[row])
            raise JobError(job, name, f"{array[row]} is not a finite number; use -1 for unknown")
    dtype = SCHEMA.get(name) or (_FLOAT if array.dtype.kind == "f" else _INT)
    if dtype == _FLOAT:
        return for_kernels(array.astype(_FLOAT, copy=False))
    integers = _integers(array)
    if integers is None:
        raise OptionError(f"column '{name}' must hold whole numbers that fit in 64 bits")
    if name == "whole_node":
        _check_flags(integers, ids)
    return for_kernels(integers)


def _check_flags(flags: Column, ids: Column | None) -> None:
    bad = np.flatnonzero((flags < MISSING) | (flags > 1))
    if bad.size:
        row = int(bad[0])
        job = row + 1 if ids is None or row >= ids.size else int(ids[row])
        problem = f"{flags[row]} is neither 0 nor 1; use 1 for whole nodes, -1 for unknown"
        raise JobError(job, "whole_node", problem)


def widths(
    requested: NDArray[np.int64], allocated: NDArray[np.int64], width: str = "requested"
) -> NDArray[np.int64]:
    """Return the processors a simulation uses: one of the two fields, the other if missing."""
    if width == "max":
        return np.maximum(requested, allocated)
    if width not in WIDTHS:
        check_choice("width", width, WIDTHS)
    first, second = (requested, allocated) if width == "requested" else (allocated, requested)
    return np.where(first > 0, first, second)
