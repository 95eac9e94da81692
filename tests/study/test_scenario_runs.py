"""Scenarios that run: bit for bit what the command line does with the same options."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.measures.registry import in_table
from sojourn.study import Scenario, read_scenario, run_scenario, scenario_schema, sweep

ORDER = """\
import sojourn


@sojourn.score(theta=[2.0])
def mine(jobs, j, now, theta):
    return jobs.procs[j] * theta[0] - jobs.submit[j]


@sojourn.score(theta=[1.0])
def cool(nodes, n, jobs, j, now, theta):
    return nodes.watts[n] * theta[0]
"""
EVENTS = """\
time,kind,job,procs,until
6e3,cancel,9,,
2e4,down,,12,6e4
"""
CLUSTER = """\
processor = "core"
[[node]]
name = "old"
count = 3
cores = 8
memory = 16
ops = 2e5
watts = 170
idle_watts = 80
features = ["gpu"]
[[node]]
name = "new"
count = 2
server = "X5670"
memory = 64
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Logs of 150 jobs for 16 processors, a cluster, scores and carbon intensities."""
    place = tmp_path_factory.mktemp("inputs")
    jobs = sojourn.lublin(150, 16, load=1.2, seed=4, estimates="tsafrir")
    rng = np.random.default_rng(0)
    jobs = jobs.replace(
        runtime=np.where(rng.random(150) < 0.05, 0.0, jobs.runtime),
        user=rng.integers(1, 6, 150),
        queue=rng.integers(1, 4, 150),
        memory=rng.integers(1, 3 * 2**20, 150).astype(float),
    )
    header = [*jobs.header, "; UnixStartTime: 1304208000", "; TimeZone: 3600"]
    sojourn.write_swf(jobs.replace(header=header), place / "log.swf")
    sojourn.write_csv(jobs, place / "log.csv")
    weeks = jobs.replace(submit=np.sort(rng.integers(0, 35 * 86400, 150)))
    sojourn.write_swf(weeks, place / "weeks.swf")
    (place / "own.py").write_text(ORDER)
    (place / "events.csv").write_text(EVENTS)
    (place / "nodes.csv").write_text("time,kind,nodes,until\n5e3,down,old*,5e4\n")
    (place / "cluster.toml").write_text(CLUSTER)
    (place / "carbon.csv").write_text("time,g_per_kwh\n0,300\n86400,250\n9e7,400\n")
    return place


def told_by(folder: Path) -> dict[str, Any]:
    """A summary without where and when it was made."""
    told = json.loads((folder / "summary.json").read_text())
    told["files"] = told.pop("provenance")["files"]
    return told


def assert_same_files(one: Path, two: Path) -> None:
    assert told_by(one) == told_by(two)
    names = {path.name for path in one.iterdir()}
    assert names == {path.name for path in two.iterdir()}
    for name in names - {"summary.json"}:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


number = st.sampled_from
control = st.one_of(
    st.sampled_from(["1", "1.5", "constant:0.8"]),
    st.sampled_from(["threshold:0.8,1.0:1e4", "threshold:0.8,1.0:inf", "threshold:.5,1,2:1e3,1e4"]),
    st.sampled_from(["workload:0.8,1.0:1e3:1e4", "workload:0.8,1,1.2:1e3,1e4:5e3,5e4"]),
    st.sampled_from(["count:0.8,1.0:2:5", "random:0.8,1.0:0.3,0.7"]),
)
of_log = {
    "--first": st.integers(20, 200),
    "--strict": st.just(False),
    "--keep-zero": st.booleans(),
    "--rules": st.sampled_from(
        ["none", "no-runtime,zero-runtime-1s", "zero-runtime,too-wide,unsorted-submits"]
    ),
    "--width": st.sampled_from(["requested", "allocated", "max"]),
    "--log-format": st.just("swf"),
}
of_policy = {
    "--estimates": st.sampled_from(["user", "exact", "2", "1.5"]),
    "--over-limit": st.sampled_from(["kill", "run"]),
    "--passes": st.sampled_from(["instant", "event"]),
    "--reference-rate": st.sampled_from(["1.0", "1.5"]),
    "--seed": st.integers(0, 2**63 - 1),
    "--price": st.sampled_from(["0.25", "0.15, 8:0.30, 20:0.15 EUR"]),
    "--carbon": st.sampled_from(["300", "carbon.csv"]),
    "--starts": st.sampled_from(["2011-05-01T00:00+09:00", "2011-05-01"]),
}
of_counted = {
    "--procs": st.sampled_from(["16", "24", "100"]),
    "--rate": control,
    "--policy": st.sampled_from(
        ["fcfs", "EASY", "easy:3@sjf", "sjf+easy:inf", "conservative", "lcfs-pr", "spf", "wfp3"]
    ),
    "--policy-file": st.just("own.py:mine"),
    "--format": st.sampled_from(["parquet", "csv", "swf"]),
    "--no-trajectory": st.booleans(),
}
of_power = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional={"--watts-busy": number(["50", "0"])}),
    st.fixed_dictionaries({"--watts-busy": number(["50"]), "--watts-idle": number(["0", "20.5"])}),
)
of_nodes = {
    "--placement": st.sampled_from(
        ["First-Fit", "best-fit", "fastest", "pack", "random", "spread", "own.py:cool"]
    ),
    "--where": st.sampled_from(["cores >= 1", "cores == 8"]),
    "--processor": st.sampled_from(["core", "chip"]),
    "--keep-noncompliant": st.booleans(),
    "--foresight": st.sampled_from(["nodes", "log"]),
    "--memory": st.sampled_from(["none", "log", "0", "0.5"]),
    "--memory-per-node": st.sampled_from(["0", "2"]),
    "--whole-nodes": st.booleans(),
    "--feature": st.sampled_from(["gpu", "queue:3=gpu"]),
    "--power-budget": st.sampled_from(["100", "1e6"]),
    "--rate": st.sampled_from(["0.9", "threshold:0.8,1.0:1e4"]),
    "--policy": st.sampled_from(["fcfs", "easy", "conservative", "sjf+easy"]),
    "--debug": st.booleans(),
}


def some_of(options: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=options)


commands = st.one_of(
    st.tuples(some_of(of_log), some_of(of_policy), some_of(of_counted), of_power),
    st.tuples(
        some_of(of_log),
        some_of(of_policy),
        some_of(of_nodes),
        st.sampled_from([{"--cluster": "cluster.toml"}, {"--cluster": "2 x X5670, 1 x L5420"}]),
    ),
).map(lambda parts: {name: value for part in parts for name, value in part.items()})


def typed(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        if isinstance(value, bool):
            words += [name] if value else []
        else:
            words += [name, str(value)]
    return words


def save_and_run(folder: Path, place: Path, words: list[str], log: str = "log.swf") -> bool:
    """Whether a command runs; if it does, its scenario does the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        saved = place / "deep" / "s.toml"
        command = ["simulate", log, *words, "--out", str(place / "one")]
        code = main([*command, "--save-scenario", str(saved)])
        if code != 0:
            assert not saved.exists()
            return False
        assert main(["run", str(saved), "--out", str(place / "two")]) == 0
    _forget_source(place / "one")
    _forget_source(place / "two")
    assert_same_files(place / "one", place / "two")
    return True


def _forget_source(folder: Path) -> None:
    """The same log, by a path from one place or another."""
    file = folder / "summary.json"
    told = json.loads(file.read_text())
    told["cleaning"]["source"] = Path(told["cleaning"]["source"]).name
    file.write_text(json.dumps(told))


def test_many_commands_as_scenarios(folder, tmp_path_factory):
    count = {True: 0, False: 0}

    @settings(max_examples=40)
    @given(commands)
    def check(options):
        place = tmp_path_factory.mktemp("saved")
        count[save_and_run(folder, place, typed(options))] += 1

    check()
    assert count[True] > count[False], count


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "log.swf",
            "--rate workload:0.8,1.0:1e3:1e4 --watts 0.8:28:15 --watts 1.0:41:18 --plots",
        ),
        ("log.csv", "--procs 16 --columns submit=submit,runtime=runtime,procs=procs"),
        ("log.swf", "--policy fcfs+easy --policy-file own.py:mine --seed 7"),
        (
            "log.swf",
            "--cluster cluster.toml --feature queue:3=gpu --feature queue:1=gpu --memory log "
            "--debug --plots",
        ),
        ("log.swf", "--procs 16 --events events.csv --node-failure requeue"),
        ("log.swf", "--cluster cluster.toml --events nodes.csv"),
    ],
)
def test_commands_with_more_to_say(folder, tmp_path, log, words):
    assert save_and_run(folder, tmp_path, words.split(), log)


def test_events_happen_and_node_failure_says_what_comes_of_jobs(folder):
    told = {"workload": {"log": "log.swf"}, "cluster": {"procs": 16}}
    plain = Scenario.from_mapping(told, folder)
    without = run_scenario(plain)
    assert "events" not in without
    struck = plain.with_value("workload.events", "events.csv")
    killed = run_scenario(struck)
    again = run_scenario(struck.with_value("policy.node_failure", "requeue"))
    assert killed["events"]["given"] == again["events"]["given"] == 2
    assert (killed["events"]["killed"] > 0, killed["events"]["restarts"]) == (True, 0)
    assert again["events"]["restarts"] == killed["events"]["killed"]
    assert again["completed"] > killed["completed"]
    origin = killed["provenance"]["events"]
    assert origin["path"] == str(folder / "events.csv")
    assert len(origin["sha256"]) == 64
    assert len({plain.digest, struck.digest}) == 2
    table = sweep(struck, {"policy.node_failure": ["kill", "requeue"]}, workers=1).table
    assert table["restarts"].tolist() == [0, again["events"]["restarts"]]


def test_events_of_jobs_and_other_jobs(folder):
    told = {
        "workload": {"log": "weeks.swf", "events": "events.csv", "resample": "week"},
        "cluster": {"procs": 16},
    }
    with pytest.raises(OptionError, match=r"events.csv: events of jobs, of which .*resample"):
        run_scenario(Scenario.from_mapping(told, folder))
    told["workload"]["events"] = "down.csv"
    (folder / "down.csv").write_text("time,kind,procs,until\n2e4,down,12,6e4\n")
    assert run_scenario(Scenario.from_mapping(told, folder))["events"]["given"] == 1


def test_other_events_make_another_scenario(folder, tmp_path):
    file = tmp_path / "events.csv"
    told = {"workload": {"model": "lublin", "jobs": 50, "events": str(file)}}
    scenario = Scenario.from_mapping({**told, "cluster": {"procs": 16}}, folder)
    digests, lost = [], []
    for procs in (8, 12):
        file.write_text(f"time,kind,procs,until\n2e4,down,{procs},1e6\n")
        digests.append(scenario.with_value("run.seed", 1).digest)
        lost.append(run_scenario(scenario)["events"]["down_processor_seconds"])
    assert digests[0] != digests[1]
    assert lost[0] < lost[1]


def test_a_scenario_is_saved_to_a_file(folder, tmp_path, capsys):
    command = ["simulate", str(folder / "log.swf"), "--out", str(tmp_path / "run")]
    assert main([*command, "--save-scenario", str(tmp_path)]) == 2
    assert f"--save-scenario {tmp_path}: is a folder" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_is_saved_is_short_and_relative(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["simulate", "log.swf", "--rate", "threshold:0.8,1.0:1e4", "--carbon", "carbon.csv"]
    assert main([*command, "--save-scenario", "s.toml", "--json"]) == 0
    assert tomllib.loads(Path("s.toml").read_text()) == {
        "workload": {"log": "log.swf"},
        "policy": {"name": "easy"},
        "control": {"kind": "threshold", "rates": [0.8, 1.0], "k": 1e4},
        "power": {"carbon": "carbon.csv"},
    }
    Path("s.toml").unlink()


def test_a_wrong_command_saves_nothing(folder, tmp_path, capsys):
    saved = tmp_path / "s.toml"
    command = ["simulate", str(folder / "log.swf"), "--save-scenario", str(saved)]
    for words, told in [
        (["--rate", "fast"], "rate control 'fast' cannot be read"),
        (["--format", "xls"], "--format 'xls': choose parquet"),
        (["--memory", "1"], "--memory: processors are only counted"),
    ]:
        assert main([*command, *words]) == 2
        assert told in capsys.readouterr().err
    assert main([*command[:2], "--save-scenario", str(folder / "own.py" / "s.toml")]) == 2
    assert "own.py: is a file" in capsys.readouterr().err
    assert not saved.exists()


@pytest.mark.parametrize(
    ("words", "workload"),
    [
        (
            "lublin --load 0.9 --estimates tsafrir --type both",
            {"model": "lublin", "load": 0.9, "estimates": "tsafrir", "type": "both"},
        ),
        (
            "poisson --interarrival erlang:400:2 --work hyperexponential:900:4 "
            "--width uniform:1-8 --estimates 2",
            {
                "model": "poisson",
                "interarrival": "erlang:400:2",
                "work": "hyperexponential:900:4",
                "widths": "uniform:1-8",
                "estimates": 2,
            },
        ),
        ("poisson --load 0.8", {"model": "poisson", "load": 0.8}),
    ],
)
def test_a_model_is_the_log_that_it_generates(tmp_path, words, workload):
    log = tmp_path / "log.swf"
    common = ["--jobs", "120", "--procs", "16", "--seed", "11"]
    assert main(["generate", *words.split(), *common, "--out", str(log)]) == 0
    assert main(["simulate", str(log), "--seed", "11", "--out", str(tmp_path / "one")]) == 0
    told = {"workload": {**workload, "jobs": 120}, "cluster": {"procs": 16}, "run": {"seed": 11}}
    run_scenario(Scenario.from_mapping(told), tmp_path / "two")
    one, two = (told_by(tmp_path / name) for name in ("one", "two"))
    assert one.pop("cleaning")["kept"] == two.pop("cleaning")["kept"] == 120
    assert one == two
    for name in ("jobs.parquet", "trajectory.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_run_tells_where_it_is_from(folder, tmp_path, capsys, monkeypatch):
    path = tmp_path / "s.toml"
    path.write_text(
        f'[workload]\nlog = "{folder}/log.swf"\n[cluster]\nnodes = "2 x X5670"\n'
        '[policy]\nplacement = "random"\n[run]\nseed = 5\n'
    )
    assert main(["run", str(path), "--json"]) == 0
    origin = json.loads(capsys.readouterr().out)["provenance"]
    assert (origin["command"], origin["seed"]) == ("run", 5)
    assert origin["options"] == tomllib.loads(path.read_text())
    assert origin["scenario"] == read_scenario(path).digest
    assert len(origin["input"]["sha256"]) == 64
    assert origin["cluster"]["path"] == "2 x X5670"
    assert main(["run", str(path), "--seed", "6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["provenance"]["seed"] == 6
    assert main(["run", str(path), "--out", str(tmp_path / "run")]) == 0
    assert "easy, random on 2 nodes (24 cores)" in capsys.readouterr().out


def test_run_refuses_in_one_line(folder, tmp_path, capsys):
    path = tmp_path / "s.toml"
    for text, message in [
        ("[workload]\nlgo = 1\n", "s.toml, line 2, key 'workload.lgo': is not known; did you"),
        ('[workload]\nlog = "none.swf"\n', "none.swf: no such file"),
        (
            f'[workload]\nlog = "{folder}/log.csv"\n',
            "no MaxProcs in its header; give cluster.procs",
        ),
        (
            f'[workload]\nlog = "{folder}/log.swf"\n[policy]\norder = "none.py:x"\n',
            "none.py: no such file",
        ),
        (
            f'[workload]\nlog = "{folder}/log.swf"\n[power]\ncarbon = "none.csv"\n',
            "none.csv: no such file",
        ),
        (
            f'[workload]\nlog = "{folder}/log.swf"\nsince = "900 w"\n',
            "no job is in that part of the log",
        ),
    ]:
        path.write_text(text)
        assert main(["run", str(path), "--out", str(tmp_path / "run")]) == 2
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)
        assert message in told.err
        assert not (tmp_path / "run").exists()


def test_schema_is_printed(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == scenario_schema()


def scenario_on(folder: Path, **tables: Any) -> Scenario:
    workload = {"log": "log.swf", **tables.pop("workload", {})}
    return Scenario.from_mapping({"workload": workload, **tables}, folder)


def test_part_of_a_log(folder):
    whole = scenario_on(folder).workload()
    span = whole.submit.max()
    part = scenario_on(folder, workload={"since": span / 4, "until": span / 2, "first": 10})
    jobs = part.workload()
    wanted = whole.job[(whole.submit >= span / 4) & (whole.submit < span / 2)]
    assert 5 < len(jobs) <= 10
    assert set(jobs.job) <= set(wanted)
    assert jobs.job[0] == wanted[0]
    assert jobs.report.read == 10


def test_growth_makes_arrivals_denser(folder):
    plain = scenario_on(folder).workload()
    dense = scenario_on(folder, workload={"growth": 2}).workload()
    assert np.diff(dense.submit) == pytest.approx(np.diff(plain.submit) / 2, abs=1e-6)
    assert dense.procs.tolist() == plain.procs.tolist()


@pytest.mark.parametrize("by", ["day", "week", "user"])
def test_blocks_follow_the_seed(folder, by):
    scenario = scenario_on(folder, workload={"log": "weeks.swf", "resample": by})
    one, two, other = scenario.workload(1), scenario.workload(1), scenario.workload(2)
    assert one.submit.tolist() == two.submit.tolist()
    assert scenario.is_random
    drawn = [each.runtime.tolist() for each in (one, other, scenario.workload(3))]
    assert drawn[0] != drawn[1] or drawn[1] != drawn[2]
    assert not scenario_on(folder).is_random


def test_the_log_can_be_at_hand(folder, tmp_path):
    scenario = scenario_on(folder, workload={"log": "weeks.swf", "resample": "day"})
    log = scenario.log()
    away = pickle.loads(pickle.dumps(scenario))
    object.__setattr__(away, "folder", tmp_path)
    with pytest.raises(sojourn.LogError, match="no such file"):
        away.workload(1)
    at_hand = away.with_log(log).with_value("policy.order", "sjf")
    assert at_hand.workload(1).submit.tolist() == scenario.workload(1).submit.tolist()
    assert at_hand.with_value("workload.first", 5).given_log is None
    model = {"workload": {"model": "lublin"}, "cluster": {"procs": 8}}
    assert Scenario.from_mapping(model).log() is None


def test_the_seed_of_coins_and_of_blocks_differ(folder):
    tables = {"control": {"kind": "random", "rates": [1, 2], "p_low": 0.5, "p_high": 0.5}}
    scenario = scenario_on(folder, workload={"log": "weeks.swf", "resample": "user"}, **tables)
    jobs = scenario.workload(3)
    ends = [scenario.run(jobs, seed).end.tolist() for seed in (3, 3, 4)]
    assert ends[0] == ends[1] != ends[2]


def test_own_scores_and_their_parameters(folder):
    scenario = scenario_on(folder, policy={"name": "easy", "order": "own.py:mine"})
    jobs = scenario.workload()
    assert str(scenario.run(jobs).policy) == "mine+easy"
    other = scenario.with_value("policy.theta", [-5.0])
    assert other.policy.score.theta == (-5.0,)
    assert other.run(jobs).start.tolist() != scenario.run(jobs).start.tolist()
    assert other.with_value("policy.theta[0]", 3).policy.score.theta == (3.0,)
    nodes = scenario_on(
        folder, cluster={"nodes": "cluster.toml"}, policy={"placement": "own.py:cool"}
    )
    reverse = nodes.with_value("policy.placement_theta", [-1.0])
    energy = [each.summary(each.run(jobs))["energy_kwh"] for each in (nodes, reverse)]
    assert energy[0] != energy[1]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"order": "sjf"}, "sjf+easy"),
        ({"backfill": "none"}, "fcfs"),
        ({"name": "easy:4@sjf", "backfill": "easy"}, "easy"),
        ({"name": "fcfs", "order": "sjf", "backfill": "remaining"}, "spf"),
        ({"name": "fcfs", "order": "lcfs", "backfill": "preempt"}, "lcfs-pr"),
        ({"reservations": 3, "backfill_order": "sjf"}, "fcfs+easy:3@sjf"),
        ({"reservations": float("inf")}, "fcfs+easy:inf"),
    ],
)
def test_parts_of_a_policy(keys, text):
    told = {"workload": {"log": "x"}, "policy": keys}
    assert str(Scenario.from_mapping(told).policy) == text


def test_power_of_the_rate(folder):
    power = {"static": 10, "dynamic": "20 W", "exponent": 2, "reference": 1}
    tables = {"control": {"rate": 2}, "power": power}
    scenario = scenario_on(folder, **tables)
    made = scenario.cluster_for(scenario.workload()).power
    assert made == sojourn.ScaledPower(10.0, 20.0, 2.0, 1.0)


def test_flat_measures(folder):
    control = {"kind": "threshold", "rates": [0.5, 1.0], "k": 0}
    scenario = scenario_on(folder, control=control, power={"price": 0.25, "carbon": 300})
    result = scenario.run(scenario.workload())
    told, flat = result.summary, scenario.summary(result)
    assert all(type(value) is float for value in flat.values())
    assert flat["wait_mean"] == told["wait"]["mean"]
    assert flat["bounded_slowdown_p99"] == told["bounded_slowdown"]["p99"]
    assert flat["energy_kwh"] == told["energy"]["total_kwh"]
    assert flat["cost"] == told["energy"]["cost"]
    assert flat["carbon_kg"] == told["energy"]["carbon_kg"]
    assert flat["rate_share_0.5"] + flat["rate_share_1"] == pytest.approx(1)
    assert {"utilisation", "makespan", "jobs", "killed", "mean_watts"} <= set(flat)
    never = scenario.with_value("control.k", "inf")
    assert never.summary(never.run(scenario.workload()))["rate_share_1"] == 0.0
    assert {each.name for each in in_table("compare") if not each.needs} <= set(flat)


def test_preload_and_units_of_thresholds(folder):
    scenario = scenario_on(folder, control={"kind": "threshold", "rates": [0.8, 1], "k": "2 h"})
    scenario.preload()
    assert str(scenario.control) == "workload hysteresis 0.8, 1 at 7200 / 7200"
