"""Ledgers by node, partition, job and class: all of them add up to the same bill."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.cluster import Cluster, Node, Partition, PowerStates, Rack, Server, SleepState
from sojourn.errors import OptionError
from sojourn.measures.formulas import step_integral
from sojourn.run.outcome.ledger import NO_JOB, NOWHERE

OFF = SleepState("off", 9, enter=5, enter_watts=101, leave=20, leave_watts=125)
STATES = PowerStates((OFF,), failed_watts=33)
WATTS = ((95, 190), (95, 190), (60, 200), (100, 400))
MACHINE = replace(
    Cluster.of(
        Node(f"n{k}", Server("s", 4, ops=4e6, watts=watts, states=STATES))
        for k, watts in enumerate(WATTS)
    ),
    partitions=(Partition("a", (0, 1), default=True), Partition("b", (1, 2))),
    racks=(Rack("r1", (0, 1)), Rack("r2", (2,)), Rack("room", (0, 1, 2))),
)
"""The second node is in both partitions, the fourth in none."""


@st.composite
def logs(draw):
    count = draw(st.integers(1, 12))
    columns = {
        "submit": sorted(draw(st.lists(st.integers(0, 900), min_size=count, max_size=count))),
        "runtime": draw(st.lists(st.integers(1, 400), min_size=count, max_size=count)),
        "procs": draw(st.lists(st.integers(1, 8), min_size=count, max_size=count)),
        "user": draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)),
        "partition": draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count)),
    }
    return sojourn.Jobs({**columns, "estimate": np.array(columns["runtime"]) * 2})


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "sleep": st.sampled_from(["idle:0", "idle:30", "keep:1:10"]),
        "failures": st.sampled_from(["mtbf=2000,repair=100", "mtbf=500,repair=50,rack=0.5"]),
        "node_failure": st.sampled_from(["kill", "requeue"]),
        "checkpoint": st.just("every=60,dump=3,restore=5"),
        "price": st.sampled_from(["0.2, 8:0.4, 20:-0.1 EUR"]),
        "carbon": st.integers(0, 400),
        "seed": st.integers(0, 99),
        "rate": st.sampled_from([1.0, "threshold:0.7,1:300"]),
    },
)  # fmt: skip


@given(logs(), OPTIONS)
@settings(deadline=None)
def test_every_ledger_adds_up_to_the_bill(jobs, options):
    options.setdefault("failures", "mtbf=9y") if "checkpoint" in options else None
    # The day begins at 7:59, so that prices change while jobs run.
    result = sojourn.simulate(jobs, MACHINE, "easy", starts="2024-01-01T07:59+00:00", **options)
    energy = result.summary["energy"]
    near = pytest.approx(energy["total_joules"], rel=1e-9)
    assert step_integral(*result.power_steps) == near
    ledgers = {
        by: result.ledger(by) for by in ("node", "partition", "rack", "job", "user", "status")
    }
    for by, ledger in ledgers.items():
        causes = [name for name in ledger if name.endswith("_energy") and name != "lost_energy"]
        assert ledger["energy"].sum() == near
        assert ledger[causes].sum(axis=1).tolist() == pytest.approx(ledger["energy"].tolist())
        for name in causes:
            assert math.isclose(
                ledger[name].sum(), energy[name.replace("_energy", "_joules")],
                rel_tol=1e-9, abs_tol=1e-9 * energy["total_joules"],
            )  # fmt: skip
        if "price" in options:
            size = 1e-9 * energy["total_joules"]
            assert ledger["cost"].sum() == pytest.approx(energy["cost"], rel=1e-9, abs=size)
        if "carbon" in options:
            assert ledger["carbon"].sum() == pytest.approx(1000 * energy["carbon_kg"], rel=1e-9)
        assert (by in ("node", "partition", "rack")) == (NO_JOB not in ledger.index)
        if "failures" in options:
            lost = result.summary["failures"].get("lost_kwh", 0.0)
            assert ledger["lost_energy"].sum() / 3.6e6 == pytest.approx(lost, abs=1e-9)
            assert (ledger["lost_energy"] <= ledger["busy_energy"] * (1 + 1e-9) + 1e-9).all()
    assert list(ledgers["partition"].index) == ["a", "a+b", "b", NOWHERE]
    assert list(ledgers["rack"].index) == ["r1", "r2", NOWHERE]


def test_by_hand():
    """A job of 100 s on a node that boots; it fails at 150 s, is away for 50 s, and begins anew."""
    server = Server("s", 1, ops=1e6, watts=(95, 190), states=STATES)
    machine = Cluster.of((Node("n", server), Node("m", server)))
    jobs = sojourn.Jobs({"submit": [0, 300], "runtime": [200, 10], "procs": [1, 1], "user": [7, 8]})
    run = sojourn.simulate(
        jobs, machine, "fcfs", sleep="idle:30",
        events=[{"time": 150, "kind": "down", "nodes": "n"},
                {"time": 200, "kind": "up", "nodes": "n"}],
        node_failure="requeue",
    )  # fmt: skip
    # m has slept since 30 s: asleep from 35 s on, it boots from 150 to 170 s, and works to 370 s.
    # n is idle from 200 to 300 s but for its sleep: enters at 230 s, sleeps from 235 s, boots from
    # 300 to 320 s, works to 330 s, is idle to 360 s, enters to 365 s and sleeps to 370 s.
    nodes = run.ledger("node")
    assert nodes.loc["m"].to_dict() == {
        "busy_energy": 200 * 190, "lost_energy": 0, "idle_energy": 30 * 95,
        "entering_energy": 5 * 101, "sleep_energy": 115 * 9, "leaving_energy": 20 * 125,
        "failed_energy": 0, "energy": 200 * 190 + 30 * 95 + 5 * 101 + 115 * 9 + 20 * 125,
    }  # fmt: skip
    parts = {
        "busy_energy": 160 * 190, "lost_energy": 150 * 190, "idle_energy": 60 * 95,
        "entering_energy": 10 * 101, "sleep_energy": 70 * 9, "leaving_energy": 20 * 125,
        "failed_energy": 50 * 33,
    }  # fmt: skip
    assert nodes.loc["n"].drop("energy").to_dict() == parts
    users = run.ledger("user")
    assert users["busy_energy"].to_dict() == {"7": 350 * 190, "8": 10 * 190, NO_JOB: 0}
    assert users["lost_energy"].to_dict() == {"7": 150 * 190, "8": 0, NO_JOB: 0}
    assert users["failed_energy"].to_dict() == {"7": 0, "8": 0, NO_JOB: 50 * 33}
    assert run.jobs["lost_energy"].tolist() == [150 * 190, 0]
    assert run.nodes.set_index("node")["energy"].to_dict() == nodes["energy"].to_dict()


def test_counted_processors_have_ledgers_of_jobs():
    power = sojourn.ConstantPower(40, 10)
    machine = sojourn.Cluster.homogeneous(4, power=power)
    jobs = sojourn.Jobs({"submit": [0, 0], "runtime": [10, 20], "procs": [1, 2], "user": [7, 8]})
    run = sojourn.simulate(jobs, machine, "fcfs", carbon=360)
    ledger = run.ledger("user")
    assert ledger["busy_energy"].tolist() == [400, 1600, 0]
    assert ledger["idle_energy"].tolist() == [0, 0, (4 * 20 - 10 - 40) * 10]
    assert ledger["carbon"].sum() == pytest.approx(1000 * run.summary["energy"]["carbon_kg"])
    with pytest.raises(OptionError, match="only counted"):
        run.ledger("node")
    with pytest.raises(OptionError, match="class 'usre': choose from"):
        run.ledger("usre")
    with pytest.raises(OptionError, match="states no energy"):
        sojourn.simulate(jobs, 4).ledger("user")
