"""Files of nodes with resources, partitions, queues and pools; counts of what nodes have."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.cli import main
from sojourn.cluster import (
    Cluster,
    Node,
    Partition,
    Queue,
    Server,
    find_cluster,
    parse_cluster,
    read_cluster,
    write_cluster,
)
from sojourn.errors import ClusterError, OptionError

TOML = """\
between = "weights"

[[node]]
name = "n[01-03]"
cores = 16
memory = "32G"
gpu = 2
resources = { mic = 1, "nvme:fast" = 4 }
features = ["ib"]

[[node]]
name = "fat"
count = 2
cores = 64
memory = "1.5T"

[[partition]]
name = "batch"
nodes = "all"
max_time = "1-12:00:00"
default = true

[[partition]]
name = "special"
nodes = ["n[01,03]", "fat"]
max_nodes = 4
min_nodes = 2
whole_node = true
tier = 3
max_cpus_per_node = 8

[[queue]]
name = "short"
partitions = "batch"
order = "sjf"
priority = 2.5
weight = 3
max_time = 3600

[[queue]]
name = "long"
partitions = ["special", "batch"]
max_procs = 64
max_running = 2
max_used = 96
default = true

[[pool]]
name = "matlab"
count = 4
"""


@pytest.fixture
def read(tmp_path):
    def call(content: str, name: str = "cluster.toml") -> Cluster:
        (tmp_path / name).write_text(content)
        return read_cluster(tmp_path / name)

    return call


def test_everything_in_toml(read):
    cluster = read(TOML)
    assert [node.name for node in cluster.nodes] == ["n01", "n02", "n03", "fat-1", "fat-2"]
    assert [node.server.model for node in cluster.nodes] == ["n"] * 3 + ["fat"] * 2
    assert cluster.resource_names == ("cores", "memory", "gpu", "mic", "nvme", "nvme:fast")
    assert cluster.capacity[:, 0].tolist() == [16, 32 << 20, 2, 1, 4, 4]
    assert cluster.capacity[:, 4].tolist() == [64, 1536 << 20, 0, 0, 0, 0]
    assert cluster.partitions == (
        Partition("batch", (0, 1, 2, 3, 4), max_time=129600, default=True),
        Partition("special", (0, 2, 3, 4), math.inf, 4, 2, True, 3, False, 8),
    )
    assert cluster.queues == (
        Queue("short", ("batch",), "sjf", 2.5, 3, 3600),
        Queue("long", ("special", "batch"), max_procs=64, max_running=2, max_used=96, default=True),
    )
    assert (cluster.between, dict(cluster.pools)) == ("weights", {"matlab": 4})
    assert not cluster.has_speeds
    assert not cluster.report.remarks


NODE = "[[node]]\nname = 'n[1-4]'\ncores = 4\n"
PART = "[[partition]]\nname = 'p'\nnodes = 'all'\n"
QUEUE = "[[queue]]\nname='q'\n"

BAD = [
    ("[[node]]\nname='n[1-'\ncores=1\n", "'node 1: name': 'n.1-' is no list of nodes"),
    ("[[node]]\nname='n[1-x]'\ncores=1\n", "'node 1: name': 'n.1-x.' is no list of nodes"),
    ("[[node]]\nname='n[3-1]'\ncores=1\n", "is no list of nodes"),
    ("[[node]]\nname='n[1-9999999]'\ncores=1\n", "is no list of nodes"),
    ("[[node]]\nname='n[1-3]'\ncount=4\ncores=1\n", "'node 1: count': 4, but 'n.1-3.' are 3"),
    (f"{NODE}{NODE}", "'node 2: name': two nodes are called 'n1'"),
    ("[[node]]\nname='n[1,1]'\ncores=1\n", "two nodes are called 'n1'"),
    ("[[node]]\ncores=1\nmemory='32X'\n", "'node 1: memory': '32X' is not a number"),
    ("[[node]]\ncores=1\nmemory='0G'\n", "'node 1: memory': 0G is not above 0"),
    ("[[node]]\ncores=1\nmemory='-3G'\n", "'node 1: memory': -3G is not above 0"),
    ("[[node]]\ncores=1\ngpu=-1\n", "'node 1: gpu': -1 of gpu; give a whole number"),
    ("[[node]]\ncores=1\ngpu=1.5\n", "'node 1: gpu': 1.5 of gpu"),
    ("[[node]]\ncores=1\ngpu='a'\n", "'node 1: gpu': 'a' is not a number"),
    ("[[node]]\ncores=1\ngpu=1\ngpus=2\n", "'gpu' is given twice"),
    ("[[node]]\ncores=1\nresources=2\n", "'node 1: resources': is no table"),
    ("[[node]]\ncores=1\nresources={cores=2}\n", "'cores' is no further resource"),
    ("[[node]]\ncores=1\nresources={gpu=1,'gpu:a'=2}\n", "1 gpu, but 2 of its types"),
    ("[[node]]\ncores=1\ngpuu=1\n", "'node 1': unknown key 'gpuu'; did you mean 'gpu'"),
    ("[[node]]\ncores=1\n[[node]]\nserver='X5670'\n", "node 'node' has no ops, but others have"),
    ("reference_ops=3\n[[node]]\ncores=1\n", "reference speed, but no node has ops"),
    (f"{NODE}[[partition]]\nnodes='all'\n", "'partition 1: name': is missing"),
    (f"{NODE}[[partition]]\nname='p'\n", "'partition 1: nodes': is missing"),
    (f"{NODE}[[partition]]\nname='p'\nnodes=[]\n", "'partition 1: nodes': is missing"),
    (f"{NODE}[[partition]]\nname='p'\nnodes=3\n", "'partition 1: nodes': '3' is no list of names"),
    (
        f"{NODE}[[partition]]\nname='p'\nnodes='n[1-5]'\n",
        "no node is called 'n5'; the first is 'n1'",
    ),
    (f"{NODE}[[partition]]\nname='p'\nnodes='zz'\n", "no node is called 'zz'; the first is 'n1'"),
    (f"{NODE}{PART}{PART}", "'partition 2: name': 'p' is there already"),
    (f"{NODE}{PART}max_time='soon'\n", "'partition 1: max_time': 'soon' is no time"),
    (f"{NODE}{PART}max_time=0\n", "'partition 1: max_time': '0' is no time"),
    (f"{NODE}{PART}max_time=true\n", "'partition 1: max_time': True is not a number"),
    (f"{NODE}{PART}max_nodes=0\n", "'partition 1: max_nodes': 0 is not above 0"),
    (f"{NODE}{PART}max_nodes=1\nmin_nodes=2\n", "'partition 1': .*at most 1 nodes, but at least 2"),
    (f"{NODE}{PART}whole_node='yes'\n", "'partition 1: whole_node': 'yes' is neither true nor"),
    (f"{NODE}{PART}tier=-1\n", "'partition 1: tier': -1; give a whole number"),
    (f"{NODE}{PART}maxtime=1\n", "'partition 1': unknown key 'maxtime'; did you mean 'max_time'"),
    (f"{NODE}[partition]\nname='p'\n", "'partition': partitions are tables; begin each with"),
    (f"{NODE}[[queue]]\norder='sjf'\n", "'queue 1: name': is missing"),
    (f"{NODE}[[queue]]\nname='q'\npartitions='p'\n", "no partition is called 'p'; the cluster has"),
    (f"{NODE}{PART}[[queue]]\nname='q'\npartitions=['P']\n", "called 'P'; did you mean 'p'"),
    (f"{NODE}[[queue]]\nname='q'\nweight=0\n", "'queue 1: weight': 0 is not above 0"),
    (f"{NODE}[[queue]]\nname='q'\npriority='high'\n", "'queue 1: priority': 'high' is not a num"),
    (f"{NODE}[[queue]]\nname='=q'\n", "'queue 1: name': '=q' begins with '='"),
    (f"{NODE}[[queue]]\nname='q'\nweight=1.5\n", "'queue 1: weight': 1.5 is not a whole number"),
    (f"{NODE}[[queue]]\nname='q'\nmax_procs=-2\n", "'queue 1: max_procs': -2 is not above 0"),
    (f"{NODE}[[queue]]\nname='q'\nmax_running=-1\n", "'queue 1: max_running': -1 is not above 0"),
    (f"{NODE}[[queue]]\nname='q'\nmax_used=0\n", "'queue 1: max_used': 0 is not above 0"),
    (f"{NODE}[[queue]]\nname='q'\nmax_time=-5\n", "'queue 1: max_time': '-5' is no time"),
    (f"{NODE}[[queue]]\nname='q'\nmax_runing=1\n", "'queue 1': unknown key 'max_runing'; did you"),
    (f"{NODE}[[queue]]\nname='q'\norder=3\n", "'queue 1: order': 3 is not text"),
    (f"{NODE}[[queue]]\nname='q'\ndefault=1\n", "'queue 1: default': '1' is neither true nor"),
    (f"{NODE}{QUEUE}{QUEUE}", "'queue 2: name': 'q' is there already"),
    (f"procs=8\n{NODE}", "'procs': processors are only counted, but 'node' is about nodes"),
    ("procs=8\nprocessor='chip'\n", "'procs': processors are only counted, but 'processor' is"),
    ("procs=0\n", "'procs': cluster: 0 processors; give a whole number above 0"),
    ("procs='many'\n", "'procs': cluster: many processors; give a whole number above 0"),
    (f"procs=8\n{QUEUE}partitions='p'\n", "'queue 1: partitions': no partition is called 'p'"),
    (f"{NODE}[[pool]]\nname='m'\n", "'pool 1: count': is missing"),
    (f"{NODE}[[pool]]\nname='m'\ncount=-1\n", "'pool 1: count': -1; give a whole number"),
    (f"{NODE}[[pool]]\nname='m'\ncount=1\n[[pool]]\nname='m'\ncount=1\n", "two pools are called"),
    (f"{NODE}gpu=1\n[[pool]]\nname='gpu'\ncount=1\n", "nodes have a resource called 'gpu'"),
    (f"between='turns'\n{NODE}", "'between': 'turns': choose priority, round-robin, weights"),
    (f"between=3\n{NODE}", "'between': '3': choose"),
    ("partiton=3\n", "unknown key 'partiton'; did you mean 'partition'"),
]


@pytest.mark.parametrize(("content", "words"), BAD)
def test_bad_toml_is_one_line(read, tmp_path, capsys, content, words):
    with pytest.raises(ClusterError, match=f"cluster.toml.*{words}"):
        read(content)
    assert main(["cluster", "inspect", str(tmp_path / "cluster.toml")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


def test_counted_processors_with_queues(read, tmp_path, capsys):
    text = f"procs=8\nbetween='weights'\n{QUEUE}weight=3\n[[queue]]\nname='r'\nmax_running=2\n"
    cluster = read(text)
    queues = (Queue("q", weight=3), Queue("r", max_running=2))
    assert cluster == Cluster.homogeneous(8, queues=queues, between="weights")
    write_cluster(cluster, tmp_path / "copy.toml")
    assert read_cluster(tmp_path / "copy.toml") == cluster
    with pytest.raises(OptionError, match=r"counted; name a .toml file"):
        write_cluster(cluster, tmp_path / "copy.csv")
    assert main(["cluster", "inspect", str(tmp_path / "copy.toml")]) == 0
    out = capsys.readouterr().out
    assert "8, which are only counted" in out
    assert "between queues: weights" in out


def test_two_defaults(read):
    two = "".join(f"[[queue]]\nname='{name}'\ndefault=true\n" for name in "ab")
    with pytest.raises(ClusterError, match="'queue 2: default': 'a' is the default already"):
        read(NODE + two)


def test_nodes_in_no_partition_are_said(read):
    cluster = read(f"{NODE}[[partition]]\nname='p'\nnodes='n[2-3]'\n")
    assert "2 nodes are in no partition: no job" in str(cluster.report)


def test_table_with_resources_and_partitions(read):
    cluster = read(
        "node;cores;gpus;mics;memory_kib;reserved;fpga;partition\n"
        "0;16;0;2;33554432;0;0;batch\n"
        "1;16;2;0;33554432;0;0;batch gpu\n"
        "2;16;2;0;33554432;0;0;\n",
        "nodes.csv",
    )
    assert [node.name for node in cluster.nodes] == ["0", "1", "2"]
    assert {node.server.model for node in cluster.nodes} == {"node"}
    assert cluster.resource_names == ("cores", "memory", "gpu", "mic")
    assert cluster.capacity.tolist() == [[16] * 3, [33554432] * 3, [0, 2, 2], [2, 0, 0]]
    assert cluster.partitions == (Partition("batch", (0, 1)), Partition("gpu", (1,)))
    assert "1 node is in no partition" in str(cluster.report)


def test_columns_of_counts_are_said(read):
    cluster = read("name,cores,tapes,gpu:a100,resource:ranks\na,4,2,1,3\nb,4,,,\n", "nodes.csv")
    assert dict(cluster.nodes[0].server.resources) == {
        "gpu": 1,
        "gpu:a100": 1,
        "ranks": 3,
        "tapes": 2,
    }
    assert not cluster.nodes[1].server.resources
    assert "column 'tapes' counts a resource" in str(cluster.report)
    assert "ranks" not in str(cluster.report)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name,cores,rack\na,4,A1\n", "line 1: unknown column 'rack'; choose from name, count"),
        ("name,cores,tapes\na,4,-1\n", "line 1: unknown column 'tapes'"),
        ("name,cores,gpus\na,4,-1\n", "line 2, field 'resources': -1 of gpu"),
        ("name,cores,gpus,gpu\na,4,1,1\n", "line 1: two columns are called 'gpu'"),
        ("name,cores,memory,memory_mb\na,4,1,1\n", "line 1: two columns are called 'memory'"),
        ("name,node,cores\na,a,4\n", "line 1: two columns are called 'name'"),
        (
            "name,cores,partitionz\na,4,x\n",
            "unknown column 'partitionz'; did you mean 'partitions'",
        ),
        ("name,cores,resource:cores\na,4,1\n", "line 1: column: 'cores' is no further resource"),
        ("name,cores,my tapes\na,4,1\n", "line 1: unknown column 'my tapes'"),
        ("name,cores,memory_mb\na,4,x\n", "line 2, field 'memory': 'x' is not a number|'xM' is"),
    ],
)
def test_bad_tables(read, content, words):
    with pytest.raises(ClusterError, match=words) as caught:
        read(content, "nodes.csv")
    assert "\n" not in str(caught.value)


def test_counts_of_what_nodes_have():
    cluster = parse_cluster("64 x (16 cores, 32G, 2 gpu)")
    assert (cluster.procs, len(cluster.nodes), cluster.nodes[63].name) == (1024, 64, "node-64")
    assert cluster.capacity[:, 0].tolist() == [16, 32 << 20, 2]
    assert parse_cluster("8 x (4 cores)").procs == 32
    mixed = find_cluster("2x(4 cores, 512MB) + 1 x (2 cpus, 2 sockets, 3 gpu:a100, 1 fpga)")
    assert [node.name for node in mixed.nodes] == ["node1-1", "node1-2", "node2"]
    assert mixed.resource_names == ("cores", "memory", "fpga", "gpu", "gpu:a100")
    assert mixed.capacity.T.tolist() == [[4, 512 << 10, 0, 0, 0]] * 2 + [[2, 0, 1, 3, 3]]
    known = parse_cluster("2 x (X5670, 2 gpu, 96G) + L5420")
    assert known.has_speeds
    assert (known.nodes[0].server.cores, known.nodes[0].server.memory) == (12, 96)
    assert parse_cluster("2 x (4 cores) , 1 x (4 cores)").report.rows == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8 x (4 cores", "a parenthesis is not closed"),
        ("8 x 4 cores)", "a parenthesis too many at character 12"),
        ("8 x ((4 cores))", "a parenthesis too many"),
        ("8 x ()", "'' is nothing a node has"),
        ("8 x (2 gpu)", "says no cores"),
        ("8 x (4 cores, 4 cpus)", "'cores' is given twice"),
        ("8 x (4 cores, 1 gpu, 2 gpus)", "'gpu' is given twice"),
        ("8 x (4 cores, 32)", "'32' is nothing a node has"),
        ("8 x (4 cores, 2 memory)", "'memory' is no further resource"),
        ("8 x (0 cores)", "cores = 0"),
        ("8 x (4 cores, 0G)", "memory = 0"),
        ("8 x (4 cores) more", "'more' after a parenthesis"),
        ("8 x (X5671, 2 gpu)", "no server is called 'X5671'; did you mean 'X5670'"),
        ("0 x (4 cores)", "0 nodes; give 1 to"),
        ("2 x (99999999999 cores)", "too many"),
        ("1 x (4 cores) + ", "write for example"),
    ],
)
def test_bad_counts(text, words):
    with pytest.raises(OptionError, match=words) as caught:
        parse_cluster(text)
    assert "\n" not in str(caught.value)


def test_eurora(data_dir):
    cluster = read_cluster(data_dir / "eurora" / "nodes.csv")
    assert (len(cluster.nodes), cluster.procs) == (64, 1024)
    assert cluster.resource_names == ("cores", "memory", "gpu", "mic")
    assert cluster.capacity.sum(axis=1).tolist() == [1024, 64 * 33554432, 64, 64]
    assert not cluster.report.remarks


words = st.text(string.ascii_letters + "é_", min_size=1, max_size=5)
names = st.lists(
    st.one_of(words, st.builds("{}{}".format, words, st.integers(0, 120)), st.just("n01")),
    min_size=1,
    max_size=8,
    unique=True,
)
counts = st.dictionaries(
    st.sampled_from(["gpu", "gpu:a100", "coers", "mic", "Nvme", "countt"]), st.integers(1, 9)
).filter(lambda counts: counts.get("gpu", 9) >= counts.get("gpu:a100", 0))
plain = st.builds(
    Server,
    model=words,
    cores=st.integers(1, 512),
    memory=st.one_of(st.just(math.nan), st.floats(1e-6, 1e6)),
    features=st.frozensets(words, max_size=2),
    resources=counts,
)
limits = st.one_of(st.none(), st.integers(1, 99))
times = st.one_of(st.just(math.inf), st.floats(1e-3, 1e9))


@st.composite
def clusters(draw):
    called = draw(names)
    kinds = draw(st.lists(plain, min_size=1, max_size=3))
    nodes = [Node(name, draw(st.sampled_from(kinds))) for name in called]
    places = st.sets(st.integers(0, len(nodes) - 1), min_size=1).map(lambda own: tuple(own))
    parts = [
        Partition(
            name,
            draw(places),
            draw(times),
            draw(limits),
            1,
            draw(st.booleans()),
            draw(st.integers(0, 9)),
            default=at == 0,
            max_cpus_per_node=draw(limits),
        )
        for at, name in enumerate(draw(st.lists(words, max_size=3, unique=True)))
    ]
    some = st.lists(st.sampled_from(parts), unique=True) if parts else st.just([])
    queues = [
        Queue(
            name,
            tuple(part.name for part in draw(some)),
            draw(st.sampled_from(["fcfs", "sjf"])),
            draw(st.floats(-9, 9)),
            draw(st.integers(1, 5)),
            draw(times),
            draw(limits),
            draw(limits),
            draw(limits),
        )
        for name in draw(st.lists(words, max_size=3, unique=True))
    ]
    return Cluster.of(
        nodes,
        processor=draw(st.sampled_from(["core", "node"])),
        pools=draw(st.dictionaries(words, st.integers(0, 99), max_size=2)),
        partitions=parts,
        queues=queues,
        between=draw(st.sampled_from(["priority", "weights"])) if queues else "priority",
    )


@given(cluster=clusters())
def test_what_is_written_reads_back(tmp_path_factory, cluster):
    folder = tmp_path_factory.mktemp("written")
    write_cluster(cluster, folder / "c.toml")
    assert read_cluster(folder / "c.toml") == cluster
    bare = Cluster.of(cluster.nodes)
    write_cluster(bare, folder / "c.csv")
    assert read_cluster(folder / "c.csv") == bare


def test_csv_has_no_place_for_partitions(tmp_path, read):
    with pytest.raises(OptionError, match=r"CSV has no partitions, queues and pools; name a .toml"):
        write_cluster(read(TOML), tmp_path / "c.csv")
    assert not (tmp_path / "c.csv").exists()
