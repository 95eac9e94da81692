"""Several queues to one machine: the order of all who wait, and limits of who may run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .model import Exact, Job, State
from .orders import Score, fcfs


class Queue(NamedTuple):
    """Its order and limits: time (s) and processors of a job, jobs and processors in service."""

    score: Score = fcfs
    priority: int = 0
    weight: int = 1
    max_time: Exact | None = None
    max_procs: int | None = None
    max_running: int | None = None
    max_used: int | None = None
    partitions: tuple[int, ...] | None = None

    def forbids(self, time: Exact, procs: int) -> bool:
        """Whether a job that asks for so much can never run from this queue."""
        return (
            (self.max_time is not None and time > self.max_time)
            or (self.max_procs is not None and procs > self.max_procs)
            or (self.max_used is not None and procs > self.max_used)
        )


class Queues:
    """The queues of one run: `members` is the queue of each job, `asked` the jobs as submitted.

    `between` them is "priority", "round-robin" or "weights".
    """

    def __init__(
        self,
        queues: Sequence[Queue],
        members: Sequence[int],
        asked: Sequence[Job],
        between: str = "priority",
    ) -> None:
        if between not in ("priority", "round-robin", "weights"):
            raise ValueError(f"unknown order between queues {between!r}")
        self.queues = queues
        self.members = members
        # What is asked for: a job in service is one of its simulated size.
        self.asked = list(asked)
        self.between = between
        self.last: int | None = None  # the queue whose job was started last
        self.served: list[Exact] = [0] * len(queues)

    def order(self, state: State) -> list[int]:
        """All who wait, at the beginning of a pass."""
        lines = [self._line(q, state) for q in range(len(self.queues))]
        if self.between == "round-robin":
            return self._in_rounds(lines)
        if self.between == "weights":
            return self._by_weight(lines)
        first = sorted(range(len(lines)), key=lambda q: (-self.queues[q].priority, q))
        return [j for q in first for j in lines[q]]

    def passes_over(self, j: int, running: Sequence[int]) -> bool:
        """Whether job j beside those running would exceed a limit of its queue."""
        queue = self.queues[self.members[j]]
        beside = [i for i in running if self.members[i] == self.members[j]]
        used = sum(self.asked[i].procs for i in [*beside, j])
        return (queue.max_running is not None and len(beside) >= queue.max_running) or (
            queue.max_used is not None and used > queue.max_used
        )

    def started(self, starts: Sequence[int]) -> None:
        """A pass is over that started these, in this order."""
        for j in starts:
            self.last = self.members[j]
            self.served[self.last] += self._area(j)

    def _line(self, q: int, state: State) -> list[int]:
        score = self.queues[q].score
        mine = [j for j in state.waiting if self.members[j] == q]
        return sorted(mine, key=lambda j: (score(state.rated(j), j, state.now), j))

    def _area(self, j: int) -> Exact:
        return self.asked[j].procs * self.asked[j].plan

    def _in_rounds(self, lines: list[list[int]]) -> list[int]:
        number = len(lines)
        first = 0 if self.last is None else self.last + 1
        turns = [(first + i) % number for i in range(number)]
        longest = max(len(line) for line in lines)
        return [lines[q][i] for i in range(longest) for q in turns if i < len(lines[q])]

    def _by_weight(self, lines: list[list[int]]) -> list[int]:
        served = list(self.served)
        left = [list(line) for line in lines]
        order: list[int] = []
        while any(left):
            best = None
            for q, line in enumerate(left):
                if line and (
                    best is None
                    or served[q] * self.queues[best].weight < served[best] * self.queues[q].weight
                ):
                    best = q
            assert best is not None
            j = left[best].pop(0)
            served[best] += self._area(j)
            order.append(j)
        return order
