"""The runs of a study on disk: a folder of Parquet files to which rows are only ever added.

Each file is written under another name and then renamed, so that it is there as a whole or not at
all, whatever ends the process. No two have the same name, and a row that is there twice counts
once: adding is the same in any order and any number of times. At the end all are put into one, and
whenever a column is new: all files have the same ones, since readers go by any of them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, RunError
from ..files.staging import clear
from ..run.folder import as_json, check_folder, staged
from .execute import DONE, Row
from .plan import StudyPlan
from .rows import Kinds, as_table, fitted, joint, merged

if TYPE_CHECKING:
    import pyarrow as pa
    from filelock import FileLock

RUNS, STUDY, SCENARIO, LOCK = "runs", "study.json", "scenario.toml", ".lock"

_BELONGS = ("scenario", "seed", "keys", "version")
"""What all runs of a folder have in common."""
_ATTEMPTS = 100
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""What file systems say that have no locks."""


class Store:
    """Keeps the runs of a study, in a folder that no other process writes to meanwhile.

    Without a folder rows are kept in memory alone; one that is not there is made by `begin`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._tables: list[pa.Table] = []
        self._parts: list[Path] = []
        self._kinds: Kinds = {}
        self._uneven = False
        self._made: list[Path] = []
        self._lock: FileLock | None = None

    def __enter__(self) -> Store:
        if self._folder is not None:
            check_folder(self._folder)
            # What is wrong with a study is found before there is a folder of it.
            if self._runs.is_dir():
                self._take_hold()
        return self

    def _take_hold(self) -> None:
        """Keep other processes from writing, and read what is there."""
        assert self._folder is not None
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            self._lock = _hold(self._folder / LOCK)
            clear(self._runs)
        except OSError as error:
            raise OptionError(
                f"{self._folder}: cannot be written ({error.strerror}); name another folder"
            ) from None
        try:
            tables = _read_all(self._runs)
        except BaseException:
            self.close()
            raise
        self._parts, self._tables = list(tables), list(tables.values())
        for table in self._tables:
            self._kinds = joint(self._kinds, table)
        self._uneven = any(joint({}, table) != self._kinds for table in self._tables)

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None and not self._tables:
            self._leave_nothing()
        self.close()

    def _leave_nothing(self) -> None:
        """Remove what `begin` has made: of a study that failed before it had a run."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()

    def close(self) -> None:
        """Let other processes write to the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def _runs(self) -> Path:
        assert self._folder is not None
        return self._folder / RUNS

    def check(self, description: Mapping[str, Any]) -> None:
        """Raise OptionError if the folder holds another study."""
        if self._folder is not None and (self._folder / STUDY).exists():
            _check_same(self._folder / STUDY, description, empty=not self._tables)

    def begin(self, description: Mapping[str, Any], scenario: str) -> None:
        """Make the folder and write what the study is; an error if it holds another one."""
        if self._folder is None:
            return
        try:
            text = scenario.encode()
        except UnicodeEncodeError:
            raise OptionError(
                f"{self._folder}: TOML cannot name a file that is no text in UTF-8; rename the "
                "files of the scenario"
            ) from None
        parts = [self._folder / name for name in (RUNS, LOCK, STUDY, SCENARIO)]
        above = [folder for folder in reversed(self._folder.parents) if not folder.exists()]
        self._made = [path for path in (*above, self._folder, *parts) if not path.exists()]
        if self._lock is None:
            self._take_hold()
        self.check(description)
        with staged(self._folder) as place:
            # Of a study that is continued from its own copy it is an input.
            if not _holds(self._folder / SCENARIO, text):
                place(SCENARIO).write_bytes(text)
            place(STUDY).write_text(as_json(description) + "\n", encoding="utf-8")

    def write_json(self, name: str, description: Mapping[str, Any]) -> None:
        """Write a file beside the runs."""
        if self._folder is not None:
            with staged(self._folder) as place:
                place(name).write_text(as_json(description) + "\n", encoding="utf-8")

    def remove(self, name: str) -> None:
        """Remove a file beside the runs, if it is there."""
        if self._folder is not None:
            (self._folder / name).unlink(missing_ok=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that runs have had so far; none before there are any."""
        return tuple(self._kinds)

    def finished(self, *, failed: bool = True) -> set[str]:
        """Return the names of the runs that are there; `failed` ones among them or not."""
        finished: set[str] = set()
        for table in self._tables:
            names = table.column("run_id").to_pylist()
            states = table.column("status").to_pylist()
            finished.update(n for n, s in zip(names, states, strict=True) if failed or s == DONE)
        return finished

    def add(self, plan: StudyPlan, rows: Sequence[Row]) -> None:
        """Keep the rows of some runs of a plan: on disk when this returns."""
        if self._folder is not None and self._lock is None:
            self._take_hold()
        table = as_table(plan, rows)
        former, self._kinds = self._kinds, joint(self._kinds, table)
        self._tables.append(table)
        if self._folder is None:
            return
        if self._parts and (self._uneven or former != self._kinds):
            self._put_together(self.table(None))
            self._uneven = False
        else:
            self._write(fitted(table, self._kinds))

    def table(self, order: Iterable[str] | None) -> pa.Table:
        """Return all rows, each once: those named in that order, then others by name.

        Without an order they are as they were found.
        """
        return merged(self._tables, order)

    def compact(self, order: Iterable[str]) -> pa.Table:
        """Put all rows into one file, and return them as `table` does."""
        whole = self.table(order)
        if self._folder is not None and self._tables:
            if len(self._parts) == 1 == len(_parts(self._runs)) and self._tables[0].equals(whole):
                return whole
            self._put_together(whole)
        self._tables = [whole]
        return whole

    def _put_together(self, whole: pa.Table) -> None:
        """Have one file with all rows in place of the others."""
        former = list(self._parts)
        new = self._write(whole)
        # Only files that have been read go: what another process may have added stays.
        for part in former:
            part.unlink(missing_ok=True)
        self._parts = [new]

    def _write(self, table: pa.Table) -> Path:
        """Write a part, which is one of ours from before it is there: an interrupt may follow."""
        part = self._runs / f"part-{uuid.uuid4().hex}.parquet"
        self._parts.append(part)
        _write(table, part)
        return part


def read_runs(folder: str | os.PathLike[str]) -> pa.Table:
    """Return the rows of a study's folder, each once, also while the study goes on."""
    runs = Path(folder) / RUNS
    if not runs.is_dir():
        raise OptionError(f"{folder}: no study is here ('{RUNS}' is missing); name its folder")
    return merged(list(_read_all(runs).values()), None)


def _read_all(runs: Path) -> dict[Path, pa.Table]:
    """All parts; while they are put into one, those that go have been read or are in the new one.

    So the list is looked at until it has nothing that is new.
    """
    tables: dict[Path, pa.Table] = {}
    for _ in range(_ATTEMPTS):
        new = [part for part in _parts(runs) if part not in tables]
        if not new:
            return tables
        for part in new:
            with contextlib.suppress(FileNotFoundError):
                tables[part] = _read(part)
    gone = [part for part in new if part not in tables]
    if gone:
        raise OptionError(f"{gone[0]}: cannot be read (no such file); remove it from the folder")
    return tables


def _parts(runs: Path) -> list[Path]:
    return sorted(path for path in runs.glob("*.parquet") if not path.name.startswith("."))


def _read(part: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # As a file, not as a dataset of one: the name of a folder adds no columns.
        with open(part, "rb") as source, pq.ParquetFile(source) as file:
            table = file.read()
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise OptionError(
            f"{part}: cannot be read ({reason}); remove it, and its runs are done again"
        ) from None
    names = table.column_names
    if len(set(names)) < len(names) or not all(
        name in names and pa.types.is_string(table.schema.field(name).type)
        for name in ("run_id", "status")
    ):
        raise OptionError(f"{part}: not the runs of a study; remove it or name another folder")
    return table


def _write(table: pa.Table, part: Path) -> None:
    import pyarrow.parquet as pq

    with staged(part.parent) as place, open(place(part.name), "wb") as file:
        pq.write_table(table, file, compression="lz4")
        file.flush()
        # The contents before the name: else a machine that loses power may have the name alone.
        os.fsync(file.fileno())


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _hold(path: Path) -> FileLock | None:
    """Take hold of a folder until the process ends, however it ends; None if it has no locks."""
    from filelock import FileLock, Timeout

    # The library does not follow it either, but does not say so.
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} is a link")
    # Whoever may open it could hold it: others than the group may not.
    lock = FileLock(
        path,
        blocking=False,
        mode=0o660,
        thread_local=False,
        fallback_to_soft=False,
        on_acquired=_sign,
    )
    try:
        lock.acquire()
    except Timeout:
        raise RunError(
            f"{path.parent}: {_holder(path)} is writing to this study; wait until it ends, or name "
            "another folder"
        ) from None
    except OSError as error:
        # Files that never share a name cannot harm each other.
        if error.errno in _WITHOUT_LOCKS:
            return None
        raise
    return lock


def _sign(lock: int) -> None:
    """Write who holds a lock into its file, by its handle: its name may be another file's now."""
    os.truncate(lock, 0)
    os.write(lock, f"process {os.getpid()} on {platform.node()}\n".encode())


def _holder(path: Path) -> str:
    """Return who holds a lock, in one line, as its file says."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            words = file.read(200).split()
    except OSError:
        words = []
    return "".join(filter(str.isprintable, " ".join(words))) or "another process"


def _check_same(path: Path, description: Mapping[str, Any], *, empty: bool) -> None:
    """Raise OptionError where a folder is not of sojourn, or has runs of another study."""
    try:
        former = json.loads(path.read_text(encoding="utf-8"))
        differing = [
            name for name in _BELONGS if _unordered(former[name]) != _unordered(description[name])
        ]
    except (OSError, ValueError, LookupError, TypeError):
        raise OptionError(f"{path}: not written by sojourn; name another folder") from None
    if differing and not empty:
        name = differing[0]
        if name == "scenario" and _as_given(former) == _as_given(description):
            raise OptionError(
                f"{path.parent}: holds runs of this scenario {_additions(former)}; now it is run "
                f"{_additions(description)}, as other replications need; name another folder"
            )
        what = "another scenario" if name == "scenario" else f"{name} {_words(former[name])}"
        raise OptionError(
            f"{path.parent}: holds a study with {what}, not {_words(description[name])}; "
            "name another folder"
        )


def _as_given(description: Mapping[str, Any]) -> Any:
    """The digest of a scenario before anything was added to it."""
    return description.get("given", description["scenario"])


def _additions(description: Mapping[str, Any]) -> str:
    added = [f"{key} = {json.dumps(value)}" for key, value in description.get("added", {}).items()]
    return f"with {', '.join(added)} added to it" if added else "as it is"


def _unordered(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    text = str(value)
    return text if len(text) < 64 else f"{text[:12]}..."
