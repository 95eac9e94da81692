"""Failures, maintenance and checkpoints under Slurm's model: by hand, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import ClusterError, OptionError

CONF = """
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
AGE = """
PriorityType=priority/multifactor
PriorityWeightAge=100000
AccountingStorageType=accounting_storage/slurmdbd
"""
PERIOD = 60  # s between full passes of the main loop
BACK = 121  # s after which a job may start that has left its nodes


@pytest.fixture
def policy(tmp_path):
    def made(more="", **changes):
        path = tmp_path / "slurm.conf"
        path.write_text(CONF + more)
        return sojourn.slurm(path, **changes)

    return made


def stream(*rows):
    """Jobs of (submit, runtime, processors, limit)."""
    submit, runtime, procs, estimate = zip(*rows, strict=True)
    return sojourn.Jobs(
        {"submit": submit, "runtime": runtime, "procs": procs, "estimate": estimate}
    )


def down(node, begin, end=None):
    event = {"time": begin, "kind": "down", "nodes": node}
    return event if end is None else {**event, "until": end}


def test_a_struck_job_waits_for_its_credential_and_begins_anew(policy):
    jobs = stream((0, 300, 4, 600))
    result = sojourn.simulate(jobs, None, policy(), events=[down("n1", 100, 150)])
    first, last = result.segments["start"].tolist()
    row = result.jobs.iloc[0]
    assert row["restarts"] == 1
    assert row["status"] == "completed"
    assert 100 + BACK - 1 <= row["start"] <= 100 + BACK + PERIOD + 1
    assert row["end"] - row["start"] == pytest.approx(300, abs=1e-6)
    # Four processors, from the first start to the failure.
    lost = result.summary["events"]["lost_processor_seconds"]
    assert lost == pytest.approx(4 * (100 - min(first, last)), abs=1e-6)
    assert result.summary["events"]["node_failure"] == "requeue"
    assert result.summary["events"]["down_processor_seconds"] == pytest.approx(200, abs=1e-6)


def test_a_credential_of_no_time_lets_it_start_at_once(policy):
    jobs = stream((0, 300, 4, 600))
    conf = policy(AuthInfo="cred_expire=0", sched_interval=1, batch_sched_delay=0)
    result = sojourn.simulate(jobs, None, conf, events=[down("n1", 100, 150)])
    assert result.jobs["start"][0] < 100 + 5
    with pytest.raises(ClusterError, match="cred_expire"):
        sojourn.simulate(jobs, None, policy(AuthInfo="cred_expire=soon"), events=[down("n1", 9)])


@pytest.mark.parametrize(
    ("requeue", "given", "status"),
    [(1, None, "completed"), (0, None, "killed"), (0, "requeue", "completed"),
     (1, "kill", "killed")],
)  # fmt: skip
def test_who_comes_back_says_job_requeue_unless_the_run_does(policy, requeue, given, status):
    jobs = stream((0, 300, 4, 600))
    result = sojourn.simulate(
        jobs, None, policy(JobRequeue=requeue), events=[down("n1", 100, 150)], node_failure=given
    )
    assert result.jobs["status"][0] == status
    assert result.summary["events"]["killed"] == int(status == "killed")


@pytest.mark.parametrize(("more", "is_first"), [("", True), (AGE, False)])
def test_a_job_that_comes_back_has_lost_its_age(policy, more, is_first):
    # Each needs all nodes: one is struck while the other waits.
    jobs = stream((0, 1000, 8, 1200), (50, 1000, 8, 1200))
    conf = policy(more, bf_interval=10, sched_interval=10)
    result = sojourn.simulate(jobs, None, conf, events=[down("n1", 200, 1000)])
    start = result.jobs["start"]
    assert (start[0] < start[1]) == is_first
    assert result.jobs["restarts"].tolist() == [1, 0]


def test_nobody_starts_into_a_window_of_maintenance(policy):
    rows = [(40 * k, 200 + 50 * (k % 5), 1 + 3 * (k % 2), 600) for k in range(80)]
    jobs = stream(*rows)
    window = "first=1000,length=900,every=2000"
    result = sojourn.simulate(jobs, None, policy(), maintenance=window)
    pieces = result.segments
    limit = 600
    for begin in (1000, 3000):
        inside = (pieces["start"] + limit > begin + 1) & (pieces["start"] < begin + 900)
        assert not inside.any()
    plain = sojourn.simulate(jobs, None, policy())
    assert result.summary["wait"]["mean"] > plain.summary["wait"]["mean"]
    # It is known from the beginning; announced when it begins, jobs run into it.
    late = sojourn.simulate(jobs, None, policy(), maintenance=window + ",announced=0").segments
    assert ((late["start"] < 1000) & (late["end"] > 1000)).any()


def test_a_short_job_passes_one_that_waits_for_maintenance_to_be_over(policy):
    # On all nodes a window begins at 1000: the first job is too long for it, the second is not.
    jobs = stream((0, 900, 4, 7200), (1, 60, 4, 120))
    conf = policy(SchedulerType="sched/builtin")
    result = sojourn.simulate(jobs, None, conf, maintenance="first=1000,length=500")
    start = result.jobs["start"]
    assert start[1] < 70
    assert start[0] >= 1500


def test_jobs_wait_for_ever_for_nodes_that_never_come_back(policy):
    jobs = stream((0, 100, 8, 300), (10, 100, 4, 300))
    result = sojourn.simulate(jobs, None, policy(), events=[down("n2", 5)])
    assert result.jobs["status"].tolist() == ["waiting", "completed"]


def test_checkpoints_save_work_and_have_room_in_the_limit(policy):
    # A dump of 10 s after each 100 s of work: 1000 s of work take 1090 s.
    jobs = stream((0, 1000, 4, 1000))
    events = [down("n1", 700, 710)]
    rule = {"every": 100, "dump": 10, "restore": 20}
    saved = sojourn.simulate(jobs, None, policy(), events=events, checkpoint=rule)
    lost = sojourn.simulate(jobs, None, policy(), events=events)
    assert saved.jobs["status"][0] == lost.jobs["status"][0] == "completed"
    begin = saved.segments["start"].min()
    dumps = (700 - begin) // 110
    assert saved.jobs["end"][0] - saved.jobs["start"][0] == pytest.approx(
        20 + 1090 - 110 * dumps, abs=1e-6
    )
    costs = saved.summary["failures"]
    assert costs["restore_core_hours"] == pytest.approx(4 * 20 / 3600)
    assert costs["lost_core_hours"] == pytest.approx(4 * (700 - begin - 110 * dumps) / 3600)
    assert lost.summary["events"]["lost_processor_seconds"] == pytest.approx(4 * (700 - begin))


def test_drawn_failures_cost_work_and_energy(policy, tmp_path):
    rng = np.random.default_rng(3)
    jobs = stream(*((60 * k, int(rng.integers(100, 2000)), 1 + k % 4, 2400) for k in range(120)))
    cluster = tmp_path / "watts.toml"
    cluster.write_text(
        '[[node]]\nname = "n[1-2]"\ncores = 4\nwatts = 150\nidle_watts = 50\nfailed_watts = 10\n'
    )
    options = {"failures": "mtbf=1h,repair=10min", "seed": 2, "record": True}
    result = sojourn.simulate(jobs, sojourn.read_cluster(cluster), policy(), **options)
    costs = result.summary["failures"]
    assert costs["failures"] > 3
    assert costs["struck"] == result.jobs["restarts"].sum() > 3
    assert 0 < costs["goodput"] < 1
    assert costs["lost_kwh"] > 0
    by_job, by_node = result.ledger("job"), result.ledger("node")
    assert by_job["lost_energy"].sum() == pytest.approx(by_node["lost_energy"].sum())
    assert by_node["lost_energy"].sum() / 3.6e6 == pytest.approx(costs["lost_kwh"])
    assert by_node["failed_energy"].sum() > 0


def test_events_and_nodes_that_sleep_are_refused_in_one_line(policy, tmp_path, capsys):
    jobs = stream((0, 100, 4, 300))
    conf = policy(SuspendTime=60)
    for option in (
        {"failures": "mtbf=1h,repair=10min"},
        {"maintenance": "first=10,length=5"},
        {"checkpoint": {"every": 60}},
        {"events": [down("n1", 9, 10)]},
    ):
        with pytest.raises(OptionError, match="SuspendTime"):
            sojourn.simulate(jobs, None, conf, **option)
    log = tmp_path / "log.swf"
    sojourn.write_swf(jobs, log)
    code = main(
        ["simulate", str(log), "--policy", "slurm", "--slurm-conf", str(tmp_path / "slurm.conf"),
         "--set", "slurm.SuspendTime=60", "--failures", "mtbf=1h,repair=10min"]
    )  # fmt: skip
    assert code == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert len(said) == 1
    assert "SuspendTime" in said[0]


def test_a_manager_that_stands_still_starts_nobody(policy):
    jobs = stream(*((30 * k, 100, 2, 300) for k in range(20)))
    events = [{"time": 100, "kind": "stop", "until": 400}]
    result = sojourn.simulate(jobs, None, policy(), events=events)
    start = result.jobs["start"]
    assert not ((start > 100) & (start < 400)).any()
    assert (start > 400).any()


def test_a_cancelled_job_is_off_its_nodes_or_out_of_the_queue(policy):
    jobs = stream((0, 500, 8, 600), (1, 500, 8, 600), (900, 10, 1, 60))
    events = [
        {"time": 50, "kind": "cancel", "job": 2},
        {"time": 100, "kind": "cancel", "job": 1},
        {"time": 120, "kind": "cancel", "job": 3},
    ]
    result = sojourn.simulate(jobs, None, policy(), events=events)
    assert result.jobs["status"].tolist() == ["killed", "cancelled", "cancelled"]
    assert result.jobs["end"][0] == pytest.approx(100)


def test_jobs_over_their_limits_are_killed_by_slurm_and_by_no_event(policy):
    jobs = stream((0, 1000, 4, 300), (0, 200, 4, 300))
    result = sojourn.simulate(
        jobs, None, policy(), failures="mtbf=100y,repair=1h", events=[down("n2", 5000)]
    )
    assert result.jobs["status"].tolist() == ["killed", "completed"]
    assert result.summary["killed"] == 1
    assert result.summary["events"]["killed"] == 0
    assert result.summary["failures"]["struck"] == 0
    assert result.summary["failures"]["lost_core_hours"] == 0
