"""The log of decisions: why this job, why these nodes, why not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .aftermath import aftermath
from .energy import allocation, allocation_around, stretches_around
from .engine.decided import (
    BACKFILLED_BESIDE,
    BACKFILLED_IN_TIME,
    BEHIND,
    KEPT,
    NO_NODES,
    PROMISED,
    RESERVED,
    STARTED,
    TOO_WIDE,
    WORDS,
    WOULD_DELAY,
)
from .engine.drive import Run
from .engine.nodes import LOG_ABOUT, LOG_CODE, LOG_JOB, LOG_TIME, LOG_VALUE, LOGGED
from .machine import REASONS
from .options import Prepared

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Decisions"]

_STARTS = (STARTED, BACKFILLED_IN_TIME, BACKFILLED_BESIDE, KEPT)


class Decisions:
    """What the scheduler decided about whom, and why, in the order in which it looked at them.

    Parameters
    ----------
    prepared : the run's input.
    run : the run, at its end.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(20, 12, load=0.9, seed=1)
    >>> cluster = sojourn.parse_cluster("X5670")
    >>> result = sojourn.simulate(jobs, cluster, "easy", decisions=True)
    >>> table = result.decisions.table()
    >>> list(table.columns)
    ['time', 'job', 'decision', 'about', 'value', 'says']
    """

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self._prepared = prepared
        self._log = run.nodes.log[:, : run.nodes.number[LOGGED]]
        self._run = run
        if run.outside is None:
            self._given = allocation(run)
            self._attempts = [[j] for j in range(len(run.state.start))]
        else:
            after = aftermath(run.outside)
            self._given = allocation_around(run, after)
            self._attempts = [[] for _ in run.state.start]
            job, start, _ = stretches_around(run, after)
            for row in np.argsort(start, kind="stable").tolist():
                self._attempts[job[row]].append(row)
        self._numbers = prepared.jobs.job[prepared.accepted]

    def __len__(self) -> int:
        """Return the number of decisions."""
        return int(self._log.shape[1])

    def _column(self, row: int) -> NDArray[np.int64]:
        column: NDArray[np.int64] = self._log[row].astype(np.int64)
        return column

    def table(self) -> pd.DataFrame:
        """One row per decision: time (s), job, decision, about (another job or -1), value, says.

        `value` is a number of processors or a time (s), as `says` tells; nan if neither.
        """
        import pandas as pd

        about = self._column(LOG_ABOUT)
        value = self._log[LOG_VALUE]
        return pd.DataFrame(
            {
                "time": self._log[LOG_TIME],
                "job": self._numbers[self._column(LOG_JOB)],
                "decision": pd.Categorical.from_codes(
                    self._column(LOG_CODE).tolist(), categories=pd.Index(WORDS)
                ),
                "about": np.where(about >= 0, self._numbers[np.maximum(about, 0)], -1),
                "value": np.where(np.isfinite(value), value, np.nan),
                "says": list(self._sentences()),
            }
        )

    def lines(self) -> Iterator[str]:
        """Each decision as a line of text; first, the jobs that can never run."""
        prepared = self._prepared
        for i in np.flatnonzero(~prepared.accepted):
            job = prepared.jobs
            yield (
                f"{job.submit[i]:12.2f}  job {job.job[i]}: not accepted, even the empty cluster "
                f"has not enough of: {REASONS[prepared.reason[i]]}"
            )
        for time, sentence in zip(self._log[LOG_TIME], self._sentences(), strict=True):
            yield f"{time:12.2f}  {sentence}"

    def _sentences(self) -> Iterator[str]:
        starts: Counter[int] = Counter()
        for _, job, code, about, value in self._log.T:
            j = int(job)
            said = self._sentence(j, int(code), int(about), float(value))
            if int(code) in _STARTS:
                said += f"; {self._where(j, self._attempts[j][starts[j]])}"
                starts[j] += 1
            yield said

    def _sentence(self, j: int, code: int, about: int, value: float) -> str:
        number, width = self._numbers[j], self._run.jobs.procs[j]
        head = f"job {self._numbers[about]}" if about >= 0 else "another"
        told = {
            STARTED: f"starts, {width} of {value:g} free processors",
            BACKFILLED_IN_TIME: f"is backfilled: done before {head} is due at {value:.2f}",
            BACKFILLED_BESIDE: f"is backfilled: {head} does not need these processors",
            KEPT: "starts as promised",
            TOO_WIDE: f"waits: needs {width} processors, {value:g} are free",
            NO_NODES: f"waits: {value:g} processors are free, but not on such nodes as it asks for",
            BEHIND: f"waits behind {head}",
            RESERVED: f"is blocked; reserved from {value:.2f}",
            WOULD_DELAY: f"waits: it would delay {head}"
            + (f", due at {value:.2f}" if np.isfinite(value) else ""),
            PROMISED: f"waits: promised {value:.2f}",
        }[code]
        return f"job {number} {told}"

    def _where(self, j: int, attempt: int) -> str:
        """The nodes of a job in one of its attempts, and what they make of its runtime."""
        given, placement = self._given, self._prepared.options.placement
        rows = slice(given.first[attempt], given.first[attempt + 1])
        names = [self._prepared.cluster.nodes[node].name for node in given.node[rows]]
        parts = [f"{name}:{procs}" for name, procs in zip(names, given.procs[rows], strict=True)]
        work = self._run.jobs.work[j]
        slowness = given.slowness[attempt]
        return (
            f"{placement} gives {', '.join(parts)}; "
            f"{work * slowness:.2f} s there ({work:.2f} s x {slowness:.4f})"
        )
