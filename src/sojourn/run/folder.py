"""A run on disk: tables of jobs, schedule and trajectory, and the summary with its provenance.

Large tables are written piece by piece: memory does not grow with them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..__about__ import __version__
from ..errors import OptionError
from ..files.access import check_outputs
from ..files.staging import Stage, check_file, check_folder, staged
from .classes import class_rows

if TYPE_CHECKING:
    from .result import Result

__all__ = [
    "FORMATS",
    "Write",
    "as_cell",
    "as_json",
    "check_file",
    "check_folder",
    "check_run",
    "class_tables",
    "provenance",
    "put_rows",
    "staged",
    "write_rows",
    "write_run",
]

FORMATS = ("parquet", "csv", "swf")
"""What the job table can be written as."""

_SUMMARY, _NODES, _DECISIONS = "summary.json", "nodes.csv", "decisions.log"
_CLASSES = "classes.csv"
_OURS = {
    _SUMMARY,
    _NODES,
    _DECISIONS,
    _CLASSES,
    "overview.png",
    "fragmentation.png",
    "node-states.png",
    "clean-hours.png",
    *(f"{table}.{suffix}" for table in ("trajectory", "schedule") for suffix in ("parquet", "csv")),
    *(f"jobs.{suffix}" for suffix in FORMATS),
}

Write = Callable[[Path], object]

Columns = Callable[[int, int], Mapping[str, Any]]
# Words that the numbers of a column stand for, by column.
Words = Mapping[str, Sequence[str]]

_ROWS = 1 << 17
_FORMULA = re.compile(r"[=+\-@\t\r](?!(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$)")
_SIGNS = set('",\r\n')


def write_run(
    result: Result,
    folder: str | os.PathLike[str] | Stage,
    name: str = "",
    *,
    format: str = "parquet",
    trajectory: bool = True,
    by: Sequence[str] = (),
    extras: Mapping[str, Write] | None = None,
    origin: Mapping[str, Any] | None = None,
    measure: Callable[[], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Write a run to a folder, all of it or nothing.

    A run on named nodes has the whole schedule and its nodes too, and its decisions if they were
    kept.

    Parameters
    ----------
    result : the run.
    folder : made if it is not there. A run that is there is replaced. Or a stage, as of `staged`,
        for a run that gets its place together with other files.
    name : of the run's folder within that one; empty: that folder itself.
    format : of the job table; with ``swf`` it is the log with the simulated waits in it.
    trajectory : write the trajectory too (like the schedule as CSV beside a job table in CSV, else
        as Parquet).
    by : classes of jobs, as `Result.by` takes them: their measures go to ``classes.csv`` and into
        the summary.
    extras : further files by name, such as ``overview.png``, and what writes each to a path.
    origin : provenance to put into the summary, as from `provenance`.
    measure : returns the summary of the run, while its tables are written; default: as it is.

    Returns
    -------
    dict
        What was written as ``summary.json``.
    """
    if format not in FORMATS:
        raise OptionError(f"format '{format}' is unknown; choose {', '.join(FORMATS)}")
    within = f"{name}/" if name else ""
    with contextlib.nullcontext(folder) if isinstance(folder, Stage) else staged(folder) as stage:
        tables = _tables(result, format, trajectory)
        classes = class_tables(result, by)
        later = {**_texts(result, classes), **(extras or {})}
        files = [*tables, *later, _SUMMARY]
        if result.cluster.is_named:
            # All of them need the energy bill, and some what was held: made once, before they go
            # different ways.
            result.power_steps  # noqa: B018
            if trajectory:
                result.fragmentation  # noqa: B018
        # Compression lets go of the interpreter lock: two tables and the summary at a time.
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(write, stage(within + file)) for file, write in tables.items()]
            summary = {
                **(measure() if measure else result.summary),
                **({"classes": classes} if classes else {}),
            }
            summary["provenance"] = {**(origin or provenance("", {})), "files": files}
            for task in tasks:
                task.result()
        for file, write in later.items():
            write(stage(within + file))
        for file in _files_of_former_run(stage.folder / name) - set(files):
            stage.remove(within + file)
        # Last: it gets its place when all that it speaks of is there.
        stage(within + _SUMMARY).write_text(as_json(summary) + "\n", encoding="utf-8")
        return summary


def class_tables(result: Result, by: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the measures of each class of jobs as rows, by what jobs are classed by."""
    return {name: class_rows(result.by(name)) for name in by}


def check_run(
    folder: str | os.PathLike[str],
    *,
    format: str,
    trajectory: bool,
    named: bool,
    classes: bool = False,
) -> None:
    """Raise OptionError, before the work is done, if a run would replace what the command reads.

    Parameters
    ----------
    folder, format, trajectory : as for `write_run`.
    named : whether it is a run on named nodes.
    classes : whether measures of classes of jobs are written.
    """
    files = {_SUMMARY, *_table_names(format, trajectory, named)}
    files |= {_NODES} if named else set()
    files |= {_CLASSES} if classes else set()
    check_outputs(Path(folder) / file for file in files | _files_of_former_run(Path(folder)))


def _table_names(format: str, trajectory: bool, named: bool) -> list[str]:
    suffix = "csv" if format == "csv" else "parquet"
    names = [f"jobs.{format}"]
    names += [f"schedule.{suffix}"] if named else []
    return names + ([f"trajectory.{suffix}"] if trajectory else [])


def _tables(result: Result, format: str, trajectory: bool) -> dict[str, Write]:
    """The large tables of a run by name, and what writes each."""
    writers: dict[str, Write] = {
        "jobs": lambda path: _write_jobs(result, path, format),
        "schedule": lambda path: _write_schedule(result, path),
        "trajectory": lambda path: _write_trajectory(result, path),
    }
    names = _table_names(format, trajectory, result.cluster.is_named)
    return {name: writers[name.partition(".")[0]] for name in names}


def _texts(result: Result, classes: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Write]:
    """The small tables and the texts of a run by name, and what writes each."""
    texts: dict[str, Write] = {}
    if result.cluster.is_named:
        texts[_NODES] = lambda path: _write_nodes(result, path)
    if result.options.decisions:
        texts[_DECISIONS] = lambda path: _write_lines(path, result.decisions.lines())
    if classes:
        rows = [{"by": by, **row} for by, part in classes.items() for row in part]
        texts[_CLASSES] = lambda path: put_rows(path, rows)
    return texts


def _write_nodes(result: Result, path: Path) -> None:
    texts = {name: result.nodes[name].map(as_cell) for name in ("node", "model")}
    result.nodes.assign(**texts).to_csv(path, index=False, lineterminator="\n")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _files_of_former_run(folder: Path) -> set[str]:
    """Names of the files that a run left here, so that none of them outlives its summary."""
    try:
        summary = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        return {name for name in summary["provenance"]["files"] if name in _OURS}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _write_jobs(result: Result, path: Path, format: str) -> None:
    if format == "swf":
        from ..jobs import write_swf

        jobs, note = result.as_log(), f"waits simulated by sojourn {__version__}: {result.policy}"
        write_swf(jobs, path, header=[*jobs.header, f"; Note: {note}"])
        return
    write_table(path, len(result), result.job_columns, result.categories)


def _write_trajectory(result: Result, path: Path) -> None:
    write_table(path, result.instants, result.trajectory_columns, {})


def _write_schedule(result: Result, path: Path) -> None:
    columns = result.allocation_columns()
    names = {"node": [node.name for node in result.cluster.nodes]}

    def rows(first: int, last: int) -> Mapping[str, Any]:
        return {name: values[first:last] for name, values in columns.items()}

    write_table(path, len(columns["job"]), rows, names)


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

    known = {name: _as_strings(spelt) for name, spelt in words.items()}
    for first in range(0, max(rows, 1), _ROWS):
        piece = columns(first, first + _ROWS)
        arrays = [
            pa.DictionaryArray.from_arrays(_places(values), known[name])
            if name in words
            else _numbers(values, gaps=gaps)
            for name, values in piece.items()
        ]
        yield pa.record_batch(arrays, names=list(piece))


def _as_strings(words: Sequence[str]) -> Any:
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
