"""Disciplines that stop jobs, on named nodes: what remains is kept in reference seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .dispatcher import Scheduling
from .model import Exact, Job, State, ratio
from .nodes import Allocation, Vector, amount
from .placements import Asked
from .pools import Machine
from .surroundings import Around

DISCIPLINES = ("preempt", "longest-remaining", "shortest-remaining")


class Preemptive:
    """One run's passes; `begun` are the allocations of who starts or moves in the present one."""

    def __init__(self, machine: Machine, scheduling: Scheduling, asked: Sequence[Job]) -> None:
        assert machine.pinned, "claims are of nodes"
        self.machine = machine
        self.scheduling = scheduling
        self.asked = list(asked)  # on the reference processor
        self.scored = list(asked)  # as they came
        self.down: set[int] = set()
        self.nodes: dict[int, Allocation] = {}
        self.begun: dict[int, Allocation] = {}

    def select(self, state: State) -> list[int]:
        """One pass: the running set after it."""
        if isinstance(state, Around) and state.stopped:
            return list(state.running)
        self.begun = {}
        if self.scheduling.backfill == "preempt":
            score = self.scheduling.score
            selected = self._prefix(state, lambda j: score(self.scored[j], j, state.now))
        elif state.selects:
            sign = -1 if self.scheduling.backfill == "longest-remaining" else 1
            selected = self._prefix(state, lambda j: sign * self._remaining_plan(state, j))
        else:
            selected = self._admitted(state)
        state.moved = [j for j in state.running if j in self.begun]
        if isinstance(state, Around):
            state.changed = False
        return selected

    def slowness(self, j: int) -> Exact:
        """Of the nodes that a job has now."""
        return self.machine.slowness(self.nodes[j])

    def _remaining_plan(self, state: State, j: int) -> Exact:
        left = state.remaining[j]
        if j in state.running:
            left = ratio(left, self.slowness(j))
        return self.asked[j].plan - (self.asked[j].work - left)

    def _there(self, state: State) -> list[Vector]:
        """All that is neither down nor reserved now, and all licences."""
        reserved: set[int] = set()
        if isinstance(state, Around):
            reserved = {r.what for r in state.reservations if r.begin <= state.now < r.end}
        gone = self.down | reserved
        rooms = [
            (0,) * len(capacity) if q in gone else capacity
            for q, capacity in enumerate(self.machine.capacities)
        ]
        draws = self.machine.draws
        if draws:
            low = [fall for fall in draws.falls if fall.begin <= state.now < fall.end]
            rooms[-1] = tuple(
                room - sum(fall.amount for fall in low if fall.cap == c)
                for c, room in enumerate(draws.room)
            )
        return rooms

    def _claim(self, rooms: list[Vector], j: int, nodes: Allocation) -> None:
        for q, held in self.machine.held(j, nodes).items():
            rooms[q] = tuple(free - amount(held, r) for r, free in enumerate(rooms[q]))

    def _prefix(self, state: State, key: Callable[[int], Exact | float]) -> list[int]:
        """The first jobs present that find a place beside each other, in the order of `key`."""
        rooms = self._there(state)
        selected: list[int] = []
        for j in sorted(state.present, key=lambda j: (key(j), j)):
            nodes = self.nodes[j] if j in state.running else None
            if nodes is None or not self.machine.fits(j, nodes, rooms):
                nodes = self.machine.place(Asked(self.machine.jobs[j], j, state.now), rooms)
                if nodes is None:
                    break
                self.begun[j] = nodes
            self._claim(rooms, j, nodes)
            selected.append(j)
        return selected

    def _admitted(self, state: State) -> list[int]:
        """Between selections an arrival starts if it finds a place and nobody waits before it."""
        rooms = self._there(state)
        chosen = list(state.running)
        for j in chosen:
            self._claim(rooms, j, self.nodes[j])
        for j in state.arrived:
            nodes = self.machine.place(Asked(self.machine.jobs[j], j, state.now), rooms)
            if nodes is not None and all(i in chosen for i in state.present if i < j):
                self._claim(rooms, j, nodes)
                self.begun[j] = nodes
                chosen.append(j)
        return chosen
