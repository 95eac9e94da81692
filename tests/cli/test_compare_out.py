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
