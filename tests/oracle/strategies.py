"""Hypothesis strategies for small workloads that are full of ties.

A job is drawn as one integer and decoded: generation is cheap, and shrinking an integer towards
zero simplifies the job (no gap, no work, one server, exact plan).
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

from .model import Exact, Job

GAPS = (0, 0, 1, 0, 2, 1, 3, 5)
WORKS = (0, 1, 2, 3, 4, 3, 6, 9)
WIDTHS = 8
PLANS = 8
TICK = Fraction(1, 2**20)


class Workload(NamedTuple):
    """Jobs in the order of submit, and the number of servers."""

    servers: int
    jobs: tuple[Job, ...]


class Thresholds(NamedTuple):
    """Increasing rates with their lower and upper thresholds."""

    rates: tuple[Exact, ...]
    low: tuple[Exact, ...]
    high: tuple[Exact, ...]


def workloads(
    max_jobs: int = 12,
    max_servers: int = 8,
    *,
    plans: str = "any",
    min_plan: int = 0,
    min_work: int = 0,
) -> st.SearchStrategy[Workload]:
    """Integer times: floats are exact.

    Parameters
    ----------
    plans
        "exact" (plan = work), "over" (plan >= work) or "any" (one job in eight is underplanned).
    min_plan, min_work
        Raise plans and works to at least this.
    """
    codes = st.lists(st.integers(0, 8**4 - 1), min_size=1, max_size=max_jobs)
    return st.builds(
        lambda servers, drawn: Workload(
            servers, _decode(drawn, servers, plans, min_plan, min_work)
        ),
        st.integers(1, max_servers),
        codes,
    )


def jittered(
    max_jobs: int = 12, max_servers: int = 8, *, jitter_works: bool = False, plans: str = "any"
) -> st.SearchStrategy[Workload]:
    """Workloads whose arrivals practically never meet a completion, whatever the rate does.

    Every submit gets its own odd multiple of 2**-20 below 1/2; with `jitter_works` every work
    does, too, so that completions do not meet either.
    """
    return st.builds(
        lambda drawn, seed: _jitter(drawn, random.Random(seed), jitter_works),
        workloads(max_jobs, max_servers, plans=plans),
        st.integers(0, 2**16),
    )


def workload_thresholds(
    rates: tuple[Exact, ...] = (1, 2), scale: int = 12
) -> st.SearchStrategy[Thresholds]:
    """Workload thresholds in ascending order, off the grid of `jittered`'s works and submits."""
    number = 2 * (len(rates) - 1)

    def build(drawn: list[int], seed: int) -> Thresholds:
        rng = random.Random(seed)
        levels = sorted(k + TICK / 2 + TICK * rng.randrange(2**19) for k in drawn)
        return Thresholds(rates, tuple(levels[0::2]), tuple(levels[1::2]))

    levels = st.lists(st.integers(0, scale), min_size=number, max_size=number)
    return st.builds(build, levels, st.integers(0, 2**16))


def count_thresholds(
    rates: tuple[Exact, ...] = (1, 2), scale: int = 6
) -> st.SearchStrategy[Thresholds]:
    """Thresholds in the number of customers, in ascending order."""
    number = 2 * (len(rates) - 1)
    levels = st.lists(st.integers(0, scale), min_size=number, max_size=number).map(sorted)
    return levels.map(lambda ks: Thresholds(rates, tuple(ks[0::2]), tuple(ks[1::2])))


def coins(jobs: int = 12) -> st.SearchStrategy[list[float]]:
    """Uniforms on [0, 1), one for each arrival and each departure of so many jobs."""

    def flip(seed: int) -> list[float]:
        rng = random.Random(seed)
        return [rng.random() for _ in range(2 * jobs)]

    return st.integers(0, 2**16).map(flip)


def _decode(
    codes: list[int], servers: int, plans: str, min_plan: int, min_work: int
) -> tuple[Job, ...]:
    jobs = []
    submit = 0
    for code in codes:
        code, plan_code = divmod(code, PLANS)
        code, width_code = divmod(code, WIDTHS)
        gap_code, work_code = divmod(code, len(WORKS))
        submit += GAPS[gap_code]
        work = max(min_work, WORKS[work_code])
        width = 1 + width_code * servers // WIDTHS
        plan = max(min_plan, work if plans == "exact" else _plan(plan_code, work, plans))
        jobs.append(Job(submit, work, width, plan))
    return tuple(jobs)


def _plan(code: int, work: int, plans: str) -> int:
    short = work // 2 if plans == "any" else work
    return (work, work, work, work + 1, 2 * work, work + 4, max(work, 10), short)[code]


def _jitter(drawn: Workload, rng: random.Random, jitter_works: bool) -> Workload:
    number = len(drawn.jobs)
    ticks = rng.sample(range(1, 2**19, 2), 2 * number)
    early = sorted(ticks[:number])  # keeps jobs of one integer submit in their order
    jobs = []
    for job, tick, more in zip(drawn.jobs, early, ticks[number:], strict=True):
        extra = TICK * more if jitter_works else 0
        jobs.append(Job(job.submit + TICK * tick, job.work + extra, job.procs, job.plan + extra))
    return Workload(drawn.servers, tuple(jobs))
