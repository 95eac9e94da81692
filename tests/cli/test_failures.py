"""Failures, checkpoints and maintenance on the command line: what works, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn

SPEC = "mtbf=10d,repair=6h,procs=4"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    sojourn.write_swf(sojourn.lublin(200, 32, load=0.7, seed=2, estimates="tsafrir"), path)
    return path


def test_options_scenario_and_python_are_one(run, log, tmp_path):
    options = (
        *("--failures", SPEC, "--checkpoint", "every=1h,dump=30,restore=90"),
        *("--maintenance", "every=3d,first=1d,length=4h,announced=1d", "--seed", 4),
    )
    saved = tmp_path / "failing.toml"
    told = run("simulate", log, "--procs", 32, *options, "--save-scenario", saved, "--json")
    assert told.code == 0, told
    typed = json.loads(told.out)
    text = saved.read_text()
    for line in ("[failures]", 'mtbf = "10d"', "[checkpoint]", 'every = "1h"', "[maintenance]"):
        assert line in text
    told = run("run", saved, "--json")
    assert told.code == 0, told
    from_file = json.loads(told.out)
    by_hand = sojourn.simulate(
        sojourn.read_swf(log), 32, "easy", failures=SPEC,
        checkpoint={"every": 3600, "dump": 30, "restore": 90},
        maintenance="every=3d,first=1d,length=4h,announced=1d", seed=4,
    ).summary  # fmt: skip
    for summary in (typed, from_file):
        assert summary["failures"] == by_hand["failures"]
        assert summary["wait"] == by_hand["wait"]
    assert typed["failures"]["struck"] > 0


def test_summaries_and_comparisons_show_what_failures_cost(run, log):
    told = run(
        "simulate", log, "--procs", 32, "--failures", SPEC, "--checkpoint", "daly", "--seed", 1
    )
    assert told.code == 0, told
    for word in ("failures", "goodput", "lost work", "dumps", "availability", "restarted"):
        assert word in told.out
    told = run("compare", log, "--procs", 32, "--policies", "fcfs,easy", "--failures", SPEC)
    assert told.code == 0, told
    assert "core h" in told.out
    plain = run("simulate", log, "--procs", 32)
    assert "goodput" not in plain.out


def test_a_sweep_varies_keys_of_failures(run, log, tmp_path):
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f'[workload]\nlog = "{log.name}"\n[cluster]\nprocs = 32\n'
        '[failures]\nmtbf = "10 d"\nprocs = 4\n'
    )
    told = run(
        "sweep", scenario, "--set", "failures.mtbf=5 d,50 d", "--set", "checkpoint.every=600,daly",
        "--replications", 3, "--out", tmp_path / "study",
    )  # fmt: skip
    assert told.code == 0, told
    assert "good-" in told.out
    rows = [line for line in told.out.splitlines() if "daly" in line]
    assert len(rows) == 2
    # Failures of replications differ.
    assert "±" in rows[0]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--failures", "mtbf=1x", ("'x' is no unit of a length of time",)),
        ("--failures", "mtbf=-1d", ("--failures", "-1d", "above 0")),
        ("--failures", "mtbf=0", ("--failures", "above 0")),
        ("--failures", "repair=1d", ("repair alone says nothing", "give mtbf")),
        ("--failures", "mtbf=1d,rack=0.5", ("per_rack",)),
        ("--failures", "mtbf=1d,rack=2,per_rack=4", ("from 0 to 1",)),
        ("--failures", "mtbf=1d,procs=99", ("procs = 99", "32")),
        ("--failures", "mbtf=1d", ("'mbtf'", "did you mean 'mtbf'")),
        ("--failures", "mtbf=1d,mtbf=2d", ("mtbf is given twice",)),
        ("--failures", "mtbf=", ("write KEY=VALUE",)),
        ("--failures", "mtbf=1d,repairs=often", ("exponential, constant or lognormal",)),
        ("--failures", "mtbf=1d,shape=0", ("above 0",)),
        ("--failures", "mtbf=1d,log=x.csv", ("one of them",)),
        ("--failures", "nowhere.csv", ("nowhere.csv", "no such file")),
        ("--checkpoint", "daly", ("'daly' follows from failures", "--failures")),
        ("--checkpoint", "sometimes", ("--checkpoint", "choose daly or young")),
        ("--checkpoint", "0", ("above 0",)),
        ("--checkpoint", "every=60,dump=-1", ("-1", "0 or more")),
        ("--checkpoint", "dump=60", ("dump alone says nothing", "give every")),
        ("--checkpoint", "every=60,at_end=perhaps", ("perhaps", "true or false")),
        ("--maintenance", "every=1h,length=2h", ("leaves no time between",)),
        ("--maintenance", "every=1h", ("every alone says nothing", "give length")),
        ("--maintenance", "length=1h,count=3", ("give every",)),
        ("--maintenance", "first=1h,length=2h,nodes=r1", ("only counted; give procs",)),
        ("--maintenance", "length=2h,procs=99", ("only 32 processors",)),
        ("--maintenance", "every=1,length=0.5", ("windows; give a longer time",)),
    ],
)
def test_bad_values_are_one_line(refused, log, option, value, words):
    line = refused("simulate", log, "--procs", 32, option, value)
    for word in words:
        assert word in line


def test_bad_lines_of_a_log_of_failures(refused, log, tmp_path):
    path = tmp_path / "failures.csv"
    path.write_text("node,down,up\nn1,10,5\n")
    line = refused("simulate", log, "--procs", 32, "--failures", path)
    assert "failures.csv, line 2, field 'up': 5 s is not after it went down" in line


def test_slurm_has_nodes_that_fail_and_no_processors(refused, log, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "SchedulerType=sched/backfill\nSelectType=select/linear\nNodeName=n[1-32] CPUs=1\n"
        "PartitionName=main Nodes=n[1-32] Default=YES\n"
    )
    line = refused("simulate", log, "--policy", "slurm", "--slurm-conf", conf, "--failures", SPEC)
    assert "--failures: procs are of counted processors" in line


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"failures": 5}, "failures 5: give a text"),
        ({"failures": {"mtbf": -1}}, "failures: mtbf = -1 is not a number of seconds above 0"),
        ({"failures": {"often": 1}}, "failures: no key is called 'often'"),
        ({"failures": {"mtbf": "5 x"}}, "failures: mtbf: '5 x'"),
        ({"checkpoint": -5}, "checkpoint: every = -5"),
        ({"checkpoint": "daly"}, "no failures are given"),
        ({"maintenance": {"every": 60}}, "maintenance: give length"),
    ],
)
def test_bad_keywords_are_one_line(given, words):
    jobs = sojourn.Jobs({"submit": [0], "runtime": [1], "procs": [1]})
    with pytest.raises(sojourn.OptionError) as raised:
        sojourn.simulate(jobs, 1, "easy", **given)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_jobs_killed_by_failures_are_not_missing_from_the_count(run, log):
    told = run("simulate", log, "--procs", 32, "--failures", SPEC, "--seed", 1)
    assert told.code == 0, told
    (line,) = [line for line in told.out.splitlines() if line.startswith("jobs  ")]
    ended = [int(word) for word in line.replace(":", "").split() if word.isdigit()]
    assert ended[0] == sum(ended[1:]) == 200
    assert line.rstrip().endswith("by events")
    assert "of counted processors: idle ones go down first" in told.out


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--failures", "mtbf=0,repair=1h", "--failures mtbf=0: give a number of seconds above 0"),
        ("--failures", "mtbf=1d,shape=-1", "--failures shape=-1: give a number above 0"),
        ("--checkpoint", "every=1h,dump=-1", "--checkpoint dump=-1: give"),
        ("--checkpoint", "dayl", "choose daly or young, a number of seconds above 0"),
        ("--checkpoint", "dayl", "did you mean 'daly'?"),
        ("--checkpoint", "3 hours", "'hours' is no unit of a length of time"),
        ("--maintenance", "every=4w,length=0", "--maintenance length=0: give"),
    ],
)
def test_what_is_wrong_inside_an_option_is_named(run, log, option, value, words):
    told = run("simulate", log, "--procs", 32, option, value)
    assert told.code == 2
    assert words in told.err
    assert len(told.err.splitlines()) == 1
