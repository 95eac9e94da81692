"""Several queues of jobs to one cluster: whose turn it is, and what each queue lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .errors import OptionError, PolicyError
from .policy import parse_policy

if TYPE_CHECKING:
    from .cluster import Cluster, Queue
    from .policy import Policy, Score
    from .workload import Jobs

__all__ = ["check_queues", "forbidden_by_queues", "queue_scores", "queues_of", "ranks_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def queues_of(jobs: Jobs, cluster: Cluster) -> Integers:
    """Return the queue of each job, as a place in ``cluster.queues``.

    By name, or the default one where a job names none, or none that the cluster has.
    """
    names = [queue.name for queue in cluster.queues]
    usual = names.index(cluster.queue().name)
    places = np.full(len(jobs), usual, dtype=np.int64)
    if "queue" in jobs.names:
        codes, labels = jobs.coded("queue")
        known = np.array([names.index(name) if name in names else usual for name in labels] or [0])
        places = np.where(codes >= 0, known[np.maximum(codes, 0)], usual)
    return places


def check_queues(cluster: Cluster, policy: Policy) -> None:
    """Refuse what several queues are not defined for.

    Raises
    ------
    OptionError, PolicyError
        When turns other than by priority, limits of what runs at once, or orders that change with
        time are asked for.
    """
    if cluster.between != "priority":
        raise OptionError(
            f"cluster: between '{cluster.between}': queues take turns by priority only; say "
            "priority, or give one queue"
        )
    for queue in cluster.queues:
        if queue.max_running is not None or queue.max_used is not None:
            raise OptionError(
                f"queue '{queue.name}': max_running and max_used are not acted on; leave them out"
            )
    if policy.backfill == "remaining":
        raise PolicyError(
            f"policy '{policy}' goes by what remains of all jobs, whatever their queue; choose "
            "another, or give one queue"
        )
    for score in (policy.score, *queue_scores(cluster, policy)):
        if score.depends_on_time:
            raise PolicyError(
                f"order '{score.name}' changes with time, which is not defined between queues; "
                "choose one that does not, or give one queue"
            )


def queue_scores(cluster: Cluster, policy: Policy) -> list[Score]:
    """Return the order of each queue; that of the policy where a queue says first come first."""
    return [
        policy.score if queue.order == "fcfs" else parse_policy(queue.order).score
        for queue in cluster.queues
    ]


def forbidden_by_queues(jobs: Jobs, cluster: Cluster) -> NDArray[np.bool_]:
    """Return which jobs their queue never lets in: too long, or too wide."""
    places = queues_of(jobs, cluster)

    def limits(name: str) -> Floats:
        values = [getattr(queue, name) for queue in cluster.queues]
        return np.array([np.inf if value is None else value for value in values])[places]

    return np.asarray((jobs.estimate > limits("max_time")) | (jobs.procs > limits("max_procs")))


def ranks_of(places: Integers, keys: list[Floats], queues: tuple[Queue, ...]) -> Floats:
    """Return one order of all jobs: by their queues' priority, then within each by its key.

    Parameters
    ----------
    places : the queue of each job.
    keys : of all jobs, by the order of each queue.
    queues : of equal priority the first in the file goes first.
    """
    priority = np.array([queue.priority for queue in queues], dtype=np.float64)
    own = np.stack(keys)[places, np.arange(len(places))]
    order = np.lexsort((np.arange(len(places)), own, places, -priority[places]))
    ranks = np.empty(len(places))
    ranks[order] = np.arange(len(places))
    return ranks
