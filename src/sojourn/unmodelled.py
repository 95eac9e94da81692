"""What a log tells about its jobs and a run does not act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .workload.classes import queues_are_partitions

if TYPE_CHECKING:
    from .policy import Constraints, Policy
    from .workload import Jobs

__all__ = ["in_a_line", "not_acted_on"]

_KINDS = (
    ("partition", "partitions"),
    ("queue", "queues"),
    ("account", "accounts"),
    ("qos", "qualities of service (QoS)"),
)
"""Columns that sort jobs into kinds, and what several kinds are called."""


def not_acted_on(
    jobs: Jobs, policy: Policy | None = None, constraints: Constraints | None = None
) -> list[str]:
    """Return what jobs ask for or belong to that a run of them takes no notice of.

    Parameters
    ----------
    jobs : the log.
    policy : whose order of the queue may look at some of it; None: one that does not.
    constraints : what jobs ask of named nodes besides processors; None: nothing.

    Examples
    --------
    >>> from sojourn import Jobs
    >>> jobs = Jobs({"submit": [0, 5], "runtime": [1, 1], "procs": [1, 1], "gpus": [0, 4],
    ...              "queue": [1, 2]})
    >>> not_acted_on(jobs)
    ['GPUs of 1 job', '2 queues']
    """
    seen = _columns_read(policy)
    if constraints is not None:
        seen |= set(constraints.feature if isinstance(constraints.feature, dict) else ())
        if constraints.memory_per_core is not None or constraints.memory_per_node is not None:
            seen.add("memory")
    if queues_are_partitions(jobs):
        seen |= {"partition", "queue"} if seen & {"partition", "queue"} else {"queue"}
    found = []
    for column, what in (("gpus", "GPUs"), ("memory", "memory")):
        count = int(np.count_nonzero(jobs[column] > 0)) if column in jobs.names else 0
        if count and column not in seen:
            found.append(f"{what} of {count:,} {'job' if count == 1 else 'jobs'}")
    for column, what in _KINDS:
        if column in jobs.names and column not in seen:
            known = jobs[column][jobs[column] >= 0]
            if known.size and known.min() < known.max():
                found.append(f"{np.unique(known).size:,} {what}")
    return found


def _columns_read(policy: Policy | None) -> set[str]:
    """Columns of jobs that the orders of a policy name."""
    scores = () if policy is None else (policy.score, policy.backfill_score)
    known = (score.formula.__code__.co_names for score in scores if score is not None)
    return {name for names in known for name in names}


def in_a_line(found: Sequence[str]) -> str:
    """Return what is not acted on as a line to print; nothing where there is nothing."""
    return f"not acted on: {', '.join(found)}" if found else ""
