"""Several queues to one cluster, partitions, licences and features, through the public way."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import Jobs, OptionError, PolicyError, Result
from sojourn.cluster import Cluster, Node, Partition, Queue, Server


def nodes(*cores: int, **more: object) -> list[Node]:
    """Nodes n0, n1, ... of so many cores."""
    return [
        Node(f"n{i}", Server(model="made", cores=count, **more))  # type: ignore[arg-type]
        for i, count in enumerate(cores)
    ]


def run(
    jobs: dict[str, object], cluster: Cluster, policy: str = "fcfs", **options: object
) -> Result:
    """Simulate jobs whose estimates are exact."""
    made = Jobs({"estimate": jobs["runtime"], **jobs})
    return sojourn.simulate(made, cluster, policy, clean=(), **options)


def test_the_queue_with_more_priority_goes_first() -> None:
    queues = [Queue("batch", default=True), Queue("urgent", priority=5, order="sjf")]
    cluster = Cluster.of(nodes(1), queues=queues)
    jobs = {
        "submit": [0, 1, 2, 3],
        "runtime": [10, 10, 20, 5],
        "procs": [1, 1, 1, 1],
        "queue": ["batch", "batch", "urgent", "urgent"],
    }
    assert run(jobs, cluster).start.tolist() == [0, 35, 15, 10]


def test_jobs_that_name_no_queue_or_an_unknown_one_are_in_the_default() -> None:
    queues = [Queue("late"), Queue("usual", default=True, priority=1)]
    cluster = Cluster.of(nodes(1), queues=queues)
    jobs = {
        "submit": [0, 1, 1, 1],
        "runtime": [5, 5, 5, 5],
        "procs": [1, 1, 1, 1],
        "queue": ["late", "late", "", "night"],
    }
    assert run(jobs, cluster).start.tolist() == [0, 15, 5, 10]


def test_a_queue_does_not_let_everybody_in() -> None:
    cluster = Cluster.of(nodes(4), queues=[Queue("short", max_time=10, max_procs=2)])
    jobs = {"submit": [0, 0, 0], "runtime": [10, 11, 5], "procs": [2, 1, 3]}
    result = run(jobs, cluster)
    assert result.jobs["reason"].tolist() == ["", "queue", "queue"]


@pytest.mark.parametrize(
    ("cluster", "policy", "error"),
    [
        ({"between": "round-robin"}, "fcfs", OptionError),
        ({"queues": [Queue("a", max_running=1)]}, "fcfs", OptionError),
        ({}, "wfp3", PolicyError),
        ({}, "spf", PolicyError),
    ],
)
def test_what_is_not_defined_between_queues(
    cluster: dict[str, object], policy: str, error: type[Exception]
) -> None:
    described = {"queues": [Queue("a"), Queue("b")], **cluster}
    with pytest.raises(error) as raised:
        run(
            {"submit": [0], "runtime": [1], "procs": [1]},
            Cluster.of(nodes(4), **described),  # type: ignore[arg-type]
            policy,
        )
    assert "\n" not in str(raised.value)


def test_partitions_with_limits() -> None:
    parts = [
        Partition("small", (0,), default=True),
        Partition("large", (0, 1), max_time=100),
    ]
    cluster = Cluster.of(nodes(2, 2), partitions=parts)
    jobs = {
        "submit": [0, 0, 1, 1, 2],
        "runtime": [50, 50, 200, 10, 10],
        "procs": [2, 2, 2, 1, 1],
        "partition": ["small", "large", "large", "none", "small,large"],
    }
    result = run(jobs, cluster, "first-fit")
    assert result.jobs["reason"].tolist() == ["", "", "partition", "partition", ""]
    assert result.start.tolist() == [0, 0, 50]
    where = result.allocations.groupby("job")["node"].agg(list)
    assert where.loc[[1, 2, 5]].tolist() == [["n0"], ["n1"], ["n0"]]


def test_licences_are_shared_by_the_whole_cluster() -> None:
    cluster = Cluster.of(nodes(4, 4), pools={"matlab": 2})
    jobs = {
        "submit": [0, 0, 0, 0],
        "runtime": [10, 10, 10, 10],
        "procs": [1, 1, 1, 1],
        "licences": ["matlab", "matlab:2", "", "matlab:3"],
    }
    assert run(jobs, cluster, "first-fit").start.tolist() == [0, 10, 0]
    assert run(jobs, cluster, "first-fit").jobs["reason"].tolist() == ["", "", "", "licence"]


def test_nodes_with_a_vector_each() -> None:
    """Two GPUs a node: the second job fits beside the first by cores, but not by GPUs."""
    cluster = Cluster.of(nodes(8, 8, resources={"gpu": 2}))
    jobs = {
        "submit": [0, 1, 2],
        "runtime": [10, 10, 10],
        "procs": [4, 4, 4],
        "nodes": [2, 2, 1],
        "gpus": [4, 2, 0],
    }
    for policy in ("first-fit", "easy", "fcfs+easy:inf", "conservative"):
        result = run(jobs, cluster, policy)
        assert result.start.tolist() == [0, 10, 2], policy
        assert result.allocations["procs"].tolist() == [2, 2, 2, 2, 4], policy


def test_features_and_or_not() -> None:
    made = [
        Node("a", Server(model="made", cores=1, features=frozenset({"ib", "old"}))),
        Node("b", Server(model="made", cores=1, features=frozenset({"ib"}))),
        Node("c", Server(model="made", cores=1)),
    ]
    cluster = Cluster.of(made)
    jobs = {
        "submit": [0, 0, 0, 0],
        "runtime": [5, 5, 5, 5],
        "procs": [1, 1, 1, 1],
        "features": ["ib&!old", "!ib", "ib|old", "gpu"],
    }
    result = run(jobs, cluster, "first-fit")
    assert result.allocations["node"].tolist() == ["b", "c", "a"]
    assert result.jobs["reason"].tolist() == ["", "", "", "feature"]


def test_no_node_is_ever_exceeded() -> None:
    rng = np.random.default_rng(5)
    count = 250
    cluster = Cluster.of(nodes(8, 8, 16, 4, memory=16.0, resources={"gpu": 2}), pools={"ansys": 3})
    jobs = {
        "submit": np.sort(rng.integers(0, 2_000, count)),
        "runtime": rng.integers(1, 120, count),
        "procs": rng.integers(1, 9, count),
        "nodes": rng.choice([-1, 1, 2], count),
        "gpus": rng.choice([0, 0, 1, 2], count),
        "memory_per_node": rng.choice([0, 0, 4, 12], count) * 2**20,
        "licences": rng.choice(["", "", "ansys", "ansys:2"], count),
    }
    size = cluster.capacity
    for policy in ("fcfs", "first-fit", "easy", "easy:4", "conservative", "lcfs-pr", "spf"):
        result = run(jobs, cluster, policy)
        table = result.fragmentation
        for row, name in enumerate(cluster.resource_names):
            used = table[f"{name}_used"].to_numpy()
            assert used.max() <= size[row].sum(), (policy, name)
            assert used.min() >= 0, (policy, name)
        held = result.allocations.merge(result.jobs[["job", "gpus"]], on="job")
        assert len(held) == len(result.allocations)
