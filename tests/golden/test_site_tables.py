"""Tables that sites publish are read by their own column names."""

from __future__ import annotations

import csv

import numpy as np

import sojourn


def test_a_log_of_eurora_is_read_without_an_option(data_dir):
    path = data_dir / "eurora" / "20140331_093036.csv"
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    jobs = sojourn.read_log(path)

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name]) for row in rows])

    first = column("submit").min()
    assert (jobs.submit - jobs.submit.min() == column("submit") - first).all()
    assert (jobs.wait == column("start") - column("submit")).all()
    assert (jobs.runtime == column("end") - column("start")).all()
    assert (jobs.estimate == column("limit")).all()
    assert (jobs.procs == column("cores")).all()
    assert (jobs.gpus == column("gpus")).all()
    assert jobs.labels("queue").tolist() == [row["queue"] for row in rows]
    said = next(line for line in jobs.report.lines() if "columns" in line)
    assert "memory from memory_kib" in said
    assert said.endswith("as they are: mics, used, watts")
    assert jobs.further == ("mics", "used", "watts")
    assert (jobs["nodes"] == column("nodes")).all()
    assert (jobs["mics"] == column("mics")).all()
    assert np.allclose(jobs.memory * jobs.procs, column("memory_kib"), rtol=1e-12)
    assert (jobs["memory_per_node"] * jobs.nodes == column("memory_kib")).all()
    assert jobs.labels("used").tolist() == [row["used"] for row in rows]
    assert jobs["watts"].tolist() == [float(row["watts"] or -1) for row in rows]


def test_queues_of_eurora_may_be_its_partitions(data_dir):
    path = data_dir / "eurora" / "20140401_000244.csv"
    jobs = sojourn.read_csv(path, {"partition": "queue"})
    with open(path, newline="") as file:
        queues = [row["queue"] for row in csv.DictReader(file)]
    assert len(set(queues)) == 4
    assert jobs.labels("partition").tolist() == queues
    assert jobs.labels("partition").tolist() == jobs.labels("queue").tolist()
    assert jobs.further == ("mics", "used", "watts")
