"""Measures of a run [rumyantsev2018, sec. II-B], each evaluated on the trajectory as printed.

Powers are functions of the rate: `busy` is e(r), `idle` is e_0(r), per server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .model import Exact, Job, Outcome, Row, exact, ratio

Power = Callable[[Exact], Exact]


def delays(jobs: Sequence[Job], outcome: Outcome) -> list[Exact]:
    """Arrival to service start."""
    return [s - exact(job.submit) for job, s in zip(jobs, outcome.start, strict=True)]


def sojourns(jobs: Sequence[Job], outcome: Outcome) -> list[Exact]:
    """Arrival to departure."""
    return [e - exact(job.submit) for job, e in zip(jobs, outcome.end, strict=True)]


def services(outcome: Outcome) -> list[Exact]:
    """Service start to departure, preempted stretches included."""
    return [e - s for s, e in zip(outcome.start, outcome.end, strict=True)]


def slowdowns(jobs: Sequence[Job], outcome: Outcome) -> list[float | Exact]:
    """Sojourn over service (errata 3); of a zero service: 1 without delay, else infinite."""
    pairs = zip(sojourns(jobs, outcome), services(outcome), strict=True)
    return [
        ratio(stay, service) if service else (math.inf if stay else 1) for stay, service in pairs
    ]


def bounded_slowdowns(jobs: Sequence[Job], outcome: Outcome, bound: Exact = 10) -> list[Exact]:
    """max(1, sojourn / max(service, bound))."""
    pairs = zip(sojourns(jobs, outcome), services(outcome), strict=True)
    return [max(exact(1), ratio(stay, max(service, bound))) for stay, service in pairs]


def job_energies(jobs: Sequence[Job], outcome: Outcome, busy: Power) -> list[Exact]:
    """Eq. (9), summed over the stretches in service: one stretch unless the job was preempted."""
    energies: list[Exact] = [0] * len(jobs)
    for segment in outcome.segments:
        for row, until in intervals(outcome):
            if segment.start <= row.time < segment.stop:
                energies[segment.job] += (
                    jobs[segment.job].procs * busy(row.rate) * (until - row.time)
                )
    return energies


def potential_load(row: Row, servers: int) -> Exact:
    """Potential load (errata 9)."""
    return row.rate * (servers if row.queued > 0 else row.busy)


def effective_load(row: Row) -> Exact:
    """Effective load."""
    return row.rate * row.busy


def job_wasting(outcome: Outcome, servers: int) -> list[Exact]:
    """Eq. (10), for each interval of the trajectory."""
    return [
        (servers - row.busy) * (until - row.time) * row.rate if row.queued > 0 else 0
        for row, until in intervals(outcome)
    ]


def power(row: Row, servers: int, busy: Power, idle: Power) -> Exact:
    """Eq. (11)."""
    return row.busy * busy(row.rate) + (servers - row.busy) * idle(row.rate)


def time_average(
    outcome: Outcome, value: Callable[[Row], Exact], horizon: Exact | None = None
) -> Exact:
    """Eq. (12) for any quantity that is constant between epochs, over [T_1, T_1 + horizon].

    The last interval is cut at the horizon (errata 11), which is by default the last epoch.
    """
    begin = outcome.trajectory[0].time
    end = outcome.trajectory[-1].time if horizon is None else begin + horizon
    total = sum(
        value(row) * (min(until, end) - row.time)
        for row, until in intervals(outcome, end)
        if row.time < end
    )
    return ratio(exact(total), end - begin)


def intervals(outcome: Outcome, end: Exact | None = None) -> list[tuple[Row, Exact]]:
    """Rows with the ends T_{i+1} of their intervals; the last one ends at `end`, if later."""
    rows = outcome.trajectory
    last = rows[-1].time if end is None else max(end, rows[-1].time)
    return list(zip(rows, [row.time for row in rows[1:]] + [last], strict=True))
