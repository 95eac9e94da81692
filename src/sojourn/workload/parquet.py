"""Parquet files: all stored columns, and the header and source in the file's metadata."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from typing import Any

from ..errors import InputError, LogError
from ._columns import assemble, choose
from ._files import atomic_path, read_bytes
from .jobs import LABEL, Jobs

__all__ = ["read_parquet", "write_parquet"]

_KEY = b"sojourn"


def write_parquet(jobs: Jobs, path: str | os.PathLike[str]) -> None:
    """Write jobs to a Parquet file, atomically."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    note = json.dumps({"header": list(jobs.header), "source": jobs.source})
    names = (*jobs.names, LABEL) if jobs.has_labels else jobs.names
    table = pa.table({name: jobs[name] for name in names})
    with atomic_path(path) as temporary:
        pq.write_table(table.replace_schema_metadata({_KEY: note.encode()}), temporary)


def read_parquet(path: str | os.PathLike[str], mapping: Mapping[str, str] | None = None) -> Jobs:
    """Read jobs from a Parquet file.

    Parameters
    ----------
    path : the file.
    mapping : our column name -> the file's; by default equal names, others are left aside.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = read_bytes(path)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise LogError(path, f"is not a Parquet file ({reason}); check its format") from None
    chosen = choose(names, mapping, "the file", lambda message: LogError(path, message))
    try:
        table = file.read(columns=list(chosen.values()))
        columns = {ours: table[theirs].to_numpy() for ours, theirs in chosen.items()}
        if mapping is None and LABEL in names and _is_text(file, LABEL):
            columns[LABEL] = file.read(columns=[LABEL])[LABEL].to_numpy().astype(str)
        note = json.loads((file.schema_arrow.metadata or {}).get(_KEY, b"{}"))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise LogError(path, f"is damaged ({reason}); fetch the file again") from None
    try:
        return Jobs(
            assemble(columns), header=note.get("header", ()), source=note.get("source") or str(path)
        )
    except InputError as error:
        raise LogError(path, str(error)) from None


def _is_text(file: Any, name: str) -> bool:
    """Whether a column of a Parquet file holds texts only."""
    import pyarrow as pa

    field = file.schema_arrow.field(name)
    return bool(pa.types.is_string(field.type) or pa.types.is_large_string(field.type))
