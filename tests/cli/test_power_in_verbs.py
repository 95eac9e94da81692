"""Sleep, caps, prices and failures in verbs other than simulate: what is said of each number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn.errors import plural

from .conftest import swf_line

SLEEPY = """
[[node]]
name = "n[1-4]"
cores = 4
ops = 4e6
watts = 400
idle_watts = 100

[[node.sleep]]
name = "off"
watts = 10
enter = 10
enter_watts = 100
leave = 150
leave_watts = 125
"""
LINES = [swf_line(1 + k, 2000 * k, 300 + 40 * (k % 7), 1 + k % 16, 900) for k in range(40)]


def scenario(power: str = "", policy: str = "", cluster: str = 'nodes = "sleepy.toml"') -> str:
    return (
        f'[workload]\nlog = "log.swf"\n[cluster]\n{cluster}\n[policy]\nname = "easy"\n{policy}\n'
        f"[power]\n{power}\n"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.swf").write_text("; MaxProcs: 16\n" + "\n".join(LINES) + "\n")
    (tmp_path / "one.swf").write_text(f"; MaxProcs: 16\n{LINES[5].replace(' -1 ', ' 7 ', 1)}\n")
    (tmp_path / "sleepy.toml").write_text(SLEEPY)
    return tmp_path


def test_one_of_a_kind_is_no_plural(folder, run):
    assert [plural(n, "switch", "switches") for n in (0, 1, 2)] == [
        "0 switches",
        "1 switch",
        "2 switches",
    ]
    told = run("simulate", "one.swf", "--cluster", "sleepy.toml", "--sleep", "idle:60")
    assert "the 1 job whose wait the log records" in told.out
    assert "1 of 1 job:" in told.out
    assert "1 jobs" not in told.out
    told = run("convert", "one.swf", "two.swf")
    assert told.out.strip().endswith("1 job written to two.swf")
    told = run("cluster", "inspect", "1 x X5670")
    assert "1 rows" not in told.out


def test_costs_of_a_front_have_their_currency(folder, run):
    pytest.importorskip("pymoo")
    (folder / "s.toml").write_text(scenario('price = "0.2 EUR"', 'sleep = "idle:60"'))
    search = (
        *("optimise", "s.toml", "--minimise", "wait_mean,cost", "--population", 4),
        *("--generations", 1, "--workers", 1, "--vary"),
    )
    told = run(*search, "policy.sleep=idle:60,idle:600,never")
    assert told.code == 0, told.err
    assert "EUR" in told.out.splitlines()[1].split()
    told = run(*search, "power.price=0.1,0.2")
    assert "EUR" not in told.out


def test_summary_of_peas_says_sleep_caps_and_failures(folder, run):
    told = run(
        *("peas", "log.swf", "sleepy.toml", "--sleep", "idle:60", "--cap", "1200"),
        *("--failures", "mtbf=2d,repair=1h"),
    )
    rows = {line.split("  ")[0] for line in told.out.splitlines()}
    assert {"sleep", "cap", "availability", "goodput", "lost work"} <= rows


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("", "price = 0.2", ["Not compared: cost of energy, which only B has."]),
        ("carbon = 300", "", ["Not compared: carbon dioxide, which only A has."]),
        ('price = "0.2 EUR"', 'price = "0.2 USD"', ["cost of energy, in 'EUR' and 'USD'."]),
        ('price = "0.2 EUR"', 'price = "0.3 EUR"', ["Cost of energy: in EUR."]),
        ("", "cap = 1000", ["on A only are left out of waits and slowdowns; utilisation and"]),
    ],
)
def test_diff_says_what_only_one_side_has(a, b, said, folder, run):
    (folder / "a.toml").write_text(scenario(a))
    (folder / "b.toml").write_text(scenario(b))
    told = run("diff", "a.toml", "b.toml", "--log", "log.swf", "--draws", 2, "--out", "out")
    assert told.code == 0, told.err
    remarks = json.loads((folder / "out" / "diff.json").read_text())["remarks"]
    for words in said:
        assert words in told.out
        assert any(words in remark for remark in remarks)


def test_diff_says_which_watts_are_assumed(folder, run):
    (folder / "a.toml").write_text(scenario("carbon = 300", cluster="procs = 16"))
    told = run("diff", "a.toml", "a.toml", "--log", "log.swf", "--draws", 2)
    assert "Energy and what rests on it: assumed 41/18 W per processor." in told.out


def test_a_guess_is_near_or_there_is_none(folder, refused):
    line = refused("simulate", "log.swf", "--set", "cluster.file=x")
    assert "cluster.file: is not known; choose from procs, nodes" in line
    assert "did you mean" not in refused("simulate", "log.swf", "--set", "power.file=x")
    assert "did you mean 'power.price'?" in refused("simulate", "log.swf", "--set", "power.prise=1")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "--carbon",
            "300g",
            "--carbon '300g' is neither a number of g per kWh, such as 300, nor a",
        ),
        ("--carbon", "0.3kg", "--carbon '0.3kg' is neither a number"),
        ("--carbon", "no.csv", "--carbon: no.csv: no such file; check the path"),
        ("--cap", "abc", "--cap 'abc' is neither a power nor a file; write 2MW"),
        ("--cap", "no.csv", "--cap: no.csv: no such file; check the path"),
        ("--price", "x", "--price: tariff: 'x' is not [DAYS] [HOUR[:MINUTES]:]PRICE, such as 0.25"),
        ("--price", "no.csv", "--price: no.csv: no such file; check the path"),
        ("--failures", "often", "--failures 'often' is neither KEY=VALUE,KEY=VALUE, such as mtbf"),
        ("--failures", "no.csv", "--failures: no.csv: no such file; check the path"),
    ],
)
def test_what_is_neither_a_value_nor_a_file_names_its_option(option, value, said, folder, refused):
    given = ("--cluster", "sleepy.toml", option, value, "--out", "out")
    assert said in refused("simulate", "log.swf", *given)
    assert said in refused("compare", "log.swf", "--policies", "fcfs,easy", *given)
    assert not (folder / "out").exists()


def test_a_bare_log_is_told_the_shortest_file_of_nodes_that_sleep(folder, run, refused):
    line = refused("simulate", "log.swf", "--sleep", "idle:600")
    assert (
        "processors are only counted; describe nodes that sleep in a .toml file (--cluster)" in line
    )
    (folder / "nodes.toml").write_text(line.partition(" and s: ")[2])
    told = run("simulate", "log.swf", "--cluster", "nodes.toml", "--sleep", "idle:600", "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["nodes"] == 16


def test_a_cap_of_a_bare_log_says_why_no_watts_are_assumed(folder, run, refused):
    line = refused("simulate", "log.swf", "--cap", "1kW")
    assert "give --watts-busy and --watts-idle, or nodes with watts: under a cap" in line
    told = run("simulate", "log.swf", "--cap", "1kW", "--watts-busy", 41, "--watts-idle", 18)
    assert told.code == 0, told.err


SLURM = """SchedulerType=sched/backfill
SuspendTime=60
SuspendTimeout=30
ResumeTimeout=300
NodeName=n[1-16] CPUs=1
PartitionName=main Nodes=ALL Default=YES
"""


def test_what_is_assumed_of_nodes_that_slurm_powers_down_is_said_by_all(folder, run):
    (folder / "slurm.conf").write_text(SLURM)
    waited = [line.replace(" -1 ", " 7 ", 1) for line in LINES]
    (folder / "log.swf").write_text("; MaxProcs: 16\n" + "\n".join(waited) + "\n")
    conf = ("--slurm-conf", "slurm.conf")
    assumed = "SuspendTime: n[1-16] without a sleep state: assumed to need 30 s to power down"
    told = run("replay", "log.swf", *conf, "--members", 1)
    assert assumed in told.out, told.err
    told = run("plan", "log.swf", "--policy", "slurm", *conf, "--target-wait", "mean=30m")
    assert assumed in told.out, told.err
