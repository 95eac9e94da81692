"""The columns of a job table: their names, their types, and what may stand in them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import JobError, OptionError, did_you_mean
from .arrays import for_kernels, plain

__all__ = ["LABEL", "MISSING", "NAMED", "SCHEMA", "STORED", "SWF_FIELDS", "Column"]
__all__ += ["check_columns", "check_names", "checked_column", "is_further"]

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
