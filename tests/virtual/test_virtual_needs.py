"""What is missing is told, with what to install; nothing is installed."""

from __future__ import annotations

import json

import pytest
import typer

from sojourn.adequacy.virtual import Job, advice, check, missing_for, needs, run_stream
from sojourn.cli._options import add_verb
from sojourn.cli.virtual import virtual
from sojourn.errors import RunError


@pytest.fixture
def bare(monkeypatch):
    """A machine with nothing but a shell."""
    monkeypatch.setattr(needs, "find_program", lambda name: None)
    monkeypatch.setattr(needs, "compiler", lambda: None)


@pytest.fixture
def app():
    app = typer.Typer()
    add_verb(app, virtual)
    return app


def test_packages_are_named_once(bare):
    assert all(need.path is None for need in check())
    told = advice(missing_for("model"))
    assert told.endswith("gcc libc6-dev slurm-client slurmctld slurmd") or "elsewhere" in told
    assert "gcc" not in advice(missing_for("real"))
    assert "munge" not in told
    assert "munge" in advice(missing_for("real", "munge"))


def test_a_run_says_what_is_missing_and_starts_nothing(bare):
    with pytest.raises(RunError, match=r"missing on this machine: slurmctld, .*install") as caught:
        run_stream([Job(1, 0.0, 1, 1.0, 1)], 1)
    assert "\n" not in str(caught.value)


def test_the_command_tells_it_to_people_and_to_programs(bare, app, capsys):
    app(["virtual", "check"], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "real time: not possible here" in shown
    assert "slurm-client" in shown
    assert "any local user can submit jobs" in shown
    app(["virtual", "check", "--json"], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert told["ready"] == {"real": False, "model": False}
    assert told["slurm"] is None
    assert {need["name"] for need in told["needs"]} >= {"slurmctld", "slurmd", "sbatch", "cc"}
    assert "slurmctld" in told["install"]


def test_what_is_there_is_found(monkeypatch):
    monkeypatch.setattr(needs, "find_program", lambda name: f"/somewhere/{name}")
    monkeypatch.setattr(needs, "compiler", lambda: "/usr/bin/cc")
    monkeypatch.setattr(needs, "slurm_version", lambda: "99.11.1")
    assert missing_for("model", "munge") == []
    assert any("99.11.1 is untried" in remark for remark in needs.remarks())
