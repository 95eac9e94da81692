"""A stream through a real Slurm, in real time and in model time."""

from __future__ import annotations

import csv
import json
import re
import statistics

import numpy as np
import pytest
import typer

from sojourn.adequacy.virtual import COLUMNS, Job, Scheduling, run_stream
from sojourn.cli._options import add_verb
from sojourn.cli.virtual import virtual
from sojourn.papers import baranov2019, find

NODES = 16
TUNED = Scheduling(
    {
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1,"
        "bf_resolution=1,bf_job_part_count_reserve=1",
    }
)


def _stream(jobs, span, longest, seed):
    """Small jobs, so few that hardly any waits for another."""
    rng = np.random.default_rng(seed)
    submits = np.sort(rng.integers(0, span, jobs))
    return [
        Job(k, float(submit), int(nodes), float(run), 1)
        for k, (submit, nodes, run) in enumerate(
            zip(submits, rng.choice([1, 2, 4], jobs), rng.integers(2, longest, jobs), strict=True),
            1,
        )
    ]


def _nodes(names):
    """Numbers of the nodes in a list such as n[1-3,7]."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", names):
        found.update(range(int(first), int(last or first) + 1))
    return found


def _check_rows(rows, jobs, *, lag=1.5):
    """Whatever the scheduler does, these hold."""
    assert [row["id"] for row in rows] == [job.id for job in jobs]
    for row, job in zip(rows, jobs, strict=True):
        assert tuple(row) == COLUMNS
        assert row["state"] == "COMPLETED"
        assert row["started_by"] in ("main", "backfill")
        assert row["nodes"] == job.nodes == len(_nodes(row["node_names"]))
        assert -0.001 <= row["submit"] - job.submit < lag
        assert row["submit"] == row["eligible"] <= row["start"]
        # Launch and completion take their time on top of the job's own.
        assert job.run <= row["end"] - row["start"] < job.run + lag
    for one in rows:
        for other in rows:
            if one is not other and one["start"] < other["end"] and other["start"] < one["end"]:
                assert not _nodes(one["node_names"]) & _nodes(other["node_names"])


@pytest.fixture(scope="module")
def real(need):
    """40 jobs in a minute of real time."""
    need("real")
    jobs = _stream(40, 40, 10, 4)
    return jobs, run_stream(jobs, NODES, conf=TUNED)


def test_real_time(real):
    jobs, run = real
    _check_rows(run.rows, jobs)
    assert run.span >= max(row["end"] for row in run.rows)
    assert run.span == pytest.approx(run.seconds, abs=15)


def test_model_time_agrees_with_real_time(real, need, place):
    need("model")
    jobs, real_run = real
    run = run_stream(jobs, NODES, mode="model", conf=TUNED)
    _check_rows(run.rows, jobs)
    differences = [
        (mine["end"] - mine["submit"]) - (theirs["end"] - theirs["submit"])
        for mine, theirs in zip(run.rows, real_run.rows, strict=True)
    ]
    # The loops go round once a second.
    assert abs(statistics.median(differences)) < 1.5


@pytest.mark.parametrize("scheduler", ["builtin", "backfill"])
def test_model_time_passes_hours_with_the_defaults_of_slurm(need, place, scheduler):
    need("model")
    conf = Scheduling({"SchedulerType": f"sched/{scheduler}"})
    jobs = [
        Job(1, 0.0, 3, 3600.0, 90),
        Job(2, 10.0, 4, 1800.0, 60),  # waits for 1
        Job(3, 20.0, 1, 600.0, 20),  # may be backfilled
        Job(4, 20_000.0, 4, 7.0, 1),
        Job(5, 20_001.0, 1, 500.0, 1),  # killed at its limit
    ]
    run = run_stream(jobs, 4, mode="model", conf=conf)
    rows = {row["id"]: row for row in run.rows}
    assert [rows[k]["state"] for k in range(1, 6)] == [*["COMPLETED"] * 4, "TIMEOUT"]
    assert rows[1]["start"] < 10
    assert 0 <= rows[2]["start"] - rows[1]["end"] < 70
    if scheduler == "backfill":
        assert rows[3]["started_by"] == "backfill"
        assert rows[3]["start"] < 120
    else:
        assert rows[3]["start"] > rows[2]["start"]
    assert rows[4]["start"] >= 20_000
    # Slurm looks every half minute whether a limit has passed, in whole seconds.
    assert 59 < rows[5]["end"] - rows[5]["start"] < 100
    assert run.span > 20_000
    assert run.speed > 3


def test_munge(need, place):
    need("model", "munge")
    jobs = [Job(1, 0.0, 2, 30.0, 1)]
    run = run_stream(jobs, 2, mode="model", conf=TUNED, auth="munge")
    _check_rows(run.rows, jobs)
    assert "AuthType=auth/munge" in run.conf


def test_the_command(need, place, tmp_path, capsys):
    need("model")
    app = typer.Typer()
    add_verb(app, virtual)
    stream = tmp_path / "stream.csv"
    stream.write_text("id,submit,nodes,run,limit_min\n1,0,1,100,5\n2,5,2,200,5\n")
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=c\nSchedulerParameters=sched_interval=2,bf_interval=2\n")
    out = tmp_path / "out"
    line = ["virtual", "run", str(stream), "--nodes", "2", "--mode", "model", "--json"]
    app([*line, "--conf", str(conf), "--repeat", "2", "--out", str(out)], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert told["left_aside"] == ["ClusterName"]
    assert [each["jobs"] for each in told["repetitions"]] == [2, 2]
    for each in told["repetitions"]:
        assert sorted(each["files"]) == sorted(
            path.name for path in out.glob(f"run-{each['repetition']}.*")
        )
    with open(out / "run-2.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["node_names"] for row in rows] == ["n1", "n[1-2]"]
    assert [(row["run"], row["limit_min"]) for row in rows] == [("100.0", "5"), ("200.0", "5")]
    assert float(rows[1]["start"]) > float(rows[0]["end"])
    assert (
        "SchedulerParameters=sched_interval=2,bf_interval=2"
        in (out / "run-1.slurm.conf").read_text()
    )


def test_two_repetitions_beside_the_paper(need, place, monkeypatch):
    need("model")
    monkeypatch.setattr(baranov2019, "NODES", 4)
    outcome = find("baranov2019-table1")(place, jobs=12)
    assert [row["jobs"] for row in outcome.rows] == [1, 3, 6, 9, 12]
    assert all(row["P"] >= 0 and row["P_printed"] == "" for row in outcome.rows)
    assert [row["different"] for row in outcome.rows] == sorted(
        row["different"] for row in outcome.rows
    )
    assert "two repetitions of 12 jobs" in outcome.says
    assert len(outcome.table.splitlines()) == 6
