"""Measures on hand-made numbers, and the accumulators of a run against its trajectory."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import measures
from sojourn.errors import OptionError


def test_slowdown_guards_zero_service():
    sojourn_times = np.array([4.0, 0.0, 3.0, np.nan])
    service = np.array([2.0, 0.0, 0.0, np.nan])
    np.testing.assert_array_equal(
        measures.slowdown(sojourn_times, service), [2.0, 1.0, np.inf, np.nan]
    )


def test_bounded_slowdown():
    np.testing.assert_array_equal(
        measures.bounded_slowdown(np.array([30.0, 5.0, 60.0]), np.array([2.0, 5.0, 20.0])),
        [3.0, 1.0, 3.0],
    )


def test_time_average_cuts_both_ends():
    time, value = np.array([0.0, 2.0, 5.0]), np.array([1.0, 3.0, 0.0])
    assert measures.time_average(time, value) == (2 * 1 + 3 * 3) / 5
    assert measures.time_average(time, value, end=4.0) == (2 * 1 + 2 * 3) / 4
    assert measures.time_average(time, value, end=10.0) == 11 / 10
    assert measures.time_average(time, value, start=1.0, end=3.0) == (1 + 3) / 2


def test_clock_at_integrates_a_changing_speed():
    epochs, speeds = np.array([1.0, 3.0, 4.0]), np.array([2.0, 5.0, 1.0])
    at = np.array([1.0, 2.0, 3.5, 6.0])
    np.testing.assert_array_equal(measures.clock_at(at, epochs, speeds), [0.0, 2.0, 6.5, 11.0])


def test_describe_survives_infinite_values():
    told = measures.describe(np.array([1.0, 2.0, np.inf, np.inf]))
    assert told["median"] == 2.0
    assert told["p95"] == np.inf


def test_distribution():
    values, share = measures.distribution(np.array([3.0, 1.0, 1.0, np.nan, 2.0]))
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(share, [0.5, 0.75, 1.0])


def test_step_integral():
    time, watts = np.array([1.0, 3.0, 4.0]), np.array([5.0, 7.0, 100.0])
    assert measures.step_integral(time, watts) == 2 * 5 + 7


def test_average_wait_and_response():
    """Eqs. (3) and (4) of [gomez2012]."""
    assert measures.average_wait(np.array([0.0, 5.0, 10.0])) == 5.0
    assert measures.average_response(np.array([2.0, 5.0])) == 3.5
    assert np.isnan(measures.average_wait(np.empty(0)))
    assert np.isnan(measures.average_response(np.empty(0)))


def test_response_weighted_by_width():
    times, procs = np.array([10.0, 100.0, 7.0]), np.array([3, 1, 1])
    assert measures.weighted_response(times, procs) == (30 + 100 + 7) / 5
    # A job split into narrower ones counts as it did.
    split = measures.weighted_response(np.array([10.0, 10.0, 100.0, 7.0]), np.array([1, 2, 1, 1]))
    assert split == measures.weighted_response(times, procs)
    assert np.isnan(measures.weighted_response(np.empty(0), np.empty(0, int)))


def test_slowdown_weighted_by_area():
    slowdowns, area = np.array([2.0, 30.0, np.inf]), np.array([90.0, 10.0, 0.0])
    assert measures.weighted_slowdown(slowdowns, area) == (2 * 90 + 30 * 10) / 100
    assert np.isnan(measures.weighted_slowdown(np.array([1.0]), np.array([0.0])))


def test_energy_delay_product():
    assert measures.energy_delay_product(6.0, 7.0) == 42.0
    made = measures.energy_delay_product(np.array([2.0, 3.0]), np.array([5.0, 0.5]))
    np.testing.assert_array_equal(made, [10.0, 1.5])


@pytest.fixture(scope="module")
def result():
    jobs = sojourn.apply_estimates(sojourn.lublin(800, 64, load=0.9, seed=3), "tsafrir", seed=3)
    power = sojourn.RatePower({1.0: (30.0, 10.0), 1.5: (60.0, 12.0)})
    cluster = sojourn.Cluster.homogeneous(64, power=power)
    control = sojourn.workload_hysteresis((1.0, 1.5), 1e4, 1e5)
    return sojourn.simulate(jobs, cluster, "easy", rate=control, record=True)


def test_accumulators_equal_the_trajectory(result):
    t, told = result.trajectory, result.summary
    columns = {name: t[name].to_numpy() for name in t}
    time, rate, busy, queued = (columns[k] for k in ("time", "rate", "busy", "queued"))
    for name, value in {
        "mean_present": columns["present"],
        "mean_queue": queued,
        "mean_busy": busy,
        "potential_load": measures.potential_load(rate, busy, queued, 64),
        "effective_load": measures.effective_load(rate, busy),
        "job_wasting": measures.job_wasting(rate, busy, queued, 64),
        "mean_workload_at_epochs": columns["workload"],
    }.items():
        assert measures.time_average(time, value) == pytest.approx(told[name], rel=1e-9), name
    exact = measures.workload_average(time, columns["workload"], rate, columns["running"])
    assert exact == pytest.approx(told["mean_workload"], rel=1e-9)
    watts = measures.time_average(time, columns["power"])
    assert watts == pytest.approx(told["energy"]["mean_watts"], rel=1e-9)
    assert sum(told["rate_shares"].values()) == pytest.approx(1.0)


def test_energy_of_jobs_and_idle_is_the_bill(result):
    told = result.summary["energy"]
    assert result.jobs["energy"].sum() == pytest.approx(told["busy_joules"], rel=1e-12)
    assert told["busy_joules"] + told["idle_joules"] == told["total_joules"]
    assert told["total_kwh"] * 3.6e6 == pytest.approx(told["total_joules"])


@pytest.mark.parametrize("what", ["user", "group", "queue", "partition", "width", "status"])
def test_classes_add_up(result, what):
    table = result.by(what)
    assert table["jobs"].sum() == len(result.jobs)
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["energy"].sum() == pytest.approx(result.jobs["energy"].sum())
    mean = (table["mean_wait"] * table["jobs"]).sum() / table["jobs"].sum()
    assert mean == pytest.approx(result.jobs["wait"].mean())


def test_unknown_class(result):
    with pytest.raises(OptionError, match="choose from user, group"):
        result.by("colour")


def test_trajectory_must_be_asked_for():
    jobs = sojourn.Jobs({"submit": [0], "runtime": [5], "procs": [1]})
    with pytest.raises(OptionError, match="record=True"):
        _ = sojourn.simulate(jobs, 1).trajectory


def test_no_jobs_at_all():
    jobs = sojourn.Jobs({"submit": [0.0], "runtime": [5.0], "procs": [9]})
    result = sojourn.simulate(jobs, 4, record=True)
    assert result.summary["unaccepted_jobs"] == [1]
    assert result.jobs["status"].tolist() == ["unaccepted"]
    assert len(result.trajectory) == 0
