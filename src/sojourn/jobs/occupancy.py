"""What a log has recorded of its machine: waits, and processors in use over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Jobs

__all__ = ["has_recorded_wait", "held_processors", "recorded_occupancy"]

Floats = NDArray[np.float64]


def held_processors(jobs: Jobs) -> NDArray[np.int64]:
    """Return the processors that each job held: the allocated ones, else its width; 0: unknown."""
    return np.maximum(np.where(jobs.allocated > 0, jobs.allocated, jobs.procs), 0)


def has_recorded_wait(jobs: Jobs) -> NDArray[np.bool_]:
    """Whether the wait of each job is recorded; that of a job that never started is none."""
    return np.asarray((jobs.wait >= 0) & (jobs.runtime >= 0))


def recorded_occupancy(jobs: Jobs, procs: int) -> dict[str, Any] | None:
    """Describe how many processors were in use, by what a log says of its own jobs.

    A job holds its allocated processors, or its width where these are not known, from submit +
    wait on, for its runtime. Where one job ends and another starts at the same instant, the end
    comes first.

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
    >>> found = recorded_occupancy(jobs, 4)
    >>> found["peak"], found["peak_time"], found["overlap"]
    (5, 0.0, True)
    """
    width = held_processors(jobs)
    ran = (jobs.wait >= 0) & (jobs.runtime > 0) & (width > 0)
    if not ran.any():
        return None
    start = jobs.submit[ran] + jobs.wait[ran]
    end, width = start + jobs.runtime[ran], width[ran]
    time, busy = _path(start, end, width)
    top = int(np.argmax(busy))
    span = float(time[-1] - time[0])
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
