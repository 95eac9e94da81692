"""Resources, partitions, queues and pools of a cluster, as Python makes them."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import sojourn
from sojourn import report
from sojourn.cluster import Cluster, Node, Partition, Queue, Server
from sojourn.errors import OptionError, PolicyError

THIN = Server("thin", 16, memory=32.0)
GPU = Server("gpu", 8, memory=64.0, resources={"gpu:a100": 2, "gpu:t4": 1, "nvme": 4})
JOBS = sojourn.Jobs({"submit": [0, 5, 6], "runtime": [10, 10, 4], "procs": [20, 2, 30]})


def of(*nodes: Server, **options: object) -> Cluster:
    return Cluster.of(list(nodes) or [THIN, GPU, THIN], **options)


def test_resources_by_node():
    cluster = of()
    assert cluster.resource_names == ("cores", "memory", "gpu", "gpu:a100", "gpu:t4", "nvme")
    assert cluster.capacity.dtype == np.int64
    assert cluster.capacity.tolist() == [
        [16, 8, 16],
        [32 << 20, 64 << 20, 32 << 20],
        *([0, 3, 0], [0, 2, 0], [0, 1, 0], [0, 4, 0]),
    ]
    unknown = of(Server("a", 2), processor="node")
    assert unknown.capacity.tolist() == [[1], [0]]
    assert Cluster.homogeneous(4).capacity.shape == (2, 0)


def test_resources_are_compared_and_counted():
    same = Server("gpu", 8, memory=64.0, resources={"nvme": 4, "gpu:t4": 1, "gpu:a100": 2})
    assert same == GPU
    assert len({same, GPU, THIN}) == 2
    assert Server("a", 1, resources={"gpus": 0}) == Server("a", 1)
    assert dict(Server("a", 1, resources={"gpus": 4, "gpu:a100": 1}).resources) == {
        "gpu": 4,
        "gpu:a100": 1,
    }
    for again in (pickle.loads(pickle.dumps(GPU)), copy.deepcopy(GPU)):
        assert again == GPU


def test_servers_of_unknown_memory_and_speed_are_equal_after_a_journey():
    server = Server("a", 2)
    assert pickle.loads(pickle.dumps(server)) == server == copy.deepcopy(server)
    assert (server.has_speed, server.has_watts, server.idle_known) == (False, False, False)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"gpu": -1}, "resources: gpu: -1; give a whole number"),
        ({"gpu": 1.5}, "1.5; give a whole number"),
        ({"gpu": True}, "True; give a whole number"),
        ({"gpu": "2"}, "'2'; give a whole number"),
        ({"gpu": 2**60}, "give a whole number"),
        ({"cores": 2}, "'cores' is no further resource"),
        ({"2gpu": 2}, "'2gpu' is no name"),
        ({"a b": 2}, "'a b' is no name"),
        ({3: 2}, "'3' is no name"),
        ({"gpu": 1, "gpus": 1}, "'gpu' is given twice"),
        ({"gpu": 1, "gpu:a100": 2}, "1 gpu, but 2 of its types"),
        (["gpu"], "no counts by name"),
    ],
)
def test_bad_resources(resources, words):
    with pytest.raises(OptionError, match=words) as caught:
        Server("a", 1, resources=resources)
    assert "\n" not in str(caught.value)


def test_partitions_and_queues_by_name():
    parts = [Partition("all", (0, 1, 2)), Partition("gpu", (1,), default=True)]
    queues = [Queue("day"), Queue("night", "gpu", "sjf")]
    cluster = of(partitions=parts, queues=queues, pools={"matlab": 4})
    assert cluster.partition("all") is parts[0]
    assert cluster.partition() is parts[1]
    assert cluster.queue() is queues[0]
    assert cluster.queue("night").partitions == ("gpu",)
    assert dict(cluster.pools) == {"matlab": 4}
    with pytest.raises(OptionError, match="no partition is called 'gpus'; did you mean 'gpu'"):
        cluster.partition("gpus")
    with pytest.raises(OptionError, match="no queue is called 'nigth'; did you mean 'night'"):
        cluster.queue("nigth")
    with pytest.raises(OptionError, match="no partition is called 'x'; the cluster has none"):
        of().partition("x")
    with pytest.raises(OptionError, match="no queue"):
        of().queue()


ALL = Partition("all", (0, 1, 2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Partition("", (0,)), "partition: '' is no name"),
        (lambda: Partition("p", ()), "partition 'p' has no node"),
        (lambda: Partition("p", (0, 0)), "has a node twice"),
        (lambda: Partition("p", (-1,)), "node: -1; give a whole number"),
        (lambda: Partition("p", (0,), max_time=0), "max_time: 0; give seconds above 0"),
        (lambda: Partition("p", (0,), max_time=math.nan), "max_time: nan"),
        (lambda: Partition("p", (0,), max_nodes=0), "max_nodes: 0; give a whole number above 0"),
        (lambda: Partition("p", (0,), max_nodes=1, min_nodes=2), "at most 1 nodes, but at least 2"),
        (lambda: Partition("p", (0,), tier=-1), "tier: -1"),
        (lambda: Partition("p", (0,), max_cpus_per_node=0), "max_cpus_per_node: 0"),
        (lambda: Queue(" "), "queue: ' ' is no name"),
        (lambda: Queue("q", ("a", "a")), "names a partition twice"),
        (lambda: Queue("q", order=""), "order ''"),
        (lambda: Queue("q", priority=math.nan), "priority nan"),
        (lambda: Queue("q", weight=0), "weight: 0"),
        (lambda: Queue("q", max_procs=-3), "max_procs: -3"),
        (lambda: Queue("q", max_running=1.5), "max_running: 1.5"),
        (lambda: Queue("q", max_used=0), "max_used: 0"),
        (lambda: of(partitions=[ALL, ALL]), "two partitions are called 'all'"),
        (lambda: of(partitions=[Partition("p", (3,))]), "no node 3; the cluster has 3"),
        (
            lambda: of(partitions=[Partition(n, (0,), default=True) for n in "ab"]),
            "partitions 'a' and 'b' are both the default",
        ),
        (lambda: of(queues=[Queue("q"), Queue("q")]), "two queues are called 'q'"),
        (
            lambda: of(partitions=[ALL], queues=[Queue("q", ("al",))]),
            "queue 'q': no partition is called 'al'; did you mean 'all'",
        ),
        (lambda: of(between="turns"), "between 'turns': choose priority, round-robin, weights"),
        (lambda: of(pools={"x": -1}), "pool 'x': -1; give a whole number"),
        (lambda: of(pools={"gpu": 1}), "pool 'gpu': nodes have a resource of that name"),
        (lambda: of(pools={"": 1}), "pool: '' is no name"),
        (lambda: Cluster(4, partitions=(ALL,)), "no node 2; the cluster has 0"),
        (lambda: of(Server("a", 1, ops=3.0), THIN), "node 'thin' has no ops, but others have"),
        (lambda: of(THIN, reference_ops=2.0), "reference speed, but no node has ops"),
    ],
)
def test_what_cannot_be(make, words):
    with pytest.raises(OptionError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_selected_nodes_keep_their_partitions():
    cluster = of(
        partitions=[ALL, Partition("gpu", (1,)), Partition("ends", (0, 2), max_time=60)],
        queues=[Queue("any"), Queue("g", ("gpu",)), Queue("both", ("gpu", "ends"))],
        pools={"x": 1},
        between="weights",
    )
    some = cluster.select(names=["thin-1", "thin-2"])
    assert [(p.name, p.nodes) for p in some.partitions] == [("all", (0, 1)), ("ends", (0, 1))]
    assert [(q.name, q.partitions) for q in some.queues] == [("any", ()), ("both", ("ends",))]
    assert (some.between, dict(some.pools)) == ("weights", {"x": 1})
    turned = cluster.with_nodes(cluster.nodes[::-1])
    assert turned.partition("gpu").nodes == (1,)
    assert turned.partition("ends").nodes == (0, 2)
    nodes = cluster.counting("node")
    assert (nodes.procs, nodes.partitions, nodes.queues) == (3, cluster.partitions, cluster.queues)
    assert nodes.counting("core") == cluster


def test_nodes_without_speeds_are_equally_fast():
    cluster = of()
    assert not cluster.has_speeds
    assert cluster.columns.slowness.tolist() == [1.0, 1.0, 1.0]
    result = sojourn.simulate(JOBS, cluster, "easy")
    counted = sojourn.simulate(JOBS, 40, "easy")
    assert result.start.tolist() == counted.start.tolist()
    assert result.end.tolist() == counted.end.tolist()


def test_nodes_without_watts_state_no_energy():
    result = sojourn.simulate(JOBS, of(), "easy")
    assert not result.states_energy
    assert "energy" not in result.jobs
    assert not [name for name in result.nodes if "energy" in name]
    assert result.summary["energy"]["idle_known"]
    assert result.summary["energy"]["power_model"] == "assumed 41/18 W per processor"
    priced = sojourn.simulate(JOBS, of(), "easy", price=0.25)
    counted = sojourn.simulate(JOBS, 40, "easy", price=0.25)
    assert priced.states_energy
    assert {"busy_energy", "idle_energy"} <= set(priced.nodes)
    for name in ("total_joules", "cost", "power_peak"):
        assert priced.summary["energy"][name] == pytest.approx(
            counted.summary["energy"][name], rel=1e-12
        )


def test_watts_of_some_nodes_only_are_not_enough():
    mixed = of(Server("a", 4, watts=(10.0, 50.0)), THIN)
    assert not mixed.has_watts
    assert mixed.curves[0].tolist()[::10] == [10.0, 50.0]
    assert mixed.curves[1].tolist()[::10] == [16 * 18.0, 16 * 41.0]
    assert mixed.power_model == "assumed 41/18 W per processor"


def test_what_needs_watts_is_refused_without():
    for placement in ("lowest-power", "lowest-energy"):
        with pytest.raises(PolicyError, match=f"placement '{placement}': not all nodes have watts"):
            sojourn.simulate(JOBS, of(), "easy", placement=placement)
    with pytest.raises(OptionError, match="power_budget: not all nodes have watts"):
        sojourn.simulate(JOBS, of(), constraints=sojourn.Constraints(power_budget=100.0))
    with pytest.raises(OptionError, match="its watts are not known"):
        THIN.watts_at(np.array([0.5]))
    with pytest.raises(OptionError, match="drawn by speed and power"):
        report.cluster(of())


def test_queries_take_what_is_known():
    cluster = of()
    assert len(cluster.select("cores >= 16").nodes) == 2
    with pytest.raises(OptionError, match="no node is left"):
        cluster.select("watts >= 0")


def test_a_notebook_shows_all_parts():
    cluster = Cluster.of(
        [Node("<b>", THIN), Node("g", GPU)],
        partitions=[Partition("p<i>", (0, 1), 93784, 4, 2, True, 3, True, 8)],
        queues=[Queue("q1", max_running=3), Queue("q2", ("p<i>",), "sjf", 2.5, 4, 3600, 8, 1, 16)],
        between="weights",
        pools={"matlab": 1200},
    )
    page = cluster._repr_html_()
    for words in (
        "<th>gpu:a100</th>",
        "p&lt;i&gt;",
        "at most 1-02:03:04, at least 2 nodes, at most 4 nodes, 8 processors of a node, "
        "whole nodes, tier 3, default",
        "to p&lt;i&gt;, priority 2.5, weight 4, at most 1:00:00, 8 processors of a job, "
        "1 jobs at once, 16 processors at once",
        "between queues: weights",
        '<td style="text-align:left">matlab</td><td>1,200</td>',
    ):
        assert words in page
    assert "<i>" not in page
