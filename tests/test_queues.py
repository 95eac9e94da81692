"""Several queues to one cluster, partitions, licences and features, through the public way."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sojourn
from sojourn import Jobs, OptionError, PolicyError, Result
from sojourn.cluster import Cluster, Node, Partition, Queue, Server
from sojourn.policy.changing import CHANGING
from sojourn.policy.orders import ORDERS


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


def counted(procs: int, *queues: Queue, between: str = "priority") -> Cluster:
    """Processors that are only counted, with queues to them."""
    return Cluster.homogeneous(procs, queues=queues, between=between)


ALIKE = {
    "submit": [0, 1, 1, 1, 1, 1],
    "runtime": [10] * 6,
    "procs": [1] * 6,
    "queue": ["a", "a", "a", "b", "b", "b"],
}
BACKFILLS = ("fcfs", "first-fit", "easy", "easy:2", "conservative")


@pytest.mark.parametrize("policy", BACKFILLS)
def test_queues_take_turns(policy: str) -> None:
    """One processor: the queue after the one that was served last is next."""
    cluster = counted(1, Queue("a"), Queue("b"), between="round-robin")
    assert run(ALIKE, cluster, policy).start.tolist() == [0, 20, 40, 10, 30, 50]


@pytest.mark.parametrize("policy", BACKFILLS)
def test_queues_have_shares(policy: str) -> None:
    """Of a and b with weights 1 and 2, b is next until it has had twice as much as a."""
    cluster = counted(1, Queue("a"), Queue("b", weight=2), between="weights")
    # Served by weight, a and b: 10, 0; 10, 5; 10, 10, where the first of the file goes on; 20, 10.
    assert run(ALIKE, cluster, policy).start.tolist() == [0, 30, 50, 10, 20, 40]


@pytest.mark.parametrize("policy", BACKFILLS)
def test_who_would_exceed_a_limit_is_passed_over(policy: str) -> None:
    """Two of a at once, however many processors are free; who comes after them is not held up.

    When one of a has ended its third goes first; but a promise that was made meanwhile is kept.
    """
    third, last = (11, 10) if policy == "conservative" else (10, 11)
    for limit in ({"max_running": 2}, {"max_used": 2}):
        cluster = counted(4, Queue("a", priority=1, **limit), Queue("b"))
        assert run(ALIKE, cluster, policy).start.tolist() == [0, 1, third, 1, 1, last]


def test_who_is_passed_over_has_no_promise() -> None:
    """The second of a is due when the first starts: it lets the wide one of b go first."""
    cluster = counted(4, Queue("a", priority=1, max_running=1), Queue("b"))
    jobs = {
        "submit": [0, 0, 0],
        "runtime": [10, 10, 5],
        "procs": [1, 1, 3],
        "queue": ["a", "a", "b"],
    }
    result = run(jobs, cluster, "conservative", decisions=True)
    assert result.start.tolist() == [0, 10, 0]
    assert result.promises.tolist() == [0, 10, 0]
    said = result.decisions.table()["says"].tolist()
    assert said[:3] == [
        "job 1 starts as promised",
        "job 3 starts as promised",
        "job 2 is passed over: its queue is at its limit, with 1 processors",
    ]


@pytest.mark.parametrize("order", ["wfp3", "expansion", "unicef"])
def test_a_queue_alone_is_ordered_as_by_the_policy(order: str) -> None:
    rng = np.random.default_rng(7)
    jobs = {
        "submit": np.sort(rng.integers(0, 400, 80)),
        "runtime": rng.integers(1, 60, 80),
        "procs": rng.integers(1, 5, 80),
    }
    expected = run(jobs, Cluster.homogeneous(4), f"{order}+easy")
    for cluster, policy in (
        (counted(4, Queue("all", order=order)), "easy"),
        (counted(4, Queue("all")), f"{order}+easy"),
        (Cluster.of(nodes(4), queues=[Queue("all", order=order)]), "easy"),
    ):
        assert run(jobs, cluster, policy).start.tolist() == expected.start.tolist()


def test_an_order_of_ones_own_beside_named_ones() -> None:
    """The policy's order is that of queue a; b has its own, and both change with time."""

    @sojourn.score
    def patience(jobs, j, now, theta):  # type: ignore[no-untyped-def]
        return now - jobs.submit[j]

    jobs = {
        "submit": [0, 1, 2, 3, 4],
        "runtime": [10, 10, 10, 10, 1],
        "procs": [1] * 5,
        "queue": ["a", "a", "a", "b", "b"],
    }
    cluster = counted(1, Queue("a"), Queue("b", order="wfp3"), between="round-robin")
    # Of a the last first, of b the one whose wait is the longest by its estimate.
    assert run(jobs, cluster, patience).start.tolist() == [0, 31, 11, 21, 10]


def test_the_orders_that_change_with_time_are_all_known() -> None:
    timed = {name for name, order in ORDERS.items() if order.depends_on_time}
    assert timed == set(CHANGING)


def test_limits_on_counted_processors() -> None:
    cluster = counted(8, Queue("q", max_time=10, max_procs=4, max_used=3))
    jobs = {
        "submit": [0] * 5,
        "runtime": [10, 11, 5, 11, 1],
        "estimate": [10, 11, 5, -1, 20],
        "procs": [3, 1, 4, 1, 9],
    }
    result = run(jobs, cluster)
    assert result.jobs["reason"].tolist() == ["", "queue", "queue", "queue", "processors"]
    waits = sojourn.simulate(Jobs(jobs), cluster, clean=(), estimates=2).jobs["reason"]
    assert waits.tolist() == ["", "queue", "queue", "queue", "processors"]


def test_results_by_queue() -> None:
    cluster = counted(1, Queue("a"), Queue("b"), between="round-robin")
    table = run(ALIKE, cluster).by("queue")
    assert table["mean_wait"].tolist() == pytest.approx([58 / 3, 29])


@pytest.mark.parametrize("policy", ["lcfs-pr", "spf", "lpf"])
def test_jobs_are_not_stopped_between_queues(policy: str) -> None:
    with pytest.raises(PolicyError, match="stops jobs, which is not defined between queues") as it:
        run(ALIKE, counted(4, Queue("a"), Queue("b")), policy)
    assert "\n" not in str(it.value)


@pytest.mark.parametrize("order", ["sjff", "sjf+easy", "easy"])
def test_orders_of_queues_are_known(order: str) -> None:
    with pytest.raises(PolicyError, match=f"queue 'a': .*order '{re.escape(order)}'") as it:
        run(ALIKE, counted(4, Queue("a", order=order)))
    assert "\n" not in str(it.value)


def test_stepping_keeps_the_limits_of_queues() -> None:
    cluster = counted(4, Queue("a", max_running=1), Queue("b", priority=3, max_used=2))
    jobs = Jobs(
        {
            "submit": [0] * 4,
            "runtime": [10] * 4,
            "procs": [1, 1, 2, 1],
            "queue": ["a", "a", "b", "b"],
        }
    )
    stepped = sojourn.Simulation(jobs, cluster, clean=())
    decision = stepped.step()
    assert decision is not None
    assert decision.waiting.tolist() == [0, 1, 2, 3]
    decision.start(0)
    with pytest.raises(OptionError, match="one more than queue 'a' lets run at once, 1 do"):
        decision.start(1)
    decision.start(2)
    with pytest.raises(OptionError, match="needs 1 processors, 2 of the 2 of queue 'b' are in use"):
        decision.start(3)
    decision = stepped.step()
    assert decision is not None
    decision.start(1)
    decision.start(3)
    assert stepped.step() is None
    assert stepped.result.start.tolist() == [0, 10, 0, 10]


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


def test_without_an_estimate_limits_see_the_plan() -> None:
    """Of partition and queue alike: the recorded runtime, times the factor of the estimates."""
    jobs = {
        "submit": [0, 0, 0],
        "runtime": [100, 60, 60],
        "procs": [1, 1, 1],
        "estimate": [100, -1, 101],
    }
    in_partition = [Partition("short", (0, 1), max_time=100)]
    machines = {
        "partition": Cluster.of(nodes(2, 2), partitions=in_partition),
        "queue": Cluster.of(nodes(2, 2), queues=[Queue("short", max_time=100)]),
    }
    for reason, cluster in machines.items():
        for estimates, fate in (("user", ""), (1.5, ""), (2.0, reason)):
            result = sojourn.simulate(Jobs(jobs), cluster, estimates=estimates, clean=())
            assert result.jobs["reason"].tolist() == ["", fate, reason], (reason, estimates)


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
