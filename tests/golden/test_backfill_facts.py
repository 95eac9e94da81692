"""Single passes of Slurm's backfill, facts from its public tests, under the disciplines.

All jobs wait at one instant on an empty machine and run for exactly their limits, so that the
starts of a run are the planned ones of the pass.

Nodes are not shared: on shared ones of 4 cores all jobs of "simple" would start at once, and none
is said to wait for cores. How deep a pass looks (case "depth", bf_max_job_test) is a setting of
Slurm's that disciplines do not have: they look at the whole queue.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import sojourn

NODES = """\
[[node]]
name = "n[1-32]"
cores = 4

[[partition]]
name = "all"
nodes = "all"
whole_node = {whole}

[[pool]]
name = "lic1"
count = 1

[[pool]]
name = "lic2"
count = 6
"""
BACKFILLS = ("easy", "easy:4", "easy:inf", "conservative")


@sojourn.score
def by_priority(jobs, j, now, theta):
    return -float(jobs.queue[j])


def _policy(name: str) -> sojourn.Policy:
    backfill, _, depth = name.partition(":")
    if not depth:
        return sojourn.Policy(order=by_priority, backfill=backfill)
    return sojourn.Policy(order=by_priority, backfill=backfill, reservations=float(depth))


@pytest.fixture(scope="module")
def cases(data_dir) -> dict[str, Any]:
    text = (data_dir / "slurm-facts" / "backfill.json").read_text(encoding="utf-8")
    return {case["name"]: case for case in json.loads(text)["cases"]}


@pytest.fixture
def starts(tmp_path):
    """Starts of jobs (min), in the order of the case; they come in another one."""

    def run(rows, policy, *, whole=True):
        path = tmp_path / "nodes.toml"
        path.write_text(NODES.format(whole=str(whole).lower()))
        # Only the priorities say who is first; of equal ones the first in the file.
        order = sorted(range(len(rows)), key=lambda k: (rows[k][0], k))
        priority, nodes, tasks, limit, licence = zip(*(rows[k] for k in order), strict=True)
        jobs = sojourn.Jobs(
            {
                "job": np.array(order) + 1,
                "submit": np.zeros(len(rows)),
                "runtime": 60.0 * np.array(limit),
                "estimate": 60.0 * np.array(limit),
                "procs": tasks,
                "nodes": nodes,
                "queue": priority,
                "licences": [name or "" for name in licence],
            }
        )
        table = sojourn.simulate(jobs, sojourn.read_cluster(path), policy, clean=()).jobs
        assert set(table["reason"]) == {""}
        return table.sort_values("job")["start"].to_numpy() / 60

    return run


@pytest.mark.parametrize("name", BACKFILLS)
@pytest.mark.parametrize("case", ["simple", "licences"])
def test_who_runs_and_who_waits(cases, starts, case, name):
    found = starts(cases[case]["jobs"], _policy(name))
    assert (np.flatnonzero(found == 0) + 1).tolist() == cases[case]["running"]
    assert (np.flatnonzero(found > 0) + 1).tolist() == cases[case]["waiting"]


@pytest.mark.parametrize(
    ("case", "expected"), [("simple", [0, 10, 20]), ("licences", [0, 10, 20, 20])]
)
def test_without_backfill_nobody_overtakes(cases, starts, case, expected):
    """Plain order cannot meet the facts: they are about jobs that overtake."""
    assert starts(cases[case]["jobs"], _policy("none")).tolist() == expected


def test_on_shared_nodes_the_jobs_of_simple_have_room_for_all(cases, starts):
    found = starts(cases["simple"]["jobs"], _policy("conservative"), whole=False)
    assert found.tolist() == [0, 0, 0]


def test_one_licence_is_held_by_one_job_at_a_time(cases, starts):
    found = starts(cases["licences"]["jobs"], _policy("conservative"))
    assert found.tolist() == [0, 10, 20, 0]
    more = [[*row[:4], row[4] and "lic2:3"] for row in cases["licences"]["jobs"]]
    assert starts(more, _policy("conservative")).tolist() == [0, 0, 10, 0]


@pytest.mark.parametrize("name", ["none", *BACKFILLS])
def test_no_starvation(cases, starts, name):
    rows = cases["no starvation"]["jobs"]
    found = starts(rows, _policy(name))
    later = [
        (a + 1, b + 1)
        for a, first in enumerate(rows)
        for b, second in enumerate(rows)
        if first[0] > second[0] and first[1] <= second[1] and found[a] > found[b]
    ]
    assert later == []
    if name != "none":
        # The two small ones fit beside the first job, and delay nobody.
        assert found.tolist() == [0, 10, 25, 39, 52, 0, 0, 64]
