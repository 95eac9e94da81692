"""The power over time of equal servers that are only counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import RunError
from .. import formulas
from ._checks import check, check_epochs, check_stretches, own


def counted_steps(
    start: ArrayLike,
    stop: ArrayLike,
    procs: ArrayLike,
    servers: int,
    epochs: ArrayLike,
    busy_watts: ArrayLike,
    idle_watts: ArrayLike,
    *,
    until: float = -np.inf,
    gone: tuple[ArrayLike, ArrayLike] = ((), ()),
) -> tuple[Floats, Floats]:
    """Power over time of equal servers that are only counted [rumyantsev2018, eq. 11].

    Parameters
    ----------
    start, stop, procs : stretches of service, s, and the servers of each.
    servers : of the whole cluster.
    epochs : at which the rate changes, s; the first is where the bill begins.
    busy_watts, idle_watts : W of one server, busy and idle, from each epoch on.
    until : s; the steps go on to there if no stretch stops later.
    gone : instants (s), and how many servers are switched off from each on.

    Returns
    -------
    Instants (s), the last of them the last stop, and the W of the cluster from each on.
    """
    epoch = own(epochs, np.float64)
    busy_power, idle_power = own(busy_watts, np.float64), own(idle_watts, np.float64)
    for watts, what in ((busy_power, "busy watts"), (idle_power, "idle watts")):
        check_epochs(epoch, watts, what)
    begin, finish = own(start, np.float64), own(stop, np.float64)
    check_stretches(begin, finish, epoch)
    width = own(procs, np.int64)
    check(len(width) == len(begin), f"{len(begin)} starts but {len(width)} widths")
    last = finish.max(initial=max(epoch[0], until))
    left, number = own(gone[0], np.float64), own(gone[1], np.int64)
    seen = left[(left > epoch[0]) & (left < last)]
    instants = np.concatenate([epoch[epoch <= last], [last], seen, begin, finish])
    time, at = np.unique(instants, return_inverse=True)
    change = np.zeros(len(time), dtype=np.int64)
    np.add.at(change, at[len(at) - 2 * len(begin) :], np.concatenate([width, -width]))
    busy = np.cumsum(change).astype(np.float64)
    off = np.append(number, 0)[np.searchsorted(left, time, side="right") - 1]
    over = busy - (servers - off)
    if over.max() > 0:
        at = over.argmax()
        raise RunError(
            f"energy bill: {busy[at]:g} of {servers - off[at]} servers are in use at "
            f"{time[at]:g} s; please report this as a bug"
        )
    now = np.searchsorted(epoch, time, side="right") - 1
    return time, formulas.energy_rate(busy, busy_power[now], idle_power[now], servers - off)


def most_busy(start: ArrayLike, stop: ArrayLike, procs: ArrayLike) -> int:
    """Return how many servers are busy at once at the most.

    Parameters
    ----------
    start, stop, procs : stretches of service, s, and the servers of each.

    Examples
    --------
    >>> most_busy([0, 5, 10], [10, 12, 11], [3, 1, 2])
    4
    """
    begin, finish, width = np.asarray(start), np.asarray(stop), np.asarray(procs)
    by_start, by_stop = np.argsort(begin, kind="stable"), np.argsort(finish, kind="stable")
    left = np.concatenate([[0], np.cumsum(width[by_stop])])
    # Who stops at an instant has made room for who starts then.
    gone = left[np.searchsorted(finish[by_stop], begin[by_start], side="right")]
    return int((np.cumsum(width[by_start]) - gone).max(initial=0))
