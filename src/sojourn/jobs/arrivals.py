"""When jobs come to the scheduler: at their submit, or at `begin` where that is later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from . import Jobs


Floats = NDArray[np.float64]


def arrivals_of(jobs: Jobs) -> Floats:
    """Return when each job comes to the scheduler (s)."""
    if "begin" not in jobs.names:
        return jobs.submit
    return np.asarray(np.fmax(jobs.submit, jobs["begin"]), dtype=np.float64)


def start_later(jobs: Jobs) -> NDArray[np.bool_]:
    """Return which jobs ask for a start later than their submit."""
    return np.asarray(arrivals_of(jobs) > jobs.submit)


def order_of_arrival(jobs: Jobs) -> NDArray[np.int64] | None:
    """Return the rows of jobs in the order in which they come; None where they are in it.

    Who comes at the same instant stays in the order of submission.
    """
    arrival = arrivals_of(jobs)
    if not np.any(arrival[1:] < arrival[:-1]):
        return None
    return np.argsort(arrival, kind="stable")


def grown(jobs: Jobs, growth: float) -> Jobs:
    """Return jobs whose arrivals are `growth` times as dense; the first submit stays."""
    if not len(jobs):
        return jobs
    first = jobs.submit.min()
    return jobs.moved(first + (jobs.submit - first) / growth)
