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
    fresh = decision._simulation._started
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


def first_decision() -> sojourn.run.step.Decision:
    jobs = sojourn.Jobs({"submit": [0, 0, 9], "runtime": [5, 5, 5], "procs": [1, 1, 1]})
    return next(iter(sojourn.Simulation(jobs, 1)))


@pytest.mark.parametrize("j", [-1, 2, 3, 10**9])
def test_jobs_that_do_not_wait(j):
    with pytest.raises(OptionError, match=f"job at position {j} does not wait"):
        first_decision().start(j)


@pytest.mark.parametrize("j", [0.7, "0", None])
def test_positions_are_whole_numbers(j):
    with pytest.raises(OptionError, match="give a whole number"):
        first_decision().start(j)


def test_jobs_that_do_not_run():
    for j in (0, -1, 3):
        with pytest.raises(OptionError, match=f"job at position {j} does not run"):
            first_decision().started(j)


def test_a_decision_that_is_over():
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [5, 5], "procs": [1, 1]})
    run = sojourn.Simulation(jobs, 1)
    old = run.step()
    old.start(0)
    new = run.step()
    for use in (lambda: old.start(1), lambda: old.waiting, lambda: old.now, lambda: old.free):
        with pytest.raises(OptionError, match="this decision is over"):
            use()
    assert new.waiting.tolist() == [1]


def test_columns_are_read_only_and_hide_the_truth():
    columns = first_decision().jobs
    assert not hasattr(columns, "work")
    with pytest.raises(ValueError, match="read-only"):
        columns.submit[0] = 1.0


def test_stepping_on_after_the_end():
    jobs = sojourn.Jobs({"submit": [0], "runtime": [5], "procs": [1]})
    run = sojourn.Simulation(jobs, 1)
    run.step().start(0)
    assert [run.step(), run.step(), run.step()] == [None, None, None]
    assert run.result.end.tolist() == [5.0]


@pytest.mark.parametrize("keywords", [{"cap": 1500}, {"maintenance": "every=1w,length=8h"}])
def test_a_start_that_a_cap_or_a_window_forbids_is_an_error_and_the_job_waits_on(jobs, keywords):
    machine = sojourn.Cluster.homogeneous(PROCS, power=sojourn.ConstantPower(41, 18))
    few = jobs[jobs.procs <= 24]
    run, said = sojourn.Simulation(few, machine, **keywords), set()
    for decision in run:
        for j in decision.waiting:
            if decision.jobs.procs[j] > decision.free:
                break
            try:
                decision.start(j)
            except OptionError as error:
                said.add("a cap has no watts left for it" in str(error))
                break
    assert said == {"cap" in keywords}
    compiled = sojourn.simulate(few, machine, "fcfs", **keywords)
    assert np.array_equal(run.result.jobs["start"], compiled.jobs["start"], equal_nan=True)
