"""Laws that every schedule obeys, whatever the policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import kiefer_wolfowitz
from oracle.strategies import Workload, workloads

from .runs import RATES, any_control, integral, policies, run, seeds

EXAMPLES = 300
near = pytest.approx


@settings(max_examples=EXAMPLES)
@given(workloads(20), policies, seeds)
def test_capacity_and_submission(drawn: Workload, policy: str, seed: int):
    """No instant uses more processors than there are, and nobody starts before submission."""
    result = run(drawn, policy, any_control(seed))
    procs = np.array([job.procs for job in drawn.jobs])
    submit = np.array([job.submit for job in drawn.jobs])
    assert (result.start >= submit).all()
    assert (result.end >= result.start).all()
    pieces = result.segments
    width = procs[pieces["job"].to_numpy() - 1]
    start, end = pieces["start"].to_numpy(), pieces["end"].to_numpy()
    for row in result.trajectory.itertuples():
        busy = int(width[(start <= row.time) & (row.time < end)].sum())
        assert busy <= drawn.servers
    # Of several rows of one instant the last one holds until the next.
    last = result.trajectory.drop_duplicates("time", keep="last")
    for row in last.itertuples():
        assert row.busy == width[(start <= row.time) & (row.time < end)].sum()
        assert row.present == ((submit <= row.time) & (row.time < result.end)).sum()
        assert row.queued == row.present - row.running


@settings(max_examples=EXAMPLES)
@given(workloads(20), policies, seeds)
def test_everybody_gets_its_work(drawn: Workload, policy: str, seed: int):
    """The integral of the rate over a job's stretches of service is its job amount."""
    result = run(drawn, policy, any_control(seed))
    received = np.zeros(len(drawn.jobs))
    for piece in result.segments.itertuples():
        received[piece.job - 1] += integral(result, piece.start, piece.end, {r: r for r in RATES})
    assert received.tolist() == near([job.work for job in drawn.jobs], rel=1e-9, abs=1e-9)


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_work=1), policies, seeds)
def test_littles_law(drawn: Workload, policy: str, seed: int):
    """L = lambda W from first submit to last end: the integral of nu is the sum of sojourns."""
    result = run(drawn, policy, any_control(seed))
    rows = result.trajectory
    area = np.sum(np.diff(rows["time"]) * rows["present"].to_numpy()[:-1])
    stays = np.sum(result.end - np.array([job.submit for job in drawn.jobs]))
    assert area == near(stays, rel=1e-9)
    told = result.summary
    assert told["mean_present"] == near(told["throughput"] * told["sojourn"]["mean"], rel=1e-9)
    waits = np.sum(np.diff(rows["time"]) * rows["queued"].to_numpy()[:-1])
    assert told["mean_queue"] * told["makespan"] == near(waits, rel=1e-9, abs=1e-9)


@settings(max_examples=EXAMPLES)
@given(workloads(20, plans="exact", min_work=1))
def test_easy_never_delays_the_head(drawn: Workload):
    """From its first instant as the head a job starts no later than its reservation then."""
    result = run(drawn, "easy")
    start, end = result.start, result.end
    procs = np.array([job.procs for job in drawn.jobs])
    for j, job in enumerate(drawn.jobs):
        first = max([job.submit, *start[:j]])
        if start[j] == first:
            continue
        running = (start <= first) & (first < end)
        reservation = min(
            e for e in end[running] if drawn.servers - procs[running & (end > e)].sum() >= job.procs
        )
        assert start[j] <= reservation


@settings(max_examples=EXAMPLES)
@given(workloads(20, plans="exact", min_work=1))
def test_conservative_keeps_its_promises(drawn: Workload):
    """With exact estimates nobody starts later than promised on arrival."""
    for policy in ("conservative", "sjf+conservative", "expansion+conservative"):
        result = run(drawn, policy)
        assert (result.promises >= [job.submit for job in drawn.jobs]).all()
        assert (result.start <= result.promises).all()


@settings(max_examples=EXAMPLES)
@given(workloads(30))
def test_fcfs_is_the_modified_kiefer_wolfowitz_recursion(drawn: Workload):
    """Delays of FCFS [rumyantsev2014, eqs. (1)-(2)]."""
    submits = [job.submit for job in drawn.jobs]
    gaps = [b - a for a, b in zip(submits, [*submits[1:], submits[-1]], strict=True)]
    expected = kiefer_wolfowitz.delays(
        gaps, [job.work for job in drawn.jobs], [job.procs for job in drawn.jobs], drawn.servers
    )
    assert (run(drawn, "fcfs").start - submits).tolist() == expected


@settings(max_examples=EXAMPLES)
@given(workloads(20, min_plan=1), policies)
def test_killed_at_the_limit(drawn: Workload, policy: str):
    """A job over its limit is served for its limit, is called killed, and no other is."""
    result = run(drawn, policy, over_limit="kill")
    jobs = result.jobs
    limits = [min(job.work, job.plan) for job in drawn.jobs]
    assert jobs["service"].tolist() == near(limits, rel=1e-12)
    killed = [job.work > job.plan for job in drawn.jobs]
    assert (jobs["status"] == "killed").tolist() == killed
    assert result.summary["killed"] == sum(killed)
