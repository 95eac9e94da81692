"""Columns of Arrow and pandas, as arrays or texts that a sheet takes up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cells import Unreadable

__all__ = ["cells_of", "cells_of_series"]

# -1 stands for what is not known everywhere but here, where it would be a time.
_WITHOUT_GAPS = ("submit", "interarrival")

Cells = Sequence[str] | NDArray[Any]


def cells_of(column: Any, field: str) -> tuple[Cells, tzinfo | None]:
    """Return the values of an Arrow column, and the time zone of its dates if it tells one.

    Parameters
    ----------
    column : an array of Arrow, in one or several chunks.
    field : what it is to become, for the message when it cannot.

    Raises
    ------
    Unreadable
        For a type that holds neither numbers, times nor texts.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_null(kind):
        return np.full(len(column), np.nan), None
    if types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if types.is_boolean(kind) or types.is_integer(kind):
        if field in _WITHOUT_GAPS and column.null_count:
            column, kind = column.cast(pa.float64(), safe=False), pa.float64()
        else:
            return _integers(column), None
    if types.is_floating(kind):
        column = column.cast(pa.float64())
        if column.null_count:
            import pyarrow.compute as pc

            column = pc.fill_null(column, float("nan"))
        return _without_gaps(column), None
    if types.is_timestamp(kind):
        return column.to_numpy(zero_copy_only=False), None if kind.tz is None else UTC
    if types.is_date(kind) or types.is_duration(kind):
        return column.to_numpy(zero_copy_only=False), None
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return ["" if cell is None else cell for cell in column.to_pylist()], None
    raise Unreadable(None, field, f"holds values of the type {kind}; map another column to it")


def _integers(column: Any) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if not column.null_count:
        return _without_gaps(column)
    # As numbers with gaps they would become floats, of which not all keep 64 bits.
    known = _without_gaps(pc.is_valid(column).cast(pa.uint8())) > 0
    whole = _without_gaps(pc.fill_null(column, 0))
    if whole.dtype == np.uint64 and whole.max(initial=0) > np.iinfo(np.int64).max:
        return np.where(known, whole.astype(np.float64), np.nan)
    return np.where(known, whole.astype(np.int64), -1)


def _without_gaps(column: Any) -> NDArray[Any]:
    """Return numbers of which none is missing as an array of NumPy that has its own memory.

    ``to_numpy`` imports all of pandas, which takes longer than to read a million jobs.
    """
    kind = str(column.type)
    made = np.empty(len(column), "f8" if kind == "double" else kind)
    first = 0
    for chunk in getattr(column, "chunks", [column]):
        last = first + len(chunk)
        if last > first:
            place = chunk.offset * made.itemsize
            made[first:last] = np.frombuffer(chunk.buffers()[1], made.dtype, last - first, place)
        first = last
    return made


def cells_of_series(series: Any, field: str) -> tuple[Cells, tzinfo | None]:
    """Return the values of a column of pandas as `cells_of` does, whatever keeps them."""
    import pyarrow as pa

    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufbMm":
        return series.to_numpy(), None
    try:
        return cells_of(pa.array(series, from_pandas=True), field)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if series.dtype != object:
            problem = f"holds values of the type {series.dtype}; map another column to it"
            raise Unreadable(None, field, problem) from None
    known = series.notna().to_numpy()
    listed = zip(series.tolist(), known.tolist(), strict=True)
    return [str(cell) if there else "" for cell, there in listed], None
