"""What a log tells about its jobs and a run does not act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...jobs.classes import queues_are_partitions
from ..build.requests import acts_on_columns

if TYPE_CHECKING:
    from ...cluster import Cluster
    from ...jobs import Jobs
    from ...policy import Constraints, Policy

_KINDS = (
    ("partition", "partitions"),
    ("queue", "queues"),
    ("account", "accounts"),
    ("qos", "qualities of service (QoS)"),
)
"""Columns that sort jobs into kinds, and what several kinds are called."""

_COUNTED = (("gpus", "GPUs"), ("memory", "memory"))
_NAMED = (("licences", "licences"), ("features", "features"), ("after", "dependencies"))
"""Columns of what single jobs ask for, as numbers and as names, and what it is called."""


def not_acted_on(
    jobs: Jobs,
    policy: Policy | None = None,
    constraints: Constraints | None = None,
    cluster: Cluster | None = None,
) -> list[str]:
    """Return what jobs ask for or belong to that a run of them takes no notice of.

    Parameters
    ----------
    jobs : the log.
    policy : whose order of the queue may look at some of it; None: one that does not.
    constraints : what jobs ask of named nodes besides processors; None: nothing.
    cluster : what they run on, which may have what they ask for; None: counted processors.

    Examples
    --------
    >>> from sojourn import Jobs, parse_cluster
    >>> jobs = Jobs({"submit": [0, 5], "runtime": [1, 1], "procs": [1, 1], "gpus": [0, 4],
    ...              "queue": [1, 2]})
    >>> not_acted_on(jobs)
    ['GPUs of 1 job', '2 queues']
    >>> not_acted_on(jobs, cluster=parse_cluster("2 x (16 cores, 4 gpu)"))
    ['2 queues']
    """
    seen = _columns_read(policy)
    if constraints is not None:
        seen |= set(constraints.feature if isinstance(constraints.feature, dict) else ())
        if constraints.memory_per_core is not None or constraints.memory_per_node is not None:
            seen.add("memory")
    if cluster is not None and cluster.is_named and acts_on_columns(cluster):
        seen |= _columns_met(jobs, cluster)
    elif cluster is not None and _names_one_of(jobs, "queue", [q.name for q in cluster.queues]):
        seen.add("queue")
    if queues_are_partitions(jobs):
        seen |= {"partition", "queue"} if seen & {"partition", "queue"} else {"queue"}
    lines = [
        _of_jobs(what, int(np.count_nonzero(jobs[column] > 0)))
        for column, what in _COUNTED
        if column in jobs.names and column not in seen
    ]
    lines += [
        _of_jobs(what, int(np.count_nonzero(jobs[column] >= 0)))
        for column, what in _NAMED
        if column in jobs.names and column not in seen
    ]
    for column, what in _KINDS:
        if column in jobs.names and column not in seen:
            known = jobs[column][jobs[column] >= 0]
            if known.size and known.min() < known.max():
                lines.append(f"{np.unique(known).size:,} {what}")
    if cluster is not None:
        lines += [
            f"max_cpus_per_node of partition '{part.name}'"
            for part in cluster.partitions
            if part.max_cpus_per_node is not None
        ]
    return [line for line in lines if line]


def _of_jobs(what: str, count: int) -> str:
    return f"{what} of {count:,} {'job' if count == 1 else 'jobs'}" if count else ""


def _columns_met(jobs: Jobs, cluster: Cluster) -> set[str]:
    """Columns whose wishes the engine meets on a cluster, because it has what they name."""
    there = {
        "gpus": "gpu" in cluster.resource_names,
        "memory": bool(cluster.capacity[cluster.resource_names.index("memory")].any()),
        "licences": bool(cluster.pools),
        "features": True,
        # Where no job names one of the cluster's, all of them go to the default one.
        "partition": _names_one_of(jobs, "partition", [part.name for part in cluster.partitions]),
        "queue": _names_one_of(jobs, "queue", [queue.name for queue in cluster.queues]),
    }
    return {column for column, met in there.items() if met}


def _names_one_of(jobs: Jobs, column: str, known: list[str]) -> bool:
    names = jobs.coded(column)[1] if known and column in jobs.names else []
    return any(part.strip() in known for name in names for part in name.split(","))


def _columns_read(policy: Policy | None) -> set[str]:
    """Columns of jobs that the orders of a policy name."""
    scores = () if policy is None else (policy.score, policy.backfill_score)
    known = (score.formula.__code__.co_names for score in scores if score is not None)
    return {name for names in known for name in names}
