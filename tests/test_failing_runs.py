"""Runs in which nodes fail, jobs come back, and the machine is maintained."""

import numpy as np
import pytest

import sojourn
from sojourn.cluster import PowerStates, SleepState
from sojourn.errors import OptionError
from sojourn.policy import Checkpoint
from sojourn.run.simulate import prepare

DAY = 86_400.0
HOUR = 3600.0
SPEC = "mtbf=20d,repair=6h,procs=4"


@pytest.fixture(scope="module")
def jobs():
    return sojourn.lublin(400, 64, load=0.7, seed=3, estimates="tsafrir")


def costs_of(result):
    return result.summary["failures"]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "lcfs-pr", "sjf+first-fit"])
def test_all_work_is_useful_lost_dumped_or_restored(jobs, policy):
    result = sojourn.simulate(jobs, 64, policy, failures=SPEC, checkpoint="every=1h,dump=30")
    costs = costs_of(result)
    parts = ("useful", "lost", "dump", "restore")
    assert sum(costs[f"{part}_core_hours"] for part in parts) == pytest.approx(
        costs["done_core_hours"], rel=1e-12
    )
    # Counted processors at rate 1: useful is what the jobs are, cut at their limits.
    table = result.jobs
    ran = table["status"].isin(["completed", "killed"])
    work = np.minimum(jobs.runtime, np.where(jobs.estimate > 0, jobs.estimate, np.inf))
    mine = float((jobs.procs * work)[ran.to_numpy()].sum()) / HOUR
    assert costs["useful_core_hours"] == pytest.approx(mine, rel=1e-9)
    assert costs["struck"] == result.summary["events"]["restarts"] > 0
    assert costs["lost_core_hours"] * HOUR == pytest.approx(
        result.summary["events"]["lost_processor_seconds"]
    )
    assert 0 < costs["goodput"] < 1
    assert 0 < costs["availability"] < 1


def test_failures_are_those_of_events_given_by_hand(jobs):
    drawn = sojourn.simulate(jobs, 64, "easy", failures=SPEC, node_failure="requeue")
    outages = drawn._prepared.external.beside.outages
    rows = [
        {"time": down, "kind": "down", "procs": 4, "until": up}
        for down, up in sorted(zip(outages.down, outages.up, strict=True))
    ]
    by_hand = sojourn.simulate(jobs, 64, "easy", events=rows, node_failure="requeue")
    assert np.array_equal(drawn.start, by_hand.start)
    assert np.array_equal(drawn.end, by_hand.end)


def test_another_seed_gives_other_failures_and_the_same_one_the_same(jobs):
    first, again, other = (
        sojourn.simulate(jobs, 64, "easy", failures=SPEC, checkpoint="daly", seed=seed)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first.end, again.end)
    assert not np.array_equal(first.end, other.end)
    fixed = [
        sojourn.simulate(jobs, 64, "easy", failures=f"{SPEC},seed=9", seed=seed).end
        for seed in (1, 2)
    ]
    assert np.array_equal(*fixed, equal_nan=True)


def test_a_run_that_outlives_its_horizon_is_one_with_a_further_one(jobs):
    """Failures to an early horizon, and further ones as long as the run needs them."""
    options = {"failures": "mtbf=2d,repair=4h,procs=4", "node_failure": "requeue"}
    result = sojourn.simulate(jobs, 64, "easy", **options)
    begin = float(jobs.submit[0])
    far = begin + 100 * float(result.end.max() - begin)
    run, _ = prepare(jobs, 64, "easy", horizon=far, **options)
    run.to_the_end()
    assert np.array_equal(run.end, result.end)
    near, prepared = prepare(jobs, 64, "easy", horizon=begin + 2 * DAY, **options)
    near.to_the_end()
    assert prepared.is_outlived(float(near.s.now))
    assert not np.array_equal(near.end, result.end)


def test_jobs_that_never_end_are_an_error():
    jobs = sojourn.Jobs({"submit": [0], "runtime": [5000], "procs": [1]})
    with pytest.raises(OptionError, match="jobs still fail and begin again") as raised:
        sojourn.simulate(jobs, 1, "fcfs", failures="mtbf=100,repair=1", node_failure="requeue")
    assert raised.value.key == "failures.mtbf"
    rule = Checkpoint(20, dump=1, restore=1)
    result = sojourn.simulate(jobs, 1, "fcfs", failures="mtbf=100,repair=1", checkpoint=rule)
    assert result.end[0] > 5000


def test_wide_jobs_dump_more_often():
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [1e6, 1e6], "procs": [1, 16]})
    result = sojourn.simulate(jobs, 17, "fcfs", failures="mtbf=10y", checkpoint="daly")
    narrow, wide = result._prepared.every
    year = 365 * DAY
    from sojourn.theory import checkpoint_interval

    assert narrow == round(checkpoint_interval(60, 10 * year))
    assert wide == round(checkpoint_interval(60, 10 * year / 16))


def test_nodes_that_an_event_keeps_down_do_not_fail():
    cluster = sojourn.parse_cluster("4 x X5670")
    jobs = sojourn.lublin(60, cluster.procs, load=0.6, seed=1)
    spec = "mtbf=10d,repair=1d"
    plain = sojourn.simulate(jobs, cluster, "easy", failures=spec, node_failure="requeue")
    name = cluster.nodes[0].name
    down = [{"time": 0, "kind": "down", "nodes": name}]
    result = sojourn.simulate(
        jobs, cluster, "easy", failures=spec, events=down, node_failure="requeue"
    )
    outages = plain._prepared.external.beside.outages
    unused = result.summary["events"]["unused"]
    assert list(unused) == ["a failure of what an event keeps down"]
    assert 0 < unused[next(iter(unused))] <= np.count_nonzero(outages.unit == 0) * 2


def test_a_log_of_failures_on_named_nodes(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("node,down,up\nX5670-1,100,200\nX5670-2,50,150\n")
    cluster = sojourn.parse_cluster("2 x X5670")
    width = cluster.procs
    jobs = sojourn.Jobs({"submit": [0], "runtime": [300], "procs": [width]})
    result = sojourn.simulate(
        jobs, cluster, "fcfs", failures=str(path), checkpoint="every=30,dump=0,restore=0"
    )
    # One dump at 30 s; both nodes are up again at 200 s.
    slowness = result.slowness[0]
    saved = np.floor(50 / slowness / 30) * 30
    assert result.end[0] == pytest.approx(200 + (300 - saved) * slowness)
    assert costs_of(result)["failures"] == 2


def test_a_dated_log_begins_with_the_jobs(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("nodenum,started,fixed\n4,01/31/04 12:00,01/31/04 12:10\n")
    jobs = sojourn.Jobs({"submit": [1000], "runtime": [300], "procs": [1]})
    result = sojourn.simulate(jobs, 1, "fcfs", failures=str(path), node_failure="requeue")
    assert result.start[0] == 1600.0


def test_whose_work_is_lost_when_failures_kill():
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [100, 100], "procs": [1, 1]})
    events = [
        {"time": 60, "kind": "cancel", "job": 1},
        {"time": 80, "kind": "down", "procs": 2},
    ]
    result = sojourn.simulate(jobs, 2, "fcfs", events=events, failures="mtbf=1000y")
    costs = costs_of(result)
    # A user's cancel is no failure.
    assert costs["lost_core_hours"] * HOUR == pytest.approx(80)
    assert costs["useful_core_hours"] * HOUR == pytest.approx(60)
    assert costs["struck"] == 1


@pytest.mark.parametrize("checkpoint", [None, "every=1h,dump=30"])
def test_boots_are_no_lost_work(checkpoint):
    """The node sleeps until the job comes at 100 s, is up at 250 s, and fails at 300 s."""
    server = sojourn.Server(
        model="made",
        cores=2,
        ops=100.0,
        watts=(100.0, *([200.0] * 10)),
        states=PowerStates((SleepState("off", 10, enter=10, leave=150, leave_watts=125),)),
    )
    jobs = sojourn.Jobs({"submit": [0, 100], "runtime": [1, 100], "procs": [2, 2]})
    events = [{"time": 300, "kind": "down", "nodes": "n1", "until": 310}]
    result = sojourn.simulate(
        jobs, sojourn.Cluster.of([sojourn.Node("n1", server)], reference_ops=100), "fcfs",
        events=events, failures="mtbf=1000y", node_failure="requeue", sleep="idle:0",
        checkpoint=checkpoint,
    )  # fmt: skip
    costs = costs_of(result)
    assert costs["lost_core_hours"] * HOUR == pytest.approx(2 * 50)
    assert result.summary["events"]["lost_processor_seconds"] == pytest.approx(2 * 50)


@pytest.mark.parametrize("rate", ["2", "threshold:1,2:5000"])
def test_lost_time_is_cut_where_the_dump_ended_whatever_the_rate(jobs, rate):
    result = sojourn.simulate(
        jobs, 64, "easy", failures=SPEC, checkpoint="every=1h,dump=30", rate=rate
    )
    costs = costs_of(result)
    assert costs["lost_core_hours"] * HOUR == pytest.approx(
        result.summary["events"]["lost_processor_seconds"]
    )
    assert costs["useful_core_hours"] > 0


def test_stepping_meets_the_same_failures(jobs):
    options = {"failures": SPEC, "checkpoint": "daly"}
    simulation = sojourn.Simulation(jobs, 64, **options)
    for decision in simulation:
        for j in decision.waiting:
            if decision.jobs.procs[j] > decision.free:
                break
            decision.start(j)
    whole = sojourn.simulate(jobs, 64, "fcfs", **options)
    assert np.array_equal(simulation.result.end, whole.end)


def test_windows_of_maintenance_are_reservations(jobs):
    begin = float(jobs.submit[0])
    spec = "every=7d,first=2d,length=8h,announced=1d,count=3"
    result = sojourn.simulate(jobs, 64, "easy", maintenance=spec)
    rows = [
        {
            "time": begin + 2 * DAY + 7 * DAY * i,
            "kind": "reserve",
            "procs": 64,
            "until": begin + 2 * DAY + 7 * DAY * i + 8 * HOUR,
            "announced": begin + DAY + 7 * DAY * i,
        }
        for i in range(3)
    ]
    by_hand = sojourn.simulate(jobs, 64, "easy", events=rows)
    assert np.array_equal(result.end, by_hand.end)
    assert not np.array_equal(result.end, sojourn.simulate(jobs, 64, "easy").end)


def test_nobody_starts_into_a_window_that_is_known(jobs):
    spec = "every=2d,first=1d,length=6h"
    result = sojourn.simulate(jobs, 64, "easy", maintenance=spec, estimates="exact")
    begin, end = float(jobs.submit.min()), float(jobs.submit.max())
    windows = sojourn.run.keys.failures.given_maintenance(spec).windows(begin, end)
    assert len(windows) == int((end - begin - DAY) // (2 * DAY)) + 1
    for start, stop in windows:
        assert not np.any((result.start < stop) & (result.end > start))


def test_only_some_nodes_are_maintained():
    cluster = sojourn.parse_cluster("4 x X5670")
    jobs = sojourn.lublin(300, cluster.procs, load=0.9, seed=1)
    result = sojourn.simulate(
        jobs, cluster, "easy", maintenance="first=1d,length=1d,nodes=X5670-1 X5670-2",
        estimates="exact",
    )  # fmt: skip
    begin = float(jobs.submit[0]) + DAY
    rows = result.allocations
    inside = rows[(rows["start"] < begin + DAY) & (rows["end"] > begin)]
    assert not inside["node"].isin(["X5670-1", "X5670-2"]).any()
    assert len(inside)


def test_measures_are_only_there_where_failures_are(jobs):
    plain = sojourn.simulate(jobs, 64, "easy")
    assert "failures" not in plain.summary
    compared = sojourn.compare(jobs, 64, ["fcfs", "easy"], failures=SPEC, checkpoint="daly")
    assert {"goodput", "lost_core_hours", "failures_met"} <= set(compared.table.columns)
    assert "goodput" not in sojourn.compare(jobs, 64, ["easy"]).table.columns


def test_nodes_that_sleep_and_fail_pay_for_all_states():
    """The bill of busy, idle, sleeping, booting and failed nodes is the integral of the power."""
    states = PowerStates(
        sleep=(SleepState("off", 5.0, 10.0, 60.0, 120.0, 90.0),), failed_watts=20.0
    )
    server = sojourn.Server("made", cores=4, ops=1e5, watts=(40, 128), states=states)
    cluster = sojourn.Cluster.of([sojourn.Node(f"n{i}", server) for i in range(8)])
    jobs = sojourn.lublin(300, cluster.procs, load=0.4, seed=1)
    result = sojourn.simulate(
        jobs, cluster, "easy", failures="mtbf=4d,repair=3h", checkpoint="daly", sleep="idle:600",
        record=True,
    )  # fmt: skip
    energy = result.summary["energy"]
    parts = ("busy", "idle", "sleep", "entering", "leaving", "failed")
    assert all(energy[f"{part}_joules"] > 0 for part in parts)
    total = sum(energy[f"{part}_joules"] for part in parts)
    assert total == pytest.approx(energy["total_joules"], rel=1e-12)
    costs = costs_of(result)
    assert costs["struck"] > 0
    kept = ("useful", "lost", "dump", "restore")
    assert sum(costs[f"{part}_core_hours"] for part in kept) == pytest.approx(
        costs["done_core_hours"]
    )
    work = float(np.dot(jobs.procs, jobs.runtime)) / HOUR
    assert costs["useful_core_hours"] == pytest.approx(work, rel=1e-9)
