"""Two sides on one log: which lines differ, who gains, who loses, how sure that is."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import sojourn
from sojourn.adequacy import replay
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.measures.registry import get
from sojourn.study.changes import Change
from sojourn.study.difference import as_rows
from sojourn.study.intervals import Interval
from sojourn.study.sides import lines_that_differ, side_of

SITE = """\
SchedulerType=sched/backfill
SelectType=select/linear
NodeName=n[1-{nodes}] CPUs=1
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=1-00:00:00
SchedulerParameters={parameters}
"""


def stream(count=150, seed=2):
    rng = np.random.default_rng(seed)
    run = np.exp(rng.uniform(4.0, 8.0, count)).round()
    nodes = np.exp2(rng.uniform(0, 3.3, count)).astype(int)
    submit = np.cumsum(rng.exponential((run * nodes).mean() / 16 / 0.95, count)).round()
    limit = 60 * np.ceil(run * rng.uniform(1.1, 3, count) / 60)
    columns = {"submit": submit, "nodes": nodes, "procs": nodes, "runtime": run}
    return sojourn.Jobs({**columns, "estimate": limit, "user": rng.integers(1, 5, count)})


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.conf").write_text(SITE.format(nodes=16, parameters="bf_interval=30"))
    (tmp_path / "b.conf").write_text(SITE.format(nodes=20, parameters="bf_interval=30,bf_window=9"))
    sojourn.write_csv(stream(), tmp_path / "jobs.csv")
    return tmp_path


def test_lines_that_differ(site):
    lines = lines_that_differ(side_of(site / "a.conf"), side_of(site / "b.conf"))
    assert {line.name: (line.a, line.b) for line in lines} == {
        "nodes of CPUs=1 RealMemory=1": ("16: n[1-16]", "20: n[1-20]"),
        "partition main": (
            "16: n[1-16] Default=YES MaxTime=1440 PriorityTier=1 PriorityJobFactor=1",
            "20: n[1-20] Default=YES MaxTime=1440 PriorityTier=1 PriorityJobFactor=1",
        ),
        "bf_window": (None, "9"),
    }
    assert lines_that_differ(side_of(site / "a.conf"), side_of(site / "a.conf")) == ()


def test_more_nodes_are_better_for_sure(site):
    found = sojourn.diff(site / "a.conf", site / "b.conf", stream(), draws=6, by=["user", "width"])
    wait = found.measures[0]
    assert (wait.measure, wait.verdict) == ("mean wait", "better")
    assert wait.difference.high < 0
    assert wait.share < 0
    assert wait.difference.estimate == pytest.approx(wait.b - wait.a)
    a = sojourn.simulate(stream(), None, sojourn.slurm(site / "a.conf"))
    b = sojourn.simulate(stream(), None, sojourn.slurm(site / "b.conf"))
    assert wait.a == pytest.approx(a.summary["wait"]["mean"])
    assert wait.b == pytest.approx(b.summary["wait"]["mean"])
    users = {row.name: row for row in found.classes["user"]}
    assert sum(row.jobs for row in users.values()) == len(stream()) == found.jobs
    by_user = a.by("user")["mean_wait"]
    for name, row in users.items():
        assert row.wait.a == pytest.approx(by_user[name])
    assert found.trust is None
    assert found.in_words()[0].startswith("Mean waits are")


def test_a_side_and_itself_are_the_same(site):
    found = sojourn.diff(site / "a.conf", site / "a.conf", stream(), draws=2)
    assert {change.verdict for change in found.measures} == {"same"}
    assert found.lines == ()
    assert (found.a, found.b) == ("a.conf (A)", "a.conf (B)")


def test_files_of_one_name_are_told_apart_by_their_folders(site):
    for name in ("a", "b"):
        (site / name).mkdir()
        (site / name / "slurm.conf").write_text((site / f"{name}.conf").read_text())
    found = sojourn.diff(site / "a" / "slurm.conf", site / "b" / "slurm.conf", stream(), draws=2)
    assert (found.a, found.b) == ("a/slurm.conf", "b/slurm.conf")


def test_the_log_says_what_the_first_side_is_worth(site):
    policy = sojourn.slurm(site / "a.conf")
    real = sojourn.simulate(stream(), None, policy.with_parameters({"bf_interval": 600})).as_log()
    found = sojourn.diff(policy, site / "b.conf", real, draws=2)
    assert found.trust is not None
    assert found.trust.jobs == len(stream())
    assert found.trust.recorded == pytest.approx(real.wait.mean())
    assert 0 < found.trust.P < real.wait.max()
    counted = sojourn.Cluster.homogeneous(16)
    easy = sojourn.diff(counted, counted, sojourn.simulate(stream(), counted).as_log(), draws=2)
    assert (easy.trust.P, easy.trust.near, easy.trust.members) == (0.0, 1.0, 1)


def test_slurm_is_held_against_the_log_as_a_replay_does(site):
    policy = sojourn.slurm(site / "a.conf", bf_interval=600)
    log = sojourn.simulate(stream(), None, policy).as_log()
    log = log.replace(wait=log.wait.round(), runtime=log.runtime.round())
    sojourn.write_swf(log, site / "real.swf")
    found = sojourn.diff(site / "a.conf", site / "b.conf", site / "real.swf", draws=2).trust
    expected = replay(site / "real.swf", site / "a.conf")
    assert found.members == expected.members == 16
    assert pytest.approx(expected.adequacy.P, rel=0.01) == found.P
    assert found.itself == pytest.approx(expected.itself, rel=0.01)
    assert found.near == pytest.approx(expected.near, abs=0.01)


def test_clusters_and_scenarios_are_sides_too(tmp_path):
    jobs = stream()
    found = sojourn.diff(
        sojourn.Cluster.homogeneous(16), sojourn.Cluster.homogeneous(20), jobs, draws=2
    )
    assert [line.name for line in found.lines] == ["processors"]
    sojourn.write_csv(jobs, tmp_path / "jobs.csv")
    for name, order in (("a", "fcfs"), ("b", "sjf")):
        (tmp_path / f"{name}.toml").write_text(
            f'[workload]\nlog = "jobs.csv"\n[cluster]\nprocs = 16\n'
            f'[policy]\norder = "{order}"\nbackfill = "easy"\n'
        )
    found = sojourn.diff(tmp_path / "a.toml", tmp_path / "b.toml", jobs, draws=2)
    assert [(line.name, line.a, line.b) for line in found.lines] == [
        ("policy.order", "fcfs", "sjf")
    ]


@pytest.mark.parametrize(
    ("low", "high", "measure", "verdict"),
    [
        (-3, -1, "wait_mean", "better"),
        (1, 3, "wait_mean", "worse"),
        (-1, 3, "wait_mean", "no sure difference"),
        (1, 3, "utilisation", "better"),
        (0, 0, "wait_mean", "same"),
    ],
)
def test_verdicts(low, high, measure, verdict):
    found = Interval((low + high) / 2, low, high, 0.95, 9, "")
    assert Change(get(measure), 10.0, 10.0 + found.estimate, found).verdict == verdict


def test_the_verb(site, capsys):
    arguments = [
        "diff",
        str(site / "a.conf"),
        str(site / "b.conf"),
        "--log",
        str(site / "jobs.csv"),
    ]
    arguments += ["--draws", "3", "--by", "user"]
    assert main([*arguments, "--out", str(site / "out"), "--report", str(site / "d.html")]) == 0
    said = capsys.readouterr().out
    for words in ("A is a.conf, B is b.conf", "The log recorded no starts", "bf_window",
                  "Mean wait (s) by user", "Mean waits are", "written: "):  # fmt: skip
        assert words in said, said
    told = json.loads((site / "out" / "diff.json").read_text())
    assert told["measures"][0]["verdict"] == "better"
    with open(site / "out" / "diff.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(told["measures"]) + 2 * len(told["classes"]["user"])
    page = (site / "d.html").read_text()
    for words in ("Lines that differ", "By user", "n[1-20]", "better"):
        assert words in page
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--draws", "1"], "draws 1: give 2 or more"),
        (["--by", "partition"], "class 'partition': the log does not say it"),
        (["--report", "x.pdf"], "--report x.pdf: a report is a page of HTML"),
        (["--block", "month"], "by"),
    ],
)
def test_the_verb_complains_in_a_line(site, capsys, change, words):
    arguments = [
        "diff",
        str(site / "a.conf"),
        str(site / "b.conf"),
        "--log",
        str(site / "jobs.csv"),
    ]
    assert main([*arguments, *change]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_what_is_no_side(site):
    with pytest.raises(OptionError, match="cannot be compared; give a"):
        sojourn.diff(3, site / "a.conf", stream())


def test_every_part_of_a_configuration_that_the_model_reads_is_a_line(site):
    text = (site / "a.conf").read_text()
    changed = text.replace("CPUs=1", "CPUs=1 Sockets=1 CoreSpecCount=0 Feature=fast")
    changed = changed.replace("Default=YES", "Default=YES DefMemPerCPU=100 MaxNodes=8 MinNodes=2")
    (site / "c.conf").write_text(changed)
    lines = {
        line.name: line.b
        for line in lines_that_differ(*map(side_of, (site / "a.conf", site / "c.conf")))
    }
    assert "nodes of CPUs=1 RealMemory=1 Feature=fast" in lines
    for words in ("DefMemPerCPU=100", "MaxNodes=8", "MinNodes=2"):
        assert words in lines["partition main"]


def test_who_is_not_judged_is_named(site):
    jobs = stream()
    user = jobs.user.copy()
    user[0] = 99  # one job, of which a draw of stretches has none or a few
    jobs = jobs.replace(user=user)
    found = [
        sojourn.diff(site / "a.conf", site / "b.conf", jobs, draws=2, by=["user"], seed=seed)
        for seed in range(4)
    ]
    for each in found:
        judged = {row.name for row in each.classes["user"]}
        assert judged.isdisjoint(each.left["user"])
        assert judged | set(each.left["user"]) == set(map(str, np.unique(user)))
        assert ("99" in each.left_in_words("user")) == ("99" not in judged)
    assert any(each.left["user"] == ("99",) for each in found)


def test_shares_in_words():
    def said(a, b):
        return Change(get("wait_mean"), a, b, Interval(b - a, 0, 0, 0.95, 9, "")).in_percent

    assert [said(*pair) for pair in ((100, 86), (1e5, 1e5 - 1), (0.5, 7200), (0, 5))] == [
        *("-14.0 %", "+0.0 %", "x 14,400", "-")
    ]


def test_rows(site):
    found = sojourn.diff(site / "a.conf", site / "a.conf", stream(), draws=2, by=["user"])
    rows = as_rows(found)
    assert rows[0]["by"] == "all"
    assert rows[-1]["by"] == "user"
