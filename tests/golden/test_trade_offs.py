"""Waits against energy on KTH: two thresholds and a placement against one threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn.study import Front, hypervolume, optimise, sweep

NARROW = """
import sojourn


@sojourn.score
def narrow(nodes, n, jobs, j, now, theta):
    if jobs.procs[j] <= theta[0]:
        return nodes.watts[n] / nodes.ops[n]
    return nodes.slowness[n]
"""
MEASURES = ["wait_mean", "energy_kwh"]
VARIED = {
    "control.low": "1e3:5e6:log",
    "control.high": "1e3:5e6:log",
    "policy.placement_theta[0]": "0:100",
}
PART, WHOLE = (120_000.0, 3_000.0), (120_000.0, 17_000.0)
"""Longer waits (s) and more energy (kWh) than any point has, for 4,000 jobs and for all."""


def scenario(log: Path, **sections: dict[str, Any]) -> dict[str, Any]:
    return {
        "workload": {"log": str(log)},
        "cluster": {"nodes": "14 x X3470, 12 x E3-1260L"},
        "policy": {"name": "easy"},
        "control": {"kind": "threshold", "rates": [0.7, 1.0], "k": 0},
    } | sections


@pytest.fixture
def searched(data_dir: Path, tmp_path: Path):
    """The front of a search, and means of single thresholds in the same replications."""
    (tmp_path / "narrow.py").write_text(NARROW)
    (log,) = (data_dir / "swf").glob("KTH*")
    placed = {"name": "easy", "placement": f"{tmp_path}/narrow.py:narrow", "placement_theta": [8]}
    control = {"kind": "workload", "rates": [0.7, 1.0], "low": 0, "high": 0}

    def found(workload: dict[str, Any], **effort: Any) -> Front:
        told = scenario(log, policy=placed, control=control)
        told["workload"] |= workload
        return optimise(told, VARIED, MEASURES, seed=1, workers=1, **effort)

    def single(workload: dict[str, Any], thresholds: str, begin: int, replications: int):
        told = scenario(log)
        told["workload"] |= workload
        grid = {"control.k": thresholds}
        table = sweep(told, grid, replications, seed=1, workers=1).table
        table = table[table["replication"] >= begin]
        return table.groupby("control.k")[MEASURES].mean().to_numpy()

    return found, single


def points_of(front: Front) -> list[list[float]]:
    return [[point.objectives[name].estimate for name in MEASURES] for point in front.points]


def test_a_search_beats_every_single_threshold(searched) -> None:
    found, single = searched
    workload = {"first": 4000}
    effort = {"population": 12, "generations": 5, "replications": 1, "reference": PART}
    front = found(workload, **effort)
    volume = hypervolume(points_of(front), PART)
    assert front.hypervolume.estimate == volume
    points = single(workload, "0:5e6:5e5", 0, 1)
    assert np.all(points < PART)
    assert volume > 1.05 * max(hypervolume([point], PART) for point in points)
    again = found(workload, **effort)
    assert [point.values for point in again.points] == [point.values for point in front.points]
    assert points_of(again) == points_of(front)
    assert again.history == front.history


@pytest.mark.nightly
def test_on_the_whole_log(searched) -> None:
    """In draws of its weeks that the search has not seen; the guide has the numbers."""
    found, single = searched
    workload = {"resample": "week"}
    effort = {"population": 16, "generations": 10, "replications": 5, "reference": WHOLE}
    front = found(workload, noisy=True, **effort)
    points = single(workload, "0:5e6:2.5e5", 5, 10)
    best = max(hypervolume([point], WHOLE) for point in points)
    assert hypervolume(points_of(front), WHOLE) > 1.25 * best
