"""A walk through the phases of the saturated system, where they are too many to list."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..jit import compiled, inlined


@inlined
def _draw(cumulated: Any, generator: Any) -> Any:
    """A class by its cumulated probabilities."""
    kind = np.searchsorted(cumulated, generator.random(), side="right")
    return min(kind, len(cumulated) - 1)


@inlined
def _leaving(sums: Any, leaves: int, generator: Any) -> int:
    """The class that completes next: each by its share of the total rate."""
    left = generator.random() * sums[1]
    node = 1
    while node < leaves:
        node *= 2
        if left >= sums[node] and sums[node + 1] > 0:
            left -= sums[node]
            node += 1
    return node - leaves


@inlined
def _enter(sums: Any, node: int, rate: float) -> None:
    """Set the rate of a class, and add up afresh: differences would leave rounding behind."""
    sums[node] = rate
    while node > 1:
        node //= 2
        sums[node] = sums[2 * node] + sums[2 * node + 1]


class Walk(NamedTuple):
    """Where a walk stands: what runs, and who is next."""

    running: Any  # jobs of each class
    sums: Any  # rates of the classes in a tree: each node has the sum of its two
    number: Any  # busy servers; the class of the job that waits in front, -1 before the first


def begin_walk(classes: int) -> Walk:
    """Return an empty system."""
    leaves = 1
    while leaves < classes:
        leaves *= 2
    running = np.zeros(classes, dtype=np.int64)
    return Walk(running, np.zeros(2 * leaves), np.array([0, -1]))


@compiled(allocates=True, slow="the saturated system", seconds=0.5)
def walk(
    widths: Any,
    cumulated: Any,
    rates: Any,
    servers: int,
    at: Any,
    length: int,
    generator: np.random.Generator,
) -> tuple[float, float, float]:
    """Follow a saturated FCFS system, `at` some point of a `Walk`, through `length` completions.

    Returns the mean time it took given the phases, the sum of the squared mean times between
    completions, and the integral of busy servers.
    """
    running, sums = at.running, at.sums
    leaves = len(sums) // 2
    busy, head = at.number[0], at.number[1]
    if head < 0:
        head = _draw(cumulated, generator)
    took = squares = area = 0.0
    for _ in range(length):
        while busy + widths[head] <= servers:
            running[head] += 1
            busy += widths[head]
            _enter(sums, leaves + head, running[head] * rates[head])
            head = _draw(cumulated, generator)
        step = 1.0 / sums[1]
        took += step
        squares += step * step
        area += step * busy
        kind = _leaving(sums, leaves, generator)
        running[kind] -= 1
        busy -= widths[kind]
        _enter(sums, leaves + kind, running[kind] * rates[kind])
    at.number[0], at.number[1] = busy, head
    return took, squares, area
