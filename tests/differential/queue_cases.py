"""Queues of the oracle as a cluster has them, and jobs in them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from oracle import orders
from oracle.everything import Case
from oracle.orders import Score
from oracle.queues import Queue as ExactQueue

from sojourn.cluster import Cluster, Queue
from sojourn.jobs import Jobs

ORDER_NAMES: dict[Score, str] = {
    orders.sjf: "sjf",
    orders.ljf: "ljf",
    orders.lcfs: "lcfs",
    orders.largest: "largest",
    orders.wfp3: "wfp3",
    orders.expansion: "expansion",
}
"""Orders that a queue may have of its own; all others are the policy's."""


def in_order(queues: Sequence[ExactQueue], rng: random.Random, policy: Score) -> list[ExactQueue]:
    """The queues with orders drawn: first come first is the order of the policy."""
    return [queue._replace(score=rng.choice((policy, policy, *ORDER_NAMES))) for queue in queues]


def slower(queues: Sequence[ExactQueue], ticks: int) -> tuple[ExactQueue, ...]:
    """The queues of the same case in ticks."""
    return tuple(
        queue._replace(max_time=None if queue.max_time is None else queue.max_time * ticks)
        for queue in queues
    )


def queues_of(case: Case) -> tuple[Queue, ...]:
    """The queues of a case by name; the first is the default."""
    policy = case.discipline.score
    return tuple(
        Queue(
            f"queue-{i}",
            partitions=tuple(f"part-{k}" for k in queue.partitions or ()),
            order="fcfs" if queue.score is policy else ORDER_NAMES[queue.score],
            priority=queue.priority,
            weight=queue.weight,
            max_time=math.inf if queue.max_time is None else float(queue.max_time),
            max_procs=queue.max_procs,
            max_running=queue.max_running,
            max_used=queue.max_used,
            default=i == 0,
        )
        for i, queue in enumerate(case.queues)
    )


def with_queues(cluster: Cluster, case: Case) -> Cluster:
    """The cluster with the queues of a case."""
    return (
        replace(cluster, queues=queues_of(case), between=case.between) if case.queues else cluster
    )


def in_queues(jobs: Jobs, case: Case) -> Jobs:
    """The jobs, each in its queue."""
    if not case.queues:
        return jobs
    return jobs.replace(queue=[f"queue-{job.queue}" for job in case.jobs])
