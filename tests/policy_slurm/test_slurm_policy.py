"""Slurm as a policy like any other: simulated, compared, measured, billed."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError, PolicyError
from sojourn.policy import parse_policy
from sojourn.policy.slurm import (
    Pace,
    cluster_of,
    conf_on,
    node_table,
    plain_conf,
    read_requests,
    read_slurm_conf,
    read_table,
    schedule,
)
from sojourn.run.simulate import prepare

CONF = """
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10,bf_max_job_test=50,bf_continue
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=500
AccountingStorageType=accounting_storage/slurmdbd
PreemptType=preempt/partition_prio
NodeName=n[1-3] CPUs=8 RealMemory=1000 Feature=ib
NodeName=g[1-2] CPUs=4 RealMemory=2000 Gres=gpu:2 Feature=ib,gpu
PartitionName=cpu Nodes=n[1-3],g[1-2] Default=YES MaxTime=100 DefMemPerCPU=10
PartitionName=gpu Nodes=g[1-2] MaxTime=50 PriorityJobFactor=5
"""
SWITCHES = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=g[1-2]\n"


def submits(count=120, seed=1):
    """Submit commands that crowd the site: narrow and wide, with GPUs, exclusive, cut at limits."""
    rng = np.random.default_rng(seed)
    lines, at = [], 0.0
    for k in range(count):
        at += float(rng.exponential(25.0))
        run = float(rng.choice([5.0, 60.0, 200.0, 900.0]))
        words = [f"-J job_{k}", f"-sim-walltime {run if rng.random() < 0.9 else -1}"]
        words += [f"--uid=user{rng.integers(4)}", f"-A account{rng.integers(2)}"]
        words += [f"-t {max(1, int(run / 60 * rng.choice([0.8, 1.2, 3.0])) + 1)}"]
        if rng.random() < 0.2:
            words += ["-p gpu", "-n 2", f"--gres=gpu:{rng.integers(1, 3)}", "--mem=200"]
        else:
            words += ["-p cpu", f"-n {rng.choice([1, 2, 4, 8])}", f"-N {rng.integers(1, 3)}"]
            words += ["--exclusive"] if rng.random() < 0.15 else []
        lines.append(f"-dt {at:.2f} -e submit_batch_job | {' '.join(words)} some.job")
    return "\n".join(lines) + "\n"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.events").write_text(submits())
    return tmp_path


@pytest.fixture
def jobs(site):
    return sojourn.read_log(site / "jobs.events")


def test_it_starts_jobs_as_the_model_does_to_the_bit(site, jobs):
    policy = sojourn.slurm(site / "slurm.conf")
    pace = Pace(started=-3.3, epoch=17)
    table = node_table(policy.conf)
    requests = read_requests(site / "jobs.events", policy.conf, table)
    drawn = np.random.default_rng(1).random((2, len(jobs)))
    told = schedule(policy.conf, table, requests, pace=pace, launch=drawn[0], completion=drawn[1])
    result = sojourn.simulate(jobs, None, policy.with_pace(pace, *drawn), clean=())
    assert np.array_equal(result.start, told.start)
    assert np.array_equal(result.end, told.end)
    rows = result.allocations.groupby("job", observed=True)["node"].agg(tuple)
    assert rows.loc[jobs.job].tolist() == list(told.nodes)
    loops = np.array(["", "main", "backfill"])[told.by]
    assert result.jobs["started_by"].tolist() == loops.tolist()
    assert set(loops) == {"main", "backfill"}


@pytest.mark.parametrize("name", ["rt_fcfs", "rt_easy", "rt_bfdef", "mid_easy_x1", "q61_easy"])
def test_streams_of_a_real_slurm_go_the_same_way(data_dir, name):
    conf = plain_conf(16, read_slurm_conf(data_dir / "slurm" / f"{name}.slurm.conf"))
    stream = data_dir / "slurm" / f"wl_{name.split('_')[0]}.csv"
    table = node_table(conf)
    told = schedule(conf, table, read_requests(stream, conf, table))
    result = sojourn.simulate(read_table(stream)[0], None, sojourn.slurm(conf), clean=())
    assert np.array_equal(result.start, told.start)
    assert np.array_equal(result.end, told.end)


def test_a_log_of_500_jobs_goes_the_same_way(data_dir):
    conf = read_slurm_conf(data_dir / "sacct" / "slurm.conf")
    log = data_dir / "sacct" / "micro_real_slurm_run_slurm_acct.out"
    table = node_table(conf)
    requests = read_requests(log, conf, table)
    pace = Pace(epoch=int(requests.origin))
    told = schedule(conf, table, requests, pace=pace)
    result = sojourn.simulate(read_table(log)[0], None, sojourn.slurm(conf), clean=())
    assert np.array_equal(result.start, told.start)


def test_a_run_has_all_that_others_have(site, jobs):
    (site / "topology.conf").write_text(SWITCHES)
    (site / "slurm.conf").write_text(f"{CONF}TopologyPlugin=topology/tree\n")
    policy = sojourn.slurm(site / "slurm.conf", bf_interval=20)
    assert len(policy.cluster.switches) == 2
    result = sojourn.simulate(jobs, None, policy, record=True, price=0.2)
    summary = result.summary
    assert summary["policy"] == "slurm[bf_interval=20]"
    assert summary["nodes"] == 5
    assert summary["procs"] == 32
    assert 0 < summary["utilisation"] <= 1
    assert summary["killed"] > 0
    assert summary["completed"] + summary["killed"] == len(jobs)
    assert set(summary["partitions"]) == {"cpu", "gpu"}
    assert summary["resources"]["gpu"]["used"] > 0
    assert summary["energy"]["cost"] > 0
    assert any("preempt" in what for what in summary["not_modelled"])
    assert len(result.by("user")) == 4
    # Rows are written where something changed, from the first submit to the last end.
    time = result.trajectory["time"].to_numpy()
    assert (np.diff(time) > 0).all()
    assert time[0] == jobs.submit[0]
    assert time[-1] == pytest.approx(result.end.max())
    assert len(time) < 6 * len(jobs)
    assert (result.fragmentation["cores_used"] <= 32).all()


def test_nobody_is_beside_a_job_that_has_its_nodes_to_itself(site, jobs):
    result = sojourn.simulate(jobs, None, sojourn.slurm(site / "slurm.conf"))
    rows = result.allocations
    alone = set(jobs.job[jobs["whole_node"] == 1].tolist())
    assert alone
    for _, mine in rows[rows["job"].isin(alone)].iterrows():
        beside = rows[
            (rows["node"] == mine["node"])
            & (rows["job"] != mine["job"])
            & (rows["start"] < mine["end"])
            & (rows["end"] > mine["start"])
        ]
        assert beside.empty, (mine, beside)


def test_jobs_that_are_taken_back_or_refused(site):
    head = "submit,runtime,procs,estimate,partition,cancel_after,nodes\n"
    rows = "0,100,24,200,cpu,-1,3\n1,50,24,60,cpu,20,3\n2,50,8,60,cpu,-1,9\n3,500,8,600,cpu,30,1\n"
    (site / "jobs.csv").write_text(head + rows)
    jobs = sojourn.read_log(site / "jobs.csv")
    result = sojourn.simulate(jobs, None, sojourn.slurm(site / "slurm.conf"), clean=())
    table = result.jobs
    assert table["status"].tolist() == ["completed", "cancelled", "unaccepted", "cancelled"]
    assert table["reason"].tolist() == ["", "", "partition", ""]
    assert np.isnan(table["start"][1])
    assert np.isnan(table["end"][1])
    assert result.summary["unaccepted"] == 1


def test_any_line_is_a_parameter(site):
    policy = sojourn.slurm(site / "slurm.conf", bf_interval=120.0, priorityweightage=5)
    assert str(policy) == "slurm[bf_interval=120,PriorityWeightAge=5]"
    assert policy.conf.scheduling.backfill_period == 120
    assert policy.conf.number("PriorityWeightAge", 0) == 5
    again = policy.with_parameters({"bf_interval": 30})
    assert str(again) == "slurm[bf_interval=30,PriorityWeightAge=5]"
    for changes, words in (
        ({"bf_intervall": 3}, "'bf_intervall' is nothing that the model reads; did you mean "
         "'bf_interval'"),
        ({"bf_interval": "soon"}, "bf_interval=soon: give a whole number"),
        ({"SchedulerType": "sched/none"}, "choose sched/backfill or sched/builtin"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=words):
            policy.with_parameters(changes)


def test_what_is_refused_is_said_in_a_line(site, jobs):
    policy = sojourn.slurm(site / "slurm.conf")
    for option, value in (
        ("rate", 2.0), ("passes", "event"), ("placement", "best-fit"), ("decisions", True),
        ("sleep", "idle:60"),
        ("rate", {"n*": 0.9}), ("sleep_rate", 6), ("wake_rate", 6), ("boot_failure", 0.1),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=f"{option}: has no meaning with policy slurm"):
            sojourn.simulate(jobs, None, policy, **{option: value})
    with pytest.raises(OptionError, match="cannot be stepped"):
        prepare(jobs, None, policy, stop_at_decisions=True)
    with pytest.raises(PolicyError, match="give slurm:FILE, --slurm-conf FILE"):
        parse_policy("slurm")
    with pytest.raises(OptionError, match="cluster: none is given"):
        sojourn.simulate(jobs, None, "easy")
    assert parse_policy(f"slurm:{site / 'slurm.conf'}").conf.path == str(site / "slurm.conf")


def test_it_is_compared_with_others_on_its_own_machine(site, jobs):
    policy = sojourn.slurm(site / "slurm.conf")
    found = sojourn.compare(
        jobs, None, [policy, "easy", policy.with_parameters({"bf_interval": 60})]
    )
    assert found.table.index.tolist() == ["slurm", "easy", "slurm[bf_interval=60]"]
    assert (found.table["wait_mean"] > 0).all()


def test_another_cluster_takes_the_place_of_the_sites_own(site, jobs):
    policy = sojourn.slurm(site / "slurm.conf")
    mine = cluster_of(policy.conf)
    here = sojourn.simulate(jobs, None, policy)
    there = sojourn.simulate(jobs, sojourn.read_cluster(site / "slurm.conf"), policy)
    assert np.array_equal(here.start, there.start)
    again = conf_on(mine, policy.conf)
    assert [node.name for node in again.nodes] == ["g1", "g2", "n1", "n2", "n3"]
    assert [part.factor for part in again.partitions] == [1, 5]
    nodes = [*mine.nodes, *(sojourn.Node(f"n{k}", mine.nodes[2].server) for k in (4, 5))]
    larger = sojourn.Cluster.of(nodes)
    assert sojourn.simulate(jobs, larger, policy).summary["wait"]["mean"] < 0.9 * float(
        here.summary["wait"]["mean"]
    )


def test_limits_are_exact_or_run_over_where_asked_for(site, jobs):
    policy = sojourn.slurm(site / "slurm.conf")
    ended = jobs[jobs["to_the_limit"] == 0]
    assert sojourn.simulate(ended, None, policy).summary["killed"] > 0
    run = sojourn.simulate(ended, None, policy, over_limit="run")
    assert run.summary["killed"] == 0
    assert run.end - run.start == pytest.approx(ended.runtime)
    exact = sojourn.simulate(ended, None, policy, estimates="exact")
    assert exact.summary["killed"] == 0


def test_a_file_in_the_name_is_refused_where_it_is_a_key(site, capsys):
    assert main(["simulate", "log.swf", "--policy", f"slurm:{site / 'slurm.conf'}"]) == 2
    assert "write slurm, and name the file with slurm.conf (--slurm-conf FILE)" in (
        capsys.readouterr().err
    )
