"""Jobs as they went through a manager: submitted, started, ended."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints
from ..errors import OptionError
from ..jobs import Jobs, read_log
from ..jobs.events import read_accounting
from ..jobs.formats.accounting import Accounting, distinct
from ..jobs.log import accounting_options, format_of
from ._tables import table_columns

if TYPE_CHECKING:
    from ..run.result import Result


_ACCOUNTING = ("sacct", "jobcomp", "pbs")
_UNKNOWN = -1

MORE = ("account", "partition", "qos")
"""Names that jobs may have besides those of user and queue."""


@dataclass(frozen=True)
class JobStream:
    """A stream of jobs with what became of them, in the order of submission.

    Parameters
    ----------
    label : name of each job, unlike all others.
    submit : r_i (s).
    start : s_i (s); nan if the job never started.
    end : g_i (s); nan if it is not known. Of a job that never started: when it was cancelled.
    nodes, procs : p_i, -1 if not known.
    limit : ordered processing time e_i (s), nan if not known, inf if there was none.
    user, queue : names, empty if not known.
    source : where the stream came from.
    more : further names by column: ``account``, ``partition`` and ``qos``, where they are known.
    """

    label: NDArray[Any]
    submit: Floats
    start: Floats
    end: Floats
    nodes: Ints
    procs: Ints
    limit: Floats
    user: NDArray[Any]
    queue: NDArray[Any]
    source: str = ""
    more: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        submit: ArrayLike,
        start: ArrayLike,
        end: ArrayLike,
        *,
        label: Sequence[Any] | NDArray[Any] | None = None,
        nodes: ArrayLike | None = None,
        procs: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        user: Sequence[Any] | NDArray[Any] | None = None,
        queue: Sequence[Any] | NDArray[Any] | None = None,
        source: str = "",
        more: Mapping[str, Sequence[Any] | NDArray[Any]] | None = None,
    ) -> JobStream:
        """Make a stream of columns; labels default to 1, 2, ..., all else to unknown."""
        submits = np.asarray(submit, np.float64)
        count = submits.size
        labels = np.arange(1, count + 1) if label is None else np.asarray(label)
        columns: dict[str, NDArray[Any]] = {
            "label": labels.astype(np.str_),
            "submit": submits,
            "start": np.asarray(start, np.float64),
            "end": np.asarray(end, np.float64),
            "nodes": _whole(nodes, count),
            "procs": _whole(procs, count),
            "limit": _real(limit, count),
            "user": np.full(count, "") if user is None else np.asarray(user).astype(np.str_),
            "queue": np.full(count, "") if queue is None else np.asarray(queue).astype(np.str_),
        }
        further = {name: np.asarray(names).astype(np.str_) for name, names in (more or {}).items()}
        for name, column in {**columns, **further}.items():
            if column.shape != (count,):
                raise OptionError(f"{name}: {column.size} values for {count} jobs; give one each")
        if count == 0:
            raise OptionError("a stream needs at least one job; give more")
        # Jobs submitted together enter the system in the order of the log.
        order = np.argsort(submits, kind="stable")
        return cls(
            **{name: column[order] for name, column in columns.items()},
            source=source,
            more={name: column[order] for name, column in further.items()},
        )

    @classmethod
    def of_jobs(cls, jobs: Jobs) -> JobStream:
        """Make a stream of jobs whose ``wait`` and ``runtime`` say what became of them."""
        jobs = jobs.sorted()
        known, ran = jobs.wait >= 0, jobs.runtime >= 0
        never = known & ((jobs.status == 5) & (jobs.runtime <= 0))
        waited = np.where(known, jobs.submit + jobs.wait, np.nan)
        return cls.of(
            jobs.submit,
            np.where(never, np.nan, waited),
            np.where(never, waited, np.where(ran, waited + jobs.runtime, np.nan)),
            label=distinct(jobs.job.astype(np.str_).tolist()),
            procs=jobs.procs,
            limit=np.where(jobs.estimate > 0, jobs.estimate, np.nan),
            user=jobs.labels("user"),
            queue=jobs.labels("queue"),
            source=jobs.source,
            more={name: jobs.labels(name) for name in MORE if name in jobs.names},
        )

    @classmethod
    def of_accounting(cls, log: Accounting) -> JobStream:
        """Make a stream of the accounting of a manager; each run of a requeued job is a job."""
        requested, allocated = log["requested"], log["allocated"]
        submit, start, end = (log[name] for name in ("submit", "start", "end"))
        # Clocks that differ, or were set back: what became of such a job is not known.
        wrong = (start < submit) | (end < start) | (end < submit)
        return cls.of(
            submit,
            np.where(wrong, np.nan, start),
            np.where(wrong, np.nan, end),
            label=log["run"],
            nodes=log["nodes"],
            procs=np.where(requested > 0, requested, allocated),
            limit=log["limit"],
            user=log["user"],
            queue=log["queue"],
            source=log.source,
            more={name: log[name] for name in MORE},
        )

    @classmethod
    def of_result(cls, result: Result) -> JobStream:
        """Make a stream of a simulation."""
        table = result.job_columns()
        return cls.of(
            table["submit"],
            table["start"],
            table["end"],
            label=distinct(table["job"].astype(np.str_).tolist()),
            procs=table["procs"],
            limit=np.where(table["estimate"] > 0, table["estimate"], np.nan),
        )

    def __len__(self) -> int:
        return int(self.submit.size)

    @property
    def residence(self) -> Floats:
        """Residence times v_i = s_i - r_i + w_i (s) [baranov2019, section VII]."""
        return self.end - self.submit

    @property
    def wait(self) -> Floats:
        """Waits q_i = s_i - r_i (s)."""
        return self.start - self.submit

    def __getitem__(self, rows: Any) -> JobStream:
        """Return some of the jobs, by mask or indices."""
        names = ("label", "submit", "start", "end", "nodes", "procs", "limit", "user", "queue")
        return JobStream(
            **{name: getattr(self, name)[rows] for name in names},
            source=self.source,
            more={name: column[rows] for name, column in self.more.items()},
        )

    def shifted(self, seconds: float) -> JobStream:
        """Return the stream on a clock that shows so much more."""
        times = {name: getattr(self, name) + seconds for name in ("submit", "start", "end")}
        return replace(self, **times)


def _whole(values: ArrayLike | None, count: int) -> Ints:
    return np.full(count, _UNKNOWN) if values is None else np.asarray(values, np.int64)


def _real(values: ArrayLike | None, count: int) -> Floats:
    return np.full(count, np.nan) if values is None else np.asarray(values, np.float64)


def read_stream(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    **options: Any,
) -> JobStream:
    """Read a stream of jobs with what became of them.

    Parameters
    ----------
    path : a log in SWF, the output of ``sacct -P``, a log of ``jobcomp/filetxt`` or of PBS
        accounting, a job table that sojourn wrote (``jobs.parquet``, ``jobs.csv``), or a CSV table
        with columns ``id``, ``submit``, ``start``, ``end`` and ``nodes`` (or ``procs``); it may
        have ``limit`` (s) or ``limit_min``, ``user``, ``queue``, ``account``, ``partition`` and
        ``qos`` too. An empty start is that of
        a job that never started.
    format : ``swf``, ``sacct``, ``jobcomp``, ``pbs``, ``parquet`` or ``csv``; by default as the
        file's suffix or content says.
    columns : our name -> the table's, for CSV and Parquet; names of the columns of ``sacct -n``.
    options : of the format's reader, such as ``timezone``.
    """
    name = format or format_of(path)
    if name in _ACCOUNTING:
        if name == "sacct" and columns is not None and not isinstance(columns, Mapping):
            options["columns"] = columns
        return JobStream.of_accounting(
            read_accounting(path, name, **accounting_options(name, **options))
        )
    if name in ("csv", "parquet"):
        table = table_columns(path, name, columns if isinstance(columns, Mapping) else None)
        if table is not None:
            if options:
                raise OptionError(
                    f"{next(iter(options))}: a table of a stream has no such option; leave it out"
                )
            labels = distinct(table.pop("label"))
            return JobStream.of(**table, label=labels, source=str(path))
    return JobStream.of_jobs(read_log(path, format=name, **options))
