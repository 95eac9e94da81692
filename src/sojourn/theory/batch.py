"""Infinitely many servers with service times and limits of any law: batch M/G/infinity.

A request that came t seconds ago has each of its k servers busy with the same probability r(t)
and done with c(t), so the mean number of requests with j servers busy is
``m_j = lambda sum_k a_k integral C(k, j) r**j c**(k-j) dt``. The readings of `infinite` differ in
r and c only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from ..jit import compiled
from ._compound import CompoundPoisson
from ._lifetimes import Lifetime, TimeGrid, integrated, lifetime
from .infinite import InfiniteServers, check_reading
from .limits import LIMITS
from .widths import Width, width_probabilities

_NOTHING = 1e-20
_PIECE = 2e7
_TERMS = 2e7
"""Terms of the sum at one instant beyond which a run would take minutes."""


@compiled(
    "void(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[:, ::1])"
)
def _thin(
    widths: NDArray[np.int64], p: Floats, weight: Floats, busy: Floats, done: Floats, room: Floats
) -> None:
    """Add, to room[0, j], each weight times sum_k p_k C(k, j) busy**j done**(k-j).

    The terms of one k are built from their greatest outwards, and scaled to their known sum,
    (busy + done)**k: no factorials. ``room[1]`` is scratch.
    """
    total, term = room[0], room[1]
    for i in range(len(weight)):
        r, c = busy[i], done[i]
        if r <= 0.0 or weight[i] == 0.0:
            continue
        for which in range(len(widths)):
            k = widths[which]
            scale = weight[i] * p[which] * (r + c) ** k
            if scale == 0.0:
                continue
            if c <= 0.0:
                total[k] += scale
                continue
            mode = min(int((k + 1) * (r / (r + c))), k)
            term[mode] = 1.0
            mass = 1.0
            high = mode
            while high < k and term[high] > _NOTHING:
                term[high + 1] = term[high] * ((k - high) / (high + 1) * (r / c))
                high += 1
                mass += term[high]
            low = mode
            while low > 0 and term[low] > _NOTHING:
                term[low - 1] = term[low] * (low / (k - low + 1) * (c / r))
                low -= 1
                mass += term[low]
            for j in range(low, high + 1):
                total[j] += term[j] * (scale / mass)


def batch_infinite_servers(
    arrival_rate: float,
    service: Any,
    limit: Any,
    width: Width,
    *,
    limits: str = "each",
    siblings: str = "run-on",
    release: str = "independent",
) -> InfiniteServers:
    """Return the steady state of infinitely many servers with times and limits of any law.

    Parameters
    ----------
    arrival_rate : requests per second.
    service : time that a server needs: a frozen continuous distribution of SciPy (s), or a number
        of seconds that is always the same.
    limit : likewise, or None for no limit. A part that ends at its limit is completed.
    width, limits, siblings, release : as in `infinite_servers`.
    """
    lam = checks.positive(arrival_rate, "arrival_rate")
    check_reading(limits, siblings, release)
    x, z = lifetime(service, "service"), _limit(limit)
    p = width_probabilities(width)
    j = np.arange(1, len(p) + 1)
    if release == "concurrent":
        busy, _ = integrated(lambda grid: np.array([_mean_busy(grid, x, z)]), x, z)
        return InfiniteServers(CompoundPoisson(lam * busy[0] * j * p), _completed_part(x, z))
    widths = np.flatnonzero(p) + 1
    terms = np.sum(10 * np.sqrt(widths))
    if terms > _TERMS:
        raise OptionError(f"width: {len(widths)} widths up to {len(p)} are too many; group them")

    def groups(grid: TimeGrid) -> Floats:
        weight, busy, done = _parts(grid, x, z, limits, siblings)
        room = np.zeros((2, len(p) + 1))
        instants = [np.ravel(column) for column in (weight, busy, done)]
        # An interrupt is heard between two pieces.
        piece = max(int(_PIECE / terms), 1)
        for first in range(0, instants[0].size, piece):
            _thin(
                widths, p[widths - 1], *(column[first : first + piece] for column in instants), room
            )
        return np.asarray(j * room[0, 1:])

    loads, _ = integrated(groups, x, z)
    done = batch_completion_probability(service, limit, width, limits)
    return InfiniteServers(CompoundPoisson(lam * loads), done)


def batch_completion_probability(
    service: Any, limit: Any, width: Width, limits: str = "each"
) -> float:
    """Probability that a request is completed, for any laws [mminf2023, eqs. 35-37].

    Parameters
    ----------
    service, limit : as in `batch_infinite_servers`.
    width : servers per request; see `infinite_servers`.
    limits : ``each`` or ``shared``.
    """
    checks.choice(limits, LIMITS, "limits")
    x, z = lifetime(service, "service"), _limit(limit)
    p = width_probabilities(width)
    if limits == "each":
        return float(_pgf(p, np.array([_completed_part(x, z)]))[0])
    if x.law is None:
        return _completed_part(x, z)
    if z.law is None:
        return float(_pgf(p, x.cdf(np.array([z.atom])))[0])
    ends, grid = integrated(
        lambda grid: np.array([grid.integral(z.density(grid.time) * _pgf(p, x.cdf(grid.time)))]),
        x,
        z,
    )
    return min(float(ends[0] + z.sf(np.array([grid.end]))[0]), 1.0)


def _limit(value: Any) -> Lifetime:
    return Lifetime() if value is None else lifetime(value, "limit")


def _mean_busy(grid: TimeGrid, x: Lifetime, z: Lifetime) -> float:
    """E[min(X, Z)], seconds."""
    return grid.integral(x.sf(grid.time) * z.sf(grid.time))


def _parts(
    grid: TimeGrid, x: Lifetime, z: Lifetime, limits: str, siblings: str
) -> tuple[Floats, Floats, Floats]:
    """Weights, and the probabilities that a server is busy, or out of the way, at each instant."""
    if limits == "shared":
        return grid.weight * z.sf(grid.time), x.sf(grid.time), x.cdf(grid.time)
    busy = x.sf(grid.time) * z.sf(grid.time)
    if siblings == "run-on":
        return grid.weight, busy, 1 - busy
    return grid.weight, busy, _completed_by(grid, x, z)


def _completed_by(grid: TimeGrid, x: Lifetime, z: Lifetime) -> Floats:
    """P{X <= t, X <= Z} at the instants t of the grid."""
    if x.law is None:
        return x.cdf(grid.time) * _completed_part(x, z)
    if z.law is None:
        return x.cdf(np.minimum(grid.time, z.atom))
    return grid.running(x.density(grid.time) * z.sf(grid.time))


def _completed_part(x: Lifetime, z: Lifetime) -> float:
    """p = P{X <= Z} [mminf2023, eqs. 36, 39]."""
    if z.law is None:
        return float(x.cdf(np.array([z.atom]))[0]) if z.atom < np.inf else 1.0
    if x.law is None:
        return float(z.sf(np.array([x.atom]))[0])
    p, _ = integrated(
        lambda grid: np.array([grid.integral(x.density(grid.time) * z.sf(grid.time))]), x, z
    )
    return min(float(p[0]), 1.0)


def _pgf(p: Floats, z: Floats) -> Floats:
    """Q(z) = sum_k p_k z**k [mminf2023, eq. 18]."""
    widths = np.flatnonzero(p) + 1
    values = np.zeros_like(z)
    for k in widths:
        values += p[k - 1] * z**k
    return values
