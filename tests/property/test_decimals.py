"""Times with decimals are scheduled as the same integers are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn import Jobs
from sojourn.engine.grid import ticks_in
from sojourn.run.simulate import prepare

POLICIES = ("fcfs", "first-fit", "easy", "easy:4", "sjf+easy", "conservative", "lpf", "lcfs-pr")
WIDTHS = ("mean_queue", "mean_present", "utilisation", "effective_load", "job_wasting")
LENGTHS = ("mean_workload", "mean_workload_at_epochs", "makespan")


def tiny(seed: int, unit: float) -> Jobs:
    """Twelve jobs on four processors whose times are so many parts of a second."""
    rng = np.random.default_rng(seed)
    submit, runtime = np.sort(rng.integers(0, 30, 12)), rng.integers(1, 20, 12)
    return Jobs(
        {
            "submit": submit / unit,
            "runtime": runtime / unit,
            "estimate": runtime * rng.integers(1, 3, 12) / unit,
            "procs": rng.integers(1, 5, 12),
        }
    )


def troubles(unit: float) -> list[dict[str, Any]]:
    return [
        {"time": 5 / unit, "kind": "cancel", "job": 3},
        {"time": 9 / unit, "kind": "down", "procs": 2, "until": 14 / unit},
        {"time": 17 / unit, "kind": "reserve", "procs": 2, "until": 23 / unit},
    ]


@pytest.mark.parametrize("unit", [10.0, 100.0, 1000.0])
@pytest.mark.parametrize("policy", POLICIES)
def test_decimals_are_scheduled_as_integers(policy: str, unit: float) -> None:
    preemptive = policy in ("lpf", "lcfs-pr")
    for seed in range(30):
        given = [{}] if preemptive else [{}, {"events": troubles}]
        for more in given:
            whole, parts = (
                sojourn.simulate(
                    tiny(seed, one), 4, policy, record=True, **{k: v(one) for k, v in more.items()}
                )
                for one in (1.0, unit)
            )
            for name in ("start", "end", "promises"):
                expected = getattr(whole, name) / unit
                assert np.array_equal(getattr(parts, name), expected, equal_nan=True), (seed, name)
            if seed < 2:
                _everything_is_in_seconds(parts, whole, unit)


def _everything_is_in_seconds(parts: sojourn.Result, whole: sojourn.Result, unit: float) -> None:
    said, expected = parts.summary, whole.summary
    for name in WIDTHS:
        assert said[name] == pytest.approx(expected[name], nan_ok=True), name
    for name in LENGTHS:
        assert said[name] * unit == pytest.approx(expected[name]), name
    for name in ("time", "workload"):
        rows = parts.trajectory[name].to_numpy() * unit
        assert rows == pytest.approx(whole.trajectory[name].to_numpy(), abs=1e-9), name
    for name in ("start", "end"):
        rows = parts.segments[name].to_numpy() * unit
        assert rows == pytest.approx(whole.segments[name].to_numpy(), nan_ok=True), name


@pytest.mark.parametrize(
    ("submit", "ticks"),
    [(3.0, 1), (0.3, 10), (0.25, 100), (0.125, 1000), (0.0625, 1), (1 / 3, 1), (0.1 + 0.2, 1)],
)
def test_only_decimals_are_counted_in_ticks(submit: float, ticks: int) -> None:
    jobs = Jobs({"submit": [submit], "runtime": [1.0], "estimate": [2.0], "procs": [1]})
    assert ticks_in(prepare(jobs, 4)[0].jobs, None) == ticks


def test_scores_over_time_see_seconds() -> None:
    @sojourn.score
    def patient(jobs, j, now, theta):  # type: ignore[no-untyped-def]
        # Whoever has waited a second goes before all others, the widest first.
        return -jobs.procs[j] if now - jobs.submit[j] >= 1.0 else 0.0

    jobs = Jobs(
        {
            "submit": [0.0, 0.1, 0.2, 0.3],
            "runtime": [2.5, 1.0, 1.0, 1.0],
            "estimate": [2.5, 1.0, 1.0, 1.0],
            "procs": [4, 1, 2, 4],
        }
    )
    assert np.argsort(sojourn.simulate(jobs, 4, patient).start).tolist() == [0, 3, 1, 2]
