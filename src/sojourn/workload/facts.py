"""What a log holds, in numbers: its span, load, widths, runtimes, estimates, users, day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .header import Header
from .jobs import Jobs

__all__ = ["daily_counts", "facts", "header_fields", "local_clock", "offered_load"]

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_QUANTILE_NAMES = ("min", "p5", "p25", "median", "p75", "p95", "max")
_DAY = 86_400.0
_HOUR = 3600.0
# [swf]: what the status field says.
_STATUS = {0: "failed", 1: "completed", 2: "partial", 3: "last partial", 4: "failed partial"}
_STATUS |= {5: "cancelled", -1: "unknown"}


def header_fields(header: Header) -> dict[str, str]:
    """Return the lines ``; Key: value`` of a header; the first of those with the same key."""
    found: dict[str, str] = {}
    for line in header:
        match = re.match(r";\s*([A-Za-z][A-Za-z0-9_]*)\s*:\s*(.+?)\s*$", line)
        if match:
            found.setdefault(match[1], match[2])
    return found


def offered_load(jobs: Jobs, procs: int) -> float:
    """Area of the jobs over that of the machine, from the first to the last submit."""
    if len(jobs) < 2 or procs < 1:
        return float("nan")
    span = float(jobs.submit.max() - jobs.submit.min())
    return float(np.dot(jobs.procs, jobs.runtime)) / (procs * span) if span > 0 else float("nan")


def daily_counts(jobs: Jobs) -> tuple[list[int], str]:
    """Return submits by hour of the day, and whose clock that is.

    With UnixStartTime in the header hours are those of the log's time zone, as it was at the
    start of the log; else they are counted from second 0.
    """
    offset, clock = local_clock(jobs.header)
    hour = np.floor((jobs.submit + offset) % _DAY / _HOUR).astype(np.int64) % 24
    return np.bincount(hour, minlength=24).tolist(), clock


def local_clock(header: Header) -> tuple[float, str]:
    """Return what to add to submits for seconds of a local clock since 1970, and its name.

    The time zone is as it was at the start of the log. Without UnixStartTime nothing is added.
    """
    begin = re.match(r"\d{1,11}\b", header.get("UnixStartTime") or "")
    if not begin or int(begin[0]) == 0:
        return 0.0, "from second 0 of the log"
    shift, clock = _utc_offset(header, int(begin[0]))
    return int(begin[0]) + shift, clock


def _utc_offset(header: Header, instant: int) -> tuple[float, str]:
    """Return seconds to add to UTC, and the name of the clock."""
    clock = header.get("Clock")
    if clock:
        # Local times taken as they stand: nothing is to be added.
        return 0.0, clock
    name = header.get("TimeZoneString")
    if name:
        from zoneinfo import ZoneInfo

        try:
            shift = datetime.fromtimestamp(instant, ZoneInfo(name)).utcoffset()
        except (OSError, ValueError, OverflowError, LookupError):
            shift = None
        if shift is not None:
            return (shift / timedelta(seconds=1)), name
    digits = re.fullmatch(r"[+-]?\d{1,5}", header.get("TimeZone") or "")
    if digits:
        return float(digits[0]), "local time"
    return 0.0, "UTC"


def _spread(values: NDArray[Any]) -> dict[str, float]:
    if values.size == 0:
        return {}
    found = np.quantile(values, _QUANTILES)
    told = {name: float(x) for name, x in zip(_QUANTILE_NAMES, found, strict=True)}
    return {"mean": float(np.mean(values)), **told}


def _estimates(jobs: Jobs) -> dict[str, Any]:
    known = jobs.estimate > 0
    runtime, estimate = jobs.runtime[known], jobs.estimate[known]
    return {
        "known": int(np.count_nonzero(known)),
        "over_limit": int(np.count_nonzero(runtime > estimate)),
        "exact": int(np.count_nonzero(runtime == estimate)),
        "distinct": int(np.unique(estimate).size),
        "accuracy": _spread(np.minimum(runtime, estimate) / estimate) if estimate.size else {},
    }


def _who(column: NDArray[np.int64]) -> dict[str, Any]:
    """Return how many different ones there are, and the share of the busiest five."""
    known, counts = np.unique(column[column >= 0], return_counts=True)
    if known.size == 0:
        return {"count": 0}
    first = np.argsort(-counts, kind="stable")[:5]
    top = [{"id": int(known[k]), "share": float(counts[k] / len(column))} for k in first]
    return {"count": int(known.size), "busiest": top}


def facts(jobs: Jobs, procs: int) -> dict[str, Any]:
    """Describe a job stream.

    Parameters
    ----------
    jobs : the jobs, cleaned as they are to be simulated.
    procs : processors of the machine.

    Returns
    -------
    dict
        Plain numbers, ready for JSON; times in seconds. ``load`` is that offered to the machine.
    """
    submit = np.sort(jobs.submit)
    width = jobs.procs
    count = max(len(jobs), 1)
    status, times = np.unique(jobs["status"], return_counts=True)
    per_hour, clock = daily_counts(jobs)
    waits = jobs.wait[jobs.wait >= 0]
    return {
        "jobs": len(jobs),
        "procs": procs,
        "wider_than_machine": int(np.count_nonzero(width > procs)),
        "first_submit": float(submit[0]) if len(submit) else None,
        "last_submit": float(submit[-1]) if len(submit) else None,
        "span": float(submit[-1] - submit[0]) if len(submit) else 0.0,
        "load": offered_load(jobs, procs),
        "processor_seconds": float(np.dot(width, jobs.runtime)),
        "distributions": {
            "procs": _spread(width),
            "runtime": _spread(jobs.runtime),
            "estimate": _spread(jobs.estimate[jobs.estimate > 0]),
            "interarrival": _spread(np.diff(submit)),
            "recorded_wait": _spread(waits),
        },
        "serial_share": float(np.count_nonzero(width == 1) / count),
        "power_of_two_share": float(
            np.count_nonzero((width > 0) & (width & (width - 1) == 0)) / count
        ),
        "estimates": _estimates(jobs),
        "users": _who(jobs.user),
        "groups": _who(jobs.group),
        "queues": _who(jobs.queue),
        "partitions": _who(jobs.partition),
        "status": {
            _STATUS.get(int(s), str(int(s))): int(n) for s, n in zip(status, times, strict=True)
        },
        "submits_by_hour": {"counts": per_hour, "clock": clock},
        "header": header_fields(jobs.header),
    }
