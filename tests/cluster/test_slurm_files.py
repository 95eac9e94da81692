"""A site's slurm.conf, gres.conf and topology.conf as a cluster."""

from __future__ import annotations

import json
import math
import re

import pytest

import sojourn
from sojourn.cli import main
from sojourn.cluster import Partition, find_cluster, read_cluster
from sojourn.cluster.slurm import read_slurm_cluster
from sojourn.errors import ClusterError, OptionError
from sojourn.policy.slurm import node_table, read_slurm_conf

SITE = r"""
# a site
ClusterName=site
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
TopologyPlugin=topology/tree
GresTypes=gpu,nvme
Licenses=matlab:4,ansys@flex:2,fluent
NodeName=DEFAULT RealMemory=65536 Sockets=2 CoresPerSocket=8
NodeName=n[1-2,10] Feature=ib,big
NodeName=g[1-2] Gres=gpu:a100:2,gpu:t4:1,nvme:1T,lustre:no_consume:4G Feature=ib
NodeName=h1 Gres=gpu:4 CPUs=12 CoreSpecCount=2 MemSpecLimit=4096
NodeName=f[1-4] State=FUTURE
NodeName=d1 State=DOWN
DownNodes=n2 State=DOWN Reason=broken
PartitionName=DEFAULT State=UP MaxTime=1-00:00:00
PartitionName=all Nodes=ALL Default=YES PriorityTier=2 DefMemPerCPU=2000
PartitionName=gpu Nodes=g[1-2],h1 MaxTime=90 MaxNodes=2 MinNodes=2 OverSubscribe=EXCLUSIVE
PartitionName=half Nodes=n10 MaxTime=UNLIMITED MaxCPUsPerNode=8
PartitionName=old Nodes=n1 State=DOWN
PartitionName=next Nodes=f[1-4]
"""
GRES = """\
AutoDetect=off
NodeName=h1 Name=gpu Type=h100 File=/dev/nvidia[0-2]
NodeName=h1 Name=gpu Type=l40 File=/dev/nvidia3
NodeName=g1 Name=nvme Count=1K
Name=gpu
"""
TOPOLOGY = "SwitchName=a Nodes=n[1-10]\nSwitchName=b Nodes=g[1-2],h1\nSwitchName=top Switches=a,b\n"


@pytest.fixture
def write(tmp_path):
    def call(text: str, name: str = "slurm.conf", **beside: str):
        (tmp_path / name).write_text(text)
        for other, content in beside.items():
            (tmp_path / f"{other}.conf").write_text(content)
        return tmp_path / name

    return call


@pytest.fixture
def site(write):
    return read_cluster(write(SITE, gres=GRES.replace("Name=gpu\n", ""), topology=TOPOLOGY))


def test_nodes(site):
    assert [node.name for node in site.nodes] == ["g1", "g2", "h1", "n1", "n10"]
    assert [node.server.model for node in site.nodes] == ["g", "g", "h", "n", "n"]
    assert [node.server.cores for node in site.nodes] == [16, 16, 10, 16, 16]
    assert [node.server.chips for node in site.nodes] == [2] * 5
    assert [node.server.memory for node in site.nodes] == [64, 64, 60, 64, 64]
    assert site.nodes[3].server.features == {"ib", "big"}
    assert not site.has_speeds
    assert not site.has_watts


def test_resources(site):
    assert site.resource_names[2:] == (
        *("gpu", "gpu:a100", "gpu:h100", "gpu:l40", "gpu:t4", "nvme"),
    )
    columns = dict(zip(site.resource_names, site.capacity.tolist(), strict=True))
    assert columns["gpu"] == [3, 3, 4, 0, 0]
    assert columns["gpu:a100"] == [2, 2, 0, 0, 0]
    assert columns["gpu:t4"] == [1, 1, 0, 0, 0]
    # Types that only the gres.conf tells.
    assert (columns["gpu:h100"], columns["gpu:l40"]) == ([0, 0, 3, 0, 0], [0, 0, 1, 0, 0])
    assert columns["nvme"] == [1 << 40, 1 << 40, 0, 0, 0]
    assert columns["memory"] == [64 << 20, 64 << 20, 60 << 20, 64 << 20, 64 << 20]
    assert "lustre" not in site.resource_names


def test_partitions_licences_and_switches(site):
    assert site.partitions == (
        Partition("all", (0, 1, 2, 3, 4), 86400, tier=2, default=True),
        Partition("gpu", (0, 1, 2), 5400, 2, 2, whole_node=True),
        Partition("half", (4,), math.inf, max_cpus_per_node=8),
    )
    assert dict(site.pools) == {"matlab": 4, "ansys@flex": 2, "fluent": 1}
    assert site.switches == ((3, 4), (0, 1, 2))
    racks = {rack.name: rack.nodes for rack in site.racks}
    assert racks == {"a": (3, 4), "b": (0, 1, 2), "top": (0, 1, 2, 3, 4)}


def test_what_is_left_out_is_said(site):
    report = str(site.report)
    for words in (
        "10 rows read, 6 kept (0 of them repaired), 4 refused; 5 nodes",
        "refused 1 row: 4 nodes in state FUTURE left out (line 13; f[1-4])",
        "refused 1 row: 1 node in state DOWN left out (line 14; d1)",
        "kept 1 row: 1 node in state DOWN left out (line 10; n2)",
        "refused 1 row: partition old is not up, and is left out (line 20)",
        "refused 1 row: partition next has no node, and is left out (line 21)",
        "1 node with 1099511627776 nvme, 1024 in gres.conf",
    ):
        assert words in report
    assert "default" not in report


def test_strict_refuses_what_would_be_left_out(write):
    with pytest.raises(ClusterError, match=r"slurm.conf, line 14: 1 node in state DOWN left"):
        read_cluster(write(SITE), strict=True)


def test_a_gres_conf_about_all_nodes(write):
    path = write(
        "NodeName=n[1-2] Gres=gpu:2\nPartitionName=p Nodes=ALL\n", gres="Name=gpu Type=a\n"
    )
    cluster = read_cluster(path)
    assert "2 nodes with 2 gpu, 1 in gres.conf" in str(cluster.report)
    assert cluster.resource_names[2:] == ("gpu",)
    (path.parent / "gres.conf").write_text("Name=gpu Type=a Count=2\n")
    assert read_cluster(path).capacity[2:].tolist() == [[2, 2], [2, 2]]


def test_the_same_nodes_as_the_model_of_slurm(data_dir):
    paths = [data_dir / "slurm-site" / "slurm.conf", data_dir / "sacct" / "slurm.conf"]
    for path in [*paths, *sorted((data_dir / "slurm").glob("*.conf"))]:
        cluster, table = read_cluster(path), node_table(read_slurm_conf(path))
        assert tuple(node.name for node in cluster.nodes) == table.names
        assert cluster.columns.procs.tolist() == table.cpus.tolist()
        told = [1 if at < 0 else at // 1024 for at in cluster.columns.memory.tolist()]
        assert told == table.memory.tolist()
        if table.gres:
            row = cluster.resource_names.index(table.gres)
            assert cluster.capacity[row].tolist() == table.gpus.tolist()
        masks = [0] * len(table.names)
        for bit, part in enumerate(cluster.partitions):
            for at in part.nodes:
                masks[at] |= 1 << bit
        assert masks == table.partitions.tolist()
        assert [part.tier for part in cluster.partitions] == table.tier.tolist()
        leaf = [-1] * len(table.names)
        for number, own in enumerate(cluster.switches):
            for at in own:
                leaf[at] = number
        assert leaf == table.leaf.tolist()


def test_a_university_cluster(data_dir):
    cluster = find_cluster(str(data_dir / "slurm-site" / "slurm.conf"))
    assert (len(cluster.nodes), cluster.procs) == (217, 89 * 32 + 128 * 40)
    assert cluster.partition().name == "general-compute"
    assert cluster.partition("debug").max_time == 3600
    assert cluster.resource_names[2:] == (
        *("gpu", "gpu:tesla_p100-pcie-16gb", "gpu:tesla_v100-pcie-32gb"),
    )
    assert cluster.capacity[2:].sum(axis=1).tolist() == [20, 4, 16]


def test_whole_nodes_without_a_selection_of_processors(write):
    cluster = read_cluster(write("NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"))
    assert cluster.partitions[0].whole_node
    assert "every job has its nodes to itself" in str(cluster.report)
    assert "no partition is the default: jobs that name none come to p" in str(cluster.report)
    assert math.isnan(cluster.nodes[0].server.memory)


def test_the_last_of_several_default_partitions(write):
    text = "NodeName=n1\n" + "".join(f"PartitionName={p} Nodes=n1 Default=YES\n" for p in "ab")
    assert read_cluster(write(text)).partition().name == "b"


@pytest.mark.parametrize("name", ["slurm.conf", "cluster.txt", "site"])
def test_it_is_known_by_its_lines(write, name):
    assert read_cluster(write(SITE, name)).report.kind == "slurm.conf"


def test_toml_and_tables_are_not_taken_for_it(write):
    toml = 'processor = "core"\n[[node]]\nname = "NodeName"\ncores = 2\n'
    assert read_cluster(write(toml, "c.txt")).report.kind == "description"
    assert read_cluster(write("name,cores\nNodeName=a,2\n", "c.csv")).report.kind == "description"


BAD = [
    ("NodeName=n1 CPUs=x\nPartitionName=p Nodes=ALL\n", "line 1, field 'CPUs': 'x' is no value"),
    ("NodeName=n1\n", "has no PartitionName line"),
    ("PartitionName=p\n", "has no NodeName line"),
    ("NodeName=n1\nPartitionName=p Nodes=n2\n", "line 2, field 'Nodes': no NodeName line has 'n2'"),
    ("NodeName=n1 State=DOWN\nPartitionName=p Nodes=n1\n", "has no node that is up"),
    ("NodeName=n1\nPartitionName=p Nodes=n1 State=DOWN\n", "has no partition that is up"),
    ("NodeName=n1\nPartitionName=p Nodes=n1 MaxNodes=x\n", "line 2, field 'MaxNodes'"),
    ("NodeName=n1\nPartitionName=p Nodes=n1 MaxNodes=1 MinNodes=3\n", "at most 1 nodes, but at"),
    ("Licenses=a:b\nNodeName=n1\nPartitionName=p Nodes=n1\n", "field 'Licenses': 'a:b' is no lic"),
    (
        "NodeName=n1 Gres=9a:2\nPartitionName=p Nodes=n1\n",
        "line 1: .*'9a' is no name of a resource",
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_files_are_one_line(write, capsys, text, words):
    path = write(text)
    with pytest.raises(ClusterError, match=f"slurm.conf.*{words}"):
        read_cluster(path)
    assert main(["cluster", "inspect", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("gres", "words"),
    [
        ("Name=gpu Count=x\n", "gres.conf, line 1, field 'Count': 'x' is no number"),
        ("NodeName=n[1- Name=gpu\n", "gres.conf, line 1, field 'NodeName'"),
        ("Name=gpu File=/dev/x[1-\n", "gres.conf, line 1, field 'File'"),
        ("nonsense\n", "gres.conf, line 1: 'nonsense' is not Name=value"),
    ],
)
def test_a_bad_gres_conf(write, gres, words):
    with pytest.raises(ClusterError, match=words):
        read_slurm_cluster(write("NodeName=n1 Gres=gpu\nPartitionName=p Nodes=n1\n", gres=gres))


def test_no_reference_speed(write):
    with pytest.raises(ClusterError, match="has no speeds of nodes"):
        read_cluster(write(SITE), reference_ops=3.0)


def test_a_log_runs_on_it(site):
    jobs = sojourn.Jobs({"submit": [0, 1, 2], "runtime": [10, 10, 10], "procs": [70, 16, 4]})
    result = sojourn.simulate(jobs, site, "easy")
    assert result.start.tolist() == [0.0, 10.0, 2.0]
    assert not result.states_energy


def test_files_beside_it_are_inputs_of_a_run(write, monkeypatch, capsys):
    text = "Include nodes.conf\nPartitionName=p Nodes=ALL\n"
    path = write(text, nodes="NodeName=n[1-4] CPUs=2 Gres=gpu:1\n", gres="Name=gpu Type=a\n")
    monkeypatch.chdir(path.parent)
    log = path.parent / "log.swf"
    log.write_text("; MaxProcs: 8\n1 0 -1 10 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1\n")
    assert main(["simulate", "log.swf", "--cluster", "slurm.conf", "--out", "run"]) == 0
    assert re.search(r"^energy +not known: not every node has watts", capsys.readouterr().out, re.M)
    summary = json.loads((path.parent / "run" / "summary.json").read_text())
    paths = {name: summary["provenance"][name]["path"] for name in ("gres", "included 1")}
    assert paths == {"gres": "gres.conf", "included 1": "nodes.conf"}


SWEEP = """\
[workload]
model = "lublin"
jobs = 30
load = 0.7

[cluster]
nodes = "{nodes}"

[policy]
backfill = "easy"
"""


def test_a_study_on_nodes_without_watts_states_no_energy(write, monkeypatch, capsys):
    path = write("NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n")
    monkeypatch.chdir(path.parent)
    for nodes, stated in (("slurm.conf", False), ("2 x X5670", True)):
        (path.parent / "s.toml").write_text(SWEEP.format(nodes=nodes))
        words = ["sweep", "s.toml", "--set", "workload.load=0.5,0.7", "--workers", "1"]
        out = "with" if stated else "without"
        assert main([*words, "--replications", "2", "--out", out]) == 0
        assert ("energy" in capsys.readouterr().out) == stated
        assert main(["report", out, "--out", f"{out}.html"]) == 0
        capsys.readouterr()
        page = (path.parent / f"{out}.html").read_text()
        # Packed parts of the page are letters and digits in any order.
        assert bool(re.search(r"[ (]kWh\b", page)) == stated


def test_processors_that_are_hardware_threads(write):
    """CPUs counts threads on t1 and t2, cores on c1, which has as many threads, unused."""
    path = write(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "NodeName=t[1-2] CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\n"
        "NodeName=c1 CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\n"
        "PartitionName=p Nodes=ALL Default=YES\n"
    )
    cluster = read_cluster(path)
    assert cluster.procs == 80
    assert "ThreadsPerCore=2: a processor is a hardware thread" in str(cluster.report)
    for condition, procs in (("threads >= 32", 64), ("threads_per_core == 1", 16)):
        assert cluster.select(condition).procs == procs
    with pytest.raises(OptionError, match="no node is left"):
        cluster.select("threads > 32")
