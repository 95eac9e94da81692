"""Slurm in scenarios and on the command line: its file, and any of its lines as a key."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
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
