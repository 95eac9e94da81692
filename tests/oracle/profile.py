"""Availability of servers over the future work clock, by direct summation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .model import Exact, Instant, State


class Hold(NamedTuple):
    """Servers held over the half-open stretch [begin, end) of the work clock."""

    begin: Instant
    end: Instant
    procs: int


def later(instant: Instant, work: Exact) -> Instant:
    """`work` after `instant`: an infinitesimal is lost in a sum with anything else."""
    return (instant[0] + work, 0) if work else instant


def planned_end(state: State, j: int) -> Instant:
    """Where the scheduler expects running job j to end: right after now if it is overdue."""
    planned = (state.started[j] + state.jobs[j].plan, 0)
    return max(planned, (state.clock, 1))


def running_holds(state: State) -> list[Hold]:
    """What the running jobs hold from now on."""
    now = (state.clock, 0)
    return [Hold(now, planned_end(state, j), state.jobs[j].procs) for j in state.running]


def free(x: Instant, servers: int, holds: Sequence[Hold]) -> int:
    """Free servers at x >= now."""
    return servers - sum(hold.procs for hold in holds if hold.begin <= x < hold.end)


def breakpoints(holds: Sequence[Hold]) -> list[Instant]:
    """The instants at which free(x) may change."""
    return sorted({hold.begin for hold in holds} | {hold.end for hold in holds})


def fits(start: Instant, plan: Exact, procs: int, servers: int, holds: Sequence[Hold]) -> bool:
    """Whether `procs` servers are free at `start` and throughout [start, start + plan)."""
    end = later(start, plan)
    inside = [b for b in breakpoints(holds) if start < b < end]
    return all(free(x, servers, holds) >= procs for x in [start, *inside])


def earliest_start(
    now: Instant, plan: Exact, procs: int, servers: int, holds: Sequence[Hold]
) -> Instant:
    """The smallest of now and the later breakpoints at which the job fits."""
    candidates = [now] + [b for b in breakpoints(holds) if b > now]
    return next(s for s in candidates if fits(s, plan, procs, servers, holds))
