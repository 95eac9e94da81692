"""How nodes sleep: depths, and what a policy says (docs/background/power-states.md)."""

from __future__ import annotations

from typing import NamedTuple

from .model import Exact


class Depth(NamedTuple):
    """Seconds to enter and to leave; whether boots number 1, 2, ... of the node fail; watts."""

    enter: Exact
    leave: Exact
    fails: tuple[bool, ...] = ()
    watts: Exact = 0
    enter_watts: Exact = 0
    leave_watts: Exact = 0


class Sleep(NamedTuple):
    """By node its depth, None if it never sleeps; the idle time, and how many idle nodes stay on.

    If boots may fail, a node whose boot has failed is back after `repair`.
    """

    depths: tuple[Depth | None, ...]
    idle: Exact
    keep: int = 0
    repair: Exact = 0
    may_fail: bool = False
