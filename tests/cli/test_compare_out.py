"""A comparison whose runs are kept, and the page that is made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd


def test_each_run_has_its_folder(run, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    told = run("compare", small, "--policies", "fcfs,easy", "--out", out, "--json")
    assert told.code == 0, told.err
    answer = json.loads(told.out)
    kept = json.loads((out / "compare.json").read_text())
    assert kept["folders"] == ["fcfs", "easy"]
    assert {name: kept[name] for name in answer} == answer
    assert kept["provenance"]["command"] == "compare"
    assert kept["provenance"]["options"]["policies"] == "fcfs,easy"
    assert kept["provenance"]["input"]["path"] == str(small)
    assert kept["provenance"]["input"]["jobs"] == 3
    for row in answer["rows"]:
        folder = out / row["policy"]
        names = {path.name for path in folder.iterdir()}
        assert names == {"jobs.parquet", "summary.json", "trajectory.parquet"}
        jobs = pd.read_parquet(folder / "jobs.parquet")
        assert jobs["wait"].mean() == row["wait_mean"]
        alone = tmp_path / f"alone {row['policy']}"
        run("simulate", small, "--policy", row["policy"], "--out", alone)
        assert (alone / "jobs.parquet").read_bytes() == (folder / "jobs.parquet").read_bytes()


def test_runs_that_are_called_alike(run, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    words = ("--cluster", "2 x X5670", "--placements", "first-fit,best-fit")
    told = run("compare", small, "--policies", "fcfs,easy,fcfs", *words, "--out", out)
    assert told.code == 0, told.err
    kept = json.loads((out / "compare.json").read_text())
    assert kept["provenance"]["options"]["cluster"] == "2 x X5670"
    folders = kept["folders"]
    assert len(set(folders)) == 6
    assert folders[:2] == ["fcfs-first-fit", "easy-first-fit"]
    assert all((out / name / "summary.json").is_file() for name in folders)
    assert told.out.splitlines()[-1] == f"each run in a folder of {out}, and compare.json"


def test_a_page_of_a_comparison(run, small: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "runs", tmp_path / "page.html"
    assert run("compare", small, "--policies", "fcfs,easy", "--out", out).code == 0
    told = run("report", out, "-o", page)
    assert told.code == 0, told.err
    text = page.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>")
    assert "fcfs" in text
    assert "easy" in text


def test_where_nothing_can_be_kept(refused, small: Path) -> None:
    assert "is a file" in refused("compare", small, "--out", small)
    assert "is a file" in refused("compare", small, "--out", small / "runs")


SCENARIO = '[workload]\nlog = "log.swf"\n[policy]\nname = "{policy}"\n[cluster]\nprocs = {procs}\n'


def test_values_of_a_key_name_the_rows(run, small: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "runs", tmp_path / "table.csv"
    words = ("--set", "cluster.procs=4,8", "--policies", "fcfs,easy")
    told = run("compare", small, *words, "--out", out, "--csv", table, "--json")
    assert told.code == 0, told.err
    rows = json.loads(told.out)["rows"]
    assert [row["run"] for row in rows] == [
        *("cluster.procs=4, fcfs", "cluster.procs=4, easy"),
        *("cluster.procs=8, fcfs", "cluster.procs=8, easy"),
    ]
    assert [row["cluster.procs"] for row in rows] == [4, 4, 8, 8]
    assert pd.read_csv(table)["run"].tolist() == [row["run"] for row in rows]
    folders = json.loads((out / "compare.json").read_text())["folders"]
    for row, folder in zip(rows, folders, strict=True):
        alone = json.loads(
            run(
                *("simulate", small, "--procs", row["cluster.procs"], "--policy", row["policy"]),
                "--json",
            ).out
        )
        assert alone["wait"]["mean"] == row["wait_mean"]
        kept = json.loads((out / folder / "summary.json").read_text())
        assert kept["procs"] == row["cluster.procs"]
    told = run("compare", small, "--set", "cluster.procs=4,8")
    assert "change against cluster.procs=4" in told.out


def test_scenarios_are_compared(run, small: Path, tmp_path: Path) -> None:
    for name, policy, procs in (("today", "fcfs", 4), ("larger", "easy", 8)):
        text = SCENARIO.format(policy=policy, procs=procs)
        (tmp_path / f"{name}.toml").write_text(text)
    files = (tmp_path / "today.toml", tmp_path / "larger.toml")
    rows = json.loads(run("compare", *files, "--json").out)["rows"]
    assert [(row["run"], row["policy"]) for row in rows] == [("today", "fcfs"), ("larger", "easy")]
    for row, file in zip(rows, files, strict=True):
        assert json.loads(run("run", file, "--json").out)["wait"]["mean"] == row["wait_mean"]
    longer = json.loads(run("compare", *files, "--estimates", "2", "--json").out)["rows"]
    assert [row["run"] for row in longer] == ["today", "larger"]


def test_what_cannot_be_compared(refused, small: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('[workload]\nlog = "log.swf"\n[policy]\nname = "esay"\n')
    assert "bad.toml, line 4, key 'policy.name': unknown" in refused(
        "compare", tmp_path / "bad.toml"
    )
    assert "give one log, or scenarios" in refused("compare", small, small)
    assert "cluster.prcs: is not known; did you mean" in refused(
        "compare", small, "--set", "cluster.prcs=4"
    )
    assert "--policies: unknown policy 'esay'" in refused("compare", small, "--policies", "esay")
    assert "--placements" in refused("compare", small, "--placements", "bestfit")
