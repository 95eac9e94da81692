"""Slurm in scenarios and on the command line: its file, and any of its lines as a key."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.policy.slurm.site_cluster import scaled_conf
from sojourn.run.scenario import Scenario, read_scenario

CONF = """\
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30
SelectType=select/cons_tres
NodeName=n[1-4] CPUs=16
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=7-00:00:00
"""
TEXT = """\
[workload]
log = "jobs.swf"
[policy]
name = "slurm"
[slurm]
conf = "slurm.conf"
"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    sojourn.write_swf(sojourn.lublin(150, 64, load=0.8, seed=3), tmp_path / "jobs.swf")
    (tmp_path / "s.toml").write_text(TEXT)
    return tmp_path


def test_a_scenario_runs_as_python_does(site):
    scenario = read_scenario(site / "s.toml").with_value("slurm.bf_interval", "120")
    jobs = scenario.workload()
    policy = sojourn.slurm(site / "slurm.conf", bf_interval=120)
    expected = sojourn.simulate(jobs, None, policy, clean=())
    result = scenario.run(jobs)
    assert np.array_equal(result.start, expected.start)
    assert result.summary["policy"] == "slurm[bf_interval=120]"
    assert result.summary["placement"] == "tightest"
    assert scenario.digest != read_scenario(site / "s.toml").digest
    before = scenario.digest
    (site / "slurm.conf").write_text(CONF.replace("n[1-4]", "n[1-5]"))
    assert scenario.digest != before
    assert scenario.run(jobs).cluster.procs == 80


def test_other_policies_run_on_the_machine_of_the_file(site):
    scenario = read_scenario(site / "s.toml").with_value("policy.name", "easy")
    result = scenario.run(scenario.workload())
    assert result.cluster.procs == 64
    assert len(result.cluster.nodes) == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"slurm.bf_intervall": 3}, "did you mean 'slurm.bf_interval'"),
        ({"slurm.bf_interval": "soon"}, "slurm.bf_interval"),
        ({"slurm.SchedulerType": "sched/none"}, "choose sched/backfill or sched/builtin"),
        ({"policy.backfill": "easy"}, "policy 'slurm' has its own; leave it out"),
    ],
)
def test_what_cannot_be_is_said_with_its_key(site, values, words):
    with pytest.raises(OptionError, match=words):
        read_scenario(site / "s.toml").with_values(values)


def test_slurm_needs_its_file():
    told = {"workload": {"log": "x.swf"}, "policy": {"name": "slurm"}}
    with pytest.raises(OptionError, match="is read from a"):
        Scenario.from_mapping(told)
    told = {"workload": {"log": "x.swf"}, "slurm": {"bf_interval": 5}}
    with pytest.raises(OptionError, match="is 'easy'; give slurm"):
        Scenario.from_mapping(told)


def test_verbs_take_it(site, capsys, monkeypatch):
    monkeypatch.chdir(site)
    options = ["--slurm-conf", "slurm.conf", "--json"]
    assert main(["simulate", "jobs.swf", "--policy", "slurm", *options]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == "slurm"
    assert main(["compare", "jobs.swf", "--policies", "slurm,easy", *options]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["policy"] for row in rows] == ["slurm", "easy"]
    sweep = ["sweep", "s.toml", "--set", "slurm.bf_interval=30,600", "--out", "out"]
    assert main([*sweep, "--replications", "1", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "600" in said
    plan = ["plan", "jobs.swf", "--policy", "slurm", "--slurm-conf", "slurm.conf", "--procs", "64"]
    assert main([*plan, "--target-wait", "p95=20h", "--step", "16"]) == 0
    capsys.readouterr()
    assert main([*plan[:-2], "--target-wait", "p95=20h", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["today"], told["least_simulated"], told["step"]) == (64, None, 16)
    sizes = {size["procs"]: size for size in told["sizes"]}
    policy = sojourn.slurm("slurm.conf")
    result = sojourn.simulate(sojourn.read_swf("jobs.swf"), None, policy)
    assert sizes[64]["mean_wait"] == pytest.approx(result.summary["wait"]["mean"])
    assert sizes[told["procs"]]["met"]


def test_a_site_in_other_sizes(site):
    conf = sojourn.slurm(site / "slurm.conf").conf
    larger, smaller = scaled_conf(conf, 160), scaled_conf(conf, 16)
    assert [node.name for node in larger.nodes] == [
        *("n1", "n2", "n3", "n4", "n1-2", "n2-2", "n3-2", "n4-2", "n1-3", "n2-3")
    ]
    assert {node.cpus for node in larger.nodes} == {16}
    assert sorted(larger.partitions[0].nodes) == sorted(node.name for node in larger.nodes)
    assert smaller.partitions[0].nodes == ("n1",)
    assert scaled_conf(conf, 64) == conf


def test_nodes_of_a_slurm_conf_draw_the_watts_that_are_given(site):
    scenario = read_scenario(site / "s.toml")
    jobs = scenario.workload()
    plain = scenario.run(jobs)
    assert not plain.states_energy
    for policy in ("slurm", "easy"):
        given = scenario.with_values({"policy.name": policy, "power.busy": 10, "power.idle": 4})
        result = given.run(jobs)
        if policy == "slurm":
            assert np.array_equal(result.start, plain.start)
        assert result.states_energy
        held = result.allocations
        busy = float(((held["end"] - held["start"]) * held["procs"]).sum())
        idle = 64 * (held["end"].max() - jobs.submit.min()) - busy
        assert result.summary["energy"]["busy_joules"] == pytest.approx(10 * busy)
        assert result.summary["energy"]["idle_joules"] == pytest.approx(4 * idle, rel=1e-3)
    with pytest.raises(OptionError, match=r"give power.busy and power.idle"):
        scenario.with_value("power.static", "3")


def test_diff_states_energy_where_watts_are_given(site):
    jobs = sojourn.read_swf(site / "jobs.swf")
    sides = site / "slurm.conf", sojourn.slurm(site / "slurm.conf", bf_interval=600)
    found = sojourn.diff(*sides, jobs, draws=2, power=sojourn.ConstantPower(10, 4))
    energy = next(each for each in found.measures if each.measure == "energy")
    scenario = read_scenario(site / "s.toml").with_values({"power.busy": 10, "power.idle": 4})
    total = scenario.run(scenario.workload()).summary["energy"]["total_kwh"]
    assert energy.a == pytest.approx(total)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PriorityWeightAge", "much"),
        ("PriorityWeightFairshare", "-1"),
        ("OverTimeLimit", "late"),
        ("PriorityMaxAge", "old"),
    ],
)
def test_a_value_that_no_line_can_have_is_blamed_on_who_gave_it(site, name, value):
    with pytest.raises(OptionError, match=rf"slurm.{name}': {value}: give "):
        read_scenario(site / "s.toml").with_value(f"slurm.{name}", value)
    with pytest.raises(OptionError, match=rf"^{name}={value}: give "):
        sojourn.slurm(site / "slurm.conf", **{name: value})
