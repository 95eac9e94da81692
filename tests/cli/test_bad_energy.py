"""Bad values of watts, sleep, caps, failures, prices and carbon: one line each, nothing written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import sojourn
from sojourn.errors import InputError

NODE = """
[[node]]
name = "n[1-4]"
cores = 4
ops = 4e6
watts = 400
idle_watts = 100
"""
SLEEP = """
[[node.sleep]]
name = "off"
watts = 10
enter = 10
enter_watts = 100
leave = 150
leave_watts = 125
"""


def hours(count: int, *left_out: int) -> str:
    return "".join(f"{3600 * h},{200 + h}\n" for h in range(count) if h not in left_out)


FILES = {
    "sleepy.toml": NODE + SLEEP,
    "awake.toml": NODE,
    "grid.csv": "time,g_per_kwh\n" + hours(48),
    "gap.csv": "time,g_per_kwh\n" + hours(48, 20, 21),
    "short.csv": "time,g_per_kwh\n" + hours(3),
    "grams.csv": "time,grams\n" + hours(48),
    "negative.csv": "time,g_per_kwh\n0,-5\n3600,20\n",
    "back.csv": "time,g_per_kwh\n3600,5\n0,20\n",
    "twice.csv": "time,g_per_kwh\n0,5\n0,20\n",
    "words.csv": "time,g_per_kwh\n0,clean\n3600,20\n",
    "empty.csv": "",
    "one.csv": "time,price_per_kwh\n0,one\n3600,2\n",
    "cap-twice.csv": "time,watts\n0,500\n0,600\n",
    "cap-head.csv": "time,watt\n0,500\n",
    "cap-nodes.csv": "time,watts,nodes\n0,500,nowhere\n",
    "cap-negative.csv": "time,watts\n0,-5\n",
    "cap-none.csv": "time,watts\n",
    "fail-back.csv": "node,down,up\nn1,10,5\n",
    "fail-column.csv": "node,down\nn1,10\n",
    "fail-node.csv": "node,down,up\nzz,10,50\n",
    "window-back.csv": "time,kind,nodes,until\n10,reserve,n1,5\n",
    "event-node.csv": "time,kind,nodes\n10,down,n77\n",
    "event-kind.csv": "time,kind,nodes\n10,explode,n1\n",
}
HELD = ("--carbon", "grid.csv", "--series", "repeat", "--defer")
ASLEEP, AWAKE, COUNTED = "sleepy.toml", "awake.toml", None

COMMANDS = [
    (ASLEEP, ("--sleep", "idle"), "--sleep 'idle': write such as idle:600"),
    (ASLEEP, ("--sleep", "idle:-1"), "'-1' is no time"),
    (ASLEEP, ("--sleep", "idle:nan"), "'nan' is no time"),
    (ASLEEP, ("--sleep", "idle:1e400"), "'1e400' is no time"),
    (ASLEEP, ("--sleep", "idle:600:deep"), "no node has a sleep state 'deep'; choose from off"),
    (ASLEEP, ("--sleep", "keep:-1"), "-1 nodes; give a whole number, 0 or more"),
    (ASLEEP, ("--sleep", "keep:1.5"), "1.5 nodes; give a whole number"),
    (ASLEEP, ("--sleep", "hours:4x30:60"), "30 numbers of nodes; give one"),
    (ASLEEP, ("--sleep", "sometimes"), "unknown sleep policy 'sometimes'; choose from never"),
    (AWAKE, ("--sleep", "idle:60"), "no node of the cluster has a sleep state; give it one with"),
    (COUNTED, ("--sleep", "idle:60"), "processors are only counted; describe nodes that sleep"),
    (ASLEEP, ("--sleep", "idle:60", "--boot-failure", "1.5"), "--boot-failure 1.5: give a number"),
    (ASLEEP, ("--sleep", "idle:60", "--boot-failure", "x"), "'--boot-failure': give a number"),
    (ASLEEP, ("--sleep", "idle:60", "--boot-repair", "-5"), "--boot-repair -5.0: give a number of"),
    (
        AWAKE,
        ("--cap", "0"),
        "the cluster is capped at 0 W, below its idle power of 400 W (4 nodes)",
    ),
    (
        AWAKE,
        ("--cap", "399"),
        "capped at 399 W, below its idle power of 400 W (4 nodes); give more",
    ),
    (AWAKE, ("--cap", "-5"), "--cap: -5 W; give a number of at least 0"),
    (AWAKE, ("--cap", "nan"), "--cap 'nan' is no power; write 2MW"),
    (AWAKE, ("--cap", "5mw"), "'mw' is no unit of power; did you mean 'MW'?"),
    (AWAKE, ("--cap", "n1=50"), "'n1' is capped at 50 W, below its idle power of 100 W (1 node)"),
    (AWAKE, ("--cap", "n9=1kW"), "cap 'n9': no partition, rack or set of nodes is called so"),
    (AWAKE, ("--cap", "1kW,2kW"), "two of the whole cluster, 1 kW and 2 kW; leave one out"),
    (AWAKE, ("--cap", "1kW", "--cap", "2kW"), "two of the whole cluster, 1 kW and 2 kW; leave"),
    (AWAKE, ("--cap", "n1=1kW", "--cap", "n1=2kW"), "two of 'n1', 1 kW and 2 kW; leave one out"),
    (ASLEEP, ("--sleep", "never", "--sleep", "idle:60"), "--sleep: is given twice; leave one out"),
    (AWAKE, ("--price", "0.2", "--price", "0.3"), "--price: is given twice; leave one out"),
    (ASLEEP, ("--sleep-rate", "5"), "--sleep-rate: no node sleeps, so that none boots; give"),
    (ASLEEP, ("--boot-failure", "0.1"), "--boot-failure: no node sleeps, so that none boots"),
    (ASLEEP, ("--sleep", "idle:60", "--boot-failure", "1"), "give a number from 0 to below 1"),
    (AWAKE, ("--cap", "cap-twice.csv"), "line 3, field 'time': '0' is not after the row above"),
    (AWAKE, ("--cap", "cap-head.csv"), "line 1: the header must be time,watts"),
    (AWAKE, ("--cap", "cap-nodes.csv"), "cap-nodes.csv: cap 'nowhere': no partition, rack or"),
    (AWAKE, ("--cap", "cap-negative.csv"), "line 2, field 'watts': '-5' is not a number of at"),
    (AWAKE, ("--cap", "cap-none.csv"), "there is no row; give time,watts"),
    (COUNTED, ("--cap", "1kW"), "the watts of a processor are not known; give --watts-busy"),
    (COUNTED, ("--cap", "1kW", "--watts-busy", "200", "--watts-idle", "100"), "power of 1600 W"),
    (AWAKE, ("--rate", "cap:0.5,1"), "there is none for rates 'cap' to keep; give one"),
    (AWAKE, ("--failures", "mtbf=0"), "--failures mtbf=0: give a number of seconds above 0"),
    (AWAKE, ("--failures", "mtbf=1d,repair=0"), "--failures repair=0: give a number of seconds"),
    (
        AWAKE,
        ("--failures", "mtbf=1d,spread=2"),
        "spread = 2 is of lognormal repairs, and these are",
    ),
    (AWAKE, ("--failures", "mtbf=1d,shape=-1"), "--failures shape=-1: give a number above 0"),
    (
        AWAKE,
        ("--failures", "mtbf=1x"),
        "--failures mtbf='1x': 'x' is no unit of a length of time",
    ),
    (AWAKE, ("--failures", "mtbf=1d,rack=0.5"), "the cluster has no racks; give per_rack, or"),
    (AWAKE, ("--failures", "mtbf=1d,procs=4"), "the cluster has named nodes; leave it out"),
    (AWAKE, ("--failures", "repair=1d"), "repair alone says nothing; give mtbf"),
    (AWAKE, ("--failures", "fail-back.csv"), "field 'up': 5 s is not after it went down, 10 s"),
    (AWAKE, ("--failures", "fail-column.csv"), "no column says 'up' of failures; name it so"),
    (AWAKE, ("--failures", "fail-node.csv"), "field 'node': the cluster has no node 'zz'"),
    (AWAKE, ("--failures", "mtbf=1"), "jobs still fail and begin again"),
    (AWAKE, ("--checkpoint", "0"), "--checkpoint every=0: choose daly or young, a number"),
    (AWAKE, ("--checkpoint", "every=60,dump=600"), "a dump takes 600 s, longer than the 60 s of"),
    (AWAKE, ("--checkpoint", "every=60,restore=-1"), "--checkpoint restore=-1: give a number"),
    (AWAKE, ("--checkpoint", "daly"), "--checkpoint 'daly' follows from failures; give --failures"),
    (AWAKE, ("--maintenance", "length=0"), "--maintenance length=0: give a number of seconds"),
    (AWAKE, ("--maintenance", "every=1h,length=2h"), "leaves no time between; give less"),
    (AWAKE, ("--maintenance", "length=1h,nodes=zz"), "--maintenance: no node is called 'zz'"),
    (AWAKE, ("--maintenance", "end=5,length=3"), "no key is called 'end'; choose from every"),
    (AWAKE, ("--events", "window-back.csv"), "field 'until': 5 s is not after 10 s; correct one"),
    (AWAKE, ("--events", "event-node.csv"), "field 'nodes': no node is called 'n77'"),
    (AWAKE, ("--events", "event-kind.csv"), "field 'kind': 'explode' is no event; the kinds are"),
    (AWAKE, ("--carbon", "-5"), "--carbon -5.0: give a number, 0 or more, or a CSV file"),
    (AWAKE, ("--carbon", "gap.csv"), "line 22, field 'time': a gap: 10800 s after the row above"),
    (AWAKE, ("--carbon", "short.csv"), "but the run lasts from 600 s to"),
    (AWAKE, ("--carbon", "grams.csv"), "line 1: the header must be time,g_per_kwh"),
    (AWAKE, ("--carbon", "negative.csv"), "line 2, field 'g_per_kwh': '-5' is not a number of at"),
    (AWAKE, ("--carbon", "back.csv"), "line 3, field 'time': '0' is not after the row above"),
    (AWAKE, ("--carbon", "twice.csv"), "line 3, field 'time': '0' is not after the row above"),
    (AWAKE, ("--carbon", "words.csv"), "line 2, field 'g_per_kwh': 'clean' is not a number of"),
    (AWAKE, ("--carbon", "empty.csv"), "the header must be time,g_per_kwh"),
    (AWAKE, ("--carbon", "nowhere.csv"), "nowhere.csv: no such file; check the path"),
    (AWAKE, ("--price", "grid.csv"), "line 1: the header must be time,price_per_kwh"),
    (AWAKE, ("--price", "one.csv"), "line 2, field 'price_per_kwh': 'one' is not a number"),
    (AWAKE, ("--price", "0.2, 25:0.3"), "hours go from 0 to 23, minutes from 00 to 59"),
    (AWAKE, ("--price", "8:0.3"), "no price for mon at 0:00; begin with one without an hour"),
    (AWAKE, ("--price", "1", "--starts", "2024-01-01T00:00 Mars/Base"), "'Mars/Base' is not known"),
    (AWAKE, ("--price", "1", "--starts", "2024-03-31T02:30 Europe/Berlin"), "left this time out"),
    (AWAKE, ("--price", "1", "--starts", "tomorrow"), "is no ISO 8601 timestamp; give the start"),
    (AWAKE, ("--carbon", "grid.csv", "--series", "forever"), "choose end or repeat"),
    (AWAKE, (*HELD, "window:-1"), "--defer: slack -1.0: give a number of seconds, 0 or more"),
    (AWAKE, (*HELD, "threshold:p101:5h"), "--defer: at 'p101': give a number, or a text"),
    (AWAKE, (*HELD, "later:5h"), "--defer 'later:5h': write window:SLACK"),
    (AWAKE, (*HELD, "window:5h", "--defer-jobs", "fraction=2"), "give a fraction from 0 to 1"),
    (AWAKE, (*HELD, "window:5h", "--defer-jobs", "user=nobody"), "no job of the log has the user"),
    (AWAKE, ("--carbon", "300", "--defer", "window:5h"), "nothing is gained by waiting; give a"),
    (AWAKE, ("--defer", "window:5h"), "jobs are held for what? give --carbon or --price, a series"),
    (COUNTED, ("--watts-busy", "-5"), "--watts-busy -5.0: give a number of W, 0 or more"),
    (COUNTED, ("--watts", "1:4"), "write RATE:BUSY:IDLE"),
    (COUNTED, ("--watts-busy", "3 kWh"), "'kWh' is no unit of a power; did you mean 'kW'?"),
    (AWAKE, ("--series", "repeat"), "--series: there is none; give --carbon or --price"),
    (AWAKE, ("--failures", "mtbf=1y,per_rack=4"), "--failures: per_rack alone takes no rack"),
    (AWAKE, ("--failures", "mtbf=1y,level=2"), "--failures: level alone takes no rack down"),
    (AWAKE, ("--cap", "1e400"), "--cap: no cap is endless; give less"),
    (
        ASLEEP,
        ("--sleep", "idle:60", "--cap", "9kW", "--sleep-rate", "5"),
        "--sleep-rate: so many nodes a minute are not defined under a cap",
    ),
]

CLUSTERS = [
    (NODE.replace("watts = 400", "watts = -400"), "'node 1: watts': -400 W is below 0"),
    (NODE.replace("idle_watts = 100", "idle_watts = -1"), "idle_watts': -1 W is below 0"),
    (NODE.replace("idle_watts = 100", "idle_watts = 401"), "401 W, more than the 400 W of a busy"),
    (NODE.replace("watts = 400", 'watts = "lots"'), "'lots' is not a number"),
    (NODE.replace("watts = 400", "watts = nan"), "nan is not a number"),
    (NODE + "leave = 150\n", "unknown key 'leave'; it belongs in a [[node.sleep]]"),
    (NODE + "failed_watts = -3\n", "failed_watts': -3 W is below 0"),
    (NODE + "sleep = 5\n", "is a table; begin each with [[node.sleep]]"),
    (NODE + SLEEP.replace("watts = 10\n", "", 1), "'node 1: sleep 1: watts': is missing"),
    (NODE + SLEEP.replace("leave = 150", "leave = -150"), "'-150' is no time; write seconds"),
    (NODE + SLEEP.replace("leave = 150\n", ""), "takes no time; give 'leave' as well"),
    (NODE + SLEEP + "wake = 5\n", "sleep 1: wake': unknown key; choose from name, watts, enter"),
    (NODE + SLEEP + SLEEP, "two sleep states are called 'off'; rename one"),
    (NODE + '[[cap]]\nname = "a"\nwatts = -4\nnodes = "all"\n', "cap 'a': -4 W; give a number"),
    (
        NODE + '[[cap]]\nname = "a"\nwatts = 150\nnodes = "n[1-2]"\n',
        "--cluster: the cluster's file: 'a' is capped at 150 W, below its idle power of 200 W",
    ),
]

SCENARIOS = [
    ('[policy]\nsleep = "idle:-5"\n', "line 8, key 'policy.sleep': sleep: '-5' is no time"),
    ("[policy]\nsleep = 5\n", "line 8, key 'policy.sleep': 5 is not a text such as never"),
    ('[policy]\nsleep = "idle:60:deep"\n', "line 8, key 'policy.sleep'"),
    (
        "[policy]\nboot_failure = 2\n",
        "key 'policy.boot_failure': 2 is not a number from 0 to below 1",
    ),
    ("[policy]\nboot_repair = -2\n", "key 'policy.boot_repair': -2 is not a number of seconds"),
    ("[power]\ncap = -5\n", "line 8, key 'power.cap': cap: -5 W; give a number"),
    ("[failures]\nmtbf = 0\n", "line 8, key 'failures.mtbf': 0 is not a number of seconds above 0"),
    ("[failures]\nrack = 0.5\n", "key 'failures.rack': rack alone says nothing; give mtbf"),
    ('[checkpoint]\nevery = "1 h"\ndump = "2 h"\n', "line 9, key 'checkpoint.dump': a dump takes"),
    ("[maintenance]\nlength = 0\n", "key 'maintenance.length': 0 is not a number of seconds"),
    ('[power]\ncarbon = "gap.csv"\n', "key 'power.carbon': gap.csv, line 22, field 'time': a gap"),
    ('[power]\nprice = "grid.csv"\n', "line 8, key 'power.price': grid.csv, line 1: the header"),
    ('[power]\nprice = 1\nstarts = "2024-01-01T00:00 Mars/Base"\n', "line 9, key 'power.starts'"),
    ("[defer]\nslack = 5\n", "key 'defer.slack': no job is held; give defer.kind"),
    ("[power]\nbusy = -4\n", "line 8, key 'power.busy': -4 is not a number of W, 0 or more"),
]

IN_PYTHON = [
    ({"sleep": "idle:-1"}, "sleep: '-1' is no time"),
    ({"sleep": 5}, "sleep: give a text such as 'idle:600', or a function"),
    ({"sleep": "idle:5", "boot_failure": 2}, "boot_failure 2: give a number from 0 to below 1"),
    ({"sleep": "idle:5", "boot_repair": -1}, "boot_repair -1: give a number of seconds, 0 or more"),
    ({"cap": -1}, "cap: -1 W; give a number of at least 0"),
    ({"cap": 100}, "cap: the cluster is capped at 100 W, below its idle power of 400 W"),
    ({"cap": "zz=5"}, "cap 'zz': no partition, rack or set of nodes is called so"),
    ({"failures": {"mtbf": -1}}, "failures: mtbf = -1 is not a number of seconds above 0"),
    ({"failures": {"mtbf": 1e6, "shape": 0}}, "failures: shape = 0 is not a number above 0"),
    ({"checkpoint": {"every": 60, "dump": 600}}, "checkpoint: a dump takes 600 s, longer than"),
    ({"checkpoint": -1}, "checkpoint: every = -1.0 is not daly or young"),
    ({"maintenance": {"length": -1}}, "maintenance: length = -1 is not a number of seconds above"),
    ({"maintenance": "length=1h,nodes=zz"}, "maintenance: no node is called 'zz'"),
    ({"carbon": -1}, "carbon"),
    ({"carbon": "gap.csv"}, "gap.csv, line 22, field 'time': a gap"),
    ({"price": "0.2, 30:4"}, "hours go from 0 to 23"),
    ({"price": 1, "starts": "2024-01-01T00:00 Mars/Base"}, "'Mars/Base' is not known here"),
    ({"defer": "window:5h"}, "jobs are held for what?"),
    ({"carbon": 300, "series": "never"}, "series 'never': choose end or repeat"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a log and the files above."""
    rows = (f"{k} {600 * k} -1 {1000 + k} {1 + k % 8} -1 -1 {1 + k % 8} 2000" for k in range(1, 30))
    log = "".join(f"{row} -1 1 1 1 -1 1 -1 -1 -1\n" for row in rows)
    (tmp_path / "log.swf").write_text(f"; MaxProcs: 16\n{log}")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _name(row) -> str:
    return " ".join(row[1])


@pytest.mark.parametrize(("cluster", "options", "words"), COMMANDS, ids=map(_name, COMMANDS))
def test_on_the_command_line(folder, refused, cluster, options, words):
    before = sorted(os.listdir(folder))
    machine = () if cluster is None else ("--cluster", cluster)
    line = refused("simulate", "log.swf", *machine, *options, "--out", "run")
    assert words in line
    assert sorted(os.listdir(folder)) == before


def test_what_is_right_is_not_guessed(folder, refused):
    line = refused("simulate", "log.swf", *HELD, "window:5h", "--defer-jobs", "queue=")
    assert line.endswith("'queue=': write all, fraction=0.3, or queue=3,4 or user=anna")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--depth", "deep"), "--depth 'deep': no node has a sleep state 'deep'; choose from off"),
        (("--block", "moon"), "--block 'moon': choose one of user, day, week, jobs"),
        (("--replications", "1"), "--replications 1: give 2 or more"),
        (("--seed", "-1"), "--seed -1: give a whole number of at least 0"),
    ],
)
def test_savings_say_which_option_is_wrong(folder, refused, options, words):
    assert words in refused("energy", "log.swf", "--cluster", ASLEEP, *options)


def test_savings_need_a_sleep_state(folder, refused):
    line = refused("energy", "log.swf", "--cluster", AWAKE)
    assert "--cluster: no node of the cluster has a sleep state" in line


def test_quantities_may_have_units(folder, run):
    told = run("simulate", "log.swf", "--watts-busy", "0.2kW", "--watts-idle", "100 W", "--json")
    plain = run("simulate", "log.swf", "--watts-busy", 200, "--watts-idle", 100, "--json")
    assert told.code == plain.code == 0
    assert json.loads(told.out)["energy"] == json.loads(plain.out)["energy"]
    boots = ("simulate", "log.swf", "--cluster", ASLEEP, "--sleep", "idle:60", "--json")
    told = run(*boots, "--boot-failure", 0.5, "--boot-repair", "2 h")
    plain = run(*boots, "--boot-failure", 0.5, "--boot-repair", 7200)
    assert json.loads(told.out)["wait"] == json.loads(plain.out)["wait"]


SWEPT = """[workload]
log = "log.swf"

[cluster]
nodes = "sleepy.toml"

[power]
price = "0.2, 8:0.3 EUR"
"""


def test_costs_have_their_currency(folder, run):
    priced = ("--cluster", ASLEEP, "--price", "0.2, 8:0.3 EUR")
    told = run("compare", "log.swf", "--policies", "fcfs,easy", *priced)
    heads = [line.split() for line in told.out.splitlines()]
    at = next(i for i, words in enumerate(heads) if words[:1] == ["policy"])
    assert "cost" in heads[at - 1]
    assert "EUR" in heads[at]
    told = run("energy", "log.swf", *priced, "--idle-times", "60", "--replications", 2)
    assert "cost EUR" in told.out
    (folder / "priced.toml").write_text(SWEPT)
    sweep = ("sweep", "priced.toml", "--workers", 1, "--measures", "cost", "--set")
    told = run(*sweep, "policy.name=fcfs,easy")
    assert "EUR" in told.out.splitlines()[1].split()
    told = run(*sweep, "power.price=0.1,0.2")
    assert "EUR" not in told.out


def test_boots_can_be_asked_for_where_some_points_let_nobody_sleep(folder, run):
    (folder / "priced.toml").write_text(SWEPT)
    told = run(
        *("sweep", "priced.toml", "--workers", 1, "--measures", "wait_mean,boots"),
        *("--set", "policy.sleep=never,idle:60"),
    )
    assert told.code == 0, told.err
    never = next(line for line in told.out.splitlines() if line.startswith("never"))
    assert never.split()[-1] == "-"


def test_watts_that_are_assumed_beside_given_ones_are_said(folder, run):
    told = run("simulate", "log.swf", "--watts-busy", 50)
    assert told.err == "sojourn: an idle processor is taken to draw 18 W; give --watts-idle\n"
    told = run("simulate", "log.swf", "--watts-idle", 9)
    assert told.err == "sojourn: a busy processor is taken to draw 41 W; give --watts-busy\n"
    assert run("simulate", "log.swf", "--watts-busy", 50, "--watts-idle", 9).err == ""


@pytest.mark.parametrize(("text", "words"), CLUSTERS)
def test_in_a_cluster(folder, refused, text, words):
    (folder / "machine.toml").write_text(text)
    line = refused("simulate", "log.swf", "--cluster", "machine.toml", "--out", "run")
    assert words in line
    assert not (folder / "run").exists()


@pytest.mark.parametrize(("keys", "words"), SCENARIOS)
def test_in_a_scenario(folder, refused, keys, words):
    head = '[workload]\nlog = "log.swf"\n\n[cluster]\nnodes = "sleepy.toml"\n\n'
    (folder / "run.toml").write_text(head + keys)
    line = refused("run", "run.toml", "--out", "run")
    assert "run.toml" in line
    assert words in line
    assert not (folder / "run").exists()


@pytest.mark.parametrize(("options", "words"), IN_PYTHON)
def test_in_python(folder, options, words):
    cluster = sojourn.read_cluster("sleepy.toml" if "sleep" in options else "awake.toml")
    with pytest.raises(InputError) as caught:
        # A bill is made up when it is asked for.
        _ = sojourn.simulate(sojourn.read_log("log.swf"), cluster, "easy", **options).summary
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
