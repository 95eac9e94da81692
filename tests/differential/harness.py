"""The engine and its slow twin on the same workload, and what must be equal afterwards."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from oracle import Control as ExactControl
from oracle import Discipline, Job, Outcome
from oracle import simulate as simulate_exactly
from oracle.strategies import Workload
from oracle.strategies import _jitter as jitter

from sojourn.cluster import Cluster
from sojourn.engine.drive import DONE, PolicyFunctions, Run
from sojourn.engine.types import JobView
from sojourn.policy import Control, Policy, constant
from sojourn.run.build import engine
from sojourn.run.build.engine import orders_of, rules_of
from sojourn.run.options import Options

# Far more instants than so few jobs can have: a run that needs more has stopped moving.
MOST_INSTANTS = 10_000
TOLERANCE = 1e-9
# Jitter comes in multiples of 2**-20, thresholds in odd multiples of half of that; and the
# workload's slope divides by the number of jobs in service.
TICKS = 2**22 * 105
SEGMENT = ("segment_job", "segment_start", "segment_stop")


class Pair(NamedTuple):
    """One discipline, as the engine and as the oracle call it."""

    name: str
    policy: Policy
    discipline: Discipline
    min_plan: int = 0  # scores that divide by the plan need one


class Speed(NamedTuple):
    """One rate control, as the engine and as the oracle call it."""

    name: str
    control: Control
    exact: ExactControl


def jittered(drawn: Workload, rng: random.Random) -> Workload:
    """The same jobs, none of whose events meet, in integer ticks: the oracle is faster on those."""
    jobs = (
        Job(int(job.submit * TICKS), int(job.work * TICKS), job.procs, int(job.plan * TICKS))
        for job in jitter(drawn, rng, True).jobs
    )
    return Workload(drawn.servers, tuple(jobs))


def view_of(jobs: Sequence[Job]) -> JobView:
    """Jobs of the oracle as the kernels see them; a plan of 0 stays 0."""
    column = np.array([(j.submit, j.work, j.plan) for j in jobs], dtype=np.float64).T.copy()
    procs = np.array([job.procs for job in jobs], dtype=np.int64)
    unknown = np.full(len(jobs), -1)
    submit, work, plan = column
    memory = unknown.astype(np.float64)
    return JobView(submit, work, plan, plan, procs, *(unknown,) * 4, memory, *(unknown,) * 4)


@cache
def _laws_at_rate_1(policy: Policy) -> PolicyFunctions:
    return engine.laws_of(policy, constant())


def laws_of(policy: Policy, control: Control) -> PolicyFunctions:
    """The compiled functions, as `simulate` gathers them, without asking the policy each time."""
    law, wake = control.pointers
    base = _laws_at_rate_1(policy)
    return replace(base, control=law, wake=wake, control_theta=control.parameters)


def run_engine(
    pair: Pair,
    speed: Speed,
    drawn: Workload,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> Run:
    """Run the engine to the end, or raise if it does not get there.

    The kernel is set up as `simulate` does it; only the plans are taken as they are.
    """
    view = view_of(drawn.jobs)
    policy, control = pair.policy, speed.control
    options = Options(passes=passes, record=True)
    rules = rules_of(view, Cluster.homogeneous(drawn.servers), policy, control, options, False)
    run = Run(
        view,
        rules,
        orders_of(view, policy),
        laws_of(policy, control),
        control.initial,
        np.array(coins, dtype=np.float64),
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {drawn}"
    run.check()
    return run


def compare(
    pair: Pair,
    speed: Speed,
    drawn: Workload,
    coins: Sequence[float] = (),
    *,
    passes: str = "instant",
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9."""
    expected = simulate_exactly(
        drawn.jobs, drawn.servers, pair.discipline, speed.exact, coins, passes
    )
    run = run_engine(pair, speed, drawn, coins, passes)
    tolerance = 0.0 if exactly else TOLERANCE
    for name, found, wanted, scale in _columns(run, expected):
        if not _same(found, wanted, tolerance, scale):
            raise AssertionError(
                f"{name}: {found} is not {[float(x) for x in wanted]}; {pair.name}, "
                f"{speed.name}, passes={passes!r}, {drawn}"
            )


def _columns(run: Run, expected: Outcome) -> Iterator[tuple[str, list[Any], Sequence[Any], float]]:
    """Name, what the engine says, what the oracle says, and the size of what was summed up."""
    yield "start", run.start.tolist(), expected.start, 0.0
    yield "end", run.end.tolist(), expected.end, 0.0
    names = expected.trajectory[0]._fields
    for name, wanted in zip(names, zip(*expected.trajectory, strict=True), strict=True):
        # The workload is a difference of large numbers: its error goes with their size.
        scale = float(run.jobs.work.sum()) if name == "workload" else 0.0
        yield name, run.rows(name).tolist(), wanted, scale
    if len(run.promises):
        wanted = [float(x) for x in expected.promises]
        found = run.promises.tolist()
        # A promise made beside an overdue job has an infinitesimal, which is one ulp here.
        above = [math.nextafter(x, math.inf) for x in wanted]
        found = [x if y == up else y for x, y, up in zip(wanted, found, above, strict=True)]
        yield "promise", found, wanted, 0.0
    if expected.segments and run.rules.backfill.preempts:
        columns = [run.rows(name).tolist() for name in SEGMENT]
        found = sorted(zip(*columns, strict=True))
        for i, name in enumerate(SEGMENT):
            yield name, [piece[i] for piece in found], [x[i] for x in expected.segments], 0.0


def _same(found: list[Any], wanted: Sequence[Any], tolerance: float, scale: float) -> bool:
    if tolerance == 0:
        return found == list(wanted)  # floats and rationals compare without rounding
    return len(found) == len(wanted) and all(
        abs(x - float(y)) <= tolerance * max(abs(x), scale)
        for x, y in zip(found, wanted, strict=True)
    )
