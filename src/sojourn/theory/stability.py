"""The stability constant C of FCFS with simultaneous service [rumyantsev2014].

Jobs of random width N wait in one queue for s servers. C = E[1/K], where K is the number of jobs,
in order of arrival, that fit at once. With exponential service times the queue is stable if and
only if rho = lambda C E[S] < 1 (3). For other service times that is an approximation (errata 4):
see `sojourn.capacity` for what simulation says.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from ._groups import count_partitions, group_sizes, over_partitions, sizes_to_depth
from ._series import curve, logarithm, tails
from .estimate import Estimate

Method = Literal["series", "partitions", "depth", "monte-carlo"]

_PARTITIONS = 1e9
"""Partitions that are enumerated at most: some ten seconds."""
_COUNTED = 100_000_000
_DRAWS = 1e9
"""Jobs that are drawn at most: some ten seconds."""
_SERVERS = 10_000_000


class Bounds(NamedTuple):
    """Two numbers that the true one lies between."""

    low: float
    high: float


def stability_constant(
    p: ArrayLike,
    method: Method = "series",
    *,
    depth: int = 3,
    samples: int = 100_000,
    seed: int = 0,
) -> float:
    """Return C for s = len(p) servers [rumyantsev2014, eq. 4].

    Parameters
    ----------
    p : p[k-1] = P{N = k}, the probability that a job needs k servers.
    method : ``"series"``: exact, O(s * support), relative error some 1e-15 / C at most
        (errata 2). ``"partitions"``: exact, the sum (9) over all partitions, for s up to about
        90. ``"depth"``: only groups of at most `depth` jobs, a lower bound. ``"monte-carlo"``:
        the mean (10) over groups drawn from p (errata 3); `estimate_stability_constant` gives
        its confidence interval too.
    depth : the largest group looked at by ``"depth"``.
    samples, seed : number of groups, and seed, of ``"monte-carlo"``.

    Returns
    -------
    A number from 1/s (all jobs narrow) to 1 (never two at once).
    """
    shares = _shares(p)
    if method == "series":
        return constant(shares, len(shares))
    if method == "partitions":
        return _by_partitions(shares)
    if method == "depth":
        return _to_depth(shares, depth)[0]
    if method == "monte-carlo":
        return estimate_stability_constant(p, samples, seed).value
    raise OptionError(f"method = {method!r}: use 'series', 'partitions', 'depth' or 'monte-carlo'")


def estimate_stability_constant(
    p: ArrayLike, samples: int = 100_000, seed: int = 0, confidence: float = 0.95
) -> Estimate:
    """Estimate C by drawing groups of jobs [rumyantsev2014, eq. 10 and errata 3].

    Parameters
    ----------
    p : p[k-1] = P{N = k}.
    samples : number of groups; each draws about s / E[N] jobs.
    seed : seed of the random numbers.
    confidence : of the interval, which is that of a normal mean.
    """
    shares = _shares(p)
    groups = checks.servers(samples, "samples")
    if groups < 2:
        raise OptionError("samples = 1: an interval needs at least 2")
    level = checks.probability(confidence, "confidence")
    if not 0 < level < 1:
        raise OptionError(f"confidence = {level:g}: give a number between 0 and 1, as 0.95")
    draws = groups * (len(shares) / _mean(shares) + 1)
    if draws > _DRAWS:
        raise OptionError(
            f"samples = {samples}: would draw some {draws:.1g} jobs; take fewer, or the exact "
            "method 'series'"
        )
    widths, chances = _support(shares)
    sizes = group_sizes(widths, chances, len(shares), groups, checks.generator(seed))
    inverse = 1 / sizes
    value = min(max(float(inverse.mean()), 1 / len(shares)), 1.0)
    half = NormalDist().inv_cdf((1 + level) / 2) * float(inverse.std(ddof=1)) / math.sqrt(groups)
    return Estimate(value, max(value - half, 1 / len(shares)), min(value + half, 1.0), level)


def stability_bounds(p: ArrayLike, depth: int = 3) -> Bounds:
    """Bounds on C from groups of at most `depth` jobs, O(depth * s * support).

    Larger groups, of which only the probability is known, have more than `depth` jobs and at
    most as many as the narrowest ones that fit.

    Parameters
    ----------
    p : p[k-1] = P{N = k}, s = len(p).
    depth : the largest group looked at; from s on both bounds are C.
    """
    shares = _shares(p)
    known, more, deepest = _to_depth(shares, depth)
    most = len(shares) // (int(np.flatnonzero(shares)[0]) + 1)
    if deepest >= most:
        return Bounds(known, known)
    return Bounds(known + more / most, known + more / (deepest + 1))


def stability_constants(p: ArrayLike, servers: int) -> Floats:
    """C of every number of servers from len(p) to `servers`, for the same jobs.

    Parameters
    ----------
    p : p[k-1] = P{N = k}.
    servers : the largest number of servers.

    Returns
    -------
    Element i is C for len(p) + i servers; it never grows with i.
    """
    shares = _shares(p)
    most = _enough(servers, len(shares))
    return curve(logarithm(shares, most), tails(shares))


def constant(p: Floats, servers: int) -> float:
    """C for any number of servers from len(p) on; `p` has been checked and sums to 1."""
    return _at(logarithm(p, servers), tails(p), servers)


def stability_load(arrival_rate: float, mean_service: float, p: ArrayLike) -> float:
    """Return rho = lambda C E[S] [rumyantsev2014, eq. 3]: stable if and only if below 1.

    Exact for exponential service times (errata 4).

    Parameters
    ----------
    arrival_rate : lambda, jobs per second.
    mean_service : E[S] in seconds.
    p : p[k-1] = P{N = k}, s = len(p).
    """
    rate = checks.non_negative(arrival_rate, "arrival_rate")
    return rate * checks.positive(mean_service, "mean_service") * stability_constant(p)


def max_arrival_rate(p: ArrayLike, mean_service: float) -> float:
    """Return the arrival rate (1/s) at which rho = 1 [rumyantsev2014, eq. 3].

    Parameters
    ----------
    p : p[k-1] = P{N = k}, s = len(p).
    mean_service : E[S] in seconds.
    """
    return 1 / (checks.positive(mean_service, "mean_service") * stability_constant(p))


def smallest_stable(arrival_rate: float, mean_service: float, p: ArrayLike) -> int:
    """Return the smallest number of servers that hold the widest job and keep rho below 1.

    Parameters
    ----------
    arrival_rate : lambda, jobs per second.
    mean_service : E[S] in seconds.
    p : p[k-1] = P{N = k}, widths of the jobs whatever the number of servers.
    """
    rate = checks.non_negative(arrival_rate, "arrival_rate")
    offered = rate * checks.positive(mean_service, "mean_service")
    shares = _shares(p)
    shares = shares[: np.flatnonzero(shares)[-1] + 1]
    # Servers cannot be more than busy, so s > lambda E[S] E[N]; K grows with s, so C falls with it.
    work = offered * _mean(shares)
    if work >= _SERVERS:
        raise OptionError(
            f"arrival_rate = {rate:g}, mean_service = {mean_service:g}: jobs keep {work:.3g} "
            "servers busy; look at the units, 1/s and s"
        )
    tail = tails(shares)
    low = high = max(len(shares), math.floor(work))
    step = len(shares)
    terms = logarithm(shares, high)
    while offered * _at(terms, tail, high) >= 1:
        low, high, step = high + 1, high + step, 2 * step
        terms = logarithm(shares, high)
    return low + bisect_left(
        range(low, high), True, key=lambda servers: offered * _at(terms, tail, servers) < 1
    )


def _at(terms: Floats, tail: Floats, servers: int) -> float:
    """Sum of l_n P{N > s-n} (errata 2); rounding never leads out of [1/s, 1]."""
    ratio = float(np.dot(terms[servers + 1 - len(tail) : servers + 1], tail[::-1]))
    return min(max(ratio, 1 / servers), 1.0)


def _by_partitions(shares: Floats) -> float:
    servers = len(shares)
    widths, chances = _support(shares)
    whole = servers * len(widths) <= _COUNTED
    count = count_partitions(widths, servers, math.inf if whole else _PARTITIONS)
    if count > _PARTITIONS:
        raise OptionError(
            f"method 'partitions': s = {servers} has {'' if whole else 'more than '}{count:.3g} "
            "partitions into these widths; use 'series', which is exact too"
        )
    return over_partitions(widths, chances, np.append(tails(shares), 0.0), servers)


def _to_depth(shares: Floats, depth: int) -> tuple[float, float, int]:
    """Sum of P{K = i} / i up to a depth, P{K > depth}, and the depth looked at."""
    deepest = min(checks.servers(depth, "depth"), len(shares))
    widths, chances = _support(shares)
    tail = np.append(tails(shares), 0.0)
    equal, more = sizes_to_depth(widths, chances, tail, len(shares), deepest)
    return float(np.dot(equal, 1 / np.arange(1, deepest + 1))), more, deepest


def _shares(p: ArrayLike) -> Floats:
    given = checks.probabilities(p)
    shares: Floats = given / given.sum()
    return shares


def _support(shares: Floats) -> tuple[NDArray[np.int64], Floats]:
    widths = np.flatnonzero(shares) + 1
    return widths, shares[widths - 1]


def _mean(shares: Floats) -> float:
    return float(np.dot(np.arange(1, len(shares) + 1), shares))


def _enough(servers: int, widest: int) -> int:
    most = checks.servers(servers)
    if most < widest:
        raise OptionError(f"servers = {most}: p has widths to {widest}; give at least as many")
    return most
