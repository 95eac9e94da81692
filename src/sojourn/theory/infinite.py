"""Servers without end, requests of several servers, and time limits [mminf2023].

Requests come as a Poisson stream; each takes a random number of servers at once. A server is
free when its part is done (after X) or when its limit strikes (after Z). The print leaves open
who else is struck then, so readings are chosen by name (errata 3, 4):

- ``limits="each"``: a limit for each server; ``"shared"``: one for the whole request.
- ``siblings="run-on"``: the others go on when one is struck; ``"killed-together"``: all stop.
- ``release="independent"``: each server is free when its own part is done; ``"concurrent"``:
  one time and one limit for the request, whose servers come free together.

The defaults are those of the paper. With a shared limit all siblings are struck at once, so
`siblings` changes nothing there; nor do `limits` and `siblings` if release is concurrent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from ._compound import CompoundPoisson, Count, NegativeBinomial, visits
from .limits import LIMITS, completion_probability
from .widths import Geometric, Width, width_probabilities

SIBLINGS = ("run-on", "killed-together")
RELEASES = ("independent", "concurrent")


@dataclass(frozen=True, eq=False)
class InfiniteServers:
    """The number N of busy servers in the steady state, and who is completed.

    Parameters
    ----------
    count : the law of N.
    completion_probability : P_serv, the probability that a request is completed [eq. 41].
    """

    count: Count
    completion_probability: float

    @property
    def mean(self) -> float:
        """Mean number of busy servers [eq. 34]."""
        return self.count.cumulants[0]

    @property
    def var(self) -> float:
        """Variance of the number of busy servers (errata 5)."""
        return self.count.cumulants[1]

    @property
    def skewness(self) -> float:
        """Third central moment over the cube of the standard deviation."""
        _, var, third = self.count.cumulants
        return float(third / var / np.sqrt(var))

    @cached_property
    def distribution(self) -> Floats:
        """p_0, p_1, ...: as far as 1e-18 of the mass; read-only."""
        p = self.count.probabilities()
        p.setflags(write=False)
        return p

    @overload
    def pmf(self, n: int) -> float: ...
    @overload
    def pmf(self, n: ArrayLike) -> float | Floats: ...
    def pmf(self, n: ArrayLike) -> float | Floats:
        """P{N = n} [eq. 9]; n may be an array."""
        return self._look_up(self.distribution, n, beyond=0.0)

    @overload
    def cdf(self, n: int) -> float: ...
    @overload
    def cdf(self, n: ArrayLike) -> float | Floats: ...
    def cdf(self, n: ArrayLike) -> float | Floats:
        """P{N <= n}; n may be an array."""
        return self._look_up(self._below, np.floor(n), beyond=1.0)

    def sf(self, n: ArrayLike) -> float | Floats:
        """P{N > n}, right to the last digits where it is small; n may be an array."""
        at = np.floor(np.asarray(n, dtype=np.float64))
        return self._look_up(self._above, at + 1, beyond=0.0, before=1.0)

    def quantile(self, q: float) -> int:
        """Return the least n with P{N <= n} >= q: so many servers are enough with probability q."""
        share = checks.probability(q, "q")
        if not 0 < share < 1:
            raise OptionError(f"q = {share:g}: no number of servers is enough; choose 0 < q < 1")
        if share < 0.5:
            return int(np.searchsorted(self._below, share))
        # From the far end, where 1 - q has digits that q has not.
        return int(np.count_nonzero(self._above > 1 - share)) - 1

    @overload
    def pgf(self, z: float) -> float: ...
    @overload
    def pgf(self, z: ArrayLike) -> float | Floats: ...
    def pgf(self, z: ArrayLike) -> float | Floats:
        """Generating function G(z) = E[z**N], |z| <= 1 [eqs. 13, 22]."""
        points = np.asarray(z, dtype=np.float64)
        if not np.all(np.abs(points) <= 1):
            raise OptionError("pgf: z must lie from -1 to 1")
        values = np.exp(self.count.log_pgf(points))
        return float(values) if values.ndim == 0 else values

    @cached_property
    def _below(self) -> Floats:
        """P{N <= n}."""
        return np.minimum(np.cumsum(self.distribution), 1.0)

    @cached_property
    def _above(self) -> Floats:
        """P{N >= n}, added from the small end."""
        return np.minimum(np.cumsum(self.distribution[::-1])[::-1], 1.0)

    @staticmethod
    def _look_up(table: Floats, n: ArrayLike, beyond: float, before: float = 0.0) -> float | Floats:
        at = np.asarray(n)
        if np.isnan(at).any():
            raise OptionError("n is not a number: give a number of servers")
        inside = (at >= 0) & (at < len(table)) & (at == np.floor(at))
        values = np.where(at < 0, before, np.where(at >= len(table), beyond, 0.0))
        values[inside] = table[at[inside].astype(np.int64)]
        return float(values) if values.ndim == 0 else values


def infinite_servers(
    arrival_rate: float,
    service_rate: float,
    limit_rate: float,
    width: Width,
    *,
    limits: str = "each",
    siblings: str = "run-on",
    release: str = "independent",
) -> InfiniteServers:
    """Return the steady state of infinitely many servers with exponential times and limits.

    For other laws see `batch_infinite_servers`.

    Parameters
    ----------
    arrival_rate : lambda, requests per second.
    service_rate : mu, 1 / mean time that a server needs (1/s).
    limit_rate : nu, 1 / mean limit (1/s); 0 for no limit.
    width : servers per request: a number, probabilities with p[k-1] = P{width = k}, `geometric`,
        or a frozen discrete distribution of SciPy on 1, 2, ...
    limits : ``each`` or ``shared``.
    siblings : ``run-on`` or ``killed-together``.
    release : ``independent`` or ``concurrent``.
    """
    lam = checks.positive(arrival_rate, "arrival_rate")
    mu = checks.positive(service_rate, "service_rate")
    nu = checks.non_negative(limit_rate, "limit_rate")
    check_reading(limits, siblings, release)
    if release == "concurrent":
        p = width_probabilities(width)
        loads = np.arange(1, len(p) + 1) * p * (lam / (mu + nu))
        return InfiniteServers(CompoundPoisson(loads), completion_probability(mu, nu, 1))
    done = completion_probability(mu, nu, width, limits)
    if limits == "shared":
        p = width_probabilities(width)
        j = np.arange(1, len(p) + 1)
        leaving = j * mu + nu
        loads = lam * visits(p, j * mu / leaving) * (j / leaving)
        return InfiniteServers(CompoundPoisson(loads), done)
    # A server is busy for min(X, Z); of a request that is killed together j are followed by
    # j - 1 only if it was a completion.
    passing = 1.0 if siblings == "run-on" else mu / (mu + nu)
    load = lam / (mu + nu)
    if isinstance(width, Geometric):
        a = width.a
        return InfiniteServers(NegativeBinomial(load * (1 - a) / (1 - a * passing), a), done)
    p = width_probabilities(width)
    loads = load * visits(p, np.full(len(p), passing))
    return InfiniteServers(CompoundPoisson(loads), done)


def check_reading(limits: str, siblings: str, release: str) -> None:
    """Refuse names that are not among the readings."""
    checks.choice(limits, LIMITS, "limits")
    checks.choice(siblings, SIBLINGS, "siblings")
    checks.choice(release, RELEASES, "release")
