"""What external events did to the jobs of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...engine import types as t
from ...engine.drive import Run
from ...engine.state import SEGMENT
from .lost import cut_at_checkpoints, rate_epochs, up_at

COMPLETED, KILLED, UNACCEPTED = "completed", "killed", "unaccepted"
CANCELLED, WAITING = "cancelled", "waiting"
STATUS = (COMPLETED, KILLED, UNACCEPTED, CANCELLED, WAITING)
"""What may become of a job."""


class Aftermath(NamedTuple):
    """What external events did to the accepted jobs.

    Parameters
    ----------
    killed, cancelled, waiting : who was stopped from outside, withdrawn before it ran, or waits for
        ever.
    restarts : how often each began anew.
    left : when each left the system (s); nan for who is still there.
    lost : stretches of service in attempts that came to nothing, as `SEGMENT` has them; with
        checkpoints, since the last one.
    """

    killed: NDArray[np.bool_]
    cancelled: NDArray[np.bool_]
    waiting: NDArray[np.bool_]
    restarts: Ints
    left: Floats
    lost: NDArray[np.void]

    def status(self, killed: NDArray[np.bool_]) -> NDArray[np.int8]:
        """What became of each job, as a place in `STATUS`; some were `killed` at their limit."""
        status = np.full(len(self.left), STATUS.index(COMPLETED), dtype=np.int8)
        for who, word in (
            (self.killed | killed, KILLED),
            (self.cancelled, CANCELLED),
            (self.waiting, WAITING),
        ):
            status[who] = STATUS.index(word)
        return status

    def counts(self) -> dict[str, int | float]:
        """How many jobs were struck, and processor-seconds lost."""
        area = self.lost["held"] * (self.lost["stop"] - up_at(self.lost))
        return {
            "cancelled": int(self.cancelled.sum()),
            "killed": int(self.killed.sum()),
            "waiting": int(self.waiting.sum()),
            "restarts": int(self.restarts.sum()),
            "lost_processor_seconds": float(area.sum()),
        }


def _lost_with_all_before(job: Ints, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which stretches were lost: of an attempt that is, also those before it gave way."""
    begun_anew: set[int] = set()
    marked = lost.copy()
    for row in range(len(job) - 1, -1, -1):
        if marked[row]:
            begun_anew.add(int(job[row]))
        marked[row] = int(job[row]) in begun_anew
    return marked


def aftermath(run: Run) -> Aftermath:
    """Read what the kernel noted."""
    if run.calendar is None:
        return _without_events(run)
    jobs, pieces = run.calendar.job, run.recording.segment[: run.s.segments]
    came_to_nothing = pieces["lost"] == 1
    if run.rules.backfill.preempts:
        came_to_nothing = _lost_with_all_before(pieces["job"], came_to_nothing)
    lost = pieces[came_to_nothing]
    if len(run.calendar.checkpoint):
        lost = cut_at_checkpoints(pieces, *rate_epochs(run))
    return Aftermath(
        killed=(jobs["fate"] == t.KILLED) & ~run.ended_by_manager,
        cancelled=jobs["fate"] == t.CANCELLED,
        waiting=jobs["fate"] == t.UNDECIDED,
        restarts=jobs["restarts"].copy(),
        left=jobs["left"].copy(),
        lost=lost,
    )


def _without_events(run: Any) -> Aftermath:
    """What became of jobs that a manager may have stopped, or whose users took them back."""
    count = len(run.start)
    return Aftermath(
        killed=run.stopped,
        cancelled=np.isnan(run.start),
        waiting=np.zeros(count, np.bool_),
        restarts=np.zeros(count, np.int64),
        left=run.left,
        lost=np.zeros(0, SEGMENT),
    )
