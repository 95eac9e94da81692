"""Caps: kept at every instant, by an independent sweep; what is read, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.cli import main
from sojourn.cluster import PowerCap, read_cluster, write_cluster
from sojourn.errors import InputError, OptionError
from sojourn.measures.energy import beside_cap
from sojourn.policy import parse_caps, read_caps

POLICIES = ("fcfs", "first-fit", "easy", "easy:3", "conservative", "lcfs-pr", "spf", "lpf")
COUNTED = sojourn.Cluster.homogeneous(64, power=sojourn.ConstantPower(40, 10))
# Power that grows unevenly with the load, on nodes that differ.
THIN = sojourn.Server(
    "thin", cores=8, ops=8e6, watts=(50, 90, 110, 125, 135, 145, 150, 155, 160, 164, 168)
)
FAT = sojourn.Server(
    "fat", cores=16, ops=16e6, watts=(100, 110, 125, 145, 170, 200, 235, 275, 320, 370, 425)
)
MIXED = replace(
    sojourn.Cluster.of([THIN] * 4 + [FAT] * 2),
    caps=(PowerCap("rack", (0, 1)), PowerCap("room", (0, 1, 2, 3))),
)
STEPS = sojourn.Cap((1600.0, 1100.0, 1900.0, 1300.0), time=(0.0, 20_000.0, 60_000.0, 150_000.0))


def work(seed: int = 1, load: float = 0.9, jobs: int = 150) -> sojourn.Jobs:
    return sojourn.lublin(jobs, 64, load=load, seed=seed, estimates="tsafrir")


def watts_at(result: sojourn.Result, cluster: sojourn.Cluster, nodes, time: float) -> float:
    """Watts of some nodes at an instant, from the schedule alone."""
    if not cluster.is_named:
        here = (result.jobs["start"] <= time) & (time < result.jobs["end"])
        return float(64 * 10 + 30 * result.jobs["procs"][here].sum())
    rows = result.allocation_columns()
    here = (rows["start"] <= time) & (time < rows["end"])
    total = 0.0
    for k in nodes:
        server = cluster.nodes[k].server
        busy = rows["procs"][here & (rows["node"] == k)].sum()
        levels = np.linspace(0, server.cores, 11)
        total += float(np.interp(busy, levels, server.watts))
    return total


def cap_at(cap: sojourn.Cap, time: float) -> float:
    known = [watts for since, watts in zip(cap.time, cap.watts, strict=True) if since <= time]
    return known[-1] if known else np.inf


@pytest.mark.parametrize("policy", ["fcfs", "first-fit", "easy", "easy:3", "conservative"])
@pytest.mark.parametrize("cap", [sojourn.Cap((1200.0,)), STEPS], ids=["constant", "steps"])
@pytest.mark.parametrize("cluster", [COUNTED, MIXED], ids=["counted", "nodes"])
def test_no_instant_is_above_the_cap(cluster, cap, policy):
    """By a sweep over all starts and steps, which knows nothing but the schedule."""
    jobs = work()
    result = sojourn.simulate(jobs, cluster, policy, cap=cap)
    ran = result.jobs[np.isfinite(result.jobs["start"])]
    instants = np.unique(np.concatenate([ran["start"], np.maximum(cap.time, 0.0)]))
    nodes = range(len(cluster.nodes))
    most = max(watts_at(result, cluster, nodes, t) - cap_at(cap, t) for t in instants)
    assert most <= 1e-6
    free = sojourn.simulate(jobs, cluster, policy)
    above = [watts_at(free, cluster, nodes, t) - cap_at(cap, t) for t in free.jobs["start"]]
    assert max(above) > 100, "the cap was not needed"
    caps = result.summary["caps"]["cluster"]
    assert caps["exceeded_seconds"] == 0
    assert caps["peak_watts"] <= caps["watts"] + 1e-6


def test_every_set_of_a_tree_is_kept():
    caps = {"": 1200.0, "room": 520.0, "rack": 210.0}
    text = ", ".join(f"{name}={watts}" if name else f"{watts}" for name, watts in caps.items())
    sets = {"": range(6), "room": range(4), "rack": range(2)}
    for policy in POLICIES[:5]:
        result = sojourn.simulate(work(), MIXED, policy, cap=text)
        for name, nodes in sets.items():
            drawn = [
                watts_at(result, MIXED, nodes, t) for t in np.unique(result.jobs["start"].dropna())
            ]
            assert max(drawn) <= caps[name] + 1e-6
            told = result.summary["caps"][name or "cluster"]["peak_watts"]
            assert told == pytest.approx(max(drawn), rel=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_constant_cap_is_a_smaller_machine(policy):
    """Where all processors add the same it is as if there were fewer of them."""
    jobs = work()
    jobs = jobs[jobs.procs <= 40]
    capped = sojourn.simulate(jobs, COUNTED, policy, cap=640 + 40 * 30)
    smaller = sojourn.simulate(jobs, 40, policy)
    np.testing.assert_array_equal(capped.jobs["start"], smaller.jobs["start"])
    np.testing.assert_array_equal(capped.jobs["end"], smaller.jobs["end"])
    server = sojourn.Server("even", cores=8, watts=tuple(80.0 + 24 * k for k in range(11)), ops=8e6)
    named = sojourn.simulate(jobs, sojourn.Cluster.of([server] * 8), policy, cap=640 + 40 * 30)
    np.testing.assert_array_equal(named.jobs["start"], smaller.jobs["start"])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cap_that_is_never_reached_changes_nothing(policy):
    for cluster in (COUNTED, MIXED):
        plain = sojourn.simulate(work(), cluster, policy)
        for cap in ("1MW", sojourn.Cap((1e6, 9e5), time=(0, 1e5))):
            if cluster is MIXED and not isinstance(cap, str):
                continue  # Nodes then matter to EASY, which counts else.
            capped = sojourn.simulate(work(), cluster, policy, cap=cap)
            if cluster is COUNTED or policy in ("fcfs", "first-fit"):
                np.testing.assert_array_equal(capped.jobs["start"], plain.jobs["start"])


@pytest.mark.parametrize("cluster", [COUNTED, MIXED], ids=["counted", "nodes"])
def test_the_rate_keeps_a_cap(cluster):
    cap = sojourn.Cap((1900.0, 1250.0, 2500.0), time=(0.0, 30_000.0, 90_000.0))
    power = sojourn.ScaledPower(static=10, dynamic=30)
    machine = cluster if cluster.is_named else sojourn.Cluster.homogeneous(64, power=power)
    result = sojourn.simulate(work(), machine, "easy", rate="cap:0.25,0.5,0.8,1", cap=cap)
    assert result.summary["unaccepted"] == 0
    assert result.summary["rate_switches"] > 3
    kept = result.summary["caps"]["cluster"]
    assert kept["exceeded_seconds"] == 0
    assert kept["kept_by"] == "rate"
    time, watts = result.power_steps
    allowed = np.array([cap_at(cap, t) for t in time])
    assert (watts[:-1] <= allowed[:-1] * (1 + 1e-9))[np.diff(time) > 0].all()


def test_predictions_may_be_wrong_and_that_is_measured():
    jobs = work()
    said = jobs.procs * 5.0
    nodes = sojourn.Cluster.of([sojourn.Server("mute", cores=16, resources={"gpu": 1})] * 4)
    real = np.where(np.arange(len(jobs)) % 3 == 0, 2.0, 1.0) * said
    predicted = jobs.replace(watts=said, watts_used=real)
    result = sojourn.simulate(predicted, nodes, "easy", cap=250)
    caps = result.summary["caps"]["cluster"]
    assert caps["exceeded_seconds"] > 0
    assert 250 < caps["peak_watts"] <= 500
    honest = sojourn.simulate(jobs.replace(watts=said), nodes, "easy", cap=250)
    assert honest.summary["caps"]["cluster"]["exceeded_seconds"] == 0
    np.testing.assert_array_equal(honest.jobs["start"], result.jobs["start"])


def test_whose_watts_a_cap_is_kept_on_is_said(tmp_path, capsys):
    (tmp_path / "nodes.csv").write_text("node,cores\na,4\nb,4\n")
    log = tmp_path / "log.csv"
    log.write_text("submit,runtime,procs,watts\n0,10,2,40\n0,10,2,\n5,10,2,60\n")
    options = ["--cluster", str(tmp_path / "nodes.csv"), "--cap", "150"]
    assert main(["simulate", str(log), *options]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    at = next(i for i, line in enumerate(shown) if line.startswith("cap "))
    assert shown[at + 1] == "kept on the watts that the log states of 2 jobs"
    assert shown[at + 2].startswith("1 job without any taken to add")
    assert main(["simulate", str(log), *options, "--json"]) == 0
    cap = json.loads(capsys.readouterr().out)["caps"]["cluster"]
    assert (cap["stated_watts_jobs"], cap["assumed_watts_jobs"]) == (2, 1)
    simple = sojourn.simulate(work(), COUNTED, "easy", cap=2560)
    assert "stated_watts_jobs" not in simple.summary["caps"]["cluster"]


def test_jobs_that_outlast_their_plan_are_measured():
    jobs = sojourn.Jobs({"submit": [0.0], "runtime": [100.0], "procs": [64], "estimate": [10.0]})
    cap = sojourn.Cap((2560.0, 1000.0, 2560.0), time=(0, 50, 80))
    late = sojourn.simulate(jobs, COUNTED, "easy", cap=cap, over_limit="run", clean=())
    caps = late.summary["caps"]["cluster"]
    assert (caps["exceeded_seconds"], caps["excess_watts"]) == (30.0, 1560.0)
    killed = sojourn.simulate(jobs, COUNTED, "easy", cap=cap, clean=())
    assert killed.summary["caps"]["cluster"]["exceeded_seconds"] == 0


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=2, max_size=8), st.data()
)
@settings(max_examples=200, deadline=None)
def test_beside_cap_is_what_a_look_at_every_second_says(steps, data):
    times = sorted({t for t, _ in steps})
    watts = [float(w) for _, w in steps][: len(times)]
    caps = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=4, unique=True).map(sorted))
    allowed = [float(data.draw(st.integers(0, 20))) for _ in caps]
    kept = beside_cap(times, watts, caps, allowed)
    seconds = range(times[0], times[-1])
    drawn = [watts[sum(t <= s for t in times) - 1] for s in seconds]
    most = [([np.inf, *allowed])[sum(c <= s for c in caps)] for s in seconds]
    over = [max(a - b, 0) for a, b in zip(drawn, most, strict=True)]
    assert kept == (max(drawn, default=0.0), sum(x > 0 for x in over), max(over, default=0.0))


def test_texts():
    assert parse_caps("2MW") == (sojourn.Cap((2e6,)),)
    assert parse_caps("1.5 kW, gpu = 400W") == (
        sojourn.Cap((1500.0,)),
        sojourn.Cap((400.0,), of="gpu"),
    )
    assert parse_caps(700) == parse_caps("700") == (sojourn.Cap((700.0,)),)
    assert str(parse_caps("gpu=40kW")[0]) == "gpu=40 kW"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2 mw", "did you mean 'MW'"),
        ("2 GW", "'GW' is no unit of power; choose W, kW, MW"),
        ("-5W", "-5 W; give a number of at least 0"),
        ("=5W", "names no nodes"),
        ("gpu=", "is no power"),
        ("1kW,2kW", "two of the whole cluster"),
        ("639", "capped at 639 W, below its idle power of 640 W"),
        ("gpu=1kW", "cap 'gpu': processors are only counted"),
    ],
)
def test_bad_texts_are_one_line(text, problem):
    with pytest.raises(InputError, match=problem) as raised:
        sojourn.simulate(work(), COUNTED, cap=text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("when,watts\n0,5", "line 1: the header must be time,watts"),
        ("time,watts\n", "there is no row"),
        ("time,watts\nnoon,5", "line 2, field 'time': 'noon' is neither a number of seconds nor"),
        ("time,watts\n0,much", "line 2, field 'watts': .*'much' is no power"),
        ("time,watts\n0,-3", "line 2, field 'watts': '-3' is not a number of at least 0"),
        ("time,watts\n5,3\n5,4", "line 3, field 'time': '5' is not after the row above"),
        ("time,watts\n5", "line 2: 1 fields"),
    ],
)
def test_bad_files_are_one_line(tmp_path, lines, problem):
    path = tmp_path / "caps.csv"
    path.write_text(lines)
    with pytest.raises(OptionError, match=problem) as raised:
        read_caps(path)
    assert "\n" not in str(raised.value)


def test_files_may_have_dates(tmp_path):
    """The same schedule as with seconds; second 0 is what the header or `starts` says."""
    dates, seconds = tmp_path / "dates.csv", tmp_path / "seconds.csv"
    dates.write_text("time,watts\n2001-09-09T02:46:40+01:00,9kW\n2001-09-09T01:48:20,500W\n")
    seconds.write_text("time,watts\n0,9kW\n100,500W\n")
    jobs = sojourn.Jobs(
        {"submit": [0, 10, 20], "runtime": [50, 200, 300], "procs": [8, 8, 4]},
        header=["; UnixStartTime: 1000000000"],
    )
    power = sojourn.ConstantPower(41, 18)
    machine = sojourn.Cluster.homogeneous(16, power=power)
    starts = [
        sojourn.simulate(jobs, machine, cap=path, clean=()).start for path in (dates, seconds, None)
    ]
    assert list(starts[0]) == list(starts[1]) != list(starts[2])
    bare = jobs.replace(header=[])
    with pytest.raises(OptionError, match="line 2, field 'time': the log does not say when it"):
        sojourn.simulate(bare, machine, cap=str(dates))
    when = "2001-09-09T01:46:40"
    again = sojourn.simulate(bare, machine, cap=str(dates), starts=when, clean=())
    assert list(again.start) == list(starts[0])


def test_files_have_steps_of_sets(tmp_path):
    path = tmp_path / "caps.csv"
    path.write_text("time,watts,nodes\n0,2kW,\n0,500,rack\n100,1.5kW,\n")
    whole, rack = read_caps(path)
    assert (whole.time, whole.watts, whole.of) == ((0.0, 100.0), (2000.0, 1500.0), "")
    assert (rack.time, rack.watts, rack.of) == ((0.0,), (500.0,), "rack")


def test_sets_of_a_cluster(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(
        """
[[node]]
name = "n[1-4]"
cores = 8
ops = 8e6
watts = 200
idle_watts = 40

[[partition]]
name = "a"
nodes = "n[1-2]"

[[cap]]
name = "rack"
watts = "0.3kW"
partitions = ["a"]

[[cap]]
name = "room"
nodes = "n[1-3]"
"""
    )
    cluster = read_cluster(path)
    assert cluster.caps == (PowerCap("rack", (0, 1), 300.0), PowerCap("room", (0, 1, 2)))
    write_cluster(cluster, tmp_path / "again.toml")
    assert read_cluster(tmp_path / "again.toml").caps == cluster.caps
    jobs = sojourn.lublin(50, 16, load=0.5, seed=1)
    caps = sojourn.simulate(jobs, cluster, cap="room=400").summary["caps"]
    assert {name: cap["watts"] for name, cap in caps.items()} == {"rack": 300.0, "room": 400.0}
    overlapping = replace(cluster, caps=(PowerCap("x", (0, 1), 500), PowerCap("y", (1, 2), 500)))
    with pytest.raises(OptionError, match=r"'x' and 'y' share nodes, .* caps must nest"):
        sojourn.simulate(jobs, overlapping)
    with pytest.raises(
        OptionError, match=r"cap 'rock': no partition, rack or set .*did you mean 'rack'"
    ):
        sojourn.simulate(jobs, cluster, cap="rock=1kW")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ('watts = -4\nnodes = "all"', "-4 W; give a number of at least 0"),
        ('nodes = "m1"', "no node is called 'm1'"),
        ('partitions = ["x"]', "partition"),
        ('watts = "5 hp"\nnodes = "all"', "is not a number"),
        ('wats = 5\nnodes = "all"', "did you mean 'watts'"),
    ],
)
def test_bad_sets_of_a_cluster_are_one_line(tmp_path, key, problem):
    path = tmp_path / "machine.toml"
    path.write_text(f'[[node]]\nname = "n[1-4]"\ncores = 8\n\n[[cap]]\nname = "r"\n{key}\n')
    with pytest.raises(InputError, match=problem) as raised:
        read_cluster(path)
    assert "\n" not in str(raised.value)


def test_nobody_knows_the_watts():
    mute = sojourn.Cluster.of([sojourn.Server("mute", cores=16)] * 4)
    with pytest.raises(OptionError, match="has no watts, and the jobs have none either"):
        sojourn.simulate(work(), mute, cap=500)
    with pytest.raises(OptionError, match="the watts of a processor are not known"):
        sojourn.simulate(work(), 64, cap=500)
    with pytest.raises(OptionError, match="there is none for rates 'cap' to keep"):
        sojourn.simulate(work(), COUNTED, rate="cap:0.5,1")
    with pytest.raises(OptionError, match=r"all processors together draw 2560 W at rate 0\.5"):
        sojourn.simulate(work(), COUNTED, rate="cap:0.5,1", cap=2000)


def test_the_command_and_the_scenario_say_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sojourn.write_swf(work(), "log.swf")
    Path("caps.csv").write_text("time,watts\n0,1.6kW\n50000,1.2kW\n")
    watts = ["--watts-busy", "40", "--watts-idle", "10"]
    assert (
        main(["simulate", "log.swf", "--procs", "64", *watts, "--cap", "caps.csv", "--json"]) == 0
    )
    typed = json.loads(capsys.readouterr().out)
    Path("run.toml").write_text(
        '[workload]\nlog = "log.swf"\n[cluster]\nprocs = 64\n'
        '[power]\nbusy = 40\nidle = 10\ncap = "caps.csv"\n'
    )
    assert main(["run", "run.toml", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert typed["caps"] == written["caps"]
    assert typed["caps"]["cluster"]["least_watts"] == 1200.0
    assert main(["simulate", "log.swf", "--procs", "64", *watts, "--cap", "2 GW"]) == 2
    said = capsys.readouterr().err
    assert "'GW' is no unit of power" in said
    assert "Traceback" not in said


def test_a_comparison_says_that_fewer_jobs_fit_under_a_cap(tmp_path, capsys):
    """Waits under the tighter cap are those of the narrow jobs alone."""
    from sojourn.cli import main

    (tmp_path / "nodes.toml").write_text(
        "[[node]]\ncount = 4\ncores = 1\nops = 1\nidle_watts = 50\nwatts = 100\n"
    )
    (tmp_path / "log.csv").write_text("submit,runtime,procs\n0,10,4\n0,10,1\n")
    options = ("--cluster", str(tmp_path / "nodes.toml"), "--policies", "easy")
    log = str(tmp_path / "log.csv")
    assert main(["compare", log, *options, "--set", "power.cap=300W,400W"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "jobs that never fit" in out
    assert "power.cap=300W 1, power.cap=400W 0" in out
    assert main(["compare", log, *options, "--set", "power.cap=400W,500W"]) == 0
    assert "never fit" not in capsys.readouterr().out


def test_a_sweep_and_a_search_say_that_fewer_jobs_fit_under_a_cap(tmp_path, capsys):
    """Not only in the terminal: the answer of their pages, too."""
    from sojourn.cli import main
    from sojourn.report.page.answers import answer_study
    from sojourn.report.page.collect import points_of_study
    from sojourn.report.page.folder import read_folder

    def answered(folder):
        study = read_folder(folder)
        return " ".join(answer_study(study, points_of_study(study)).sentences)

    (tmp_path / "nodes.toml").write_text(
        "[[node]]\ncount = 4\ncores = 1\nops = 1\nidle_watts = 50\nwatts = 100\n"
    )
    (tmp_path / "log.csv").write_text("submit,runtime,procs\n0,10,4\n0,10,1\n0,10,1\n")
    (tmp_path / "s.toml").write_text(
        '[workload]\nlog = "log.csv"\n[cluster]\nnodes = "nodes.toml"\n'
    )
    scenario, out = str(tmp_path / "s.toml"), tmp_path / "sweep"
    options = ("--out", str(out), "--workers", "1")
    assert main(["sweep", scenario, "--set", "power.cap=300W,400W", *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "never fit, and are in no number above: power.cap=300W 1, power.cap=400W 0" in shown
    assert "never fit, and are in no number: 300W 1, 400W 0." in answered(out)
    assert main(["sweep", scenario, "--set", "power.cap=400W,500W", "--workers", "1"]) == 0
    assert "never fit" not in capsys.readouterr().out

    out = tmp_path / "front"
    little = ("--population", "4", "--generations", "1", "--workers", "1", "--out", str(out))
    search = ("--vary", "power.cap=300W,400W", "--minimise", "wait_mean", *little)
    assert main(["optimise", scenario, *search]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "jobs that never fit, and are in no number above: power.cap=300W 1" in shown
    assert "never fit, and are in no number: 300W 1." in answered(out)
