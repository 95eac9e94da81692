"""Delays of FCFS by the modified Kiefer-Wolfowitz recursion [rumyantsev2014, eqs. (1)-(2)]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .model import Exact

Work = Exact | Sequence[Exact]
"""Service time of all servers of a customer, or of each (independent release)."""


def vectors(
    interarrivals: Sequence[Exact], works: Sequence[Work], procs: Sequence[int], servers: int
) -> Iterator[list[Exact]]:
    """Workload vectors in ascending order, as each customer sees them at its arrival.

    `interarrivals[i]` is the time from customer i to customer i + 1.
    """
    vector: list[Exact] = [0] * servers
    for gap, work, width in zip(interarrivals, works, procs, strict=True):
        yield vector
        begin = vector[width - 1]
        parts = work[:width] if isinstance(work, Sequence) else [work] * width
        after = [begin + part for part in parts] + vector[width:]
        vector = sorted(max(0, unfinished - gap) for unfinished in after)


def delays(
    interarrivals: Sequence[Exact], works: Sequence[Work], procs: Sequence[int], servers: int
) -> list[Exact]:
    """D_i: the N_i-th component of the vector that customer i sees."""
    seen = vectors(interarrivals, works, procs, servers)
    return [vector[width - 1] for vector, width in zip(seen, procs, strict=True)]
