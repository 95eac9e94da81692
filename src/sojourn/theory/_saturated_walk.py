"""A walk through the phases of the saturated system, where they are too many to list."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import compiled, inlined

__all__ = ["walk"]


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


@compiled(allocates=True)
def walk(
    widths: Any,
    cumulated: Any,
    rates: Any,
    servers: int,
    batches: int,
    length: int,
    generator: np.random.Generator,
) -> tuple[Any, Any, Any]:
    """Follow a saturated FCFS system through batches of completions.

    Parameters
    ----------
    widths, rates : of each class.
    cumulated : probabilities of the classes, added up.
    servers : of the machine.
    batches, length : how many, and completions in each; one more batch before them warms up.

    Returns
    -------
    3 arrays
        For each batch: the mean time it took given the phases, the sum of the squared mean times
        between completions, and the integral of busy servers.
    """
    running = np.zeros(len(widths), dtype=np.int64)
    took = np.zeros(batches)
    squares = np.zeros(batches)
    areas = np.zeros(batches)
    busy = 0
    # Rates of the classes in a tree: each node has the sum of its two, the first one that of all.
    leaves = 1
    while leaves < len(widths):
        leaves *= 2
    sums = np.zeros(2 * leaves)
    head = _draw(cumulated, generator)
    for batch in range(-1, batches):
        for _ in range(length):
            while busy + widths[head] <= servers:
                running[head] += 1
                busy += widths[head]
                _enter(sums, leaves + head, running[head] * rates[head])
                head = _draw(cumulated, generator)
            step = 1.0 / sums[1]
            if batch >= 0:
                took[batch] += step
                squares[batch] += step * step
                areas[batch] += step * busy
            kind = _leaving(sums, leaves, generator)
            running[kind] -= 1
            busy -= widths[kind]
            _enter(sums, leaves + kind, running[kind] * rates[kind])
    return took, squares, areas
