"""Where a job goes on after a failure: at the end of its last finished dump.

A life of a job is what is before it when it comes into the queue: a restore, except at first, then
stretches of work that each end with a dump, and the last work. All of it counts as work.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined

COSTS = ("every", "dump_time", "restore_time")

CHECKPOINT = np.dtype(
    [(name, "f8") for name in (*COSTS, "restored")] + [("saved", "i8")], align=True
)
"""Of a job: work between dumps, work that a dump and a restore count as, the restore at the
beginning of its present life; dumps it can go back to."""


@inlined
def go_back(jobs, mark, j, done):
    """Job `j` is stopped after so much of its present life: its next one; what it keeps of this."""
    cycle = mark.every + mark.dump_time
    past = done - mark.restored
    dumps = np.int64(0)
    if past > 0.0:
        dumps = np.int64(np.floor(past / cycle))
        # The quotient is rounded.
        if dumps * cycle > past:
            dumps -= 1
        elif (dumps + 1) * cycle <= past:
            dumps += 1
    kept = dumps * cycle
    left = jobs.plan[j] - mark.restored - kept
    if dumps > 0 and left <= 0.0:
        left = mark.every
    work = jobs.work[j] - mark.restored - kept
    kept += min(done, mark.restored)
    mark.saved += dumps
    mark.restored = mark.restore_time if mark.saved > 0 else 0.0
    jobs.work[j] = mark.restored + work
    jobs.plan[j] = mark.restored + left
    return kept
