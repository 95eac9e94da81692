"""`--sleep` and its companions: what they refuse, in one line, and what they say."""

from __future__ import annotations

import json

import pytest

NODE = "[[node]]\ncount = 4\ncores = 1\nops = 1\nidle_watts = 90\nwatts = 190\n"
SLEEP = '[[node.sleep]]\nname = "off"\nwatts = 10\nleave = 60\nleave_watts = 100\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sleepy.toml").write_text(NODE + SLEEP)
    (tmp_path / "awake.toml").write_text(NODE)
    lines = ["job,submit,runtime,procs", *(f"{j},{500 * j},100,2" for j in range(1, 9))]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sleep", "idle:-5"), "is no time; give seconds"),
        (("--sleep", "idle"), "write such as idle:600"),
        (("--sleep", "idel:600"), "did you mean 'idle'?"),
        (("--sleep", "idle:600:deep"), "no node has a sleep state 'deep'"),
        (("--sleep", "idle:10 years"), "is no time"),
        (("--sleep", "idle:exp(60"), "is no time"),
        (("--sleep", "idle:exp()"), "is no time"),
        (("--sleep", "forecast:2"), "from 0 to 1"),
        (("--sleep", "price:0.2:8"), "give --price"),
        (("--sleep", "carbon:300:8"), "give --carbon"),
        (("--sleep", "idle:60", "--sleep-rate", "-1"), "sleep-rate"),
        (("--sleep", "idle:60", "--wake-rate", "fast"), "wake-rate"),
        (("--sleep", "keep:some"), "is no number of nodes"),
        (("--sleep", "keep:1.5"), "give a whole number"),
        (("--sleep", "hours:1,2,3"), "for each of 24 hours"),
        (("--sleep", "idle:60", "--policy", "lcfs-pr"), "stops jobs"),
        (("--sleep", "idle:60", "--boot-failure", "2"), "boot-failure"),
    ],
)
def test_bad_values(folder, run, options, words):
    code, out, err = run("simulate", "log.csv", "--cluster", "sleepy.toml", *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err


def test_boots_and_idle_times_are_drawn_by_the_seed(folder, run):
    text = (NODE + SLEEP).replace("leave = 60", 'leave = 60\nleave_varies = "exponential"')
    (folder / "drawn.toml").write_text(text)
    told = set()
    for cluster, sleep, seed in (
        ("sleepy.toml", "idle:60", 1),
        ("drawn.toml", "idle:60", 1),
        ("drawn.toml", "idle:60", 2),
        ("sleepy.toml", "idle:exp(300)", 1),
    ):
        options = ("--cluster", cluster, "--sleep", sleep, "--seed", str(seed), "--json")
        waits = [json.loads(run("simulate", "log.csv", *options)[1])["wait"] for _ in range(2)]
        assert waits[0] == waits[1]
        told.add(waits[0]["mean"])
    assert len(told) == 4


def test_nodes_that_cannot_sleep(folder, run):
    code, _, err = run("simulate", "log.csv", "--cluster", "awake.toml", "--sleep", "idle:60")
    assert code == 2
    assert "give it one with [[node.sleep]]" in err
    code, _, err = run("simulate", "log.csv", "--procs", "4", "--sleep", "idle:60")
    assert code == 2
    assert "processors are only counted" in err


def test_the_bill_has_all_states(folder, run):
    code, out, _ = run("simulate", "log.csv", "--cluster", "sleepy.toml", "--sleep", "idle:60")
    assert code == 0
    (bill,) = [line for line in out.splitlines() if line.startswith("full bill")]
    assert "sleep" in bill
    assert "leaving" in bill


def test_how_often_nodes_were_woken_and_who_waited_for_it(folder, run):
    code, out, _ = run("simulate", "log.csv", "--cluster", "sleepy.toml", "--sleep", "idle:60")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("sleep ")]
    # Between two jobs, of 2 nodes each, lie 400 idle seconds: all but the first wait 60 s.
    assert "14 boots of nodes, idle:60; 7 jobs waited 60 s on average for one" in line
    assert "differ in speed" not in out


def test_the_page_says_that_nodes_slept(folder, run):
    options = ("--cluster", "sleepy.toml", "--sleep", "idle:60", "--out", "run")
    assert run("simulate", "log.csv", *options).code == 0
    assert run("report", "run", "--out", "run.html").code == 0
    page = (folder / "run.html").read_text()
    assert "Idle nodes go to sleep by the rule idle:60" in page
    assert "differ in speed" not in page
