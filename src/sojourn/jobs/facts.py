"""What a log holds, in numbers: its span, load, widths, runtimes, estimates, users, day.

All of it is of the log as it is; nothing is repaired or left out but what is not known.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..measures import quantiles, quantiles_by_group
from .classes import classed
from .header import Header
from .recorded import has_recorded_wait, recorded_occupancy
from .schema import offsets
from .table import Jobs

if TYPE_CHECKING:
    import pandas as pd


_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_QUANTILE_NAMES = ("min", "p5", "p25", "median", "p75", "p95", "max")
_DAY = 86_400.0
_HOUR = 3600.0
# [swf]: what the status field says.
_STATUS = {0: "failed", 1: "completed", 2: "partial", 3: "last partial", 4: "failed partial"}
_STATUS |= {5: "cancelled", -1: "unknown"}

_WHO = {
    "users": "user",
    "groups": "group",
    "accounts": "account",
    "queues": "queue",
    "partitions": "partition",
    "qos": "qos",
}


def header_fields(header: Header) -> dict[str, str]:
    """Return the lines ``; Key: value`` of a header; the first of those with the same key."""
    fields: dict[str, str] = {}
    for line in header:
        match = re.match(r";\s*([A-Za-z][A-Za-z0-9_]*)\s*:(.*)", line)
        if match and match[2].strip():
            fields.setdefault(match[1], match[2].strip())
    return fields


def offered_load(jobs: Jobs, procs: int) -> float:
    """Area of the jobs over that of the machine, from the first to the last submit."""
    if len(jobs) < 2 or procs < 1:
        return float("nan")
    span = float(jobs.submit.max() - jobs.submit.min())
    return _area(jobs) / (procs * span) if span > 0 else float("nan")


def _area(jobs: Jobs) -> float:
    """Return processors times runtimes (s) of all jobs; 0 for those of which one is not known."""
    return float(np.dot(np.maximum(jobs.procs, 0), np.maximum(jobs.runtime, 0.0)))


def daily_counts(jobs: Jobs) -> tuple[list[int], str]:
    """Return submits by hour of the day, and whose clock that is.

    With UnixStartTime in the header hours are those of the log's time zone at each submit; else
    they are counted from second 0. A header that names no zone is taken at its word: its clock may
    be that of UTC or of the site.
    """
    local, clock = _local(jobs.header, jobs.submit)
    hour = np.floor(local % _DAY / _HOUR).astype(np.int64) % 24
    return np.bincount(hour, minlength=24).tolist(), clock


def _local(header: Header, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """Return seconds of a local clock since 1970 at times of a log, and the name of the clock."""
    offset, clock = local_clock(header)
    begin = _begin(header)
    if begin is None or clock != header.get("TimeZoneString"):
        return times + offset, clock
    unix = times + begin
    return unix + offsets(unix, lambda time: _utc_offset(header, int(time))[0]), clock


def _begin(header: Header) -> int | None:
    """Return second 0 of a log as Unix time, where its header says."""
    begin = re.match(r"\d{1,11}\b", header.get("UnixStartTime") or "")
    return int(begin[0]) or None if begin else None


def local_clock(header: Header) -> tuple[float, str]:
    """Return what to add to submits for seconds of a local clock since 1970, and its name.

    The time zone is as it was at the start of the log. Without UnixStartTime nothing is added.
    """
    begin = _begin(header)
    if begin is None:
        return 0.0, "from second 0 of the log"
    shift, clock = _utc_offset(header, begin)
    return begin + shift, clock


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
    return 0.0, "clock of the log"


def _spread(values: NDArray[Any]) -> dict[str, float]:
    if values.size == 0:
        return {}
    spread = zip(_QUANTILE_NAMES, quantiles(values, _QUANTILES), strict=True)
    return {"mean": float(np.mean(values)), **{name: float(value) for name, value in spread}}


def _estimates(jobs: Jobs) -> dict[str, Any]:
    known = jobs.estimate > 0
    ran = known & (jobs.runtime >= 0)
    runtime, estimate = jobs.runtime[ran], jobs.estimate[ran]
    return {
        "known": int(np.count_nonzero(known)),
        "over_limit": int(np.count_nonzero(runtime > estimate)),
        "exact": int(np.count_nonzero(runtime == estimate)),
        "distinct": int(np.unique(jobs.estimate[known]).size),
        "accuracy": _spread(runtime / estimate),
    }


def _who(jobs: Jobs, column: str) -> dict[str, Any]:
    """Return how many different ones there are, and the share of the busiest five."""
    codes, names = jobs.coded(column)
    if not names:
        return {"count": 0}
    known = codes >= 0
    counts = np.bincount(codes[known], minlength=len(names))
    # One of the jobs of each name, for its number.
    row = np.zeros(len(names), np.int64)
    row[codes[known]] = np.flatnonzero(known)
    first = np.argsort(-counts, kind="stable")[:5]
    top = [
        {"id": int(jobs[column][row[k]]), "name": names[k], "share": float(counts[k] / len(jobs))}
        for k in first.tolist()
    ]
    return {"count": len(names), "busiest": top}


def _occupancy(jobs: Jobs, procs: int) -> dict[str, Any] | None:
    """Return `recorded_occupancy` with the date of its peak, if the log has a calendar."""
    occupancy = recorded_occupancy(jobs, procs)
    if occupancy is None:
        return None
    local, clock = _local(jobs.header, np.array([occupancy["peak_time"]]))
    date = None
    if _begin(jobs.header) is not None:
        try:
            moment = datetime.fromtimestamp(float(local[0]), UTC)
            date = moment.strftime("%Y-%m-%d %H:%M:%S")
        except (OverflowError, OSError, ValueError):
            clock = "from second 0 of the log"
    return {**occupancy, "peak_date": date, "clock": clock}


def facts(jobs: Jobs, procs: int | None = None) -> dict[str, Any]:
    """Describe a job stream as it is.

    Parameters
    ----------
    jobs : the log, not cleaned.
    procs : processors of the machine; default: those that the log says, else the most that its jobs
        have used at once, as recorded, else those of the widest job.

    Returns
    -------
    dict
        Plain numbers, ready for JSON; times in seconds. ``load`` is that offered to the machine,
        ``occupancy`` what the log has recorded of it (see `recorded_occupancy`).
    """
    size, size_source = jobs.machine_size if procs is None else (procs, "given")
    occupancy = _occupancy(jobs, size)
    if size_source == "widest job" and occupancy is not None and occupancy["peak"] > size:
        size, size_source = occupancy["peak"], "recorded use"
        occupancy = _occupancy(jobs, size)
    submit = np.sort(jobs.submit)
    width = jobs.procs[jobs.procs > 0]
    count = max(len(jobs), 1)
    status, times = np.unique(jobs["status"], return_counts=True)
    per_hour, clock = daily_counts(jobs)
    waited = has_recorded_wait(jobs)
    return {
        "jobs": len(jobs),
        "procs": size,
        "size_source": size_source,
        "wider_than_machine": int(np.count_nonzero(width > size)),
        "first_submit": float(submit[0]) if len(submit) else None,
        "last_submit": float(submit[-1]) if len(submit) else None,
        "span": float(submit[-1] - submit[0]) if len(submit) else 0.0,
        "load": offered_load(jobs, size),
        "processor_seconds": _area(jobs),
        "occupancy": occupancy,
        "distributions": {
            "procs": _spread(width),
            "runtime": _spread(jobs.runtime[jobs.runtime >= 0]),
            "estimate": _spread(jobs.estimate[jobs.estimate > 0]),
            "interarrival": _spread(np.diff(submit)),
            "recorded_wait": _spread(jobs.wait[waited]),
        },
        "waits_known": int(np.count_nonzero(waited)),
        "serial_share": float(np.count_nonzero(width == 1) / count),
        "power_of_two_share": float(np.count_nonzero(width & (width - 1) == 0) / count),
        "estimates": _estimates(jobs),
        **{several: _who(jobs, column) for several, column in _WHO.items()},
        "status": {
            _STATUS.get(int(s), str(int(s))): int(n) for s, n in zip(status, times, strict=True)
        },
        "submits_by_hour": {"counts": per_hour, "clock": clock},
        "header": header_fields(jobs.header),
    }


def facts_by(jobs: Jobs, by: str) -> pd.DataFrame:
    """Return what the jobs of each class are like, as they stand in the log.

    Parameters
    ----------
    jobs : the log, not cleaned.
    by : ``user``, ``group``, ``account``, ``queue``, ``partition``, ``qos`` or ``width``.

    Returns
    -------
    pandas.DataFrame
        One row per class, by its name: ``jobs``; ``processor_hours`` and their ``share`` of all;
        ``mean_width`` (processors); ``mean_runtime`` and ``median_runtime`` (s), of jobs whose
        runtime is known; ``mean_wait`` (s), of jobs whose wait is recorded.
    """
    import pandas as pd

    codes, names = classed(jobs, by)
    area = np.maximum(jobs.procs, 0) * np.maximum(jobs.runtime, 0.0) / _HOUR
    known = {
        "procs": np.where(jobs.procs > 0, jobs.procs, np.nan),
        "runtime": np.where(jobs.runtime >= 0, jobs.runtime, np.nan),
        "wait": np.where(has_recorded_wait(jobs), jobs.wait, np.nan),
    }
    classes = pd.DataFrame({**known, "area": area}).groupby(codes)
    whole = float(area.sum())
    hours = classes["area"].sum()
    middle = quantiles_by_group(known["runtime"], codes, len(names), (0.5,))[:, 0]
    table = pd.DataFrame(
        {
            "jobs": classes.size(),
            "processor_hours": hours,
            "share": hours / whole if whole > 0 else 0.0 * hours,
            "mean_width": classes["procs"].mean(),
            "mean_runtime": classes["runtime"].mean(),
            "median_runtime": middle[hours.index.to_numpy()],
            "mean_wait": classes["wait"].mean(),
        }
    )
    return table.set_axis(pd.Index([names[k] for k in table.index], name=by))
