"""States of a node's power: levels it runs at, depths it sleeps at, off and failed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import OptionError, nearest

BOOT_LAWS = ("exponential",)
"""Laws by which the times of boots may vary."""

_MOST = 1e12


def _check(what: str, name: str, value: float, *, positive: bool = False) -> None:
    if not (0 <= value <= _MOST) or (positive and value == 0):
        least = "above 0" if positive else "of at least 0"
        raise OptionError(f"{what}: {name} = {value:g}; give a number {least}, at most {_MOST:g}")


@dataclass(frozen=True)
class SleepState:
    """A depth of sleep.

    Parameters
    ----------
    name : such as ``suspend`` or ``off``.
    watts : W of a node that is asleep.
    enter, enter_watts : how long it takes to go to sleep (s), and W meanwhile.
    leave, leave_watts : how long it takes to wake (s), and W meanwhile.
    leave_varies : "exponential" if the time of each boot is drawn, with the mean `leave`; "": it is
        the same for all.

    Examples
    --------
    >>> SleepState("off", 9.75, enter=6.1, enter_watts=101.0, leave=151.52, leave_watts=125.17).name
    'off'
    """

    name: str
    watts: float
    enter: float = 0.0
    enter_watts: float = 0.0
    leave: float = 0.0
    leave_watts: float = 0.0
    leave_varies: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise OptionError("sleep state: its name is empty; give one")
        for name in ("watts", "enter", "enter_watts", "leave", "leave_watts"):
            _check(f"sleep state '{self.name}'", name, getattr(self, name))
        for name in ("enter", "leave"):
            if getattr(self, f"{name}_watts") and not getattr(self, name):
                raise OptionError(
                    f"sleep state '{self.name}': {name}_watts of a change that takes no time; give "
                    f"'{name}' as well"
                )
        if self.leave_varies not in ("", *BOOT_LAWS):
            raise OptionError(
                f"sleep state '{self.name}': leave_varies = '{self.leave_varies}'; "
                f"{nearest(self.leave_varies, BOOT_LAWS)}"
            )
        if self.leave_varies and not self.leave:
            raise OptionError(
                f"sleep state '{self.name}': leave_varies of a change that takes no time; give "
                "'leave' as well, its mean"
            )


@dataclass(frozen=True)
class PowerLevel:
    """A level at which a node that is on can run, such as a frequency.

    Parameters
    ----------
    speed : relative to the first level.
    watts : W at full load.
    idle_watts : W of an idle node.
    least_watts : W of a busy node as its load goes to 0; default: those of an idle one.
    """

    speed: float
    watts: float
    idle_watts: float = 0.0
    least_watts: float | None = None

    def __post_init__(self) -> None:
        _check("level", "speed", self.speed, positive=True)
        for name in ("watts", "idle_watts", "least_watts"):
            if getattr(self, name) is not None:
                _check(f"level of speed {self.speed:g}", name, getattr(self, name))


@dataclass(frozen=True)
class PowerStates:
    """What a node can do besides running as its watts by load say.

    Parameters
    ----------
    sleep : depths of sleep, in the order in which they were given.
    levels : it can run at, the usual one first; empty: one, that of its watts by load.
    off_watts, failed_watts : W of a node that is switched off, and that has failed.
    """

    sleep: tuple[SleepState, ...] = ()
    levels: tuple[PowerLevel, ...] = ()
    off_watts: float = 0.0
    failed_watts: float = 0.0

    def __post_init__(self) -> None:
        _check("power states", "off_watts", self.off_watts)
        _check("power states", "failed_watts", self.failed_watts)
        names = [sleep.name for sleep in self.sleep]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise OptionError(f"power states: two sleep states are called '{twice}'; rename one")
        if self.levels and self.levels[0].speed != 1:
            raise OptionError(
                f"power states: the first level has speed {self.levels[0].speed:g}, but speeds are "
                "relative to it; give 1"
            )


@dataclass(frozen=True)
class PowerSaving:
    """When a manager switches idle nodes off, and how fast it may switch.

    Parameters
    ----------
    idle_time : s after which an idle node is switched off; inf: never.
    enter_timeout : s after which a node that goes to sleep has arrived, and can be woken.
    leave_timeout : s after which a node that was woken, but is not up, counts as failed; the jobs
        that wait for it are requeued.
    enter_rate, leave_rate : nodes per minute that may be switched; inf: no limit.
    excluded_nodes : names of nodes that stay on, with how many of them at least; None: all.
    excluded_partitions : whose nodes stay on.
    excluded_states : of nodes that are not switched off, such as ``DRAIN``.
    by_partition : idle times of partitions (s) that have their own.
    """

    idle_time: float = math.inf
    enter_timeout: float = 30.0
    leave_timeout: float = 60.0
    enter_rate: float = 60.0
    leave_rate: float = 300.0
    excluded_nodes: tuple[tuple[tuple[str, ...], int | None], ...] = ()
    excluded_partitions: tuple[str, ...] = ()
    excluded_states: tuple[str, ...] = ()
    by_partition: tuple[tuple[str, float], ...] = ()


def break_even(idle_watts: float, sleep: SleepState) -> float:
    """Return the idle time (s) from which on sleeping at once saves energy; inf if it never does.

    A node that is idle for t seconds uses t P_i. If it goes to sleep at once, to wake just in time,
    it uses E W_e + L W_l + (t - E - L) P_s, which needs t >= E + L. The two are equal at

        t* = (E (W_e - P_s) + L (W_l - P_s)) / (P_i - P_s),

    and sleep saves energy from max(t*, E + L) on, if P_s < P_i.

    Parameters
    ----------
    idle_watts : P_i, W of the idle node.
    sleep : with P_s its watts, E and W_e the time and watts to enter, L and W_l to leave.

    Examples
    --------
    >>> round(break_even(95.0, SleepState("off", 9.75, 6.1, 101.0, 151.52, 125.0)), 2)
    211.37
    """
    if sleep.watts >= idle_watts:
        return math.inf
    spent = sleep.enter * (sleep.enter_watts - sleep.watts)
    spent += sleep.leave * (sleep.leave_watts - sleep.watts)
    return max(spent / (idle_watts - sleep.watts), sleep.enter + sleep.leave)
