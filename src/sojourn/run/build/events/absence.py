"""When processors were not there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cluster import Cluster
from ....engine.calendar import DOWN, UP
from ....errors import OptionError
from ....jobs import ExternalEvent, ExternalEvents

__all__ = ["Absence", "absence_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Absence(NamedTuple):
    """When processors were not there: of a node, or so many of those that are counted.

    ``node`` is -1 where processors are counted; ``end`` is infinite for what never returns.
    """

    begin: Floats
    end: Floats
    node: Integers
    procs: Integers

    def steps(self) -> tuple[Floats, Integers]:
        """Instants (s), and how many processors are not there from each on."""
        time = np.unique(np.concatenate([self.begin, self.end[np.isfinite(self.end)]]))
        gone = np.zeros(len(time), dtype=np.int64)
        for begin, end, procs in zip(self.begin, self.end, self.procs, strict=True):
            gone[(time >= begin) & (time < end)] += procs
        return time, gone

    def area(self, begin: float, end: float) -> float:
        """Processor-seconds that were missing between two instants (s)."""
        missing = np.clip(self.end, begin, end) - np.clip(self.begin, begin, end)
        return float(np.dot(self.procs, missing))


def absence_of(
    time: Floats,
    kind: Integers,
    about: Integers,
    place: list[ExternalEvent | None],
    told: ExternalEvents,
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
            raise told.error(event, "nodes" if cluster.is_named else "procs", problem)
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
