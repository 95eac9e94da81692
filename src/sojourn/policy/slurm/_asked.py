"""What one job asks for, as far as its file tells it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["Asked", "completed"]


@dataclass(frozen=True)
class Asked:
    """What one job asks for; -1, nan, None or an empty text where the file does not tell.

    Parameters
    ----------
    label, name : the job as its file numbers and as its user names it.
    submit : s.
    run : s it needs; inf for one that runs until its limit.
    limit : s.
    nodes, least_nodes : it gets, and it asked for by number (1 if it asked for tasks only).
    cpus : all its processors.
    memory : MB per node; memory_per_cpu : MB per processor.
    gpus : per node.
    features : as written.
    whole : whether it wants its nodes for itself.
    cancel : when its user takes it back (s), inf if never.
    """

    label: str
    submit: float
    name: str = ""
    run: float = math.nan
    limit: float = math.nan
    nodes: int = -1
    least_nodes: int = -1
    cpus: int = -1
    memory: float = math.nan
    memory_per_cpu: float = math.nan
    gpus: int = -1
    features: str | None = None
    partition: str = ""
    user: str = ""
    account: str = ""
    whole: bool = False
    cancel: float = math.inf


def completed(jobs: Sequence[Asked], by: Sequence[Asked]) -> tuple[list[Asked], int]:
    """Return jobs with what another file tells of them, and how many it knows.

    Jobs are the same by name, or by label; the log keeps its times.
    """
    named = {job.name: job for job in by if job.name}
    labelled = {job.label: job for job in by}
    made, known = [], 0
    for job in jobs:
        other = named.get(job.name) or labelled.get(job.label)
        if other is None:
            made.append(job)
            continue
        known += 1
        made.append(
            replace(
                other,
                label=job.label,
                submit=job.submit,
                cancel=job.cancel,
                run=other.run if math.isnan(job.run) else job.run,
                limit=other.limit if math.isnan(job.limit) else job.limit,
                nodes=job.nodes if job.nodes > 0 else other.nodes,
                user=other.user or job.user,
                account=other.account or job.account,
                partition=job.partition or other.partition,
            )
        )
    return made, known
