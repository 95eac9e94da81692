"""``sojourn cluster``: tables for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spec_tables import row, text

from sojourn.cli import main


@pytest.fixture
def run(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["cluster", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "ssj.csv"
    path.write_text(
        text(
            row(),
            row(nodes=2, chips=4, memory=32, ops=1_200_000, full=300.0, idle=100.0),
            row(Result=0),
            row(**{"# Cores": 0}),
        )
    )
    return path


def test_inspect(run, table):
    code, out, err = run("inspect", table)
    assert (code, err) == (0, "")
    assert f"{table}: 4 rows read, 3 kept (1 repaired), 1 refused" in out
    assert "refused 1 row: non-compliant result (line 4)" in out
    assert "repaired 1 row: cores were 0: taken from chips and cores per chip (line 5)" in out
    for line in (
        "nodes 4",
        "processors 32, each a core (32 cores on 8 chips)",
        "memory 64 GB",
        # [gomez2012, eq. 1]: 2,000,000 operations over 32 cores.
        "speed slowest 50,000, average 62,500, fastest 75,000 operations/s of a core",
        "watts idle 260 W, at full load 700 W",
        "efficiency 2,857 operations/s per W at full load",
        "X5570 4 32",
    ):
        assert line in [" ".join(each.split()) for each in out.splitlines()]


def test_inspect_as_json(run, table):
    code, out, _ = run("inspect", table, "--json", "--processor", "chip", "--where", "ops > 4e5")
    assert code == 0
    told = json.loads(out)
    assert told["where"] == "ops > 4e5"
    assert told["processor"] == "chip"
    assert told["speed"] == {"slowest": 300_000, "average": 300_000, "fastest": 300_000}
    assert told["totals"]["nodes"] == 2
    assert told["models"] == [{"model": "X5570", "nodes": 2, "procs": 4}]
    assert told["report"]["rows"] == 4
    assert told["report"]["remarks"][0]["lines"] == [4]
    assert told["nodes"][0] == {
        "name": "X5570-2",
        "model": "X5570",
        "procs": 2,
        "cores": 8,
        "chips": 2,
        "memory": 16,
        "ops": 600_000,
        "watts": 150,
        "idle_watts": 50,
        "speed": 1,
        "features": [],
    }


def test_speeds_are_relative_to_the_average(run, table):
    told = json.loads(run("inspect", table, "--json")[1])
    assert [node["speed"] for node in told["nodes"]] == [0.8, 1.2, 1.2, 0.8]


def test_keep_noncompliant_and_strict(run, table):
    assert (
        json.loads(run("inspect", table, "--json", "--keep-noncompliant")[1])["totals"]["nodes"]
        == 5
    )
    code, out, err = run("inspect", table, "--strict")
    assert (code, out) == (2, "")
    assert err.startswith(f"sojourn: error: {table}, line 5: cores were 0")


def test_what_is_not_known(run, tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("name,cores,ops,watts\na,4,1000,100\n")
    out = run("inspect", path)[1]
    assert "idle not known, at full load 100 W" in out
    assert "memory      not known" in out
    path.write_text("name,cores,ops,watts,memory\na,4,1000,100,\nb,4,1000,100,8\n")
    assert "8 GB (and what is not known of 1 nodes)" in run("inspect", path)[1]
    told = json.loads(run("inspect", path, "--json")[1])
    assert told["nodes"][0]["idle_watts"] is None
    assert told["totals"]["idle_watts"] is None


def test_counts(run):
    told = json.loads(run("inspect", "64 x X5670, 8 x L5420", "--json")[1])
    assert told["totals"]["cores"] == 64 * 12 + 8 * 8
    assert told["source"] == "64 x X5670, 8 x L5420"


def test_published_table(run, data_dir):
    path = data_dir / "specpower" / "ssj2008-1092.csv"
    code, out, _ = run("inspect", path, "--where", "Published <= 2011-12")
    assert code == 0
    assert "1,092 rows read, 1,050 kept (15 repaired), 42 refused" in out
    assert "and 58 models more; --json has every node" in out
    told = json.loads(run("inspect", path, "--json")[1])
    assert len(told["nodes"]) == 2180


def test_list(run):
    code, out, _ = run("list")
    assert code == 0
    assert len(out.splitlines()) == 18
    (acer,) = [r for r in json.loads(run("list", "--json")[1]) if r["model"] == "X5670"]
    assert (acer["cores"], acer["ops"], acer["published"]) == (12, 898_544, "2010-11")
    assert "X5670" in run("list", "--where", "vendor == Acer")[1]
    assert "L5420" not in run("list", "--where", "vendor == Acer")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nosuch.csv"], "nosuch.csv: no such file; check the path"),
        (["."], ".: is a directory"),
        (["3 x X5671"], "no server is called 'X5671'; did you mean 'X5670'?"),
        (["3 x X5670", "--processor", "cpu"], "processor 'cpu': choose core, chip, node"),
        (["3 x X5670", "--where", "coers > 3"], "no field is called 'coers'; did you mean 'cores'"),
        (["3 x X5670", "--where", "cores > 99"], "no node is left by the selection 'cores > 99'"),
        ([], "Missing argument"),
    ],
)
def test_errors_are_one_line(run, arguments, told):
    code, out, err = run("inspect", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1


def test_duplicate_names(run, tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("name,server\na,X5670\na,X5670\n")
    code, _, err = run("inspect", path)
    assert code == 2
    assert "line 3, field 'name': two nodes are called 'a'" in err


PARTS = """\
between = "round-robin"
[[node]]
name = "n[1-2]"
cores = 4
memory = "8G"
[[node]]
name = "g"
cores = 2
gpu = 3
[[partition]]
name = "p"
nodes = ["g", "n1"]
max_time = "2:00:00"
[[queue]]
name = "q"
order = "{order}"
[[queue]]
name = "r"
max_running = 2
[[pool]]
name = "matlab"
count = 4
"""


def test_inspect_shows_all_parts(run, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(PARTS.format(order="sjf"))
    code, out, err = run("inspect", path)
    assert (code, err) == (0, "")
    lines = [" ".join(each.split()) for each in out.splitlines()]
    for line in (
        "1 node is in no partition: no job can use it",
        "memory 16 GB (and what is not known of 1 nodes)",
        "gpu 3 on 1 node",
        "speed not known: all processors are equally fast",
        "watts not known: no energy is stated",
        "model nodes cores GB gpu",
        "n 2 4 8 0",
        "g 1 2 - 3",
        "p 2 6 at most 2:00:00",
        "q sjf",
        "r fcfs 2 jobs at once",
        "between queues: round-robin",
        "matlab 4",
    ):
        assert line in lines


def test_all_parts_as_json(run, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(PARTS.format(order="sjf"))
    told = json.loads(run("inspect", path, "--json")[1])
    assert told["resources"] == [{"resource": "gpu", "count": 3, "nodes": 1}]
    (part,) = told["partitions"]
    assert (part["name"], part["nodes"], part["max_time"]) == ("p", ["n1", "g"], 7200)
    assert [queue["order"] for queue in told["queues"]] == ["sjf", "fcfs"]
    assert told["queues"][0]["max_time"] is None
    assert (told["between"], told["pools"]) == ("round-robin", {"matlab": 4})
    assert told["nodes"][2]["resources"] == {"gpu": 3}
    assert (told["speed"]["average"], told["totals"]["watts"]) == (None, None)


@pytest.mark.parametrize(
    ("order", "words"),
    [("sjff", "queue 'q': unknown order 'sjff'"), ("sjf+easy", "queue 'q': order 'sjf+easy' has")],
)
def test_orders_of_queues_are_checked(run, tmp_path, order, words):
    path = tmp_path / "c.toml"
    path.write_text(PARTS.format(order=order))
    code, out, err = run("inspect", path)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_nodes_of_a_slurm_conf_sleep_once_it_is_converted(run, tmp_path, capsys):
    """As the message says that a user gets who wants them to."""
    conf, machine, log = (tmp_path / name for name in ("slurm.conf", "machine.toml", "log.csv"))
    conf.write_text("NodeName=n[1-4] CPUs=16\nPartitionName=all Nodes=n[1-4] Default=YES\n")
    log.write_text("submit,runtime,procs\n0,10,4\n10000,10,1\n")
    command = ["simulate", str(log), "--sleep", "idle:600", "--cluster"]
    assert main([*command, str(conf)]) == 2
    assert (
        "[[node.sleep]] in a .toml file, which sojourn cluster convert" in capsys.readouterr().err
    )
    assert run("convert", conf, machine) == (0, f"4 nodes in {machine}\n", "")
    with machine.open("a") as file:
        file.write('[[node.sleep]]\nname = "off"\nwatts = 9\nleave = 60\nleave_watts = 120\n')
    assert main([*command, str(machine)]) == 0
    assert "1 boot of nodes" in capsys.readouterr().out


def test_threads_are_no_cores_and_kinds_of_one_name_are_told_apart(run, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "NodeName=n[1-4] CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=32768\n"
        "NodeName=n[5-6] CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=65536\n"
        "PartitionName=all Nodes=n[1-6] Default=YES\n"
    )
    code, out, _ = run("inspect", conf)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["processors", "256,", "each", "a", "hardware", "thread", "(12", "chips)"] in lines
    assert ["model", "nodes", "threads", "GB"] in lines
    assert ["n", "4", "32", "32"] in lines
    assert ["n", "2", "64", "64"] in lines
    conf.write_text(conf.read_text().replace("CPUs=32 ", "CPUs=16 "))
    assert "a core or a hardware thread of one (12 chips)" in run("inspect", conf)[1]
