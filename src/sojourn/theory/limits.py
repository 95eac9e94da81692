"""Who finishes in time: requests under a dispatcher's time limit [mminf2023, eqs. 35-48].

A request takes a number of servers (its width), each for a time X, and is completed if no server
meets its limit Z. Readings of the print, by name (errata 4): ``limits="each"`` draws a limit for
each server, as P_serv of the paper does; ``"shared"`` one for the whole request.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..arrays import Floats
from ..errors import OptionError
from .widths import Geometric, Width, width_probabilities

LIMITS = ("each", "shared")

_NEVER = 1e300
"""A ratio of the rates of limit and service beyond which nothing is completed."""

_LEAST = 1e-300
"""The least probability that a limit is looked for."""


def completion_probability(
    service_rate: float, limit_rate: float, width: Width, limits: str = "each"
) -> float:
    """Probability P_serv that a request is completed [mminf2023, eqs. 37, 41].

    Parameters
    ----------
    service_rate : mu, 1 / mean time that a server needs (1/s).
    limit_rate : nu, 1 / mean limit (1/s); 0 for no limit.
    width : servers per request: a number, probabilities with p[k-1] = P{width = k}, `geometric`,
        or a frozen discrete distribution of SciPy on 1, 2, ...
    limits : ``each`` server has a limit of its own, or one is ``shared`` by the request.
    """
    mu = checks.positive(service_rate, "service_rate")
    nu = checks.non_negative(limit_rate, "limit_rate")
    return float(np.exp(_log_completion(min(nu / mu, _NEVER), _Requests(width, limits))))


def completion_curve(
    mean_limits: ArrayLike, mean_service: float, width: Width, limits: str = "each"
) -> Floats:
    """P_serv for each of several mean limits [mminf2023, eq. 43; Figs. 3 and 4].

    Parameters
    ----------
    mean_limits : mean limits z (s), 0 or more.
    mean_service : mean time x that a server needs (s).
    width, limits : as in `completion_probability`.
    """
    x = checks.positive(mean_service, "mean_service")
    requests = _Requests(width, limits)
    z = checks.numbers(mean_limits, "mean_limits")
    wrong = z[~(z >= 0)]
    if wrong.size:
        raise OptionError(f"mean_limits has {wrong[0]:g}: a limit is 0 s or more")
    curve = [
        np.exp(_log_completion(min(x / at, _NEVER), requests)) if at > 0 else 0.0
        for at in z.ravel().tolist()
    ]
    return np.array(curve).reshape(z.shape)


def critical_limit(target: float, mean_service: float, width: Width, limits: str = "each") -> float:
    """Mean limit (s) at which P_serv is the target: the inverse of (43) [mminf2023, eq. 45].

    Parameters
    ----------
    target : probability of completion to be reached, above 0 and below 1.
    mean_service : mean time that a server needs (s).
    width, limits : as in `completion_probability`.
    """
    goal = checks.probability(target, "target")
    if not _LEAST <= goal < 1:
        raise OptionError(f"target = {goal:g}: no mean limit gives this; choose 0 < target < 1")
    x = checks.positive(mean_service, "mean_service")
    requests = _Requests(width, limits)
    if requests.fixed and (requests.own_limits or requests.widest == 1):
        # p = P**(1/k), and 1 - p without loss where P is near 1.
        log_p = np.log(goal) / requests.widest
        return float(x * np.exp(log_p) / -np.expm1(log_p))
    if requests.law is not None:
        return x * goal / (1 - goal) / (1 - requests.law.a)

    from scipy.optimize import brentq

    def excess(log_ratio: float) -> float:
        log_completion = _log_completion(float(np.exp(log_ratio)), requests)
        if goal < 0.5:
            return float(log_completion - np.log(goal))
        return float(np.log(1 - goal) - np.log(-np.expm1(log_completion)))

    return float(x * np.exp(-brentq(excess, -700.0, 700.0, xtol=1e-14, rtol=1e-15)))


class _Requests:
    """Widths and the reading of limits, checked."""

    def __init__(self, width: Width, limits: str) -> None:
        self.own_limits = checks.choice(limits, LIMITS, "limits") == "each"
        self.law = width if self.own_limits and isinstance(width, Geometric) else None
        p = np.ones(1) if self.law is not None else width_probabilities(width)
        self.widest = len(p)
        self.widths = np.flatnonzero(p) + 1
        self.p = p[self.widths - 1]
        self.fixed = len(self.widths) == 1 and self.law is None


def _log_completion(ratio: float, requests: _Requests) -> float:
    """Logarithm of P_serv; `ratio` is nu / mu = x / z."""
    if requests.law is not None:
        # Q(1 / (1 + ratio)) of the geometric law [eq. 28].
        return float(-np.log1p(ratio / (1 - requests.law.a)))
    k = requests.widths
    if requests.own_limits:
        # Q(p) with p = mu / (mu + nu) [eqs. 40-43].
        log_all = -k * np.log1p(ratio)
    else:
        # All k done before the one limit: the last of i running ends first with i mu / (i mu + nu).
        log_all = -np.cumsum(np.log1p(ratio / np.arange(1, requests.widest + 1)))[k - 1]
    top = float(log_all.max())
    missed = float(np.dot(requests.p, -np.expm1(log_all)))
    if missed < 0.5:
        return float(np.log1p(-missed))
    return top + float(np.log(np.dot(requests.p, np.exp(log_all - top))))
