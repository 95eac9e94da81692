"""A run on disk: tables of jobs, schedule and trajectory, and the summary with its provenance.

Everything is written to temporary names first and put in place together, so that a folder never
holds half a run. Tables are written piece by piece: memory does not grow with them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .__about__ import __version__
from .errors import OptionError, RunError

if TYPE_CHECKING:
    from .result import Result

__all__ = [
    "FORMATS",
    "Digest",
    "as_json",
    "check_folder",
    "provenance",
    "staged",
    "write_rows",
    "write_run",
]

FORMATS = ("parquet", "csv", "swf")
"""What the job table can be written as."""

_ROWS = 1 << 17
_SUMMARY, _NODES, _DECISIONS = "summary.json", "nodes.csv", "decisions.log"
_OURS = {
    _SUMMARY,
    _NODES,
    _DECISIONS,
    "overview.png",
    *(f"{table}.{suffix}" for table in ("trajectory", "schedule") for suffix in ("parquet", "csv")),
    *(f"jobs.{suffix}" for suffix in FORMATS),
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

Columns = Callable[[int, int], Mapping[str, Any]]
# Words that the numbers of a column stand for, by column.
Words = Mapping[str, Sequence[str]]
Write = Callable[[Path], object]

_SIGNS = set('",\r\n')


class Digest:
    """SHA-256 of a file, computed beside other work.

    Parameters
    ----------
    path : the file; one that cannot be read, or only once, has the digest None.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._digest: str | None = None
        self._thread = threading.Thread(target=self._compute, daemon=True)
        self._thread.start()

    def _compute(self) -> None:
        import hashlib

        with contextlib.suppress(OSError, ValueError):
            if os.path.isfile(self._path):
                with open(self._path, "rb") as file:
                    self._digest = hashlib.file_digest(file, "sha256").hexdigest()

    def hexdigest(self) -> str | None:
        """Return the digest, waiting for it if need be."""
        self._thread.join()
        return self._digest


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


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise OptionError if results could not be written to a folder, before the work is done."""
    path = Path(folder)
    try:
        if path.exists() and not path.is_dir():
            raise OptionError(f"{folder}: is a file, results go to a folder; name another")
        while not path.exists():
            path = path.parent
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{folder}: cannot be a folder ({reason}); name another") from None
    if not path.is_dir():
        raise OptionError(f"{folder}: {path} is a file, not a folder; name another")
    if not os.access(path, os.W_OK | os.X_OK):
        raise OptionError(f"{folder}: {path} cannot be written to; name another folder")


@contextlib.contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Callable[[str], Path]]:
    """Yield a function from a file's name to a temporary path of the same suffix.

    At the end all files get their names; on any error none does, and folders made for them go.
    """
    target = Path(folder)
    check_folder(target)
    waiting: dict[str, Path] = {}
    made: list[Path] = []

    def place(name: str) -> Path:
        stem, dot, suffix = name.rpartition(".")
        waiting[name] = target / f".{stem}.{os.getpid()}.tmp{dot}{suffix}"
        return waiting[name]

    done = False
    try:
        for part in [*reversed(target.parents), target]:
            if not part.exists():
                part.mkdir(exist_ok=True)
                made.append(part)
        yield place
        for name, temporary in waiting.items():
            os.replace(temporary, target / name)
        done = True
    except OSError as error:
        reason = error.strerror or error
        kind = RunError if error.errno in _FULL else OptionError
        raise kind(f"{folder}: cannot be written ({reason}); check the folder") from None
    finally:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)
        if not done:
            for part in reversed(made):
                with contextlib.suppress(OSError):
                    part.rmdir()


def write_rows(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV, all of them or nothing."""
    import csv

    target = Path(path)
    with staged(target.parent) as place, open(place(target.name), "w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def write_run(
    result: Result,
    folder: str | os.PathLike[str],
    *,
    format: str = "parquet",
    trajectory: bool = True,
    extras: Mapping[str, Write] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a run to a folder, all of it or nothing.

    A run on named nodes has the whole schedule and its nodes too, and its decisions if they were
    kept.

    Parameters
    ----------
    result : the run.
    folder : made if it is not there. A run that is there is replaced.
    format : of the job table; with ``swf`` it is the log with the simulated waits in it.
    trajectory : write the trajectory too (like the schedule as CSV beside a job table in CSV, else
        as Parquet).
    extras : further files by name, such as ``overview.png``, and what writes each to a path.
    origin : provenance to put into the summary, as from `provenance`.

    Returns
    -------
    dict
        What was written as ``summary.json``.
    """
    if format not in FORMATS:
        raise OptionError(f"format '{format}' is unknown; choose {', '.join(FORMATS)}")
    former = _files_of_former_run(Path(folder))
    tables = _tables(result, format, trajectory)
    later = {**_texts(result), **(extras or {})}
    if result.cluster.is_named:
        # All of them need the energy bill: made once, before they go different ways.
        result.power_steps  # noqa: B018
    with staged(folder) as place:
        files = [*tables, *later]
        # Compression lets go of the interpreter lock: two tables and the summary at a time.
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(write, place(name)) for name, write in tables.items()]
            told = dict(result.summary)
            told["provenance"] = {**(origin or provenance("", {})), "files": [*files, _SUMMARY]}
            for task in tasks:
                task.result()
        for name, write in later.items():
            write(place(name))
        place(_SUMMARY).write_text(as_json(told) + "\n", encoding="utf-8")
    for name in former - set(files) - {_SUMMARY}:
        (Path(folder) / name).unlink(missing_ok=True)
    return told


def _tables(result: Result, format: str, trajectory: bool) -> dict[str, Write]:
    """The large tables of a run by name, and what writes each."""
    suffix = "csv" if format == "csv" else "parquet"
    tables: dict[str, Write] = {f"jobs.{format}": lambda path: _write_jobs(result, path, format)}
    if result.cluster.is_named:
        tables[f"schedule.{suffix}"] = lambda path: _write_schedule(result, path)
    if trajectory:
        tables[f"trajectory.{suffix}"] = lambda path: _write_trajectory(result, path)
    return tables


def _texts(result: Result) -> dict[str, Write]:
    """The texts of a run on named nodes by name, and what writes each."""
    texts: dict[str, Write] = {}
    if result.cluster.is_named:
        texts[_NODES] = lambda path: result.nodes.to_csv(path, index=False, lineterminator="\n")
    if result.options.decisions:
        texts[_DECISIONS] = lambda path: _write_lines(path, result.decisions.lines())
    return texts


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _files_of_former_run(folder: Path) -> set[str]:
    """Names of the files that a run left here, so that none of them outlives its summary."""
    try:
        told = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        return {name for name in told["provenance"]["files"] if name in _OURS}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _write_jobs(result: Result, path: Path, format: str) -> None:
    if format == "swf":
        from .workload import write_swf

        jobs, note = result.as_log(), f"waits simulated by sojourn {__version__}: {result.policy}"
        write_swf(jobs, path, header=[*jobs.header, f"; Note: {note}"])
        return
    from .result import CATEGORIES

    _writer(path)(path, len(result), result.job_columns, CATEGORIES)


def _write_trajectory(result: Result, path: Path) -> None:
    _writer(path)(path, result.instants, result.trajectory_columns, {})


def _write_schedule(result: Result, path: Path) -> None:
    columns = result.allocation_columns()
    names = {"node": [node.name for node in result.cluster.nodes]}

    def rows(first: int, last: int) -> Mapping[str, Any]:
        return {name: values[first:last] for name, values in columns.items()}

    _writer(path)(path, len(columns["job"]), rows, names)


def _writer(path: Path) -> Callable[[Path, int, Columns, Words], None]:
    return _write_csv if path.suffix == ".csv" else _write_parquet


def _batches(rows: int, columns: Columns, words: Words, *, gaps: bool) -> Iterator[Any]:
    """Yield a table as Arrow batches; `gaps` leaves nan out, as empty fields."""
    import pyarrow as pa

    for first in range(0, max(rows, 1), _ROWS):
        piece = columns(first, first + _ROWS)
        arrays = [
            pa.DictionaryArray.from_arrays(pa.array(values), list(words[name]))
            if name in words
            else pa.array(values, from_pandas=gaps)
            for name, values in piece.items()
        ]
        yield pa.record_batch(arrays, names=list(piece))


def _write_parquet(path: Path, rows: int, columns: Columns, words: Words) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches = _batches(rows, columns, words, gaps=False)
    first = next(batches)
    reals = [field.name for field in first.schema if pa.types.is_floating(field.type)]
    with pq.ParquetWriter(
        path,
        first.schema,
        compression="lz4",
        use_dictionary=[field.name for field in first.schema if pa.types.is_dictionary(field.type)]
        or False,
        use_byte_stream_split=reals,
    ) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _write_csv(path: Path, rows: int, columns: Columns, words: Words) -> None:
    import pyarrow.csv as pc

    batches = _batches(rows, columns, words, gaps=True)
    first = next(batches)
    quoted = any(_SIGNS & set(word) for each in words.values() for word in each)
    style = "needed" if quoted else "none"
    options = pc.WriteOptions(include_header=False, quoting_style=style)
    with open(path, "wb") as file:
        # Arrow would put the names in quotes.
        file.write((",".join(first.schema.names) + "\n").encode())
        with pc.CSVWriter(file, first.schema, write_options=options) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
