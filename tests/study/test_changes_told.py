"""Changes against a baseline: how they are made of pairs, and how a table writes them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from studies import small_scenario

import sojourn
from sojourn.cli._study import as_change
from sojourn.study import Scenario, sweep
from sojourn.study.front import redrawn
from sojourn.study.intervals import Interval
from sojourn.study.outcome import replicated_change
from sojourn.study.paired import relative_change
from sojourn.study.plan import draws_log
from sojourn.study.ratios import ratio_interval


def told(estimate: float, low: float, high: float) -> str:
    return as_change(Interval(estimate, low, high, 0.95, 10, ""))


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((-0.31, -0.35, -0.27), "-31.0 % ± 4.0"),
        ((-0.919, -0.959, -0.75), "-91.9 % (-95.9 to -75.0)"),
        ((11.321, 3.0, 23.61), "+1132.1 % (+300.0 to +2361.0)"),
        ((-0.142, -0.163, -0.1205), "-14.2 % ± 2.1"),
        ((0.0003, 0.0002, 0.0004), "+0.030 % ± 0.010"),
        ((0.0, 0.0, 0.0), "="),
        ((0.5, 0.5, 0.5), "+50.0 % ± 0.0"),
        ((-0.932, -math.inf, math.inf), "-93.2 % (not bounded)"),
        ((-0.25, math.nan, math.nan), "-25.0 %"),
    ],
)
def test_a_table_tells_ends_where_they_are_not_even(interval, text) -> None:
    assert told(*interval) == text


@pytest.mark.parametrize("resampled", [False, True])
def test_no_change_takes_away_more_than_all(resampled: bool) -> None:
    """What is never below 0 falls by 100 % at the most, however few replications there are."""
    values, baseline = np.array([0.0, 10.0, 260.0, 40.0]), np.array([90.0, 120.0, 100.0, 105.0])
    found = replicated_change(values, baseline, resampled)
    assert found.low == -1.0 < found.estimate < found.high
    assert as_change(found).startswith(f"{100 * found.estimate:+.0f}"[:3])
    assert "(-100 to" in as_change(found).replace(".0", "")
    # Numbers that may be below 0, such as a cost, may change by more than all of it.
    assert replicated_change(values - 50.0, baseline, resampled).low < -1


@pytest.mark.parametrize("method", ["fieller", "delta", "jackknife"])
def test_what_is_cut_off_never_held_the_true_change(method: str) -> None:
    rng = np.random.default_rng(8)
    covered = wide = 0
    for _ in range(200):
        luck = rng.exponential(100.0, 5)
        values = 0.05 * luck * rng.exponential(1.0, 5)
        found = relative_change(values, luck, method=method)
        whole = ratio_interval(values, luck, method=method)
        wide += whole.low < 0
        assert found.low == max(whole.low - 1, -1.0)
        covered += (-0.95 in found) == (0.05 in whole)
    assert wide > 0
    assert covered == 200


def test_the_same_in_each_pair_is_no_change_at_all() -> None:
    """However much replications differ: Fieller's interval of these has no bounds."""
    values = np.array([1.0, 100.0, 3.0])
    for resampled in (True, False):
        found = replicated_change(values, values, resampled)
        assert (found.estimate, found.low, found.high) == (0, 0, 0)


def test_a_replication_without_waits_is_compared_too() -> None:
    scenario = {
        "workload": {"model": "poisson", "jobs": 30, "load": 0.15, "work": "exponential:60"},
        "cluster": {"procs": 4},
    }
    study = sweep(scenario, {"workload.load": [0.15, 0.9]}, 8, workers=1)
    quiet = study.table.loc[study.table["workload.load"] == 0.15, "wait_mean"]
    assert quiet.min() == 0 < quiet.max()
    *_, change = study.changes({"workload.load": 0.15}, ["wait_mean"])
    busy = study.table.loc[study.table["workload.load"] == 0.9, "wait_mean"]
    assert change.measures["wait_mean"].estimate == pytest.approx(busy.mean() / quiet.mean() - 1)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    sojourn.write_swf(sojourn.lublin(300, 64, load=0.8, seed=1), path)
    return path


def test_copies_of_a_run_do_not_pass_for_replications(log: Path) -> None:
    """Estimates of one point are drawn, those of the other not: so the log is drawn for both."""
    scenario = {"workload": {"log": str(log)}, "cluster": {"procs": 64}}
    study = sweep(scenario, {"workload.estimates": ["exact", "tsafrir"]}, 4, workers=1)
    assert study.is_resampled
    for point in study.points(["wait_mean"]):
        assert point.measures["wait_mean"].half_width > 0


def test_draws_of_one_log_by_scenario_or_by_key(log: Path) -> None:
    scenario = Scenario.from_mapping({"workload": {"log": str(log)}, "cluster": {"procs": 64}})
    assert not draws_log(scenario, ["policy.name"])
    assert draws_log(scenario, ["workload.resample"])
    assert draws_log(scenario.with_value("workload.resample", "day"), [])
    with pytest.raises(sojourn.OptionError, match="all draws are of one log"):
        sweep(
            scenario,
            {"workload.resample": ["day", "jobs"]},
            4,
            workers=1,
            precision=sojourn.study.Precision("wait_mean", 0.05),
        )


def test_precision_doubles_at_the_most_and_ends_where_runs_fail() -> None:
    precision = sojourn.study.Precision("wait_mean", 0.02, most=20)
    study = sweep(small_scenario(), {}, 3, workers=1, precision=precision)
    assert len(study.plan) == 20
    wide = next(iter(study.points(["wait_mean"])))
    assert precision.replications(wide) == 20
    few = sweep(small_scenario(), {}, 3, workers=1)
    point = next(iter(few.points(["wait_mean"])))
    assert sojourn.study.Precision("wait_mean", 0.02).replications(point) == 6


def test_the_interval_of_a_hypervolume_covers() -> None:
    """One objective, five replications: the volume is the distance of a mean to the corner."""
    from sojourn.study.front import _percentiles

    rng, covered = np.random.default_rng(1), 0
    for study in range(300):
        samples = rng.normal(0, 1, (1, 5, 1))
        low, high = _percentiles([10 - each[0, 0] for each in redrawn(samples, 500, study)], 5)
        covered += low <= 10 <= high
    assert 0.9 <= covered / 300 <= 0.98
