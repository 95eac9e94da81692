"""Scheduling on named nodes: the recursion of counted servers, with a place for each job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .disciplines import _next_promise
from .dispatcher import Dispatcher, Scheduling
from .model import Control, Discipline, Exact, Job, Outcome
from .nodes import Allocation, Node, Partition, Request, Vector, amount, usable
from .placements import Asked, Placement, first_fit
from .pools import Machine
from .queues import Queue
from .recursion import simulate as simulate_counted

__all__ = ["NamedOutcome", "Scheduling", "bound", "simulate", "why_never"]


@dataclass
class NamedOutcome:
    """Per accepted job: `run` as of counted servers, nodes, slowness; by place: who is refused."""

    run: Outcome
    accepted: list[int]
    unaccepted: dict[int, str]
    allocations: list[Allocation]
    slowness: list[Exact]


def simulate(
    jobs: Sequence[Request],
    nodes: Sequence[Node],
    scheduling: Scheduling,
    control: Control,
    placement: Placement = first_fit,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> NamedOutcome:
    """Run all jobs that can ever run to their end; the other parameters as of the recursion."""
    if scheduling.blind and scheduling.backfill == "conservative":
        scheduling = scheduling._replace(backfill="easy", reservations=math.inf)
    reasons = [why_never(job, nodes, placement) for job in jobs]
    accepted = [i for i, reason in enumerate(reasons) if reason is None]
    asked = [jobs[i] for i in accepted]
    counted = [Job(job.submit, job.work, job.procs, job.plan) for job in asked]
    dispatcher = Dispatcher(Machine(nodes, placement, asked, scheduling.blind), scheduling)
    wake = _next_promise if scheduling.backfill == "conservative" else lambda state: None
    discipline = Discipline(dispatcher.select, wake)
    servers = sum(node.procs for node in nodes)
    run = simulate_counted(counted, servers, discipline, control, coins, passes)
    allocations = [dispatcher.nodes[j] for j in range(len(asked))]
    return NamedOutcome(
        run,
        accepted,
        {i: reason for i, reason in enumerate(reasons) if reason is not None},
        allocations,
        [max(nodes[k].slowness for k, _ in allocation) for allocation in allocations],
    )


def why_never(
    job: Request,
    nodes: Sequence[Node],
    placement: Placement,
    partitions: Sequence[Partition] = (),
    licences: Vector = (),
    queue: Queue | None = None,
) -> str | None:
    """Why a job cannot run even on the empty cluster: what it asks for is added one by one."""
    named = None if job.partitions is None else _open_to(job, partitions)
    whole = job._replace(partitions=named)
    need, once = job.of_task, job.of_node
    resources = max(len(need), len(once))

    def asking(number: int, **more: Any) -> Request:
        """The job, with so many of its resources and nothing else but this."""
        plain = Request(job.submit, job.work, job.procs, job.plan, job.limit)
        return plain._replace(
            tasks=job.width, need=need[:number], once=once[:number], distinct=job.distinct, **more
        )

    def short(some: Request) -> bool:
        groups = [range(len(nodes))]
        if some.partitions is not None:
            groups = [partitions[i].nodes for i in some.partitions]
        return all(
            sum(usable(nodes[k], nodes[k].capacity, some) for k in group) < job.width
            for group in groups
        )

    def nowhere(some: Request) -> bool:
        machine = Machine(nodes, placement, [job], True, True, partitions, licences)
        return machine.place(Asked(some, 0, job.submit), machine.capacities) is None

    if short(asking(1)):
        return "procs"
    if short(asking(1, partitions=named)):
        return "partition"
    if queue is not None and queue.forbids(job.asked_time, job.procs):
        return "queue"
    if short(asking(1, partitions=named, feature=job.feature)):
        return "feature"
    for r in range(1, resources):
        if short(asking(r + 1, partitions=named, feature=job.feature)):
            return "memory" if r == 1 else f"resource {r}"
    if any(want > amount(licences, r) for r, want in enumerate(job.licences)):
        return "licence"
    if nowhere(whole._replace(power_budget=None)):
        return "contiguous"
    return "power" if nowhere(whole) else None


def _open_to(job: Request, partitions: Sequence[Partition]) -> tuple[int, ...]:
    """The partitions of a job that exist and let it in."""
    assert job.partitions is not None
    there = [i for i in job.partitions if 0 <= i < len(partitions)]
    limits = [(i, partitions[i].max_time) for i in there]
    return tuple(i for i, most in limits if most is None or job.asked_time <= most)


def bound(
    job: Request, partitions: Sequence[Partition] = (), queue: Queue | None = None
) -> Request:
    """The job with the partitions that it can use: its own, of which its queue has some."""
    queues = None if queue is None else queue.partitions
    if job.partitions is None:
        own = queues
    else:
        own = tuple(i for i in job.partitions if queues is None or i in queues)
    job = job._replace(partitions=own)
    return job if own is None else job._replace(partitions=_open_to(job, partitions))
