"""Which server ran which job: a first-fit assignment made after the run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError

__all__ = ["Pieces", "assign_servers"]


class Pieces(NamedTuple):
    """Blocks of neighbouring servers held by jobs.

    Attributes
    ----------
    job : row of the job in the arrays given, counted from 0.
    first : lowest server of the block, counted from 0.
    procs : servers in the block.
    """

    job: NDArray[np.int64]
    first: NDArray[np.int64]
    procs: NDArray[np.int64]


def assign_servers(start: ArrayLike, end: ArrayLike, procs: ArrayLike, servers: int) -> Pieces:
    """Name the servers that each job of a schedule occupied.

    On a homogeneous cluster any naming that keeps jobs apart is a true picture of the run. Here
    a job takes the lowest gap that holds it whole, else the lowest free servers in several pieces.
    At one instant servers are released before they are taken, and jobs take them in row order.

    Parameters
    ----------
    start, end : when each job held its servers (s). A job that never started (NaN), or held them
        for no time, gets no piece.
    procs : servers each job held.
    servers : servers of the cluster.

    Returns
    -------
    Pieces
        One or more per job, in the order of starts; the pieces of a job stand together.

    Raises
    ------
    OptionError
        When the jobs need more servers at once than there are.
    """
    from ._kernels import NO_ROOM, first_fit

    begins = np.ascontiguousarray(start, dtype=np.float64)
    ends = np.ascontiguousarray(end, dtype=np.float64)
    width = np.ascontiguousarray(procs, dtype=np.int64)
    if not begins.shape == ends.shape == width.shape:
        raise OptionError("start, end and procs differ in length; give one value of each per job")
    if servers < 1:
        raise OptionError(f"servers is {servers}; a cluster has at least 1")
    held = np.flatnonzero((ends > begins) & (width > 0))
    by_start = held[np.argsort(begins[held], kind="stable")]
    by_end = held[np.argsort(ends[held], kind="stable")]
    orders = np.stack((by_start, by_end))
    spans = np.zeros((2, width.size), dtype=np.int64)
    # A gap lies between two pieces, and each server is in one: no more room than jobs can fill.
    room = 4 * held.size + min(int(servers), 4 * held.size) + 1
    while True:
        pieces = np.empty((3, room), dtype=np.int64)
        gaps = np.empty((2, min(int(servers), room) + 1), dtype=np.int64)
        made, stuck = first_fit(begins, ends, width, orders, int(servers), gaps, spans, pieces)
        if stuck != NO_ROOM:
            break
        room *= 4
    if stuck >= 0:
        raise OptionError(
            f"job in row {stuck}, field 'procs': at {begins[stuck]:.15g} s its {width[stuck]} "
            f"servers are not free among {servers}; check the number of servers, and give "
            "the segments of service if jobs were preempted"
        )
    return Pieces(*pieces[:, :made].copy())
