"""Tables of published results, real ones and in every disguise."""

from __future__ import annotations

import csv
import gzip
import lzma
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_tables import HEADER, row, text

from sojourn.cluster import Cluster, library, read_cluster, read_specpower
from sojourn.cluster._layout import month
from sojourn.cluster.library import cores_in_words, model_name, vendor_name
from sojourn.errors import ClusterError, OptionError

# [gomez2012, table 2]: processor, chips, cores per chip, GB, operations and watts at 100 %.
TABLE_2 = (
    ("X3360", 1, 4, 4.0, 165064, 118),
    ("L5420", 2, 4, 8.0, 270621, 170),
    ("L5430", 2, 4, 8.0, 278927, 173),
    ("X3470", 1, 4, 8.0, 309401, 125),
    ("E3-1260L", 1, 4, 8.0, 295443, 58),
    ("X5670", 2, 6, 12.0, 898544, 267),
    ("X5670", 2, 6, 12.0, 897310, 265),
    ("X3470", 1, 4, 8.0, 308318, 124),
    ("X5670", 2, 6, 12.0, 890144, 272),
)
SPEC = "specpower/ssj2008-1092.csv"
OLDER = "specpower/ssj2008-20160613-shifted.csv.gz"


def facts(server) -> tuple:
    return (server.model, server.chips, server.cores // server.chips, server.memory, server.ops)


@pytest.fixture(scope="module")
def published(data_dir) -> Cluster:
    return read_specpower(data_dir / SPEC)


@pytest.fixture(scope="module")
def older(data_dir) -> Cluster:
    return read_specpower(data_dir / OLDER)


@pytest.fixture
def table(tmp_path):
    def write(*rows: list[str], **options) -> Path:
        path = tmp_path / "table.csv"
        path.write_text(text(*rows, **options))
        return path

    return write


def test_what_is_read_repaired_and_refused(published):
    report = published.report
    assert (report.rows, report.servers, report.nodes) == (1092, 1050, 2180)
    assert {remark.what: remark.lines for remark in report.refused} == {
        "non-compliant result": report.refused[1].lines,
        "operations, watts and operations per watt do not agree": (115,),
        "no cores": (1093,),
    }
    assert len(report.refused[1].lines) == 40
    assert {remark.what: remark.lines for remark in report.repaired} == {
        "cores per chip contradicted cores, chips and the description": (
            *(29, 396, 1008, 1025, 1034, 1035, 1059),
        ),
        "cores contradicted chips, cores per chip and the description": (149, 591, 951, 1019, 1022),
        "cores and memory were in each other's column": (140,),
        "chips were 0: taken from cores and cores per chip": (1063,),
        "memory was not given: taken from the modules": (216,),
    }
    assert (report.count("repaired"), report.count("refused")) == (15, 42)
    assert "15 of them repaired), 42 refused" in str(report)


def test_totals_of_the_published_table(published, data_dir):
    """Summed here from the cells as they are, and pinned."""
    with open(data_dir / SPEC, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    kept = [r for at, r in enumerate(rows[1:], 2) if r[6] != "0" and at not in (115, 1093)]
    servers = [node.server for node in published.nodes]
    assert len(servers) == sum(int(r[4]) for r in kept)
    for place, got in (
        (7, [s.ops for s in servers]),
        (17, [s.watts[10] for s in servers]),
        (22, [s.watts[5] for s in servers]),
        (27, [s.watts[0] for s in servers]),
    ):
        assert math.fsum(got) == pytest.approx(math.fsum(float(r[place]) for r in kept), rel=1e-12)
    assert published.procs == 117_376
    assert math.fsum(s.ops for s in servers) == pytest.approx(11_577_018_285)
    assert math.fsum(s.watts[-1] for s in servers) == pytest.approx(886_068.4)
    assert math.fsum(s.memory for s in servers) == 329_304


def test_names_are_unique_and_short(published):
    names = [node.name for node in published.nodes]
    assert len(set(names)) == len(names)
    assert not any(" " in name for name in names)
    assert max(map(len, names)) < 24


def test_servers_of_the_paper_are_in_the_table(published):
    there = Counter((*facts(node.server), node.server.watts[-1]) for node in published.nodes)
    assert Counter(TABLE_2) <= there


def test_first_x3470_has_four_cores(published):
    """[gomez2012] erratum 2: its row says one core per chip."""
    (first,) = published.select("ops == 309401").nodes
    assert (first.server.cores, first.server.chips) == (4, 1)


def test_noncompliant_results_can_be_kept(data_dir):
    kept = read_specpower(data_dir / SPEC, noncompliant="keep")
    assert (kept.report.servers, len(kept.nodes)) == (1090, 2309)
    assert len(kept.select("result == 0").nodes) == 2309 - 2180


def test_results_of_several_nodes_can_be_left_whole(data_dir, published):
    whole = read_specpower(data_dir / SPEC, split=False)
    assert len(whole.nodes) == 1050
    assert whole.procs == published.procs
    assert whole.average_ops == pytest.approx(published.average_ops, rel=1e-12)


def test_older_release_is_read_by_its_names(older, published):
    """Its twenty further columns put every other one elsewhere; by name, no cell has moved."""
    report = older.report
    assert (report.rows, report.servers, report.nodes) == (515, 474, 976)
    assert (report.count("repaired"), report.count("refused")) == (6, 41)
    assert not any("moved" in remark.what for remark in report.remarks)

    def kinds(cluster: Cluster) -> dict[tuple, list[float]]:
        found: dict[tuple, list[float]] = {}
        for node in cluster.nodes:
            s = node.server
            place = (s.model, s.cores, s.chips, s.memory, s.watts, s.facts["published"])
            found.setdefault(place, []).append(s.ops)
        return found

    newer = kinds(published)
    for kind, ops in kinds(older).items():
        # The newer table has three digits of what the older has six of.
        assert sorted(ops) == pytest.approx(sorted(newer[kind]), rel=5e-3), kind


def test_reading_is_quick_and_light(data_dir):
    code = (
        "import sys, time; from sojourn.cluster import read_specpower; began = time.process_time();"
        "read_specpower(sys.argv[1]); took = time.process_time() - began;"
        "assert not {'pandas', 'numba'} & set(sys.modules); assert took < 1.5, took"
    )
    subprocess.run([sys.executable, "-c", code, str(data_dir / SPEC)], check=True)


def test_a_row(table):
    (node,) = read_specpower(table(row())).nodes
    server = node.server
    assert node.name == server.model == "X5570"
    assert (server.cores, server.chips, server.memory, server.ops) == (8, 2, 16, 400_000)
    assert server.watts == (80, 92, 104, 116, 128, 140, 152, 164, 176, 188, 200)
    assert server.idle_known
    assert server.facts == {
        "vendor": "Fuji Machines",
        "system": "Model 7 (Intel Xeon X5570, 2.93 GHz)",
        "processor": "Intel Xeon X5570",
        "published": "2009-05",
        "hw_available": "2009-03",
        "year": 2009,
        "nodes": 1,
        "threads_per_core": 2,
        "mhz": 2933,
        "result": 1429,
        "version": 1.2,
        "form_factor": "1U",
    }


def test_several_nodes_are_split(table):
    path = table(row(nodes=4, chips=8, memory=64, ops=1_600_000, full=800.0, idle=320.0), row())
    cluster = read_specpower(path)
    assert [node.name for node in cluster.nodes] == [f"X5570-{i}" for i in range(1, 6)]
    first, *_, last = (node.server for node in cluster.nodes)
    assert facts(first) == facts(last)
    assert first.watts == pytest.approx(last.watts)
    assert first.facts["nodes"] == 4
    assert (cluster.report.rows, cluster.report.servers, cluster.report.nodes) == (2, 2, 5)


def test_nodes_that_do_not_divide_are_kept_as_one(table):
    cluster = read_specpower(table(row(nodes=3, memory=48)))
    assert len(cluster.nodes) == 1
    assert cluster.procs == 8
    (remark,) = cluster.report.remarks
    assert (remark.action, remark.lines) == ("kept", (2,))


@pytest.mark.parametrize("result", ["0", "NC", "Non-Compliant", "-1"])
def test_noncompliant(table, result):
    path = table(row(), row(Result=result))
    assert len(read_specpower(path).nodes) == 1
    assert len(read_specpower(path, strict=True).nodes) == 1
    kept = read_specpower(path, noncompliant="keep")
    assert [node.server.facts["result"] for node in kept.nodes] == [1429, 0]
    with pytest.raises(OptionError, match="'maybe': choose refuse or keep"):
        read_specpower(path, noncompliant="maybe")


@pytest.mark.parametrize(
    ("changes", "cores", "chips", "what"),
    [
        ({"# Cores": 0}, 8, 2, "cores were 0"),
        ({"# Cores": ""}, 8, 2, None),
        ({"# Chips": 0}, 8, 2, "chips were 0"),
        ({"# Cores": 4}, 8, 2, "cores contradicted"),
        ({"# Cores Per Chip": 8}, 8, 2, "cores per chip contradicted"),
        ({"# Cores Per Chip": ""}, 8, 2, None),
    ],
)
def test_cores_are_put_right_where_the_row_says_how(table, changes, cores, chips, what):
    cluster = read_specpower(table(row(**changes)))
    server = cluster.nodes[0].server
    assert (server.cores, server.chips) == (cores, chips)
    assert [r.what[: len(what or "")] for r in cluster.report.repaired] == ([what] if what else [])
    if what:
        with pytest.raises(ClusterError, match=f"line 2: {what}"):
            read_specpower(table(row(**changes)), strict=True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"# Cores": 0, "# Chips": 0}, "no cores"),
        ({"# Cores": 16, "Processor Characteristics": "2.93 GHz"}, "do not agree"),
        ({"# Cores": 4.5}, "'# Cores' is not a whole number"),
        ({"Average watts @ 100% of target load": -200}, "negative watts"),
        ({"Average watts @ active idle": -1}, "negative watts"),
        ({"Average watts @ 50% of target load": ""}, "nothing in 'Average watts @ 50%"),
        ({"Average watts @ 100% of target load": 2000}, "operations per watt do not agree"),
        ({"ssj_ops @ 100% of target load": 0}, "no operations"),
        ({"ssj_ops @ 100% of target load": ""}, "nothing in 'ssj_ops @ 100%"),
        ({"ssj_ops @ 100% of target load": "many"}, "'ssj_ops @ 100% of target load' is not a num"),
        ({"ssj_ops @ 100% of target load": "nan"}, "'ssj_ops @ 100% of target load' is not a num"),
        ({"Memory (GB)": "much"}, r"'Memory \(GB\)' is not a number"),
        ({"Memory (GB)": -4}, "no memory"),
        ({"Memory (GB)": "1e200"}, "values no server can have"),
        ({"Published": "soon"}, "'Published' is not a date"),
        ({"Processor": "2933"}, "'Processor' is not text"),
        ({"Nodes": 0}, "'Nodes' is not a whole number of at least 1"),
        ({"Nodes": 1_000_000_000}, "too many nodes"),
    ],
)
def test_rows_are_refused_with_the_reason(table, changes, why):
    cluster = read_specpower(table(row(), row(**changes), row()))
    assert len(cluster.nodes) == 2
    (remark,) = cluster.report.refused
    assert remark.lines == (3,)
    with pytest.raises(ClusterError, match=r"table.csv: has no server that can be used: .*line 2"):
        read_specpower(table(row(**changes)))
    with pytest.raises(ClusterError, match=r"table.csv, line 2.*correct the row"):
        read_specpower(table(row(**changes)), strict=True)
    with pytest.raises(ClusterError, match=why):
        read_specpower(table(row(**changes)))


def test_unknown_memory_comes_from_the_modules(table):
    path = table(row(nodes=2, memory=32, **{"Memory (GB)": "n/a"}))
    assert [node.server.memory for node in read_specpower(path).nodes] == [16, 16]
    path = table(row(DIMMS="", **{"Memory (GB)": "n/a"}))
    assert math.isnan(read_specpower(path).nodes[0].server.memory)


def test_cores_and_memory_in_each_others_column(table):
    path = table(row(memory=16, **{"# Cores": 16, "Memory (GB)": 8}))
    server = read_specpower(path).nodes[0].server
    assert (server.cores, server.memory) == (8, 16)


PAPER = """\
Vendor	Processor	#Chips	#Cores/Chip	RAM (GB)	OPS@100%Load	Watts@100%Load	...
ASUS	Xeon X3360	1	4	4.00	165064	118	...
ASUS	Xeon L5420	2	4	8.00	270621	170	...
ASUS	Xeon L5430	2	4	8.00	278927	173	...
Acer	Xeon X3470	1	4	8.00	309401	125	...
Acer	Xeon E3-1260L	1	4	8.0	295443	58	...
Acer	Xeon X5670	2	6	12.0	898544	267	...
Acer	Xeon X5670	2	6	12.0	897310	265	...
Acer	Xeon X3470	1	4	8.00	308318	124	...
Acer	Xeon X5670	2	6	12.0	890144	272
"""


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_table_of_the_paper(tmp_path, separator):
    path = tmp_path / "cluster.csv"
    path.write_text(PAPER.replace("\t", separator))
    for read in (read_specpower, read_cluster):
        cluster = read(path)
        servers = [node.server for node in cluster.nodes]
        assert tuple((*facts(s), s.watts[-1]) for s in servers) == TABLE_2
        assert cluster.procs == 68
        # [gomez2012, eq. 1]: 4,313,772 operations per second over 68 cores.
        assert cluster.average_ops == 4_313_772 / 68
        assert not any(s.idle_known for s in servers)
        assert {s.watts[0] for s in servers} == {0}


def test_nothing_is_left_out_of_a_table_that_somebody_wrote(tmp_path):
    path = tmp_path / "cluster.csv"
    path.write_text(PAPER.replace("270621", "lots"))
    with pytest.raises(ClusterError, match=r"line 3, field 'OPS@100%Load': 'lots' is not a number"):
        read_specpower(path)
    path.write_text(PAPER.replace("	8.00	278927", "	278927"))
    with pytest.raises(ClusterError, match=r"line 4"):
        read_specpower(path)


def test_table_with_idle_watts_only(tmp_path):
    path = tmp_path / "cluster.csv"
    path.write_text("Processor,# Cores,ssj_ops @ 100%,Watts@100%,Idle watts\nXeon A1,2,10,110,10\n")
    server = read_specpower(path).nodes[0].server
    assert server.idle_known
    assert server.watts == tuple(range(10, 111, 10))


@pytest.mark.parametrize(
    "pack",
    [
        lambda t: t.encode(),
        lambda t: t.encode("utf-8-sig"),
        lambda t: t.encode("latin-1"),
        lambda t: t.encode("utf-16"),
        lambda t: t.encode("utf-16-le"),
        lambda t: t.encode("utf-16-be"),
        lambda t: t.replace("\n", "\r\n").encode(),
        lambda t: t.replace("\n", "\r").encode(),
        lambda t: ("\n\n" + t + "\n,,,\n\n").encode(),
        lambda t: gzip.compress(t.encode("latin-1")),
        lambda t: lzma.compress(t.encode("utf-16")),
    ],
)
def test_encodings_and_archives(tmp_path, pack):
    path = tmp_path / "table.dat"
    path.write_bytes(pack(text(row(System="Zürich®"))))
    server = read_cluster(path).nodes[0].server
    assert server.facts["system"] == "Zürich®"
    assert facts(server) == ("X5570", 2, 4, 16, 400_000)


def spelt(value: float, style: str) -> str:
    if style == "thousands":
        return f"{value:,}"
    if style == "scientific":
        return f"{value:.6E}"
    return f" {value} "


def disguised(name: str, style: int) -> str:
    """Return a column's name as another release spells it."""
    name = name.strip()
    return (
        name,
        f"  {name.upper()}\t",
        name.replace("# ", "").replace("(GB)", "GB"),
        name.replace("# ", "#").replace(" @ ", "@").lower(),
    )[style]


@given(
    ops=st.integers(20_000, 10**8),
    each=st.integers(1, 64),
    chips=st.integers(1, 8),
    nodes=st.integers(1, 3),
    full=st.integers(100, 2000),
    share=st.integers(1, 100),
    memory=st.integers(1, 4096),
    style=st.sampled_from(["plain", "thousands", "scientific"]),
    header=st.integers(0, 3),
    separator=st.sampled_from(",;\t"),
    backwards=st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path_factory,
    ops,
    each,
    chips,
    nodes,
    full,
    share,
    memory,
    style,
    header,
    separator,
    backwards,
):
    idle = full * share / 100
    told = row(
        nodes=nodes,
        chips=chips * nodes,
        each=each,
        ops=ops,
        full=float(full),
        idle=idle,
        memory=memory * nodes,
        **{
            "ssj_ops @ 100% of target load": spelt(ops, style),
            "Memory (GB)": spelt(memory * nodes, style),
        },
    )
    names = [disguised(name, header) for name in HEADER]
    if backwards:
        told, names = told[::-1], names[::-1]
    path = tmp_path_factory.mktemp("spec") / "table.csv"
    path.write_text(text(told, header=names, separator=separator))
    cluster = read_specpower(path)
    assert len(cluster.nodes) == nodes
    server = cluster.nodes[0].server
    assert (server.cores, server.chips, server.memory) == (each * chips, chips, memory)
    assert server.ops == pytest.approx(ops / nodes, rel=1e-6)
    curve = [idle + (full - idle) * p / 100 for p in range(0, 101, 10)]
    assert server.watts == pytest.approx([watts / nodes for watts in curve])
    assert not cluster.report.remarks


@pytest.mark.parametrize(
    ("processor", "model"),
    [
        ("Intel Xeon X3360 Processor", "X3360"),
        ("Xeon X5670", "X5670"),
        ("Intel(R) Xeon(R) CPU E5472", "E5472"),
        ("Intel Xeon E5-2660 v2, 2.20 GHz (Intel Turbo Boost Technology up to 3 GHz)", "E5-2660v2"),
        ("Intel Xeon E3-1265LV3", "E3-1265Lv3"),
        ("Intel Xeon Platinum 8280 @ 2.70GHz", "Platinum-8280"),
        ("Intel(R) Xeon(R) Platinum 8592+,1.90GHz", "Platinum-8592+"),
        ("Intel Xeon E E-2488", "E-2488"),
        ("Intel Xeon-D 2776NT", "D-2776NT"),
        ("Intel Xeon processor 5160", "Xeon-5160"),
        ("Intel Core i5-4570", "i5-4570"),
        ("2.6 GHz AMD Opteron 2435", "Opteron-2435"),
        ("Quad-Core AMD Opteron(r) Processor 8376 HE", "Opteron-8376HE"),
        ("AMD EPYC 7601 2.20 GHz, Dell SKU [338-BNCG]", "EPYC-7601"),
        ("Ampere® Altra® 64-Bit Multi-Core Processor Q64-30", "Altra-Q64-30"),
        ("Grace CPU Superchip", "Grace-Superchip"),
        ("3.4 GHz", "server"),
    ],
)
def test_short_names_of_processors(processor, model):
    assert model_name(processor) == model


def test_names_of_vendors_months_and_cores():
    assert vendor_name("Acer Incoporated") == vendor_name("Acer Incorporated") == "Acer"
    assert vendor_name("Huawei Technologies Co., Ltd") == "Huawei Technologies"
    assert vendor_name("Bull SAS") == "Bull"
    assert [month(t) for t in ("Jan-2009", "sep 12", "2011/7", "2011-13", "Foo-2011", "")] == [
        *("2009-01", "2012-09", "2011-07", None, None, None),
    ]
    told = [
        cores_in_words(t) for t in ("Six-Core", "2 x Xeon 4-Core", "144 core, 2.2GHz", "2.5 GHz")
    ]
    assert told == [6, 4, 144, None]


def test_servers_of_the_library_are_rows_of_the_table(older, published):
    for node in library().nodes:
        mine = node.server
        same = [
            other.server.ops
            for cluster in (older, published)
            for other in cluster.nodes
            if (other.server.model, other.server.watts) == (mine.model, mine.watts)
            and other.server.cores == mine.cores
            and other.server.memory == mine.memory
            and other.server.facts["published"] == mine.facts["published"]
        ]
        assert mine.ops in same, mine
