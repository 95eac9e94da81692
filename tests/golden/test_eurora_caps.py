"""Eurora under its power caps, with the watts of its jobs: never exceeded, and what that costs."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import sojourn

ROOT = Path(__file__).resolve().parents[2]
LOGS = ("20140331_093036", "20140401_000244", "20140403_020506", "20140403_115948")
POLICIES = ("fcfs", "easy", "conservative")
LONG = {("20140403_020506", "conservative"), ("20140403_115948", "conservative")}
RUNS = [
    pytest.param(*run, marks=pytest.mark.nightly if run in LONG else ())
    for run in itertools.product(LOGS, POLICIES)
]


@pytest.fixture(scope="module")
def eurora(data_dir) -> Path:
    return data_dir / "eurora"


@pytest.fixture(scope="module")
def cluster(eurora) -> sojourn.Cluster:
    return sojourn.read_cluster(eurora / "nodes.csv")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _watts(path: Path) -> dict[int, float]:
    """Watts of each job by its number, from the file alone; who has none draws the mean by core."""
    rows = _rows(path)
    known = [row for row in rows if row["watts"]]
    cores = sum(int(row["cores"]) for row in known)
    mean = sum(float(row["watts"]) for row in known) / cores
    return {int(r["job"]): float(r["watts"] or mean * int(r["cores"])) for r in rows}


def _most_over(start, end, watts, caps) -> float:
    """The most W by which the sum of what runs exceeds the cap, looked at from start to start."""
    worst = -np.inf
    for instant in np.unique([*start, *(time for time, _ in caps)]):
        here = (start <= instant) & (instant < end)
        allowed = [cap for time, cap in caps if time <= instant]
        if allowed:
            worst = max(worst, watts[here].sum() - allowed[-1])
    return worst


@pytest.mark.parametrize(("log", "policy"), RUNS)
def test_the_caps_are_never_exceeded(eurora, cluster, log, policy):
    jobs = sojourn.read_log(eurora / f"{log}.csv")
    path = eurora / "power_caps_100.csv"
    result = sojourn.simulate(jobs, cluster, policy, cap=path)
    caps = [(float(row["time_s"]), float(row["cap_w"])) for row in _rows(path)]
    table = result.jobs[np.isfinite(result.jobs["start"])]
    by_number = _watts(eurora / f"{log}.csv")
    watts = np.array([by_number[number] for number in table["job"]])
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    # Of a job's tasks each is rounded up to a milliwatt, so that it never draws more.
    assert _most_over(start, end, watts, caps) <= 1e-6
    assert result.summary["caps"]["cluster"]["exceeded_seconds"] == 0
    plain = sojourn.simulate(jobs, cluster, policy)
    everybody = plain.jobs[plain.jobs["job"].isin(table["job"])]
    free = np.array([by_number[number] for number in everybody["job"]])
    times = (everybody[name].to_numpy() for name in ("start", "end"))
    assert _most_over(*times, free, caps) > 1000, "without the cap nothing is kept"
    means = [run.summary["wait"]["mean"] for run in (plain, result)]
    peak = result.summary["caps"]["cluster"]["peak_watts"]
    row = f"| {log} | {policy} | {means[0]:,.0f} | {means[1]:,.0f} | {peak:,.0f} |"
    page = (ROOT / "docs" / "background" / "eurora.md").read_text(encoding="utf-8")
    assert row in page, f"not on the page: {row}"


@pytest.mark.parametrize("log", LOGS)
def test_the_relaxed_cap_changes_nothing(eurora, cluster, log):
    jobs = sojourn.read_log(eurora / f"{log}.csv")
    for cap in (eurora / "power_caps_relaxed.csv", 20_000):
        capped = sojourn.simulate(jobs, cluster, "easy", cap=cap)
        plain = sojourn.simulate(jobs, cluster, "easy")
        np.testing.assert_array_equal(capped.jobs["start"], plain.jobs["start"])


def test_the_page_says_whose_watts_are_assumed(eurora):
    page = (ROOT / "docs" / "background" / "eurora.md").read_text(encoding="utf-8")
    counts = [sum(not row["watts"] for row in _rows(eurora / f"{log}.csv")) for log in LOGS]
    words = "{}, {}, {} and {} of the jobs".format(*counts)
    assert words in re.sub(r"\s+", " ", page)
