"""Who runs under FCFS when jobs need several servers at once: phases and their refilling.

A phase is who is running, as a number for each class, and the class of the job at the head of
the queue if it waits. Those behind the head have not been looked at: their classes are drawn when
they come to the head. So the number waiting and the phase are all there is to know.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers, positive, probabilities, servers
from ..errors import OptionError

NOBODY = -1
"""The head of an empty queue."""


_COUNTLESS = 100_000
"""Combinations beyond which nobody wants to know how many."""


class Phase(NamedTuple):
    """Who runs and who blocks the queue."""

    running: tuple[int, ...]
    head: int = NOBODY


@dataclass(frozen=True)
class Classes:
    """Jobs by width: class i needs `widths[i]` servers at once for an exponential time."""

    widths: tuple[int, ...]  # servers a job needs, increasing
    shares: tuple[float, ...]  # probability of each class
    rates: tuple[float, ...]  # 1/s, of service at speed 1
    servers: int  # of the system

    @property
    def empty(self) -> Phase:
        """Nobody there."""
        return Phase((0,) * len(self.widths))

    @property
    def together(self) -> int:
        """The most jobs that can run at once."""
        return self.servers // self.widths[0]

    @property
    def mean_service(self) -> float:
        """E[S] at speed 1, in seconds."""
        return sum(p / mu for p, mu in zip(self.shares, self.rates, strict=True))

    @property
    def mean_width(self) -> float:
        """E[N], in servers."""
        return sum(p * width for p, width in zip(self.shares, self.widths, strict=True))

    @property
    def alike(self) -> float:
        """Servers over the peakedness E[N^2] / E[N] of the widths."""
        widths, shares = np.array(self.widths, dtype=np.float64), np.array(self.shares)
        return self.servers * float(widths @ shares / (widths**2 @ shares))

    @property
    def equal_rates(self) -> bool:
        """Whether the service time does not depend on the width."""
        return min(self.rates) == max(self.rates)

    @cached_property
    def combinations(self) -> int:
        """How many combinations of running jobs there can be: a cheap warning of a large chain."""
        # Free servers, and the first of the classes that may still be added; each counts once.
        count = 0
        left = [(self.servers, 0)]
        while left and count + len(left) <= _COUNTLESS:
            free, first = left.pop()
            count += 1
            fitting = bisect_right(self.widths, free)
            left += [(free - self.widths[kind], kind) for kind in range(first, fitting)]
        return count + len(left)

    def busy(self, phase: Phase) -> int:
        """Servers in use."""
        return sum(n * w for n, w in zip(phase.running, self.widths, strict=True))

    def fits(self, phase: Phase, kind: int) -> bool:
        """Whether a job of a class finds enough free servers."""
        return self.busy(phase) + self.widths[kind] <= self.servers

    def arrive(self, phase: Phase) -> Iterator[tuple[Phase, float]]:
        """Phases after an arrival, with their probabilities."""
        if phase.head != NOBODY:
            yield phase, 1.0
            return
        for kind, share in enumerate(self.shares):
            joined = _plus(phase, kind) if self.fits(phase, kind) else phase._replace(head=kind)
            yield joined, share

    def departures(self, phase: Phase) -> Iterator[tuple[int, float]]:
        """Classes that may leave, each with its rate (1/s) at speed 1."""
        for kind, number in enumerate(phase.running):
            if number:
                yield kind, number * self.rates[kind]

    def depart(self, phase: Phase, kind: int, waiting: int) -> dict[Phase, float]:
        """Phases after a departure and the starts it allows, with their probabilities.

        As many jobs waiting, the head included, as there are servers are as good as any larger
        number.
        """
        left = _plus(phase, kind, -1)
        if phase.head == NOBODY or not self.fits(left, phase.head):
            return {left: 1.0}
        started = _plus(left._replace(head=NOBODY), phase.head)
        return self._refill(started, min(waiting - 1, self.servers))

    def _refill(self, phase: Phase, waiting: int) -> dict[Phase, float]:
        """Let jobs come to the head, each of a random class, until one has to wait."""
        key = phase, waiting
        if key not in self._refilled:
            blocked: dict[Phase, float] = {}
            going_on = {phase: 1.0}
            for _ in range(waiting):
                started: dict[Phase, float] = {}
                for before, chance in going_on.items():
                    for after, share in self.arrive(before):
                        reached = started if after.head == NOBODY else blocked
                        reached[after] = reached.get(after, 0.0) + chance * share
                going_on = started
                if not going_on:
                    break
            self._refilled[key] = blocked | going_on
        return self._refilled[key]

    @cached_property
    def _refilled(self) -> dict[tuple[Phase, int], dict[Phase, float]]:
        return {}

    def saturated(self) -> dict[Phase, float]:
        """Phases in which a system without end of waiting jobs begins."""
        return self._refill(self.empty, self.servers + 1)


def _plus(phase: Phase, kind: int, number: int = 1) -> Phase:
    running = phase.running
    return phase._replace(running=(*running[:kind], running[kind] + number, *running[kind + 1 :]))


def classes_of(p: ArrayLike, service_rates: ArrayLike, machine: int | None = None) -> Classes:
    """Check shares of widths and rates (1/s), one or one for each, and keep classes that occur.

    p[k-1] is the probability that a job needs k servers; the machine has as many as `p` if None.
    """
    shares = probabilities(p)
    size = servers(len(shares) if machine is None else machine)
    rates = numbers(service_rates, "service_rates")
    if rates.ndim and rates.shape != shares.shape:
        raise OptionError(
            f"service_rates: {rates.size} rates for {shares.size} widths; give one for each width, "
            "or one for all"
        )
    per_width = rates.ndim > 0
    rates = np.broadcast_to(rates, shares.shape)
    kinds = np.flatnonzero(shares)
    if kinds[-1] + 1 > size:
        raise OptionError(
            f"p: jobs of {kinds[-1] + 1} servers on a machine of {size}; they could never start"
        )
    for k in kinds:
        positive(float(rates[k]), f"service_rates[{k}]" if per_width else "service_rate")
    return Classes(
        tuple(int(k) + 1 for k in kinds),
        tuple(float(shares[k]) for k in kinds),
        tuple(float(rates[k]) for k in kinds),
        size,
    )
