"""Data frames of pandas, tables of Arrow and Parquet files, as jobs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError, OptionError
from ...files.access import largest_log, read_bytes
from ...files.staging import atomic_path
from ..header import AS_NUMBERS
from ..schema import LABEL
from ..table import Jobs
from ._columns import choose
from ._sheet import Sheet, finished
from ._values import Unreadable

if TYPE_CHECKING:
    import pandas as pd

# -1 stands for what is not known everywhere but here, where it would be a time.
_WITHOUT_GAPS = ("submit", "interarrival")

Cells = Sequence[str] | NDArray[Any]


def cells_of(column: Any, field: str) -> tuple[Cells, tzinfo | None]:
    """Return the values of an Arrow column, and the time zone of its dates if it has one.

    Raises Unreadable for a type that holds neither numbers, times nor texts.
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


_NO_FRAME = "a {} is no data frame; give one of pandas, or Jobs of its columns"


def jobs_of(frame: Any, mapping: Mapping[str, str] | None, timezone: str | None) -> Jobs:
    """Return the jobs of a data frame; see `Jobs.from_pandas`."""
    names, column = _columns(frame)
    choice = choose(names, mapping, "the frame")
    sheet = Sheet(choice, timezone)
    try:
        for ours, theirs in choice.columns.items():
            sheet.add_from(ours, partial(column, names.index(theirs)))
        return sheet.jobs(header=_header(frame))
    except Unreadable as error:
        row = "" if error.row is None else f", row {error.row}"
        raise OptionError(f"the frame, field '{error.field}'{row}: {error.problem}") from None


def frame_of(jobs: Jobs, columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return the stored columns of jobs as a data frame; see `Jobs.to_pandas`."""
    import pandas as pd

    made: dict[str, Any] = dict(columns)
    for name in jobs.named:
        if name not in AS_NUMBERS:
            codes, names = jobs.coded(name)
            made[name] = pd.Categorical.from_codes(codes, categories=pd.Index(names, dtype=str))
    frame = pd.DataFrame(made)
    if jobs.header:
        frame.attrs["header"] = list(jobs.header)
    return frame


def _header(frame: Any) -> list[str]:
    """Return the header that `frame_of` left with a frame, if it did."""
    lines = getattr(frame, "attrs", {}).get("header", [])
    is_header = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    return lines if is_header else []


def _columns(frame: Any) -> tuple[list[str], Any]:
    """Return the names of a frame's columns, and a function of a place that reads one."""
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        if frame.columns.nlevels > 1:
            raise OptionError("the frame has column names of several levels; give it plain ones")
        names = [str(name) for name in frame.columns]
        return names, lambda place, field: cells_of_series(frame.iloc[:, place], field)
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            table = pa.table(frame)
        except (pa.ArrowException, TypeError, ValueError):
            raise OptionError(_NO_FRAME.format(type(frame).__name__)) from None
        return list(table.column_names), lambda place, field: cells_of(table.column(place), field)
    raise OptionError(_NO_FRAME.format(type(frame).__name__))


_KEY = b"sojourn"
_CELL = 8
"""Bytes of a number; a few bytes of a file may stand for any number of equal ones."""


def write_parquet(jobs: Jobs, path: str | os.PathLike[str]) -> None:
    """Write jobs to a Parquet file, atomically."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    note = json.dumps({"header": list(jobs.header), "source": jobs.source})
    names = (*jobs.names, LABEL) if jobs.has_labels else jobs.names
    table = pa.table({name: jobs[name] for name in names})
    # Arrow opens no file whose name is not text in UTF-8.
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        pq.write_table(table.replace_schema_metadata({_KEY: note.encode()}), file)


def read_parquet(
    path: str | os.PathLike[str],
    mapping: Mapping[str, str] | None = None,
    *,
    timezone: str | None = None,
) -> Jobs:
    """Read jobs from a Parquet file.

    Parameters
    ----------
    path : the file.
    mapping : our column name -> the file's, as `columns` of `read_csv`.
    timezone : of dates that name none, such as ``Europe/Moscow``; None: as they stand, as in UTC.

    Notes
    -----
    Dates, lengths of time and names are read as by `read_csv`, whichever type they have.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = read_bytes(path)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LogError(
            path, f"is not a Parquet file ({_reason(error)}); check its format"
        ) from None
    choice = choose(names, mapping, "the file", lambda message: LogError(path, message))
    if file.metadata.num_rows * len(choice.columns) * _CELL > largest_log():
        rows = file.metadata.num_rows
        raise LogError(path, f"holds {rows} rows, more than fit into memory; give a part of it")
    try:
        table = file.read(columns=list(dict.fromkeys(choice.columns.values())))
        note = _note(file.schema_arrow.metadata or {})
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LogError(path, f"is damaged ({_reason(error)}); fetch the file again") from None
    sheet = Sheet(choice, timezone)
    try:
        for ours, theirs in choice.columns.items():
            sheet.add_from(ours, partial(cells_of, table[theirs]))
    except Unreadable as error:
        row = "" if error.row is None else f"row {error.row + 1}: "
        raise LogError(path, row + error.problem, field=error.field) from None
    except (pa.ArrowException, ValueError) as error:
        raise LogError(path, f"is damaged ({_reason(error)}); fetch the file again") from None
    return finished(sheet, path, source=note["source"] or str(path), header=note["header"])


def _reason(error: Exception) -> str:
    """Return the first line of a message; bytes of a damaged file in it are not shown."""
    first = str(error).partition("\n")[0]
    return "".join(char if char.isprintable() else "?" for char in first)[:200]


def _note(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return the header and source that `write_parquet` left, or empty ones."""
    note = json.loads(metadata.get(_KEY, b"{}"))
    if not isinstance(note, dict):
        raise ValueError("a note of sojourn that is none")
    header, source = note.get("header") or [], note.get("source") or ""
    if not (isinstance(header, list) and all(isinstance(line, str) for line in header)):
        raise ValueError("a header that is no list of lines")
    return {"header": header, "source": str(source)}
