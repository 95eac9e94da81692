"""Nodes that sleep as a ``slurm.conf`` says: by hand, lines changed, billed, refused."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.cluster import Cluster, Node, Server
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.errors import ClusterError, OptionError
from sojourn.policy.slurm import Pace, plain_conf, read_slurm_conf

OFF = SleepState("off", 10.0, enter=2.0, enter_watts=100.0, leave=40.0, leave_watts=125.0)
# Everything falls on whole seconds, and nothing takes time.
EXACT = Pace(started=-10.0, zero=0.0, latency=0.0, epilog=0.0, tick=1.0, nap=0.0, testing=0.0)
TIMES = {"SuspendTime": 30, "SuspendTimeout": 5, "ResumeTimeout": 60}


def machine(count=1, states=(OFF,), partitions=()):
    server = Server(
        model="node", cores=1, watts=(95.0, *[190.0] * 10), states=PowerStates(sleep=tuple(states))
    )
    nodes = [Node(f"n{k}", server) for k in range(1, count + 1)]
    return Cluster.of(nodes, partitions=partitions)


def log(*rows):
    """Jobs of (submit, processors, runtime, limit), in s."""
    names = ("submit", "procs", "runtime", "estimate")
    return sojourn.Jobs(
        {n: list(column) for n, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


def run(jobs, count=1, conf=None, cluster=None, **lines):
    conf = plain_conf(count) if conf is None else conf
    policy = sojourn.slurm(conf, **{**TIMES, **lines}).with_pace(EXACT)
    return sojourn.simulate(jobs, cluster or machine(count), policy, clean=())


def naps(result):
    """When nodes began to power down, by name."""
    table = result.node_states
    entering = table[table.state == "entering"]
    return list(zip(entering.begin, entering.node, strict=True))


def test_a_nap_by_hand():
    # Idle from 20 on; the power loop works at 20, 21, 31, 41 and 51, when over 30 s have passed.
    # The second job gets the node at 200, which is up at 240, and seen to be at 260.
    result = run(log((0, 1, 20, 60), (200, 1, 20, 60)))
    table = result.node_states
    assert table.state.tolist() == ["entering", "sleep", "leaving"]
    assert table.begin.tolist() == [51.0, 53.0, 200.0]
    assert table.end.tolist() == [53.0, 200.0, 240.0]
    assert result.jobs.start.tolist() == [0.0, 260.0]
    assert result.jobs.end.tolist() == [20.0, 280.0]
    energy = result.summary["energy"]
    assert energy["busy_joules"] == pytest.approx(40 * 190)
    assert energy["idle_joules"] == pytest.approx((31 + 20) * 95)
    assert energy["sleep_joules"] == pytest.approx(147 * 10)
    assert energy["leaving_joules"] == pytest.approx(40 * 125)
    slept = result.summary["sleep"]
    assert (slept["boots"], slept["jobs_that_waited"], slept["mean_boot_wait"]) == (1, 1, 60.0)
    assert slept["policy"].startswith("SuspendTime=30, SuspendTimeout=5, ResumeTimeout=60")
    assert "SuspendRate=60, ResumeRate=300" in slept["policy"]


def test_a_node_that_is_powering_down_is_not_given_away():
    # Powered down at 51, more than 5 s ago when the power loop works at 61; up at 102, seen at 110.
    result = run(log((0, 1, 20, 60), (54, 1, 20, 60)), SchedulerParameters="sched_interval=1")
    assert result.node_states.begin.tolist() == [51.0, 53.0, 62.0]
    assert result.jobs.start.tolist() == [0.0, 110.0]


def test_the_limit_counts_from_when_the_nodes_are_up():
    # A boot of 100 s is longer than the limit; the third job is ended at it, from its start on.
    slow = SleepState("off", 10.0, enter=2.0, leave=100.0)
    jobs = log((0, 1, 20, 60), (200, 1, 59, 60), (800, 1, 300, 60))
    result = run(jobs, cluster=machine(1, [slow]), ResumeTimeout=100)
    assert result.jobs.start.tolist() == [0.0, 320.0, 920.0]
    assert result.jobs.end.tolist() == [20.0, 379.0, 980.0]
    assert result.summary["killed"] == 1


def test_nodes_that_are_up_are_taken_first():
    # n1 to n3 sleep from about 50 s on, n4 to n6 are up; two of these do for the third job.
    jobs = log((0, 3, 10, 60), (0, 3, 200, 300), (215, 2, 100, 120), (225, 3, 10, 60))
    result = run(jobs, 6)
    table = result.allocations
    given = [sorted(table[table.job == job].node) for job in result.jobs.job]
    assert given == [["n1", "n2", "n3"], ["n4", "n5", "n6"], ["n4", "n5"], ["n1", "n2", "n3"]]
    start = result.jobs.start.tolist()
    assert 215 <= start[2] <= 218
    assert start[3] >= 225 + 40
    assert result.summary["sleep"]["boots"] == 3


def test_a_rate_is_a_leaky_bucket():
    # The loop works every 10 s. A count of 1 falls below a half after four times, (50/60)^4 < 0.5;
    # then 1.48, which takes six, and 1.496, which takes seven.
    jobs = log((0, 1, 1, 60), (500, 1, 1, 60))
    begins = [at for at, _ in naps(run(jobs, 4, SuspendRate=1))]
    assert len(begins) == 4
    assert np.diff(sorted(begins)).tolist() == [40.0, 60.0, 70.0]


def test_nodes_are_woken_no_faster_than_their_rate():
    # The count is 0.48 at 540, when the first node is up, and then 0.49 at 601.
    jobs = log((0, 1, 1, 60), (500, 3, 1, 60))
    table = run(jobs, 3, ResumeRate=1).node_states
    assert np.diff(sorted(table[table.state == "leaving"].begin)).tolist() == [40.0, 61.0]


@pytest.mark.parametrize(
    ("lines", "sleepers"),
    [
        ({}, {"n1", "n2", "n3", "n4"}),
        ({"SuspendExcNodes": "n[1-4]:2"}, {"n3", "n4"}),
        ({"SuspendExcNodes": "n[1-2],n4"}, {"n3"}),
        ({"SuspendExcNodes": "n1:1,n9"}, {"n2", "n3", "n4"}),
        ({"SuspendRate": 0}, {"n1", "n2", "n3", "n4"}),
    ],
)
def test_who_sleeps(lines, sleepers):
    result = run(log((0, 1, 1, 60), (500, 1, 1, 60)), 4, **lines)
    assert {name for _, name in naps(result)} == sleepers
    for name, value in lines.items():
        assert f"{name}={value}" in result.summary["sleep"]["policy"]


def site(tmp_path, text):
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    return read_slurm_conf(path)


def test_partitions_have_idle_times_of_their_own(tmp_path):
    conf = site(
        tmp_path,
        "SuspendTime=20\nNodeName=n[1-5] CPUs=1\n"
        "PartitionName=a Nodes=n[1-2] Default=YES SuspendTime=100\n"
        "PartitionName=b Nodes=n[2-3] SuspendTime=INFINITE\n"
        "PartitionName=c Nodes=n4 ResumeTimeout=9\nPartitionName=d Nodes=n5\nSuspendExcParts=d\n",
    )
    policy = sojourn.slurm(conf).with_pace(EXACT)
    result = sojourn.simulate(log((0, 1, 1, 60), (500, 1, 1, 60)), None, policy, clean=())
    begins = {name: at for at, name in naps(result)}
    # n2 is in b as well, whose time is longer; the loop works every ten seconds.
    assert set(begins) == {"n1", "n4"}
    assert 11 <= begins["n4"] <= 22
    assert 101 <= begins["n1"] <= 112
    told = result.summary["not_modelled"]
    assert "partition c resumetimeout=9: that of the whole file holds" in told
    assert any("assumed to need 30 s to power down and 60 s to boot" in text for text in told)
    assert "a: SuspendTime=100" in result.summary["sleep"]["policy"]


@pytest.mark.parametrize("never", ["INFINITE", "-1"])
def test_without_a_time_all_is_as_without_the_line(never):
    rng = np.random.default_rng(3)
    rows = [
        (float(at), int(rng.integers(1, 5)), float(rng.choice([5, 100, 700])), 1200.0)
        for at in np.cumsum(rng.exponential(60, 100))
    ]
    plain = sojourn.simulate(log(*rows), 8, sojourn.slurm(plain_conf(8)), clean=())
    policy = sojourn.slurm(plain_conf(8), SuspendTime=never)
    same = sojourn.simulate(log(*rows), 8, policy, clean=())
    assert plain.jobs.start.equals(same.jobs.start)
    assert plain.jobs.end.equals(same.jobs.end)
    assert "sleep" not in same.summary


def test_the_bill_is_right_on_a_crowded_site_and_waits_grow():
    # The run checks its bill against the integral of its power.
    rng = np.random.default_rng(1)
    rows = [
        (float(at), int(rng.integers(1, 9)), float(rng.choice([30, 300, 1500])), 3000.0)
        for at in np.cumsum(rng.exponential(300, 200))
    ]
    cluster = machine(16)
    policy = sojourn.slurm(plain_conf(16), ResumeTimeout=60)
    awake = sojourn.simulate(log(*rows), cluster, policy, clean=())
    asleep = sojourn.simulate(
        log(*rows), cluster, policy.with_parameters({"SuspendTime": 60}), clean=(), record=True
    )
    table = asleep.nodes_by_state
    states = table[["busy", "idle", "entering", "sleep", "leaving", "failed"]]
    assert (states.sum(axis=1) == 16).all()
    assert (states >= 0).all().all()
    assert asleep.summary["sleep"]["boots"] > 50
    bills = [r.summary["energy"]["total_joules"] for r in (asleep, awake)]
    assert bills[0] < bills[1]
    assert asleep.summary["wait"]["mean"] > awake.summary["wait"]["mean"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"ResumeTimeout": 39}, "ResumeTimeout=39: node 'n1' takes 40 s to boot"),
        ({"SuspendTimeout": 1}, "SuspendTimeout=1: node 'n1' takes 2 s to power down"),
        ({"SuspendTime": "soon"}, "SuspendTime=soon: give a whole number below 1e9, or INFINITE"),
        ({"SuspendRate": "-3"}, "SuspendRate=-3: give a whole number"),
        ({"SuspendExcNodes": "n1:two"}, "is no list of nodes"),
        ({"SuspendExcStates": "SAD"}, "'SAD' is none of"),
    ],
)
def test_what_cannot_be_is_refused(lines, message):
    with pytest.raises((OptionError, ClusterError), match=message.replace("[", r"\[")):
        run(log((0, 1, 1, 60)), **lines)


def test_sleep_of_other_policies_is_refused_with_the_line_to_set():
    with pytest.raises(
        OptionError, match=r"sleep: has no meaning with policy slurm: .* slurm.SuspendTime"
    ):
        sojourn.simulate(
            log((0, 1, 1, 60)), machine(), sojourn.slurm(plain_conf(1)), sleep="idle:600"
        )


def test_whoever_is_taken_back_while_its_node_boots_leaves_it_to_the_next():
    # The second job goes at 215; its node is up at 240 all the same, and the third has it at 250.
    jobs = log((0, 1, 20, 60), (200, 1, 20, 60), (250, 1, 20, 60))
    jobs = jobs.replace(cancel_after=np.array([-1.0, 15.0, -1.0]))
    result = run(jobs, SchedulerParameters="batch_sched_delay=0")
    table = result.node_states
    assert table.state.tolist() == ["entering", "sleep", "leaving"]
    assert table.end.tolist() == [53.0, 200.0, 240.0]
    assert result.jobs.start.tolist() == [0.0, 215.0, 250.0]
    assert result.jobs.end.tolist() == [20.0, 215.0, 270.0]
    assert result.jobs.status.tolist() == ["completed", "killed", "completed"]


def test_sweeps_compare_and_say_it(tmp_path, capsys):
    (tmp_path / "slurm.conf").write_text(
        "SuspendTime=300\nResumeTimeout=120\nSuspendExcNodes=n1\n"
        "NodeName=n[1-4] CPUs=1\nPartitionName=main Nodes=ALL Default=YES\n"
    )
    rows = "".join(
        f"{k + 1} {700 * k} -1 60 {1 + k % 3} -1 -1 {1 + k % 3} 120 -1 1 1 1 1 1 -1 -1 -1\n"
        for k in range(12)
    )
    (tmp_path / "log.swf").write_text(rows)
    given = [str(tmp_path / "log.swf"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    assert main(["simulate", *given, "--policy", "slurm"]) == 0
    shown = capsys.readouterr().out
    assert "SuspendTime=300" in shown
    assert "SuspendExcNodes=n1" in shown
    assert "boots" in shown
    sweep = ["--set", "slurm.SuspendTime=60,600,INFINITE"]
    assert main(["compare", *given, "--policies", "slurm", *sweep]) == 0
    shown = capsys.readouterr().out
    assert "SuspendTime=INFINITE" in shown
    out = str(tmp_path / "plots")
    assert main(["simulate", *given, "--policy", "slurm", "--plots", "--out", out]) == 0
    assert (tmp_path / "plots" / "node-states.png").exists()
    assert main(["simulate", *given, "--policy", "slurm", "--sleep", "idle:60"]) == 2
    assert "SuspendTime" in capsys.readouterr().err
