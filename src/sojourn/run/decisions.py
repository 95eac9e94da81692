"""The log of decisions: why this job, why these nodes, why not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..engine.decided import (
    BACKFILLED_BESIDE,
    BACKFILLED_IN_TIME,
    BEHIND,
    KEPT,
    NO_NODES,
    PASSED_OVER,
    PROMISED,
    RESERVED,
    STARTED,
    STOPPED,
    TOO_WIDE,
    WORDS,
    WOULD_DELAY,
)
from ..engine.drive import Run
from .build.machine import REASONS
from .options import Prepared
from .outcome.energy import allocation_in_pieces, stretches_in_pieces

if TYPE_CHECKING:
    import pandas as pd

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
        self._log = run.recording.line[: run.s.logged]
        self._run = run
        self._attempts: list[list[int]] = [[] for _ in run.start]
        job, start, _ = stretches_in_pieces(run)
        for row in np.argsort(start, kind="stable").tolist():
            self._attempts[job[row]].append(row)
        self._given = None if run.nodes is None else allocation_in_pieces(run)
        self._numbers = prepared.jobs.job[prepared.accepted]

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self._log)

    def table(self) -> pd.DataFrame:
        """One row per decision: time (s), job, decision, about (another job or -1), value, says.

        `value` is a number of processors or a time (s), as `says` tells; nan if neither.
        """
        import pandas as pd

        about, value = self._log["about"], self._log["value"]
        return pd.DataFrame(
            {
                "time": self._log["time"],
                "job": self._numbers[self._log["job"]],
                "decision": pd.Categorical.from_codes(
                    self._log["code"].tolist(), categories=pd.Index(WORDS)
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
            job, reason = prepared.jobs, REASONS[prepared.reason[i]]
            why = f"even the empty cluster has not enough of: {reason}"
            if reason == "queue":
                why = "its queue does not let in jobs as long or as wide"
            yield f"{job.submit[i]:12.2f}  job {job.job[i]}: not accepted, {why}"
        for time, sentence in zip(self._log["time"], self._sentences(), strict=True):
            yield f"{time:12.2f}  {sentence}"

    def _sentences(self) -> Iterator[str]:
        starts: Counter[int] = Counter()
        columns = (self._log[name].tolist() for name in ("job", "code", "about", "value"))
        for j, code, about, value in zip(*columns, strict=True):
            said = self._sentence(j, code, about, value)
            if code in _STARTS and self._given is not None:
                said += f"; {self._where(j, self._attempts[j][starts[j]])}"
                starts[j] += 1
            yield said

    def _sentence(self, j: int, code: int, about: int, value: float) -> str:
        number, width = self._numbers[j], self._run.jobs.procs[j]
        head = f"job {self._numbers[about]}" if about >= 0 else "another"
        texts = {
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
            STOPPED: f"gives way to others; {value:.2f} s of its work remain",
            PASSED_OVER: f"is passed over: its queue is at its limit, with {value:g} processors",
        }[code]
        return f"job {number} {texts}"

    def _where(self, j: int, attempt: int) -> str:
        """The nodes of a job in one of its attempts, and what they make of its runtime."""
        given, placement = self._given, self._prepared.options.placement
        assert given is not None
        rows = slice(given.first[attempt], given.first[attempt + 1])
        names = [self._prepared.cluster.nodes[node].name for node in given.node[rows]]
        parts = [f"{name}:{procs}" for name, procs in zip(names, given.procs[rows], strict=True)]
        work = self._run.jobs.work[j]
        slowness = given.slowness[attempt]
        return (
            f"{placement} gives {', '.join(parts)}; "
            f"{work * slowness:.2f} s there ({work:.2f} s x {slowness:.4f})"
        )
