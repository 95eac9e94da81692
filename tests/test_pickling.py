"""Public objects go to other processes and come back the same; so do copies."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import math
import pickle
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn import adequacy, capacity, errors, policy, study, theory
from sojourn import jobs as workload
from sojourn.adequacy.matching import StreamError
from sojourn.cluster import (
    ClusterReport,
    Partition,
    PowerCap,
    PowerLevel,
    PowerSaving,
    PowerStates,
    Queue,
    Rack,
    Remark,
    Server,
    SleepState,
)
from sojourn.measures.cost import Clock
from sojourn.measures.energy import (
    NodeState,
    Occupation,
    OtherStates,
    beside_cap,
    bill_nodes,
    state_ledger,
)
from sojourn.policy.slurm import plain_conf
from sojourn.report import Pieces
from sojourn.theory import fit

MODULES = (
    *(
        "",
        ".adequacy",
        ".measures.energy",
        ".capacity",
        ".cluster",
        ".measures.cost",
        ".run.folder",
        ".policy",
    ),
    *(".report", ".study", ".theory", ".theory.fit", ".jobs"),
)
APART = {
    "sojourn.cluster.power.Power",  # Says what a power model has.
    "sojourn.adequacy.replaying.Replay",  # Made below, from files.
    "sojourn.run.step.Simulation",  # Below, with what it does next.
}


@sojourn.score
def widest_first(jobs, j, now, theta):
    return -float(jobs.procs[j])


@sojourn.score(theta=(3.0,))
def patient(jobs, j, now, theta):
    return jobs.estimate[j] - theta[0] * (now - jobs.submit[j])


def plain(jobs, j, now, theta):
    return float(jobs.procs[j])


@sojourn.score
def coolest(nodes, n, jobs, j, now, theta):
    return nodes.watts[n]


@sojourn.control(initial=0.7, rates=(0.7, 1.0))
def in_a_hurry(state, now, theta):
    return 1.0 if state.waiting > 2 else 0.7


@cache
def jobs() -> sojourn.Jobs:
    drawn = sojourn.apply_estimates(sojourn.lublin(60, 16, load=0.8, seed=1), "factor")
    return sojourn.clean(drawn)


@cache
def sleepy_cluster() -> sojourn.Cluster:
    states = PowerStates((SleepState("off", 9.0, leave=60.0, leave_watts=99.0),))
    server = sojourn.Server("made", 1, ops=1.0, watts=(90, 190), states=states)
    return sojourn.Cluster.of([sojourn.Node(f"n{i}", server) for i in range(16)])


def cluster() -> sojourn.Cluster:
    return sojourn.parse_cluster("3 x X5670, 2 x L5420")


def divided() -> sojourn.Cluster:
    nodes = [Server("thin", 16, memory=32.0), Server("gpu", 16, resources={"gpu:a100": 2})]
    return sojourn.Cluster.of(
        nodes,
        pools={"matlab": 4},
        partitions=[Partition("all", (0, 1), default=True), Partition("gpu", (1,), max_time=3600)],
        queues=[Queue("main"), Queue("fast", ("gpu",), "sjf", priority=3.0)],
        between="round-robin",
        caps=[PowerCap("rack", (1,), 400.0)],
        racks=[Rack("room", (0, 1))],
    )


def scenario() -> study.Scenario:
    return study.Scenario.from_mapping(
        {
            "workload": {"model": "lublin", "jobs": 30, "load": 0.7},
            "cluster": {"procs": 16},
            "control": {"kind": "threshold", "rates": [0.6, 1.0], "k": 1e5},
        },
        folder="/",  # Another process may be in another folder: it gets a whole path.
    )


def stream(start: list[float], end: list[float]) -> adequacy.JobStream:
    columns = {"submit": [0, 1, 2, 3], "nodes": [3, 4, 1, 1], "label": list("abcd")}
    return adequacy.JobStream.of(start=start, end=end, **columns)


def asleep() -> list[Any]:
    """Nodes with states, and what they used."""
    states = PowerStates((SleepState("off", 9.0),), (PowerLevel(1, 190.0),), 1.0)
    on = NodeState("on", 95.0, (95.0, 190.0))
    busy = Occupation([0.0], [1.0], [0])
    ledger = state_ledger([0.0], [0], [0], [on], busy)
    changes = pd.DataFrame({"time": [0.0], "node": [0], "state": [0]})
    run = adequacy.BatsimReplay(ledger, ledger, {"makespan": 1.0}, np.ones(1), changes)
    off = OtherStates(*(np.arange(n) for n in (1, 2, 1, 1, 1)))
    return [Server("thin", 4, states=states), PowerSaving(600.0), on, busy, off, ledger, run]


def examples() -> list[Any]:
    """What holds an instance of each public class, or is one."""
    swept = study.sweep(scenario(), {"control.k": [0, 1e5]}, 3, workers=1)
    real = stream([0, 10, 2, 15], [10, 15, 9, 20])
    other = stream([0, 10, 15, 15], [10, 15, 22, 20])
    compared = adequacy.compare_streams(real, other)
    asked = policy.Constraints(memory_per_core=100.0)
    outcomes = fit.classify(jobs())
    one = [[0.0], [1.0], [0, 1], [0], [1], [1], [np.arange(11.0)], [0.0], [1.0]]
    return [
        *(errors.SojournError("a"), errors.InputError("b"), errors.PolicyError("c")),
        *(errors.OptionError("d"), errors.RunError("e"), errors.JobError(3, "procs", "0")),
        errors.LogError("log.swf", "no", line=3, field="procs"),
        errors.ClusterError("c.csv", "no"),
        StreamError("real", "7", "no"),
        *(widest_first, patient, patient.with_theta(5), policy.Score(plain, (1.0,)), coolest),
        *(policy.ORDERS["sjf"], policy.parse_policy("sjf+easy:2"), policy.Policy(patient, "easy")),
        *(in_a_hurry, sojourn.threshold([0.8, 1.0], 1e5), sojourn.randomized(0.5, 1, 0.2, 0.3)),
        sojourn.policy.by_domain({"gpu": "count:0.8,1:2:5", "cpu": 0.9}),
        *sojourn.PLACEMENTS.values(),
        policy.parse_placement(coolest),
        *(asked, asked.of(jobs())),
        *(jobs(), jobs().header, workload.events_of(jobs())),
        workload.ExternalEvents((workload.ExternalEvent("cancel", 5.0, 3),)),
        *(cluster(), sojourn.Cluster.homogeneous(16), sojourn.XEON_5430, cluster().columns),
        divided(),
        *(sojourn.ConstantPower(), sojourn.ScaledPower(), sojourn.RatePower({1.0: (2.0, 1.0)})),
        ClusterReport("c.csv", "CSV", 1, 1, 1, (Remark("repaired", "a", (1,)),)),
        *(sojourn.parse_tariff("0.1"), sojourn.parse_carbon("300"), Clock()),
        *(sojourn.Prices(np.zeros(1), np.ones(1)), policy.Deferral("window", 60.0)),
        sojourn.simulate(jobs(), 16, price="0.1, 8:0.2", defer="pieces:9h"),
        *(sojourn.Cap((2e3, 1e3), (0, 60)), beside_cap([0, 1], [5, 0], [0], [9])),
        sojourn.simulate(jobs(), 16, "easy"),
        sojourn.simulate(jobs(), cluster(), "sjf+easy", placement="lowest-energy"),
        sojourn.simulate(jobs(), 16, widest_first, rate=in_a_hurry),
        sojourn.simulate(jobs(), None, sojourn.slurm(plain_conf(16))),
        sojourn.simulate(jobs(), 16, "easy", failures="mtbf=9d", checkpoint="daly"),
        sojourn.compare(jobs(), 16, ["fcfs", "easy"]),
        sojourn.diff(sojourn.Cluster.homogeneous(16), cluster(), jobs(), draws=2),
        study.sleep_savings(jobs(), sleepy_cluster(), idle_times=(0.0, 60.0), draws=2),
        *(sojourn.after_idle(60), sojourn.keep_awake(2, 60)),
        sojourn.simulate(jobs(), sleepy_cluster(), "easy", sleep="idle:60"),
        *(scenario(), swept, *swept.points(), study.Precision("wait_mean", 0.1)),
        study.Grid.of({"control.k": "0:1:0.5"}),
        study.optimise(
            *(scenario(), ["control.k=0:3e5"], ["wait_mean"]),
            population=4,
            generations=1,
            replications=2,
            workers=1,
        ),
        *(study.parse_range("control.k=0:1"), study.mser(np.arange(50.0) % 7)),
        study.compare_pairs({"a": [1.0, 2, 3], "b": [2.0, 3, 5]}, "a"),
        *(theory.stability_bounds([0.5, 0.5]), theory.driving_sequence(jobs())),
        theory.estimate_stability_constant([0.5, 0.5], 100),
        *(theory.infinite_servers(1, 1, 0.1, theory.geometric(0.5)), theory.Recursion(3)),
        *(theory.kaufman_roberts(3, [1, 0.5], [1, 2]), theory.response_time(0.3, [0.5, 0.5])),
        theory.sleeping_servers(0.5, setup=10.0),
        theory.sleeping_nodes(0.5, setup=10.0),
        *(theory.saturated_system([0.5, 0.5]), theory.small_system(0.3, [0.5, 0.5])),
        *(theory.sleeping_servers(0.3, setup=1.0), theory.sleeping_server(0.3, setup=1.0)),
        theory.sleeping_two_server(0.3, 0.5, setup=1.0),
        *(
            capacity.stability(jobs(), 16, replications=2, batch=50),
            capacity.parse_target("p95=1h"),
        ),
        *(capacity.log_backlog(jobs(), 50, 2), capacity.plan(jobs(), step=4)),
        capacity.saturated_throughput(jobs(), servers=16, jobs=50, replications=2),
        capacity.time_limits(jobs()),
        *(real, compared, adequacy.judge(compared, limit=1.0), adequacy.CALIBRATED),
        adequacy.first_divergence(adequacy.match_streams(real, other)),
        adequacy.reference_value([real, other]),
        *(outcomes, fit.fit_widths(jobs().procs), bill_nodes(*one)),
        fit.fit_rates(jobs().runtime, np.ones(60, bool), np.zeros(60, bool)),
        Pieces(*(np.arange(3),) * 3),
        *asleep(),
        sojourn.shift_emissions([3.0, 1.0, 2.0], length=3600, slack=3600),
    ]


def parts(value: Any) -> dict[Any, Any] | None:
    """What a container, or an object of ours, is made of, by name; None of any other."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if not type(value).__module__.startswith(("sojourn", "test_pickling")):
        return None
    if dataclasses.is_dataclass(value):  # Without what it works out when asked.
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    inside = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**inside, **getattr(value, "__dict__", {})}


def check_same(one: Any, other: Any, where: str) -> None:
    assert type(one) is type(other), where
    if isinstance(one, BaseException):
        assert (str(one), one.args, vars(one)) == (str(other), other.args, vars(other)), where
        return
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        # What is not filled yet may hold anything, nan among it.
        for name in one.dtype.names or (...,):
            np.testing.assert_array_equal(one[name], other[name], where, strict=True)
        return
    mine, theirs = parts(one), parts(other)
    if mine is None or theirs is None:
        equal = one.equals(other) if hasattr(one, "equals") else one == other
        assert equal or (one != one and other != other), where
        return
    assert mine.keys() == theirs.keys(), where
    for name, part in mine.items():
        check_same(part, theirs[name], f"{where}.{name}")


def classes_in(value: Any, seen: dict[int, Any]) -> set[type]:
    """Of which classes there are instances in a value."""
    if id(value) in seen:
        return set()
    seen[id(value)] = value
    inside = [classes_in(part, seen) for part in (parts(value) or {}).values()]
    return {type(value)}.union(*inside)


def name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def test_every_public_object_survives() -> None:
    seen: set[type] = set()
    for example in examples():
        where = name_of(type(example))
        check_same(example, pickle.loads(pickle.dumps(example)), where)
        check_same(example, copy.deepcopy(example), where)
        seen |= classes_in(example, {})
    modules = [importlib.import_module(f"sojourn{name}") for name in MODULES]
    public = [getattr(module, name) for module in modules for name in module.__all__]
    classes = {kind for kind in public if inspect.isclass(kind)}
    assert {name_of(kind) for kind in classes - seen} == APART


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("order", [widest_first, patient.with_theta(2), policy.Score(plain)])
def test_a_score_orders_as_before(order: policy.Score) -> None:
    before = sojourn.simulate(jobs(), 16, policy.Policy(order, "easy"))
    received = again(order)  # After it was compiled.
    assert "pointer" not in vars(received)
    after = sojourn.simulate(jobs(), 16, again(policy.Policy(received, "easy")))
    assert received.name == order.name
    assert again(before).summary == before.summary == after.summary
    np.testing.assert_array_equal(after.jobs["start"], before.jobs["start"])


def test_a_control_and_a_placement_choose_as_before() -> None:
    options = {"rate": in_a_hurry, "placement": policy.parse_placement(coolest)}
    before = sojourn.simulate(jobs(), cluster(), "easy", **options)
    after = sojourn.simulate(jobs(), cluster(), "easy", **again(options))
    assert after.summary == before.summary
    np.testing.assert_array_equal(after.jobs["start"], before.jobs["start"])


def test_a_score_of_a_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import sojourn\n@sojourn.score(theta=(2.0,))\n"
        "def mine(jobs, j, now, theta):\n    return theta[0] * jobs.procs[j]\n"
    )
    score = policy.load_score(f"{file}:mine")
    received = again(score.with_theta(3.0))
    assert (received.name, received.theta) == ("mine", (3.0,))
    assert received(jobs(), 0, 0.0) == 3.0 * jobs().procs[0]
    data = pickle.dumps(score)
    file.unlink()
    with pytest.raises(errors.PolicyError, match=r"mine\.py: no such file"):
        pickle.loads(data)


def test_formulas_without_a_name_stay_here() -> None:
    nameless = policy.Score(lambda jobs, j, now, theta: 0.0)

    @sojourn.control
    def inside(state, now, theta):
        return 1.0

    for made in (nameless, inside, replaced):
        with pytest.raises((pickle.PicklingError, AttributeError), match="pickle"):
            pickle.dumps(made)
        assert copy.deepcopy(made) is copy.copy(made) is made


def _replaced(name: str) -> policy.Score:
    def formula(jobs, j, now, theta):
        return 0.0

    formula.__qualname__ = name
    return policy.Score(formula)


replaced = _replaced("plain.replaced")


@pytest.mark.parametrize("steps", [0, 5])
def test_a_simulation_goes_on_from_its_copy(steps: int) -> None:
    run = sojourn.Simulation(jobs(), 16)
    decide(run, steps)
    copies = [again(run), copy.deepcopy(run)]
    decide(run)
    for each in copies:
        decide(each)
        np.testing.assert_array_equal(each.result.jobs["start"], run.result.jobs["start"])


def decide(run: sojourn.Simulation, steps: float = math.inf) -> None:
    """First come, first served, for so many decisions."""
    done = 0
    while done < steps and (decision := run.step()) is not None:
        done += 1
        for j in decision.waiting:
            if decision.jobs.procs[j] > decision.free:
                break
            decision.start(j)


def test_a_replay(tmp_path: Path) -> None:
    conf, table = tmp_path / "slurm.conf", tmp_path / "jobs.csv"
    conf.write_text(CONF)
    table.write_text("id,submit,run,nodes,limit_min\n1,0,60,1,2\n2,1,30,2,2\n")
    played = adequacy.replay(table, conf, nodes=2, members=1)
    check_same(played, again(played), "replay")
    check_same(played, copy.deepcopy(played), "replay")


CONF = """\
SchedulerType=sched/backfill
SelectType=select/linear
PartitionName=all Nodes=ALL Default=YES
"""


def test_notes_stay_with_an_error() -> None:
    error = errors.LogError("log.swf", "no number", line=3, field="procs")
    error.add_note("in the second pass")
    received = again(error)
    assert (received.path, received.line, received.field) == ("log.swf", 3, "procs")
    assert (received.problem, received.__notes__) == ("no number", ["in the second pass"])
