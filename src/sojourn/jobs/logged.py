"""Jobs of a log: what its records tell of their requests."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ..errors import LogError
from .events import read_accounting
from .formats.accounting import Accounting
from .formats.runs import distinct
from .log import read_log
from .submission import Submission

__all__ = ["submissions_in_accounting", "submissions_in_swf"]


def submissions_in_accounting(
    path: str | os.PathLike[str], format: str, **options: Any
) -> tuple[list[Submission], list[str]]:
    """Return the jobs of accounting, each run of a requeued one by itself, and what was left out.

    Parameters
    ----------
    path : the log.
    format : ``sacct`` or ``jobcomp``.
    options : of its reader.
    """
    told = read_accounting(path, format, **options)
    jobs, cancelled, unended, unknown, disordered = [], 0, 0, 0, 0
    for k in range(len(told)):
        job = _accounted(told, k)
        if job.nodes <= 0 and job.cpus <= 0:
            unknown += 1
            continue
        if job.run < 0 or job.cancel < job.submit:
            disordered += 1
            continue
        jobs.append(job)
        if math.isnan(job.run):
            cancelled += math.isfinite(job.cancel)
            unended += math.isinf(job.cancel)
    said = [
        *(str(note) for note in told.report.findings if note.action in ("skip", "repair")),
        *_counted(_held(told, options), "held for a while, and taken as waiting from their submit"),
        *_counted(
            cancelled,
            "cancelled before they started; taken to wait until then, and if the model starts "
            "one, to run until then or to its limit",
        ),
        *_counted(unended, "not ended in the log; taken to run to their limits"),
        *_counted(unknown, "of unknown width; left out"),
        *_counted(disordered, "ended before they start or are submitted; left out"),
    ]
    if not any(math.isfinite(job.run) for job in jobs):
        raise LogError(path, "holds no job that has ended; check that the log is complete")
    return jobs, said


def _counted(count: int, what: str) -> list[str]:
    return [f"{count:,} {'job' if count == 1 else 'jobs'}: {what}"] if count else []


def _held(told: Accounting, options: dict[str, Any]) -> int:
    if options.get("wait_from") == "eligible":
        return 0
    return int(np.count_nonzero(told["eligible"] > told["submit"] + 1.0))


def _accounted(told: Accounting, k: int) -> Submission:
    start, end = float(told["start"][k]), float(told["end"][k])
    nodes, gpus = int(told["nodes"][k]), int(told["gpus"][k])
    requested, allocated = int(told["requested"][k]), int(told["allocated"][k])
    order = float(told["limit"][k])
    run = end - start
    if told["state"][k] == "TIMEOUT" and math.isfinite(order):
        run = max(run, order)
    memory = float(told["memory"][k])
    return Submission(
        label=str(told["run"][k]),
        name=str(told["name"][k]),
        submit=float(told["submit"][k]),
        run=run,
        limit=order,
        nodes=nodes,
        least_nodes=int(told["least_nodes"][k]),
        cpus=requested if requested > 0 else allocated,
        memory_per_cpu=memory / 1024.0 if memory > 0 else math.nan,
        gpus=math.ceil(gpus / max(nodes, 1)) if gpus >= 0 else -1,
        features=told["features"][k],
        partition=str(told["queue"][k]).partition(",")[0],
        user=str(told["user"][k]),
        account=str(told["account"][k]),
        cancel=end if math.isnan(start) and not math.isnan(end) else math.inf,
    )


def submissions_in_swf(path: str | os.PathLike[str]) -> tuple[list[Submission], list[str]]:
    """Return the jobs of a log in SWF, and what was left out."""
    jobs = read_log(path, format="swf")
    usable = (jobs.procs > 0) & (jobs.runtime >= 0)
    memory = jobs["memory"]
    labels = distinct(jobs.label.tolist())
    made = [
        Submission(
            label=labels[k],
            submit=float(jobs.submit[k]),
            run=float(jobs.runtime[k]),
            limit=float(jobs.estimate[k]) if jobs.estimate[k] > 0 else math.nan,
            cpus=int(jobs.procs[k]),
            memory_per_cpu=float(memory[k]) / 1024.0 if memory[k] > 0 else math.nan,
            user=str(int(jobs.user[k])),
            account=str(int(jobs["group"][k])),
        )
        for k in range(len(jobs))
        if usable[k]
    ]
    left = int((~usable).sum())
    return made, [f"{left} jobs without processors or runtime: left out"] if left else []
