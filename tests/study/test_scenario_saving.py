"""A command is saved as a scenario, or refused before anything is run or written."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.study import Scenario, read_scenario, save_scenario

ORDER = """\
import sojourn


@sojourn.score
def mine(jobs, j, now, theta):
    return jobs.submit[j]
"""
CLUSTER = """\
[[node]]
name = "n"
count = 2
server = "X5670"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sojourn.write_swf(sojourn.lublin(20, 4, seed=1), "log.swf")
    Path("own.py").write_text(ORDER)
    Path("cluster.toml").write_text(CLUSTER)
    return tmp_path


def refused(capsys, *words: str) -> str:
    """The error of a command that changes no file."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert main(["simulate", *words]) == 2
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert {k: v for k, v in after.items() if "__pycache__" not in k.parts} == before
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    return told.err


def test_inputs_are_not_overwritten(folder, capsys):
    assert "--save-scenario log.swf: a scenario is a file in TOML" in refused(
        capsys, "log.swf", "--save-scenario", "log.swf"
    )
    assert "--save-scenario own.py: a scenario is a file in TOML" in refused(
        capsys, "log.swf", "--policy-file", "own.py:mine", "--save-scenario", "own.py"
    )
    assert "--save-scenario cluster.toml: the run reads it (cluster)" in refused(
        capsys, "log.swf", "--cluster", "cluster.toml", "--save-scenario", "./cluster.toml"
    )
    os.link("cluster.toml", "other.toml")
    assert "--save-scenario other.toml: the run reads it (cluster); name another file" in refused(
        capsys, "log.swf", "--cluster", "cluster.toml", "--save-scenario", "other.toml"
    )
    os.rename("log.swf", "log.toml")
    assert "--save-scenario log.toml: the run reads it (input)" in refused(
        capsys, "log.toml", "--log-format", "swf", "--save-scenario", "log.toml", "--out", "run"
    )
    with pytest.raises(OptionError, match="the run reads it"):
        save_scenario(
            Scenario.from_mapping({"workload": {"log": "log.toml", "format": "swf"}}), "log.toml"
        )
    assert not Path("run").exists()


def test_what_cannot_be_saved_is_refused_before_the_run(folder, capsys):
    save = ("--out", "run", "--save-scenario", "s.toml")
    for words, told in [
        (("--log-format", "xls"), "--log-format 'xls': choose swf, csv"),
        (("--watts", "1:2"), "--watts"),
        (("--rate", "fast"), "rate control 'fast' cannot be read"),
        (("--reference-rate", "inf"), "--reference-rate inf: give a number above 0"),
    ]:
        assert told in refused(capsys, "log.swf", *words, *save)
    odd = os.fsdecode(b"l\xff.swf")
    os.rename("log.swf", odd)
    assert main(["simulate", odd, *save]) == 2
    assert "is no text in UTF-8" in capsys.readouterr().err
    assert "is the folder of the results" in refused(
        capsys, odd, "--out", "r.toml", "--save-scenario", "r.toml"
    )
    assert not Path("run").exists()


def test_an_infinite_budget_is_none(folder):
    words = ["--cluster", "cluster.toml", "--power-budget", "inf", "--whole-nodes"]
    command = ["simulate", "log.swf", *words, "--out", "run", "--save-scenario", "s.toml"]
    assert main(command) == 0
    told = tomllib.loads(Path("s.toml").read_text())
    assert told["policy"] == {"name": "easy", "constraints": {"whole_node": True}}
    assert main(["run", "s.toml", "--out", "again"]) == 0
    assert Path("run/jobs.parquet").read_bytes() == Path("again/jobs.parquet").read_bytes()


def test_defaults_are_left_out(folder):
    assert main(["simulate", "log.swf", "--rate", "1", "--save-scenario", "s.toml"]) == 0
    told = {"workload": {"log": "log.swf"}, "policy": {"name": "easy"}}
    assert tomllib.loads(Path("s.toml").read_text()) == told
    assert main(["simulate", "log.swf", "--warmup", "5", "--save-scenario", "s.toml"]) == 0
    assert read_scenario("s.toml").keys.workload.warmup == 5
