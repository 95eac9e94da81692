"""Events that are given as rows, and where all events are gathered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from ....cluster import Cluster
from ....engine.calendar import DOWN, RESUME, STOP, STRIKE, UP, WITHDRAW
from ....jobs import ExternalEvent, ExternalEvents, Jobs

__all__ = ["BEGINS", "ENDS", "NO_JOB", "Gathered", "gather_rows"]

Floats = NDArray[np.float64]

NO_JOB = "no such job among those to run"
"""Why an event has no meaning."""

ENDS, BEGINS, LAST = range(3)
"""Whose turn it is at an instant."""


@dataclass
class Gathered:
    """Events on their way into one order; `place` is the row that an event is of, or part of.

    `turn` is its turn at its instant: what ends, then reservations that begin, then all others.
    """

    time: list[float] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    about: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    place: list[ExternalEvent | None] = field(default_factory=list)
    reserved: list[tuple[float, float, float, int, ExternalEvent]] = field(default_factory=list)

    def add(
        self,
        time: float,
        kind: int,
        about: int = 0,
        *,
        event: ExternalEvent | None,
        turn: int = LAST,
    ) -> None:
        """Add one."""
        self.time.append(time)
        self.kind.append(kind)
        self.about.append(about)
        self.turn.append(turn)
        self.place.append(event)


def gather_rows(
    into: Gathered,
    told: ExternalEvents,
    jobs: Jobs,
    work: Floats,
    cluster: Cluster,
    unused: Counter[str],
) -> None:
    """Take events given one by one: what happens goes `into` one order, early ends into `work`."""
    rows: dict[int, int] = {}
    for row, job in enumerate(jobs.job.tolist()):
        rows.setdefault(job, row)
    for event in told.rows:
        about: list[int] = []
        if event.job is not None:
            if event.job not in rows:
                unused[NO_JOB] += 1
                continue
            about = [rows[event.job]]
        elif event.procs is not None:
            if cluster.is_named:
                problem = "the cluster has named nodes; give their names in 'nodes'"
                raise told.error(event, "procs", problem)
            about = [event.procs]
        elif event.nodes:
            about = _nodes(event, told, cluster)
        if event.kind == "early":
            assert event.runtime is not None
            work[about[0]] = min(work[about[0]], event.runtime)
        elif event.kind == "reserve":
            assert event.until is not None
            announced = -np.inf if event.announced is None else event.announced
            for each in about:
                if not cluster.is_named and each > cluster.procs:
                    problem = f"the machine has only {cluster.procs} processors"
                    raise told.error(event, "procs", problem)
                into.reserved.append((announced, event.time, event.until, each, event))
        else:
            kind = {
                "cancel": WITHDRAW,
                "kill": WITHDRAW,
                "down": DOWN if event.job is None else STRIKE,
                "up": UP,
                "stop": STOP,
                "resume": RESUME,
            }[event.kind]
            for each in about or [0]:
                into.add(event.time, kind, each, event=event)
                if event.until is not None:
                    back = UP if kind == DOWN else RESUME
                    into.add(event.until, back, each, event=event, turn=ENDS)


def _nodes(event: ExternalEvent, told: ExternalEvents, cluster: Cluster) -> list[int]:
    """The nodes that an event names, by their places in the cluster."""
    if not cluster.is_named:
        raise told.error(event, "nodes", "processors are only counted; give 'procs'")
    names = [node.name for node in cluster.nodes]
    found: list[int] = []
    for pattern in event.nodes:
        hits = [k for k, name in enumerate(names) if name == pattern]
        hits = hits or [k for k, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not hits:
            shown = ", ".join(names[:3])
            raise told.error(
                event, "nodes", f"no node is called '{pattern}'; the cluster has {shown}, ..."
            )
        found += [k for k in hits if k not in found]
    return found
