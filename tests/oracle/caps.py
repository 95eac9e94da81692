"""Caps: what jobs add to idle power, and what caps leave for it (docs/background/caps.md).

All in whole milliwatts: what jobs add is rounded up, what caps leave is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .model import Exact
from .nodes import Node
from .sleeping_nodes import Depth

UNLIMITED = 2**60


class Cap(NamedTuple):
    """Watts from some times on, of a set of nodes (None: of all); no cap before the first."""

    steps: tuple[tuple[Exact | float, Exact], ...]
    nodes: frozenset[int] | None = None

    @property
    def stretches(self) -> list[tuple[Exact | float, Exact | float, Exact | None]]:
        """Begin, end and watts of all steps; None where there is no cap."""
        begins: list[tuple[Exact | float, Exact | None]] = [*self.steps]
        if self.steps[0][0] != -math.inf:
            begins.insert(0, (-math.inf, None))
        ends = [*(time for time, _ in begins[1:]), math.inf]
        return [(begin, end, watts) for (begin, watts), end in zip(begins, ends, strict=True)]


class Fall(NamedTuple):
    """A cap leaves less over [begin, end) (s): so much less, or of counted processors so many."""

    begin: Exact | float
    end: Exact | float
    cap: int
    amount: int


class Draws(NamedTuple):
    """What caps leave at the most and in the end; by node what a busy processor adds; falls.

    `members` are the nodes of each cap; `varied`: whether it matters where a job runs, `named`:
    so that promises must name nodes. By node that sleeps: what it draws less when it is asleep than
    when it is idle, and what it draws more on its way.
    """

    room: tuple[int, ...]
    last: tuple[int, ...]
    added: tuple[int, ...]
    members: tuple[frozenset[int], ...]
    falls: tuple[Fall, ...]
    varied: bool
    named: bool
    lent: tuple[int, ...]
    changing: tuple[int, ...]

    def of(self, cap: int, node: int, watts: int) -> int:
        """What counts of so many mW on a node."""
        return watts if node in self.members[cap] else 0


def power(node: Node, busy: int) -> Exact:
    """Watts of a node by its processors in use, with straight lines between the levels."""
    level, beyond = divmod(10 * busy, node.procs)
    low, high = node.watts[level], node.watts[min(level + 1, 10)]
    return low + (high - low) * Fraction(beyond, node.procs)


def added(node: Node, rate: Exact) -> int:
    """The most mW that a busy processor adds, however many are busy, at a rate."""
    idle = power(node, 0)
    most = max((power(node, b) - idle) / Fraction(b) for b in range(1, node.procs + 1))
    return max(math.ceil(most * 1000 * Fraction(rate) ** 3), 0)


def left(watts: Exact | None, idle: Exact) -> int:
    """What a cap leaves beside idle power (mW)."""
    return UNLIMITED if watts is None else max(math.floor((Fraction(watts) - idle) * 1000), 0)


def idle_power(node: Node, depth: Depth | None) -> Exact:
    """Watts of a node that is up, or asleep if that is more."""
    return power(node, 0) if depth is None else max(power(node, 0), depth.watts)


def draws_of(
    caps: Sequence[Cap],
    nodes: Sequence[Node],
    rate: Exact,
    own: Sequence[int | None],
    depths: Sequence[Depth | None] = (),
) -> Draws:
    """What the caps of named nodes mean; `own` are what jobs say that a task adds, if they do.

    `depths` are those at which nodes sleep.
    """
    depths = depths or [None] * len(nodes)
    idle = [idle_power(node, depth) for node, depth in zip(nodes, depths, strict=True)]
    everywhere = frozenset(range(len(nodes)))
    members = tuple(everywhere if cap.nodes is None else cap.nodes for cap in caps)
    steps = [
        [
            (begin, end, left(watts, sum(idle[k] for k in mine)))
            for begin, end, watts in cap.stretches
        ]
        for cap, mine in zip(caps, members, strict=True)
    ]
    room = tuple(max(step[2] for step in mine) for mine in steps)
    falls = [
        Fall(begin, end, c, room[c] - amount)
        for c, mine in enumerate(steps)
        for begin, end, amount in mine
        if amount < room[c]
    ]
    each = tuple(added(node, rate) for node in nodes)
    alike = len(set(each)) == 1 or (bool(own) and None not in own)
    named = not (alike and all(mine == everywhere for mine in members))
    lent, changing = [0] * len(nodes), [0] * len(nodes)
    for k, depth in enumerate(depths):
        if depth is not None:
            lent[k] = math.floor((idle[k] - depth.watts) * 1000)
            most = max(depth.enter_watts, depth.leave_watts) - idle[k]
            changing[k] = max(math.ceil(most * 1000), 0)
    varied = named or any(lent) or any(changing)
    kinds = {
        (node.procs, lent[k], changing[k])
        for k, (node, depth) in enumerate(zip(nodes, depths, strict=True))
        if depth is not None
    }
    named |= varied and len(kinds) > 1
    last = tuple(mine[-1][2] for mine in steps)
    return Draws(
        room, last, each, members, tuple(falls), varied, named, tuple(lent), tuple(changing)
    )


def limits_of(caps: Sequence[Cap], servers: int, busy: Exact, idle: Exact) -> list[Fall]:
    """How many counted processors may be busy, and when."""
    more = max(math.ceil(Fraction(busy - idle) * 1000), 0)
    limits = []
    for c, cap in enumerate(caps):
        for begin, end, watts in cap.stretches:
            amount = left(watts, servers * Fraction(idle))
            limits.append(Fall(begin, end, c, min(amount // more if more else servers, servers)))
    return limits
