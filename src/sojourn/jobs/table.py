"""The jobs of a workload, as columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._html import html_table, sparkline
from ..errors import OptionError, plural
from .header import AS_NUMBERS, Header, as_texts, known_names, renumbered
from .report import CleaningReport
from .schema import (
    LABEL,
    MISSING,
    NAMED,
    SCHEMA,
    STORED,
    Column,
    check_columns,
    check_names,
    checked_column,
    distinct,
)

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = ("job", "submit", "wait", "runtime", "procs", "estimate", *AS_NUMBERS)
_ROWS_SHOWN = 5
_IDLE_SHARE = 1.5
"""Memory that columns may keep from being freed, as a multiple of their own."""


def _in_order(columns: Iterable[str]) -> list[str]:
    """Return the names of columns as they are stored: those of the schema, then further ones."""
    further = [name for name in columns if name not in STORED]
    return [name for name in (*SCHEMA, *further, LABEL) if name in columns]


def _checked(
    columns: Mapping[str, ArrayLike], ids: Column | None, header: Header
) -> tuple[dict[str, Column], Header]:
    """Return columns in their own types, and the header with names given as texts."""
    arrays: dict[str, Column] = {}
    lines: list[str] = []
    for name, values in columns.items():
        may_be_names = name in NAMED or name not in STORED
        texts = as_texts(values) if may_be_names else None
        if texts is None:
            arrays[name] = checked_column(name, values, ids)
            continue
        arrays[name], said = renumbered(name, texts, header)
        lines += said
    return arrays, Header([*header, *lines]) if lines else header


class Jobs:
    """A stream of jobs: one array per column, rows in log order.

    Columns, as in the Standard Workload Format [swf] (s: float seconds; unknown values are -1):
    ``job`` (id), ``submit`` (s), ``wait`` (s), ``runtime`` (s), ``allocated`` (processors),
    ``cpu_time`` (s, per processor), ``used_memory`` (KB per processor), ``requested``
    (processors), ``estimate`` (s, the user's limit), ``memory`` (KB per processor, requested),
    ``status``, ``user``, ``group``, ``executable``, ``queue``, ``partition``, ``preceding``
    (job id), ``think_time`` (s). Beyond that format: ``account``, ``qos``, ``nodes`` and ``gpus``
    (requested, in all), ``cores_per_node``, ``gpu_type``, ``memory_per_node`` (KB), ``whole_node``
    (0 or 1), ``licences``, ``features``, ``begin`` (s, no start before it), ``after`` (what it
    depends on). And two that a simulation reads: ``procs``, the width it uses, and ``work``, the
    job amount in seconds at the reference rate. Any further column of numbers or names is kept.
    The numbers of ``user``, ``group``, ``account``, ``queue``, ``partition``, ``qos``,
    ``gpu_type``, ``licences``, ``features``, ``after`` and further columns may stand for names: see
    `labels`. The only column of texts is ``label``: the job as its manager names it, such as
    ``12_3`` of an array; where that is not stored, its number.

    Parameters
    ----------
    columns : arrays by column name. Needed: ``submit``, ``procs``, and ``runtime`` or ``work``
        (each stands in for the other where absent). ``job`` defaults to 1..n, all others to -1.
        Names may be given as texts: they are numbered, and the header has them.
    header : comment lines of the log.
    source : where the jobs came from.
    report : what reading and cleaning did to them.

    Attributes
    ----------
    names : columns of numbers that are stored, in schema order; others are derived or unknown.
    header : comment lines of the log, with ``header.get("MaxProcs")``.
    source : where the jobs came from.
    report : what reading and cleaning did so far.

    Notes
    -----
    Shapes, types and finiteness are checked here; whether a job makes sense is the business of
    `sojourn.jobs.clean`. Lengths of time of NumPy become seconds, and masked values unknown.
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
        check_columns(columns)
        for needed in ("submit", "procs"):
            if needed not in columns:
                raise OptionError(f"jobs need a column '{needed}'; give it")
        if "runtime" not in columns and "work" not in columns:
            raise OptionError("jobs need a column 'runtime' or 'work'; give one")
        ids = checked_column("job", columns["job"], None) if "job" in columns else None
        others = {name: values for name, values in columns.items() if name != "job"}
        arrays, lines = _checked(others, ids, Header(header))
        arrays = {name: arrays[name] for name in _in_order(arrays)}
        count = arrays["submit"].size
        arrays = {"job": np.arange(1, count + 1) if ids is None else ids, **arrays}
        for name, array in arrays.items():
            if array.size != count:
                raise OptionError(
                    f"column '{name}' has {array.size} values, 'submit' has {count};"
                    " give one value per job"
                )
        self._set(arrays, lines, source, report or CleaningReport(source, count, count))

    def _set(
        self, columns: dict[str, Column], header: Header, source: str, report: CleaningReport
    ) -> None:
        """Put columns, already checked, in their places."""
        # Each is an attribute, unless something else of this class is called so.
        own = vars(self)
        own.update({name: column for name, column in columns.items() if not hasattr(Jobs, name)})
        for name, other in (("work", "runtime"), ("runtime", "work")):
            if name not in columns:
                own[name] = columns[other]
        self._columns = columns
        self.names = tuple(name for name in columns if name != LABEL)
        self.header, self.source, self.report = header, source, report

    @property
    def further(self) -> tuple[str, ...]:
        """Stored columns that only this workload has: they are not in `SCHEMA`."""
        return tuple(name for name in self.names if name not in SCHEMA)

    @property
    def named(self) -> tuple[str, ...]:
        """Stored columns whose numbers may stand for names: those of the schema, and further ones
        of which the header has names."""
        return tuple(
            name
            for name in self.names
            if name in NAMED or (name not in SCHEMA and known_names(self.header, name))
        )

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
        """Processors of the machine, and their source: MaxProcs, MaxNodes or ``widest job``."""
        for key in ("MaxProcs", "MaxNodes"):
            if (size := self.header.number(key) or 0) > 0:
                return size, key
        return int(self._columns["procs"].max(initial=0)), "widest job"

    def labels(self, column: str) -> NDArray[np.str_]:
        """Return a column of users, queues and so on, or of names of your own, as names.

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
        check_names([column], [*NAMED, *self.further])
        values = self._columns.get(column)
        if values is not None and values.dtype.kind == "f":
            raise OptionError(f"column '{column}' holds fractions, no names; leave it out")
        if values is None or (values == MISSING).all():
            return np.full(len(self), MISSING, np.int32), []
        known = known_names(self.header, column)
        numbers, inverse = distinct(values)
        places: dict[str, int] = {}
        codes = [
            MISSING if n == MISSING else places.setdefault(known.get(n, str(n)), len(places))
            for n in numbers.tolist()
        ]
        return np.array(codes, np.int32)[inverse], list(places)

    def __len__(self) -> int:
        return int(self._columns["submit"].size)

    def __repr__(self) -> str:
        source = f", from {self.source!r}" if self.source else ""
        return f"<Jobs: {plural(len(self), 'job')}{source}>"

    def _repr_html_(self) -> str:
        known = [name for name in self.names if not len(self) or (self[name] != MISSING).any()]
        shown = [name for name in known if name in _SHOWN]
        few = self[:_ROWS_SHOWN]
        columns = [(few.labels(name) if name in NAMED else few[name]).tolist() for name in shown]
        rows = [
            ["–" if value in (MISSING, "") else value for value in row]
            for row in zip(*columns, strict=True)
        ]
        rest = len(self) - len(rows)
        note = f"and {rest:,} more; times in seconds" if rest else "times in seconds"
        title = f"{plural(len(self), 'job')}" + (f" from {self.source}" if self.source else "")
        return html_table(title, shown, rows, note) + self._arrivals()

    def _arrivals(self) -> str:
        """A line of how many jobs were submitted over the time of the log."""
        if len(self) < 2 or not self.submit.max() > self.submit.min():
            return ""
        counts, edges = np.histogram(self.submit, bins=min(48, len(self)))
        hours = (edges[1] - edges[0]) / 3600.0
        return sparkline(counts.tolist(), f"jobs submitted every {hours:.3g} h")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SCHEMA, *self.further]

    def __getattr__(self, name: str) -> Column:
        # Asked for what is not stored. `names` goes on saying what is known.
        if name not in SCHEMA or "_columns" not in vars(self):
            raise AttributeError(f"Jobs has no column or attribute '{name}'")
        unknown: Column = np.full(len(self), MISSING, SCHEMA[name])
        vars(self)[name] = unknown
        return unknown

    @overload
    def __getitem__(self, key: str) -> Column: ...

    @overload
    def __getitem__(self, key: slice | NDArray[Any] | list[int] | list[bool]) -> Jobs: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a column (by name), or some of the jobs (by slice, mask or indices)."""
        if isinstance(key, str):
            if key in self._columns:
                return self._columns[key]
            check_names([key], [*STORED, *self.further])
            return getattr(self, key)
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
        twin._set(columns, self.header, self.source, self.report)
        return twin

    def only(self, names: Iterable[str], *, copy: bool = True) -> Jobs:
        """Return jobs with copies of some columns alone, so that the memory of the rest can go.

        Parameters
        ----------
        names : of the columns to keep.
        copy : False: a column is copied only where it shares its memory with too many others.
        """
        wanted = set(names)
        check_names(wanted, [*STORED, *self.further])
        kept = {name: column for name, column in self._columns.items() if name in wanted}
        if copy:
            return self._with({name: column.copy() for name, column in kept.items()})
        used: dict[int, int] = {}
        for column in kept.values():
            used[id(column.base)] = used.get(id(column.base), 0) + column.nbytes

        def is_lean(column: Column) -> bool:
            whole = column.base
            if whole is None:
                return True
            size = getattr(whole, "nbytes", np.inf)
            return bool(size <= _IDLE_SHARE * used[id(whole)])

        return self._with({n: c if is_lean(c) else c.copy() for n, c in kept.items()})

    def replace(
        self,
        *,
        header: Iterable[str] | None = None,
        source: str | None = None,
        report: CleaningReport | None = None,
        **columns: ArrayLike,
    ) -> Jobs:
        """Return jobs with some columns (or header, source, report) replaced or added.

        Names given as texts are numbered as the header has them, those that are new after them.

        Examples
        --------
        >>> jobs = Jobs({"submit": [0, 5], "runtime": [60, 30], "procs": [4, 8]})
        >>> jobs.replace(user=["ann", "bob"]).labels("user").tolist()
        ['ann', 'bob']
        """
        check_columns([name for name in columns if name not in self._columns])
        lines = self.header if header is None else Header(header)
        new, lines = _checked(columns, self._columns["job"], lines)
        for name, array in new.items():
            if array.size != len(self):
                raise OptionError(
                    f"column '{name}' has {array.size} values for {len(self)} jobs;"
                    " give one value per job"
                )
        merged = {**self._columns, **new}
        if "job" in columns and LABEL not in columns:
            merged.pop(LABEL, None)
        twin = self._with({name: merged[name] for name in _in_order(merged)})
        twin.header = lines
        twin.source = self.source if source is None else source
        twin.report = self.report if report is None else report
        return twin

    def moved(self, submit: ArrayLike) -> Jobs:
        """Return jobs with other submit times; ``begin`` and ``deadline`` move along."""
        later = self.replace(submit=submit)
        if "deadline" in self._columns:
            known = self._columns["deadline"] >= 0
            moved = self._columns["deadline"] + (later["submit"] - self._columns["submit"])
            later = later.replace(deadline=np.where(known, np.maximum(moved, 0.0), MISSING))
        if "begin" not in self._columns:
            return later
        begin = self._columns["begin"] + (later["submit"] - self._columns["submit"])
        # One before time began holds nobody back, and a negative one would be unknown.
        known = self._columns["begin"] >= 0
        return later.replace(begin=np.where(known, np.maximum(begin, 0.0), MISSING))

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
        """Return the stored columns as a data frame.

        Names of ``gpu_type``, ``licences``, ``features``, ``after`` and of further columns are
        categories, those of users, queues and so on numbers; ``attrs["header"]`` of the frame has
        the header that has them.
        """
        from .formats.frames import frame_of

        return frame_of(self, self._columns)

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

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"submit": [0, 5], "runtime": [60, 30], "cores": [4, 8]})
        >>> Jobs.from_pandas(frame, {"procs": "cores"}).procs
        array([4, 8])
        """
        from .formats.frames import jobs_of

        return jobs_of(frame, mapping, timezone)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the stored columns, header and source to a Parquet file."""
        from .formats.frames import write_parquet

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
        from .formats.frames import read_parquet

        return read_parquet(path, mapping, timezone=timezone)


def check_jobs(given: object) -> None:
    """Raise OptionError for what is no `Jobs`, such as a data frame or the name of a file."""
    if not isinstance(given, Jobs):
        raise OptionError(
            f"jobs: a {type(given).__name__} is no Jobs; read a file with sojourn.read_log, make"
            " them of a data frame with Jobs.from_pandas"
        )
