"""How nodes sleep: depths, draws, and what a policy says (docs/background/power-states.md)."""

from __future__ import annotations

import math
from typing import NamedTuple

from .model import Exact, exact

BOOTS, RESTS = 0xD1B54A32D192ED03, 0x2545F4914F6CDD1D
"""What is drawn: failures and times of boots, and idle times."""


def uniform(seed: int, node: int, turn: int, salt: int) -> float:
    """A number in [0, 1) by SplitMix64, in integers modulo 2**64."""
    z = seed * 0x9E3779B97F4A7C15 + node * 0xBF58476D1CE4E5B9 + turn * 0x94D049BB133111EB
    z = (z + salt) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return ((z ^ (z >> 31)) >> 11) / 2**53


def boot_fails(seed: int, node: int, boot: int, share: float) -> bool:
    """Whether a boot of a node fails, by its number from 1 on."""
    return uniform(seed, node, 2 * boot, BOOTS) < share


def boot_time(seed: int, node: int, boot: int, mean: Exact) -> Exact:
    """How long it takes."""
    return _exponential(mean, uniform(seed, node, 2 * boot + 1, BOOTS))


def idle_time(seed: int, node: int, rest: int, mean: Exact) -> Exact:
    """How long a node is idle before it sleeps, by the number of times that it was idle."""
    return _exponential(mean, uniform(seed, node, rest, RESTS))


def _exponential(mean: Exact, share: float) -> Exact:
    """A time of this mean, to the nearest 1/1024."""
    return exact(math.floor(-1024 * float(mean) * math.log1p(-share) + 0.5) / 1024)


class Depth(NamedTuple):
    """Seconds to enter and to leave; whether boots number 1, 2, ... of the node fail; watts.

    `boots` are their times where these are drawn; `leave` is the mean then, with which one plans.
    """

    enter: Exact
    leave: Exact
    fails: tuple[bool, ...] = ()
    boots: tuple[Exact, ...] = ()
    watts: Exact = 0
    enter_watts: Exact = 0
    leave_watts: Exact = 0

    def boot(self, number: int) -> Exact:
        """How long a boot takes."""
        return self.boots[number - 1] if self.boots else self.leave


class Sleep(NamedTuple):
    """By node its depth, None if it never sleeps; the idle time, and how many idle nodes stay on.

    If boots may fail, a node whose boot has failed is back after `repair`. `rests` are idle times
    by node and number where these are drawn. `steps` are numbers of nodes from times on, instead of
    `keep`: of idle ones, or if they are of `demand` those that jobs use with them. Of each set of
    `stays` so many idle nodes stay on. Nodes begin to go to sleep `sleep_gap` apart, and to boot
    `wake_gap`.
    """

    depths: tuple[Depth | None, ...]
    idle: Exact
    keep: int = 0
    repair: Exact = 0
    may_fail: bool = False
    rests: tuple[tuple[Exact, ...], ...] = ()
    steps: tuple[tuple[Exact, int], ...] = ()
    demand: bool = False
    stays: tuple[tuple[frozenset[int], int], ...] = ()
    sleep_gap: Exact = 0
    wake_gap: Exact = 0
