"""What the files of a folder must be like before a page is made of them.

Whatever was cut short, edited or mixed up is an error with file and field here, so that nothing
after it has to doubt what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...measures.catalogue import CATALOGUE, DISTRIBUTIONS
from ...measures.fragmentation import STATES

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, NDArray[Any]]

_LARGEST = 1e18  # of any number: its square is still a number
_PROCS = 2**31 - 1  # as many as a machine can have
_SHOWN = (str, float, bool, type(None))


class ValueKind(NamedTuple):
    """What a value of a document may be; null, unless said otherwise: it is not known."""

    words: str
    accepts: Callable[[Any], bool]
    or_null: bool = True


class Needed(NamedTuple):
    """A field that must be there."""

    kind: ValueKind | Mapping[str, Any]


Shape = Mapping[str, "ValueKind | Needed | Shape"]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(accepts, value))


def _is_object_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(accepts, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


_NUMBER = ValueKind("a number", _is_number)
_COUNT = ValueKind("a whole number", _is_count, or_null=False)
_PROCESSORS = ValueKind(
    f"a whole number from 1 to {_PROCS:,}", lambda value: _is_count(value) and 1 <= value <= _PROCS
)
_TEXT = ValueKind("a text", _is_text)
_TEXTS = ValueKind("a list of texts", _is_list_of(_is_text), or_null=False)
_NUMBERS = ValueKind("a list of numbers", _is_list_of(_is_number), or_null=False)
_OBJECTS = ValueKind("an object of objects", _is_object_of(_is_object))
_MEASURES = ValueKind(
    "an object of numbers",
    _is_object_of(lambda value: value is None or _is_number(value)),
    or_null=False,
)
_LEDGERS = ValueKind(
    "an object of lists of rows, each with its class and numbers",
    _is_object_of(
        _is_list_of(
            lambda row: (
                _is_object(row)
                and all(
                    name == "class" or value is None or _is_number(value)
                    for name, value in row.items()
                )
            )
        )
    ),
)
_NAMES = ValueKind(
    "a text, or an object or list of texts",
    lambda value: _is_text(value) or _is_list_of(_is_text)(value) or _is_object_of(_is_text)(value),
)
_FINDINGS = ValueKind(
    "a list of objects with rule, action, what, unit and count",
    _is_list_of(
        lambda value: (
            _is_object(value)
            and all(_is_text(value.get(name)) for name in ("rule", "action", "what", "unit"))
            and _is_count(value.get("count"))
        )
    ),
    or_null=False,
)
_RESOURCES = ValueKind(
    "an object of resources with capacity, jobs and shares",
    _is_object_of(
        lambda value: (
            _is_object(value)
            and all(_is_count(value.get(name)) for name in ("capacity", "jobs"))
            and _is_object(value.get("share"))
            and all(
                value["share"].get(state) is None or _is_number(value["share"][state])
                for state in STATES
            )
        )
    ),
)
_FILE: Shape = MappingProxyType({"path": _TEXT, "sha256": _TEXT, "jobs": _COUNT, "model": _TEXT})
_WAITS: Shape = MappingProxyType(
    {
        "wait": Needed({name: Needed(_NUMBER) for name in ("mean", "median", "p95")}),
        "bounded_slowdown": Needed(_MEASURES),
    }
)
_NUMBERS_OF_RUNS = [
    (what.path, _COUNT if what.kind == "count" else _NUMBER)
    for what in CATALOGUE
    if what.name != "procs" and (what.tables or what.kind == "count")
]
_DESCRIBED = ValueKind(
    "an object of measures with label, unit, better end and bounds",
    _is_object_of(
        lambda value: (
            _is_object(value)
            and all(_is_text(value.get(name)) for name in ("label", "unit", "better"))
            and all(_is_number(value.get(name, 0.0)) for name in ("low", "high"))
        )
    ),
    or_null=False,
)

SUMMARY: Shape = MappingProxyType(
    {
        "procs": Needed(_PROCESSORS),
        "policy": Needed(_TEXT),
        "wait": Needed(_MEASURES),
        "recorded": {
            "jobs": Needed(_COUNT),
            **_WAITS,
            "simulated": Needed(_WAITS),
        },
        **{name: _MEASURES for name in DISTRIBUTIONS if name != "wait"},
        **{name: kind for (name, *within), kind in _NUMBERS_OF_RUNS if not within},
        "energy": {
            **{within[0]: kind for (name, *within), kind in _NUMBERS_OF_RUNS if name == "energy"},
            **dict.fromkeys(("power_model", "currency"), _TEXT),
        },
        "measures": _DESCRIBED,
        "ledger": _LEDGERS,
        "resources": _RESOURCES,
        "not_modelled": _TEXTS,
        "cleaning": {"source": _TEXT, "read": _COUNT, "kept": _COUNT, "findings": _FINDINGS},
        "provenance": {
            "options": {
                **dict.fromkeys(("format", "log_format", "width"), _TEXT),
                "columns": _NAMES,
            },
            "input": _FILE,
            "cluster": {"path": _TEXT, "sha256": _TEXT},
            "files": _TEXTS,
        },
    }
)
"""Of ``summary.json``; further fields may be there."""
COMPARISON: Shape = MappingProxyType({"folders": _TEXTS})
"""Of ``compare.json``."""
STUDY: Shape = MappingProxyType(
    {
        **dict.fromkeys(("keys", "objectives", "maximised"), _TEXTS),
        "replications": _COUNT,
        "power_model": _TEXT,
        "measures": _DESCRIBED,
        "options": {"set": _TEXTS},
        "inputs": _OBJECTS,
    }
)
"""Of ``study.json``."""
FRONT: Shape = MappingProxyType(
    {
        "objectives": _TEXTS,
        "reference": _NUMBERS,
        "points": ValueKind(
            "a list of points with values and a share",
            _is_list_of(
                lambda point: (
                    _is_object(point)
                    and _is_object(point.get("values", {}))
                    and _is_number(point.get("share", 0.0))
                )
            ),
            or_null=False,
        ),
        "hypervolume_interval": {
            **{name: Needed(_NUMBER) for name in ("estimate", "level")},
            # One replication has no spread.
            **dict.fromkeys(("low", "high"), _NUMBER),
            "n": Needed(_COUNT),
            "method": _TEXT,
        },
    }
)
"""Of ``front.json``."""


def check_own(path: Path, summary: Mapping[str, Any]) -> None:
    """Raise OptionError where a measure that a summary describes is no number there."""
    check_document(path, summary, dict.fromkeys(summary.get("measures") or (), _NUMBER))


def check_document(path: Path, value: Mapping[str, Any], shape: Shape, within: str = "") -> None:
    """Raise OptionError with file and field where a document is not of a shape."""
    for key, kind in shape.items():
        name, given = f"{within}{key}", value.get(key)
        if isinstance(kind, Needed):
            if given is None:
                raise OptionError(f"{path}, field '{name}': is missing; run it again")
            kind = kind.kind
        or_null = isinstance(kind, ValueKind) and kind.or_null
        if given is None and (or_null or key not in value):
            continue
        if isinstance(kind, Mapping):
            if not isinstance(given, dict):
                raise _wrong(path, name, "an object", given)
            check_document(path, given, kind, f"{name}.")
        elif not kind.accepts(given):
            raise _wrong(path, name, kind.words, given)


def _wrong(path: Path, name: str, words: str, given: Any) -> OptionError:
    kind = type(given).__name__
    shown = json.dumps(given)[:40] if isinstance(given, _SHOWN) else f"of type {kind}"
    return OptionError(f"{path}, field '{name}': must be {words}, is {shown}; run it again")


class _CheckedTable(NamedTuple):
    """A table that is being checked."""

    path: Path
    columns: Columns

    def problem(self, column: str, what: str) -> OptionError:
        return OptionError(f"{self.path}, column '{column}': {what}; run it again")

    def need(self, names: Sequence[str]) -> None:
        """Raise OptionError unless all columns are there, with numbers in them."""
        for name in names:
            if name not in self.columns:
                raise self.problem(name, "is missing")
            self.numbers(name)

    def numbers(self, name: str) -> None:
        values = self.columns[name]
        if values.dtype.kind not in "iuf":
            raise self.problem(name, "must have numbers")
        self.refuse(name, np.abs(values.astype(np.float64)) > _LARGEST, "is too large")

    def refuse(self, name: str, rows: NDArray[np.bool_], what: str) -> None:
        """Raise OptionError that names the first row of those to be refused."""
        at = np.flatnonzero(rows)
        if at.size:
            value = self.columns[name][at[0]]
            raise self.problem(name, f"row {at[0] + 1} {what} ({value})")

    def finite(self, names: Sequence[str], rows: NDArray[np.bool_] | None = None) -> None:
        for name in names:
            unknown = ~np.isfinite(self.columns[name].astype(np.float64))
            self.refuse(name, unknown if rows is None else unknown & rows, "is no number")

    def counts(self, name: str, least: int, most: int, rows: NDArray[np.bool_]) -> None:
        values = self.columns[name]
        wrong = (values < least) | (values > most) | (values != np.floor(values))
        self.refuse(name, wrong & rows, f"is not a whole number from {least} to {most:,}")

    def intervals(self, rows: NDArray[np.bool_]) -> None:
        backwards = rows & (self.columns["end"] < self.columns["start"])
        self.refuse("end", backwards, "is before the start")


_NEEDED = ("job", "submit", "start", "end", "wait", "procs", "bounded_slowdown")
_FURTHER = ("service", "sojourn", "slowdown", "energy")


def check_jobs(path: Path, columns: Columns, summary: Mapping[str, Any]) -> None:
    """Raise OptionError where a job table cannot be that of the run of a summary."""
    table = _CheckedTable(path, columns)
    table.need([*_NEEDED, *(name for name in _FURTHER if name in columns)])
    size, expected = len(columns["job"]), summary.get("jobs")
    if expected is not None and size != expected:
        raise OptionError(
            f"{path}: has {size:,} jobs, summary.json says {expected:,}; run it again"
        )
    if not size:
        raise OptionError(f"{path}: has no jobs; there is nothing to report")
    table.finite(["job", "submit"])
    start = columns["start"].astype(np.float64)
    table.refuse("start", np.isinf(start), "is no number")
    ran = np.isfinite(start)
    table.finite([*(name for name in _NEEDED if name != "start"), "procs"], ran)
    table.finite([name for name in ("service", "sojourn", "slowdown") if name in columns], ran)
    table.counts("job", -(2**53), 2**53, np.ones(size, bool))
    table.counts("procs", 0, int(summary["procs"]), ran)
    table.intervals(ran)
    table.refuse("wait", ran & (columns["wait"] < 0), "is negative")


def check_runs(path: Path, table: pa.Table) -> None:
    """Raise OptionError where a table has not the runs of a study."""
    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise OptionError(f"{path}, column '{field.name}': has lists; run the study again")
    for name in ("run_id", "replication", "status"):
        if name not in table.column_names:
            raise OptionError(f"{path}, column '{name}': is missing; run the study again")
    column = table["replication"]
    if not pa.types.is_integer(column.type) or column.null_count:
        raise OptionError(
            f"{path}, column 'replication': must have whole numbers; run the study again"
        )


def check_trajectory(path: Path, columns: Columns) -> None:
    """Raise OptionError where a trajectory is none."""
    table = _CheckedTable(path, columns)
    stranded = (name for name in columns if name.endswith("_stranded"))
    names = ("time", "queued", "busy", *(("power",) if "power" in columns else ()), *stranded)
    table.need(names)
    table.finite(names)
    for name in names[1:]:
        table.refuse(name, columns[name] < 0, "is negative")
    back = np.diff(columns["time"].astype(np.float64), prepend=-np.inf) < 0
    table.refuse("time", back, "is before the row above it")


def check_nodes(path: Path, columns: Columns, procs: int) -> None:
    """Raise OptionError where nodes are not those of a machine of so many processors."""
    table = _CheckedTable(path, columns)
    if "node" not in columns:
        raise table.problem("node", "is missing")
    table.need(["procs"])
    table.finite(["procs"])
    size = len(columns["procs"])
    table.counts("procs", 1, procs, np.ones(size, bool))
    if int(columns["procs"].sum()) != procs:
        raise table.problem("procs", f"does not add up to the {procs:,} of summary.json")
    names = [str(name) for name in columns["node"]]
    if len(set(names)) < size:
        raise table.problem("node", "has a name twice")


def check_schedule(path: Path, columns: Columns, jobs: Columns, nodes: Columns | None) -> None:
    """Raise OptionError where a schedule is not that of some jobs and nodes."""
    table = _CheckedTable(path, columns)
    names = ("job", "procs", "start", "end")
    table.need(names)
    table.finite(names)
    every = np.ones(len(columns["job"]), bool)
    table.counts("procs", 1, _PROCS, every)
    table.intervals(every)
    table.refuse("job", ~np.isin(columns["job"], jobs["job"]), "is not in the job table")
    if "node" not in columns:
        raise table.problem("node", "is missing")
    if nodes is not None:
        known = {str(name) for name in nodes["node"]}
        unknown = np.array([str(name) not in known for name in columns["node"]], bool)
        table.refuse("node", unknown, "is not among the nodes")
