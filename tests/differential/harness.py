"""The engine and its slow twin on the same workload, and what must be equal afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from oracle import Discipline, Job, Outcome
from oracle import Control as ExactControl
from oracle import simulate as simulate_exactly

from sojourn.cluster import Cluster
from sojourn.engine.drive import DONE, Run
from sojourn.engine.types import JobView
from sojourn.policy import Control, Policy
from sojourn.simulation import Options, _laws, _orders, _rules

# Far more instants than so few jobs can have: a run that needs more has stopped moving.
MOST_INSTANTS = 10_000
TOLERANCE = 1e-9
COUNTS = ("present", "queued", "busy", "running")


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


def view_of(jobs: Sequence[Job]) -> JobView:
    """Jobs of the oracle as the kernels see them; a plan of 0 stays 0."""
    column = np.array([(j.submit, j.work, j.plan) for j in jobs], dtype=np.float64).T.copy()
    procs = np.array([job.procs for job in jobs], dtype=np.int64)
    absent = np.full(len(jobs), -1)
    memory = np.full(len(jobs), -1.0)
    submit, work, plan = column
    return JobView(submit, work, plan, plan, procs, absent, absent, absent, absent, memory)


def run_engine(
    pair: Pair,
    speed: Speed,
    jobs: Sequence[Job],
    servers: int,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> Run:
    """Run the engine to the end, or raise if it does not get there.

    The kernel is set up as `simulate` does it; only the plans are taken as they are.
    """
    view = view_of(jobs)
    policy, control = pair.policy, speed.control
    options = Options(passes=passes, record=True)
    rules = _rules(view, Cluster.homogeneous(servers), policy, control, options, False)
    run = Run(
        view,
        rules,
        _orders(view, policy),
        _laws(policy, control),
        control.initial,
        np.array(coins, dtype=np.float64),
    )
    status = run.advance(MOST_INSTANTS)
    assert status == DONE, f"{MOST_INSTANTS} instants and no end: {jobs}"
    run.check()
    return run


def compare(
    pair: Pair,
    speed: Speed,
    jobs: Sequence[Job],
    servers: int,
    coins: Sequence[float] = (),
    *,
    passes: str = "instant",
    exactly: bool,
) -> None:
    """Run both; everything they tell must agree, exactly or to 1e-9."""
    expected = simulate_exactly(jobs, servers, pair.discipline, speed.exact, coins, passes)
    run = run_engine(pair, speed, jobs, servers, coins, passes)
    same = _same_exactly if exactly else _same_nearly
    told = f"{pair.name}, {speed.name}, passes={passes}, servers={servers}, {jobs}"
    # Work left is a difference of large numbers: its error goes with the sum of all works.
    works = float(sum(job.work for job in jobs))
    rows = expected.trajectory
    checks: list[tuple[str, Any, Any, float]] = [
        ("start", run.state.start, expected.start, 0.0),
        ("end", run.state.end, expected.end, 0.0),
        ("time", run.rows("time"), [row.time for row in rows], 0.0),
        ("rate", run.rows("rate"), [row.rate for row in rows], 0.0),
        ("workload", run.rows("workload"), [row.workload for row in rows], works),
    ]
    if pair.policy.backfill == "conservative":
        checks.append(("promise", _standard(run.state.first_promise, expected), expected.promises, 0.0))
    if pair.policy.preemptive:
        checks += _segment_checks(run, expected)
    for name, found, wanted, scale in checks:
        problem = same(np.asarray(found), wanted, scale)
        assert not problem, f"{name}: {problem}; {told}"
    for name in COUNTS:
        wanted = [getattr(row, name) for row in rows]
        found = run.rows(name).tolist()
        assert found == wanted, f"{name}: {found} is not {wanted}; {told}"


def _standard(promises: np.ndarray, expected: Outcome) -> np.ndarray:
    """Promises without the infinitesimal of those made beside an overdue job: one ulp here."""
    wanted = np.array(_floats(expected.promises))
    return np.where(promises == np.nextafter(wanted, np.inf), wanted, promises)


def _segment_checks(run: Run, expected: Outcome) -> list[tuple[str, Any, Any, float]]:
    names = ("segment_job", "segment_start", "segment_stop")
    found = sorted(zip(*(run.rows(name).tolist() for name in names), strict=True))
    columns = zip(*found, strict=True), zip(*expected.segments, strict=True)
    return [
        (name, np.array(mine), list(theirs), 0.0)
        for name, mine, theirs in zip(names, *columns, strict=True)
    ]


def _same_exactly(found: np.ndarray, wanted: Sequence[Fraction | int], scale: float) -> str:
    told = found.tolist()
    return "" if told == list(wanted) else f"{told} is not {_floats(wanted)}"


def _same_nearly(found: np.ndarray, wanted: Sequence[Fraction | int], scale: float) -> str:
    told = np.array(_floats(wanted))
    if found.shape != told.shape:
        return f"{found.tolist()} is not {told.tolist()}"
    near = np.abs(found - told) <= TOLERANCE * np.maximum(np.abs(told), scale)
    return "" if near.all() else f"{found.tolist()} is not {told.tolist()}"


def _floats(values: Sequence[Fraction | int]) -> list[float]:
    return [float(value) for value in values]
