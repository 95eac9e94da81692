"""What jobs ask for: streams, submit commands, and logs of a real run."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.errors import LogError, OptionError
from sojourn.policy.slurm.conf import plain_conf, read_slurm_conf
from sojourn.policy.slurm.nodes import node_table
from sojourn.policy.slurm.requests import read_requests

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
NodeName=n[1-4] CPUs=8 RealMemory=1000 Feature=ib,fast Gres=gpu:2
NodeName=m[1-4] CPUs=4 RealMemory=1000 Feature=ib
PartitionName=p Nodes=ALL Default=YES DefMemPerCPU=10 MaxTime=100
PartitionName=q Nodes=m[1-4] DefMemPerNode=70 OverSubscribe=EXCLUSIVE DefaultTime=5
"""

EVENTS = """\
-dt 0 -e submit_batch_job | -J job_1 -sim-walltime 15 --uid=a -t 00:07:30 -n 12 \
--ntasks-per-node=6 -A x -p p --constraint=ib&fast --gres=gpu:1 some.job
-dt 3 -e cancel_job | 1
-dt 5 -e submit_batch_job | -J job_2 -sim-walltime -1 --uid=b -t 2 -N 2 -n 4 -A y -p q --mem=50
"""

SACCT = (
    "JobID|JobName|User|Account|Partition|Submit|Start|End|State|Timelimit|ReqCPUS|NNodes|ReqMem\n"
    "1|job_1|a|x|p|2024-01-01T00:00:00|2024-01-01T00:00:10|2024-01-01T00:01:00|COMPLETED|00:08:00"
    "|12|2|10Mc\n"
    "2|job_2|b|y|q|2024-01-01T00:00:05|2024-01-01T00:00:10|2024-01-01T00:02:09|TIMEOUT|00:02:00"
    "|4|2|50Mn\n"
    "3|job_3|b|y|q|2024-01-01T00:00:06|Unknown|2024-01-01T00:00:30|CANCELLED|UNLIMITED|4|1|50Mn\n"
    "4|job_4|b|y|q|2024-01-01T00:00:07|2024-01-01T00:00:10|Unknown|RUNNING|00:02:00|4|1|50Mn\n"
    "5|job_5|b|y|q|2024-01-01T00:00:08|Unknown|Unknown|PENDING|00:03:00|4|1|50Mn\n"
)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    conf = read_slurm_conf(tmp_path / "slurm.conf")
    return conf, node_table(conf)


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


def test_submit_commands_tell_everything(site, write):
    found = read_requests(write("jobs.events", EVENTS), *site)
    assert found.label.tolist() == ["1", "2"]
    assert found.submit.tolist() == [0.0, 5.0]
    assert found.run.tolist() == [15.0, math.inf]
    assert found.limit.tolist() == [8, 2]
    assert found.nodes.tolist() == [2, 2]
    assert found.least_nodes.tolist() == [1, 2]
    assert found.cpus.tolist() == [6, 2]
    assert found.memory.tolist() == [60, 50]
    assert found.gpus.tolist() == [1, 0]
    assert found.features.tolist() == [3, 0]
    assert found.partition.tolist() == [0, 1]
    assert found.whole.tolist() == [False, True]
    assert (found.users, found.accounts, found.origin) == (("a", "b"), ("x", "y"), 0.0)
    assert found.said == ("1 events that are no submits: left out",)


def test_gpus_that_the_configuration_does_not_have_are_said(write):
    conf = read_slurm_conf(
        write("slurm.conf", "NodeName=n[1-4] CPUs=6\nPartitionName=p Nodes=ALL\n")
    )
    events = EVENTS.splitlines()[0].replace("--constraint=ib&fast ", "") + "\n"
    found = read_requests(write("jobs.events", events), conf, node_table(conf))
    assert found.gpus.tolist() == [0]
    assert any("no node has Gres" in each for each in found.said)


def test_a_log_says_what_it_lacks_and_is_completed(site, write):
    path = write("log", SACCT)
    found = read_requests(path, *site)
    assert found.origin == 1704067200.0
    # What never started, or has not ended, may need all of its limit.
    assert found.run.tolist() == [50.0, 120.0, 60 * 525600.0, 120.0, 180.0]
    assert found.cancel.tolist() == [math.inf, math.inf, 30.0, math.inf, math.inf]
    assert found.limit.tolist() == [8, 2, 525600, 2, 3]
    assert found.memory.tolist() == [60, 50, 50, 50, 50]
    assert found.least_nodes.tolist() == [2, 2, 1, 1, 1]
    said = "\n".join(found.said)
    for word in ("1 job: cancelled before they started", "2 jobs: not ended in the log",
                 "5 jobs: features are not told", "GPUs are not told",
                 "2 jobs: whether nodes or tasks"):  # fmt: skip
        assert word in said
    both = read_requests(path, *site, complement=write("jobs.events", EVENTS))
    assert both.features.tolist() == [3, 0, 0, 0, 0]
    assert both.gpus.tolist() == [1, 0, 0, 0, 0]
    assert both.least_nodes.tolist() == [1, 2, 1, 1, 1]
    assert both.run[:2].tolist() == [50.0, 120.0]
    assert any(word.startswith("2 of 5 jobs completed") for word in both.said)


def test_a_complement_tells_how_long_a_cancelled_job_would_have_run(site, write):
    stream = write("s.csv", "id,submit,nodes,run,limit_min\n3,6,1,77,9\n")
    assert read_requests(write("log", SACCT), *site, complement=stream).run[2] == 77.0


def test_a_stream_asks_for_whole_nodes(write):
    conf = plain_conf(4)
    path = write("s.csv", "id,submit,nodes,run,limit_min\n2,3.5,2,7.25,1\n1,0,1,5,2\n")
    found = read_requests(path, conf, node_table(conf))
    assert found.label.tolist() == ["1", "2"]
    assert found.nodes.tolist() == [1, 2]
    assert found.whole.all()
    assert (found.run.tolist(), found.limit.tolist()) == ([5.0, 7.25], [2, 1])
    assert found.said == ()


def test_a_stream_may_tell_more(site, write):
    head = "id,submit,nodes,run,limit_min,cpus,memory,gpus,features,partition,user,account\n"
    path = write("s.csv", head + "1,0,2,5,200,3,77,1,fast,p,u,v\n2,1,1,5,1,,,,gone|ib,z,,\n")
    found = read_requests(path, *site)
    assert (found.cpus.tolist(), found.memory.tolist()) == ([3, 1], [77, 10])
    assert (found.gpus.tolist(), found.features.tolist()) == ([1, 0], [2, 0])
    # The partition's limit is the most; one that is not known is the default one.
    assert (found.limit.tolist(), found.partition.tolist()) == ([100, 1], [0, 0])
    said = "\n".join(found.said)
    assert "partition 'z' is not in the configuration" in said
    assert "alternatives" in said


def test_processors_of_a_plain_log_are_spread_over_the_largest_nodes(site, write):
    rest = "-1 1 3 4 -1 1 -1 -1 -1\n"
    swf = f"1 0 -1 60 17 -1 -1 17 120 {rest}2 5 -1 -1 4 -1 -1 4 9 {rest}"
    found = read_requests(write("log.swf", swf), *site)
    assert (found.nodes.tolist(), found.cpus.tolist()) == ([3], [6])
    assert found.said[0].startswith("1 job without processors or runtime")


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("s.csv", "id,submit,nodes,run\n1,0,1,1\n", "no column limit_min"),
        ("s.csv", "id,submit,nodes,run,limit_min\n1,0,none,1,1\n", "line 2, field 'nodes'"),
        ("s.csv", "id,submit,nodes,run,limit_min\n1,0,1,1,1\n1,0,1,1,1\n", "stands twice"),
        ("s.csv", "id,submit,nodes,run,limit_min\n", "no job"),
        ("e", EVENTS + "-dt x\n", "line 4"),
        ("e", EVENTS.replace("-n 12", "-n many"), "line 1"),
    ],
)
def test_what_is_wrong_is_named(site, write, name, text, word):
    with pytest.raises(LogError, match=word):
        read_requests(write(name, text), *site)


def test_a_format_without_requests_is_refused(site, write):
    with pytest.raises(OptionError, match="tells no requests"):
        read_requests(write("x", SACCT), *site, format="pbs")


def test_a_real_run_is_told_alike_by_its_logs_and_its_submits(data_dir):
    folder = data_dir / "sacct"
    conf = read_slurm_conf(folder / "slurm.conf")
    nodes = node_table(conf)
    submits = read_requests(folder / "jobs500.events", conf, nodes)
    logs = [
        read_requests(folder / f"micro_real_slurm_run_{name}", conf, nodes,
                      complement=folder / "jobs500.events")
        for name in ("slurm_acct.out", "jobcomp.log")
    ]  # fmt: skip
    for log in logs:
        assert log.label.tolist() == submits.label.tolist()
        for name in ("submit", "limit", "nodes", "least_nodes", "cpus", "memory", "gpus"):
            assert np.array_equal(getattr(log, name), getattr(submits, name)), name
        assert np.array_equal(log.features, submits.features)
        # Jobs that run until their limit end by themselves, a moment after it.
        own = np.minimum(submits.run, 60.0 * submits.limit)
        assert ((log.run - own >= 0) & (log.run - own <= 1)).all()
    alone = read_requests(folder / "micro_real_slurm_run_slurm_acct.out", conf, nodes)
    assert np.array_equal(alone.memory, submits.memory)
    assert np.array_equal(alone.gpus, submits.gpus)
    assert any("features are not told" in word for word in alone.said)
