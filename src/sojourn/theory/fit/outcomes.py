"""How each job ended, and for how long it was exposed to ending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checks import non_negative
from ...errors import OptionError, did_you_mean
from ...jobs import Jobs

CLASSES = ("completed", "failed", "killed", "cancelled", "censored", "not started", "unknown")
"""How a job may end; those before ``not started`` were in service."""

_COMPLETED, _FAILED, _KILLED, _CANCELLED, _CENSORED, _NOT_STARTED, _UNKNOWN = range(7)
_STATUS_FAILED, _STATUS_COMPLETED, _STATUS_CANCELLED, _STATUS_UNKNOWN = 0, 1, 5, -1  # [swf]
_NEAR = 60.0
_NEAREST = 0.1
_NEAR_SHARE = 0.2


@dataclass(frozen=True)
class Outcomes:
    """The jobs of a log as observations of competing risks, one element per job that started.

    Parameters
    ----------
    duration : time in service (s).
    width : processors.
    estimate : the user's limit (s); 0 where there is none.
    kind : index into `CLASSES`.
    counts : jobs of each class, of all jobs.
    notes : what had to be assumed.
    """

    duration: NDArray[np.float64]
    width: NDArray[np.int64]
    estimate: NDArray[np.float64]
    kind: NDArray[np.int64]
    counts: dict[str, int]
    notes: tuple[str, ...] = ()

    def are(self, classes: Sequence[str], name: str = "classes") -> NDArray[np.bool_]:
        """Return which jobs ended in one of some ways."""
        known = CLASSES[:_NOT_STARTED]
        for wanted in classes:
            if wanted not in known:
                near = did_you_mean(wanted, known) or f"; known: {', '.join(known)}"
                raise OptionError(f"{name}: no job ends as '{wanted}'{near}")
        return np.isin(self.kind, [CLASSES.index(wanted) for wanted in classes])

    def processor_seconds(self) -> dict[str, float]:
        """Return the processor seconds that jobs of each class took."""
        area = np.bincount(self.kind, self.width * self.duration, minlength=len(CLASSES))
        return {name: float(area[k]) for k, name in enumerate(CLASSES[:_NOT_STARTED])}


def classify(jobs: Jobs, *, tolerance: float = 0.0, end: float | None = None) -> Outcomes:
    """Class each job of a log by how it ended.

    A job is, by the first of these that holds:

    - *unknown* if its runtime is not recorded;
    - *not started* if its runtime is 0 and it is not recorded as completed or failed: it was
      cancelled in the queue, and never exposed to a limit;
    - *censored* if it was still running at `end`;
    - *killed* if its runtime reaches its estimate, whatever its status: logs record kills by the
      clock more reliably than by status. Within `tolerance` before it, unless it completed;
    - *completed*, *failed* or *cancelled* as its status says. A runtime of 0 is less than a tick
      of the log's clock;
    - *censored* if its status is unknown. In a log without any status, *completed*.

    Estimates that equal the runtimes of all jobs are copies of them, not limits, and are ignored.

    Parameters
    ----------
    jobs : the jobs, without lines of partial executions (status 2, 3 and 4).
    tolerance : how long before its limit a job that did not complete counts as killed (s), at
        most a tenth of the limit.
    end : when the log was closed (s of the log's clock); None: after the last job.
    """
    tolerance = non_negative(tolerance, "tolerance")
    runtime = jobs.runtime.astype(np.float64)
    status = jobs["status"]
    estimate = np.maximum(jobs.estimate, 0.0)
    notes: list[str] = []
    limited = (estimate > 0) & (runtime > 0)
    if limited.any() and np.array_equal(runtime[limited], estimate[limited]):
        notes.append("every estimate equals the runtime: a copy, not a limit, so none is used")
        estimate, limited = np.zeros_like(estimate), np.zeros_like(limited)
    if (status == _STATUS_UNKNOWN).all():
        notes.append("the log has no job's status: jobs below their limit count as completed")
        status = np.full_like(status, _STATUS_COMPLETED)

    kind = np.full(len(jobs), _CENSORED)
    kind[status == _STATUS_COMPLETED] = _COMPLETED
    kind[status == _STATUS_FAILED] = _FAILED
    kind[status == _STATUS_CANCELLED] = _CANCELLED
    early = np.where(kind == _COMPLETED, 0.0, np.minimum(tolerance, _NEAREST * estimate))
    killed = limited & (runtime >= estimate - early)
    near = limited & ~killed & np.isin(kind, (_FAILED, _CANCELLED))
    near &= runtime >= estimate - np.minimum(_NEAR, _NEAREST * estimate)
    kind[killed] = _KILLED
    if end is not None:
        start = jobs.submit + np.maximum(jobs.wait, 0.0)
        late = start + runtime > end
        runtime = np.where(late, np.clip(end - start, 0.0, None), runtime)
        kind[late] = _CENSORED
        kind[start >= end] = _NOT_STARTED
    kind[(runtime == 0) & ~np.isin(kind, (_COMPLETED, _FAILED))] = _NOT_STARTED
    kind[jobs.runtime < 0] = _UNKNOWN
    if np.count_nonzero(near) > _NEAR_SHARE * np.count_nonzero(killed):
        notes.append(
            f"{np.count_nonzero(near):,} jobs failed or were cancelled within {_NEAR:g} s before "
            f"their limit; a tolerance of {_NEAR:g} s counts them as killed"
        )
    counts = np.bincount(kind, minlength=len(CLASSES))
    began = kind < _NOT_STARTED
    return Outcomes(
        runtime[began],
        jobs.procs[began],
        estimate[began],
        kind[began],
        {name: int(counts[k]) for k, name in enumerate(CLASSES)},
        tuple(notes),
    )


def separate(
    outcomes: Outcomes, served: Sequence[str], removed: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which jobs ended their service and which were removed; the others are censored."""
    both = sorted(set(served) & set(removed))
    if both:
        raise OptionError(f"'{both[0]}' is both served and removed; leave it out of one")
    if not len(served):
        raise OptionError("served: no way to end counts as service; give at least one")
    return outcomes.are(served, "served"), outcomes.are(removed, "removed")
