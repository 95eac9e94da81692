"""The first decision that differs: what each manager saw, and which job it started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from .matching import SLACK, Pair
from .stream import JobStream

_SHOWN = 12
"""Jobs of a queue that are listed."""


@dataclass(frozen=True)
class Moment:
    """One stream when it took a decision, after what ended by then and before what it started.

    Parameters
    ----------
    time : s.
    job : the job it started.
    width : resources of that job.
    other_start : when the same stream started the job that the other one chose (s).
    started : all jobs it started at this instant.
    queue : the first jobs that waited, in the order of submission, with their resources.
    queued, running : jobs that waited, and ran.
    busy, free : resources.
    """

    time: float
    job: str
    width: int
    other_start: float
    started: tuple[str, ...]
    queue: tuple[tuple[str, int], ...]
    queued: int
    running: int
    busy: int
    free: int

    def as_dict(self) -> dict[str, Any]:
        """Return the moment as plain values."""
        return {
            **vars(self),
            "started": list(self.started),
            "queue": [{"job": job, "width": width} for job, width in self.queue],
        }


@dataclass(frozen=True)
class Divergence:
    """The first decision that differs.

    Parameters
    ----------
    kind : ``order`` if the streams started different jobs, ``delay`` if the same job at other
        times.
    decision : which start of the stream it is, counted from 1.
    real, model : both streams when they took it.
    capacity : resources of the machine.
    """

    kind: str
    decision: int
    real: Moment
    model: Moment
    capacity: int

    def as_dict(self) -> dict[str, Any]:
        """Return the divergence as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "decision": self.decision,
            "capacity": self.capacity,
            "real": self.real.as_dict(),
            "model": self.model.as_dict(),
        }


def first_divergence(
    pair: Pair, *, within: float = 0.0, nodes: int | None = None
) -> Divergence | None:
    """Return the first decision that differs between two streams, None if none does.

    Starts are compared one by one in the order in which each stream made them; jobs started
    together are in no order. Where that order is the same, it is the first job that waited
    another time.

    Parameters
    ----------
    pair : streams of the same jobs.
    within : s, by which starts may differ and still count as equal.
    nodes : resources of the machine; by default the most that were busy at once.
    """
    if nodes is not None and nodes < 1:
        raise OptionError(f"nodes {nodes}: give at least one")
    real, model = pair.real, pair.model
    mine = np.lexsort((model.start, real.start))
    theirs = np.lexsort((real.start, model.start))
    late = np.abs(model.wait - real.wait) > within + SLACK
    other = (mine != theirs) & (late[mine] | late[theirs])
    kind = "order" if other.any() else "delay"
    hits = np.flatnonzero(other if other.any() else late[mine])
    if hits.size == 0:
        return None
    k = int(hits[0])
    a, b = int(mine[k]), int(theirs[k])
    capacity = nodes or max(_peak(real, pair.width), _peak(model, pair.width))
    return Divergence(
        kind,
        k + 1,
        _moment(real, pair.width, a, b, within, capacity),
        _moment(model, pair.width, b, a, within, capacity),
        capacity,
    )


def _peak(stream: JobStream, width: NDArray[np.int64]) -> int:
    """Return the most resources that were busy at once; those freed at an instant are free."""
    times = np.concatenate((stream.end, stream.start))
    steps = np.concatenate((-width, width))
    order = np.lexsort((steps, times))
    return int(max(np.cumsum(steps[order]).max(), width.max()))


def _moment(
    stream: JobStream,
    width: NDArray[np.int64],
    row: int,
    other: int,
    within: float,
    capacity: int,
) -> Moment:
    time = float(stream.start[row])
    running = (stream.start < time - SLACK) & (stream.end > time + SLACK)
    waiting = (stream.submit <= time + SLACK) & (stream.start >= time - SLACK)
    together = np.abs(stream.start - time) <= max(within, SLACK)
    busy = int(width[running].sum())
    queue = np.flatnonzero(waiting)
    return Moment(
        time=time,
        job=str(stream.label[row]),
        width=int(width[row]),
        other_start=float(stream.start[other]),
        started=tuple(stream.label[together].tolist()),
        queue=tuple((str(stream.label[k]), int(width[k])) for k in queue[:_SHOWN].tolist()),
        queued=int(queue.size),
        running=int(np.count_nonzero(running)),
        busy=busy,
        free=capacity - busy,
    )
