"""Rates by domain: what they are equal to, what is billed, read and refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numba import config

import sojourn
from sojourn.cli import main
from sojourn.cluster import (
    Partition,
    PowerStates,
    Queue,
    Rack,
    SleepState,
    read_cluster,
    write_cluster,
)
from sojourn.errors import OptionError
from sojourn.policy import by_domain, domain_texts

POLICIES = ("fcfs", "first-fit", "easy", "easy:2", "easy:inf", "sjf+easy", "wfp3+easy")
RATES = ("2", "count:1,2:2:5", "threshold:0.5,1:40000", "workload:0.5,1,2:9e3,4e4:2e4,9e4")
SLEEPS = PowerStates(sleep=(SleepState("suspend", watts=4, enter=20, leave=90),))
THIN = sojourn.Server(
    "thin", cores=8, ops=8e6, watts=(50, 90, 110, 125, 135, 145, 150, 155, 160, 164, 168)
)
FAT = sojourn.Server(
    "fat", cores=16, ops=24e6, watts=(100, 110, 125, 145, 170, 200, 235, 275, 320, 370, 425)
)


def cluster_of(*servers: sojourn.Server, **more) -> sojourn.Cluster:
    return replace(sojourn.Cluster.of(list(servers)), **more)


MIXED = cluster_of(*[THIN] * 4, *[FAT] * 2)
SPLIT = cluster_of(
    *[THIN] * 4,
    *[FAT] * 2,
    partitions=(Partition("cpu", (0, 1, 2, 3)), Partition("gpu", (4, 5))),
    reference_ops=1e6,
)


PAIR = sojourn.Cluster.of([sojourn.Node("a", THIN), sojourn.Node("b", THIN)])


def work(seed: int = 1, jobs: int = 0, load: float = 0.9) -> sojourn.Jobs:
    # As plain Python the same takes a hundred times as long.
    jobs = jobs or (60 if config.DISABLE_JIT else 150)
    return sojourn.lublin(jobs, 64, load=load, seed=seed, estimates="tsafrir")


def both(jobs, cluster, policy, rate, **options) -> tuple[sojourn.Result, sojourn.Result]:
    """One rate of all servers; the same as that of a domain which has all nodes."""
    names = sorted({node.name for node in cluster.nodes})
    pattern = "*" if len(names) > 1 else names[0]
    one = sojourn.simulate(jobs, cluster, policy, rate=rate, record=True, **options)
    all_nodes = sojourn.simulate(
        jobs, cluster, policy, rate={pattern: rate}, record=True, **options
    )
    return one, all_nodes


def must_agree(one: sojourn.Result, other: sojourn.Result) -> None:
    np.testing.assert_allclose(other.start, one.start, rtol=1e-9)
    np.testing.assert_allclose(other.end, one.end, rtol=1e-9)
    a, b = one.summary, other.summary
    for name in ("mean_workload", "effective_load", "potential_load", "mean_queue"):
        assert b[name] == pytest.approx(a[name], rel=1e-8), name
    assert b["job_wasting"] == pytest.approx(a["job_wasting"], rel=1e-6, abs=1e-9)
    assert b["rate_switches"] == a["rate_switches"]
    for name, value in a["energy"].items():
        if isinstance(value, float):
            assert b["energy"][name] == pytest.approx(value, rel=1e-8), name
    np.testing.assert_allclose(other.rates["time"], one.rates["time"], rtol=1e-9)
    assert other.rates["rate"].tolist() == one.rates["rate"].tolist()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_domain_of_all_nodes_is_as_one_rate_of_all(policy, rate):
    for seed, placement in enumerate(("first-fit", "fastest", "best-fit")):
        one, other = both(work(seed), MIXED, policy, rate, placement=placement)
        must_agree(one, other)
    assert rate == "2" or one.summary["rate_switches"] > 0


@pytest.mark.parametrize("policy", ["easy", "easy:inf", "conservative"])
def test_likewise_where_nodes_sleep(policy):
    sleepy = [replace(server, states=SLEEPS) for server in (*[THIN] * 4, *[FAT] * 2)]
    jobs = work(3, load=0.4)
    one, other = both(jobs, cluster_of(*sleepy), policy, RATES[3], sleep="idle:300")
    assert one.summary["sleep"]
    must_agree(one, other)


@pytest.mark.parametrize("cap", [None, pytest.param(1300, marks=pytest.mark.nightly)])
def test_likewise_where_boots_fail(cap):
    sleepy = [replace(server, states=SLEEPS) for server in (*[THIN] * 4, *[FAT] * 2)]
    options = {"sleep": "idle:300", "boot_failure": 0.2, "cap": cap}
    rate = RATES[3] if cap is None else "count:1,1.25:2:5"
    one, other = both(work(3, load=0.4), cluster_of(*sleepy), "easy", rate, **options)
    assert (one.node_states["state"] == "failed").any()
    assert one.summary["rate_switches"] > 0
    must_agree(one, other)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy:2"])
def test_likewise_under_a_cap(policy):
    one, other = both(work(2), MIXED, policy, "count:1,1.25:2:5", cap=1100)
    assert one.summary["caps"]["cluster"]["exceeded_seconds"] == 0
    assert other.summary["caps"] == one.summary["caps"]
    must_agree(one, other)


@pytest.mark.parametrize("failing", ["kill", "requeue"])
@pytest.mark.parametrize("policy", ["first-fit", "easy", "easy:inf"])
def test_likewise_where_nodes_fail_and_jobs_are_withdrawn(policy, failing):
    jobs = work(4)
    span = float(jobs.submit[-1])
    events = [
        {"time": 0.2 * span, "kind": "down", "nodes": MIXED.nodes[1].name, "until": 0.4 * span},
        {"time": 0.3 * span, "kind": "down", "nodes": MIXED.nodes[4].name, "until": 0.5 * span},
        {"time": 0.35 * span, "kind": "cancel", "job": int(jobs.job[60])},
        {"time": 0.6 * span, "kind": "down", "nodes": MIXED.nodes[0].name, "until": 0.7 * span},
    ]
    one, other = both(jobs, MIXED, policy, RATES[3], events=events, node_failure=failing)
    assert one.summary["rate_switches"] > 0
    must_agree(one, other)


@pytest.mark.nightly
def test_likewise_with_queues():
    queues = (Queue("short", max_procs=8, order="sjf"), Queue("long", default=True, max_running=4))
    jobs = work(5)
    jobs = jobs.replace(queue=np.where(jobs.procs <= 8, 1, 2))
    one, other = both(jobs, replace(MIXED, queues=queues), "easy", RATES[1])
    must_agree(one, other)


def parted(seed: int) -> sojourn.Jobs:
    """Jobs of two partitions, which fit there."""
    rng = np.random.default_rng(seed)
    jobs = work(seed)
    partition = rng.integers(1, 3, len(jobs))
    names = ["Partition: 1 cpu", "Partition: 2 gpu"]
    return jobs.replace(partition=partition, procs=np.minimum(jobs.procs, 32), header=names)


@pytest.mark.parametrize("rate", RATES)
def test_two_partitions_with_domains_are_two_machines(rate):
    other = "count:0.5,2:1:3"
    for seed in range(3):
        jobs = parted(seed)
        result = sojourn.simulate(jobs, SPLIT, "first-fit", rate={"cpu": rate, "gpu": other})
        ops = SPLIT.reference_ops
        for place, nodes, own in ((1, (0, 1, 2, 3), rate), (2, (4, 5), other)):
            mine = jobs.partition == place
            alone = sojourn.Cluster.of([SPLIT.nodes[k] for k in nodes], reference_ops=ops)
            apart = sojourn.simulate(jobs[mine], alone, "first-fit", rate=own)
            np.testing.assert_allclose(result.start[mine], apart.start, rtol=1e-9)
            np.testing.assert_allclose(result.end[mine], apart.end, rtol=1e-9)


def test_the_bill_is_that_of_each_domain():
    result = sojourn.simulate(
        parted(1), SPLIT, "easy", rate={"cpu": RATES[3], "gpu": 0.5}, record=True
    )
    domains, energy = result.summary["domains"], result.summary["energy"]
    assert list(domains) == ["cpu", "gpu"]
    assert domains["gpu"]["rate_shares"] == {"0.5": pytest.approx(1.0)}
    assert domains["cpu"]["rate_switches"] == len(result.rates) - 2 > 0
    for name in ("busy_joules", "idle_joules"):
        total = sum(domain[name] for domain in domains.values())
        assert total == pytest.approx(energy[name], rel=1e-9)
    assert sum(result.summary["rate_shares"].values()) == pytest.approx(1.0)
    # By an independent sweep: each node at the rate of its domain.
    rows, rates = result.allocation_columns(), result.rates
    times = np.unique(np.concatenate([rows["start"], rows["end"], rates["time"]]))
    joules = 0.0
    for begin, end in pairwise(times):
        here = (rows["start"] <= begin) & (begin < rows["end"])
        for k, node in enumerate(SPLIT.nodes):
            known = rates[(rates["domain"] == ("cpu" if k < 4 else "gpu"))]
            rate = known["rate"][known["time"] <= begin].iloc[-1]
            busy = rows["procs"][here & (rows["node"] == k)].sum()
            watts = np.interp(busy, np.linspace(0, node.server.cores, 11), node.server.watts)
            idle = node.server.watts[0]
            joules += (idle + (watts - idle) * rate**3) * (end - begin)
    first = float(result.jobs["submit"].min())
    joules += (times[0] - first) * sum(node.server.watts[0] for node in SPLIT.nodes)
    assert energy["total_joules"] == pytest.approx(joules, rel=1e-9)


def test_the_bill_of_domains_has_all_states_of_their_nodes():
    sleepy = replace(
        SPLIT,
        nodes=tuple(
            replace(node, server=replace(node.server, states=SLEEPS)) for node in SPLIT.nodes
        ),
        racks=(Rack("left", (0, 1)),),
    )
    rate = {"left": 0.5, "gpu": 0.8, "*-[34]": 1}
    result = sojourn.simulate(parted(1), sleepy, "easy", rate=rate, sleep="idle:300")
    domains, energy = result.summary["domains"], result.summary["energy"]
    assert [domain["nodes"] for domain in domains.values()] == [2, 2, 2]
    for name in ("busy_joules", "idle_joules", "sleep_joules", "leaving_joules"):
        total = sum(domain[name] for domain in domains.values())
        assert total == pytest.approx(energy[name], rel=1e-9)
    assert energy["sleep_joules"] > 0


def test_a_job_on_two_domains_is_as_slow_as_the_slower():
    jobs = sojourn.Jobs({"submit": [0.0], "runtime": [100.0], "procs": [16], "estimate": [100.0]})
    result = sojourn.simulate(jobs, PAIR, "easy", rate={"a": 2, "b": 0.5})
    assert result.end.tolist() == [200.0]
    # All 16 processors wait for the slower ones.
    assert result.summary["effective_load"] == pytest.approx(8.0)


def test_a_switch_stretches_what_is_left():
    jobs = sojourn.Jobs(
        {"submit": [0.0, 40.0], "runtime": [100.0, 10.0], "procs": [4, 4], "estimate": [100, 10]}
    )
    # Two jobs are one too many for rate 1: from 40 s to the end of the second they run twice as
    # fast.
    result = sojourn.simulate(jobs, PAIR, "easy", rate={"a": "count:1,2:1:1"})
    assert result.end.tolist() == [95.0, 45.0]
    assert result.rates.to_dict("list") == {
        "domain": ["a"] * 3, "time": [0.0, 40.0, 45.0], "rate": [1.0, 2.0, 1.0]
    }  # fmt: skip


def test_an_own_control_sees_its_domain():
    @sojourn.control(initial=1.0, theta=[8.0], rates=[1.0, 2.0])
    def when_full(state, now, theta):
        return 2.0 if state.busy >= theta[0] and state.servers == 8 else 1.0

    jobs = sojourn.Jobs(
        {"submit": [0.0, 50.0], "runtime": [100.0, 10.0], "procs": [8, 1], "estimate": [100, 10]}
    )
    result = sojourn.simulate(jobs, PAIR, "easy", rate={"a": when_full})
    assert result.end.tolist() == [75.0, 60.0]


def test_a_mistake_of_an_own_control_is_told():
    @sojourn.control(initial=1.0)
    def broken(state, now, theta):
        return -1.0 if state.present > 2 else 1.0

    with pytest.raises(sojourn.errors.PolicyError, match="broken"):
        sojourn.simulate(work(), SPLIT, "easy", rate={"gpu": "count:0.5,1:1:2", "cpu": broken})


def test_a_random_control_is_the_same_again():
    rate = {"gpu": "random:0.5,1:0.3,0.7"}
    one, two = (sojourn.simulate(parted(2), SPLIT, "easy", rate=rate, seed=7) for _ in range(2))
    assert one.end.tolist() == two.end.tolist()
    assert len(one.rates) > 10


def test_stepping_in_order_equals_the_kernel():
    rate, jobs = {"a": "count:0.5,1:1:2"}, work(3, jobs=60)
    jobs = jobs[jobs.procs <= 16]

    run = sojourn.Simulation(jobs, PAIR, rate=rate)
    for decision in run:
        for j in decision.waiting:
            if decision.jobs.procs[j] > decision.free:
                break
            decision.start(j)
    straight = sojourn.simulate(jobs, PAIR, "fcfs", rate=rate)
    assert run.result.end.tolist() == straight.end.tolist()
    assert len(run.result.rates) > 2


def test_a_control_of_domains_survives_pickling():
    control = by_domain({"gpu": RATES[1], "cpu": 0.5})
    again = pickle.loads(pickle.dumps(control))
    assert str(again) == str(control)
    assert again.names == ("gpu", "cpu")
    result = sojourn.simulate(parted(1), SPLIT, "easy", rate=control)
    assert pickle.loads(pickle.dumps(result)).summary["domains"] == result.summary["domains"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("gpu=0.8", {"gpu": "0.8"}),
        ("gpu=count:0.8,1:2:5,cpu=0.9", {"gpu": "count:0.8,1:2:5", "cpu": "0.9"}),
        ("a = workload:1,2,4:1,2:3,4 , b=1", {"a": "workload:1,2,4:1,2:3,4", "b": "1"}),
    ],
)
def test_texts_of_domains(text, parts):
    assert domain_texts(text) == parts


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ({"gpus": 2}, "no partition, rack, set or node is called so; did you mean 'gpu'"),
        ({"gpu": 2, "*": 1}, "is in 'gpu' and '[*]'; a node has one rate"),
        ({"gpu": "fast"}, "domain 'gpu': rate control 'fast' cannot be read"),
        ({"gpu": 0}, "rates must be above 0"),
        ({"gpu": "cap:0.5,1"}, "rate control 'cap': that is not defined where domains"),
        ({}, "domains: none is given"),
        ({f"n{k}": 1 for k in range(17)}, "17 of them; there may be 16"),
        ("gpu=", "write NODES=CONTROL"),
        ("gpu=1,gpu=2", "two of 'gpu'"),
        ({"gpu": {"x": 1}}, "give a rate, a text or a sojourn.control"),
    ],
)
def test_what_is_refused(rate, words):
    with pytest.raises(OptionError, match=words) as caught:
        sojourn.simulate(work(), SPLIT, "easy", rate=rate)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "options", "words"),
    [
        ("lcfs-pr", {}, "stops jobs"),
        ("lpf", {}, "stops jobs"),
        ("easy", {"checkpoint": 600}, "checkpoints"),
    ],
)
def test_what_does_not_go_with_domains(policy, options, words):
    with pytest.raises(OptionError, match=words):
        sojourn.simulate(work(), SPLIT, policy, rate={"gpu": 2}, **options)


def test_counted_processors_have_no_domains():
    with pytest.raises(OptionError, match="processors are only counted"):
        sojourn.simulate(work(), 64, "easy", rate={"gpu": 2})


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A log and a cluster with two partitions."""
    log, machine = str(tmp_path / "log.swf"), str(tmp_path / "cluster.toml")
    sojourn.write_swf(parted(1), log)
    write_cluster(SPLIT, machine)
    return log, machine


def summary_of(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_one_description_three_ways(files, tmp_path, capsys):
    log, machine = files
    text = "cpu=workload:0.5,1:2e4:4e4,gpu=0.5"
    out = tmp_path / "typed"
    assert main(["simulate", log, "--cluster", machine, "--rate", text, "--out", str(out)]) == 0
    assert "rate of cpu" in capsys.readouterr().out
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        f'[workload]\nlog = "{log}"\n[cluster]\nnodes = "{machine}"\n'
        '[control.domains]\ncpu = "workload:0.5,1:2e4:4e4"\ngpu = 0.5\n'
    )
    assert main(["run", str(scenario), "--out", str(tmp_path / "read")]) == 0
    rate = {"cpu": sojourn.workload_hysteresis((0.5, 1), 2e4, 4e4), "gpu": 0.5}
    told = sojourn.simulate(sojourn.read_log(log), read_cluster(machine), "easy", rate=rate)
    typed, read = summary_of(out), summary_of(tmp_path / "read")
    for name in ("domains", "wait", "rate", "rate_shares"):
        expected = json.loads(json.dumps(told.summary[name]))
        assert typed[name] == read[name] == expected, name
    # What is saved of options makes the same run again.
    saved, again = tmp_path / "saved.toml", tmp_path / "again"
    options = ["--cluster", machine, "--rate", text, "--save-scenario", str(saved)]
    assert main(["simulate", log, *options]) == 0
    assert main(["run", str(saved), "--out", str(again)]) == 0
    assert summary_of(again)["domains"] == typed["domains"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpus=0.5", "did you mean 'gpu'"),
        ("gpu=0.5,gpu=1", "two of 'gpu'"),
        ("gpu=often", "--rate: domain 'gpu': rate control 'often' cannot be read"),
        ("gpu=cap:0.5,1", "--rate: rate control 'cap': that is not defined"),
    ],
)
def test_a_wrong_domain_is_one_line(files, capsys, text, words):
    log, machine = files
    assert main(["simulate", log, "--cluster", machine, "--rate", text]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_a_control_and_domains_are_one_too_many(files, tmp_path, capsys):
    log, machine = files
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        f'[workload]\nlog = "{log}"\n[cluster]\nnodes = "{machine}"\n'
        "[control]\nrate = 0.5\n[control.domains]\ngpu = 0.5\n"
    )
    assert main(["run", str(scenario)]) == 2
    assert "control.domains says the rates; leave one of them out" in capsys.readouterr().err


def test_the_picture_has_a_panel_for_each_domain():
    result = sojourn.simulate(
        parted(1), SPLIT, "easy", rate={"cpu": RATES[1], "gpu": 0.5}, record=True
    )
    titles = [ax.get_title(loc="left") for ax in result.plot.rates().axes]
    assert len(titles) == 2
    assert titles[1].startswith("Rate of gpu: 0.5")
    for name in ("cpu", "gpu"):
        path, known = result.trajectory, result.rates[result.rates["domain"] == name]
        last = path.iloc[-1]
        before = known["rate"][known["time"] <= last["time"]]
        assert last[f"rate_{name}"] == before.iloc[-1]
    assert len(sojourn.simulate(work(), 64, rate=RATES[1]).plot.rates().axes) == 1
    result.plot.workload()
