"""One engine, two drivers: decisions made in Python give what the kernels give."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.errors import OptionError

PROCS = 48


@pytest.fixture(scope="module")
def jobs():
    jobs = sojourn.lublin(400, PROCS, load=0.95, seed=5)
    return sojourn.apply_estimates(jobs, "tsafrir", seed=5)


def in_order(decision):
    for j in decision.waiting:
        if decision.jobs.procs[j] > decision.free:
            return
        decision.start(j)


def first_fit(decision):
    for j in decision.waiting:
        if decision.jobs.procs[j] <= decision.free:
            decision.start(j)


def easy(decision):
    in_order(decision)
    if not len(decision.waiting):
        return
    head, *others = decision.waiting
    procs, plan = decision.jobs.procs, decision.jobs.estimate
    # Those started a moment ago run too, from now on.
    fresh = decision._simulation._chosen
    ends = sorted(
        [(decision.started(j) + plan[j], procs[j]) for j in decision.running]
        + [(decision.now + plan[j], procs[j]) for j in fresh]
    )
    have, shadow = decision.free, decision.now
    for end, width in ends:
        if have >= procs[head] and end > shadow:
            break
        have += width
        shadow = end
    extra = have - procs[head]
    for j in others:
        if procs[j] > decision.free:
            continue
        in_time = decision.now + plan[j] <= shadow
        if in_time or procs[j] <= extra:
            extra -= 0 if in_time else procs[j]
            decision.start(j)


@pytest.mark.parametrize(
    ("by_hand", "policy"), [(in_order, "fcfs"), (first_fit, "first-fit"), (easy, "easy")]
)
def test_stepping_equals_the_kernel(jobs, by_hand, policy):
    run = sojourn.Simulation(jobs, PROCS)
    for decision in run:
        by_hand(decision)
    straight = sojourn.simulate(jobs, PROCS, policy)
    np.testing.assert_array_equal(run.result.start, straight.start)
    np.testing.assert_array_equal(run.result.end, straight.end)


def test_stepping_with_rate_control(jobs):
    control = sojourn.workload_hysteresis((1.0, 2.0), 1e4, 1e5)
    run = sojourn.Simulation(jobs, PROCS, rate=control, record=True)
    for decision in run:
        in_order(decision)
    straight = sojourn.simulate(jobs, PROCS, "fcfs", rate=control, record=True)
    np.testing.assert_array_equal(run.result.end, straight.end)
    assert len(run.result.rates) > 2


def test_wrong_decisions_are_named(jobs):
    run = sojourn.Simulation(jobs, PROCS)
    decision = next(iter(run))
    with pytest.raises(OptionError, match="has not ended"):
        _ = run.result
    with pytest.raises(OptionError, match="does not wait"):
        decision.start(399)
    decision.start(0)
    with pytest.raises(OptionError, match="started already"):
        decision.start(0)


def test_a_job_that_does_not_fit():
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [5, 5], "procs": [3, 2]})
    run = sojourn.Simulation(jobs, 4)
    decision = next(iter(run))
    decision.start(0)
    assert decision.free == 1
    assert decision.waiting.tolist() == [1]
    with pytest.raises(OptionError, match="needs 2 processors, 1 are free"):
        decision.start(1)


def test_jobs_never_started_are_counted():
    jobs = sojourn.Jobs({"submit": [0, 1], "runtime": [5, 5], "procs": [1, 1]})
    run = sojourn.Simulation(jobs, 4)
    for _ in run:
        pass
    with pytest.raises(OptionError, match="2 jobs never started"):
        _ = run.result
