"""Energy adds up, and the measures of a run are those of its table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import controls, measures, ordered, orders
from oracle import simulate as simulate_exactly
from oracle.strategies import Workload, workloads

from .runs import STARTED_ONCE, any_control, any_power, integral, policies, run, seeds

EXAMPLES = 300
near = pytest.approx


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_plan=1), policies, seeds, st.sampled_from(("run", "kill")))
def test_energy_adds_up(drawn: Workload, policy: str, seed: int, over_limit: str):
    """Jobs and idle processors together use the integral of the power; each job its share."""
    power = any_power(seed)
    result = run(drawn, policy, any_control(seed), power, over_limit=over_limit)
    rows = result.trajectory
    total = np.sum(np.diff(rows["time"]) * rows["power"].to_numpy()[:-1])
    bill = result.summary["energy"]
    assert bill["busy_joules"] + bill["idle_joules"] == near(total, rel=1e-9)
    assert bill["busy_joules"] == near(result.jobs["energy"].sum(), rel=1e-9)

    watts = {rate: busy for rate, (busy, _) in power.table.items()}
    energy = np.zeros(len(drawn.jobs))
    for piece in result.segments.itertuples():
        used = integral(result, piece.start, piece.end, watts)
        energy[piece.job - 1] += drawn.jobs[piece.job - 1].procs * used
    assert result.jobs["energy"].tolist() == near(energy.tolist(), rel=1e-9, abs=1e-9 * total)


@settings(max_examples=EXAMPLES)
@given(workloads(20), policies, seeds)
def test_power_of_every_row(drawn: Workload, policy: str, seed: int):
    """Eq. (11) of [rumyantsev2018] in each row."""
    power = any_power(seed)
    for row in run(drawn, policy, any_control(seed), power).trajectory.itertuples():
        busy, idle = power.table[row.rate]
        assert row.power == near(row.busy * busy + (drawn.servers - row.busy) * idle, rel=1e-12)


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_work=1), st.sampled_from(STARTED_ONCE), seeds)
def test_loads(drawn: Workload, policy: str, seed: int):
    """Potential load is effective load and waste; effective load is the work done."""
    told = run(drawn, policy, any_control(seed)).summary
    wasted = told["potential_load"] - told["effective_load"]
    assert told["job_wasting"] == near(wasted, rel=1e-9, abs=1e-9 * told["potential_load"])
    area = sum(job.work * job.procs for job in drawn.jobs)
    assert told["effective_load"] * told["makespan"] == near(area, rel=1e-9)
    assert 0 < told["utilisation"] <= 1 + 1e-12
    assert sum(told["rate_shares"].values()) == near(1, rel=1e-9)


@settings(max_examples=EXAMPLES)
@given(workloads(12), seeds)
def test_measures_of_the_table(drawn: Workload, seed: int):
    """Waits, sojourns and slowdowns are those of the oracle."""
    result = run(drawn, "fcfs")
    exact = simulate_exactly(drawn.jobs, drawn.servers, ordered(orders.fcfs), controls.constant(1))
    jobs = result.jobs
    assert jobs["wait"].tolist() == measures.delays(drawn.jobs, exact)
    assert jobs["sojourn"].tolist() == measures.sojourns(drawn.jobs, exact)
    assert jobs["service"].tolist() == measures.services(exact)
    slowdowns = measures.slowdowns(drawn.jobs, exact)
    assert jobs["slowdown"].tolist() == [near(float(x)) for x in slowdowns]
    bounded = measures.bounded_slowdowns(drawn.jobs, exact)
    assert jobs["bounded_slowdown"].tolist() == [near(float(x)) for x in bounded]
    assert (jobs["bounded_slowdown"] >= 1).all()
    assert (jobs["slowdown"] >= 1).all()
    finite = [float(x) for x in slowdowns if math.isfinite(x)]
    if len(finite) == len(slowdowns):
        assert result.summary["slowdown"]["mean"] == near(sum(finite) / len(finite))


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_work=1), policies, seeds)
def test_means_of_the_trajectory(drawn: Workload, policy: str, seed: int):
    """The totals kept during the run are the sums over its rows."""
    result = run(drawn, policy, any_control(seed))
    rows, told = result.trajectory, result.summary
    lapse = np.diff(rows["time"])
    left = rows.iloc[:-1]
    slope = left["rate"] * left["running"] * lapse
    for name, value in (
        ("mean_busy", left["busy"]),
        ("mean_queue", left["queued"]),
        ("effective_load", left["rate"] * left["busy"]),
        ("potential_load", left["rate"] * left["busy"].where(left["queued"] == 0, drawn.servers)),
        ("mean_workload", left["workload"] - slope / 2),
        ("mean_workload_at_epochs", left["workload"]),
    ):
        assert told[name] * told["makespan"] == near(
            float(np.sum(value * lapse)), rel=1e-9, abs=1e-9
        )
