"""Several queues of jobs to one cluster: whose turn it is, and what each queue lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine.queues import CHANGING, FIXED, NO_LIMIT, OF_POLICY, QueueRules
from ...errors import PolicyError
from ...policy.orders import order_of_queue
from .requests import asked_time

if TYPE_CHECKING:
    from ...cluster import Cluster, Queue
    from ...jobs import Jobs
    from ...policy import Policy, Score


def queues_of(jobs: Jobs, cluster: Cluster) -> Ints:
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
    PolicyError
        When the policy stops jobs, or an order of a queue is none.
    """
    if policy.preemptive:
        raise PolicyError(
            f"policy '{policy}' stops jobs, which is not defined between queues; choose another, "
            "or give no queues"
        )
    queue_scores(cluster, policy)


def queue_scores(cluster: Cluster, policy: Policy) -> list[Score]:
    """Return the order of each queue; that of the policy where a queue says first come first."""
    return [
        policy.score if queue.order == "fcfs" else order_of_queue(queue.name, queue.order)
        for queue in cluster.queues
    ]


def take_turns(cluster: Cluster, policy: Policy) -> bool:
    """Whether the order of all jobs has to be made in each pass, or some may be passed over.

    Otherwise it is a fixed ranking: by priority, and within each queue by an order that does not
    change with time.
    """
    return bool(cluster.queues) and (
        cluster.between != "priority"
        or any(q.max_running is not None or q.max_used is not None for q in cluster.queues)
        or any(score.depends_on_time for score in queue_scores(cluster, policy))
    )


def forbidden_by_queues(
    jobs: Jobs, cluster: Cluster, factor: float | None = None
) -> NDArray[np.bool_]:
    """Return which jobs their queue never lets in: too long, or too wide.

    Parameters
    ----------
    jobs, cluster : of the run.
    factor : as of `asked_time`.
    """
    places = queues_of(jobs, cluster)

    def limits(name: str) -> Floats:
        values = [getattr(queue, name) for queue in cluster.queues]
        return np.array([np.inf if value is None else value for value in values])[places]

    most = np.minimum(limits("max_procs"), limits("max_used"))
    return np.asarray((asked_time(jobs, factor) > limits("max_time")) | (jobs.procs > most))


def ranks_of(places: Ints, keys: list[Floats], queues: tuple[Queue, ...]) -> Floats:
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


def queue_rules(
    cluster: Cluster, policy: Policy, places: Ints, keys: list[Floats | None]
) -> QueueRules:
    """Return what the engine must know of the queues.

    Parameters
    ----------
    cluster, policy : of the run.
    places : the queue of each job.
    keys : of all jobs, by the order of each queue; None where that changes with time.
    """
    queues = cluster.queues
    own = np.zeros(len(places))
    law = []
    for q, key in enumerate(keys):
        if key is not None:
            own = np.where(places == q, key, own)
            law.append(FIXED)
        else:
            law.append(OF_POLICY if queues[q].order == "fcfs" else CHANGING)

    def most(name: str) -> Ints:
        values = [getattr(queue, name) for queue in queues]
        return np.array([NO_LIMIT if value is None else value for value in values], dtype=np.int64)

    return QueueRules(
        between=cluster.between,
        member=places,
        key=own,
        law=np.array(law, dtype=np.int64),
        priority=np.array([queue.priority for queue in queues], dtype=np.float64),
        weight=np.array([queue.weight for queue in queues], dtype=np.float64),
        max_running=most("max_running"),
        max_used=most("max_used"),
    )


def limit_reached(cluster: Cluster, places: Ints, procs: Ints, running: Ints, j: int) -> str | None:
    """Return which limit of its queue a job would exceed beside those that run; None if none.

    Parameters
    ----------
    cluster : whose queues they are.
    places, procs : queue and processors of each job.
    running : the jobs that run.
    j : the job.
    """
    queue = cluster.queues[places[j]]
    beside = running[places[running] == places[j]]
    used = int(procs[beside].sum())
    if queue.max_running is not None and len(beside) >= queue.max_running:
        return (
            f"would be one more than queue '{queue.name}' lets run at once, {queue.max_running} "
            "do; start it after one of them has ended"
        )
    if queue.max_used is not None and used + procs[j] > queue.max_used:
        return (
            f"needs {procs[j]} processors, {used} of the {queue.max_used} of queue '{queue.name}' "
            "are in use; start it after others have ended"
        )
    return None
