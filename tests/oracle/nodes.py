"""Named nodes, what a job asks of them, and the speed of a processor [gomez2012, eqs. (1)-(2)]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .model import Exact, ratio

# (node, processors in use there), by node.
Allocation = tuple[tuple[int, int], ...]


class Node(NamedTuple):
    """A machine: slowness as in eq. (2), memory in KB, watts of all of it at the eleven levels."""

    procs: int
    slowness: Exact = 1
    watts: tuple[Exact, ...] = (0,) * 11
    memory: int = 0
    features: frozenset[str] = frozenset()

    @property
    def watts_per_proc(self) -> Exact:
        """Of one processor at 100 % load."""
        return ratio(self.watts[-1], self.procs)


class Request(NamedTuple):
    """A job and what it asks for: memory in KB, power in W, limit (the user's estimate) in s."""

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

    @property
    def is_plain(self) -> bool:
        """Whether any free processor will do."""
        return not (
            self.memory_per_core
            or self.memory_per_node
            or self.whole_node
            or self.feature
            or self.power_budget is not None
        )


def average_ops(ops: Sequence[Exact], procs: Sequence[int]) -> Exact:
    """Operations per second of the average processor, eq. (1); `ops` are those of whole nodes."""
    return ratio(sum(ops), sum(procs))


def slowness(ops: Sequence[Exact], procs: Sequence[int]) -> list[Exact]:
    """The ratios in eq. (2), by node."""
    average = average_ops(ops, procs)
    return [ratio(average * c, x) for x, c in zip(ops, procs, strict=True)]


def usable(node: Node, free: int, free_memory: int, job: Request) -> int:
    """Processors of a node that a job could use."""
    if job.feature is not None and job.feature not in node.features:
        return 0
    if job.whole_node and free < node.procs:
        return 0
    if free_memory < job.memory_per_node:
        return 0
    if job.memory_per_core:
        return min(free, free_memory // job.memory_per_core)
    return free


def memory_of(job: Request, taken: int) -> int:
    """KB that a job holds on a node where it uses so many processors."""
    assert not (job.memory_per_core and job.memory_per_node), "memory per core or per node"
    return taken * job.memory_per_core if job.memory_per_core else job.memory_per_node
