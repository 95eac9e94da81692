"""What follows for any system of servers that sleep from its mean numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from ..checks import non_negative, positive, servers, stable
from ..errors import OptionError


def checked(
    arrival_rate: float, service_rate: float, count: int, *, setup: float, delay: float, most: int
) -> tuple[float, float, int, float, float]:
    """Return what M/M/c with setup and delayed off is made of; of up to `most` servers."""
    rate, speed = positive(arrival_rate, "arrival_rate"), positive(service_rate, "service_rate")
    c = servers(count, "count")
    if c > most:
        raise OptionError(f"count: {c} servers are too many to solve exactly; give up to {most}")
    stays = delay if delay == math.inf else non_negative(delay, "delay")
    stable(rate / (c * speed), c * speed)
    return rate, speed, c, positive(setup, "setup"), stays


class SleepingSystem(ABC):
    """Servers that are busy, idle, in setup or off; means over time."""

    arrival_rate: float

    @property
    @abstractmethod
    def servers(self) -> int:
        """How many servers there are."""

    @property
    @abstractmethod
    def mean_number(self) -> float:
        """Mean number of jobs in the system."""

    @property
    @abstractmethod
    def mean_service(self) -> float:
        """Mean time in service (s)."""

    @property
    @abstractmethod
    def mean_busy(self) -> float:
        """Mean number of servers that serve a job."""

    @property
    @abstractmethod
    def mean_idle(self) -> float:
        """Mean number of servers that are on and idle."""

    @property
    @abstractmethod
    def mean_waking(self) -> float:
        """Mean number of servers in setup."""

    @property
    def mean_response(self) -> float:
        """Mean time from arrival to departure (s), by Little's law."""
        return self.mean_number / self.arrival_rate

    @property
    def mean_wait(self) -> float:
        """Mean time from arrival to start (s)."""
        return self.mean_response - self.mean_service

    @property
    def mean_off(self) -> float:
        """Mean number of servers that are off."""
        rest = self.servers - self.mean_busy - self.mean_idle - self.mean_waking
        return max(rest, 0.0)

    def mean_power(self, busy: float, idle: float, waking: float, off: float) -> float:
        """Mean power of all servers (W), from the watts of one server in each state."""
        return (
            busy * self.mean_busy
            + idle * self.mean_idle
            + waking * self.mean_waking
            + off * self.mean_off
        )
