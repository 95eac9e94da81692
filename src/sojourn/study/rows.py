"""Rows of a study as tables: columns in one order and of one type, each run once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, did_you_mean
from .execute import DONE, Row
from .plan import StudyPlan, as_cell

if TYPE_CHECKING:
    import pyarrow as pa

ABOUT = ("run_id", "replication", "seed", "status", "error")
"""Columns of a run that are neither what was varied nor what was measured."""

Kinds = dict[str, Any]
"""Types of columns by name, in the order of a table."""

_TAIL = ("status", "error")


def as_table(plan: StudyPlan, rows: Sequence[Row]) -> pa.Table:
    """Rows as columns: name, keys, replication, seed, measures, status, error."""
    import pyarrow as pa

    runs = [plan.by_name[row["run_id"]] for row in rows]
    columns: dict[str, Any] = {"run_id": pa.array([run.run_id for run in runs], pa.string())}
    for place, (key, kind) in enumerate(zip(plan.keys, plan.kinds, strict=True)):
        cells = [as_cell(run.values[place]) for run in runs]
        # What a column holds does not depend on which of its values are in a part.
        columns[key] = pa.array([_as_text(cell) if kind is str else kind(cell) for cell in cells])
    columns["replication"] = pa.array([run.replication for run in runs], pa.int64())
    columns["seed"] = pa.array([run.seed for run in runs], pa.int64())
    for name in dict.fromkeys(name for row in rows for name in row["measures"]):
        values = [row["measures"].get(name) for row in rows]
        columns[name] = pa.array(values, pa.float64(), from_pandas=False)
    for name in _TAIL:
        columns[name] = pa.array([row[name] for row in rows], pa.string())
    return pa.table(columns)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def merged(tables: Sequence[pa.Table], order: Iterable[str] | None) -> pa.Table:
    """All rows, each once; one that is done counts, whatever failed before."""
    import pyarrow as pa

    if not tables:
        return pa.table({"run_id": pa.array([], pa.string())})
    kinds: Kinds = {}
    for table in tables:
        kinds = joint(kinds, table)
    whole = pa.concat_tables([fitted(table, kinds) for table in tables])
    chosen: dict[str, int] = {}
    states = whole.column("status").to_pylist()
    for place, name in enumerate(whole.column("run_id").to_pylist()):
        if name not in chosen or (states[place] == DONE and states[chosen[name]] != DONE):
            chosen[name] = place
    first = [chosen.pop(name) for name in order or () if name in chosen]
    rest = list(chosen.values()) if order is None else [chosen[name] for name in sorted(chosen)]
    return whole.take(pa.array(first + rest, pa.int64())).combine_chunks()


def joint(kinds: Kinds, table: pa.Table) -> Kinds:
    """Columns that hold what is known so far and a table too, in the order of the whole."""
    both = dict(kinds)
    for field in table.schema:
        both[field.name] = _wider(both.get(field.name, field.type), field.type)
    return {name: both.pop(name) for name in list(both) if name not in _TAIL} | both


def fitted(table: pa.Table, kinds: Kinds) -> pa.Table:
    """A table with these columns; what it does not have is null."""
    import pyarrow as pa

    columns = {}
    for name, kind in kinds.items():
        if name not in table.column_names:
            columns[name] = pa.nulls(table.num_rows, kind)
        elif pa.types.is_string(kind) and not pa.types.is_string(table.field(name).type):
            texts = [_as_text(value) for value in table.column(name).to_pylist()]
            columns[name] = pa.array(texts, kind)
        else:
            columns[name] = table.column(name).cast(kind)
    return pa.table(columns)


def _wider(one: Any, other: Any) -> Any:
    import pyarrow as pa

    if one == other:
        return one
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other))
    return pa.float64() if numbers else pa.string()


def check_known(name: str, measures: Sequence[str]) -> None:
    """Raise OptionError for a name that is not among measures, with the nearest that is."""
    if name not in measures:
        near = did_you_mean(name, measures) or f"; one is '{measures[0]}'"
        raise OptionError(f"no measure is called '{name}'{near}")
