"""The caps of a run: whom they refuse, and what the engine is handed of them, in whole mW."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine.calendar import FALL
from ...engine.caps import CapFacts
from ...engine.drive import CapRules
from ...jobs import Jobs
from ...policy.cap import NodeCap
from .cap_room import CapRoom
from .machine import REASONS, NamedMachine


@dataclass(frozen=True)
class CapPlan:
    """The caps of a run, and what they mean for it.

    Parameters
    ----------
    caps : with their nodes.
    idle : W of the idle nodes of each; of one that sleeps, of sleep if that is more.
    levels : by cap, of each step: begin and end (s), and the mW that jobs may add then; of counted
        processors, how many may be busy.
    of_proc : mW that a busy processor of each node adds, or any that is counted.
    of_task : mW that each task of a job adds; -1 where its nodes say.
    assumed : how many jobs have no watts of their own, and were given those of others.
    by_rate : whether they are kept by the rate: nobody waits for watts.
    varied : whether what a job adds depends on where it runs.
    names : whether reservations must name nodes because of that.
    lent, changing : mW that each node draws less asleep than idle, and more on its way.
    over : by cap and node, whether the node belongs to it; None of counted processors.
    most : counted processors that there are.
    """

    caps: tuple[NodeCap, ...]
    idle: Floats
    levels: tuple[tuple[tuple[float, float, int], ...], ...]
    of_proc: Ints
    of_task: Ints
    assumed: int = 0
    by_rate: bool = False
    varied: bool = False
    names: bool = False
    lent: Ints | None = None
    changing: Ints | None = None
    over: NDArray[np.bool_] | None = None
    most: int = 2**62

    @property
    def room(self) -> Ints:
        """What each cap leaves at the most."""
        return np.array([max(room for *_, room in steps) for steps in self.levels], np.int64)

    @property
    def last(self) -> Ints:
        """What each leaves from its last step on."""
        return np.array([steps[-1][2] for steps in self.levels], np.int64)

    def fixed(self, named: NamedMachine) -> Ints:
        """What each job adds under each cap wherever it runs (mW)."""
        asked = named.requests
        if self.varied:
            return np.zeros((len(self.caps), len(asked.tasks)), np.int64)
        task = np.where(self.of_task >= 0, self.of_task, asked.need[0] * self.of_proc[0])
        return np.tile(asked.tasks * task, (len(self.caps), 1))

    def refuse(self, reason: NDArray[np.int8], jobs: Jobs, named: NamedMachine | None) -> None:
        """Note which jobs add more than is left from the last step of some cap on."""
        if self.by_rate:
            return
        why = REASONS.index("cap")
        open_jobs = reason == 0
        if named is None:
            reason[open_jobs & (jobs.procs > self.last.min())] = why
        elif not self.varied:
            over = (self.fixed(named) > self.last[:, None]).any(axis=0)
            reason[open_jobs & over] = why
        else:
            places = np.flatnonzero(open_jobs)
            first, which = self._kinds(named.requests.alike[places], self.of_task[places])
            bad = ~CapRoom(self, named).holds(places[first].tolist())
            reason[places[bad[which]]] = why

    @staticmethod
    def _kinds(alike: Ints, own: Ints) -> tuple[Ints, Ints]:
        """Of jobs of each kind one, and the number of each job's kind.

        Parameters
        ----------
        alike : the same for jobs that ask for the same.
        own : mW that each of their tasks adds; -1 where its nodes say.
        """
        if (own >= 0).any():
            rows = np.stack([alike, own])
            _, first, which = np.unique(rows, axis=1, return_index=True, return_inverse=True)
            return first, which.reshape(-1)
        # Numbers of jobs are few and small: no need to sort.
        last = np.full(int(alike.max(initial=-1)) + 2, -1)
        last[alike] = np.arange(len(alike))
        kinds = np.flatnonzero(last >= 0)
        number = np.zeros(len(last), np.int64)
        number[kinds] = np.arange(len(kinds))
        return last[kinds], number[alike]

    def rules(
        self, named: NamedMachine | None, accepted: NDArray[np.bool_], first: float, looks: bool
    ) -> CapRules:
        """Return what the engine must know.

        Parameters
        ----------
        named : the nodes; None where processors are counted.
        accepted : jobs that can run.
        first : the first arrival (s).
        looks : whether there is something to look at where a cap falls, too.
        """
        nodes = None
        if named is not None and not self.by_rate:
            fixed = self.fixed(named).take(np.flatnonzero(accepted), axis=1)
            over = np.ones((len(self.caps), len(self.of_proc)), np.bool_)
            over = over if self.over is None else self.over
            own = self.of_task[accepted]
            evenly = 0 if self.names or (own >= 0).any() else int(self.of_proc[0])
            nodes = CapFacts(
                self.room,
                over,
                self.of_proc,
                own,
                fixed,
                self.varied,
                evenly,
                self.lent,
                self.changing,
            )
        rows = self._falls(named is not None or self.by_rate)
        falls = np.zeros(len(rows), FALL)
        for i, row in enumerate(rows):
            falls[i] = row
        times = [end for _, end, *_ in rows if end < np.inf]
        if looks or self.by_rate:
            times += [begin for begin, *_ in rows if begin > -np.inf]
        later = np.sort([time for time in times if time > first])
        return CapRules(nodes, falls, later.astype(np.float64), self.by_rate)

    def _falls(self, named: bool) -> list[tuple[float, float, int, int]]:
        """Stretches in which a cap leaves less: begin, end, cap, and how much less it leaves.

        Of counted processors, how many may be busy.
        """
        rows = []
        for c, (steps, most) in enumerate(zip(self.levels, self.room.tolist(), strict=True)):
            for begin, end, room in steps:
                if named and room < most:
                    rows.append((begin, end, c, most - room))
                elif not named and room < self.most:
                    rows.append((begin, end, c, room))
        return rows
