"""Times of any law, and integrals over time that meet their kinks and tails.

A panel ends at every quantile of either time, so that narrow laws, atoms and long tails are all
seen; inside a panel the logarithm of time is integrated by Gauss and Legendre's rule, and panels
are halved until the result stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import checks
from ..arrays import Floats
from ..errors import OptionError

_NODES = 20
_HALVINGS = 6
_CLOSE = 1e-11
_TAIL = 1e-17
_LEVELS = np.concatenate([10.0 ** np.arange(-18, -1), [0.03, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5]])


@dataclass(frozen=True)
class Lifetime:
    """A time: with a law, always the same, or without end."""

    law: Any = None  # frozen continuous distribution of SciPy, in seconds; None for an atom
    atom: float = float("inf")  # the one value that the time has without a law (s)

    def sf(self, t: Floats) -> Floats:
        """P{T > t}."""
        if self.law is None:
            return np.where(t < self.atom, 1.0, 0.0)
        return np.asarray(self.law.sf(t), dtype=np.float64)

    def cdf(self, t: Floats) -> Floats:
        """P{T <= t}."""
        if self.law is None:
            return np.where(t < self.atom, 0.0, 1.0)
        return np.asarray(self.law.cdf(t), dtype=np.float64)

    def density(self, t: Floats) -> Floats:
        """Density of T at t (1/s), without its atom."""
        if self.law is None:
            return np.zeros_like(t)
        return np.asarray(self.law.pdf(t), dtype=np.float64)

    def breaks(self) -> Floats:
        """Instants between which the law is smooth."""
        if self.law is None:
            return np.array([self.atom])
        places = [self.law.ppf(_LEVELS), self.law.isf(_LEVELS), self.law.support()]
        return np.concatenate(places).astype(np.float64)


def lifetime(value: Any, name: str) -> Lifetime:
    """Return a time of seconds or a continuous distribution, which messages call by `name`."""
    if not hasattr(value, "pdf") or not hasattr(value, "isf"):
        if hasattr(value, "pmf"):
            raise OptionError(f"{name}: a discrete law; give a continuous one, or seconds")
        return Lifetime(atom=checks.positive(value, name))
    least = float(value.support()[0])
    if not least >= 0:
        raise OptionError(f"{name}: the law starts at {least:g}; times are not negative")
    return Lifetime(law=value)


@cache
def _rule() -> tuple[Floats, Floats, Floats]:
    """Nodes and weights on [-1, 1]; and the matrix that integrates from -1 to each node."""
    from numpy.polynomial import legendre

    x, w = legendre.leggauss(_NODES)
    basis = legendre.legvander(x, _NODES)
    m = np.arange(1, _NODES)
    upto = np.empty((_NODES, _NODES))
    upto[:, 0] = x + 1
    upto[:, 1:] = (basis[:, 2:] - basis[:, : _NODES - 1]) / (2 * m + 1)
    onto = (np.arange(_NODES) + 0.5)[:, None] * basis[:, :_NODES].T * w
    return x, w, upto @ onto


class TimeGrid:
    """Instants and weights to integrate over the time that a server is busy, min(X, Z)."""

    def __init__(self, service: Lifetime, limit: Lifetime, halvings: int = 0) -> None:
        edges = _edges(service, limit)
        cuts = np.linspace(0, 1, 2**halvings + 1)[:-1]
        first = np.append(edges[0] * cuts, edges[0])
        logs = np.log(edges)
        steps = np.diff(logs)
        later = np.append((logs[:-1, None] + steps[:, None] * cuts).ravel(), logs[-1])
        x, w, upto = _rule()
        half = np.diff(first)[:, None] / 2
        t = first[:-1, None] + half * (1 + x)
        half_log = np.diff(later)[:, None] / 2
        t_log = np.exp(later[:-1, None] + half_log * (1 + x))
        self.time = np.vstack([t, t_log])
        self._slope = np.vstack([half + 0 * x, half_log * t_log])
        self._upto = upto
        self.weight = self._slope * w
        self.end = float(edges[-1])

    def integral(self, values: Floats) -> float:
        """Integral of values at the instants."""
        return float(np.sum(self.weight * values))

    def running(self, values: Floats) -> Floats:
        """Integral of values from 0 up to each instant."""
        inside = (self._slope * values) @ self._upto.T
        panels = np.sum(self.weight * values, axis=1)
        return np.asarray(inside + (np.cumsum(panels) - panels)[:, None])


def _edges(service: Lifetime, limit: Lifetime) -> Floats:
    """Ends of panels above 0, up to where what is left of the mean of min(X, Z) is nothing."""
    breaks = np.concatenate([service.breaks(), limit.breaks()])
    edges = np.unique(breaks[np.isfinite(breaks) & (breaks > 0)])
    left = edges * service.sf(edges) * limit.sf(edges)
    enough = _TAIL * left.max()
    gone = np.flatnonzero(left[left.argmax() :] <= enough)
    if gone.size:
        return np.asarray(edges[: left.argmax() + gone[0] + 1])
    more = [edges[-1]]
    while True:
        more.append(8 * more[-1])
        at = np.array(more[-1:])
        if at[0] > 1e280:
            raise OptionError(
                "service and limit: the mean time that a server is busy is infinite or nearly so; "
                "give a limit"
            )
        if (at * service.sf(at) * limit.sf(at))[0] <= enough:
            return np.concatenate([edges, more[1:]])


def integrated(
    compute: Callable[[TimeGrid], Floats], service: Lifetime, limit: Lifetime
) -> tuple[Floats, TimeGrid]:
    """Return integrals on panels so fine that halving them once more changes nothing."""
    grid = TimeGrid(service, limit)
    before = compute(grid)
    for halvings in range(1, _HALVINGS + 1):
        grid = TimeGrid(service, limit, halvings)
        now = compute(grid)
        if np.abs(now - before).max() <= _CLOSE * np.abs(now).max():
            return now, grid
        before = now
    raise OptionError(
        "service and limit: the integrals over these laws do not settle; give smoother ones"
    )
