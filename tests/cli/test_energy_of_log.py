"""``sojourn energy`` of a log: where the energy goes, and what sleeping would save."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.cli.energy import _in_short
from sojourn.study import knee_of

NODES = """\
[[node]]
model = "old"
count = 12
cores = 1
ops = 1e9
idle_watts = 95
watts = 190

[[node.sleep]]
name = "off"
watts = 10
enter = 10
enter_watts = 100
leave = 150
leave_watts = 125

[[node.sleep]]
name = "nap"
watts = 90
enter = 1
enter_watts = 95
leave = 1
leave_watts = 95

[[node]]
model = "new"
count = 4
cores = 1
ops = 1e9
idle_watts = 50
watts = 120
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("energy")
    (folder / "nodes.toml").write_text(NODES)
    sojourn.write_swf(sojourn.lublin(400, 16, load=0.5, seed=1), folder / "log.swf")
    return folder


def verb(files, *options, nodes="nodes.toml"):
    log, cluster = str(files / "log.swf"), str(files / nodes)
    return main(["energy", log, "--cluster", cluster, "--replications=3", *options])


def test_numbers_are_those_of_the_runs(files, capsys, tmp_path):
    out = tmp_path / "out"
    times = ["--idle-times", "10m,60,2h,60"]
    assert verb(files, *times, "--json", "--price", "0.5 EUR", "--out", str(out)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((out / "energy.json").read_text())
    assert (out / "energy.png").stat().st_size > 10_000
    jobs, cluster = sojourn.read_swf(files / "log.swf"), sojourn.read_cluster(files / "nodes.toml")
    awake = sojourn.simulate(jobs, cluster, "easy").summary
    assert told["kwh"] == awake["energy"]["total_kwh"]
    assert told["wait"] == awake["wait"]["mean"]
    kinds = {kind["model"]: kind for kind in told["kinds"]}
    assert {name: kind["nodes"] for name, kind in kinds.items()} == {"old": 12, "new": 4}
    for part in ("busy", "idle"):
        whole = sum(kind[f"{part}_kwh"] for kind in kinds.values())
        assert whole == pytest.approx(awake["energy"][f"{part}_joules"] / 3.6e6, rel=1e-9)
    # By hand: (10 (100 - 10) + 150 (125 - 10)) / (95 - 10), and (5 + 5) / 5 of the shallow one.
    assert kinds["old"]["break_even"] == {"off": pytest.approx(18150 / 85), "nap": 2.0}
    assert kinds["new"]["break_even"] == {}
    assert [point["idle_time"] for point in told["points"]] == [60, 600, 7200]
    for point in told["points"]:
        sleep = f"idle:{point['idle_time']:g}"
        run = sojourn.simulate(jobs, cluster, "easy", sleep=sleep).summary
        assert point["kwh"] == run["energy"]["total_kwh"]
        assert point["boots"] == run["sleep"]["boots"]
        assert point["wait"]["b"] == run["wait"]["mean"]
        share = 1 - point["kwh"] / told["kwh"]
        assert -point["energy"]["share"] == pytest.approx(share)
        saved = -point["cost"]["difference"]["estimate"]
        assert saved == pytest.approx(0.5 * share * told["kwh"])
        assert point["carbon"] is None
    with (out / "energy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["kwh"]) for row in rows] == [point["kwh"] for point in told["points"]]


def test_savings_are_means_over_the_draws(files, capsys):
    """The draws by hand: the same logs, with sleep and without, and Student's t."""
    assert verb(files, "--idle-times", "60", "--json", "--block", "day", "--seed", "5") == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    jobs, cluster = sojourn.read_swf(files / "log.swf"), sojourn.read_cluster(files / "nodes.toml")
    pairs = [
        [
            sojourn.simulate(log, cluster, "easy", sleep=rule).summary
            for rule in ("never", "idle:60")
        ]
        for log in (sojourn.study.resample_blocks(jobs, "day", seed) for seed in (5, 6, 7))
    ]
    gaps = np.array([b["wait"]["mean"] - a["wait"]["mean"] for a, b in pairs])
    kwh = np.array([[run["energy"]["total_kwh"] for run in pair] for pair in pairs])
    assert point["added"]["estimate"] == pytest.approx(gaps.mean())
    half = 4.302652729911275 * gaps.std(ddof=1) / np.sqrt(3)
    assert point["added"]["high"] == pytest.approx(gaps.mean() + half)
    share = 1 - kwh[:, 1].sum() / kwh[:, 0].sum()
    assert point["saved"]["estimate"] == pytest.approx(share)
    assert point["saved"]["low"] < share < point["saved"]["high"]


def test_the_table(files, capsys):
    assert verb(files, "--idle-times", "60,1h", "--policy", "fcfs") == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["machine", "16", "nodes,", "fcfs"] in shown
    old = next(row for row in shown if row[:2] == ["old", "12"])
    assert old[-2:] == ["213.5", "2"]
    new = next(row for row in shown if row[:2] == ["new", "4"])
    assert new[-2:] == ["-", "-"]
    assert [row[0] for row in shown if row and row[0] in ("1m", "1h")] == ["1m", "1h"]


def test_in_a_sentence_what_sleeping_saves_and_costs():
    def interval(estimate, low, high):
        return SimpleNamespace(estimate=estimate, low=low, high=high)

    nap = SimpleNamespace(
        idle_time=60.0, saved=interval(0.3, 0.2, 0.4), added=interval(90, 50, 130)
    )
    rest = SimpleNamespace(
        idle_time=7200.0, saved=interval(0.1, 0.05, 0.15), added=interval(5, -4, 14)
    )
    both = _in_short(SimpleNamespace(points=[nap, rest], knee=1))
    assert both == [
        ("knee", "sleep after 2h: 10.0 % of the energy saved (5.0 to 15.0), no sure change of the "
         "mean wait (-4 to +14 s)"),
        ("at most", "sleep after 1m: 30.0 % of the energy saved (20.0 to 40.0), +90 s of mean wait "
         "(+50 to +130)"),
    ]  # fmt: skip
    unsure = SimpleNamespace(points=[SimpleNamespace(saved=interval(0.1, -0.1, 0.3))], knee=0)
    assert _in_short(unsure) == [("at most", "no idle time saves energy for sure")]


def test_ten_idle_times_unless_said_otherwise(files, capsys):
    assert verb(files, "--json", "--depth", "nap") == 0
    told = json.loads(capsys.readouterr().out)
    minutes = [0, 1, 2, 5, 10, 20, 30, 60, 120, 240]
    assert [point["idle_time"] / 60 for point in told["points"]] == minutes
    assert told["knee"] in [60 * x for x in minutes]
    # A nap saves 5 W of 95.
    assert 0 < told["points"][0]["saved"]["estimate"] < 0.05


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--idle-times", "soon"], "--idle-times: 'soon' is no time"),
        (["--idle-times", "-5"], "--idle-times: '-5' is no time"),
        (["--replications", "1"], "replications 1: give 2 or more"),
        (["--load", "0.5"], "is a log; it is for recorded runs"),
        (["--depth", "of"], "no node has a sleep state 'of'; did you mean 'off'?"),
        (["--policy", "lcfs-pr"], "policy 'lcfs-pr' stops jobs"),
        (["--policy", "best"], "--policy"),
        (["--policy", "slurm"], "--policy slurm: its nodes sleep as slurm.conf says"),
        (["--block", "month"], "month"),
        (["--cluster", "none.toml"], "none.toml"),
    ],
)
def test_what_is_wrong_is_one_line(files, capsys, options, problem):
    assert verb(files, *options) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.split("[[node.sleep]]")[0], "no node of the cluster has a sleep state"),
        (lambda text: text.replace("idle_watts = 95\n", ""), "its idle watts are not known"),
    ],
)
def test_nodes_that_do_not_do(files, capsys, change, problem):
    (files / "other.toml").write_text(change(NODES))
    assert verb(files, nodes="other.toml") == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def test_what_is_missing(files, capsys):
    assert main(["energy", str(files / "log.swf")]) == 2
    assert "--cluster: is missing" in capsys.readouterr().err
    assert main(["energy", str(files), "--cluster", "p.xml", "--idle-times", "60"]) == 2
    assert "--idle-times" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cost", "gain", "knee"),
    [
        ([10, 2, 1], [100, 90, 30], 1),
        # On the line from nothing: each gain at the same price.
        ([1, 2, 3], [1, 2, 3], None),
        # Beaten in both by the first.
        ([1, 2], [5, 4], None),
        # Gains for less than nothing.
        ([-1], [5], 0),
        ([-1, 4, 9], [5, 8, 9], 1),
        # Nothing is gained.
        ([1, 2], [0, -1], None),
        # Dear first, and then cheap: a curve that bends the other way has no knee.
        ([1, 2], [1, 10], None),
    ],
)
def test_the_knee(cost, gain, knee):
    assert knee_of(cost, gain) == knee
