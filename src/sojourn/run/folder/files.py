"""JSON, provenance, and tables: large ones are written piece by piece, within the same memory."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...__about__ import __version__
from ...files.staging import check_file, check_folder, staged

__all__ = [
    "Columns",
    "Words",
    "as_cell",
    "as_json",
    "check_file",
    "check_folder",
    "provenance",
    "put_rows",
    "staged",
    "write_rows",
    "write_table",
]

Columns = Callable[[int, int], Mapping[str, Any]]
# Words that the numbers of a column stand for, by column.
Words = Mapping[str, Sequence[str]]

_ROWS = 1 << 17
_FORMULA = re.compile(r"[=+\-@\t\r](?!(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$)")
_SIGNS = set('",\r\n')


def as_json(value: Any) -> str:
    """Return plain values as JSON text; a number that JSON cannot say (nan, inf) becomes null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def write_rows(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV, all of them or nothing."""
    target = Path(path)
    with staged(target.parent) as place:
        put_rows(place(target.name), rows)


def put_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV to a path of a stage."""
    import csv

    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return as_cell(value) if isinstance(value, str) else value


def provenance(command: str, options: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
    """Return what is needed to make a run again: version, options, seed, time, libraries."""
    modules = ("numpy", "numba")
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {
        "version": __version__,
        "command": command,
        "options": dict(options),
        "seed": seed,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": ".".join(map(str, sys.version_info[:3])),
        **versions,
    }


def as_cell(text: str) -> str:
    """Return a text as a cell of a table in CSV: one that begins as a formula gets a ``'``.

    Spreadsheets carry formulas out when a table is opened, and names may be chosen by others.
    Numbers stay what they are.

    >>> as_cell("=1+1"), as_cell("-1.5e3"), as_cell("anna")
    ("'=1+1", '-1.5e3', 'anna')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def write_table(path: Path, rows: int, columns: Columns, words: Words) -> None:
    """Write a table as CSV or Parquet, by the suffix of the path.

    Parameters
    ----------
    path : where to.
    rows : how many there are.
    columns : returns the columns of the rows from the first number to the second.
    words : what the numbers of some columns stand for; a negative number is an empty field.
    """
    write = _write_csv if path.suffix == ".csv" else _write_parquet
    write(path, rows, columns, words)


def _batches(rows: int, columns: Columns, words: Words, *, gaps: bool) -> Iterator[Any]:
    """Yield a table as Arrow batches; `gaps` leaves nan out, as empty fields."""
    import pyarrow as pa

    known = {name: _texts(spelt) for name, spelt in words.items()}
    for first in range(0, max(rows, 1), _ROWS):
        piece = columns(first, first + _ROWS)
        arrays = [
            pa.DictionaryArray.from_arrays(_places(values), known[name])
            if name in words
            else _numbers(values, gaps=gaps)
            for name, values in piece.items()
        ]
        yield pa.record_batch(arrays, names=list(piece))


def _texts(words: Sequence[str]) -> Any:
    """Return words as an array of Arrow; not by ``pyarrow.array``, as `_as_arrow` says."""
    import pyarrow as pa

    spelt = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, spelt)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(spelt))]
    return pa.Array.from_buffers(pa.string(), len(spelt), buffers)


def _numbers(values: Any, *, gaps: bool) -> Any:
    """Return a column as Arrow has it; `gaps` leaves nan out."""
    import pyarrow as pa

    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return pa.array(values, from_pandas=gaps)
    unknown = np.isnan(values) if gaps and values.dtype.kind == "f" else None
    return _as_arrow(values, unknown)


def _places(values: NDArray[np.integer[Any]]) -> Any:
    """Return places in a list of words as Arrow has them: without the -1 of what is not known."""
    return _as_arrow(values, values < 0)


def _as_arrow(values: NDArray[Any], unknown: NDArray[np.bool_] | None) -> Any:
    """Return numbers as an array of Arrow that shares their memory, with gaps where `unknown`.

    ``pyarrow.array`` imports all of pandas, to see whether it was given something of it: longer
    than a million rows take to write.
    """
    import pyarrow as pa

    known = None
    if unknown is not None and unknown.any():
        known = pa.py_buffer(np.packbits(~unknown, bitorder="little"))
    memory = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, memory])


def _write_parquet(path: Path, rows: int, columns: Columns, words: Words) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches = _batches(rows, columns, words, gaps=False)
    first = next(batches)
    reals = [field.name for field in first.schema if pa.types.is_floating(field.type)]
    spelt = [field.name for field in first.schema if pa.types.is_dictionary(field.type)]
    numbers = [name for name in first.schema.names if name not in spelt]
    # Arrow opens no file whose name is not text in UTF-8.
    with (
        open(path, "wb") as file,
        pq.ParquetWriter(
            file,
            first.schema,
            compression="lz4",
            use_dictionary=spelt or False,
            # Nobody looks for the least of names, and it takes longer than writing them.
            write_statistics=numbers or False,
            use_byte_stream_split=reals,
        ) as writer,
    ):
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _write_csv(path: Path, rows: int, columns: Columns, words: Words) -> None:
    import pyarrow as pa
    import pyarrow.csv as pc

    words = {name: [as_cell(word) for word in every] for name, every in words.items()}
    batches = _batches(rows, columns, words, gaps=True)
    first = next(batches)
    texts = any(pa.types.is_string(field.type) for field in first.schema)
    quoted = texts or any(_SIGNS & set(word) for spelt in words.values() for word in spelt)
    style = "needed" if quoted else "none"
    options = pc.WriteOptions(include_header=False, quoting_style=style)
    with open(path, "wb") as file:
        # Arrow would put the names in quotes.
        file.write((",".join(first.schema.names) + "\n").encode())
        with pc.CSVWriter(file, first.schema, write_options=options) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
