"""Jobs that fail, as others' tests have them: OpenDC's case, the rule of LANL's fork of Batsim."""

import math

import numpy as np
import pytest

import sojourn
from sojourn.cluster import Cluster, Node, PowerStates, Server
from sojourn.policy import Checkpoint

TASK = {"submit": [0], "runtime": [600], "procs": [1], "estimate": [600]}


def opendc(**options):
    """A task of 600 s on a node of 150 W that fails at 300 s for 300 s, and draws 100 W then."""
    server = Server(
        model="made",
        cores=1,
        ops=100.0,
        watts=(150.0,) * 11,
        states=PowerStates(failed_watts=100.0),
    )
    cluster = Cluster.of([Node("n1", server)], reference_ops=100.0)
    failure = [{"time": 300, "kind": "down", "nodes": "n1", "until": 600}]
    return sojourn.simulate(
        sojourn.Jobs(TASK), cluster, "fcfs", events=failure, node_failure="requeue", record=True,
        **options,
    )  # fmt: skip


def test_opendc_without_checkpoints():
    result = opendc()
    assert result.end.tolist() == [1200.0]
    energy = result.summary["energy"]
    assert energy["total_joules"] == 165_000.0
    assert energy["failed_joules"] == 30_000.0
    assert energy["busy_joules"] == 135_000.0


def test_opendc_with_checkpoints():
    result = opendc(checkpoint=Checkpoint(60, dump=1, restore=0))
    assert result.end.tolist() == [965.0]
    costs = result.summary["failures"]
    hour = 3600.0
    assert costs["lost_core_hours"] * hour == pytest.approx(56)
    assert costs["dump_core_hours"] * hour == pytest.approx(9)
    assert costs["useful_core_hours"] * hour == pytest.approx(600)
    assert costs["availability"] == pytest.approx(1 - 300 / 965)
    assert costs["lost_kwh"] == pytest.approx(56 * 150 / 3.6e6)
    # 965 s, of which it is down for 300.
    assert result.summary["energy"]["total_joules"] == pytest.approx(665 * 150 + 300 * 100)


@pytest.mark.parametrize("work", [1, 59, 60, 61, 600, 659, 3600, 86_400])
@pytest.mark.parametrize(("every", "dump"), [(60, 1), (600, 30), (3600, 120)])
def test_lanl_counts_a_dump_at_the_end(work, every, dump):
    jobs = sojourn.Jobs({"submit": [0], "runtime": [work], "procs": [1]})
    rule = Checkpoint(every, dump, at_end=True)
    taken = sojourn.simulate(jobs, 1, "fcfs", checkpoint=rule).end[0]
    assert taken == work + math.floor(work / every) * dump
    # Ours has one less where the work is a multiple of the interval.
    usual = sojourn.simulate(jobs, 1, "fcfs", checkpoint=Checkpoint(every, dump)).end[0]
    assert usual == work + (math.ceil(work / every) - 1) * dump
    assert taken - usual == (dump if work % every == 0 else 0)


def test_dumps_of_fractions_are_counted_exactly():
    rule = Checkpoint(0.1, dump=0.1)
    work = np.array([0.1, 0.2, 0.3, 0.7, 1.0])
    every = np.full(5, 0.1)
    assert rule.dumps(work, every).tolist() == [0, 1, 2, 6, 9]
