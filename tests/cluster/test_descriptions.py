"""Clusters that people describe: CSV, TOML, counts; and the built-in library."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_tables import row, text

from sojourn.cluster import (
    Cluster,
    Node,
    Server,
    find_cluster,
    find_server,
    library,
    parse_cluster,
    read_cluster,
    write_cluster,
)
from sojourn.errors import ClusterError, OptionError

WATTS = (76.9, 125, 138, 149, 164, 181, 200, 219, 236, 250, 267)


@pytest.fixture
def read(tmp_path):
    def call(content: str, name: str = "cluster.csv", **options) -> Cluster:
        path = tmp_path / name
        path.write_text(content)
        return read_cluster(path, **options)

    return call


def test_table(read):
    cluster = read(
        "name,count,server,cores,chips,memory,ops,watts,idle_watts,features\n"
        "fat,2,X5670,,,48,,,,gpu bigmem\n"
        ",3,l5420,,,,,,,\n"
        'own,,,8,2,32,"500,000",200,80,\n'
    )
    assert [node.name for node in cluster.nodes] == [
        *("fat-1", "fat-2", "L5420-1", "L5420-2", "L5420-3", "own"),
    ]
    fat, own = cluster.nodes[0].server, cluster.nodes[-1].server
    assert (fat.model, fat.cores, fat.memory, fat.watts) == ("X5670", 12, 48, WATTS)
    assert fat.features == {"gpu", "bigmem"}
    assert fat.facts["vendor"] == "Acer"
    assert (own.model, own.cores, own.chips, own.ops) == ("own", 8, 2, 500_000)
    assert (own.watts[0], own.watts[5], own.watts[10]) == (80, 140, 200)
    assert cluster.procs == 2 * 12 + 3 * 8 + 8
    assert (cluster.report.kind, cluster.report.rows, cluster.report.nodes) == ("description", 3, 6)


def test_eleven_watts_in_a_cell(read):
    cluster = read(f"cores;ops;watts\n12;9e5;{' '.join(map(str, WATTS))}\n")
    assert cluster.nodes[0].server.watts == WATTS
    assert cluster.nodes[0].name == "node"


def test_unknown_idle_watts(read):
    server = read("cores,ops,watts\n4,1000,200\n").nodes[0].server
    assert (server.idle_known, server.watts[0], server.watts[-1]) == (False, 0, 200)
    assert math.isnan(server.memory)
    server = read("server,idle_watts\nX5670,50\n").nodes[0].server
    assert (server.idle_known, server.watts[0], server.watts[-1]) == (True, 50, 267)


TOML = """\
processor = "chip"
reference_ops = 1e5

[[node]]
name = "fat"
count = 2
server = "Xeon X5670"
memory = 48
features = ["gpu"]

[[node]]
cores = 8
ops = 500_000
watts = [50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150]
"""


@pytest.mark.parametrize("name", ["cluster.toml", "cluster.txt"])
def test_toml(read, name):
    cluster = read(TOML, name)
    assert (cluster.processor, cluster.reference_ops, cluster.procs) == ("chip", 1e5, 5)
    assert [node.name for node in cluster.nodes] == ["fat-1", "fat-2", "node"]
    assert cluster.nodes[0].server.features == {"gpu"}
    assert cluster.nodes[2].server.watts == tuple(range(50, 151, 10))


def test_options_go_before_what_the_file_says(read):
    cluster = read(TOML, "cluster.toml", processor="core", reference_ops=7.0)
    assert (cluster.processor, cluster.reference_ops, cluster.procs) == ("core", 7.0, 32)
    assert read("server\nX5670\n", processor="node").procs == 1


def test_servers_from_a_table_beside_it(read, tmp_path):
    (tmp_path / "ssj.csv").write_text(text(row(), row(ops=300_000), row(System="Big One")))
    cluster = read('servers = "ssj.csv"\n[[node]]\nserver = "X5570"\ncount = 3\n', "c.toml")
    assert [node.server.ops for node in cluster.nodes] == [400_000] * 3
    second = read('servers = "ssj.csv"\n[[node]]\nserver = "X5570-2"\n', "c.toml")
    assert second.nodes[0].server.ops == 300_000
    named = read('servers = "ssj.csv"\n[[node]]\nserver = "big one"\n', "c.toml")
    assert named.nodes[0].server.facts["system"] == "Big One"
    catalogue = read_cluster(tmp_path / "ssj.csv")
    assert read("server\nX5570\n", catalogue=catalogue).nodes[0].server.ops == 400_000
    with pytest.raises(ClusterError, match="'X5670'; did you mean 'X5570'"):
        read("server\nX5670\n", catalogue=catalogue)


BAD_TABLES = [
    ("name,coers,ops,watts\n", "line 1: unknown column 'coers'; did you mean 'cores'?"),
    ("cores,cores,ops\n", "line 1: two columns are called 'cores'"),
    ("cores,ops,watts\n", "describes no node"),
    ("ops,watts\n1,1\n", "line 2, field 'cores': is missing"),
    ("cores,ops,idle_watts\n1,1,1\n", "line 2, field 'watts': is missing"),
    ("cores,ops,watts\n4,fast,100\n", "line 2, field 'ops': 'fast' is not a number"),
    ("cores,ops,watts\n4,nan,100\n", "line 2, field 'ops': 'nan' is not a number"),
    ("cores,ops,watts\n0,1,100\n", "line 2, field 'cores': 0 is not above 0"),
    ("cores,ops,watts\n1.5,1,100\n", "line 2, field 'cores': 1.5 is not a whole number"),
    ("cores,ops,watts\n1,-5,100\n", "line 2, field 'ops': -5 is not above 0"),
    ("cores,ops,watts\n1,1,-100\n", "line 2, field 'watts': -100 W is below 0"),
    ("cores,ops,watts,idle_watts\n1,1,1,-2\n", "line 2, field 'idle_watts': -2 W is below 0"),
    ("cores,ops,watts\n1,1,1 2 3\n", "line 2, field 'watts': 3 values; give 1"),
    ("cores,ops,watts,memory\n1,1,1,0\n", "line 2, field 'memory': 0 is not above 0"),
    ("cores,ops,watts\n1,1e300,1\n", "line 2, field 'server'.*ops = 1e"),
    ("cores,ops,watts\n1,1,1,9\n", "line 2: 4 cells where the first line names 3 columns"),
    ("name,server\na,X5671\n", "line 2, field 'server': no server.*did you mean 'X5670'?"),
    ("name,server\na,X5670\nb,X5670\na,X5670\n", "line 4, field 'name': two nodes are called 'a'"),
    ("name,count,server\na,2,X5670\na-2,,X5670\n", "line 3, field 'name'.*called 'a-2'"),
    ("count,server\n0,X5670\n", "line 2, field 'count': 0 is not above 0"),
    ("count,server\n99999999999,X5670\n", "line 2, field 'count': more than 1,000,000 nodes"),
]


@pytest.mark.parametrize(("content", "told"), BAD_TABLES)
def test_bad_tables(read, content, told):
    with pytest.raises(ClusterError, match=f"cluster.csv.*{told}") as caught:
        read(content)
    assert "\n" not in str(caught.value)


BAD_TOML = [
    ("x = 1\n", "unknown key 'x'; choose from processor, reference_ops, servers, node"),
    ("procesor = 'core'\n", "unknown key 'procesor'; did you mean 'processor'"),
    ("[[node]]\ncoers = 3\n", "field 'node 1': unknown key 'coers'; did you mean 'cores'"),
    ("[[node]\n", "line 1: is not TOML"),
    ("node = 3\n", "field 'node': nodes are tables"),
    ("[node]\ncores = 3\n", "field 'node': nodes are tables"),
    ("", "describes no node"),
    ("[[node]]\nserver = 'X5670'\ncount = 'a'\n", "field 'node 1: count': 'a' is not a number"),
    ("[[node]]\nserver = 'X5670'\ncount = true\n", "field 'node 1: count': True is not a number"),
    ("[[node]]\nserver = 5670\n", "field 'node 1: server': 5670 is not text"),
    ("[[node]]\nserver = 'X5670'\nfeatures = [1]\n", "field 'node 1: features'"),
    ("[[node]]\nserver = 'X5670'\nwatts = [1, 2]\n", "field 'node 1: watts': 2 values"),
    ("[[node]]\nserver = 'X5670'\nwatts = inf\n", "field 'node 1: watts': inf is not a number"),
    ("[[node]]\nserver = 'X5670'\nmemory = [1]\n", r"'node 1: memory': \[1\] is not a number"),
    ("processor = 'cpu'\n[[node]]\nserver = 'X5670'\n", "processor 'cpu': choose core, chip"),
    ("reference_ops = -1\n[[node]]\nserver = 'X5670'\n", "reference speed of -1"),
    ("reference_ops = 'x'\n[[node]]\nserver = 'X5670'\n", "field 'reference_ops'"),
    (f"reference_ops = {'9' * 400}\n[[node]]\nserver = 'X5670'\n", "field 'reference_ops'"),
    (f"reference_ops = {'9' * 5000}\n", "is not TOML"),
    (f"[[node]]\nserver = 'X5670'\nops = {'9' * 400}\n", "'node 1: ops': 999.* is not a number"),
    ('"a\\nb" = 1\n', "unknown key 'a b'"),
    ("servers = 3\n[[node]]\nserver = 'X5670'\n", "field 'servers': give the name of a file"),
]


@pytest.mark.parametrize(("content", "told"), BAD_TOML)
def test_bad_toml(read, content, told):
    with pytest.raises(ClusterError, match=f"cluster.toml.*{told}") as caught:
        read(content, "cluster.toml")
    assert "\n" not in str(caught.value)


def test_bad_catalogues(read, tmp_path):
    node = "[[node]]\nserver = 'X5670'\n"
    with pytest.raises(ClusterError, match=r"nosuch.csv: no such file"):
        read(f"servers = 'nosuch.csv'\n{node}", "cluster.toml")
    with pytest.raises(ClusterError, match="must be a table of servers"):
        read(f"servers = 'cluster.toml'\n{node}", "cluster.toml")


def test_counts():
    cluster = parse_cluster("64 x X5670, 8xL5420,1 × EPYC 7742, x3360")
    models = [node.server.model for node in cluster.nodes]
    assert models == ["X5670"] * 64 + ["L5420"] * 8 + ["EPYC-7742", "X3360"]
    assert [node.name for node in cluster.nodes[62:66]] == [
        *("X5670-63", "X5670-64", "L5420-1", "L5420-2"),
    ]
    assert cluster.procs == 64 * 12 + 8 * 8 + 128 + 4
    assert parse_cluster("2 x X5670", processor="chip").procs == 4
    assert parse_cluster("2 x A", catalogue=Cluster.of([Server("A", 3, 1.0, (1, 2))])).procs == 6


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ("", "write for example 64 x X5670"),
        ("64 x", "write for example"),
        ("64", "write for example"),
        ("X5670,", "write for example"),
        ("0 x X5670", "0 nodes; give 1 to 1,000,000"),
        ("999999 x X5670, 2 x X5670", "2 nodes; give 1"),
        (f"{'9' * 5000} x X5670", "999999999 nodes; give 1"),
        ("5 x X5671", "no server is called 'X5671'; did you mean 'X5670'"),
        ("5 x toaster", "no server is called 'toaster'; choose from X3360, L5420"),
    ],
)
def test_bad_counts(counts, told):
    with pytest.raises(OptionError, match=told):
        parse_cluster(counts)


def test_a_file_or_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_cluster("2 x X5670").procs == 24
    (tmp_path / "2 x X5670").write_text("server\nX3360\n")
    assert find_cluster("2 x X5670").procs == 4
    with pytest.raises(ClusterError, match="X5670: no such file"):
        find_cluster("X5670")


def test_library():
    servers = [node.server for node in library().nodes]
    assert {"X3360", "L5420", "L5430", "X3470", "E3-1260L", "X5670"} < {s.model for s in servers}
    for server in servers:
        assert server.watts == tuple(sorted(server.watts))
        assert server.idle_known
        assert server.cores % server.chips == 0
        assert server.facts["published"] >= "2008-11"
    assert find_server("intel xeon e5-2699 v4").model == "E5-2699v4"
    assert find_server("PowerEdge R740").model == "Platinum-8180"


def test_names_that_a_model_would_take_twice():
    a, b = Server("A", 1, 1.0, (1, 2)), Server("A-1", 1, 1.0, (1, 2))
    names = [node.name for node in Cluster.of([a, b, a, Node("A-2", a)]).nodes]
    assert len(set(names)) == 4
    assert names[3] == "A-2"
    with pytest.raises(OptionError, match="two nodes are called 'n'"):
        Cluster.of([Node("n", a), Node("n", b)])


def test_report_stays_with_the_cluster(read):
    cluster = read("count,server\n2,X5670\n1,L5420\n")
    for other in (cluster.select("cores > 8"), cluster.counting("chip")):
        assert other.report is cluster.report
    assert cluster == Cluster.of(cluster.nodes)


words = st.text(string.ascii_letters + string.digits + "._é", min_size=1, max_size=8)
above_0 = st.floats(1e-9, 1e12)
servers = st.builds(
    Server,
    model=words,
    cores=st.integers(1, 1024),
    chips=st.integers(1, 16),
    ops=above_0,
    memory=st.one_of(st.just(math.nan), above_0),
    watts=st.one_of(
        st.tuples(*[st.floats(0, 1e9)] * 11),
        st.tuples(*[st.floats(0, 1e9)] * 2),
    ),
    features=st.frozensets(words, max_size=3),
) | st.builds(
    Server,
    model=words,
    cores=st.integers(1, 8),
    ops=above_0,
    watts=st.floats(0, 1e9).map(lambda full: (0.0, full)),
    idle_known=st.just(False),
)
clusters = st.dictionaries(words, servers, min_size=1, max_size=6).map(
    lambda nodes: Cluster.of(Node(name, server) for name, server in nodes.items())
)


@given(cluster=clusters, packed=st.sampled_from(["", ".gz", ".xz"]))
def test_what_is_written_reads_back(tmp_path_factory, cluster, packed):
    path = tmp_path_factory.mktemp("written") / f"cluster.csv{packed}"
    write_cluster(cluster, path)
    assert read_cluster(path) == cluster
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(OptionError, match=r"counted; name a .toml file"):
        write_cluster(Cluster.homogeneous(4), tmp_path / "x.csv")
    with pytest.raises(ClusterError, match="cannot be written"):
        write_cluster(library(), tmp_path / "no" / "x.csv")


@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {"cores": st.integers(1, 99), "ops": above_0, "watts": st.floats(0, 1e9)},
            optional={"count": st.integers(1, 5), "memory": above_0, "chips": st.integers(1, 9)},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_toml_says_the_same_as_csv(tmp_path_factory, entries):
    folder = tmp_path_factory.mktemp("both")
    keys = ["cores", "ops", "watts", "count", "memory", "chips"]
    lines = [",".join(keys)]
    lines += [",".join(repr(e[k]) if k in e else "" for k in keys) for e in entries]
    (folder / "c.csv").write_text("\n".join(lines))
    tables = ["\n".join(["[[node]]", *(f"{k} = {v!r}" for k, v in e.items())]) for e in entries]
    (folder / "c.toml").write_text("\n".join(tables))
    assert read_cluster(folder / "c.csv") == read_cluster(folder / "c.toml")
