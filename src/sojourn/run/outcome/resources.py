"""What jobs held of each resource of named nodes, and what was left of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats, Ints
from ...measures.fragmentation import (
    Absences,
    Fragmentation,
    Holdings,
    measure_fragmentation,
    over_time,
)
from ..options import Prepared
from .energy import Allocation, Stretches

if TYPE_CHECKING:
    import pandas as pd


class Resources:
    """The resources of named nodes over a run, from the first submit to the last end.

    Parameters
    ----------
    prepared : the run's input.
    stretches : of service.
    given : the nodes of each of them.
    begin, end : s.
    """

    def __init__(
        self,
        prepared: Prepared,
        stretches: Stretches,
        given: Allocation,
        begin: float,
        end: float,
    ) -> None:
        self._span = {"begin": begin, "end": max(begin, end)}
        self.names, self.capacity = prepared.cluster.resource_names, prepared.cluster.capacity
        self._holdings = _holdings(prepared, stretches, given, self.names)
        absence = None if prepared.external is None else prepared.external.absence
        self._absences = (
            Absences() if absence is None else Absences(absence.node, absence.begin, absence.end)
        )

    @cached_property
    def totals(self) -> Fragmentation:
        """Resource-seconds used, stranded, free and down, by node."""
        return measure_fragmentation(
            self._holdings, self.capacity, self.names, absences=self._absences, **self._span
        )

    @cached_property
    def over_time(self) -> pd.DataFrame:
        """What is used, stranded, free and down of each resource from each instant on."""
        return over_time(
            self._holdings, self.capacity, self.names, absences=self._absences, **self._span
        )

    @cached_property
    def _jobs(self) -> list[int]:
        """How many jobs held some of each resource."""
        job, held = np.asarray(self._holdings.job), np.asarray(self._holdings.held)
        counts = []
        for amounts in held:
            mine = job[amounts > 0]
            # Rows of a job stand together: of each such run one is enough.
            begins = mine[np.append(True, mine[1:] != mine[:-1])[: len(mine)]]
            counts.append(int(np.unique(begins).size))
        return counts

    def as_dict(self, nodes: ArrayLike | None = None) -> dict[str, dict[str, Any]]:
        """Return the totals of each resource of all nodes or of some, ready for JSON."""
        totals = self.totals.as_dict(nodes)
        if nodes is None:
            for name, jobs in zip(self.names, self._jobs, strict=True):
                if name in totals:
                    totals[name] = {
                        "capacity": totals[name].pop("capacity"),
                        "jobs": jobs,
                        **totals[name],
                    }
        return totals

    def of_nodes(self, nodes: ArrayLike) -> dict[str, Any]:
        """Return how much of some nodes, such as those of a partition, was used, ready for JSON.

        ``nodes`` is how many; ``utilisation`` the share of their processor time that jobs held,
        whichever partition these are of; ``resources`` as `as_dict`.
        """
        return {
            "nodes": int(np.size(nodes)),
            "utilisation": self.totals.share(0, "used", nodes),
            "resources": self.as_dict(nodes),
        }

    def columns_at(self, time: Floats) -> dict[str, Ints]:
        """Return what is used and stranded (and down) of each resource at some instants (s)."""
        table = self.over_time
        at = np.searchsorted(table["time"].to_numpy(), time, side="right") - 1
        # What is free follows from the rest, and nothing is down without events.
        states = ["used", "stranded", *(["down"] if np.size(self._absences.node) else [])]
        names = [f"{name}_{state}" for name in self.names for state in states]
        return {name: table[name].to_numpy()[at] for name in names if name in table}


def _holdings(
    prepared: Prepared, stretches: Stretches, given: Allocation, names: tuple[str, ...]
) -> Holdings:
    """What each job held of each of its nodes; one that has whole nodes, all their processors."""
    assert prepared.machine is not None
    accepted = prepared.accepted
    asked = prepared.machine.requests.of(accepted)
    count = np.diff(given.first)
    job = np.repeat(stretches.job, count)
    amounts = asked.held(job, given.node, given.procs // asked.need[0, job])
    held = amounts
    if asked.resources != names:
        # What nobody asks for is held by nobody.
        held = np.zeros((len(names), len(job)), dtype=np.int64)
        for row, name in enumerate(names):
            if name in asked.resources:
                held[row] = amounts[asked.resources.index(name)]
    numbers = prepared.jobs.job[accepted]
    start, stop = (np.repeat(column, count) for column in (stretches.start, stretches.stop))
    return Holdings(numbers[job], given.node, start, stop, held)
