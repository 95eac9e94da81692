"""A recorded run of Batsim, replayed into a ledger of states [batsim].

Batsim writes instants of jobs to the microsecond, but changes of states with six digits: 16157.6 s.
They are put right from what is known exactly. Switching takes as long as the platform says, so that
its end follows from its beginning; and it begins when something happens: a job is submitted, starts
or ends, a node has been switched, or has been idle for whole seconds; or in time for a job that
starts when it ends.
"""

from __future__ import annotations

import contextlib
import math
import os
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cluster.batsim import BatsimHost, read_hosts
from ..errors import LogError
from ..measures.energy import NodeState, Occupation, StateLedger, state_ledger

if TYPE_CHECKING:
    import pandas as pd

_JOBS, _CHANGES, _SCHEDULE = "out_jobs.csv", "out_pstate_changes.csv", "out_schedule.csv"
_TIMES = tuple(
    f"time_{name}" for name in ("computing", "idle", "sleeping", "switching_off", "switching_on")
)
"""Columns of Batsim, in the order of the kinds of a ledger."""
_ON, _OFF = -1, -2
_PRINTED = 2e-6  # s; instants of jobs are rounded to six decimals
_NEAR = 1e-6  # of the energy of a job, which is rounded, too
_DIGITS = 6


class _StateChange(NamedTuple):
    """A change of a node: when (s), to which number, on which line, and to which pstate.

    The pstate of switching is the virtual one that stands for it.
    """

    time: float
    node: int
    number: int
    line: int
    pstate: int = -1


@dataclass(frozen=True, eq=False)
class BatsimReplay:
    """What a recorded run consumed, recomputed from its schedule and its changes of states.

    Parameters
    ----------
    ledger : energies and times by node and state, up to the end of the run.
    recorded : what Batsim itself states of the run, by the names of its columns.
    load : of each job on its nodes, 0 to 1.
    changes : of states, with their times put right: time (s), node, and the state's number in the
        platform, where -1 is switching on and -2 switching off.
    to_last_change : the same ledger, but up to the last recorded change, which may come after the
        end of the last job.
    """

    ledger: StateLedger
    to_last_change: StateLedger
    recorded: dict[str, float]
    load: np.ndarray[Any, np.dtype[np.float64]]
    changes: pd.DataFrame

    def times(self) -> dict[str, float]:
        """Return node seconds as Batsim counts them, by the names of its columns.

        Batsim adds a time when a node leaves a state: the one that it is in when the record ends is
        left out. Unlike its energy, its times go on after the last job, to the last change.
        """
        left = self.to_last_change.seconds - self.to_last_change.open_seconds
        return dict(zip(_TIMES, left.sum(axis=0).tolist(), strict=False))


def read_batsim_energy(
    folder: str | os.PathLike[str],
    platform: str | os.PathLike[str],
    *,
    load: float | None = None,
) -> BatsimReplay:
    """Replay a recorded run of Batsim: its jobs and state changes, at the watts of its platform.

    Parameters
    ----------
    folder : with Batsim's ``out_jobs.csv``, ``out_pstate_changes.csv`` and ``out_schedule.csv``.
    platform : XML with the watts of its hosts.
    load : of every job on its nodes, 0 to 1. Default: that which gives each job the energy that is
        recorded of it, or 1 where none is. Jobs that only last (profiles of type ``delay``) compute
        nothing: their load is 0, and their nodes draw what idle ones draw.

    Raises
    ------
    LogError
        When a file is missing or says what cannot be; it names file, line and field.
    ClusterError
        When the platform cannot be read.
    """
    place = Path(folder)
    hosts = read_hosts(platform)
    jobs = _read_jobs(place / _JOBS, len(hosts))
    recorded = _read_schedule(place / _SCHEDULE)
    read = _read_changes(place / _CHANGES, len(hosts))
    changes = _exact(_resolved(read, hosts, place / _CHANGES), jobs, hosts)
    time, node, _, _, _ = zip(*changes, strict=True)
    states, state = _states(changes, hosts)
    until = recorded.get("makespan", max((job.end for job in jobs), default=0.0))
    # Batsim prints the makespan rounded; the last end of a job is the same instant.
    until = max((job.end for job in jobs if abs(job.end - until) <= _PRINTED), default=until)
    loads = _loads(jobs, states, time, node, state) if load is None else [load] * len(jobs)
    rows = [
        (job.start, job.end, at, share)
        for job, share in zip(jobs, loads, strict=True)
        for at in job.nodes
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    ledger, further = (
        state_ledger(time, node, state, states, Occupation(*columns), until=at)
        for at in (until, max(until, *time))
    )

    import pandas as pd

    table = pd.DataFrame(changes).rename(columns={"number": "state"})[["time", "node", "state"]]
    return BatsimReplay(ledger, further, recorded, np.array(loads, dtype=np.float64), table)


class _BatsimJob(NamedTuple):
    submit: float
    start: float
    end: float
    nodes: tuple[int, ...]
    joules: float  # nan if not recorded


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a file with their lines; it has these columns at least."""
    import csv

    from ..files.access import read_bytes

    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    reader = csv.DictReader(text.splitlines())
    try:
        missing = next((name for name in columns if name not in (reader.fieldnames or ())), None)
        if missing is not None:
            raise LogError(path, f"has no column '{missing}'; is it a file of Batsim?", line=1)
        for row in reader:
            if None in row or None in row.values():
                raise LogError(path, "has too many or too few fields", line=reader.line_num)
            yield reader.line_num, row
    except csv.Error as error:
        raise LogError(path, str(error), line=reader.line_num) from None


def _number(path: Path, line: int, field: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LogError(path, f"'{text[:40]}' is not a number", line=line, field=field)
    return value


def _node_set(path: Path, line: int, field: str, text: str, count: int) -> tuple[int, ...]:
    """Return the nodes of intervals such as ``0-3 7``."""
    nodes: list[int] = []
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        ends = (first, last if dash else first)
        if not all(end.isdecimal() for end in ends) or int(ends[0]) > int(ends[1]):
            raise LogError(path, f"'{part[:40]}' is no interval of nodes", line=line, field=field)
        if int(ends[1]) >= count:
            problem = f"node {ends[1][:20]}, but the platform has {count} hosts"
            raise LogError(path, problem, line=line, field=field)
        nodes.extend(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(nodes)


def _read_jobs(path: Path, count: int) -> list[_BatsimJob]:
    """Read the jobs that ran."""
    jobs = []
    names = ("submission_time", "starting_time", "finish_time", "allocated_resources")
    for line, row in _rows(path, names):
        nodes = _node_set(path, line, names[3], row[names[3]], count)
        if not nodes:
            continue  # rejected, or killed while it waited
        submit, start, end = (_number(path, line, name, row[name]) for name in names[:3])
        if end < start:
            raise LogError(path, "ends before it starts", line=line, field="finish_time")
        energy = row.get("consumed_energy", "")
        joules = _number(path, line, "consumed_energy", energy) if energy else math.nan
        jobs.append(_BatsimJob(submit, start, end, nodes, joules if joules >= 0 else math.nan))
    return jobs


def _read_changes(path: Path, count: int) -> list[_StateChange]:
    """Read the changes of states, one by one."""
    names = ("time", "machine_id", "new_pstate")
    changes = []
    for line, row in _rows(path, names):
        time, number = (_number(path, line, name, row[name]) for name in (names[0], names[2]))
        if number != int(number) or number < _OFF:
            problem = f"'{row[names[2]][:40]}' is no number of a state"
            raise LogError(path, problem, line=line, field=names[2])
        nodes = _node_set(path, line, names[1], row[names[1]], count)
        changes += [_StateChange(time, node, int(number), line) for node in nodes]
    if not changes:
        raise LogError(path, "has no state of a node; Batsim writes it with energy switched on")
    return changes


def _read_schedule(path: Path) -> dict[str, float]:
    """Read what Batsim states of the run; what is no number is left out."""
    recorded: dict[str, float] = {}
    for _, row in _rows(path, ("makespan",)) if path.is_file() else ():
        for name, text in row.items():
            with contextlib.suppress(ValueError):
                if math.isfinite(float(text)):
                    recorded[name] = float(text)
    return recorded


def _resolved(
    changes: Sequence[_StateChange], hosts: Sequence[BatsimHost], path: Path
) -> list[_StateChange]:
    """Return changes with their pstates: of switching, that of the depth it leads to or from."""
    target: dict[int, int] = {}
    targets = []
    for change in reversed(changes):
        targets.append(target.get(change.node))
        target[change.node] = change.number
    asleep: dict[int, int] = {}
    resolved = []
    for change, following in zip(changes, reversed(targets), strict=True):
        host, pstate = hosts[change.node], change.number
        problem = ""
        if change.number < 0:
            # Where the record ends while a node is switching off, it goes to its first depth.
            depth = following if change.number == _OFF else asleep.get(change.node)
            pair = host.sleep.get(next(iter(host.sleep), -1) if depth is None else depth)
            problem = "" if pair else f"host {change.node} of the platform has no such sleep state"
            pstate = pair[change.number == _ON] if pair else -1
        elif change.number >= len(host.pstates):
            problem = f"state {change.number}, but host {change.node} of the platform has "
            problem += f"{len(host.pstates)}"
        elif change.number in host.sleep:
            asleep[change.node] = change.number
        if problem:
            raise LogError(path, problem, line=change.line, field="new_pstate")
        resolved.append(change._replace(pstate=pstate))
    return resolved


def _exact(
    changes: Sequence[_StateChange], jobs: Sequence[_BatsimJob], hosts: Sequence[BatsimHost]
) -> list[_StateChange]:
    """Return changes with their times put right; those that nothing explains stay as printed."""
    known = sorted({0.0, *(at for job in jobs for at in job[:3])})
    starts, ends = _by_node(jobs, "start"), _by_node(jobs, "end")
    arrival: dict[int, float] = {}  # of nodes that are switching
    up_since: dict[int, float] = {}
    exact: list[_StateChange] = []
    before = -math.inf
    for change in changes:
        node, printed = change.node, change.time
        lapse = hosts[node].seconds(change.pstate) if change.number < 0 else 0.0
        freed = _last(ends.get(node, ()), printed)
        time = arrival.pop(node, None) if change.number >= 0 else None
        if time is None or not _is_printed(time, printed):
            least = freed if _is_printed(freed, printed) else -math.inf
            time = _explained(known, printed, max(before, least))
        if time is None and change.number == _ON:
            # It may be in time for a job that starts as soon as the node is up.
            time = _last(starts.get(node, ()), printed + lapse) - lapse
        elif time is None and change.number == _OFF:
            # It may have been idle for a time that somebody chose: whole seconds.
            since = max(freed, up_since.get(node, 0.0))
            time = since + round(printed - since)
        if time is not None and _is_printed(time, printed):
            before = max(before, time)
        else:
            time = printed
        time = _snapped(known, time)
        if change.number < 0:
            arrival[node] = time + lapse
        elif change.number not in hosts[node].sleep:
            up_since[node] = time
        exact.append(change._replace(time=time))
    return exact


def _by_node(jobs: Sequence[_BatsimJob], name: str) -> dict[int, list[float]]:
    """Return the starts or ends of the jobs on each node, in order."""
    times: dict[int, list[float]] = {}
    for time, nodes in sorted((getattr(job, name), job.nodes) for job in jobs):
        for node in nodes:
            times.setdefault(node, []).append(time)
    return times


def _unit(printed: float) -> float:
    """Return what the last digit of a printed time stands for."""
    return float(10.0 ** (math.floor(math.log10(abs(printed) or 1.0)) - _DIGITS + 1))


def _last(times: Sequence[float], printed: float) -> float:
    """Return the last time that is not after a printed one, but for its last digit."""
    at = bisect_right(times, printed + _unit(printed))
    return times[at - 1] if at else -math.inf


def _is_printed(exact: float, printed: float) -> bool:
    """Whether Batsim prints an instant like this."""
    return float(f"{exact:.{_DIGITS}g}") == printed


def _explained(known: Sequence[float], printed: float, least: float) -> float | None:
    """Return the first known instant, not before `least`, that is printed like this."""
    at = bisect_left(known, max(printed - _unit(printed), least - _PRINTED))
    while at < len(known) and known[at] <= printed + _unit(printed):
        if _is_printed(known[at], printed):
            return known[at]
        at += 1
    return None


def _snapped(known: list[float], time: float) -> float:
    """Return the known instant that a time is but for rounding; else it becomes known itself."""
    at = bisect_left(known, time)
    nearest = min(known[max(at - 1, 0) : at + 1], key=lambda instant: abs(instant - time))
    if abs(nearest - time) <= _PRINTED:
        return nearest
    insort(known, time)
    return time


def _states(
    changes: Sequence[_StateChange], hosts: Sequence[BatsimHost]
) -> tuple[list[NodeState], list[int]]:
    """Return states for a ledger, and to which of them each change is."""
    states: dict[NodeState, int] = {}
    to = []
    for change in changes:
        host = hosts[change.node]
        pstate = host.pstates[change.pstate]
        if change.number < 0:
            state = NodeState("leaving" if change.number == _ON else "entering", pstate.idle)
        elif change.number in host.sleep:
            state = NodeState("sleep", pstate.idle)
        else:
            state = NodeState("on", pstate.idle, (pstate.least, pstate.full))
        to.append(states.setdefault(state, len(states)))
    return list(states), to


def _loads(
    jobs: Sequence[_BatsimJob],
    states: Sequence[NodeState],
    time: Sequence[float],
    node: Sequence[int],
    state: Sequence[int],
) -> list[float]:
    """Return the load at which each job uses the energy recorded of it; 1 where none is."""
    history: dict[int, list[tuple[float, NodeState]]] = {}
    for at, which, number in zip(time, node, state, strict=True):
        history.setdefault(which, []).append((at, states[number]))
    loads = []
    for job in jobs:
        idle = least = more = 0.0
        for at in job.nodes:
            for lapse, current in _within(history.get(at, []), job.start, job.end):
                low, high = current.busy_watts or (current.watts, current.watts)
                idle += lapse * current.watts
                least += lapse * low
                more += lapse * (high - low)
        if math.isnan(job.joules):
            loads.append(1.0)
        elif abs(job.joules - idle) <= _NEAR * idle + _NEAR or more == 0:
            loads.append(0.0)
        else:
            loads.append(min(max((job.joules - least) / more, 0.0), 1.0))
    return loads


def _within(
    history: Sequence[tuple[float, NodeState]], start: float, end: float
) -> Iterator[tuple[float, NodeState]]:
    """Yield how long a node is in each of its states between two instants."""
    at = max(bisect_left(history, start, key=lambda change: change[0]) - 1, 0)
    for place in range(at, len(history)):
        since, current = history[place]
        until = history[place + 1][0] if place + 1 < len(history) else math.inf
        if since >= end:
            return
        lapse = min(until, end) - max(since, start)
        if lapse > 0:
            yield lapse, current
