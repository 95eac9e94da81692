"""Parquet files: all stored columns, and the header and source in the file's metadata."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...errors import LogError
from ...files.access import atomic_path, largest_log, read_bytes
from ..schema import LABEL
from ..table import Jobs
from ._arrow import cells_of
from ._cells import Unreadable
from ._columns import choose
from ._sheet import Sheet, finished

__all__ = ["read_parquet", "write_parquet"]

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
