"""Racks: sets of nodes that nest, in cluster files, under failures and under caps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sojourn
from sojourn.cluster import Cluster, Rack, Server, read_cluster, write_cluster
from sojourn.cluster.rack import do_not_nest, racks_around
from sojourn.errors import ClusterError, OptionError
from sojourn.jobs.models.failures import Failures

MACHINE = """
[[node]]
name = "n[1-9]"
cores = 4
ops = 4e6
watts = 200
idle_watts = 50

[[partition]]
name = "p"
nodes = "n[1-3]"

"""
RACKS = """
[[rack]]
name = "r[1-4]"
nodes = "n[1-8]"

[[rack]]
name = "left"
racks = ["r[1-2]"]

[[rack]]
name = "room"
racks = ["left", "r3"]
nodes = "n9"
"""


@pytest.fixture
def described(tmp_path):
    def call(racks: str = RACKS) -> Cluster:
        path = tmp_path / "machine.toml"
        path.write_text(MACHINE + racks)
        return read_cluster(path)

    return call


def test_racks_of_a_description(described, tmp_path):
    cluster = described()
    assert {rack.name: rack.nodes for rack in cluster.racks} == {
        "r1": (0, 1), "r2": (2, 3), "r3": (4, 5), "r4": (6, 7),
        "left": (0, 1, 2, 3), "room": (0, 1, 2, 3, 4, 5, 8),
    }  # fmt: skip
    write_cluster(cluster, tmp_path / "again.toml")
    assert read_cluster(tmp_path / "again.toml").racks == cluster.racks
    with pytest.raises(OptionError, match="CSV has no caps and racks"):
        write_cluster(replace(cluster, partitions=()), tmp_path / "again.csv")
    some = cluster.select(names=["n1", "n4", "n9"])
    assert {rack.name: rack.nodes for rack in some.racks} == {
        "r1": (0,), "r2": (1,), "left": (0, 1), "room": (0, 1, 2)
    }  # fmt: skip


def test_levels(described):
    racks = described().racks

    def names(level):
        return [None if rack is None else rack.name for rack in racks_around(9, racks, level)]

    first = ["r1", "r1", "r2", "r2", "r3", "r3", "r4", "r4", "room"]
    assert names(1) == first
    assert names(2) == [*["left"] * 4, "room", "room", None, None, None]
    assert names(3) == [*["room"] * 4, *[None] * 5]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('name = "a"', "rack 1: nodes': is missing; name some"),
        ('nodes = "n1"', "rack 1: name': is missing"),
        ('name = "a"\nnodes = "m1"', "no node is called 'm1'"),
        ('name = "a"\nracks = "b"', "rack 1: racks': no rack 'b' so far; those inside come before"),
        ('name = "a[1-2]"\nnodes = "n[1-3]"', "3 nodes for 2 racks; give each as many"),
        ('name = "a"\nnode = "n1"', "unknown key 'node'; did you mean 'nodes'"),
        ('name = "a"\nnodes = "n1"\n[[rack]]\nname = "a"\nnodes = "n2"', "'a' is there already"),
        ('name = "p"\nnodes = "n1"', "rack 'p': a partition of that name has other nodes"),
        (
            'name = "a"\nnodes = "n[1-2]"\n[[rack]]\nname = "b"\nnodes = "n[2-3]"',
            "racks 'a' and 'b' share nodes, but neither has all of the other's; racks must nest",
        ),
    ],
)
def test_bad_racks_are_one_line(described, table, words):
    with pytest.raises(ClusterError) as caught:
        described(f"[[rack]]\n{table}\n")
    assert words in str(caught.value)
    assert "machine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rack", "words"),
    [
        (lambda: Rack("", (0,)), "has no name"),
        (lambda: Rack("a", ()), "has no node"),
        (lambda: Cluster(4, racks=(Rack("a", (0,)),)), "there is no node 0"),
    ],
)
def test_bad_racks_in_python(rack, words):
    with pytest.raises(OptionError, match=words):
        rack()


def test_sets_that_nest_are_told_from_others():
    rng = np.random.default_rng(5)
    for _ in range(300):
        sets = {
            f"s{k}": set(rng.choice(6, rng.integers(1, 5), replace=False).tolist())
            for k in range(4)
        }
        apart = any(a & b and not (a <= b or b <= a) for a in sets.values() for b in sets.values())
        pair = do_not_nest(sets)
        assert (pair is not None) == apart
        if pair is not None:
            a, b = (sets[name] for name in pair)
            assert a & b
            assert not a <= b
            assert not b <= a


@pytest.mark.parametrize(("level", "size"), [(1, {2, 1}), (2, {4, 6, 1})])
def test_nodes_fail_with_their_rack(described, level, size):
    """With rack = 1 all of a rack is down at once; who is in none fails alone."""
    cluster = described(RACKS.replace('nodes = "n9"', ""))
    jobs = sojourn.lublin(60, 36, load=0.6, seed=1)
    failures = Failures(mtbf=4 * 86400.0, repair=7200.0, repairs="constant", rack=1.0, level=level)
    run = sojourn.simulate(jobs, cluster, "easy", failures=failures, node_failure="requeue")
    # As drawn apart from the run: each failure of a node is one of all nodes of its rack.
    around = racks_around(9, cluster.racks, level)
    members = [(k,) if rack is None else rack.nodes for k, rack in enumerate(around)]
    alone = replace(failures, rack=0.0).outages(9, float(jobs.submit[0]), 1e7, 0)
    ours = failures.outages(9, float(jobs.submit[0]), 1e7, 0, members)
    for unit, down in zip(alone.unit, alone.down, strict=True):
        hit = [
            k for k in range(9) if ((ours.down <= down) & (down < ours.up))[ours.unit == k].any()
        ]
        assert set(members[unit]) <= set(hit)
    assert {len(rack) for rack in members} == size
    assert run.summary["failures"]["failures"] > 0


def test_racks_in_a_row_are_those_of_per_rack(described):
    """Racks of two nodes in the file are racks of two by their number."""
    cluster = described('[[rack]]\nname = "r[1-4]"\nnodes = "n[1-8]"\n')
    cluster = cluster.select(names=[f"n{k}" for k in range(1, 9)])
    jobs = sojourn.lublin(80, 32, load=0.6, seed=2)
    ours, theirs = (
        sojourn.simulate(
            jobs, cluster, "easy", failures=f"mtbf=9d,repair=4h,rack=0.5{more}",
            node_failure="requeue", checkpoint="daly",
        )
        for more in ("", ",per_rack=2")
    )  # fmt: skip
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.summary["failures"]["failures"] == theirs.summary["failures"]["failures"] > 0


def test_what_is_refused(described):
    jobs = sojourn.lublin(5, 8, load=0.5, seed=1)
    plain = Cluster.of([Server("s", 4)] * 2)
    with pytest.raises(OptionError, match=r"the cluster has no racks; give per_rack, or racks in"):
        sojourn.simulate(jobs, plain, failures="mtbf=1d,rack=0.5")
    with pytest.raises(OptionError, match=r"level = 4, but no racks of the cluster are so deep"):
        sojourn.simulate(jobs, described(), failures="mtbf=1d,rack=0.5,level=4")
    with pytest.raises(OptionError, match=r"cap 'r5': .* called so; choose from p, r1"):
        sojourn.simulate(jobs, described(), cap="r5=1kW")
    with pytest.raises(OptionError, match=r"'p' and 'r2' share nodes, .* caps must nest"):
        sojourn.simulate(jobs, described(), cap="p=1kW, r2=1kW")


def test_a_cap_of_a_rack_is_kept(described):
    jobs = sojourn.lublin(100, 16, load=0.9, seed=3)
    cluster = described()
    run = sojourn.simulate(jobs, cluster, "easy", cap="r1=250W, left=700W")
    assert run.summary["caps"]["r1"]["peak_watts"] <= 250
    assert run.summary["caps"]["left"]["peak_watts"] <= 700
    assert run.summary["caps"]["r1"]["exceeded_seconds"] == 0
    free = sojourn.simulate(jobs, cluster, "easy")
    assert run.summary["wait"]["mean"] > free.summary["wait"]["mean"]


def test_a_rack_is_maintained(described):
    jobs = sojourn.Jobs({"submit": [0, 10], "runtime": [50, 50], "procs": [4, 32]})
    cluster = replace(described(), partitions=())
    run = sojourn.simulate(jobs, cluster, "easy", maintenance="first=5,length=100,nodes=r1 r2")
    # Five nodes are left from 5 to 105 s, and the second job asks for eight.
    assert run.start.tolist() == [0, 105]
