"""What a log has recorded of its machine: processors in use over time, and who waited."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import LogError, OptionError, did_you_mean
from ..measures import quantiles_by_group
from .classes import check_class, check_known, classed
from .table import Jobs, check_jobs

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "jobs",
    "processor_hours",
    "share",
    "mean_wait",
    "median_wait",
    "p95_wait",
    "over_target",
    "hours_waited",
    "wait_share",
)
"""Columns of the table of `waits`."""

_HOUR = 3600.0


def held_processors(jobs: Jobs) -> NDArray[np.int64]:
    """Return the processors that each job held: the allocated ones, else its width; 0: unknown."""
    return np.maximum(np.where(jobs.allocated > 0, jobs.allocated, jobs.procs), 0)


def has_recorded_wait(jobs: Jobs) -> NDArray[np.bool_]:
    """Whether the wait of each job is recorded; that of a job that never started is none."""
    return np.asarray((jobs.wait >= 0) & (jobs.runtime >= 0))


_ROUNDED = 1e-5
"""s by which sums of printed times may be too late: logs have six decimals at most."""


def recorded_occupancy(jobs: Jobs, procs: int) -> dict[str, Any] | None:
    """Describe how many processors were in use, by what a log says of its own jobs.

    A job holds its allocated processors, or its width where these are not known, from submit +
    wait on, for its runtime. Where one job ends and another starts at the same instant, but for the
    rounding of printed times (10 µs), the end comes first.

    Parameters
    ----------
    jobs : the log as it is, whose waits are recorded.
    procs : processors of the machine.

    Returns
    -------
    dict or None
        ``jobs`` that were counted; ``peak`` (processors) and ``peak_time`` (s, the first instant at
        which as many are in use); ``mean`` (processors, from the first start to the last end);
        ``peak_utilisation`` and ``mean_utilisation``, of the machine; ``overlap``: whether the jobs
        need more processors than there are. None where no job has a recorded wait.

    Examples
    --------
    >>> jobs = Jobs({"submit": [0, 0, 10], "wait": [0, 0, 0], "runtime": [10, 20, 10],
    ...              "procs": [2, 3, 2]})
    >>> occupancy = recorded_occupancy(jobs, 4)
    >>> occupancy["peak"], occupancy["peak_time"], occupancy["overlap"]
    (5, 0.0, True)
    """
    width = held_processors(jobs)
    ran = (jobs.wait >= 0) & (jobs.runtime > 0) & (width > 0)
    if not ran.any():
        return None
    start = jobs.submit[ran] + jobs.wait[ran]
    end, width = start + jobs.runtime[ran], width[ran]
    runtime = jobs.runtime[ran]
    time, busy = _path(start, end - np.minimum(_ROUNDED, runtime / 2), width)
    top = int(np.argmax(busy))
    span = float(end.max() - start.min())
    mean = float(np.dot(width, end - start)) / span if span > 0 else float("nan")
    peak = int(busy[top])
    return {
        "jobs": int(np.count_nonzero(ran)),
        "peak": peak,
        "peak_time": float(time[top]),
        "mean": mean,
        "peak_utilisation": peak / procs if procs > 0 else float("nan"),
        "mean_utilisation": mean / procs if procs > 0 else float("nan"),
        "overlap": peak > procs,
    }


def _path(start: Floats, end: Floats, width: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the instants at which something changes, and the processors in use from each on."""
    times, places = np.unique(np.concatenate((start, end)), return_inverse=True)
    changes = np.bincount(places, np.concatenate((width, -width)), minlength=times.size)
    return times, np.cumsum(changes)


def waits(
    jobs: Jobs, by: str = "partition", *, target: float = _HOUR, sort: str = "hours_waited"
) -> pd.DataFrame:
    """Return the recorded waits of a log by class of jobs.

    Parameters
    ----------
    jobs : the log. Only jobs that started, and whose wait is recorded, are counted.
    by : ``user``, ``group``, ``account``, ``queue``, ``partition``, ``qos`` or ``width`` (by powers
        of two).
    target : the longest wait (s) that is good enough.
    sort : column by which classes are sorted, the largest first; or the value of `by`, to have them
        by name (widths by number).

    Returns
    -------
    pandas.DataFrame
        One row per class, by its name: ``jobs``; ``processor_hours`` that they held and their
        ``share`` of those of all; ``mean_wait``, ``median_wait`` and ``p95_wait`` (s);
        ``over_target``, the share of the jobs that waited longer than the target; ``hours_waited``
        in all, and their share of those of all jobs, ``wait_share``.

    Raises
    ------
    LogError
        When no wait is recorded.
    OptionError
        When the log says of no job which class it belongs to.

    Examples
    --------
    >>> jobs = Jobs({"submit": [0, 0, 0], "wait": [0, 7200, 60], "runtime": [3600, 3600, 3600],
    ...              "procs": [8, 1, 1], "partition": [1, 2, 2]},
    ...             header=["Partition: 1 cpu", "Partition: 2 gpu"])
    >>> table = waits(jobs, "partition")
    >>> table.index.tolist(), table["jobs"].tolist(), table["over_target"].tolist()
    (['gpu', 'cpu'], [2, 1], [0.5, 0.0])
    """
    check_jobs(jobs)
    if sort not in (by, *COLUMNS):
        near = did_you_mean(sort, COLUMNS)
        raise OptionError(f"sort '{sort}': choose from {by}, {', '.join(COLUMNS)}{near}")
    if not (isinstance(target, Real) and np.isfinite(target) and target >= 0):
        raise OptionError(f"target {target}: give a length of time of 0 s or more")
    recorded = _recorded(jobs)
    codes, names = _classed(recorded, by)
    return _sorted(_measured(recorded, codes, names, target).rename_axis(by), by, sort)


def waits_of_classes(jobs: Jobs, by: str) -> dict[str, NDArray[np.float64]]:
    """Return the recorded waits (s) of each class."""
    recorded = _recorded(jobs)
    codes, names = _classed(recorded, by)
    return {name: recorded.wait[codes == k] for k, name in enumerate(names)}


def bottleneck(table: pd.DataFrame) -> str:
    """Return in words which class has most of the waiting; nothing where that says nothing.

    Parameters
    ----------
    table : from `waits`.
    """
    if len(table) < 2 or not table["hours_waited"].sum() > 0:
        return ""
    place = int(table["wait_share"].to_numpy().argmax())
    top, row = table.index[place], table.iloc[place]
    part = "most" if row["wait_share"] > 0.5 else "the largest part"
    return (
        f"{part} of the waiting: {table.index.name} {top}, {100 * row['wait_share']:.0f} % of all "
        f"hours waited, by {100 * row['share']:.0f} % of the processor-hours"
    )


def _recorded(jobs: Jobs) -> Jobs:
    known = has_recorded_wait(jobs)
    if not known.any():
        raise LogError(
            jobs.source or "the log",
            "no wait is recorded of any job; give a log with waits, such as accounting of Slurm or "
            "a run of simulate --format swf",
        )
    return jobs if known.all() else jobs[known]


def _classed(jobs: Jobs, by: str) -> tuple[NDArray[np.int64], list[str]]:
    check_class(by)
    check_known(jobs, by)
    return classed(jobs, by)


def _measured(
    jobs: Jobs, codes: NDArray[np.int64], names: list[str], target: float
) -> pd.DataFrame:
    import pandas as pd

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(codes, values, minlength=len(names)).astype(np.float64)

    count = np.bincount(codes, minlength=len(names))
    middle, most = quantiles_by_group(jobs.wait, codes, len(names), (0.5, 0.95)).T
    hours = total(held_processors(jobs) * np.maximum(jobs.runtime, 0.0)) / _HOUR
    waited = total(jobs.wait) / _HOUR
    columns = {
        "jobs": count,
        "processor_hours": hours,
        "share": _share(hours),
        "mean_wait": waited * _HOUR / count,
        "median_wait": middle,
        "p95_wait": most,
        "over_target": total((jobs.wait > target).astype(np.float64)) / count,
        "hours_waited": waited,
        "wait_share": _share(waited),
    }
    return pd.DataFrame(columns, index=pd.Index(names))


def _share(values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = float(values.sum())
    return values / total if total > 0 else np.zeros(values.size)


def _sorted(table: pd.DataFrame, by: str, sort: str) -> pd.DataFrame:
    if sort != by:
        return table.sort_values(sort, ascending=False, kind="stable")
    # Widths come from narrow to wide already, which is not the order of their texts.
    return table if by == "width" else table.sort_index(kind="stable")
