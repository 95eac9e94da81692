"""The orders of the queue that have a name. To add one, write its formula here."""

from __future__ import annotations

import difflib
import math
from typing import Any

from ..errors import PolicyError
from .score import Formula, Score

ORDERS: dict[str, Score] = {}
"""Every named order."""


def _order(formula: Formula) -> Formula:
    ORDERS[formula.__name__] = Score(formula, house=True)
    return formula


@_order
def fcfs(jobs: Any, j: int, now: float, theta: Any) -> float:
    """First come, first served."""
    return float(j)


@_order
def lcfs(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Last come, first served."""
    return -float(j)


@_order
def sjf(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Shortest job first, by estimate."""
    return jobs.estimate[j]


@_order
def ljf(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Longest job first, by estimate."""
    return -jobs.estimate[j]


@_order
def smallest(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Narrowest job first."""
    return float(jobs.procs[j])


@_order
def largest(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Widest job first."""
    return -float(jobs.procs[j])


@_order
def saf(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Smallest area first: processors times estimate."""
    return jobs.procs[j] * jobs.estimate[j]


@_order
def laf(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Largest area first."""
    return -jobs.procs[j] * jobs.estimate[j]


@_order
def expansion(jobs: Any, j: int, now: float, theta: Any) -> float:
    """Largest expansion factor first: (wait + estimate) / estimate."""
    estimate = max(jobs.estimate[j], 1e-9)
    return -(now - jobs.submit[j] + estimate) / estimate


@_order
def wfp3(jobs: Any, j: int, now: float, theta: Any) -> float:
    """WFP3: cubed relative wait, weighted by width [tang2009]."""
    relative = (now - jobs.submit[j]) / max(jobs.estimate[j], 1e-9)
    return -relative * relative * relative * jobs.procs[j]


@_order
def unicef(jobs: Any, j: int, now: float, theta: Any) -> float:
    """UNICEF: wait over log-width and estimate, for quick turnaround of small jobs [tang2009].

    The logarithm is at least 1, so that serial jobs have a finite score too.
    """
    width = max(math.log2(jobs.procs[j]), 1.0)
    return -(now - jobs.submit[j]) / (width * max(jobs.estimate[j], 1e-9))


def order_of_queue(name: str, order: str) -> Score:
    """Return the named order of a queue; PolicyError if there is none of that name."""
    if order in ORDERS:
        return ORDERS[order]
    if "+" in order:
        problem = f"order '{order}' has a backfill in it, which all queues share"
        raise PolicyError(f"queue '{name}': {problem}; give the order alone")
    close = difflib.get_close_matches(order, ORDERS, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(ORDERS)}"
    raise PolicyError(f"queue '{name}': unknown order '{order}': {hint}")
