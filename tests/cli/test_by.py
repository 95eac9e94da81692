"""Results of each class of jobs on the command line: --by."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn.cli import main

USERS = ("anna", "bo", "@carla")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log whose partitions, users and queues have names; it knows no account."""
    rng = np.random.default_rng(3)
    jobs = sojourn.lublin(400, 32, load=0.8, seed=5, estimates="tsafrir")
    named = jobs.replace(
        wait=np.floor(rng.exponential(600, 400)),
        partition=rng.integers(1, 3, 400),
        user=rng.integers(1, 4, 400),
        header=[
            "MaxProcs: 32",
            *("Partition: 1 cpu", "Partition: 2 gpu"),
            *(f"User: {i} {name}" for i, name in enumerate(USERS, 1)),
        ],
    )
    path = tmp_path_factory.mktemp("log") / "log.swf"
    sojourn.write_swf(named, path)
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_tables_in_the_terminal_the_summary_and_a_file(log, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["simulate", str(log), "--by", "partition,user", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    summary = json.loads((out / "summary.json").read_text())
    jobs = pd.read_parquet(out / "jobs.parquet")
    wanted = jobs.groupby("partition", observed=True)["wait"].agg(["size", "mean"])
    told = {row["class"]: row for row in summary["classes"]["partition"]}
    assert list(told) == ["cpu", "gpu"]
    for name, row in told.items():
        assert row["jobs"] == wanted.loc[name, "size"]
        assert row["mean_wait"] == pytest.approx(wanted.loc[name, "mean"])
        assert row["jobs"] == summary["partitions"][name]["jobs"]
        assert row["mean_wait"] == pytest.approx(summary["partitions"][name]["wait"]["mean"])
        assert row["share"] == pytest.approx(summary["partitions"][name]["share"])
        line = next(line for line in lines if line.startswith(f"{name} "))
        assert line.split()[1] == str(row["jobs"])
    assert {row["class"] for row in summary["classes"]["user"]} == set(USERS)
    assert "classes.csv" in summary["provenance"]["files"]
    written = rows_of(out / "classes.csv")
    assert [row["by"] for row in written] == ["partition"] * 2 + ["user"] * 3
    # What a spreadsheet would take for a formula is none.
    assert {row["class"] for row in written} == {"cpu", "gpu", "anna", "bo", "'@carla"}
    assert float(written[0]["mean_wait"]) == told["cpu"]["mean_wait"]


def test_a_run_without_classes_leaves_none_behind(log, tmp_path):
    out = tmp_path / "run"
    assert main(["simulate", str(log), "--by", "width", "--out", str(out)]) == 0
    assert (out / "classes.csv").exists()
    assert main(["simulate", str(log), "--out", str(out)]) == 0
    assert not (out / "classes.csv").exists()
    assert "classes" not in json.loads((out / "summary.json").read_text())


def test_json_without_a_folder(log, capsys):
    assert main(["simulate", str(log), "--by", "width,status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["classes"]
    assert [row["class"] for row in told["width"]][:3] == ["1", "2", "3-4"]
    assert sum(row["jobs"] for row in told["status"]) == 400


def test_classes_of_a_comparison(log, tmp_path, capsys):
    out = tmp_path / "both"
    command = ["compare", str(log), "--policies", "fcfs,easy", "--by", "partition"]
    assert main([*command, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    facts = json.loads((out / "compare.json").read_text())
    rows = facts["classes"]["partition"]
    assert [(row["run"], row["class"]) for row in rows] == [
        ("fcfs", "cpu"), ("fcfs", "gpu"), ("easy", "cpu"), ("easy", "gpu")
    ]  # fmt: skip
    for policy in ("fcfs", "easy"):
        own = json.loads((out / policy / "summary.json").read_text())["classes"]["partition"]
        mine = [row for row in rows if row["run"] == policy]
        assert [{k: v for k, v in row.items() if k != "run"} for row in mine] == own
    assert [row["class"] for row in rows_of(out / "classes.csv")] == ["cpu", "gpu"] * 2
    # Backfilling helps both partitions, and is marked.
    for name in ("cpu", "gpu"):
        line = next(line for line in printed.splitlines() if line.startswith(f"{name} "))
        assert line.rstrip().endswith("*")
    assert main([*command[:4], "--out", str(out)]) == 0
    assert not (out / "classes.csv").exists()
    assert "classes" not in json.loads((out / "compare.json").read_text())


def test_classes_of_a_comparison_in_python(log):
    jobs = sojourn.read_swf(log)
    found = sojourn.compare(jobs, 32, ["fcfs", "easy"])
    table = found.by("user")
    assert table.index.names == ["policy", "user"]
    for outcome in found:
        mine = table.loc[outcome.policy]
        pd.testing.assert_frame_equal(mine, outcome.result.by("user"), check_index_type=False)
    cluster = sojourn.parse_cluster("2 x X5670, 1 x L5420")
    placed = sojourn.compare(jobs, cluster, ["easy"], placements=["first-fit", "fastest"])
    assert placed.by("width").index.names == ["policy", "placement", "width"]


def test_what_jobs_of_each_class_are_like(log, capsys):
    assert main(["inspect", str(log), "--by", "partition", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["classes"]["partition"]
    jobs = sojourn.read_swf(log)
    names = jobs.labels("partition")
    for row in rows:
        mine = jobs[names == row["class"]]
        assert row["jobs"] == len(mine)
        assert row["processor_hours"] == pytest.approx(np.dot(mine.procs, mine.runtime) / 3600)
        assert row["mean_width"] == pytest.approx(mine.procs.mean())
        assert row["median_runtime"] == pytest.approx(
            np.quantile(mine.runtime, 0.5, method="inverted_cdf")
        )
        assert row["mean_wait"] == pytest.approx(mine.wait.mean())
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert main(["inspect", str(log), "--by", "user"]) == 0
    assert all(name in capsys.readouterr().out for name in ("anna",))


def test_a_scenario_keeps_the_classes(log, tmp_path, capsys):
    saved = tmp_path / "s.toml"
    words = ["simulate", str(log), "--by", "partition,width"]
    assert main([*words, "--save-scenario", str(saved), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["classes"]
    assert 'by = ["partition", "width"]' in saved.read_text()
    assert main(["run", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == first
    assert main(["run", str(saved), "--by", "user", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["classes"]) == ["user"]


@pytest.mark.parametrize("verb", ["simulate", "compare", "inspect", "waits"])
@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ("account", "class 'account': the log does not say it of any job; it knows partition"),
        ("acount", "did you mean 'account'?"),
        ("user,,colour", "class 'colour': choose from user"),
        (" , ", "--by names no class; give for example partition,user"),
    ],
)
def test_classes_that_cannot_be_had(log, tmp_path, capsys, verb, by, problem):
    out = tmp_path / "out"
    folder = ["--out", str(out)] if verb in ("simulate", "compare") else []
    assert main([verb, str(log), "--by", by, *folder]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert problem in shown.err
    assert not out.exists()


def test_a_scenario_with_classes_that_cannot_be_had(log, tmp_path, capsys):
    scenario = tmp_path / "s.toml"
    text = f'[workload]\nlog = "{log}"\n[run]\nby = ["%s"]\n'
    scenario.write_text(text % "account")
    assert main(["run", str(scenario)]) == 2
    shown = capsys.readouterr().err
    assert "line 4" in shown
    assert "run.by" in shown
    assert "the log does not say it of any job" in shown
    scenario.write_text(text % "acount")
    assert main(["run", str(scenario)]) == 2
    assert "did you mean 'account'" in capsys.readouterr().err


def test_the_table_of_classes_replaces_no_input(log, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sojourn.read_swf(log)[:20].to_pandas()[["submit", "runtime", "procs"]].to_csv("classes.csv")
    before = (tmp_path / "classes.csv").read_bytes()
    command = ["classes.csv", "--procs", "32", "--by", "width", "--out", "."]
    for verb in ("simulate", "compare"):
        assert main([verb, *command]) == 2
        assert "classes.csv" in capsys.readouterr().err
        assert (tmp_path / "classes.csv").read_bytes() == before
