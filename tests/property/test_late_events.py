"""What happens after all jobs have left changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn import Cluster, Jobs, Node, Server

POLICIES = (
    *("fcfs", "sjf", "wfp3", "first-fit", "sjf+first-fit", "easy", "easy:4", "fcfs+easy:inf"),
    *("sjf+easy", "wfp3+easy", "easy@sjf", "conservative", "sjf+conservative"),
    *("wfp3+conservative", "lcfs-pr", "spf", "lpf"),
)
LATE = 1e6
CURVE = tuple(20.0 + 8.0 * i for i in range(11))


def crowds(count: int) -> Iterator[Jobs]:
    """Small crowds on eight processors: exact, longer and shorter estimates; decimals."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = 40
        unit = (1.0, 10.0)[seed % 2]
        runtime = rng.integers(1, 20, n)
        factor = (1, rng.integers(1, 4, n), rng.choice([0.5, 1, 2], n))[seed % 3]
        yield Jobs(
            {
                "submit": np.sort(rng.integers(0, n, n)) / unit,
                "runtime": runtime / unit,
                "estimate": np.ceil(runtime * factor) / unit,
                "procs": rng.integers(1, 9, n),
            }
        )


def of_nodes(*speeds: float) -> Cluster:
    """Nodes of two cores each, of these speeds."""
    return Cluster.of(
        [Node(f"n{k}", Server(f"n{k}", 2, 2 * speed, CURVE)) for k, speed in enumerate(speeds)],
        reference_ops=100.0,
    )


def must_not_change(
    jobs: Jobs, cluster: Cluster, policy: str, events: list[dict[str, Any]]
) -> None:
    options = {"over_limit": "run", "clean": ()}
    plain = sojourn.simulate(jobs, cluster, policy, **options)
    late = sojourn.simulate(jobs, cluster, policy, events=events, **options)
    assert late.start.tolist() == plain.start.tolist()
    assert late.end.tolist() == plain.end.tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_counted_processors(policy: str) -> None:
    cluster = Cluster.homogeneous(8)
    for jobs in crowds(12):
        for event in (
            {"kind": "down", "procs": 1},
            {"kind": "reserve", "procs": 8, "until": 2 * LATE, "announced": LATE},
            {"kind": "stop"},
            {"kind": "cancel", "job": 3},
        ):
            must_not_change(jobs, cluster, policy, [{"time": LATE, **event}])


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_nodes(policy: str) -> None:
    cluster = of_nodes(100.0, 100.0, 100.0, 100.0)
    events = [{"time": LATE, "kind": "down", "nodes": ["n1"]}]
    for jobs in crowds(6):
        must_not_change(jobs, cluster, policy, events)


@pytest.mark.parametrize("policy", POLICIES)
def test_nodes_of_different_speed(policy: str) -> None:
    cluster = of_nodes(50.0, 50.0, 200.0, 100.0)
    for jobs in crowds(6):
        must_not_change(jobs, cluster, policy, [{"time": LATE, "kind": "down", "nodes": ["n1"]}])
