"""What happened to each job: the controller's log, to the millisecond, and its job completions."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import LogError
from ...files.access import read_log_text
from ...jobs.formats.clock import instant
from ...jobs.formats.jobcomp import jobcomp_accounting

if TYPE_CHECKING:
    from .stream import Job

COLUMNS = (
    *("id", "submit", "eligible", "start", "end"),
    *("nodes", "node_names", "state", "started_by"),
    *("run", "limit_min"),
)
"""Of a table of jobs: instants in seconds after the stream's zero, what Slurm did, and for how long
the job was to run (s) and might have (min)."""

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\] (.*)")
_KINDS = {
    kind: re.compile(pattern)
    for kind, pattern in {
        "begin": r"Running as primary controller",
        "submit": r"_slurm_rpc_submit_batch_job: JobId=(\d+) ",
        "main": r"sched: Allocate JobId=(\d+) NodeList=(\S+)",
        "backfill": r"sched/backfill: _start_job: Started JobId=(\d+) in \S+ on (\S+)",
        "limit": r"Time limit exhausted for JobId=(\d+)",
        "end": r"_job_complete: JobId=(\d+) done",
        "main pass": r"(?:debug:  )?sched: Running job scheduler for full queue",
        "short pass": r"(?:debug:  )?sched: Running job scheduler for default depth",
        "backfill pass": r"(?:debug:  )?sched/backfill: _attempt_backfill: beginning",
    }.items()
}
_CALL = 0.2  # seconds that a call of the main loop may take to be heard


@dataclass(frozen=True)
class Event:
    """A line of the controller's log that matters.

    Parameters
    ----------
    time : seconds of the Unix epoch, by the controller's clock.
    kind : ``begin`` (of the loops), ``submit``, ``main`` or ``backfill`` (a start, by which loop),
        ``limit``, ``end``, or the begin of a ``main pass``, a ``short pass`` (of the main loop,
        over the first jobs of the queue) or a ``backfill pass``.
    job : Slurm's number of the job, 0 for a pass.
    nodes : list of the nodes, of a start.
    """

    time: float
    kind: str
    job: int = 0
    nodes: str = ""


class ControllerLog:
    """The log of a controller, read as it grows.

    Parameters
    ----------
    path : the log, which may not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.submits: dict[int, Event] = {}
        self.starts: dict[int, Event] = {}
        self.ends: dict[int, Event] = {}
        self.changed = -math.inf
        """When a job was last submitted, started or ended."""
        self.began = math.nan
        """When the loops began."""
        self.last_pass = self.last_full_pass = -math.inf
        """When the main loop last began a pass, and one over the whole queue."""
        self.passes: Counter[str] = Counter()
        """Number of passes of each kind that began since anything changed."""
        self.is_called = False
        """Whether a job was submitted or ended, and the main loop may not have looked since."""
        self._called = -math.inf
        self._offset = 0
        self._rest = b""

    @property
    def waiting(self) -> int:
        """Number of jobs that were submitted and not started."""
        return len(self.submits) - len(self.starts)

    def read(self) -> None:
        """Read what was written since the last call."""
        try:
            if os.stat(self.path).st_size == self._offset:
                return
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for event in _events(line.decode("utf-8", "replace") for line in lines):
            self._note(event)

    def _note(self, event: Event) -> None:
        if event.kind == "begin":
            self.began = event.time
        elif event.kind.endswith(" pass"):
            self.passes[event.kind] += 1
            if event.kind != "backfill pass":
                self._note_main_pass(event)
        else:
            self.changed = event.time
            self.passes.clear()
            kinds = {"submit": self.submits, "limit": self.ends, "end": self.ends}
            if event.kind in kinds:
                self.is_called, self._called = True, event.time
            kinds.get(event.kind, self.starts).setdefault(event.job, event)

    def _note_main_pass(self, event: Event) -> None:
        self.last_pass = event.time
        if event.kind == "main pass":
            self.last_full_pass = event.time
        self.is_called &= event.time < self._called + _CALL


def read_controller_log(path: str | os.PathLike[str]) -> list[Event]:
    """Read the whole log of a controller, plain or packed with gzip.

    Raises
    ------
    LogError
        When it cannot be read or none of its lines is a controller's.
    """
    lines = read_log_text(path, wanted="the log of a controller").split("\n")
    events = list(_events(iter(lines)))
    if not events:
        raise LogError(path, "has no job and no pass; give slurmctld's log, at level debug")
    return events


def _events(lines: Iterator[str]) -> Iterator[Event]:
    for line in lines:
        stamped = _LINE.match(line)
        if not stamped:
            continue
        for kind, pattern in _KINDS.items():
            match = pattern.match(stamped[2])
            if match:
                said = (*match.groups(), "", "")
                yield Event(instant(stamped[1]), kind, int(said[0] or 0), said[1] or "")
                break


class Completion(NamedTuple):
    """What only the completion log has of a job; instants in whole seconds."""

    submit: float
    eligible: float
    nodes: int
    state: str


def completions(path: Path) -> dict[int, Completion]:
    """Return what a log of ``jobcomp/filetxt`` has, by Slurm's number of the job."""
    if not path.stat().st_size:
        return {}
    log = jobcomp_accounting(path)
    columns = (log[name].tolist() for name in ("job", *Completion._fields))
    return {job: Completion(*rest) for job, *rest in zip(*columns, strict=True)}


def collect(
    log: ControllerLog, completed: Path, jobs: Mapping[int, Job], zero: float
) -> list[dict[str, Any]]:
    """Return one row per job, in the order of submission, with the columns `COLUMNS`.

    Parameters
    ----------
    log : all of the controller's log.
    completed : the log of ``jobcomp/filetxt``.
    jobs : the stream's jobs by Slurm's numbers.
    zero : instant of the stream's zero, seconds of the Unix epoch.
    """
    log.read()
    completion = completions(completed)
    rows = []
    for number, job in jobs.items():
        said = completion.get(number, Completion(math.nan, math.nan, 0, "UNKNOWN"))
        submit, start, end = (by.get(number) for by in (log.submits, log.starts, log.ends))
        at = submit.time if submit else said.submit
        rows.append(
            {
                "id": job.id,
                "submit": _after(zero, at),
                "eligible": _after(zero, said.eligible if said.eligible > said.submit else at),
                "start": _after(zero, start.time) if start else "",
                "end": _after(zero, end.time) if end else "",
                "nodes": said.nodes,
                "node_names": start.nodes if start else "",
                "state": said.state,
                "started_by": start.kind if start else "",
                "run": job.run,
                "limit_min": job.limit,
            }
        )
    return rows


def _after(zero: float, time: float) -> float:
    return round(time - zero, 3)
