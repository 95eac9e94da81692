"""From external events to what the kernels see, and when processors were not there."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...cluster import Cluster
from ...engine.calendar import EVENT, RESERVATION, Calendar, make_calendar
from ...engine.happenings import DOWN, LOOK, OF_JOBS, UP
from ...errors import OptionError
from ...jobs import EventStream, ExternalEvent, ExternalEvents, Jobs, read_events, read_external
from ...jobs.arrivals import arrivals_of
from ...jobs.external import is_external
from ...jobs.log import ACCOUNTING, format_of
from .failing import Beside
from .gathering import BEGINS, ENDS, Gathered, gather_rows, gather_stream, run_on

_NOT_ACCEPTED = "its job is not accepted"
_BEGINS = 1
"""What a `LOOK` is about, when a reservation begins."""


class Absence(NamedTuple):
    """When processors were not there: of a node, or so many of those that are counted.

    ``node`` is -1 where processors are counted; ``end`` is infinite for what never returns.
    """

    begin: Floats
    end: Floats
    node: Ints
    procs: Ints

    def steps(self) -> tuple[Floats, Ints]:
        """Instants (s), and how many processors are not there from each on."""
        back = np.isfinite(self.end)
        time = np.unique(np.concatenate([self.begin, self.end[back]]))
        change = np.zeros(len(time), dtype=np.int64)
        np.add.at(change, np.searchsorted(time, self.begin), self.procs)
        np.subtract.at(change, np.searchsorted(time, self.end[back]), self.procs[back])
        return time, np.cumsum(change)

    def area(self, begin: float, end: float) -> float:
        """Processor-seconds that were missing between two instants (s)."""
        missing = np.clip(self.end, begin, end) - np.clip(self.begin, begin, end)
        return float(np.dot(self.procs, missing))


@dataclass(frozen=True)
class External:
    """External events of a run, in their order.

    Parameters
    ----------
    jobs : with the amounts of work that the events leave them.
    time, kind, about : s; what happens, and to which row of `jobs`, node, or number of processors;
        of a `LOOK`, whether a reservation begins.
    more : whether the next is of one event with it.
    reserved, what : announced, begin and end (s) of reservations, and their processors or node.
    absence : of processors.
    given : how many events there were.
    unused : how many of them have no meaning in this run, by reason.
    beside : failures and maintenance, which are among them.
    """

    jobs: Jobs
    time: Floats
    kind: Ints
    about: Ints
    more: NDArray[np.bool_]
    reserved: Floats
    what: Ints
    absence: Absence
    given: int
    unused: dict[str, int]
    beside: Beside | None = None

    def calendar(
        self,
        accepted: NDArray[np.bool_],
        *,
        preemptive: bool,
        checkpoints: NDArray[np.void] | None = None,
    ) -> Calendar:
        """Return the events as the engine sees them, about the accepted jobs.

        A discipline that may stop jobs looks up when a reservation begins.
        """
        by_job = np.isin(self.kind, list(OF_JOBS))
        mine = self._concern(accepted)
        about = self.about.copy()
        about[by_job & mine] = (np.cumsum(accepted) - 1)[about[by_job & mine]]
        if not preemptive:
            mine &= (self.kind != LOOK) | (about != _BEGINS)
        arrival = arrivals_of(self.jobs)[accepted]
        # Nothing happens before the first job comes; what was due then keeps its order.
        earliest = arrival[0] if len(arrival) else 0.0
        events = np.zeros(int(np.count_nonzero(mine)), EVENT)
        events["time"] = np.maximum(self.time[mine], earliest)
        for name, column in (("kind", self.kind), ("about", about), ("more", self.more)):
            events[name] = column[mine]
        reserved = np.zeros(len(self.what), RESERVATION)
        for row, name in enumerate(("announced", "begins", "ends")):
            reserved[name] = self.reserved[row]
        reserved["what"] = self.what
        return make_calendar(events, reserved, int(np.count_nonzero(accepted)), checkpoints)

    def given_by(self, last: float) -> int:
        """How many events there were; of failures that are drawn, those until the last end (s)."""
        outages = None if self.beside is None else self.beside.outages
        late = 0 if outages is None else int(np.count_nonzero(outages.down > last))
        return self.given - late

    def reordered(self, order: Ints) -> External:
        """Return the same events of jobs in another order; `order` has their rows."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        about = self.about.copy()
        by_job = np.isin(self.kind, list(OF_JOBS))
        about[by_job] = place[about[by_job]]
        return replace(self, jobs=self.jobs[order], about=about)

    def _concern(self, accepted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which events are not about a job that is not accepted."""
        concern = np.ones(len(self.kind), dtype=np.bool_)
        by_job = np.isin(self.kind, list(OF_JOBS))
        concern[by_job] = accepted[self.about[by_job]]
        return concern

    def left_out(self, accepted: NDArray[np.bool_]) -> dict[str, int]:
        """How many events have no meaning in a run of the accepted jobs, by reason."""
        idle = int(np.count_nonzero(~self._concern(accepted)))
        return {**self.unused, _NOT_ACCEPTED: idle} if idle else dict(self.unused)


def take_events(
    given: ExternalEvents | EventStream,
    jobs: Jobs,
    cluster: Cluster,
    beside: Beside | None = None,
) -> External:
    """Return external events as a run needs them.

    Parameters
    ----------
    given : events; an `EventStream` is of a log of these jobs.
    jobs : in the order of submission.
    cluster : on which they run.
    beside : failures and maintenance.
    """
    gathered = Gathered()
    unused: Counter[str] = Counter()
    work = jobs.work.copy()
    if isinstance(given, EventStream):
        number = gather_stream(gathered, given, jobs, work, cluster, unused)
        events = ExternalEvents(())
    else:
        events, number = given, len(given)
        gather_rows(gathered, events, jobs, work, cluster, unused)
    if beside is not None:
        number += beside.gather(gathered, jobs, cluster, unused)
    if not np.array_equal(work, jobs.work):
        jobs = jobs.replace(work=work)
    for _, begin, end, _, event in gathered.reserved:
        gathered.add(end, LOOK, event=event, turn=ENDS)
        gathered.add(begin, LOOK, _BEGINS, event=event, turn=BEGINS)
    time = np.array(gathered.time, dtype=np.float64)
    order = np.lexsort((np.array(gathered.turn, dtype=np.int64), time))
    kind, about = (
        np.array(column, dtype=np.int64)[order] for column in (gathered.kind, gathered.about)
    )
    place = [gathered.place[i] for i in order]
    return External(
        jobs,
        time[order],
        kind,
        about,
        _are_of_one(place, time[order]),
        np.array([row[:3] for row in gathered.reserved]).reshape(-1, 3).T.copy(),
        np.array([row[3] for row in gathered.reserved], dtype=np.int64),
        _absence_of(time[order], kind, about, place, events, cluster),
        number,
        dict(unused),
        beside,
    )


def _absence_of(
    time: Floats,
    kind: Ints,
    about: Ints,
    place: list[ExternalEvent | None],
    events: ExternalEvents,
    cluster: Cluster,
) -> Absence:
    """When processors were not there; an error if more go than are there, or return than are gone.

    Of counted processors those that went first return first.
    """
    rows: list[list[float]] = []
    gone: list[int] = []  # rows that have no end yet
    for i in np.flatnonzero((kind == DOWN) | (kind == UP)).tolist():
        node = int(about[i]) if cluster.is_named else -1
        procs = int(cluster.columns.procs[node]) if cluster.is_named else int(about[i])
        mine = [row for row in gone if rows[row][2] == node]
        away = sum(int(rows[row][3]) for row in mine)
        there = (procs if cluster.is_named else cluster.procs) - away
        short = there < procs if kind[i] == DOWN else away < procs
        if short:
            what = "processors" if node < 0 else f"processors of node {cluster.nodes[node].name}"
            problem = (
                f"at {time[i]:g} s {procs} {what} go down, but only {there} are up"
                if kind[i] == DOWN
                else f"at {time[i]:g} s {procs} {what} come up, but only {away} are down"
            )
            event = place[i]
            if event is None:
                raise OptionError(f"events: {problem}")
            raise events.error(event, "nodes" if cluster.is_named else "procs", problem)
        if kind[i] == DOWN:
            gone.append(len(rows))
            rows.append([time[i], np.inf, node, procs])
            continue
        for row in mine:
            if procs >= rows[row][3]:
                procs -= int(rows[row][3])
                rows[row][1] = time[i]
                gone.remove(row)
            elif procs > 0:
                rows.append([rows[row][0], time[i], node, procs])
                rows[row][3] -= procs
                procs = 0
    table = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return Absence(table[0], table[1], table[2].astype(np.int64), table[3].astype(np.int64))


def _are_of_one(place: list[ExternalEvent | None], time: Floats) -> NDArray[np.bool_]:
    """Whether each is of one event with the next: of one row, and at one time."""
    more = np.zeros(len(place), dtype=np.bool_)
    for i in range(len(place) - 1):
        more[i] = place[i] is not None and place[i] is place[i + 1] and time[i] == time[i + 1]
    return more


def load_events(given: Any, **clock: str | None) -> ExternalEvents | EventStream:
    """Return events from a file, from rows, or as they are.

    Parameters
    ----------
    given : `ExternalEvents`, an `EventStream`, the file of either, or rows as `ExternalEvents.of`
        takes them.
    clock : ``timezone`` and ``wait_from`` of a log of accounting, as its reader takes them.
    """
    if isinstance(given, ExternalEvents | EventStream):
        return given
    if isinstance(given, str | os.PathLike):
        if is_external(given):
            return read_external(given)
        options = {name: value for name, value in clock.items() if value is not None}
        return read_events(given, **options if format_of(given) in ACCOUNTING else {})
    if isinstance(given, Iterable):
        rows = list(given)
        if all(isinstance(row, Mapping) for row in rows):
            return ExternalEvents.of(rows)
    raise OptionError(
        f"events: {type(given).__name__} is none; give a file, rows, ExternalEvents or EventStream"
    )


def before_cleaning(jobs: Jobs, events: ExternalEvents | EventStream) -> Jobs:
    """Return the jobs of a log as its events leave them: those that were stopped run on."""
    return run_on(jobs, events) if isinstance(events, EventStream) else jobs
