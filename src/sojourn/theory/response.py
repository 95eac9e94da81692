"""Mean waits of FCFS systems with simultaneous service, near saturation and below it.

Near saturation the system behaves as one server whose rate follows the saturated system, and the
mean response time is (1 + Delta) / X / (1 - rho) up to a constant that does not grow [grosof2023]:
X is the largest throughput, Delta the relative completions. Below it not all jobs wait; how many
do is taken from M/M/m, where m is how many jobs of one width would fill the servers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import choice, non_negative, positive, probability, stable
from .saturated import Saturated, saturated_system

_METHODS = ("interpolated", "reset-marc")


@dataclass(frozen=True)
class Response:
    """Approximate waits.

    Parameters
    ----------
    arrival_rate : jobs per second.
    mean_service : mean service time (s).
    saturated : what the system does when it never lacks jobs.
    arrival_dispersion : variance over mean of the number of arrivals; 1 for a Poisson stream.
    method : ``interpolated`` or ``reset-marc``.
    """

    arrival_rate: float
    mean_service: float
    saturated: Saturated
    arrival_dispersion: float = 1.0
    method: str = "interpolated"

    def __post_init__(self) -> None:
        choice(self.method, _METHODS, "method")
        stable(self.load, self.saturated.throughput)

    @property
    def load(self) -> float:
        """Rho: the arrival rate over the largest throughput."""
        return self.arrival_rate / self.saturated.throughput

    @property
    def mean_wait_of_delayed(self) -> float:
        """Mean wait (s) of the jobs that wait at all: their waits are nearly exponential."""
        # (I_a + I_s) / 2 is 1 + Delta for Poisson arrivals.
        spread = (self.arrival_dispersion + self.saturated.dispersion) / 2
        return spread / self.saturated.throughput / (1 - self.load)

    @property
    def delay_probability(self) -> float:
        """Probability of having to wait; near saturation 1."""
        if self.method == "reset-marc":
            return 1.0
        # The exponent is Sakasegawa's for M/M/m [sakasegawa1977].
        servers = max(self.saturated.alike, 1.0)
        return float(self.load ** (np.sqrt(2 * (servers + 1)) - 1))

    @property
    def mean_wait(self) -> float:
        """Mean wait of all jobs (s)."""
        if self.method == "reset-marc":
            return max(self.mean_response - self.mean_service, 0.0)
        return self.delay_probability * self.mean_wait_of_delayed

    @property
    def mean_response(self) -> float:
        """Mean time from arrival to departure (s)."""
        if self.method == "reset-marc":
            return self.mean_wait_of_delayed
        return self.mean_wait + self.mean_service

    def wait_quantile(self, q: float) -> float:
        """Wait (s) that a share `q` of the jobs do not exceed."""
        over = 1 - probability(q, "q")
        if over >= self.delay_probability:
            return 0.0
        if over == 0:
            return float("inf")
        return float(np.log(self.delay_probability / over)) * self.mean_wait_of_delayed


def response_time(
    arrival_rate: float,
    p: ArrayLike,
    service_rates: ArrayLike = 1.0,
    servers: int | None = None,
    *,
    arrival_dispersion: float = 1.0,
    method: str = "interpolated",
    seed: int = 0,
) -> Response:
    """Approximate the waits of an FCFS system with exponential service times.

    Parameters
    ----------
    arrival_rate : jobs per second.
    p : p[k-1] is the probability that a job needs k servers at once.
    service_rates : service rate of each width (1/s), or one for all.
    servers : of the machine; as many as `p` has entries if not given.
    arrival_dispersion : variance over mean of the number of arrivals over long times; 1 for a
        Poisson stream, more for bursts.
    method : ``interpolated`` between light and heavy traffic, or ``reset-marc``, the leading term
        near saturation alone.
    seed : for systems with too many phases to list, whose saturated variance is sampled.

    Examples
    --------
    >>> from sojourn.theory import response_time, two_server
    >>> round(two_server(1.1, 0.5).mean_wait, 2), round(response_time(1.1, [0.5, 0.5]).mean_wait, 2)
    (24.22, 24.23)
    """
    rate = positive(arrival_rate, "arrival_rate")
    bursts = non_negative(arrival_dispersion, "arrival_dispersion")
    full = saturated_system(p, service_rates, servers, seed=seed)
    return Response(rate, full.in_service / full.throughput, full, bursts, method)
