"""The oracle against published schedules."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from . import kiefer_wolfowitz
from .controls import constant, workload
from .disciplines import ordered
from .model import Job
from .orders import fcfs
from .recursion import simulate

SCHEDULERS = {
    "fcfs": ordered(fcfs),
    "easy": ordered(fcfs, "easy"),
    "conservative": ordered(fcfs, "conservative"),
}
CASES = (
    [(f"basic_input.{i}", name) for i in range(15) for name in SCHEDULERS]
    + [(f"bf_input.{i}", name) for i in range(5) for name in ("easy", "conservative")]
    + [("cons_bf_input.0", "conservative")]
    + [("easy_bf_input.0", "easy"), ("easy_bf_input.1", "easy")]
    + [(f"fcfs_input.{i}", "fcfs") for i in range(4)]
)


def read_small(path: Path) -> tuple[list[Job], list[int]]:
    """Jobs of a hand-made case and the finish times that their ids state."""
    jobs, ends = [], []
    for line in path.read_text().splitlines():
        fields = line.split("#")[0].split()
        if fields:
            submit, estimate, procs, runtime = (int(fields[i]) for i in (0, 2, 3, 4))
            jobs.append(Job(submit, runtime, procs, estimate))
            ends.append(int(fields[1].split(".")[0]))
    return jobs, ends


@pytest.mark.parametrize(("name", "scheduler"), CASES)
def test_small_cases(data_dir, name, scheduler):
    jobs, ends = read_small(Path(data_dir) / "expected" / "small" / name)
    assert jobs
    assert simulate(jobs, 100, SCHEDULERS[scheduler], constant(1)).end == ends


def test_every_small_case_is_listed(data_dir):
    folder = Path(data_dir) / "expected" / "small"
    assert {path.name for path in folder.iterdir()} == {name for name, _ in CASES}


def test_kiefer_wolfowitz_of_hpcwld(data_dir):
    folder = Path(data_dir) / "hpcwld"
    with open(folder / "HPC_KRC.csv") as file:
        log = list(csv.DictReader(file))
    with gzip.open(folder / "wld_KRC_used_c80_rf-0.7.csv.gz", "rt") as file:
        expected = [float(row["delay"]) for row in csv.DictReader(file)]
    delays = kiefer_wolfowitz.delays(
        [int(row["interarrival"]) for row in log],
        [int(row["service"]) for row in log],
        [int(row["cores_used"]) for row in log],
        80,
    )
    assert delays == expected


def test_workload_control_of_hpcwld(data_dir):
    """c = 10, rates 0.9 and 1.5, hysteresis at arrivals and departures only."""
    folder = Path(data_dir) / "hpcwld"
    with open(folder / "hpc_in_c10_arr_and_dep.csv") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "hpc_ev_c10_arr_and_dep.csv") as file:
        events = list(csv.DictReader(file))
    with open(folder / "hpc_start_c10_arr_and_dep.csv") as file:
        starts = [row["start"].strip() for row in csv.DictReader(file)]
    jobs = [Job(float(r["t"]), float(r["S"]), int(r["N"]), float(r["S"])) for r in rows]
    outcome = simulate(jobs, 10, ordered(fcfs), workload([0.9, 1.5], [3], [6], timer=False))

    assert starts[0] == "NA"
    assert outcome.start[1:] == pytest.approx([float(x) for x in starts[1:]], rel=1e-9)
    trajectory = outcome.trajectory
    assert len(trajectory) == len(events)
    assert [float(row.time) for row in trajectory] == pytest.approx(
        [float(event["time"]) for event in events], rel=1e-9
    )
    assert [float(row.workload) for row in trajectory] == pytest.approx(
        [float(event["W"]) for event in events], abs=1e-9
    )
    assert [row.running for row in trajectory] == [int(event["nserved"]) for event in events]
    assert [float(row.rate) for row in trajectory] == [
        (0.9, 1.5)[int(event["speed"]) - 1] for event in events
    ]
