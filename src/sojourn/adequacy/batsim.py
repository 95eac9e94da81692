"""A recorded run of Batsim, replayed into a ledger of states [batsim]."""

from __future__ import annotations

import contextlib
import math
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster.batsim import BatsimHost, read_hosts
from ..errors import LogError, OptionError
from ..measures.energy import NodeState, Occupation, StateLedger, state_ledger
from .printed import DIGITS, OFF, ON, PRINTED, BatsimJob, StateChange, exact_times

if TYPE_CHECKING:
    import pandas as pd

_JOBS, _CHANGES, _SCHEDULE = "jobs.csv", "pstate_changes.csv", "schedule.csv"
_PREFIX = "out_"
"""What Batsim puts before the names of its files where it is not given another."""
_TIMES = tuple(
    f"time_{name}" for name in ("computing", "idle", "sleeping", "switching_off", "switching_on")
)
"""Columns of Batsim, in the order of the kinds of a ledger."""
_DIGITS = 1e-5  # of a time that is printed with six digits
_NEAR = 1e-6  # of the energy of a job, which is rounded, too


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
    assumed : jobs whose load is taken to be 1, as no energy is recorded of them.
    """

    ledger: StateLedger
    to_last_change: StateLedger
    recorded: dict[str, float]
    load: np.ndarray[Any, np.dtype[np.float64]]
    changes: pd.DataFrame
    assumed: int = 0

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
    folder : with Batsim's ``out_jobs.csv``, ``out_pstate_changes.csv`` and, if it is there,
        ``out_schedule.csv``; or with the same names after another prefix than ``out``.
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
    prefix = _prefix(Path(folder))
    jobs_csv, changes_csv, schedule_csv = (
        Path(folder) / f"{prefix}{name}" for name in (_JOBS, _CHANGES, _SCHEDULE)
    )
    hosts = read_hosts(platform)
    jobs = _read_jobs(jobs_csv, len(hosts))
    recorded = _read_schedule(schedule_csv)
    read = _read_changes(changes_csv, len(hosts))
    changes = exact_times(_resolved(read, hosts, changes_csv), jobs, hosts)
    time, node, *_ = zip(*changes, strict=True)
    states, state = _states(changes, hosts)
    last = max((job.end for job in jobs), default=0.0)
    until = recorded.get("makespan", last)
    if until < last * (1.0 - _DIGITS):
        problem = f"{until:.15g} s, but a job of {jobs_csv.name} ends at {last:.15g} s; correct one"
        raise LogError(schedule_csv, problem, line=2, field="makespan")
    # Batsim prints the makespan rounded; the last end of a job is the same instant.
    until = max((job.end for job in jobs if abs(job.end - until) <= PRINTED), default=until)
    loads = _loads(jobs, states, time, node, state) if load is None else [load] * len(jobs)
    rows = [
        (job.start, job.end, at, share)
        for job, share in zip(jobs, loads, strict=True)
        for at in job.nodes
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    try:
        ledger, further = (
            state_ledger(time, node, state, states, Occupation(*columns), until=at)
            for at in (until, max(until, *time))
        )
    except OptionError as error:
        problem = str(error).removeprefix("energy bill: ")
        raise LogError(jobs_csv, f"contradicts {changes_csv.name}: {problem}") from None

    import pandas as pd

    table = pd.DataFrame(changes).rename(columns={"number": "state"})[["time", "node", "state"]]
    assumed = sum(math.isnan(job.joules) for job in jobs) if load is None else 0
    return BatsimReplay(
        ledger, further, recorded, np.array(loads, dtype=np.float64), table, assumed
    )


def _prefix(folder: Path) -> str:
    """Return what the names of the files of the run in a folder begin with."""
    if (folder / f"{_PREFIX}{_JOBS}").exists():
        return _PREFIX
    names = sorted(path.name for path in folder.glob(f"*{_JOBS}"))
    prefixes = [name.removesuffix(_JOBS) for name in names]
    runs = [
        prefix
        for prefix in prefixes
        if (not prefix or prefix.endswith("_")) and (folder / f"{prefix}{_CHANGES}").exists()
    ]
    if len(runs) > 1:
        problem = f"holds several runs ({runs[0]}{_JOBS}, {runs[1]}{_JOBS}); give each its folder"
        raise LogError(folder, problem)
    return runs[0] if runs else _PREFIX


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


def _read_jobs(path: Path, count: int) -> list[BatsimJob]:
    """Read the jobs that ran."""
    jobs = []
    names = ("submission_time", "starting_time", "finish_time")
    for line, row in _rows(path, names):
        # Batsim 1 called hosts processors.
        field = "allocated_processors" if "allocated_processors" in row else "allocated_resources"
        if field not in row:
            raise LogError(path, f"has no column '{field}'; is it a file of Batsim?", line=1)
        nodes = _node_set(path, line, field, row[field], count)
        if not nodes:
            continue  # rejected, or killed while it waited
        submit, start, end = (_number(path, line, name, row[name]) for name in names)
        if end < start:
            raise LogError(path, "ends before it starts", line=line, field="finish_time")
        energy = row.get("consumed_energy", "").strip()
        known = energy.lower() not in ("", "nan", "na")
        joules = _number(path, line, "consumed_energy", energy) if known else math.nan
        jobs.append(BatsimJob(submit, start, end, nodes, joules if joules >= 0 else math.nan))
    return jobs


def _read_changes(path: Path, count: int) -> list[StateChange]:
    """Read the changes of states, one by one."""
    names = ("time", "machine_id", "new_pstate")
    changes = []
    decimals = 0  # of times, where they are printed with more digits than Batsim's six
    for line, row in _rows(path, names):
        time, number = (_number(path, line, name, row[name]) for name in (names[0], names[2]))
        if number != int(number) or number < OFF:
            problem = f"'{row[names[2]][:40]}' is no number of a state"
            raise LogError(path, problem, line=line, field=names[2])
        if time < 0:
            problem = f"{time:g} s is before the run begins, at 0"
            raise LogError(path, problem, line=line, field=names[0])
        mantissa = row[names[0]].strip().lower().partition("e")[0]
        if len(mantissa.replace(".", "").lstrip("+0")) > DIGITS:
            decimals = max(decimals, len(mantissa.partition(".")[2]))
        nodes = _node_set(path, line, names[1], row[names[1]], count)
        changes += [StateChange(time, node, int(number), line) for node in nodes]
    if not changes:
        raise LogError(path, "has no state of a node; Batsim writes it with energy switched on")
    if decimals:
        changes = [change._replace(unit=10.0**-decimals) for change in changes]
    return sorted(changes, key=lambda change: change.time)


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
    changes: Sequence[StateChange], hosts: Sequence[BatsimHost], path: Path
) -> list[StateChange]:
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
            depth = following if change.number == OFF else asleep.get(change.node)
            pair = host.sleep.get(next(iter(host.sleep), -1) if depth is None else depth)
            problem = "" if pair else f"host {change.node} of the platform has no such sleep state"
            pstate = pair[change.number == ON] if pair else -1
        elif change.number >= len(host.pstates):
            problem = f"state {change.number}, but host {change.node} of the platform has "
            problem += f"{len(host.pstates)}"
        elif change.number in host.sleep:
            asleep[change.node] = change.number
        if problem:
            raise LogError(path, problem, line=change.line, field="new_pstate")
        resolved.append(change._replace(pstate=pstate))
    return resolved


def _states(
    changes: Sequence[StateChange], hosts: Sequence[BatsimHost]
) -> tuple[list[NodeState], list[int]]:
    """Return states for a ledger, and to which of them each change is."""
    states: dict[NodeState, int] = {}
    to = []
    for change in changes:
        host = hosts[change.node]
        pstate = host.pstates[change.pstate]
        if change.number < 0:
            state = NodeState("leaving" if change.number == ON else "entering", pstate.idle)
        elif change.number in host.sleep:
            state = NodeState("sleep", pstate.idle)
        else:
            state = NodeState("on", pstate.idle, (pstate.least, pstate.full))
        to.append(states.setdefault(state, len(states)))
    return list(states), to


def _loads(
    jobs: Sequence[BatsimJob],
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
