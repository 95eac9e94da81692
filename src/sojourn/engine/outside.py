"""External events: what users, jobs and machines do to a run, and what became of the jobs."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from .instants import KERNEL, NAMED_KERNEL

__all__ = [
    "NAMED_OUTSIDE_KERNEL",
    "OUTSIDE_KERNEL",
    "Outside",
    "enlarge_losses",
    "make_outside",
]

# Rows of Outside.event: what happens, and to which job, node or number of processors.
KIND, ABOUT = range(2)
# Kinds: a job is withdrawn by hand, or struck by a failure of one of its nodes; processors go down
# and up; the manager stops and goes on; a reservation ends, so that there is something to look at.
WITHDRAW, STRIKE, DOWN, UP, STOP, RESUME, LOOK = range(7)
# Rows of Outside.reserved (s).
ANNOUNCED, BEGINS, ENDS = range(3)
# Rows of Outside.job: when it left the system (s), the work clock at its start, and its work done.
LEFT, BEGAN, WORKED = range(3)
# Rows of Outside.fate, and what a fate may be; nobody is left undecided but those who wait for
# ever.
FATE, RESTARTS = range(2)
UNDECIDED, COMPLETED, KILLED, CANCELLED = range(4)
# Rows of Outside.lost and Outside.lost_what: attempts that came to nothing.
LOST_START, LOST_STOP, LOST_WORK, LOST_SLOWNESS = range(4)
LOST_JOB, LOST_HELD, LOST_ROW, LOST_ROWS = range(4)
# Outside.number
NEXT, GONE, STOPPED, LOSSES, REQUEUE, IN_ORDER, STALE, SEEN = range(8)


class Outside(NamedTuple):
    """External events in their order, reservations, and what became of the jobs.

    `what` is the processors of a reservation, or on named nodes its node.
    """

    time: np.ndarray
    event: np.ndarray
    reserved: np.ndarray
    what: np.ndarray
    job: np.ndarray
    fate: np.ndarray
    lost: np.ndarray
    lost_what: np.ndarray
    number: np.ndarray


def make_outside(
    time: np.ndarray,
    event: np.ndarray,
    reserved: np.ndarray,
    what: np.ndarray,
    jobs: int,
    *,
    requeue: bool,
    in_order: bool,
) -> Outside:
    """Return the events of a run before it begins.

    Parameters
    ----------
    time, event, reserved, what : see `Outside`; events in their order.
    jobs : how many there are.
    requeue : whether a job whose node fails waits again; else it is killed.
    in_order : whether nobody may pass a job that cannot start.
    """
    number = np.zeros(8, dtype=np.int64)
    number[REQUEUE], number[IN_ORDER] = requeue, in_order
    return Outside(
        time=time,
        event=event,
        reserved=reserved,
        what=what,
        job=np.full((3, jobs), np.nan),
        fate=np.zeros((2, jobs), dtype=np.int64),
        lost=np.zeros((4, 64)),
        lost_what=np.zeros((4, 64), dtype=np.int64),
        number=number,
    )


def enlarge_losses(outside: Outside, running: int) -> Outside:
    """Return the same with room for as many more lost attempts as jobs can run."""
    used = int(outside.number[LOSSES])
    if used + running <= outside.lost.shape[1]:
        return outside
    lost = np.concatenate([outside.lost, np.zeros((4, used + running))], axis=1)
    what = np.zeros((4, lost.shape[1]), dtype=np.int64)
    what[:, :used] = outside.lost_what[:, :used]
    return outside._replace(lost=lost, lost_what=what)


OUTSIDE = numba.typeof(
    make_outside(
        np.zeros(0),
        np.zeros((2, 0), dtype=np.int64),
        np.zeros((3, 0)),
        np.zeros(0, dtype=np.int64),
        0,
        requeue=False,
        in_order=False,
    )
)
# As the kernels without external events, with these after the state (and the nodes).
OUTSIDE_KERNEL = types.int64(KERNEL.args[0], OUTSIDE, *KERNEL.args[1:])
NAMED_OUTSIDE_KERNEL = types.int64(*NAMED_KERNEL.args[:2], OUTSIDE, *NAMED_KERNEL.args[2:])
