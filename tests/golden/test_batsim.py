"""Batsim's workload `medium_late` (801 jobs, 32 hosts) and its own EASY and conservative runs."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import sojourn

HOSTS = 32
PRINTED = 2e-6
"""Batsim prints seconds to six digits."""


@pytest.fixture(scope="module")
def medium_late(data_dir):
    workload = json.loads((data_dir / "batsim" / "medium_late.json").read_text())
    jobs = workload["jobs"]
    assert workload["nb_res"] == HOSTS
    return sojourn.Jobs(
        {
            "job": [job["id"] for job in jobs],
            "submit": [job["subtime"] for job in jobs],
            "runtime": [workload["profiles"][job["profile"]]["delay"] for job in jobs],
            "procs": [job["res"] for job in jobs],
            "estimate": [job["walltime"] for job in jobs],
        }
    )


@pytest.mark.parametrize(("policy", "equal"), [("easy", 725), ("conservative", 735)])
def test_starts(data_dir, medium_late, policy, equal):
    """The rest differ because Batsim reserves particular machines, not a number of them."""
    with open(data_dir / "batsim" / policy / "out_jobs.csv") as file:
        theirs = {int(r["job_id"]): float(r["starting_time"]) for r in csv.DictReader(file)}
    result = sojourn.simulate(medium_late, HOSTS, policy)
    ours = result.jobs.set_index("job")["start"]
    assert len(ours) == len(theirs) == 801
    same = np.isclose(ours.to_numpy(), [theirs[j] for j in ours.index], rtol=0, atol=PRINTED)
    assert np.count_nonzero(same) == equal


def test_counting_processors_never_does_worse_on_this_workload(data_dir, medium_late):
    """Freedom of place shortens waits: 8.67 s against 9.52 s; both end at 16088.51 s."""
    with open(data_dir / "batsim" / "easy" / "out_schedule.csv") as file:
        theirs = next(csv.DictReader(file))
    summary = sojourn.simulate(medium_late, HOSTS, "easy").summary
    assert float(theirs["mean_waiting_time"]) == pytest.approx(9.516326, abs=1e-6)
    assert summary["wait"]["mean"] == pytest.approx(8.672887, abs=1e-6)
    assert summary["makespan"] == pytest.approx(float(theirs["makespan"]), abs=PRINTED)
    assert summary["killed"] == 0
