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
    assert "not used: mics, memory_kib, used, watts" in said
