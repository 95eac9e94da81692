"""One server that sleeps: M/G/1 with setup, a delay before it is switched off, and a shutdown.

Jobs arrive as a Poisson stream and are served one by one. A server without jobs stays on for a
delay, then takes its time to shut down, and is off until a job arrives; a job that arrives while it
shuts down waits until it is off and has been woken. So the first job of a busy period has a first
delay Z: nothing, the setup, or the rest of the shutdown and the setup. All others of its busy
period stand behind it [welch1964]:

    E W = lambda E S^2 / (2 (1 - rho)) + (2 E Z + lambda E Z^2) / (2 (1 + lambda E Z)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ..checks import non_negative, positive, stable
from ..errors import OptionError


def sleeping_server(
    arrival_rate: float,
    service_rate: float = 1.0,
    *,
    setup: float,
    delay: float = 0.0,
    shutdown: float = 0.0,
    service_scv: float = 1.0,
    setup_scv: float = 0.0,
    delay_scv: float = 0.0,
) -> SleepingServer:
    """Solve one server that sleeps exactly: setup times of any kind, constant ones by default.

    Parameters
    ----------
    arrival_rate : of the Poisson arrivals (1/s).
    service_rate : one over the mean service time (1/s).
    setup : mean time to wake it (s).
    delay : mean time that it stays on idle (s); infinity: always.
    shutdown : how long it takes to go off (s), constant; it cannot be woken before.
    service_scv, setup_scv : squared coefficients of variation: 0 constant, 1 exponential.
    delay_scv : 0 constant, 1 exponential.

    Examples
    --------
    With exponential setup times it is `sleeping_servers` with one server:

    >>> from sojourn.theory import sleeping_server, sleeping_servers
    >>> round(sleeping_server(0.5, setup=10.0, setup_scv=1).mean_response, 9)
    12.0
    >>> round(sleeping_servers(0.5, setup=10.0).mean_response, 9)
    12.0

    A constant setup is met half as often by those who come during it:

    >>> round(sleeping_server(0.5, setup=10.0).mean_response, 4)
    7.8333
    """
    rate, speed = positive(arrival_rate, "arrival_rate"), positive(service_rate, "service_rate")
    stable(rate / speed, speed)
    if delay_scv not in (0, 1):
        raise OptionError(f"delay_scv: {delay_scv:g}; give 0 for constant, 1 for exponential")
    return SleepingServer(
        rate,
        speed,
        non_negative(setup, "setup"),
        delay if delay == math.inf else non_negative(delay, "delay"),
        non_negative(shutdown, "shutdown"),
        non_negative(service_scv, "service_scv"),
        non_negative(setup_scv, "setup_scv"),
        float(delay_scv),
    )


@dataclass(frozen=True)
class SleepingServer:
    """What follows for one server that sleeps; see `sleeping_server`."""

    arrival_rate: float
    service_rate: float
    setup: float
    delay: float
    shutdown: float
    service_scv: float
    setup_scv: float
    delay_scv: float

    @property
    def load(self) -> float:
        """Share of the time that it is busy."""
        return self.arrival_rate / self.service_rate

    @cached_property
    def sleeps(self) -> float:
        """Probability that it begins to go off after a busy period: nobody came in the delay."""
        if self.delay == math.inf:
            return 0.0
        awaited = self.arrival_rate * self.delay
        return math.exp(-awaited) if self.delay_scv == 0 else 1 / (1 + awaited)

    @cached_property
    def _rest(self) -> tuple[float, float]:
        """Moments of what is left of a shutdown when the next job arrives (s, s^2).

        It is nothing if the job arrives after it.
        """
        rate, long = self.arrival_rate, self.shutdown
        met = -math.expm1(-rate * long)
        # Series, where differences of near numbers would lose digits.
        if rate * long < 1e-3:
            x = rate * long
            first = long * x * (1 / 2 - x / 6 + x * x / 24)
            second = long**2 * x * (1 / 3 - x / 12 + x * x / 60)
            return first, second
        first = long - met / rate
        return first, long**2 - 2 * long / rate + 2 * met / rate**2

    @cached_property
    def _first(self) -> tuple[float, float]:
        """Moments of the first delay Z of a busy period (s, s^2)."""
        rest, squared = self._rest
        twice = self.setup**2 * (1 + self.setup_scv)
        first = self.sleeps * (rest + self.setup)
        return first, self.sleeps * (squared + 2 * rest * self.setup + twice)

    @cached_property
    def mean_wait(self) -> float:
        """Mean time from arrival to start (s)."""
        rate, (first, squared) = self.arrival_rate, self._first
        moment = (1 + self.service_scv) / self.service_rate**2
        queue = rate * moment / (2 * (1 - self.load))
        return queue + (2 * first + rate * squared) / (2 * (1 + rate * first))

    @property
    def mean_response(self) -> float:
        """Mean time from arrival to departure (s)."""
        return self.mean_wait + 1 / self.service_rate

    @property
    def mean_number(self) -> float:
        """Mean number of jobs in the system."""
        return self.arrival_rate * self.mean_response

    @cached_property
    def cycle(self) -> float:
        """Mean time from the end of a busy period to that of the next (s)."""
        return (1 + self.arrival_rate * self._first[0]) / (self.arrival_rate * (1 - self.load))

    @property
    def mean_busy(self) -> float:
        """Share of the time that it serves a job."""
        return self.load

    @property
    def mean_idle(self) -> float:
        """Share of the time that it is on and idle."""
        return (1 - self.sleeps) / self.arrival_rate / self.cycle

    @property
    def mean_shutting(self) -> float:
        """Share of the time that it shuts down."""
        return self.sleeps * self.shutdown / self.cycle

    @property
    def mean_waking(self) -> float:
        """Share of the time that it is in setup."""
        return self.sleeps * self.setup / self.cycle

    @property
    def mean_off(self) -> float:
        """Share of the time that it is off."""
        still = math.exp(-self.arrival_rate * self.shutdown)
        return self.sleeps * still / self.arrival_rate / self.cycle

    @property
    def wake_rate(self) -> float:
        """How often it is woken (1/s)."""
        return self.sleeps / self.cycle

    def mean_power(
        self, busy: float, idle: float, waking: float, off: float, shutting: float = 0.0
    ) -> float:
        """Mean power (W), from the watts in each state."""
        return (
            busy * self.mean_busy
            + idle * self.mean_idle
            + waking * self.mean_waking
            + off * self.mean_off
            + shutting * self.mean_shutting
        )
