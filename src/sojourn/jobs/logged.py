"""Jobs of a log: what its records say of their requests."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ..errors import LogError, plural
from .events import read_accounting
from .formats.accounting import Accounting, distinct
from .log import read_log
from .submission import Submission


def submissions_in_accounting(
    path: str | os.PathLike[str], format: str, **options: Any
) -> tuple[list[Submission], list[str]]:
    """Return the jobs of accounting, each run of a requeued one alone, and what was left out."""
    log = read_accounting(path, format, **options)
    jobs, cancelled, unended, unknown, disordered = [], 0, 0, 0, 0
    for k in range(len(log)):
        job = _accounted(log, k)
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
        *(str(note) for note in log.report.findings if note.action in ("skip", "repair")),
        *_counted(_held(log, options), "held for a while, and taken as waiting from their submit"),
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


def _held(log: Accounting, options: dict[str, Any]) -> int:
    if options.get("wait_from") == "eligible":
        return 0
    return int(np.count_nonzero(log["eligible"] > log["submit"] + 1.0))


def _accounted(log: Accounting, k: int) -> Submission:
    start, end = float(log["start"][k]), float(log["end"][k])
    nodes, gpus = int(log["nodes"][k]), int(log["gpus"][k])
    requested, allocated = int(log["requested"][k]), int(log["allocated"][k])
    order = float(log["limit"][k])
    run = end - start
    if log["state"][k] == "TIMEOUT" and math.isfinite(order):
        run = max(run, order)
    memory = float(log["memory"][k])
    return Submission(
        label=str(log["run"][k]),
        name=str(log["name"][k]),
        submit=float(log["submit"][k]),
        run=run,
        limit=order,
        nodes=nodes,
        least_nodes=int(log["least_nodes"][k]),
        cpus=requested if requested > 0 else allocated,
        memory_per_cpu=memory / 1024.0 if memory > 0 else math.nan,
        gpus=math.ceil(gpus / max(nodes, 1)) if gpus >= 0 else -1,
        features=log["features"][k],
        partition=str(log["queue"][k]).partition(",")[0],
        user=str(log["user"][k]),
        account=str(log["account"][k]),
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
    return made, [f"{plural(left, 'job')} without processors or runtime: left out"] if left else []
