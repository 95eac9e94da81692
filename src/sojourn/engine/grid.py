"""Times with decimals are counted in whole ticks: sums of tenths round, sums of ticks do not.

A job of 0.2 s that starts at 0.1 s would end at 0.30000000000000004 s, after another has come at
0.3 s, and rounding would decide who is first. Where all times of a run are decimals of up to three
places, its kernel sees them as multiples of 0.1, 0.01 or 0.001 s, and its answers are brought back
to seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import Floats
from .calendar import Calendar
from .checkpoints import COSTS
from .types import JobView

_TICKS = (1, 10, 100, 1000)
"""In a second."""

_CLOCKS = ("now", "work", "anchor_time", "anchor_work", "load")
_INTEGRALS = ("potential", "effective", "waste", "queue_time", "service_time")
_RESERVED = ("announced", "begins", "ends")
_FALLS = ("begins", "ends")


def ticks_in(jobs: JobView, calendar: Calendar | None) -> int:
    """How many ticks a second has, so that all times are whole ticks; 1 if none of ours do."""
    times = [jobs.submit, jobs.work, jobs.plan]
    if calendar is not None:
        times += [calendar.event["time"], *(calendar.reservation[name] for name in _RESERVED)]
        times += [calendar.checkpoint[name] for name in COSTS]
        times += [calendar.fall[name] for name in _FALLS]
    return next((ticks for ticks in _TICKS if _are_whole(times, ticks)), 1)


def _are_whole(times: Iterable[Floats], ticks: int) -> bool:
    # The nearest number to a decimal is what a reader makes of it, and what a division gives.
    return all(bool(np.all(np.rint(each * ticks) / ticks == each)) for each in times)


def _count(times: Floats, ticks: int) -> Floats:
    return np.rint(times * ticks)


def in_ticks(jobs: JobView, calendar: Calendar | None, ticks: int) -> JobView:
    """Return the jobs with their times in ticks; those of a calendar are counted in place."""
    plan = _count(jobs.plan, ticks)
    submit, work = _count(jobs.submit, ticks), _count(jobs.work, ticks)
    if calendar is not None:
        calendar.event["time"] = _count(calendar.event["time"], ticks)
        for name in _RESERVED:
            calendar.reservation[name] = _count(calendar.reservation[name], ticks)
        for name in COSTS:
            calendar.checkpoint[name] = _count(calendar.checkpoint[name], ticks)
        for name in _FALLS:
            calendar.fall[name] = _count(calendar.fall[name], ticks)
    return jobs._replace(submit=submit, work=work, plan=plan, estimate=plan)


def in_seconds(run: Any, ticks: int) -> None:
    """Bring a run that has ended back from ticks to seconds, in place."""
    for times in (run.running.start, run.running.end, run.promises):
        times /= ticks
    s, calendar, recording = run.s, run.calendar, run.recording
    for name in (*_CLOCKS, *_INTEGRALS):
        s[name] /= ticks
    for name in ("workload", "workload_left"):
        # Work times time.
        s[name] /= ticks * ticks
    tables = [
        (recording.row, ("time", "workload")),
        (recording.epoch, ("time",)),
        (recording.segment, ("start", "stop", "work", "kept")),
        (recording.line, ("time",)),
    ]
    if calendar is not None:
        tables += [
            (calendar.event, ("time",)),
            (calendar.reservation, _RESERVED),
            (calendar.checkpoint, (*COSTS, "restored")),
            (calendar.fall, _FALLS),
            (calendar.job, ("left", "worked", "since", "began", "amount")),
        ]
    for table, names in tables:
        for name in names:
            table[name] /= ticks
