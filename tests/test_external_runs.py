"""Runs with external events, from the events as given to the result."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sojourn
from sojourn.errors import LogError, OptionError
from sojourn.jobs import EventStream, events_of, read_events
from sojourn.run.compare import compare
from sojourn.run.folder import write_run

WATTS = sojourn.ConstantPower(busy_watts=10.0, idle_watts=2.0)
MACHINE = sojourn.Cluster.homogeneous(4, power=WATTS)


def jobs_of(*rows, **columns):
    """Jobs from (submit, runtime, procs), each with its runtime as estimate."""
    submit, runtime, procs = zip(*rows, strict=True)
    given = {"submit": submit, "runtime": runtime, "procs": procs, "estimate": runtime}
    return sojourn.Jobs({**given, **columns})


def run(jobs, events, cluster=MACHINE, policy="easy", **options):
    return sojourn.simulate(jobs, cluster, policy, events=events, record=True, **options)


def test_each_fate_is_told_apart():
    jobs = jobs_of((0, 10, 4), (1, 10, 4), (2, 10, 4), (3, 10, 4), (4, 10, 4))
    events = [
        {"time": 5, "kind": "cancel", "job": 2},
        {"time": 15, "kind": "kill", "job": 3},
        {"time": 2, "kind": "kill", "job": 4},
        {"time": 15, "kind": "down", "procs": 1},
        {"time": 0, "kind": "cancel", "job": 77},
    ]
    result = run(jobs, events)
    assert result.jobs["status"].tolist() == [
        *("completed", "cancelled", "killed", "cancelled", "waiting")
    ]
    assert result.jobs["start"].tolist()[::2] == pytest.approx([0, 10, np.nan], nan_ok=True)
    assert result.jobs["end"].tolist()[::2] == pytest.approx([10, 15, np.nan], nan_ok=True)
    told = result.summary
    assert told["completed"] == 1
    assert told["killed"] == 1
    # Those who ran: waits of 0 and 8 s.
    assert told["wait"]["mean"] == 4.0
    assert told["makespan"] == 15.0
    assert told["events"] == {
        "given": 5,
        "unused": {"no such job among those to run": 1},
        "node_failure": "kill",
        "cancelled": 2,
        "killed": 1,
        "waiting": 1,
        "restarts": 0,
        "lost_processor_seconds": 0.0,
        "down_processor_seconds": 0.0,
    }
    assert told["utilisation"] == (40 + 20) / (4 * 15)
    assert "events" not in sojourn.simulate(jobs, MACHINE).summary
    assert "restarts" not in sojourn.simulate(jobs, MACHINE).jobs


def test_a_failure_kills_or_requeues():
    jobs = jobs_of((0, 10, 2), (1, 10, 2))
    events = [{"time": 4, "kind": "down", "procs": 2, "until": 6}]
    killed = run(jobs, events)
    assert killed.jobs["status"].tolist() == ["completed", "killed"]
    assert killed.summary["energy"]["busy_joules"] == 10 * (20 + 6)
    assert killed.summary["energy"]["idle_joules"] == 2 * (4 * 10 - 26 - 2 * 2)
    again = run(jobs, events, node_failure="requeue")
    assert again.jobs["restarts"].tolist() == [0, 1]
    assert again.start.tolist() == [0, 6]
    assert again.end.tolist() == [10, 16]
    # It is billed for the attempt that was lost; its wait is until the start that counted.
    assert again.jobs["energy"].tolist() == [200, 10 * (2 * 3 + 2 * 10)]
    assert again.jobs["wait"].tolist() == [0, 5]
    assert again.jobs["service"].tolist() == [10, 10]
    assert again.summary["events"]["lost_processor_seconds"] == 6
    assert again.summary["events"]["down_processor_seconds"] == 4
    assert len(again.segments) == 3


def test_a_failure_of_one_job():
    jobs = jobs_of((0, 10, 2), (1, 10, 2))
    result = run(jobs, [{"time": 4, "kind": "down", "job": 1}], node_failure="requeue")
    assert result.start.tolist() == [4, 1]
    assert result.summary["events"]["down_processor_seconds"] == 0


def test_an_early_end_is_of_the_jobs_own_runtime():
    jobs = jobs_of((0, 10, 4), (1, 10, 4))
    result = run(jobs, [{"kind": "early", "job": 2, "runtime": 3}])
    assert result.end.tolist() == [10, 13]
    # What is above the runtime cuts nothing.
    assert run(jobs, [{"kind": "early", "job": 2, "runtime": 30}]).end.tolist() == [10, 20]


def test_a_stopped_manager_starts_nobody():
    jobs = jobs_of((0, 2, 1), (1, 2, 1), (9, 2, 1))
    result = run(jobs, [{"time": 1, "kind": "stop", "until": 5}])
    assert result.start.tolist() == [0, 5, 9]
    forever = run(jobs, [{"time": 1, "kind": "stop"}])
    assert forever.jobs["status"].tolist() == ["completed", "waiting", "waiting"]


@pytest.mark.parametrize("policy", ["fcfs", "first-fit", "easy", "conservative", "sjf+easy:2"])
def test_a_reservation_is_kept_free(policy):
    jobs = sojourn.lublin(300, 16, load=0.9, seed=3)
    begin, end = float(jobs.submit[120]), float(jobs.submit[120]) + 20_000
    kept = [{"time": begin, "kind": "reserve", "procs": 10, "until": end}]
    result = run(jobs, kept, 16, policy, estimates="exact")
    segments = result.segments
    width = dict(zip(result.jobs["job"], result.jobs["procs"], strict=True))
    for moment in np.linspace(begin, end, 200, endpoint=False):
        there = segments[(segments["start"] <= moment) & (segments["end"] > moment)]
        assert sum(width[job] for job in there["job"]) <= 6
    assert (result.jobs["status"] == "completed").all()


def test_an_announcement_in_time_and_one_too_late():
    jobs = jobs_of((0, 10, 4))
    kept = {"time": 5, "kind": "reserve", "procs": 1, "until": 8}
    assert run(jobs, [kept]).start[0] == 8
    assert run(jobs, [{**kept, "announced": 1}]).start[0] == 0


def troubles_of(plain, what):
    """Events of every kind in the midst of things: where jobs run in a run without events."""
    middle = (plain.start + plain.end) / 2
    long = np.argsort(plain.start - plain.end, kind="stable")[:6]
    first, second, third = np.sort(middle[long])[[0, 2, 4]].tolist()
    return [
        {"time": first, "kind": "down", **what[0], "until": first + 40_000},
        {"time": first + 40_000, "kind": "reserve", **what[1], "until": first + 90_000},
        {"time": second, "kind": "down", **what[1], "until": second + 9_000},
        {"time": third, "kind": "stop", "until": third + 20_000},
        *({"time": middle[j], "kind": "kill", "job": j + 1} for j in range(0, 200, 9)),
        *({"time": plain.start[j] - 1, "kind": "cancel", "job": j + 1} for j in range(5, 200, 9)),
    ]  # fmt: skip


def spent(result):
    """Joules of the whole machine from its power at the recorded instants, and of the bill."""
    table = result.trajectory
    lapse = np.diff(table["time"])
    energy = result.summary["energy"]
    return float(np.dot(lapse, table["power"].to_numpy()[:-1])), energy["total_joules"]


@pytest.mark.parametrize("failure", ["kill", "requeue"])
@pytest.mark.parametrize("rate", [None, "workload:1,2:1e4:5e4", "random:1,2:0.3,0.7"])
@pytest.mark.parametrize("named", [False, True])
def test_the_energy_adds_up(failure, rate, named):
    """Also by brute force: each attempt, each idle processor that is there, nothing that is not."""
    cluster = sojourn.parse_cluster("3 x X5670") if named else MACHINE
    jobs = sojourn.lublin(200, cluster.procs, load=0.8, seed=5)
    what = [{"nodes": "X5670-[12]"}, {"nodes": "X5670-3"}] if named else [{"procs": 3}] * 2
    events = troubles_of(sojourn.simulate(jobs, cluster, rate=rate), what)
    result = run(jobs, events, cluster, rate=rate, node_failure=failure)
    told = result.summary["events"]
    assert min(told["cancelled"], told["killed"], told["down_processor_seconds"]) > 0
    assert (told["restarts"] > 0) == (failure == "requeue")
    by_power, by_bill = spent(result)
    assert by_power == pytest.approx(by_bill, rel=1e-9)
    steps, watts = result.power_steps
    assert float(np.dot(np.diff(steps), watts[:-1])) == pytest.approx(by_bill, rel=1e-9)
    if not named and rate is None:
        width = dict(zip(result.jobs["job"], result.jobs["procs"], strict=True))
        pieces = result.segments
        area = sum(
            width[job] * (end - start)
            for job, start, end in pieces[["job", "start", "end"]].itertuples(index=False)
        )
        there = 4 * result.summary["makespan"] - told["down_processor_seconds"]
        assert by_bill == pytest.approx(10 * area + 2 * (there - area), rel=1e-9)


@pytest.mark.parametrize("policy", ["fcfs", "first-fit", "easy", "sjf+easy:3", "wfp3+easy"])
def test_without_events_nothing_changes(policy):
    jobs = sojourn.lublin(2000, 64, load=0.9, seed=2)
    plain = sojourn.simulate(jobs, 64, policy)
    around = sojourn.simulate(jobs, 64, policy, events=[])
    np.testing.assert_array_equal(plain.start, around.start)
    told = dict(around.summary)
    assert told.pop("events")["given"] == 0
    assert told == plain.summary


@pytest.mark.parametrize("policy", ["fcfs", "first-fit"])
def test_without_events_nothing_changes_on_nodes(policy):
    cluster = sojourn.parse_cluster("4 x X5670, 3 x L5420")
    jobs = sojourn.lublin(500, cluster.procs, load=0.7, seed=2)
    plain = sojourn.simulate(jobs, cluster, policy)
    around = sojourn.simulate(jobs, cluster, policy, events=[])
    np.testing.assert_array_equal(plain.start, around.start)
    assert around.allocations.equals(plain.allocations)


def test_nodes_go_down_by_name():
    cluster = sojourn.parse_cluster("2 x X5670")
    names = [node.name for node in cluster.nodes]
    jobs = jobs_of((0, 100, 12), (0, 100, 12), (1, 50, 12))
    events = [{"time": 10, "kind": "down", "nodes": names[1], "until": 30}]
    result = run(jobs, events, cluster, node_failure="requeue", decisions=True)
    assert result.start.tolist() == [0, 30, 100]
    table = result.allocations
    rows = zip(table["job"], table["node"], table["start"], table["end"], strict=True)
    assert sorted(rows) == [
        (1, names[0], 0, 100),
        (2, names[1], 0, 10),
        (2, names[1], 30, 130),
        (3, names[0], 100, 150),
    ]
    assert result.nodes["idle_energy"].tolist()[0] == 0
    said = [line for line in result.decisions.table()["says"] if line.startswith("job 2 starts")]
    assert len(said) == 2
    everything = run(jobs, [{**events[0], "nodes": "X5670-*"}], cluster)
    assert everything.summary["events"]["killed"] == 2


def test_a_reserved_node_is_left_alone():
    cluster = sojourn.parse_cluster("2 x X5670")
    first = cluster.nodes[0].name
    jobs = jobs_of((0, 100, 12), (0, 100, 12))
    result = run(jobs, [{"time": 50, "kind": "reserve", "nodes": first, "until": 60}], cluster)
    assert result.start.tolist() == [0, 60]
    assert result.allocations["node"].tolist() == [cluster.nodes[1].name, first]


def log_with_withdrawals():
    """A log in which 2 was cancelled in the queue at 4, 3 killed at 15 and 4 ended by itself."""
    return sojourn.Jobs(
        {
            "submit": [0, 1, 2, 3],
            "wait": [0, 3, 8, 12],
            "runtime": [10, 0, 5, 2],
            "procs": [4, 4, 4, 4],
            "estimate": [10, 20, 30, 40],
            "status": [1, 5, 5, 1],
        }
    )


def test_events_of_a_log():
    jobs = log_with_withdrawals()
    stream = events_of(jobs)
    result = run(jobs, stream)
    assert result.jobs["status"].tolist() == ["completed", "cancelled", "killed", "completed"]
    # On the same machine everything is as it was, also what the log ended by hand.
    assert result.end.tolist() == pytest.approx([10, np.nan, 15, 17], nan_ok=True)
    # Twice the processors: the job killed at 15 started at 0, and would have run on to 30.
    wide = run(jobs, stream, 16)
    assert wide.end.tolist() == [10, 4, 15, 5]
    assert wide.jobs["status"].tolist() == ["completed", "killed", "killed", "completed"]
    # Jobs alone: the cancelled one is not even there, and the killed one ends as in the log.
    assert sojourn.simulate(jobs, 16).end.tolist() == [10, 7, 5]


def test_events_of_a_log_about_some_of_its_jobs():
    jobs = log_with_withdrawals()
    result = run(jobs[[0, 2]], events_of(jobs))
    assert result.jobs["status"].tolist() == ["completed", "killed"]
    assert result.summary["events"]["unused"] == {"no such job among those to run": 2}


def test_clocks_of_accounting_are_brought_together(tmp_path):
    log = tmp_path / "sacct.log"
    log.write_text(
        "JobID|Submit|Start|End|State|ReqCPUS|AllocCPUS|NNodes|Timelimit|NodeList\n"
        "7|2024-01-01T00:00:10|2024-01-01T00:00:10|2024-01-01T00:01:10|NODE_FAIL|1|1|1|00:10:00|n1\n"
        "8|2024-01-01T00:00:20|Unknown|2024-01-01T00:00:40|CANCELLED|2|0|1|00:10:00|None assigned\n"
    )
    jobs = sojourn.read_log(log)
    result = run(jobs, log, 2)
    assert result.jobs["status"].tolist() == ["killed", "cancelled"]
    assert result.end[0] == 60.0
    assert len(read_events(log).external()) == 4


def test_stream_of_numbers_of_nodes():
    jobs = jobs_of((0, 10, 4))
    time = np.array([2.0, 5.0, 6.0])
    kinds = [sojourn.jobs.events.KINDS.index(kind) for kind in ("DOWN", "UP", "RESERVE")]
    stream = EventStream(
        time, np.array(kinds, np.int8), np.full(3, -1), np.array([1, 1, 1]), np.array([], str)
    )
    result = run(jobs, stream, node_failure="requeue")
    assert result.start.tolist() == [5]
    assert result.summary["events"]["unused"] == {"a reservation without an end": 1}


def test_what_is_written(tmp_path):
    jobs = jobs_of((0, 10, 4), (1, 10, 4))
    result = run(jobs, [{"time": 2, "kind": "cancel", "job": 2}])
    write_run(result, tmp_path, format="csv")
    lines = (tmp_path / "jobs.csv").read_text().splitlines()
    assert lines[0].endswith("status,reason,restarts,lost_energy")
    assert ",cancelled," in lines[2]
    assert json.loads((tmp_path / "summary.json").read_text())["events"]["cancelled"] == 1
    assert result.as_log().wait.tolist() == [0, -1]


def test_a_comparison_with_events():
    jobs = jobs_of((0, 10, 4), (1, 10, 4))
    rows = [
        outcome.row()
        for outcome in compare(
            jobs, MACHINE, ["fcfs", "easy"], events=[{"time": 2, "kind": "cancel", "job": 2}]
        )
    ]
    assert [row["cancelled"] for row in rows] == [1, 1]
    assert [row["restarts"] for row in rows] == [0, 0]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"time": 1, "kind": "down", "procs": 5}], "row 1, field 'procs': at 1 s 5 processors go"),
        (
            [{"time": 1, "kind": "down", "procs": 3}, {"time": 2, "kind": "down", "procs": 2}],
            "row 2, field 'procs': at 2 s 2 processors go down, but only 1 are up",
        ),
        ([{"time": 1, "kind": "up", "procs": 1}], "come up, but only 0 are down"),
        ([{"time": 1, "kind": "down", "nodes": "n1"}], "processors are only counted"),
        ([{"time": 1, "kind": "reserve", "procs": 9, "until": 2}], "only 4 processors"),
        ([("down", 1)], "list is none"),
        (7, "int is none"),
    ],
)
def test_events_that_cannot_be(rows, says):
    with pytest.raises(OptionError, match=says):
        run(jobs_of((0, 1, 1)), rows)


def test_events_that_cannot_be_on_nodes():
    cluster = sojourn.parse_cluster("2 x X5670")
    jobs = jobs_of((0, 1, 1))
    down = {"time": 1, "kind": "down", "nodes": cluster.nodes[0].name}
    with pytest.raises(OptionError, match="named nodes; give their names"):
        run(jobs, [{"time": 1, "kind": "down", "procs": 1}], cluster)
    with pytest.raises(OptionError, match="no node is called 'rack9'"):
        run(jobs, [{**down, "nodes": "rack9"}], cluster)
    with pytest.raises(OptionError, match="go down, but only 0 are up"):
        run(jobs, [down, {**down, "time": 2}], cluster)


def test_a_file_names_its_line(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("time,kind,procs\n1,down,1\n2,down,9\n")
    with pytest.raises(LogError, match=r"events\.csv, line 3, field 'procs': at 2 s 9 processors"):
        run(jobs_of((0, 1, 1)), path)


@pytest.mark.parametrize(("rate", "until"), [(0.3, 31), (0.7, 48), (1.1, 120), (0.3, 56)])
def test_a_promise_at_the_end_of_a_reservation_comes_exactly_then(rate, until):
    # The work at that time, divided by the rate again, is another time.
    assert until * rate / rate != until
    kept = [{"time": 0, "kind": "reserve", "procs": 4, "until": until}]
    result = run(jobs_of((0, 5, 4)), kept, policy="conservative", rate=rate)
    assert result.jobs["start"].tolist() == [until]
    assert len(result.trajectory) == 3


def test_a_reservation_that_is_over_holds_up_no_promise():
    # Promised at 10 s, when another reservation of the same node is already known.
    cluster = sojourn.Cluster.of([sojourn.Server(model="made", cores=4)])
    kept = [
        {"time": 40, "kind": "reserve", "nodes": "made", "until": 50},
        {"time": 0, "kind": "reserve", "nodes": "made", "until": 10},
    ]
    result = run(jobs_of((1, 5, 3)), kept, cluster, policy="conservative")
    assert result.jobs["start"].tolist() == [10]


def test_a_reserved_node_that_is_down_is_missing_once():
    cluster = sojourn.Cluster.of([sojourn.Server(model="made", cores=1)] * 2)
    gone = [
        {"time": 0, "kind": "down", "nodes": "made-1"},
        {"time": 5, "kind": "reserve", "nodes": "made-1", "until": 9},
    ]
    for policy in ("conservative", "fcfs+easy:inf"):
        assert run(jobs_of((1, 10, 1)), gone, cluster, policy=policy).jobs["start"].tolist() == [1]


def test_with_a_pass_after_each_event_a_failure_of_several_nodes_is_one():
    """Two jobs on two nodes; both nodes fail at once, and a third is free for one of them."""
    cluster = sojourn.Cluster.of([sojourn.Server(model="made", cores=2)] * 3)
    jobs = jobs_of((0, 10, 2), (0, 20, 2), (1, 5, 4))
    told = {"passes": "event", "node_failure": "requeue", "policy": "first-fit"}
    both = [{"time": 5, "kind": "down", "nodes": "made-1 made-2"}]
    each = [{"time": 5, "kind": "down", "nodes": name} for name in ("made-1", "made-2")]
    together = run(jobs, both, cluster, **told)
    in_turn = run(jobs, each, cluster, **told)
    # Struck together they wait together, and the first in order has the third node. One by one the
    # job of the first node has it, and that of the second finds none.
    assert together.trajectory["time"].tolist().count(5.0) == 1
    assert in_turn.trajectory["time"].tolist().count(5.0) == 2
    assert together.jobs["start"].tolist()[:2] == [5, 15]


def test_with_a_pass_after_each_event_an_arrival_comes_before_an_end_and_a_failure():
    jobs = jobs_of((0, 5, 4), (5, 10, 4), (5, 1, 4))
    events = [{"time": 5, "kind": "cancel", "job": 2}]
    told = {"policy": "sjf", "passes": "event"}
    # Both come; the first ends, and the shortest starts; then the other is cancelled as it waits.
    result = run(jobs, events, **told)
    assert result.jobs["status"].tolist() == ["completed", "cancelled", "completed"]
    assert result.trajectory["time"].tolist() == [0, 5, 5, 5, 5, 6]


def test_the_bill_of_nodes_that_draw_less_at_full_load_is_checked_too():
    # 8 W while it idles for 3 s; 1 W, of which nothing grows with the rate, for 0.5 s at rate 2.
    server = sojourn.Server(model="made", cores=1, ops=1.0, watts=(8.0, 1.0))
    cluster = sojourn.Cluster.of([server])
    result = run(jobs_of((0, 1, 1), (3.5, 0, 1)), [], cluster, policy="fcfs", rate=2, clean=())
    assert result.summary["energy"]["total_joules"] == 24.5


def test_what_is_refused():
    jobs, events = jobs_of((0, 1, 1)), [{"time": 1, "kind": "stop"}]
    with pytest.raises(OptionError, match="choose kill or requeue"):
        run(jobs, events, node_failure="retry")


@pytest.mark.parametrize(
    ("policy", "ends"), [("lcfs-pr", [11, 15]), ("spf", [10, 16]), ("lpf", [11, 15])]
)
def test_processors_fail_where_jobs_may_be_stopped(policy, ends):
    """The second job must go and begins anew; where it goes first, the first only gives way."""
    jobs = jobs_of((0, 10, 2), (1, 10, 2))
    failure = [{"time": 5, "kind": "down", "procs": 2, "until": 6}]
    result = run(jobs, failure, policy=policy, node_failure="requeue")
    assert result.end.tolist() == ends


def test_a_reservation_stops_jobs_that_may_be_stopped():
    kept = [{"time": 4, "kind": "reserve", "procs": 4, "until": 7}]
    result = run(jobs_of((0, 10, 2)), kept, policy="lcfs-pr")
    assert result.segments[["start", "end"]].to_numpy().tolist() == [[0, 4], [7, 13]]


def test_stepping_with_events():
    jobs, events = (
        jobs_of((0, 5, 3), (1, 5, 3)),
        [{"time": 2, "kind": "down", "procs": 4, "until": 9}],
    )
    simulation = sojourn.Simulation(jobs, 4, events=events, node_failure="requeue", clean=())
    for decision in simulation:
        for j in decision.waiting:
            if decision.jobs.procs[j] <= decision.free:
                decision.start(j)
    expected = run(jobs, events, policy="first-fit", node_failure="requeue")
    assert simulation.result.start.tolist() == expected.start.tolist() == [9.0, 14.0]


def test_events_about_jobs_that_cannot_run():
    jobs = jobs_of((0, 1, 9), (0, 1, 1))
    result = run(jobs, [{"time": 0, "kind": "cancel", "job": 1}])
    assert result.jobs["status"].tolist() == ["unaccepted", "completed"]
    assert result.summary["events"]["unused"] == {"its job is not accepted": 1}


def test_nobody_ever_runs():
    result = run(jobs_of((0, 5, 1), (3, 5, 1)), [{"time": 0, "kind": "stop"}])
    assert result.summary["completed"] == 0
    assert np.isnan(result.summary["wait"]["mean"])
    assert result.summary["makespan"] == 3.0
    cancelled = [{"time": 0, "kind": "cancel", "job": job} for job in (1, 2)]
    assert run(jobs_of((0, 5, 1), (3, 5, 1)), cancelled).summary["events"]["cancelled"] == 2


@pytest.mark.parametrize("rate", [None, "count:1,2:99:99"])
def test_many_restarts(rate):
    """More attempts are lost, and more rates set, than there is room for at first."""
    jobs = jobs_of(*((0, 100, 1),) * 120)
    outages = [{"time": t, "kind": "down", "procs": 120, "until": t + 1} for t in range(2, 60, 2)]
    kills = [{"time": 90 + j / 50, "kind": "kill", "job": j + 1} for j in range(60)]
    result = run(jobs, outages + kills, 120, "fcfs", rate=rate, node_failure="requeue")
    told = result.summary["events"]
    assert told["restarts"] == 29 * 120
    assert told["killed"] == 60
    assert told["lost_processor_seconds"] == 120 * (2 + 28)
    assert (result.start == 59).all()
