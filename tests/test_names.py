"""Users, partitions and so on go by their names, from the log to the tables of a run."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn.jobs.classes import classed
from sojourn.run.folder import write_run

HEADER = [
    "MaxProcs: 4",
    "User: 2 anna",
    "Account: 1 physics",
    "Partition: 1 gpu, big",
    "Partition: 2 cpu",
    "QOS: 1 high",
]


@pytest.fixture
def jobs():
    return sojourn.Jobs(
        {
            "submit": [0, 5, 9],
            "runtime": [10, 10, 10],
            "procs": [1, 3, 4],
            "user": [7, 2, -1],
            "account": [1, 1, 1],
            "partition": [2, 1, 1],
            "qos": [1, -1, 1],
            "queue": [-1, -1, -1],
        },
        header=HEADER,
    )


def test_places_of_names_are_those_of_the_labels(jobs):
    codes, names = jobs.coded("user")
    assert (codes.tolist(), names) == ([1, 0, -1], ["anna", "7"])
    assert jobs.labels("user").tolist() == ["7", "anna", ""]
    assert jobs[:0].coded("user")[1] == []
    assert jobs.coded("group")[1] == []


def test_numbers_far_apart_and_a_name_of_two_numbers():
    jobs = sojourn.Jobs(
        {"submit": [0, 0, 0], "runtime": [1, 1, 1], "procs": [1, 1, 1], "user": [10**15, 3, 4]},
        header=["User: 3 bo", "User: 4 bo"],
    )
    codes, names = jobs.coded("user")
    assert (codes.tolist(), names) == ([1, 0, 0], ["bo", str(10**15)])


def test_job_table_has_the_managers_names_of_jobs(jobs, tmp_path):
    named = jobs.replace(label=np.array(["12_1", "12_[2,3]", "13"]))
    result = sojourn.simulate(named, 4, "easy")
    assert result.jobs["label"].tolist() == ["12_1", "12_[2,3]", "13"]
    write_run(result, tmp_path / "run", format="csv", trajectory=False)
    with open(tmp_path / "run" / "jobs.csv", newline="", encoding="utf-8") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["12_1", "12_[2,3]", "13"]
    assert "label" not in sojourn.simulate(jobs, 4, "easy").jobs


def test_job_table_has_names(jobs):
    table = sojourn.simulate(jobs, 4, "easy").jobs
    assert [n for n in table.columns if n in ("user", "account", "partition", "queue", "qos")] == [
        "user", "account", "partition", "qos",
    ]  # fmt: skip
    assert isinstance(table["user"].dtype, pd.CategoricalDtype)
    assert table["user"].tolist()[:2] == ["7", "anna"]
    assert table["user"].isna().tolist() == [False, False, True]
    assert table["partition"].tolist() == ["cpu", "gpu, big", "gpu, big"]


@pytest.mark.parametrize("what", ["csv", "parquet"])
def test_files_of_a_run_have_names(jobs, tmp_path, what):
    result = sojourn.simulate(jobs, 4, "easy")
    write_run(result, tmp_path / "run", format=what, trajectory=False)
    path = tmp_path / "run" / f"jobs.{what}"
    if what == "csv":
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pd.read_parquet(path).astype(object).to_dict("records")
    assert [row["partition"] for row in rows] == ["cpu", "gpu, big", "gpu, big"]
    assert [row["user"] for row in rows][:2] == ["7", "anna"]
    assert rows[2]["user"] == "" if what == "csv" else pd.isna(rows[2]["user"])
    assert "queue" not in rows[0]


def test_classes_have_names(jobs):
    result = sojourn.simulate(jobs, 4, "easy")
    assert result.by("user").index.tolist() == ["anna", "7", "(unknown)"]
    assert result.by("partition")["jobs"].to_dict() == {"gpu, big": 2, "cpu": 1}
    assert result.by("account")["jobs"].to_dict() == {"physics": 3}
    assert result.by("qos").index.tolist() == ["high", "(unknown)"]
    assert result.by("width").index.tolist() == ["1", "3-4"]


def test_a_class_may_be_called_unknown():
    jobs = sojourn.Jobs(
        {"submit": [0, 0], "runtime": [1, 1], "procs": [1, 1], "user": [1, -1]},
        header=["User: 1 (unknown)"],
    )
    codes, names = classed(jobs, "user")
    assert (codes.tolist(), names) == ([0, 0], ["(unknown)"])


def test_a_run_of_the_command_line_keeps_accounts(tmp_path, jobs):
    from sojourn.cli import main

    sojourn.write_log(jobs.replace(account=np.array([1, 1, 1])), tmp_path / "log.parquet")
    out = tmp_path / "run"
    assert main(["simulate", str(tmp_path / "log.parquet"), "--out", str(out), "--json"]) == 0
    table = pd.read_parquet(out / "jobs.parquet")
    assert table["account"].tolist() == ["physics"] * 3
    assert table["qos"].tolist()[0] == "high"
