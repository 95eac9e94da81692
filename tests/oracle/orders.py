"""Orders of the queue: a score of (job, label, now); smaller is served first, ties by label.

The time-dependent ones divide by the plan, as their definitions do: they need plans > 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from .model import Exact, Job, ratio

Score = Callable[[Job, int, Exact], float | Fraction]


def fcfs(job: Job, index: int, now: Exact) -> float | Fraction:
    return index


def lcfs(job: Job, index: int, now: Exact) -> float | Fraction:
    return -index


def sjf(job: Job, index: int, now: Exact) -> float | Fraction:
    return job.plan


def ljf(job: Job, index: int, now: Exact) -> float | Fraction:
    return -job.plan


def smallest(job: Job, index: int, now: Exact) -> float | Fraction:
    return job.procs


def largest(job: Job, index: int, now: Exact) -> float | Fraction:
    return -job.procs


def saf(job: Job, index: int, now: Exact) -> float | Fraction:
    """Smallest area first."""
    return job.procs * job.plan


def laf(job: Job, index: int, now: Exact) -> float | Fraction:
    """Largest area first."""
    return -job.procs * job.plan


def wfp3(job: Job, index: int, now: Exact) -> float | Fraction:
    """Cubed relative wait, weighted by width."""
    return -(ratio(now - job.submit, job.plan) ** 3) * job.procs


def unicef(job: Job, index: int, now: Exact) -> float | Fraction:
    """Wait over the logarithm of the width (at least 1) times the plan."""
    return -float(ratio(now - job.submit, job.plan)) / max(math.log2(job.procs), 1.0)


def expansion(job: Job, index: int, now: Exact) -> float | Fraction:
    """Largest expansion factor first."""
    return -ratio(now - job.submit + job.plan, job.plan)
