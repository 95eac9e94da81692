"""Targets: how they are written, and what they measure."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn import OptionError, measures
from sojourn.capacity import Target, parse_target
from sojourn.capacity.targets import parse_targets
from sojourn.capacity.weeks import by_week, resampled


@pytest.mark.parametrize(
    ("text", "name", "limit"),
    [
        ("p95=1h", "p95", 3600.0),
        ("mean=30m", "mean", 1800.0),
        ("mean = 30 min", "mean", 1800.0),
        ("p99.9<=2h", "p99.9", 7200.0),
        ("MAX=1.5d", "max", 129_600.0),
        ("median=90s", "median", 90.0),
        ("p50=0", "p50", 0.0),
    ],
)
def test_targets_are_read(text: str, name: str, limit: float) -> None:
    target = parse_target(text)
    assert (target.name, target.limit) == (name, limit)
    assert parse_target(str(target)) == target


@pytest.mark.parametrize(
    "text",
    ["", "p95", "p95=", "p95=1", "p95=h", "p0=1h", "p100=1h", "p95=-1h", "mode=1h", "p95=1y"],
)
def test_targets_that_cannot_be_read(text: str) -> None:
    with pytest.raises(OptionError, match="target '"):
        parse_target(text)


def test_several_targets() -> None:
    assert [str(t) for t in parse_targets("p95=1h,mean=10m")] == ["p95=1h", "mean=10min"]
    assert parse_targets([Target("max", 5.0), "mean=1s"]) == (Target("max", 5), Target("mean", 1))
    with pytest.raises(OptionError, match="no target"):
        parse_targets([])


def test_measures_are_those_of_a_run() -> None:
    wait = np.random.default_rng(2).exponential(100.0, 997).round()
    told = measures.describe(wait)
    for name, value in told.items():
        assert Target(name, 1.0).of(wait) == pytest.approx(value, rel=1e-14)
    assert Target("p95", told["p95"]).is_met(told["p95"])
    assert not Target("p95", told["p95"] - 0.5).is_met(told["p95"])
    assert np.isnan(Target("p95", 1.0).of(wait[:0]))


@pytest.mark.parametrize("name", ["mean", "median", "p95", "max"])
def test_a_weight_counts_as_often_as_it_says(name: str) -> None:
    rng = np.random.default_rng(3)
    wait, times = rng.exponential(10.0, 200), rng.integers(0, 4, 200)
    target = Target(name, 1.0)
    assert target.of(wait, times.astype(float)) == pytest.approx(target.of(np.repeat(wait, times)))


def test_weeks_of_a_log() -> None:
    day = 86_400.0
    submit = np.array([100.0, 100 + 6.9 * day, 100 + 7.1 * day, 100 + 30 * day])
    weeks = by_week(submit, np.array([1.0, 3.0, 10.0, 0.0]), [Target("mean", 5.0)])
    assert [(week.number, week.jobs, week.values, week.met) for week in weeks] == [
        (0, 2, (2.0,), True),
        (1, 1, (10.0,), False),
        (4, 1, (0.0,), True),
    ]
    # Weeks are counted from the first submit, not from second 0.
    later = by_week(submit + 3 * day, np.array([1.0, 3.0, 10.0, 0.0]), [Target("mean", 5.0)])
    assert later == weeks


def test_resampled_weeks_know_that_neighbours_are_alike() -> None:
    rng = np.random.default_rng(6)
    submit = np.sort(rng.uniform(0, 50 * 7 * 86_400, 5_000))
    level = rng.exponential(100.0, 50)[(submit // (7 * 86_400)).astype(int)]
    targets = [Target("mean", 1.0), Target("p95", 1.0)]
    mean, p95 = resampled(submit, level, targets, seed=1)
    assert mean.value == pytest.approx(level.mean())
    assert level.mean() in mean
    # The standard error is that of 50 values, not of 5,000.
    assert mean.high - mean.low == pytest.approx(2 * 1.96 * 100 / np.sqrt(50), rel=0.4)
    assert p95.low < p95.value <= p95.high
    again = resampled(submit, rng.permutation(level), targets, seed=1)[0]
    assert again.high - again.low < 0.3 * (mean.high - mean.low)


def test_the_shortest_of_one_measure_is_left() -> None:
    assert parse_targets("mean=2h,p95=1h,mean=1h,mean=3h") == (
        Target("mean", 3600.0),
        Target("p95", 3600.0),
    )


@pytest.mark.parametrize(("weeks", "known"), [(1, False), (3, False), (4, True)])
def test_few_weeks_tell_no_interval(weeks: int, known: bool) -> None:
    submit = np.arange(weeks) * 7 * 86_400.0
    (mean,) = resampled(submit, np.arange(weeks) + 1.0, [Target("mean", 1.0)])
    assert mean.value == (weeks + 1) / 2
    assert np.isfinite([mean.low, mean.high]).all() == known
