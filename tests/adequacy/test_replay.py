"""A stream or log through the model of its manager."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from sojourn.adequacy import CALIBRATED, Calibration, replay
from sojourn.adequacy.overheads import Overhead, Overheads
from sojourn.adequacy.replaying import COLUMNS, agreed, typical
from sojourn.errors import LogError, OptionError
from sojourn.policy.slurm import plain_conf, read_slurm_conf

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=bf_max_time=60
NodeName=n[1-4]
PartitionName=p Nodes=ALL Default=YES
"""
# The second waits for the first, the third goes before it.
STREAM = "id,submit,nodes,run,limit_min\n7,0,3,100,2\n8,1,4,30,1\n9,2,1,20,1\n"
SACCT = """\
JobID|User|Account|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|NNodes
1|a|x|p|2024-01-01T00:00:00|2024-01-01T00:00:01|2024-01-01T00:01:41|COMPLETED|00:02:00|3|3
2|a|x|p|2024-01-01T00:00:05|2024-01-01T00:01:42|2024-01-01T00:02:12|COMPLETED|00:01:00|4|4
3|a|x|p|2024-01-01T00:00:06|Unknown|2024-01-01T00:00:50|CANCELLED|00:01:00|4|4
4|a|x|p|2024-01-01T00:00:07|2024-01-01T00:00:30|2024-01-01T00:00:40|COMPLETED|00:01:00|9|9
"""


@pytest.fixture
def files(tmp_path):
    paths = {}
    for name, text in (("slurm.conf", CONF), ("s.csv", STREAM), ("sacct.txt", SACCT)):
        paths[name] = tmp_path / name
        paths[name].write_text(text)
    return paths


ONE_NODE = "SelectType=select/cons_tres\nNodeName=n1 CPUs=32\nPartitionName=cpu Nodes=ALL\n"
UNSTARTED = """\
JobID|User|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|NNodes
1|a|cpu|2025-03-04T10:00:00|None|{cancelled}|CANCELLED by 7|01:00:00|32|1
2|a|cpu|2025-03-04T10:01:00|2025-03-04T10:01:05|2025-03-04T11:00:00|COMPLETED|01:00:00|32|1
3|a|cpu|2025-03-04T10:02:00|Unknown|Unknown|PENDING|00:30:00|32|1
"""


@pytest.mark.parametrize(("cancelled", "end"), [("12:00:00", 3600), ("10:20:00", 1200)])
@pytest.mark.parametrize("enforced", ["", "UNLIMITED"])
def test_jobs_that_never_started_run_to_their_limit_or_cancellation(
    tmp_path, cancelled, end, enforced
):
    (tmp_path / "slurm.conf").write_text(ONE_NODE)
    log = tmp_path / "log"
    log.write_text(UNSTARTED.format(cancelled=f"2025-03-04T{cancelled}"))
    changes = {"OverTimeLimit": enforced} if enforced else None
    done = replay(log, tmp_path / "slurm.conf", members=1, changes=changes)
    assert done.end[0] == pytest.approx(end, abs=2.0)
    assert [row["state"] for row in done.rows()] == [
        "COMPLETED" if end == 3600 else "CANCELLED", "COMPLETED", "COMPLETED",
    ]  # fmt: skip
    # The pending one waits for the second, and then has half an hour.
    assert done.end[2] - done.start[2] == pytest.approx(1800.0)
    assert done.start[2] > done.end[1]
    assert done.adequacy is not None
    assert done.adequacy.n == 1
    said = "\n".join(done.requests.said)
    assert "1 job: cancelled before they started" in said
    assert "1 job: not ended in the log" in said


def test_progress_is_reported_within_a_run(files, monkeypatch):
    monkeypatch.setattr("sojourn.policy.slurm.controller._FIRST_STEPS", 40)
    monkeypatch.setattr("sojourn.engine.pacing._BREATH", 1e-4)
    # The last job runs for months, so that there is something to report.
    files["s.csv"].write_text(f"{STREAM}10,3,1,9000000,200000\n")
    told = []
    replay(files["s.csv"], files["slurm.conf"], members=2, progress=lambda *now: told.append(now))
    assert told == sorted(told)
    assert told[-1] == (8, 8)
    # Within a run: before its last job has left.
    assert {(3, 8), (7, 8)} <= set(told)


def test_times_are_means_over_the_runs_that_agree():
    runs = [np.array(run) for run in ([10, 20, np.nan, 1], [11, 50, 3, np.nan], [12, 20.5, 3, 2.4])]
    assert agreed(runs, 0) == pytest.approx([10.5, 20.25, np.nan, 1.7], nan_ok=True)
    assert agreed(runs, 1) == pytest.approx([11, 50, 3, np.nan], nan_ok=True)


def test_means_over_all_beginnings_are_told(files):
    one, many = (replay(files["s.csv"], files["slurm.conf"], members=n) for n in (1, 16))
    assert one.start.tolist() == one.scheduled.start.tolist()
    assert many.start.tolist() != many.scheduled.start.tolist()
    assert np.abs(many.start - many.scheduled.start).max() <= 1.5
    assert [row["start"] for row in many.rows()] == [round(each, 3) for each in many.start.tolist()]
    assert (many.stream.start - many.requests.origin).tolist() == pytest.approx(many.start.tolist())


def test_a_stream(files):
    done = replay(files["s.csv"], files["slurm.conf"])
    assert done.requests.label.tolist() == ["7", "8", "9"]
    assert done.members == 16
    assert (done.real, done.adequacy) == (None, None)
    assert math.isnan(done.near)
    # Submitted at the controller's second 0.202, for its round at 1.06 (eleven of 1.0018 s from
    # -9.96); twenty seconds from zero the backfill loop wakes.
    start = done.scheduled.start
    assert start[0] == pytest.approx(0.89, abs=0.06)
    assert start[2] == pytest.approx(20.06 - 0.2, abs=0.06)
    assert 101 < start[1] < 104.5
    assert done.itself < 1.0
    rows = done.rows()
    assert all(tuple(row) == COLUMNS for row in rows)
    assert [row["state"] for row in rows] == ["COMPLETED"] * 3
    assert [row["started_by"] for row in rows] == ["main", "main", "backfill"]
    assert [row["node_names"] for row in rows] == ["n[1-3]", "n[1-4]", "n4"]
    assert done.not_modelled == (
        "SchedulerParameters bf_max_time: the backfill loop always reaches the end of its queue",
    )


def test_a_stream_has_overheads_and_a_log_has_them_in_its_times(files):
    done = replay(files["s.csv"], files["slurm.conf"], members=1)
    took = done.scheduled.end - done.scheduled.start
    (launch,) = CALIBRATED.overheads.launch.parameters
    assert took == pytest.approx([100.0 + launch, 30.0 + launch, 20.0 + launch])
    told = Overheads(launch=Overhead("constant", (1.0,)), completion=Overhead("constant", (0.5,)))
    slow = Calibration(CALIBRATED.pace, told)
    done = replay(files["s.csv"], files["slurm.conf"], members=1, calibration=slow)
    assert done.scheduled.end - done.scheduled.start == pytest.approx([101.5, 31.5, 21.5])
    log = replay(files["sacct.txt"], files["slurm.conf"], members=1, calibration=slow)
    took = log.scheduled.end - log.scheduled.start
    assert took[:2] == pytest.approx([100.0, 30.0])


def test_random_overheads_are_those_of_the_seed(files):
    told = Overheads(launch=Overhead("exponential", (5.0,)))
    calibration = Calibration(CALIBRATED.pace, told)

    def ends(seed):
        done = replay(
            files["s.csv"], files["slurm.conf"], members=2, calibration=calibration, seed=seed
        )
        return done.scheduled.end.tolist()

    assert ends(3) == ends(3) != ends(4)


def test_a_log_is_compared_with_what_really_was(files):
    done = replay(files["sacct.txt"], files["slurm.conf"])
    assert done.requests.origin == 1704067200.0
    assert done.scheduled.refused.tolist() == [False, False, False, True]
    found = done.adequacy
    # The third was taken back, the fourth is wider than the machine.
    assert found.n == 2
    assert found.P < 5.0
    assert done.near == 1.0
    told = done.as_dict()
    assert told["refused"] == ["4"]
    assert told["never_started"] == 2
    assert told["adequacy"]["P"] == found.P
    assert told["within_60s"] == 1.0
    row = done.rows()[2]
    assert (row["state"], row["start"], row["end"]) == ("CANCELLED", "", pytest.approx(50, abs=0.1))


def test_the_model_of_a_model_is_the_model(files, tmp_path):
    """A table that was written is a stream that tells what became of it."""
    done = replay(files["s.csv"], files["slurm.conf"])
    with open(tmp_path / "jobs.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(done.rows())
    again = replay(tmp_path / "jobs.csv", files["slurm.conf"])
    assert again.adequacy.n == 3
    assert again.adequacy.P < 1e-3
    other = replay(tmp_path / "jobs.csv", files["slurm.conf"], changes={"bf_interval": "60"})
    assert other.adequacy.P > 10.0


def test_equal_nodes_take_the_place_of_those_of_the_site(files):
    site = read_slurm_conf(files["slurm.conf"])
    given = [
        replay(files["s.csv"], conf, nodes=nodes, members=2)
        for conf, nodes in ((site, 9), (files["slurm.conf"], 9), (plain_conf(9, site), None))
    ]
    for done in given:
        assert done.scheduled.start.tolist() == given[0].scheduled.start.tolist()
        assert done.scheduled.start.max() < 5


def test_what_a_log_does_not_tell_may_be_told_by_submits(files, tmp_path):
    files["slurm.conf"].write_text(CONF.replace("n[1-4]", "n[1-4] Feature=x\nNodeName=z[1-4]"))
    features = "id,submit,nodes,run,limit_min,features\n1,0,3,9,2,x\n2,0,4,9,2,\n"
    (tmp_path / "more.csv").write_text(features)
    done = replay(files["sacct.txt"], files["slurm.conf"], complement=tmp_path / "more.csv")
    assert done.rows()[0]["node_names"] == "n[1-3]"
    assert done.rows()[1]["node_names"] == "n4,z[1-3]"
    assert any("2 of 4 jobs completed" in word for word in done.requests.said)


def test_the_most_typical_run_stands_for_all():
    runs = [np.array(run, float) for run in ([0, 0, np.nan], [3, 4, np.nan], [30, 40, 1])]
    chosen, apart = typical(runs)
    # Distances over two jobs: 5, 50 and 45, each over the root of two.
    assert chosen == 1
    assert apart == pytest.approx(45 / 2**0.5)
    assert typical(runs[:1])[0] == 0
    assert math.isnan(typical(runs[:1])[1])


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"members": 0}, OptionError, "members 0: give 1 or more"),
        ({"nodes": 0}, OptionError, "0 nodes; give 1 to"),
        ({"changes": {"bf_intervall": "5"}}, OptionError, "did you mean 'bf_interval'"),
        ({"changes": {"BF_Interval": "soon"}}, OptionError, "bf_interval=soon: give a whole"),
        ({"changes": {"SchedulerType": "builtin"}}, OptionError, "choose sched/backfill or"),
        ({"changes": {"MinJobAge": "old"}}, OptionError, "MinJobAge"),
        ({"format": "pbs"}, OptionError, "tells no requests"),
        ({"nodes": 2, "path": "wide.csv"}, LogError, "no nodes suit any of its jobs"),
        ({"path": "far.swf"}, OptionError, "more than a hundred years"),
    ],
)
def test_what_cannot_be_used_is_named(files, tmp_path, options, error, word):
    head = STREAM.splitlines()[0]
    (tmp_path / "wide.csv").write_text(f"{head}\n1,0,3,5,1\n")
    rest = "-1 10 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"
    (tmp_path / "far.swf").write_text(f"1 0 {rest}2 10000000000 {rest}")
    path = tmp_path / options.pop("path", "s.csv")
    with pytest.raises(error, match=word):
        replay(path, files["slurm.conf"], **options)
