"""Energy of nodes that jobs share, and [gomez2012, eq. (5)]."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from .model import Exact, Outcome
from .named import NamedOutcome
from .nodes import Node


class Bill(NamedTuple):
    """Joules of each job, of idle processors, and of the cluster, from first submit to last end."""

    jobs: list[Exact]
    idle: Exact
    total: Exact


def watts_at(node: Node, busy: int, rate: Exact = 1, exponent: int = 3) -> Exact:
    """Watts of a node, on straight lines between the levels of its curve."""
    level, part = divmod(Fraction(10 * busy, node.procs), 1)
    watts: Exact = node.watts[level]
    if part:
        watts += part * (node.watts[level + 1] - node.watts[level])
    base = min(watts, node.watts[0])
    return base + (watts - base) * rate**exponent


def bill(outcome: NamedOutcome, nodes: Sequence[Node]) -> Bill:
    """Idle processors are billed their part of an idle node; the busy ones share the rest.

    Their part of what the node draws, where that is less than idle.
    """
    run = outcome.run
    jobs: list[Exact] = [0] * len(run.start)
    idle: Exact = 0
    total: Exact = 0
    for begin, end, rate in _stretches(run):
        running = [j for j in range(len(jobs)) if run.start[j] <= begin < run.end[j]]
        used = [dict(outcome.allocations[j]) for j in running]
        for k, node in enumerate(nodes):
            busy = sum(taken.get(k, 0) for taken in used)
            watts = watts_at(node, busy, rate)
            base = min(node.watts[0], watts_at(node, busy))
            unused = Fraction(node.procs - busy, node.procs) * base
            idle += unused * (end - begin)
            total += watts * (end - begin)
            for j, taken in zip(running, used, strict=True):
                if k in taken:
                    jobs[j] += (watts - unused) * Fraction(taken[k], busy) * (end - begin)
    return Bill(jobs, idle, total)


def peas_energy(outcome: NamedOutcome, nodes: Sequence[Node]) -> list[Exact]:
    """Eq. (5), in joules: watts at 100 % load of each processor, times the simulated runtime."""
    spans = zip(outcome.run.start, outcome.run.end, outcome.allocations, strict=True)
    return [
        sum(taken * nodes[k].watts_per_proc for k, taken in allocation) * (end - start)
        for start, end, allocation in spans
    ]


def _stretches(run: Outcome) -> list[tuple[Exact, Exact, Exact]]:
    """(begin, end, rate), between which nothing changes."""
    if not run.start:
        return []
    last = max(run.end)
    epochs = dict(run.rates)
    times = sorted({*run.start, *run.end, *(t for t in epochs if t <= last)})
    rate = None
    stretches = []
    for begin, end in pairwise(times):
        rate = epochs.get(begin, rate)
        stretches.append((begin, end, rate))
    return stretches
