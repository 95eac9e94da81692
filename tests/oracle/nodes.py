"""Named nodes, what a job asks of them, and the speed of a processor [gomez2012, eqs. (1)-(2)]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .model import Exact, ratio

# (node, tasks there), by node. Of a job that asks for processors anywhere a task is a processor.
Allocation = tuple[tuple[int, int], ...]
# Amounts by resource: processors, memory (KB), and any others.
Vector = tuple[int, ...]


class Node(NamedTuple):
    """A machine: slowness as in eq. (2), memory in KB, watts of all of it at the eleven levels.

    `more` has the amounts of further resources.
    """

    procs: int
    slowness: Exact = 1
    watts: tuple[Exact, ...] = (0,) * 11
    memory: int = 0
    features: frozenset[str] = frozenset()
    more: Vector = ()

    @property
    def capacity(self) -> Vector:
        """All that it has."""
        return (self.procs, self.memory, *self.more)

    @property
    def watts_per_proc(self) -> Exact:
        """Of one processor at 100 % load."""
        return ratio(self.watts[-1], self.procs)


class Partition(NamedTuple):
    """A set of nodes, and the longest time that a job may ask for there."""

    nodes: frozenset[int]
    max_time: Exact | None = None


class Request(NamedTuple):
    """A job and what it asks for: memory in KB, power in W, limit (the user's estimate) in s.

    Without `tasks` it asks for processors anywhere, `procs` of them, with memory per core or per
    node. With them each task needs `need`, and the job needs `once` on each node that it uses;
    `procs` are those of all tasks. `partitions` are places in a list, None for all nodes. `watts`
    are what it adds to idle power, where it says so.
    """

    submit: Exact
    work: Exact
    procs: int
    plan: Exact
    limit: Exact | None = None
    memory_per_core: int = 0
    memory_per_node: int = 0
    whole_node: bool = False
    feature: str | None = None
    power_budget: Exact | None = None
    tasks: int = 0
    need: Vector = ()
    once: Vector = ()
    distinct: bool = False
    partitions: tuple[int, ...] | None = None
    licences: Vector = ()
    queue: int = 0
    watts: Exact | None = None

    @property
    def is_plain(self) -> bool:
        """Whether any free processor will do, where all nodes have its feature and partition."""
        return not (
            self.memory_per_core
            or self.memory_per_node
            or self.whole_node
            or self.power_budget is not None
            or self.tasks
            or any(self.licences)
        )

    @property
    def width(self) -> int:
        """Its tasks."""
        return self.tasks or self.procs

    @property
    def of_task(self) -> Vector:
        """What each task needs."""
        return self.need if self.tasks else (1, self.memory_per_core)

    @property
    def of_node(self) -> Vector:
        """What is needed once on each node."""
        return self.once if self.tasks else (0, self.memory_per_node)

    @property
    def milliwatts(self) -> int | None:
        """That each task adds, rounded up; None where its nodes say."""
        return None if self.watts is None else math.ceil(ratio(self.watts * 1000, self.width))

    @property
    def asked_time(self) -> Exact:
        """Seconds that limits of queues and partitions are about."""
        return self.plan if self.limit is None else self.limit


def on_nodes(
    submit: Exact, work: Exact, nodes: int, need: Vector, plan: Exact, limit: Exact | None = None
) -> Request:
    """A job that asks for so many nodes, with the same on each."""
    return Request(
        submit, work, nodes * need[0], plan, limit, tasks=nodes, need=need, distinct=True
    )


def average_ops(ops: Sequence[Exact], procs: Sequence[int]) -> Exact:
    """Operations per second of the average processor, eq. (1); `ops` are those of whole nodes."""
    return ratio(sum(ops), sum(procs))


def slowness(ops: Sequence[Exact], procs: Sequence[int]) -> list[Exact]:
    """The ratios in eq. (2), by node."""
    average = average_ops(ops, procs)
    return [ratio(average * c, x) for x, c in zip(ops, procs, strict=True)]


def amount(vector: Vector, resource: int) -> int:
    """Of one resource; what is not listed is 0."""
    return vector[resource] if resource < len(vector) else 0


def usable(node: Node, room: Vector, job: Request) -> int:
    """Tasks of a job that a node could take, with this room left."""
    if job.feature is not None and job.feature not in node.features:
        return 0
    if job.whole_node and room[0] < node.procs:
        return 0
    assert job.of_task[0] > 0, "a task needs a processor"
    bounds = []
    for r in range(max(len(job.of_task), len(job.of_node))):
        each, once = amount(job.of_task, r), amount(job.of_node, r)
        if each or once:
            left = amount(room, r) - once
            if left < 0:
                return 0
            if each:
                bounds.append(left // each)
    return min(1, *bounds) if job.distinct else min(bounds)


def held_on(node: Node, job: Request, tasks: int) -> Vector:
    """What a job takes from others on a node where it has so many tasks."""
    length = max(len(job.of_task), len(job.of_node))
    taken = [tasks * amount(job.of_task, r) + amount(job.of_node, r) for r in range(length)]
    if job.whole_node:
        taken[0] = node.procs
    return tuple(taken)


def memory_of(job: Request, taken: int) -> int:
    """KB that a job holds on a node where it uses so many processors."""
    assert not (job.memory_per_core and job.memory_per_node), "memory per core or per node"
    return taken * job.memory_per_core if job.memory_per_core else job.memory_per_node
