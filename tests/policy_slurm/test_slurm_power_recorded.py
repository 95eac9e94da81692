"""A stream that went through Slurm 22.05.8 with four virtual nodes and SuspendTime=20.

Resuming a node restarted its daemon, after 5 s on n1 and n2, 12 s on n4 and 40 s on n3. Recorded in
real time, on a machine on which others were at work. Times are seconds after a whole one.
"""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cluster import Cluster, Node, Server
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.jobs.formats.slurm_fields import expand_nodes
from sojourn.policy.slurm import Pace, plain_conf

# Submit, nodes asked for, runtime (s), limit (min); the nodes it got, and the second of its start.
JOBS = (
    (2.0, 2, 10, 1, "n[1-2]", 4),
    (5.01, 1, 40, 1, "n3", 7),
    (61.01, 3, 15, 1, "n[1-3]", 89),
    (63.0, 2, 20, 2, "n[1-2]", 104),
    (71.0, 1, 5, 1, "n4", 119),
    (86.01, 4, 10, 1, "n[1-4]", 240),
    (171.03, 2, 8, 1, "n[1-2]", 251),
    (250.99, 1, 30, 1, "n3", 251),
    (252.99, 1, 10, 1, "n4", 254),
    (275.99, 2, 20, 1, "n[1-2]", 276),
    (331.01, 4, 5, 1, "n[1-4]", 390),
    (421.01, 3, 5, 1, "n[1-3]", 510),
    (422.01, 1, 60, 2, "n4", 480),
)
SUSPENDED = (
    (25.3, "n4"), (35.3, "n[1-2]"), (125.7, "n3"), (145.7, "n[1-2,4]"), (292.1, "n4"),
    (307.2, "n3"), (317.2, "n[1-2]"), (416.5, "n[1-4]"), (536.0, "n[1-3]"),
)  # fmt: skip
RESUMED = (
    (62.4, "n[1-2]"), (88.5, "n4"), (171.7, "n[1-4]"), (332.2, "n[1-4]"), (451.7, "n[1-4]"),
)  # fmt: skip
BOOTS = {"n1": 5.7, "n2": 5.7, "n3": 40.7, "n4": 12.7}
APART = 2.5  # s: rounds of the loops took 1.002 to 1.03 s, and drift


@pytest.fixture(scope="module")
def result():
    def node(name, boot):
        sleep = SleepState("off", 10.0, enter=1.0, leave=boot)
        server = Server(name, cores=1, watts=(95, 190), states=PowerStates(sleep=(sleep,)))
        return Node(name, server)

    cluster = Cluster.of(node(name, boot) for name, boot in BOOTS.items())
    submit, procs, runtime, limit, *_ = (list(column) for column in zip(*JOBS, strict=True))
    columns = {"submit": submit, "procs": procs, "runtime": runtime}
    jobs = sojourn.Jobs({**columns, "estimate": [60 * minutes for minutes in limit]})
    pace = Pace(started=-1.55, epoch=2888, zero=0.0, latency=0.0, nap=0.0055)
    lines = {"SuspendTime": 20, "SuspendTimeout": 5, "ResumeTimeout": 120}
    policy = sojourn.slurm(plain_conf(4), **lines).with_pace(pace, 0.05, 0.05)
    return sojourn.simulate(jobs, cluster, policy, clean=())


def test_jobs_get_the_nodes_that_slurm_gave_them_and_start_when_it_started_them(result):
    table = result.allocations
    for job, (*_, nodes, _) in zip(result.jobs.job, JOBS, strict=True):
        assert sorted(table[table.job == job].node) == sorted(expand_nodes(nodes)), job
    apart = np.abs(np.floor(result.jobs.start) - [row[-1] for row in JOBS])
    assert apart.max() <= APART
    assert apart.mean() <= 1.2


@pytest.mark.parametrize(("state", "recorded"), [("entering", SUSPENDED), ("leaving", RESUMED)])
def test_nodes_are_switched_when_slurm_switched_them(result, state, recorded):
    table = result.node_states
    table = table[table.state == state].sort_values("begin", kind="stable")
    real = sorted((at, name) for at, names in recorded for name in expand_nodes(names))
    # The run ends with its last job.
    real = [(at, name) for at, name in real if at < float(result.jobs.end.max())]
    assert len(table) == len(real)
    for name in BOOTS:
        ours = table[table.node == name].begin.to_numpy()
        assert np.abs(ours - [at for at, who in real if who == name]).max() <= APART, name
