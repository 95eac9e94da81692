"""What happened to each job: the controller's log, to the millisecond, and its job completions."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "ControllerLog", "Event", "collect", "completions"]

COLUMNS = (
    *("id", "submit", "eligible", "start", "end"),
    *("nodes", "node_names", "state", "started_by"),
)
"""Of a table of jobs; instants in seconds after the stream's zero."""

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\] (.*)")
_KINDS = {
    kind: re.compile(pattern)
    for kind, pattern in {
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
_FIELD = re.compile(r"(\w+)=(\S*)")


@dataclass(frozen=True)
class Event:
    """A line of the controller's log that matters.

    Parameters
    ----------
    time : seconds of the Unix epoch, by the controller's clock.
    kind : ``submit``, ``main`` or ``backfill`` (a start, by which loop), ``limit``, ``end``,
        or the begin of a ``main pass``, a ``short pass`` (of the main loop, over the first jobs
        of the queue) or a ``backfill pass``.
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
        self.last_pass = -math.inf
        """When the main loop last began a pass over the whole queue."""
        self.passes: Counter[str] = Counter()
        """Number of passes of each kind that began since anything changed."""
        self.is_called = False
        """Whether a job was submitted or ended, and the main loop has not begun a pass since."""
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
        if event.kind.endswith(" pass"):
            self.passes[event.kind] += 1
            self.is_called &= event.kind == "backfill pass"
            if event.kind == "main pass":
                self.last_pass = event.time
            return
        self.changed = event.time
        self.passes.clear()
        kinds = {"submit": self.submits, "limit": self.ends, "end": self.ends}
        self.is_called |= event.kind in kinds
        kinds.get(event.kind, self.starts).setdefault(event.job, event)


def _events(lines: Iterator[str]) -> Iterator[Event]:
    for line in lines:
        stamped = _LINE.match(line)
        if not stamped:
            continue
        for kind, pattern in _KINDS.items():
            found = pattern.match(stamped[2])
            if found:
                said = (*found.groups(), "", "")
                yield Event(instant(stamped[1]), kind, int(said[0] or 0), said[1] or "")
                break


def instant(text: str) -> float:
    """Return a time of Slurm's, in UTC, as seconds of the Unix epoch."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def completions(path: Path) -> dict[int, dict[str, str]]:
    """Return the fields of each job in a log of ``jobcomp/filetxt``, by Slurm's number."""
    rows = (dict(_FIELD.findall(line)) for line in path.read_text("utf-8", "replace").splitlines())
    return {int(row["JobId"]): row for row in rows if "JobId" in row}


def collect(
    log: ControllerLog, completed: Path, ids: Mapping[int, int], zero: float
) -> list[dict[str, Any]]:
    """Return one row per job, in the order of submission, with the columns `COLUMNS`.

    Parameters
    ----------
    log : all of the controller's log.
    completed : the log of ``jobcomp/filetxt``; what only it knows is in whole seconds.
    ids : the stream's number of each job by Slurm's.
    zero : instant of the stream's zero, seconds of the Unix epoch.
    """
    log.read()
    told = completions(completed)
    rows = []
    for job, name in ids.items():
        said = told.get(job, {})
        submit, start, end = (by.get(job) for by in (log.submits, log.starts, log.ends))
        at = submit.time if submit else instant(said["SubmitTime"])
        eligible = said.get("EligibleTime", "")
        late = eligible not in ("", "Unknown", said.get("SubmitTime"))
        rows.append(
            {
                "id": name,
                "submit": _after(zero, at),
                "eligible": _after(zero, instant(eligible) if late else at),
                "start": _after(zero, start.time) if start else "",
                "end": _after(zero, end.time) if end else "",
                "nodes": int(said.get("NodeCnt", 0)),
                "node_names": start.nodes if start else "",
                "state": said.get("JobState", "UNKNOWN"),
                "started_by": start.kind if start else "",
            }
        )
    return rows


def _after(zero: float, time: float) -> float:
    return round(time - zero, 3)
