"""Finite servers: Erlang's formulas, and the loss system of Kaufman and Roberts for widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats, Ints
from ..errors import OptionError
from ..jit import compiled
from ._compound import occupancies

_HEAVIEST = 1e100
"""Load up to which the recursion cannot overflow between two looks at its scale."""


@compiled("float64(int64, float64)")
def _blocking(servers: int, load: float) -> float:
    """Erlang's B: B(n) = a B(n-1) / (n + a B(n-1)) from B(0) = 1."""
    lost = 1.0
    for n in range(1, servers + 1):
        lost = load * lost / (n + load * lost)
    return lost


@dataclass(frozen=True, eq=False)
class LossSystem:
    """Servers shared by classes of requests; a request that finds too few free ones is lost.

    Parameters
    ----------
    servers : how many there are.
    loads, widths : as given to `kaufman_roberts`.
    distribution : P{n servers busy}, n = 0, ..., servers.
    blocking : by class, the share of requests that are lost.
    carried : by class, the mean number of requests in service.
    """

    servers: int
    loads: Floats
    widths: Ints
    distribution: Floats
    blocking: Floats
    carried: Floats

    @property
    def mean(self) -> float:
        """Mean number of busy servers."""
        return float(np.dot(self.distribution, np.arange(self.servers + 1)))

    @property
    def utilisation(self) -> float:
        """Mean share of servers that are busy."""
        return self.mean / self.servers


def kaufman_roberts(servers: int, loads: ArrayLike, widths: ArrayLike) -> LossSystem:
    """Loss system of several classes: n q_n = sum over classes of a b q_{n-b} [kaufman1981].

    The service times of a class may have any law: only their mean matters.

    Parameters
    ----------
    servers : number of servers.
    loads : offered load a by class: arrival rate times mean service time.
    widths : servers b that a request of each class takes.
    """
    count = checks.servers(servers)
    a = np.atleast_1d(checks.numbers(loads, "loads"))
    given = np.atleast_1d(checks.numbers(widths, "widths"))
    if a.ndim != 1 or a.size == 0 or a.shape != given.shape:
        raise OptionError(f"{a.size} loads and {given.size} widths: give one of each per class")
    for load in a:
        _load(load, "loads")
    b = np.array([checks.servers(width, "widths") for width in given], dtype=np.int64)
    sizes, of_class = np.unique(b, return_inverse=True)
    by_size = np.bincount(of_class, weights=a * b, minlength=len(sizes)).astype(np.float64)
    kept = by_size > 0
    q = occupancies(count + 1, sizes[kept].astype(np.int64), by_size[kept])
    # A request of b is lost where more than servers - b are busy: always, if it is wider than
    # all. Both sums begin at their small end, for 1 - blocking has no digits left under overload.
    least = np.maximum(count - b + 1, 0)
    blocking = np.minimum(np.cumsum(q[::-1])[::-1], 1.0)[least]
    accepted = np.concatenate([[0.0], np.cumsum(q)])[least]
    return LossSystem(count, a, b, q, blocking, a * accepted)


def erlang_b(servers: int, load: float) -> float:
    """Probability that a request finds all servers busy and is lost (Erlang's B).

    Parameters
    ----------
    servers : number of servers.
    load : arrival rate times mean service time.
    """
    return float(_blocking(checks.servers(servers), _load(load, "load")))


def erlang_c(servers: int, load: float) -> float:
    """Probability that a request has to wait in M/M/s (Erlang's C).

    Parameters
    ----------
    servers : number of servers s.
    load : arrival rate times mean service time, below s.
    """
    count, a = checks.servers(servers), _load(load, "load")
    if not a < count:
        raise OptionError(
            f"load = {a:g} on {count} servers: the queue grows without bound; "
            "lower load, or add servers"
        )
    lost = float(_blocking(count, a))
    return lost / (1 - a / count * (1 - lost))


def multiserver_wait(arrival_rate: float, service_rate: float, servers: int) -> float:
    """Mean wait before service in M/M/s, seconds.

    Parameters
    ----------
    arrival_rate : requests per second.
    service_rate : 1 / mean service time (1/s).
    servers : number of servers s.
    """
    lam = checks.positive(arrival_rate, "arrival_rate")
    mu = checks.positive(service_rate, "service_rate")
    count = checks.servers(servers)
    checks.stable(lam / (count * mu), count * mu)
    return erlang_c(count, lam / mu) / (count * mu - lam)


def _load(value: float, name: str) -> float:
    load = checks.non_negative(value, name)
    if load > _HEAVIEST:
        raise OptionError(f"{name} = {load:g}: give at most {_HEAVIEST:g}")
    return load
