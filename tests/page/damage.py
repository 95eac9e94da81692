"""Damaged folders: one file of a folder at a time, in all the ways that files go wrong."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

Damage = tuple[str, bytes | None]
"""What was done, and what the file holds afterwards; None: it is gone."""

VALUES = (None, True, -1, 0, 1e308, -1e308, 10**30, "text", "", [], [None], {}, {"a": {}}, [[1]])


def damages(path: Path) -> Iterator[Damage]:
    """Yield every damage to a file."""
    content = path.read_bytes()
    yield "deleted", None
    yield "empty", b""
    for part in (1, len(content) // 2, len(content) - 2):
        yield f"cut to {part} bytes", content[:part]
    yield "not UTF-8", content[:40] + b"\xff\xfe\x80" + content[40:]
    yield "noise", np.random.default_rng(1).bytes(200)
    if path.suffix == ".json":
        yield from _of_json(json.loads(content))
    elif path.suffix == ".parquet":
        yield from _of_table(pq.ParquetFile(io.BytesIO(content)).read(), _as_parquet)
    elif path.suffix == ".csv":
        yield from _of_table(pc.read_csv(io.BytesIO(content)), _as_csv)
    elif path.suffix == ".swf":
        yield "words", content.replace(b" 1 ", b" x ")
        yield "infinite", content.replace(b" 1 ", b" 1e999 ")


def _of_json(value: Any) -> Iterator[Damage]:
    for other in VALUES:
        yield f"all is {other!r}", json.dumps(other).encode()
    yield "NaN", json.dumps(value).replace(": 0", ": NaN").encode()
    yield "deep", b"[" * 100_000
    yield "digits", b'{"procs": ' + b"9" * 5000 + b"}"
    for path in _paths(value):
        name = ".".join(map(str, path))
        yield f"without {name}", _dumped(value, path, drop=True)
        for other in VALUES:
            yield f"{name} is {other!r}", _dumped(value, path, other)


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (key,)
        if isinstance(inner, dict | list):
            yield from ((key, *rest) for rest in _paths(inner))


def _dumped(value: Any, path: tuple[Any, ...], new: Any = None, *, drop: bool = False) -> bytes:
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return json.dumps(copy).encode()


def _as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _as_csv(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pc.write_csv(table, out)
    return out.getvalue()


def _of_table(table: pa.Table, as_bytes: Any) -> Iterator[Damage]:
    names, rows = table.column_names, table.num_rows
    yield "no rows", as_bytes(table.slice(0, 0))
    yield "one row", as_bytes(table.slice(0, 1))
    yield "half of the rows", as_bytes(table.slice(0, rows // 2))
    yield "rows twice", as_bytes(pa.concat_tables([table, table]))
    yield "no columns", as_bytes(table.select([]))
    yield "columns in another order", as_bytes(table.select(names[::-1]))
    yield "names moved by one", as_bytes(table.rename_columns([*names[1:], names[0]]))
    for i, name in enumerate(names):
        yield f"without {name}", as_bytes(table.drop_columns([name]))
        kinds: dict[str, Any] = {
            "words": ["word"] * rows,
            "nothing": pa.nulls(rows),
            "NaN": np.full(rows, np.nan),
            "infinite": np.full(rows, np.inf),
            "negative": np.full(rows, -5),
            "huge": np.full(rows, 1e300),
            "truth": np.zeros(rows, bool),
            "lists": pa.array([[1]] * rows),
            "times": pa.array(np.arange(rows), pa.timestamp("s")),
            "downwards": np.arange(rows, 0.0, -1.0),
        }
        if rows:
            gap = np.arange(rows, dtype=float)
            gap[0] = np.nan
            kinds["a gap"] = pa.array(gap, from_pandas=True)
        for kind, values in kinds.items():
            try:
                changed = table.set_column(i, name, pa.array(values))
                yield f"{name}: {kind}", as_bytes(changed)
            except pa.ArrowException:  # CSV has no lists.
                continue
        yield (
            f"{name} twice",
            as_bytes(table.append_column(name, table.column(i))),
        )
