"""Instants that Batsim prints with six digits, put right from what is known exactly [batsim].

Batsim writes instants of jobs to the microsecond, but changes of states with six digits: 16157.6 s.
Switching takes as long as the platform says, so that its end follows from its beginning. It begins
when something happens: a job is submitted, starts or ends, or a node has been switched; or when a
node has been idle for whole seconds; in time for a job that starts when it ends; or at whole
seconds of the clock, or after the first submit, where a scheduler looks at its nodes every so
often. Early instants are printed finely enough to show which of these a scheduler goes by: what
explains more of them comes first.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..cluster.batsim import BatsimHost

ON, OFF = -1, -2
PRINTED = 2e-6
"""s; instants of jobs are rounded to six decimals."""
DIGITS = 6
_FINE = 0.01  # s; what is printed with such a last digit or a smaller one shows its cause


class StateChange(NamedTuple):
    """A change of a node: when (s), to which number, on which line, and to which pstate.

    The pstate of switching is the virtual one that stands for it. `unit` is what the last digit of
    the time stands for (s), where it is printed with more digits than usual.
    """

    time: float
    node: int
    number: int
    line: int
    pstate: int = -1
    unit: float = math.nan


class BatsimJob(NamedTuple):
    """A job that ran: instants in s, its nodes, and its energy (J), nan if not recorded."""

    submit: float
    start: float
    end: float
    nodes: tuple[int, ...]
    joules: float


class _Printed(NamedTuple):
    """A time as it is printed, and what its last digit stands for (s)."""

    time: float
    unit: float

    @classmethod
    def of(cls, change: StateChange) -> _Printed:
        """Return the printed time of a change."""
        time, unit = change.time, change.unit
        if math.isnan(unit):
            unit = 10.0 ** (math.floor(math.log10(abs(time) or 1.0)) - DIGITS + 1)
        return cls(time, float(unit))

    def is_of(self, exact: float) -> bool:
        """Whether Batsim prints an instant like this; what is half-way may go up or down."""
        return abs(exact - self.time) <= self.unit / 2 + PRINTED

    def last(self, times: Sequence[float]) -> float:
        """Return the last of some times that is not after this one, but for its last digit."""
        at = bisect_right(times, self.time + self.unit)
        return times[at - 1] if at else -math.inf


class _Known(NamedTuple):
    """What is known of a change: as printed, instants of all, and of its node (s).

    It cannot be before `least`, as when a job ends on the node, nor after `most`, as when a node is
    switched on for a job; both count only where they are printed like the change.
    """

    printed: _Printed
    instants: Sequence[float]
    least: float
    most: float
    idle_since: float
    first: float


_CAUSES: dict[str, Callable[[_Known], float | None]] = {
    "event": lambda of: _explained(of.instants, of.printed, of.least),
    "in time": lambda of: of.most,
    "idle": lambda of: of.idle_since + _whole(of.printed.time - of.idle_since),
    "clock": lambda of: _whole(of.printed.time),
    "first": lambda of: of.first + _whole(of.printed.time - of.first),
}
"""What may explain a change, in order where none explains more early ones than another."""
_OF_NUMBER = {OFF: ("event", "idle", "clock", "first"), ON: ("event", "in time", "clock", "first")}
_OTHERS = ("event", "clock", "first")


def exact_times(
    changes: Sequence[StateChange], jobs: Sequence[BatsimJob], hosts: Sequence[BatsimHost]
) -> list[StateChange]:
    """Return changes with their times put right; those that nothing explains stay as printed."""
    explained: Counter[tuple[int, str]] = Counter()
    _put_right(changes, jobs, hosts, explained)
    return _put_right(changes, jobs, hosts, explained)


def _put_right(
    changes: Sequence[StateChange],
    jobs: Sequence[BatsimJob],
    hosts: Sequence[BatsimHost],
    explained: Counter[tuple[int, str]],
) -> list[StateChange]:
    """Go through changes, with causes in the order of what they explained when this is called.

    `explained` then has how many early changes each cause explains, by the number of the change.
    """
    ranked = {
        kind: sorted(_OF_NUMBER.get(kind, _OTHERS), key=lambda cause: -explained[kind, cause])
        for kind in (OFF, ON, 0)
    }
    explained.clear()
    known = sorted({0.0, *(at for job in jobs for at in job[:3])})
    first = min((job.submit for job in jobs), default=0.0)
    starts, ends = _by_node(jobs, "start"), _by_node(jobs, "end")
    arrival: dict[int, float] = {}  # of nodes that are switching
    up_since: dict[int, float] = {}
    exact: list[StateChange] = []
    before = -math.inf
    for change in changes:
        node, kind = change.node, min(change.number, 0)
        printed = _Printed.of(change)
        lapse = hosts[node].seconds(change.pstate) if kind else 0.0
        freed = printed.last(ends.get(node, ()))
        needed = printed._replace(time=printed.time + lapse).last(starts.get(node, ())) - lapse
        of = _Known(
            printed,
            known,
            least=max(before, freed if printed.is_of(freed) else -math.inf),
            most=needed if kind != OFF and printed.is_of(needed) else math.inf,
            idle_since=max(freed, up_since.get(node, 0.0)),
            first=first,
        )
        time = None if kind else arrival.pop(node, None)
        if time is None or not printed.is_of(time):
            fits = [cause for cause in ranked[kind] if _fits(_CAUSES[cause](of), of)]
            if printed.time > 0 and printed.unit <= _FINE:
                explained.update((kind, cause) for cause in fits)
            time = _CAUSES[fits[0]](of) if fits else None
        if time is None:
            time = printed.time
        else:
            before = max(before, time)
        time = max(min(time, of.most), freed if printed.is_of(freed) else time)
        time = _snapped(known, time)
        if kind:
            arrival[node] = time + lapse
        elif change.number not in hosts[node].sleep:
            up_since[node] = time
        exact.append(change._replace(time=time))
    return exact


def _fits(time: float | None, of: _Known) -> bool:
    """Whether a change can have been at a time, and would then be printed as it is."""
    return (
        time is not None
        and of.printed.is_of(time)
        and of.least - PRINTED <= time <= of.most + PRINTED
    )


def _whole(seconds: float) -> float:
    """Return whole seconds; what is endless stays so."""
    return float(round(seconds)) if math.isfinite(seconds) else seconds


def _by_node(jobs: Sequence[BatsimJob], name: str) -> dict[int, list[float]]:
    """Return the starts or ends of the jobs on each node, in order."""
    times: dict[int, list[float]] = {}
    for time, nodes in sorted((getattr(job, name), job.nodes) for job in jobs):
        for node in nodes:
            times.setdefault(node, []).append(time)
    return times


def _explained(known: Sequence[float], printed: _Printed, least: float) -> float | None:
    """Return the first known instant, not before `least`, that is printed like this."""
    at = bisect_left(known, max(printed.time - printed.unit, least) - PRINTED)
    while at < len(known) and known[at] <= printed.time + printed.unit + PRINTED:
        if printed.is_of(known[at]):
            return known[at]
        at += 1
    return None


def _snapped(known: list[float], time: float) -> float:
    """Return the known instant that a time is but for rounding; else it becomes known itself."""
    at = bisect_left(known, time)
    nearest = min(known[max(at - 1, 0) : at + 1], key=lambda instant: abs(instant - time))
    if abs(nearest - time) <= PRINTED:
        return nearest
    insort(known, time)
    return time
