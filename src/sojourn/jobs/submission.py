"""A job as it was submitted: what it asks for, as far as its file says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .report import CleaningReport, Finding
from .schema import MISSING
from .table import Jobs

CANCEL = "cancel_after"
"""Column of a job table: s after its submit when its user takes a job back, -1 if never."""

LEAST_NODES = "least_nodes"
"""Column of a job table: nodes that were asked for by number, 1 where only tasks were."""

TO_THE_LIMIT = "to_the_limit"
"""Column of a job table: 1 for a job that runs until its limit ends it."""

_UNLIMITED = 1e12
_LATE = 525_600 * 60.0
"""s: a first submit after that is an instant of the Unix epoch."""


@dataclass(frozen=True)
class Submission:
    """What one job asks for; -1, nan, None or an empty text where the file does not say.

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
    qos: str = ""
    whole: bool = False
    cancel: float = math.inf


def completed(jobs: Sequence[Submission], by: Sequence[Submission]) -> tuple[list[Submission], int]:
    """Return jobs with what another file says of them, and how many it knows.

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


def jobs_of(
    submissions: Sequence[Submission], source: str, findings: Sequence[Finding] = ()
) -> Jobs:
    """Return submissions, in their order, as a table of jobs."""
    first = submissions[0].submit if submissions else 0.0
    origin = float(math.floor(first)) if first > _LATE else 0.0

    def known(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        array = np.array(values, np.float64)
        return np.where(np.isnan(array), float(MISSING), array)

    limit = np.minimum(known([job.limit for job in submissions]), _UNLIMITED)
    run = known([job.run for job in submissions])
    endless = np.isinf(run)
    nodes = np.array([job.nodes for job in submissions], np.int64)
    cpus = np.array([job.cpus for job in submissions], np.int64)
    gpus = np.array([job.gpus for job in submissions], np.int64)
    cancel = np.array([job.cancel - job.submit for job in submissions])
    labels = [job.label for job in submissions]
    columns = {
        **_numbers(labels),
        "label": labels,
        "submit": np.array([job.submit for job in submissions]) - origin,
        "runtime": np.where(endless, limit, run),
        "procs": np.where(cpus > 0, cpus, np.maximum(nodes, MISSING)),
        "estimate": limit,
        "nodes": nodes,
        "memory": known([1024.0 * job.memory_per_cpu for job in submissions]),
        "memory_per_node": known([1024.0 * job.memory for job in submissions]),
        "gpus": np.where(gpus < 0, MISSING, gpus * np.maximum(nodes, 1)),
        "whole_node": [int(job.whole) for job in submissions],
        LEAST_NODES: [job.least_nodes for job in submissions],
        **{
            name: np.array([getattr(job, name) for job in submissions], object)
            for name in ("user", "account", "partition", "qos")
        },
    }
    if any(job.features is not None for job in submissions):
        columns["features"] = np.array([job.features or "" for job in submissions], object)
    if endless.any():
        columns[TO_THE_LIMIT] = endless.astype(np.int64)
    if np.isfinite(cancel).any():
        columns[CANCEL] = np.where(np.isfinite(cancel), cancel, float(MISSING))
    return Jobs(
        {name: _as_given(values) for name, values in columns.items()},
        header=[f"UnixStartTime: {int(origin)}"] if origin else (),
        source=source,
        report=CleaningReport(source, len(labels), len(labels), tuple(findings)),
    )


def _numbers(labels: Sequence[str]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the numbers of jobs, where each label is one of its own; else they are counted."""
    if len(set(labels)) < len(labels) or not all(
        label.isascii() and label.isdecimal() and len(label) < 18 for label in labels
    ):
        return {}
    return {"job": np.array([int(label) for label in labels], np.int64)}


def _as_given(values: Any) -> Any:
    """Return names that are all empty as not known; numbers and others as they are."""
    if isinstance(values, np.ndarray) and values.dtype == object and not any(values.tolist()):
        return np.full(len(values), MISSING, np.int64)
    return values
