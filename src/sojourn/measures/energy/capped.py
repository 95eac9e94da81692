"""Power beside its cap: how close it comes, and for how long it is above."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ._checks import check, own

_TOLERANCE = 1e-9


class BesideCap(NamedTuple):
    """The most W that are drawn for any time at all, and how the cap was kept.

    `exceeded` is for how many seconds the power is above the cap, `excess` by how many W at the
    most; what lies within 1e-9 of the cap is not above it.
    """

    peak: float
    exceeded: float
    excess: float


def beside_cap(
    time: ArrayLike, watts: ArrayLike, cap_time: ArrayLike, cap_watts: ArrayLike
) -> BesideCap:
    """Walk a trajectory of power beside a cap.

    Parameters
    ----------
    time, watts : instants (s), and the W from each on; at the last one it ends.
    cap_time, cap_watts : likewise of the cap, which there is none of before its first time.

    Examples
    --------
    >>> beside_cap([0, 10, 20], [5.0, 9.0, 0.0], [-np.inf, 15], [10.0, 8.0])
    BesideCap(peak=9.0, exceeded=5.0, excess=1.0)
    """
    at, power = own(time, np.float64), own(watts, np.float64)
    since, most = own(cap_time, np.float64), own(cap_watts, np.float64)
    check(len(at) == len(power), f"{len(at)} instants but {len(power)} powers")
    check(len(since) == len(most) > 0, f"{len(since)} times but {len(most)} watts of a cap")
    if len(at) < 2:
        return BesideCap(0.0, 0.0, 0.0)
    inside = since[(since > at[0]) & (since < at[-1])]
    lasts, drawn = np.diff(at), power[:-1]
    if len(inside) or not (lasts > 0).all():
        every = np.unique(np.concatenate([at, inside]))
        lasts = np.diff(every)
        drawn = power[np.searchsorted(at, every[:-1], side="right") - 1]
    else:
        every = at
    peak = float(drawn.max(initial=0.0))
    if len(since) == 1 and since[0] <= at[0] and peak <= most[0]:
        return BesideCap(peak, 0.0, 0.0)
    cap = np.append(most, np.inf)[np.searchsorted(since, every[:-1], side="right") - 1]
    over = drawn - cap
    is_over = over > _TOLERANCE * np.maximum(np.abs(drawn), 1.0)
    return BesideCap(peak, float(lasts[is_over].sum()), float(over[is_over].max(initial=0.0)))


def stretch_steps(
    start: ArrayLike, stop: ArrayLike, watts: ArrayLike, first: float, last: float, idle: float = 0
) -> tuple[Floats, Floats]:
    """Return instants (s) and the W from each on of stretches that add so many W to idle power."""
    begin, end, more = (own(column, np.float64) for column in (start, stop, watts))
    time, at = np.unique(np.concatenate([[first, last], begin, end]), return_inverse=True)
    change = np.zeros(len(time))
    np.add.at(change, at[2 : 2 + len(begin)], more)
    np.add.at(change, at[2 + len(begin) :], -more)
    return time, idle + np.cumsum(change)
