"""The jobs of a workload, as columns."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._html import html_table
from ..errors import JobError, OptionError
from ._arrays import for_kernels, plain
from ._report import CleaningReport
from .header import Header

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LABEL", "MISSING", "NAMED", "SCHEMA", "SWF_FIELDS", "Jobs"]
__all__ += ["check_names", "did_you_mean"]

MISSING = -1
"""The value of a field that is not known, in every column [swf]."""

_INT = np.dtype(np.int64)
_FLOAT = np.dtype(np.float64)

SWF_FIELDS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "job": _INT,
        "submit": _FLOAT,
        "wait": _FLOAT,
        "runtime": _FLOAT,
        "allocated": _INT,
        "cpu_time": _FLOAT,
        "used_memory": _FLOAT,
        "requested": _INT,
        "estimate": _FLOAT,
        "memory": _FLOAT,
        "status": _INT,
        "user": _INT,
        "group": _INT,
        "executable": _INT,
        "queue": _INT,
        "partition": _INT,
        "preceding": _INT,
        "think_time": _FLOAT,
    }
)
"""The 18 fields of the Standard Workload Format, in its order."""

SCHEMA: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        **SWF_FIELDS,
        "account": _INT,
        "qos": _INT,
        "nodes": _INT,
        "gpus": _INT,
        "procs": _INT,
        "work": _FLOAT,
    }
)
"""Every column a `Jobs` can have, with its type."""

NAMED: Mapping[str, str] = MappingProxyType(
    {
        "user": "User",
        "group": "Group",
        "account": "Account",
        "queue": "Queue",
        "partition": "Partition",
        "qos": "QOS",
    }
)
"""Columns of numbers that stand for names, and the header's key of ``; Key: number name``."""

_SHOWN = ("job", "submit", "wait", "runtime", "procs", "estimate", *NAMED)
_ROWS_SHOWN = 5

LABEL = "label"
"""The one column of texts: jobs as their manager names them, such as ``12_3``."""

_STORED = (*SCHEMA, LABEL)

Column = NDArray[Any]


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the valid name nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, list(valid), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_names(names: Iterable[str], valid: Iterable[str] = SCHEMA) -> None:
    """Raise OptionError at the first name that is not a column."""
    valid = list(valid)
    for name in names:
        if name not in valid:
            near = did_you_mean(name, valid) or f"; known columns: {', '.join(valid)}"
            raise OptionError(f"no column is called '{name}'{near}")


def _integers(array: Column) -> Column | None:
    """Return an array as int64, or None if a value would change."""
    if array.dtype.kind in "ib":
        return array.astype(_INT, copy=False)
    if array.dtype.kind == "u":
        return array.astype(_INT) if array.size == 0 or array.max() < 2**63 else None
    exact = (array == np.trunc(array)) & (np.abs(array) < 2.0**63)
    return array.astype(_INT) if exact.all() else None


def _column(name: str, values: ArrayLike, ids: Column | None) -> Column:
    """Return one column in its own type, checked: one dimension, numbers, finite."""
    if name == LABEL:
        texts = np.asarray(values).astype(np.str_)
        if texts.ndim != 1:
            raise OptionError(f"column '{name}': give one text per job")
        return texts
    array = plain(name, values, MISSING)
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            row = int(bad[0])
            job = row + 1 if ids is None or row >= ids.size else int(ids[row])
            raise JobError(job, name, f"{array[row]} is not a finite number; use -1 for unknown")
    if SCHEMA[name] == _FLOAT:
        return for_kernels(array.astype(_FLOAT, copy=False))
    integers = _integers(array)
    if integers is None:
        raise OptionError(f"column '{name}' must hold whole numbers that fit in 64 bits")
    return for_kernels(integers)


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different numbers, ascending, and the place of each value among them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low > 4 * values.size + 1024:
        return np.unique(values, return_inverse=True)
    # Numbers of people and queues lie close together: counted, a million take a tenth of the time.
    shifted = values - low
    there = np.flatnonzero(np.bincount(shifted, minlength=1))
    table = np.zeros(high - low + 1, np.int64)
    table[there] = np.arange(there.size)
    return there + low, table[shifted]


class Jobs:
    """A stream of jobs: one array per column, rows in log order.

    Columns, as in the Standard Workload Format [swf] (s: float seconds; unknown values are -1):
    ``job`` (id), ``submit`` (s), ``wait`` (s), ``runtime`` (s), ``allocated`` (processors),
    ``cpu_time`` (s, per processor), ``used_memory`` (KB per processor), ``requested``
    (processors), ``estimate`` (s, the user's limit), ``memory`` (KB per processor, requested),
    ``status``, ``user``, ``group``, ``executable``, ``queue``, ``partition``, ``preceding``
    (job id), ``think_time`` (s). Beyond that format: ``account``, ``qos``, ``nodes`` and ``gpus``
    (requested, in all). And two that a simulation reads: ``procs``, the width it uses, and
    ``work``, the job amount in seconds at the reference rate. The numbers of ``user``, ``group``,
    ``account``, ``queue``, ``partition`` and ``qos`` may stand for names: see `labels`. The only
    column of texts is ``label``: the job as its manager names it, such as ``12_3`` of an array;
    where that is not stored, its number.

    Parameters
    ----------
    columns : arrays by column name. Needed: ``submit``, ``procs``, and ``runtime`` or ``work``
        (each stands in for the other where absent). ``job`` defaults to 1..n, all others to -1.
    header : comment lines of the log.
    source : where the jobs came from.
    report : what reading and cleaning did to them.

    Notes
    -----
    Shapes, types and finiteness are checked here; whether a job makes sense is the business of
    `sojourn.workload.clean`. Lengths of time of NumPy become seconds, and masked values unknown.
    Arrays are not copied when they already have the right type, lie in one piece and are not
    read-only, which kernels do not take: treat the columns as read-only all the same.

    Examples
    --------
    >>> jobs = Jobs({"submit": [0, 5], "runtime": [10, 20], "procs": [1, 4]})
    >>> len(jobs), jobs.work.tolist(), jobs[1:].procs.tolist()
    (2, [10.0, 20.0], [4])
    """

    def __init__(
        self,
        columns: Mapping[str, ArrayLike],
        *,
        header: Iterable[str] = (),
        source: str = "",
        report: CleaningReport | None = None,
    ) -> None:
        check_names(columns, _STORED)
        for needed in ("submit", "procs"):
            if needed not in columns:
                raise OptionError(f"jobs need a column '{needed}'; give it")
        if "runtime" not in columns and "work" not in columns:
            raise OptionError("jobs need a column 'runtime' or 'work'; give one")
        ids = _column("job", columns["job"], None) if "job" in columns else None
        ordered = {name: columns[name] for name in _STORED if name in columns and name != "job"}
        arrays = {name: _column(name, values, ids) for name, values in ordered.items()}
        count = arrays["submit"].size
        arrays = {"job": np.arange(1, count + 1) if ids is None else ids, **arrays}
        for name, array in arrays.items():
            if array.size != count:
                raise OptionError(
                    f"column '{name}' has {array.size} values, 'submit' has {count};"
                    " give one value per job"
                )
        self._columns = arrays
        self._header = Header(header)
        self._source = source
        self._report = report or CleaningReport(source, count, count)

    @property
    def header(self) -> Header:
        """Comment lines of the log, with ``header.get("MaxProcs")``."""
        return self._header

    @property
    def source(self) -> str:
        """Where the jobs came from."""
        return self._source

    @property
    def report(self) -> CleaningReport:
        """What reading and cleaning did so far."""
        return self._report

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of numbers that are stored, in schema order; others are derived or unknown."""
        return tuple(name for name in self._columns if name != LABEL)

    @property
    def label(self) -> NDArray[np.str_]:
        """The jobs as their manager names them; their numbers where it has no other names."""
        stored = self._columns.get(LABEL)
        return self._columns["job"].astype(np.str_) if stored is None else stored

    @property
    def has_labels(self) -> bool:
        """Whether names of the manager are stored that are not the numbers of the jobs."""
        return LABEL in self._columns

    @property
    def max_procs(self) -> int:
        """Processors of the machine: MaxProcs, else MaxNodes of the header, else the widest job."""
        return self.machine_size[0]

    @property
    def machine_size(self) -> tuple[int, str]:
        """Processors of the machine, and what tells them: MaxProcs, MaxNodes or ``widest job``."""
        for key in ("MaxProcs", "MaxNodes"):
            if (size := self._header.number(key) or 0) > 0:
                return size, key
        return int(self._columns["procs"].max(initial=0)), "widest job"

    def labels(self, column: str) -> NDArray[np.str_]:
        """Return a column of users, queues and so on as names.

        A number without a name in the header stands for itself; what is not known is empty.

        Examples
        --------
        >>> jobs = Jobs({"submit": [0, 5, 9], "runtime": [1, 1, 1], "procs": [1, 1, 1],
        ...              "user": [2, 7, -1]}, header=["User: 2 anna"])
        >>> jobs.labels("user").tolist()
        ['anna', '7', '']
        """
        codes, names = self.coded(column)
        return np.array([*names, ""], dtype=np.str_)[codes]

    def coded(self, column: str) -> tuple[NDArray[np.int32], list[str]]:
        """Return a column of users, queues and so on as places in a list of names.

        The names are those of `labels`, each once, by their numbers; -1 is what is not known.

        Examples
        --------
        >>> jobs = Jobs({"submit": [0, 5, 9], "runtime": [1, 1, 1], "procs": [1, 1, 1],
        ...              "user": [7, 2, -1]}, header=["User: 2 anna"])
        >>> codes, names = jobs.coded("user")
        >>> codes.tolist(), names
        ([1, 0, -1], ['anna', '7'])
        """
        check_names([column], NAMED)
        if column not in self._columns:
            return np.full(len(self), MISSING, np.int32), []
        known = self._header.names(NAMED[column])
        numbers, inverse = _distinct(self._columns[column])
        places: dict[str, int] = {}
        codes = [
            MISSING if n == MISSING else places.setdefault(known.get(n, str(n)), len(places))
            for n in numbers.tolist()
        ]
        return np.array(codes, np.int32)[inverse], list(places)

    def __len__(self) -> int:
        return int(self._columns["submit"].size)

    def __repr__(self) -> str:
        source = f", from {self._source!r}" if self._source else ""
        return f"<Jobs: {len(self)} jobs{source}>"

    def _repr_html_(self) -> str:
        shown = [name for name in self.names if name in _SHOWN]
        few = self[:_ROWS_SHOWN]
        columns = [(few.labels(name) if name in NAMED else few[name]).tolist() for name in shown]
        rows = list(zip(*columns, strict=True))
        rest = len(self) - len(rows)
        note = f"and {rest:,} more; times in seconds" if rest else "times in seconds"
        title = f"{len(self):,} jobs" + (f" from {self._source}" if self._source else "")
        return html_table(title, shown, rows, note)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SCHEMA]

    def __getattr__(self, name: str) -> Column:
        if name in SCHEMA:
            return self._read(name)
        raise AttributeError(f"Jobs has no column or attribute '{name}'")

    def _read(self, name: str) -> Column:
        stored = self._columns.get(name)
        if stored is not None:
            return stored
        if name in ("runtime", "work"):
            return self._columns["work" if name == "runtime" else "runtime"]
        # Kept beside the stored columns, so that `names` goes on telling what is known.
        unknown: dict[str, Column] = self.__dict__.setdefault("_unknown", {})
        if name not in unknown:
            unknown[name] = np.full(len(self), MISSING, SCHEMA[name])
        return unknown[name]

    @overload
    def __getitem__(self, key: str) -> Column: ...

    @overload
    def __getitem__(self, key: slice | NDArray[Any] | list[int] | list[bool]) -> Jobs: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a column (by name), or some of the jobs (by slice, mask or indices)."""
        if isinstance(key, str):
            check_names([key], _STORED)
            return self.label if key == LABEL else self._read(key)
        if isinstance(key, slice):
            return self._with({k: np.ascontiguousarray(v[key]) for k, v in self._columns.items()})
        index = np.asarray(key)
        if index.ndim != 1:
            raise TypeError("jobs are chosen by column name, slice, mask or array of indices")
        if index.size == 0:
            index = index.astype(np.intp)
        return self._with({k: v[index] for k, v in self._columns.items()})

    def _with(self, columns: dict[str, Column]) -> Jobs:
        """Return jobs with other arrays, already checked, and everything else as here."""
        twin = object.__new__(Jobs)
        twin._columns = columns
        twin._header, twin._source, twin._report = self._header, self._source, self._report
        return twin

    def only(self, names: Iterable[str]) -> Jobs:
        """Return jobs with copies of some columns alone, so that the memory of the rest can go."""
        wanted = set(names)
        check_names(wanted, _STORED)
        return self._with({n: c.copy() for n, c in self._columns.items() if n in wanted})

    def replace(
        self,
        *,
        header: Iterable[str] | None = None,
        source: str | None = None,
        report: CleaningReport | None = None,
        **columns: ArrayLike,
    ) -> Jobs:
        """Return jobs with some columns (or header, source, report) replaced or added."""
        check_names(columns, _STORED)
        ids = self._columns["job"]
        new = {name: _column(name, values, ids) for name, values in columns.items()}
        for name, array in new.items():
            if array.size != len(self):
                raise OptionError(
                    f"column '{name}' has {array.size} values for {len(self)} jobs;"
                    " give one value per job"
                )
        merged = {**self._columns, **new}
        if "job" in columns and LABEL not in columns:
            merged.pop(LABEL, None)
        twin = self._with({name: merged[name] for name in _STORED if name in merged})
        if header is not None:
            twin._header = Header(header)
        if source is not None:
            twin._source = source
        if report is not None:
            twin._report = report
        return twin

    def sorted(self) -> Jobs:
        """Return the jobs by submit time, then job number, then place in the log.

        Jobs that are in the order of their submits already stay as they are: a log in order says
        itself which of two jobs submitted together came first.
        """
        submit = self._columns["submit"]
        if (submit[1:] >= submit[:-1]).all():
            return self
        return self[np.lexsort((self._columns["job"], submit))]

    def to_pandas(self) -> pd.DataFrame:
        """Return the stored columns as a data frame."""
        import pandas as pd

        return pd.DataFrame(self._columns)

    @classmethod
    def from_pandas(
        cls,
        frame: pd.DataFrame,
        mapping: Mapping[str, str] | None = None,
        *,
        timezone: str | None = None,
    ) -> Jobs:
        """Make jobs of a data frame, of pandas or of anything that gives its columns to Arrow.

        Parameters
        ----------
        frame : one row per job; columns of any type, and missing values are unknown.
        mapping : our column name -> the frame's, as `columns` of `read_csv`.
        timezone : of dates that name none, such as ``Europe/Moscow``; None: as in UTC.
        """
        from ._frames import jobs_of

        return jobs_of(frame, mapping, timezone)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the stored columns, header and source to a Parquet file."""
        from .parquet import write_parquet

        write_parquet(self, path)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        mapping: Mapping[str, str] | None = None,
        *,
        timezone: str | None = None,
    ) -> Jobs:
        """Read a Parquet file; `mapping` and `timezone` as in `from_pandas`."""
        from .parquet import read_parquet

        return read_parquet(path, mapping, timezone=timezone)
