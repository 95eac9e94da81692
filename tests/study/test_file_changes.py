"""Files that change: what a run is called and what it computes go together, whatever happens."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import small_scenario

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError, PolicyError
from sojourn.policy import load_node_score, load_score
from sojourn.study import Grid, Scenario, sweep
from sojourn.study.execute import Bundle, Worker
from sojourn.study.plan import plan_runs

ORDER = """\
import sojourn


@sojourn.score
def mine(jobs, j, now, theta):
    return {sign}jobs.procs[j]


@sojourn.score
def cool(nodes, n, jobs, j, now, theta):
    return {sign}nodes.watts[n]
"""
SERVERS = "model,cores,ops,watts\nold,16,1e5,{old}\nnew,16,{ops},100\n"
DESCRIPTION = """\
servers = "servers.csv"
[[node]]
server = "old"
memory = {memory}
[[node]]
server = "new"
count = 2
"""


class Folder:
    """Files of a scenario, each in one of two contents.

    Parameters
    ----------
    place : where they are.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("log.swf", "own.py", "servers.csv", "cluster.toml", "events.csv", "co2.csv"):
            self.write(name)

    def write(self, name: str, *, other: bool = False) -> Path:
        """Write a file, or another one in its place."""
        path, sign = self.place / name, "-" if other else "+"
        if name == "log.swf":
            sojourn.write_swf(sojourn.lublin(60, 32, load=1.2, seed=4 + other), path)
            return path
        texts = {
            "own.py": ORDER.format(sign=sign),
            "servers.csv": SERVERS.format(old=300 if other else 200, ops="4e5"),
            "cluster.toml": DESCRIPTION.format(memory=32 if other else 16),
            "events.csv": f"time,kind,procs,until\n2e4,down,{16 if other else 8},6e4\n",
            "co2.csv": f"time,g_per_kwh\n0,{400 if other else 300}\n9e8,250\n",
        }
        path.write_text(texts[name])
        return path

    def scenario(self, *, named: bool = False, **workload: Any) -> Scenario:
        """A scenario of all of them: of the cluster, or of the events."""
        told: dict[str, Any] = {
            "workload": {"log": "log.swf", "estimates": "tsafrir", **workload},
            "policy": {"name": "easy", "order": "own.py:mine"},
            "power": {"carbon": "co2.csv", "starts": "2011-05-01"},
        }
        if named:
            told["cluster"] = {"nodes": "cluster.toml"}
            told["policy"]["placement"] = "own.py:cool"
        else:
            told["workload"]["events"] = "events.csv"
            told["cluster"] = {"procs": 32}
        return Scenario.from_mapping(told, self.place)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


FILES = [
    ("log.swf", False),
    ("own.py", False),
    ("events.csv", False),
    ("co2.csv", False),
    ("own.py", True),
    ("cluster.toml", True),
    ("servers.csv", True),
]


def numbers(scenario: Scenario) -> dict[str, float]:
    return scenario.summary(scenario.run(scenario.workload(1), 1))


@pytest.mark.parametrize(("name", "named"), FILES)
def test_a_scenario_follows_its_files(folder: Folder, name: str, named: bool) -> None:
    scenario = folder.scenario(named=named)
    before, told = scenario.digest, numbers(scenario)
    drawn = scenario.workload_digest
    folder.write(name, other=True)
    assert scenario.digest == folder.scenario(named=named).digest != before
    changed = numbers(scenario)
    assert changed == numbers(folder.scenario(named=named))
    assert (scenario.workload_digest != drawn) == (name in ("log.swf", "events.csv"))
    if name != "cluster.toml":  # Nobody asks for memory.
        assert changed != told
    folder.write(name)
    assert (scenario.digest, numbers(scenario)) == (before, told)


def test_what_was_made_is_made_again_only_if_a_file_changed(folder: Folder) -> None:
    scenario = folder.scenario(named=True)
    policy, placement, nodes = scenario.policy, scenario.placement, scenario.nodes
    assert scenario.policy is policy
    assert scenario.placement is placement
    assert scenario.nodes is nodes
    folder.write("servers.csv", other=True)
    assert scenario.nodes is not nodes
    assert scenario.policy is policy
    folder.write("own.py", other=True)
    assert scenario.policy is not policy
    assert scenario.placement is not placement


def test_other_servers_in_the_same_process(folder: Folder) -> None:
    energies = []
    for other in (False, True):
        folder.write("servers.csv", other=other)
        energies.append(numbers(folder.scenario(named=True))["energy_kwh"])
    assert energies[0] < energies[1]


@pytest.mark.parametrize(("name", "named"), FILES)
@pytest.mark.parametrize("began", [False, True])
def test_a_file_that_changes_fails_the_runs_that_follow(
    folder: Folder, name: str, named: bool, began: bool
) -> None:
    scenario = folder.scenario(named=named)
    plan = plan_runs(scenario, Grid.of({"policy.backfill": ["easy", "none"]}), 2)
    worker = Worker(pickle.loads(pickle.dumps(Bundle.of(scenario, plan.keys))))
    first = [worker.run(run) for run in plan.runs]
    assert [row["status"] for row in first] == ["done"] * 4
    if not began:
        folder.write(name, other=True)
        worker = Worker(Bundle.of(scenario, plan.keys))
        folder.write(name)
    path = folder.write(name, other=True)
    rows = [worker.run(run) for run in plan.runs]
    if name == "log.swf" and began:  # It was at hand before.
        assert rows == first
        return
    assert [row["status"] for row in rows] == ["failed"] * 4
    assert all(str(path) in row["error"] for row in rows)
    end = "not as it was when the study began; run it again, with the same files everywhere"
    assert all(row["error"].endswith(end) for row in rows)
    if began:
        assert rows[0]["error"] == f"{path}: {end}"
    folder.write(name)
    if name != "log.swf":
        assert [worker.run(run) for run in plan.runs] == first


def test_files_that_stay_are_hashed_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = folder.scenario()
    plan = plan_runs(scenario, Grid.of({"policy.backfill": ["easy", "none"]}), 5)
    worker = Worker(Bundle.of(scenario, plan.keys))
    asked = []
    whole = Scenario.digest.fget
    counted = property(lambda self: asked.append(self) or whole(self))
    monkeypatch.setattr(Scenario, "digest", counted)
    assert {worker.run(run)["status"] for run in plan.runs} == {"done"}
    assert len(asked) == 2


def test_a_study_says_which_file_changed(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.study.runners._TOGETHER", -1.0)
    grid = {"policy.backfill": ["easy", "none"]}
    whole = sweep(folder.scenario(), grid, 2, workers=1).table
    changed = []

    def change(tally: Any) -> None:
        if tally.done == 2:
            changed.append(folder.write("co2.csv", other=True))

    options: dict[str, Any] = {"out": tmp_path / "study", "workers": 1}
    study = sweep(folder.scenario(), grid, 2, progress=change, **options)
    assert (study.done, study.failed) == (2, 2)
    assert set(study.errors[0].split(": ")[:1]) == set(map(str, changed))
    good = study.table[study.table["status"] == "done"]
    expected = whole[whole["run_id"].isin(good["run_id"])]
    pd.testing.assert_frame_equal(
        good.reset_index(drop=True), expected.reset_index(drop=True), check_exact=True
    )
    with pytest.raises(OptionError, match="holds a study with another scenario"):
        sweep(folder.scenario(), grid, 2, **options)
    folder.write("co2.csv")
    again = sweep(folder.scenario(), grid, 2, retry_failed=True, **options)
    assert again.new == 2
    pd.testing.assert_frame_equal(again.table, whole, check_exact=True)


def test_a_scenario_that_is_used_again_after_its_log_changed(
    folder: Folder, tmp_path: Path
) -> None:
    scenario = folder.scenario()
    first = sweep(scenario, {}, 1, out=tmp_path / "one", workers=1)
    folder.write("log.swf", other=True)
    with pytest.raises(OptionError, match="holds a study with another scenario"):
        sweep(scenario, {}, 1, out=tmp_path / "one", workers=1)
    other = sweep(scenario, {}, 1, out=tmp_path / "two", workers=1)
    fresh = sweep(folder.scenario(), {}, 1, workers=1)
    pd.testing.assert_frame_equal(other.table, fresh.table, check_exact=True)
    assert other.table["run_id"][0] != first.table["run_id"][0]
    assert other.table["wait_mean"][0] != first.table["wait_mean"][0]


@pytest.mark.parametrize("name", ["log.swf", "own.py", "events.csv", "co2.csv"])
def test_names_of_runs_go_by_contents(folder: Folder, name: str) -> None:
    def names() -> set[str]:
        grid = Grid.of({"policy.over_limit": ["kill", "run"]})
        return {run.run_id for run in plan_runs(folder.scenario(), grid, 2).runs}

    before = names()
    folder.write(name, other=True)
    assert not before & names()
    folder.write(name)
    assert names() == before


def test_names_of_runs_go_by_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid.of({"control.k": [0, 1e5]})
    before = {run.run_id for run in plan_runs(small_scenario(), grid, 2).runs}
    monkeypatch.setattr("sojourn.study.plan.__version__", "999.0")
    after = {run.run_id for run in plan_runs(small_scenario(), grid, 2).runs}
    assert len(before) == len(after) == 4
    assert not before & after


def test_a_digest_is_the_same_from_everywhere(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.place)
    os.rename("log.swf", "easy")  # As the policy.
    told = {"workload": {"log": "easy", "format": "swf"}, "policy": {"name": "easy"}}
    here = Scenario.from_mapping(told)
    assert here.digest == pickle.loads(pickle.dumps(here)).digest
    assert here.digest != here.with_value("policy.name", "fcfs").digest


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("workload.growth", [1, 2.0]),
        ("workload.resample", ["jobs"]),
        ("workload.estimates", ["exact", 2.0]),
        ("workload.warmup", [0, 10]),
        ("cluster.procs", [32, 64]),
    ],
)
def test_a_log_is_sent_where_it_is_read_in_one_way(
    folder: Folder, key: str, values: list[Any]
) -> None:
    scenario = folder.scenario()
    plan = plan_runs(scenario, Grid.of({key: values}), 1)
    alone = [scenario.with_value(key, value) for value in values]
    expected = [
        each.summary(each.run(each.workload(run.seed), run.seed))
        for each, run in zip(alone, plan.runs, strict=True)
    ]
    bundle = Bundle.of(scenario, plan.keys)
    (folder.place / "log.swf").unlink()
    worker = Worker(pickle.loads(pickle.dumps(bundle)))
    rows = [worker.run(run) for run in plan.runs]
    assert {row["error"] for row in rows} == {None}
    assert [row["measures"] for row in rows] == expected


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("workload.first", [20, 30]),
        ("workload.rules", [["too-wide"], []]),
        ("workload.log", ["log.swf", "other.swf"]),
        ("workload.events", ["events.csv"]),
    ],
)
def test_a_log_is_not_sent_where_it_is_read_in_other_ways(
    folder: Folder, key: str, values: list[Any]
) -> None:
    scenario = folder.scenario()
    sojourn.write_swf(sojourn.lublin(60, 32, load=1.2, seed=9), folder.place / "other.swf")
    assert Bundle.of(scenario, [key]).log is None
    study = sweep(scenario, {key: values}, 1, workers=1)
    assert study.errors == []
    for row, value in zip(study.table.itertuples(), values, strict=True):
        each = scenario.with_value(key, value)
        told = each.summary(each.run(each.workload(row.seed), row.seed))
        assert row.wait_mean == told["wait_mean"]


def test_the_size_of_the_machine_may_decide_which_jobs_are_kept(folder: Folder) -> None:
    scenario = folder.scenario(rules=["too-wide"])
    assert Bundle.of(scenario, ["cluster.procs"]).log is None
    assert Bundle.of(scenario, ["workload.growth"]).log is not None
    at_hand = scenario.with_log(scenario.log(), "digest")
    assert at_hand.with_value("cluster.procs", 8).given_log is None
    assert at_hand.with_value("cluster.procs", 8).given_digest is None
    assert at_hand.with_value("workload.growth", 2).given_log is at_hand.given_log
    assert at_hand.with_value("run.format", "swf").given_log is None


def test_events_of_jobs_and_a_log_at_hand(folder: Folder) -> None:
    (folder.place / "events.csv").write_text("time,kind,job\n6e3,cancel,9\n")
    study = sweep(folder.scenario(), {"workload.resample": ["jobs"]}, 1, workers=1)
    assert "events of jobs, of which workload.resample makes others" in study.errors[0]


def test_a_machine_that_only_the_points_have(folder: Folder) -> None:
    scenario = folder.scenario(named=True).with_value("cluster.nodes", "later.toml")
    study = sweep(scenario, {"cluster.nodes": ["cluster.toml"]}, 1, workers=1)
    assert study.errors == []


def test_a_policy_is_that_of_its_file_now(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = folder.place / "own.py"
    jobs = sojourn.lublin(5, 32, seed=1)
    scenario, found = folder.scenario(named=True), []
    for other in (False, True):
        folder.write("own.py", other=other)
        os.utime(path, ns=(10**18, 10**18))  # As large as before, in the same second.
        score, cool = load_score(f"{path}:mine"), load_node_score(f"{path}:cool")
        sign = -1 if other else 1
        assert score(jobs, 0, 0.0) == sign * jobs.procs[0]
        assert score.formula.__code__.co_filename == cool.formula.__code__.co_filename == str(path)
        found.append((scenario.digest, numbers(scenario)))
    folder.write("own.py")
    source = inspect.getsource(load_score(f"{path}:mine").formula)
    assert source.endswith("    return +jobs.procs[j]\n")
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]
    assert not (folder.place / "__pycache__").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", r"own\.py: the file fails when it is loaded: SyntaxError: .*own\.py, line 1"),
        ("x = 1 / 0\n", r"own\.py: the file fails when it is loaded: ZeroDivisionError"),
        ("x = 1\n", r"own\.py: no score named 'mine'"),
    ],
)
def test_errors_of_a_policy_name_its_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(PolicyError, match=message):
        load_score(f"{tmp_path / 'own.py'}:mine")
    (tmp_path / "own.txt").write_text(text)
    with pytest.raises(OptionError, match=r"own\.txt: not a Python file"):
        load_score(f"{tmp_path / 'own.txt'}:mine")


def test_points_that_cannot_be_run_are_known_in_any_order_of_keys(tmp_path: Path) -> None:
    axes = {"control.rates": [[0.6, 1.0], [1.0, 0.6]], "policy.name": ["fcfs"]}
    first = sweep(small_scenario(), axes, 2, out=tmp_path, workers=1)
    turned = dict(reversed(axes.items()))
    again = sweep(small_scenario(), turned, 2, out=tmp_path, workers=1)
    assert (first.done, first.failed, first.new) == (2, 2, 4)
    assert (again.done, again.failed, again.new) == (2, 2, 0)
    assert len(again.table) == 4


def test_points_in_other_words_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def merged(*values: Any) -> int:
        return plan_runs(small_scenario(), Grid.of({"control.k": list(values)}), 2).merged

    assert merged(3600, 7200) == 0
    assert merged(3600, "1 h") == 1
    assert merged(3600, "1 h", "60 min", 7200) == 2
    (tmp_path / "s.toml").write_text(small_scenario().as_toml())
    for values, told in [
        ("3600,7200", None),
        ("3600,1 h", "1 point is another one in other words"),
        ("3600,1 h,60 min", "2 points are other ones in other words"),
    ]:
        axis = ("--set", f"control.k={values}")
        assert main(["sweep", str(tmp_path / "s.toml"), *axis, "--workers", "1"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "in other words" in line] == ([told] if told else [])
