"""A stream of jobs that sleep: read, submitted with ``sbatch``, and followed to its end."""

from __future__ import annotations

import csv
import io
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...errors import LogError, RunError
from ...files.access import read_bytes
from .cluster import VirtualCluster
from .reading import ControllerLog, completions

_LEAST = {"id": 0, "submit": 0, "nodes": 1, "run": 0.001, "limit_min": 1}
_WHOLE = ("id", "nodes", "limit_min")
# Seconds from where the controller's loops begin to the stream's zero, the same for every run: they
# count their periods from there. A fraction of a second keeps submits off the loops' own instants.
_LEAD, _PHASE = 10.0, 0.15
_GRACE = 600.0
_LOOK = 0.1  # seconds between two looks at whether all is well


@dataclass(frozen=True)
class Job:
    """A job of a stream: `submit` and `run` in seconds, `limit` in whole minutes."""

    id: int
    submit: float
    nodes: int
    run: float
    limit: int


@dataclass(frozen=True)
class Played:
    """A stream that has ended: its zero (Unix epoch, s), its jobs by Slurm's numbers, its log."""

    zero: float
    jobs: dict[int, Job]
    log: ControllerLog


class SubmitPace(Protocol):
    """How time passes on a cluster."""

    def now(self) -> float:
        """Return the instant by the cluster's clock, seconds of the Unix epoch."""

    def pass_until(self, instant: float, done: Callable[[], bool]) -> None:
        """Let time pass until an instant, or until something is done."""


class RealTime:
    """Time as it passes."""

    def now(self) -> float:
        """Return the instant, seconds of the Unix epoch."""
        return time.time()

    def pass_until(self, instant: float, done: Callable[[], bool]) -> None:
        """Wait until an instant, or until something is done."""
        while not done():
            left = instant - time.time()
            if left <= 0:
                return
            time.sleep(min(left, _LOOK))


def read_stream(path: str | os.PathLike[str]) -> list[Job]:
    """Read a stream from a table with columns id, submit, nodes, run and limit_min.

    Raises
    ------
    LogError
        When a column or a value is missing or wrong; it names the line and the field.
    """
    text = read_bytes(path).decode("utf-8-sig", "replace")
    table = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
    missing = [name for name in _LEAST if name not in (table.fieldnames or ())]
    if missing:
        wanted = ", ".join(_LEAST)
        raise LogError(path, f"has no column {', '.join(missing)}; a stream has {wanted}")
    jobs: dict[int, Job] = {}
    for row in table:
        value = {name: _number(row[name], name, path, table.line_num) for name in _LEAST}
        id, nodes, limit = (int(value[name]) for name in ("id", "nodes", "limit_min"))
        if id in jobs:
            problem = f"{id} stands twice; number jobs apart"
            raise LogError(path, problem, line=table.line_num, field="id")
        jobs[id] = Job(id, value["submit"], nodes, value["run"], limit)
    if not jobs:
        raise LogError(path, "has column names but no job; check that the table is complete")
    return sorted(jobs.values(), key=lambda job: job.submit)


def _number(token: str | None, name: str, path: str | os.PathLike[str], line: int) -> float:
    """Return a field as a number that is not below the column's least."""
    least = _LEAST[name]
    try:
        value = float(token or "")
        if not math.isfinite(value) or (name in _WHOLE and not value.is_integer()):
            raise ValueError
    except ValueError:
        kind = "a whole number" if name in _WHOLE else "a number"
        shown = repr(token[:40]) if token and token.strip() else "nothing"
        raise LogError(path, f"{shown} is not {kind}; correct it", line=line, field=name) from None
    if value < least:
        problem = f"{value:g} is less than {least:g}; correct it"
        raise LogError(path, problem, line=line, field=name)
    return value


def play(
    cluster: VirtualCluster,
    jobs: Sequence[Job],
    pace: SubmitPace,
    log: ControllerLog,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Played:
    """Submit a stream to an idle cluster, each job at its instant, and wait for its end.

    What was read of the controller's log before does not count; `progress` is called now and then
    with (jobs ended, jobs).
    """
    known: dict[int, Job] = {}
    looked = 0.0

    def done() -> bool:
        nonlocal looked
        log.read()
        if time.monotonic() > looked + _LOOK:
            looked = time.monotonic()
            cluster.check()
            if progress is not None:
                progress(len(log.ends), len(jobs))
        return len(log.ends) == len(jobs)

    log.read()
    began = log.began if math.isfinite(log.began) else cluster.started
    zero = began + max(_LEAD, math.ceil(pace.now() - began) + 1.0) + _PHASE
    for job in jobs:
        pace.pass_until(zero + job.submit, done)
        known[submit(cluster, job)] = job
    longest = 60.0 * max(job.limit for job in jobs)
    while not done():
        pace.pass_until(pace.now() + longest, done)
        if pace.now() - log.changed > longest + _GRACE:
            missing = len(jobs) - len(log.ends)
            raise RunError(f"{missing} jobs have not ended: nothing moved for {longest:.0f} s")
    # The last completion is written a moment after the job's end.
    pace.pass_until(
        pace.now() + _GRACE, lambda: known.keys() <= completions(cluster.completions).keys()
    )
    return Played(zero, known, log)


def submit(cluster: VirtualCluster, job: Job) -> int:
    """Submit a job that sleeps, and return Slurm's number for it."""
    said = cluster.command(
        "sbatch",
        "--parsable",
        f"--job-name=j{job.id}",
        f"--nodes={job.nodes}",
        f"--time={job.limit}",
        f"--chdir={cluster.folder}",
        "--output=/dev/null",
        "--error=/dev/null",
        f"--wrap=exec sleep {job.run:.3f}",
    )
    return int(said.strip().split(";")[0])
