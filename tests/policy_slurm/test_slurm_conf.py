"""Reading slurm.conf: lines, nodes, partitions, switches, and what is not modelled."""

from __future__ import annotations

import math

import pytest

from sojourn.errors import ClusterError, OptionError
from sojourn.policy.slurm.conf import plain_conf, read_slurm_conf
from sojourn.policy.slurm.nodes import node_table
from sojourn.policy.slurm.scheduling import PARAMETERS

SITE = r"""
# all of it
clustername=site   SlurmUser=slurm
SchedulerParameters=bf_interval=5,\
bf_max_job_user=7,bf_continue,bf_max_time=9,my_own=3
include more.conf
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
OverTimeLimit=2
Licenses=abc:4
NodeName=DEFAULT RealMemory=1000 Feature=ib
NodeName=n[1-2,10] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 Weight=3 Gres=gpu:tesla:2,gpu:1,mps:4
NodeName=m1 Procs=6 Features="ib,big" RealMemory=64000
PartitionName=DEFAULT State=UP MaxTime=1-00:00:00
PartitionName=all Nodes=ALL Default=YES DefMemPerCPU=100 PriorityTier=4
PartitionName=few Nodes=n[1-2] OverSubscribe=EXCLUSIVE MaxTime=90 DefaultTime=1:30 MaxNodes=1 \
  Priority=3 State=DOWN
"""


@pytest.fixture
def write(tmp_path):
    def written(text, **others):
        (tmp_path / "slurm.conf").write_text(text)
        for name, more in others.items():
            (tmp_path / f"{name}.conf").write_text(more)
        return tmp_path / "slurm.conf"

    return written


@pytest.fixture
def site(write):
    return read_slurm_conf(write(SITE, more="PriorityType=priority/multifactor\n"))


def test_lines_are_joined_split_and_included_whatever_their_case(site):
    assert site.get("ClusterName") == "site"
    assert site.get("slurmuser") == "slurm"
    assert site.is_multifactor
    assert site.consumes_memory
    assert not site.is_linear
    assert site.kill_after == 120.0


def test_parameters_have_the_defaults_of_slurm(site):
    said = {"bf_interval": 5, "bf_max_job_user": 7, "bf_continue": 1}
    assert {name: site.scheduling.value(name) for name in PARAMETERS} == {**PARAMETERS, **said}
    changed = site.with_parameters({"bf_max_job_user": "20", "OverTimeLimit": "0"})
    assert changed.scheduling.value("bf_max_job_user") == 20
    assert changed.scheduling.value("bf_interval") == 5
    assert (changed.kill_after, site.kill_after) == (0.0, 120.0)


def test_nodes_have_what_their_line_and_the_default_say(site):
    first, *_, last = site.nodes
    assert [node.name for node in site.nodes] == ["n1", "n2", "n10", "m1"]
    assert (first.cpus, first.memory, first.weight) == (16, 1000, 3)
    assert first.gres == (("gpu", 3), ("mps", 4))
    assert first.features == ("ib",)
    assert (last.cpus, last.memory, last.features) == (6, 64000, ("ib", "big"))


def test_partitions_have_what_their_line_and_the_default_say(site):
    everything, few = site.partitions
    assert everything.nodes == ("n1", "n2", "n10", "m1")
    assert (everything.tier, everything.factor, everything.most_minutes) == (4, 1, 1440.0)
    assert everything.is_default
    assert everything.memory_per_cpu == 100
    assert (few.tier, few.factor, few.most_nodes) == (3, 3, 1)
    assert (few.most_minutes, few.default_minutes) == (90.0, 2.0)
    assert few.whole
    assert not few.is_up
    assert math.isnan(everything.default_minutes)


def test_what_is_not_modelled_is_listed_with_its_reason(site):
    listed = "\n".join(site.not_modelled)
    for word in ("bf_max_time", "my_own=3", "licenses=abc:4", "few is not up", "no database"):
        assert word in listed
    assert "bf_interval" not in listed
    assert plain_conf(3).not_modelled == ()


def test_what_nodes_and_partitions_say_in_vain_is_listed(write):
    text = """\
NodeName=n[1-2] CPUs=4 State=UNKNOWN
NodeName=n3 CPUs=4 State=FUTURE
NodeName=n4 CPUs=4 State=FUTURE
DownNodes=n1 State=DOWN
PartitionName=a Nodes=ALL OverSubscribe=FORCE:4 QOS=part
PartitionName=b Nodes=ALL OverSubscribe=NO LLN=NO
"""
    conf = read_slurm_conf(write(text))
    assert [node.name for node in conf.nodes] == ["n2"]
    assert {part.nodes for part in conf.partitions} == {("n2",)}
    assert conf.not_modelled == (
        "1 node in state DOWN left out: n1",
        "2 nodes in state FUTURE left out: n[3-4]",
        "partition a oversubscribe=FORCE:4: no two jobs share a processor",
        "partition a qos=part: limits of a quality of service are in the database",
    )


def test_a_machine_of_which_no_node_is_up_is_refused(write):
    text = "NodeName=n1 CPUs=4 State=DOWN\nPartitionName=a Nodes=ALL\n"
    with pytest.raises(ClusterError, match="has no node that is up"):
        read_slurm_conf(write(text))


def test_sets_of_nodes_stand_for_their_nodes(write):
    text = """\
NodeSet=big Nodes=n[1-2]
NodeSet=fast Feature=ib
NodeName=n[1-3] CPUs=4
NodeName=m1 CPUs=4 Feature=ib Gres=gpu:a100:2,nvme:1T
PartitionName=p Nodes=big,n2,fast
"""
    conf = read_slurm_conf(write(text))
    assert conf.partitions[0].nodes == ("n1", "n2", "m1")
    assert dict(conf.nodes[-1].gres) == {"gpu": 2, "nvme": 1 << 40}


def test_a_file_is_included_after_a_tab(write):
    path = write("Include\tnodes.conf\nPartitionName=p Nodes=ALL\n", nodes="NodeName=n1 CPUs=4\n")
    assert [node.name for node in read_slurm_conf(path).nodes] == ["n1"]


def test_nodes_are_in_the_order_of_their_names(site):
    table = node_table(site)
    assert table.names == ("m1", "n1", "n2", "n10")
    assert table.cpus.tolist() == [6, 16, 16, 16]
    assert (table.gres, table.gpus.tolist()) == ("gpu", [0, 3, 3, 3])
    assert table.partitions.tolist() == [1, 3, 3, 1]
    assert table.features.tolist() == [3, 1, 1, 1]
    assert table.leaf.tolist() == [-1] * 4
    assert (table.mask(["big", "ib"]), table.mask(["gone"])) == (3, -1)


def test_leaf_switches_are_read_or_taken_from_the_lines_of_nodes(write):
    nodes = "NodeName=n[1-2]\nNodeName=m1\nPartitionName=p Nodes=ALL\n"
    path = write("TopologyPlugin=topology/tree\n" + nodes)
    assumed = read_slurm_conf(path)
    assert assumed.switches == (("n1", "n2"), ("m1",))
    assert any("topology.conf" in word for word in assumed.not_modelled)
    write(path.read_text(), topology="SwitchName=a Nodes=m1,n1\nSwitchName=b Nodes=n2\n"
          "SwitchName=top Switches=a,b\n")  # fmt: skip
    told = read_slurm_conf(path)
    assert told.switches == (("m1", "n1"), ("n2",))
    assert node_table(told).leaf.tolist() == [0, 0, 1]
    assert told.not_modelled == ()


def test_plain_nodes_keep_the_loops_of_a_site(site):
    plain = plain_conf(12, site)
    table = node_table(plain)
    assert table.names[:3] == ("n1", "n2", "n3")
    assert table.names[-1] == "n12"
    assert plain.is_linear
    assert plain.partitions[0].whole
    assert plain.scheduling.backfill_period == 5
    with pytest.raises(OptionError, match="0 nodes"):
        plain_conf(0)


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("SchedulerType\n", 1, None),
        ("\nNodeName=n1 CPUs=two\n", 2, "CPUs"),
        ("NodeName=n[1-] CPUs=2\n", 1, "NodeName"),
        ("NodeName=n[1-2 CPUs=2\n", 1, "NodeName"),
        ("NodeName=n1 Gres=gpu:x:1z\n", 1, "Gres"),
        ("NodeName=n1\nPartitionName=p Nodes=n2\n", 2, "Nodes"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=soon\n", 2, "MaxTime"),
    ],
)
def test_a_wrong_line_is_named(write, text, line, field):
    with pytest.raises(ClusterError) as error:
        read_slurm_conf(write(text))
    assert (error.value.line, error.value.field) == (line, field)


def test_files_that_include_each_other_are_refused(write):
    with pytest.raises(ClusterError, match="include each other"):
        read_slurm_conf(write("include slurm.conf\n"))


def test_a_site_without_nodes_or_partitions_has_no_table(write):
    with pytest.raises(ClusterError, match="no NodeName"):
        node_table(read_slurm_conf(write("ClusterName=x\n")))
    with pytest.raises(ClusterError, match="no PartitionName"):
        node_table(read_slurm_conf(write("NodeName=n1\n")))


def test_numbers_of_lines_are_checked(write):
    conf = read_slurm_conf(write("PriorityWeightAge=much\nPriorityMaxAge=soon\n"))
    for ask, name in ((conf.number, "PriorityWeightAge"), (conf.seconds, "PriorityMaxAge")):
        with pytest.raises(ClusterError, match=name):
            ask(name, 0.0)
