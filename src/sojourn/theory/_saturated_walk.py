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
def _leaving(running: Any, rates: Any, total: float, generator: Any) -> int:
    """The class that completes next: each by its share of the total rate."""
    left = generator.random() * total
    kind = 0
    last = 0
    while kind < len(running):
        if running[kind] > 0:
            last = kind
            left -= running[kind] * rates[kind]
            if left < 0:
                break
        kind += 1
    return last


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
    total = 0.0
    head = _draw(cumulated, generator)
    for batch in range(-1, batches):
        for _ in range(length):
            while busy + widths[head] <= servers:
                running[head] += 1
                busy += widths[head]
                total += rates[head]
                head = _draw(cumulated, generator)
            step = 1.0 / total
            if batch >= 0:
                took[batch] += step
                squares[batch] += step * step
                areas[batch] += step * busy
            kind = _leaving(running, rates, total, generator)
            running[kind] -= 1
            busy -= widths[kind]
            # Added up afresh: differences would leave rounding behind.
            total = 0.0
            for i in range(len(widths)):
                total += running[i] * rates[i]
    return took, squares, areas
