"""Energies are stated where somebody gave watts, or asked for them."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cluster import AssumedPower
from sojourn.cluster.power import assumed_watts, assumed_watts_of_study, states_energy, study_asks
from sojourn.measures.registry import in_table
from sojourn.run.compare import compare, measures_of, report

JOBS = sojourn.Jobs({"submit": [0, 5], "runtime": [10, 10], "procs": [3, 2]})
ASSUMED = "assumed 41/18 W per processor"


def test_watts_that_nobody_gave_are_said_to_be_assumed() -> None:
    summary = sojourn.simulate(JOBS, 4, "fcfs").summary
    assert summary["energy"]["power_model"] == assumed_watts(summary) == ASSUMED
    assert summary["energy"]["total_joules"] > 0  # kept for those who read it
    assert not states_energy(summary)


def test_the_same_watts_given_are_not_assumed() -> None:
    power = sojourn.ConstantPower(41, 18)
    summary = sojourn.simulate(JOBS, sojourn.Cluster.homogeneous(4, power=power), "fcfs").summary
    assert summary["energy"]["power_model"] is None
    assert states_energy(summary)
    assert sojourn.Cluster(4, power=power) != sojourn.Cluster(4)


@pytest.mark.parametrize(
    "options", [{"price": 0.25}, {"carbon": 300}, {"rate": "workload:0.8,1.0:1e5:3e5"}]
)
def test_who_asks_for_energy_gets_it_with_the_words(options: dict) -> None:
    summary = sojourn.simulate(JOBS, 4, "fcfs", **options).summary
    assert states_energy(summary)
    assert assumed_watts(summary) == ASSUMED
    names = [measure.name for measure in measures_of(4, options)]
    assert {"energy_kwh", "power_peak"} <= set(names)


def test_nodes_have_watts_of_their_own() -> None:
    summary = sojourn.simulate(JOBS, sojourn.parse_cluster("1 x X5670"), "fcfs").summary
    assert summary["energy"]["power_model"] is None
    assert states_energy(summary)


def test_a_comparison_leaves_out_energies_that_nobody_asked_for() -> None:
    names = [measure.name for measure in measures_of(4, {})]
    always = [each for each in in_table("compare") if not each.needs]
    assert names == [each.name for each in always if each.kind != "energy"]
    rows = [each.row() for each in compare(JOBS, 4, ["fcfs", "easy"])]
    assert rows[0]["power_model"] == ASSUMED
    assert rows[0]["energy_kwh"] > 0
    assert "energy" not in report(rows, "two", {}).lower()
    power = sojourn.Cluster.homogeneous(4, power=sojourn.ConstantPower(41, 18))
    rows = [each.row() for each in compare(JOBS, power, ["fcfs", "easy"])]
    assert "energy (kWh)" in report(rows, "two", {})
    assert "peak power (W)" in report(rows, "two", {})


@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_the_peak_is_that_of_the_busiest_stretch(gap: float) -> None:
    # Three of four processors for 10 s, then all for 5 s, or the second job alone.
    submit = [0.0, 5.0 if gap == 0 else 10.0 + gap]
    jobs = sojourn.Jobs({"submit": submit, "runtime": [10, 10], "procs": [3, 1]})
    power = sojourn.ConstantPower(10, 1)
    result = sojourn.simulate(jobs, sojourn.Cluster.homogeneous(4, power=power), "fcfs")
    most = 40.0 if gap == 0 else 31.0
    assert result.summary["energy"]["power_peak"] == most
    assert np.max(result.power_steps[1]) == most


@pytest.mark.parametrize("power", [(41, 18), (5, 5), (3, 10)])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "lcfs-pr"])
def test_the_peak_is_that_of_the_steps(power: tuple[float, float], policy: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        jobs = sojourn.Jobs(
            {
                "submit": np.sort(rng.integers(0, 40, 30)),
                "runtime": rng.integers(0, 12, 30),  # some last no time at all
                "procs": rng.integers(1, 5, 30),
            }
        )
        machine = sojourn.Cluster.homogeneous(6, power=sojourn.ConstantPower(*power))
        result = sojourn.simulate(jobs, machine, policy, clean=())
        time, watts = result.power_steps
        most = watts[:-1][np.diff(time) > 0].max()
        assert result.summary["energy"]["power_peak"] == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "lcfs-pr"])
def test_the_peak_is_the_same_from_the_recorded_trajectory(policy: str, passes: str) -> None:
    rng = np.random.default_rng(4)
    for k in range(12):
        jobs = sojourn.Jobs(
            {
                "submit": np.sort(rng.integers(0, 60, 40)) / (1 + k % 3),
                "runtime": rng.integers(0, 9, 40) / (1 + k % 2),
                "procs": rng.integers(1, 4, 40),
            }
        )
        options = {"clean": (), "passes": passes, "rate": (1.0, 0.7)[k % 2], "policy": policy}
        bills = [
            sojourn.simulate(jobs, 7, record=record, **options).summary["energy"]
            for record in (True, False)
        ]
        assert bills[0] == bills[1]


def test_the_peak_of_a_controlled_rate_is_that_of_its_steps() -> None:
    power = sojourn.RatePower({0.8: (28.0, 15.0), 1.0: (41.0, 18.0)})
    machine = sojourn.Cluster.homogeneous(4, power=power)
    jobs = sojourn.lublin(200, 4, load=0.8, seed=1)
    result = sojourn.simulate(jobs, machine, "easy", rate="workload:0.8,1.0:1e3:1e4")
    time, watts = result.power_steps
    most = watts[:-1][np.diff(time) > 0].max()
    assert result.summary["energy"]["power_peak"] == most


def test_the_peak_of_nodes_counts_their_idle_watts() -> None:
    machine = sojourn.parse_cluster("2 x X5670")
    result = sojourn.simulate(JOBS, machine, "fcfs")
    time, watts = result.power_steps
    assert result.summary["energy"]["power_peak"] == watts[:-1][np.diff(time) > 0].max()


@pytest.mark.parametrize(
    ("settings", "varied", "assumed", "asks"),
    [
        ({}, [], True, False),
        ({"power": {"busy": 90}}, [], False, False),
        ({}, ["power.idle"], False, False),
        ({"cluster": {"nodes": "6 x X5670"}}, [], False, False),
        ({"power": {"price": 0.2}}, [], True, True),
        ({"control": {"kind": "threshold"}}, [], True, True),
        ({"control": {"kind": "constant"}}, ["policy.name"], True, False),
        ({}, ["control.k"], True, True),
    ],
)
def test_of_a_study_its_scenario_tells(settings, varied, assumed, asks) -> None:
    expected = str(AssumedPower()) if assumed else ""
    assert assumed_watts_of_study(settings, varied) == expected
    assert study_asks(settings, varied) is asks
