"""Times with decimals are counted in whole ticks: sums of tenths round, sums of ticks do not.

A job of 0.2 s that starts at 0.1 s would end at 0.30000000000000004 s, after another has come at
0.3 s, and rounding would decide who is first. Where all times of a run are decimals of up to three
places, its kernel sees them as multiples of 0.1, 0.01 or 0.001 s, and its answers are brought back
to seconds.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .outside import LOST_START, LOST_STOP, LOST_WORK, Outside
from .state import (
    ANCHOR_TIME,
    ANCHOR_WORK,
    LOAD,
    NOW,
    WORK,
    WORKLOAD,
    WORKLOAD_LEFT,
    State,
)
from .types import JobView

__all__ = ["events_in_seconds", "events_in_ticks", "in_ticks", "state_in_seconds", "ticks_in"]

Floats = NDArray[np.float64]

_TICKS = (1, 10, 100, 1000)
"""In a second."""


def ticks_in(jobs: JobView, outside: Outside | None) -> int:
    """How many ticks a second has, so that all times are whole ticks; 1 if none of ours do."""
    times = [jobs.submit, jobs.work, jobs.plan]
    if outside is not None:
        times += [outside.time, outside.reserved]
    return next((ticks for ticks in _TICKS if _are_whole(times, ticks)), 1)


def _are_whole(times: Iterable[Floats], ticks: int) -> bool:
    # The nearest number to a decimal is what a reader makes of it, and what a division gives.
    return all(bool(np.all(np.rint(each * ticks) / ticks == each)) for each in times)


def _count(times: Floats, ticks: int) -> Floats:
    return np.rint(times * ticks)


def in_ticks(jobs: JobView, ticks: int) -> JobView:
    """Return the jobs with their times in ticks."""
    plan = _count(jobs.plan, ticks)
    submit, work = _count(jobs.submit, ticks), _count(jobs.work, ticks)
    return jobs._replace(submit=submit, work=work, plan=plan, estimate=plan)


def events_in_ticks(outside: Outside, ticks: int) -> Outside:
    """Return external events with their times in ticks."""
    return outside._replace(
        time=_count(outside.time, ticks), reserved=_count(outside.reserved, ticks)
    )


def state_in_seconds(state: State, ticks: int) -> None:
    """Bring a run that has ended back from ticks to seconds, in place."""
    for times in (state.start, state.end, state.first_promise):
        times /= ticks
    state.clock[[NOW, WORK, ANCHOR_TIME, ANCHOR_WORK, LOAD]] /= ticks
    state.total[:] /= ticks
    # Work times time.
    state.total[[WORKLOAD, WORKLOAD_LEFT]] /= ticks


def events_in_seconds(outside: Outside, ticks: int) -> Outside:
    """Return what external events did, with its times in seconds."""
    outside.job[:] /= ticks
    outside.lost[[LOST_START, LOST_STOP, LOST_WORK]] /= ticks
    return outside._replace(time=outside.time / ticks, reserved=outside.reserved / ticks)
