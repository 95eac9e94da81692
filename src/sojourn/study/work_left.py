"""Runs that are yet to be sent to workers, and how many of them go together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import islice

from .plan import PlannedRun

Batch = Sequence[PlannedRun]

AHEAD = 2
"""Batches on their way for each thread of a worker, so that none waits for the driver."""
DIED = "its worker died each time; it may need more memory than there is"
"""Why a run has failed that no worker survives."""
_BATCH = 1.0
"""Seconds of work in a batch."""
_HANDLING = 0.03
"""Seconds of work for each thread of the cluster in a batch: the driver needs a third of that."""


class Left:
    """Runs that are yet to be sent, in the order in which they are best carried out."""

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self._runs = deque(runs)
        self._suspects: deque[PlannedRun] = deque()

    def __bool__(self) -> bool:
        return bool(self._runs or self._suspects)

    @property
    def unsuspected(self) -> int:
        """How many there are that no worker has died of."""
        return len(self._runs)

    def again(self, batch: Batch) -> None:
        """Take a batch back."""
        self._runs.extendleft(reversed(batch))

    def doubt(self, batch: Batch) -> None:
        """Take a batch back that was with workers that died."""
        self._suspects.extend(batch)

    def suspect(self) -> Batch:
        """Return the next run of which a worker may have died, by itself."""
        return [self._suspects.popleft()]

    def take(self, seconds: float, threads: int) -> Batch:
        """Return the next batch for so many threads; a run takes so long (s), nan if not known."""
        worth = max(_BATCH, _HANDLING * threads)
        by_time = 1 if math.isnan(seconds) else int(worth / max(seconds, 1e-6))
        # Towards the end batches become smaller, so that all threads end together.
        fair = math.ceil(len(self._runs) / (AHEAD * threads))
        count = self._snapped(min(max(1, min(by_time, fair)), len(self._runs)))
        return [self._runs.popleft() for _ in range(count)]

    def _snapped(self, count: int) -> int:
        """A number of runs near `count` after which other jobs begin; `count` if there is none.

        Jobs that two batches share are drawn twice.
        """
        near = list(islice(self._runs, 3 * count // 2 + 1))
        whole = [i for i in range(1, len(near)) if near[i].draw != near[i - 1].draw]
        return whole[-1] if whole and 2 * whole[-1] >= count else count
