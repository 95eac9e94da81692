"""Servers that sleep, simulated plainly; and how theory is held against any simulation of them.

`walk` imports nothing from sojourn. To hold the engine against the theory, hand a function of
(`Sleep`, seed) that returns a `Walked` to `share_inside`: what it must draw is said by `Sleep`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scipy.stats import t as student


class Sleep(NamedTuple):
    """A system of servers that sleep.

    Parameters
    ----------
    rate : of Poisson arrivals (1/s).
    servers : how many.
    p1 : probability that a job needs one server; else it needs two at once.
    setup, delay, shutdown : mean times (s).
    constant : whether setup and delay are constant; else exponential. The shutdown is constant.
    """

    rate: float
    servers: int = 1
    p1: float = 1.0
    setup: float = 1.0
    delay: float = 0.0
    shutdown: float = 0.0
    constant: bool = False


class Walked(NamedTuple):
    """Mean wait (s), and the mean number of servers in each state."""

    wait: float
    busy: float
    idle: float
    waking: float
    off: float
    shutting: float

    @property
    def power(self) -> float:
        """Watts of all servers."""
        return sum(w * n for w, n in zip((200.0, 95.0, 125.0, 10.0, 100.0), self[1:], strict=True))


def walk(system: Sleep, seed: int, jobs: int = 3000, skipped: int = 300) -> Walked:
    """FCFS, service of mean 1. A setup that nobody wants any more is given up."""
    draw = random.Random(seed)

    def drawn(mean: float) -> float:
        return mean if system.constant or mean == 0 else draw.expovariate(1 / mean)

    c = system.servers
    on, waking = c, []  # type: ignore[var-annotated]
    idle_until: list[float] = []  # of servers that are on and not wanted
    off_at: list[float] = []  # of servers that shut down
    ends: list[tuple[float, int]] = []  # of jobs in service, with their widths
    queue: list[tuple[float, int]] = []
    waits: list[float] = []
    area = [0.0] * 5
    now, arrival, came = 0.0, draw.expovariate(system.rate), 0
    began = 0.0
    while len(waits) < jobs:
        at = min(
            arrival,
            min((end for end, _ in ends), default=math.inf),
            min(waking, default=math.inf),
            min(idle_until, default=math.inf),
            min(off_at, default=math.inf),
        )
        busy = sum(width for _, width in ends)
        if len(waits) >= skipped:
            began = began or now
            counts = (busy, on - busy, len(waking), c - on - len(waking) - len(off_at), len(off_at))
            for k, count in enumerate(counts):
                area[k] += count * (at - now)
        now = at
        if now == arrival:
            queue.append((now, 1 if draw.random() < system.p1 else 2))
            arrival, came = now + draw.expovariate(system.rate), came + 1
        elif any(end == now for end, _ in ends):
            ends.remove(min(ends))
        elif now in waking:
            waking.remove(now)
            on += 1
        elif now in idle_until:
            idle_until.remove(now)
            on -= 1
            if system.shutdown:
                off_at.append(now + system.shutdown)
        else:
            off_at.remove(now)
        while queue and queue[0][1] <= on - sum(width for _, width in ends):
            came_at, width = queue.pop(0)
            waits.append(now - came_at)
            ends.append((now + draw.expovariate(1.0), width))
        wanted = min(c, sum(width for _, width in ends) + sum(width for _, width in queue))
        while on + len(waking) > wanted and waking:
            waking.pop()
        while on + len(waking) < wanted and on + len(waking) + len(off_at) < c:
            waking.append(now + drawn(system.setup))
        extra = max(on - wanted, 0)
        while len(idle_until) > extra:
            idle_until.pop()
        while len(idle_until) < extra:
            idle_until.append(now + drawn(system.delay))
    lasted = now - began
    kept = waits[skipped:]
    return Walked(sum(kept) / len(kept), *(total / lasted for total in area))


def walk_own(system: Sleep, seed: int, jobs: int = 8000, skipped: int = 800) -> Walked:
    """FCFS, service of mean 1; each boot belongs to the job that began it. Job by job.

    A job takes a server that is on and free, else one that is off, else the first to be left.
    """
    draw = random.Random(seed)

    def drawn(mean: float) -> float:
        return 0.0 if mean == 0 else draw.expovariate(1 / mean)

    free = [0.0] * system.servers  # from when on each server is free
    off = [math.inf] * system.servers  # and off, if nobody takes it before
    now, began, waits = 0.0, 0.0, []
    busy = idle = waking = 0.0
    for number in range(jobs):
        now += draw.expovariate(system.rate)
        on = [k for k in range(system.servers) if free[k] <= now < off[k]]
        asleep = [k for k in range(system.servers) if off[k] <= now]
        k = (on or asleep or [min(range(system.servers), key=free.__getitem__)])[0]
        boot = drawn(system.setup) if not on and asleep else 0.0
        start, service = max(now, free[k]) + boot, draw.expovariate(1.0)
        if number == skipped:
            began = now
        if number >= skipped:
            waits.append(start - now)
            busy, waking = busy + service, waking + boot
            idle += min(off[k], start - boot) - free[k]
        free[k] = start + service
        off[k] = free[k] + drawn(system.delay)
    lasted = now - began
    means = busy / lasted, idle / lasted, waking / lasted
    return Walked(sum(waits) / len(waits), *means, system.servers - sum(means), 0.0)


def share_inside(
    systems: Sequence[Sleep],
    exact: Callable[[Sleep], tuple[float, float]],
    simulated: Callable[[Sleep, int], Walked],
    replications: int = 10,
) -> float:
    """How many of the exact waits and powers are in the 99 % intervals of simulations."""
    inside = 0
    for number, system in enumerate(systems):
        runs = [simulated(system, 1000 * number + k) for k in range(replications)]
        for value, found in zip(
            exact(system), ([r.wait for r in runs], [r.power for r in runs]), strict=True
        ):
            mean = sum(found) / replications
            spread = math.sqrt(sum((x - mean) ** 2 for x in found) / (replications - 1))
            half = student.ppf(0.995, replications - 1) * spread / math.sqrt(replications)
            inside += abs(value - mean) <= half
    return inside / (2 * len(systems))
