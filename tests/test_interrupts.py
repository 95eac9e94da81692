"""Ctrl-C ends a long run at once, wherever it is: compiled code comes back several times a second.

A run that never did would end these tests by their timeout.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.engine.drive import PAUSED, Run
from sojourn.errors import RunError
from sojourn.run.simulate import prepare

# Much more than a run needs to end, on however busy a machine, and much less than it would take.
PROMPT = 15.0

# Says "running" when the compiled part begins. Tests may be started with interrupts ignored.
ANNOUNCED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from sojourn.engine import drive
from sojourn.policy.slurm import controller

def announced(plain):
    def run(*given):
        print("running", flush=True)
        return plain(*given)
    return run

drive.Run.to_the_end = announced(drive.Run.to_the_end)
controller.Controller.to_the_end = announced(controller.Controller.to_the_end)
"""
COMMAND = f"{ANNOUNCED}\nfrom sojourn.cli import main\nsys.exit(main(sys.argv[1:]))\n"
PYTHON = f"""{ANNOUNCED}
import sojourn
try:
    sojourn.simulate(sojourn.read_swf(sys.argv[1]), 64, "conservative")
except KeyboardInterrupt:
    sys.exit("heard")
"""


def deep_queue() -> sojourn.Jobs:
    """Jobs that come at once and end before their estimates: each pass moves all promises."""
    rng = np.random.default_rng(1)
    n = 6_000
    runtime = rng.integers(50, 5_000, n).astype(float)
    return sojourn.Jobs(
        {
            "submit": np.arange(n) / 10.0,
            "runtime": runtime,
            "estimate": runtime * rng.integers(2, 9, n),
            "procs": rng.integers(1, 40, n),
        }
    )


def interrupt(script: str, *arguments: str | Path) -> tuple[int, str]:
    """Interrupt a script a moment after it says that it runs; exit code and last words."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said == "running\n", f"{said}{process.communicate()[1]}"
        time.sleep(0.5)
        assert process.poll() is None, "the run was too short to be interrupted"
        process.send_signal(signal.SIGINT)
        return process.wait(PROMPT), process.communicate()[1]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "deep.swf"
    sojourn.write_swf(deep_queue(), path)
    return path


def test_a_simulation_in_python(log: Path) -> None:
    code, words = interrupt(PYTHON, log)
    assert code == 1
    assert words.endswith("heard\n")


def test_simulate(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, words = interrupt(
        COMMAND, "simulate", log, "--procs", "64", "--policy", "conservative", "--out", out
    )
    assert code == 130
    assert "interrupted" in words
    assert not out.exists()


def test_replay(tmp_path: Path) -> None:
    stream, conf = tmp_path / "s.csv", tmp_path / "slurm.conf"
    # One after the other, for centuries; the loops look every second.
    rows = "".join(f"{k},0,1,1000000000,20000000\n" for k in range(1, 11))
    stream.write_text(f"id,submit,nodes,run,limit_min\n{rows}")
    conf.write_text("NodeName=n1\nPartitionName=p Nodes=ALL Default=YES\n")
    code, words = interrupt(COMMAND, "replay", stream, "--slurm-conf", conf, "--members", "1")
    assert code == 130
    assert "interrupted" in words


POLICIES = ("fcfs", "easy", "easy:4", "conservative", "wfp3+easy", "lpf", "lcfs-pr")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_in_pieces_is_the_same(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = sojourn.lublin(300, 32, load=0.95, seed=4)
    whole, pieces = (prepare(jobs, 32, policy)[0] for _ in range(2))
    assert whole.advance() != PAUSED
    status, paused = PAUSED, 0
    while status == PAUSED:
        paused += 1
        # Either by a budget, or by being asked, as soon as it is under way.
        pieces.s.pause = paused % 2
        status = pieces.advance(5)
    assert paused > 50
    assert pieces.start.tobytes() == whole.start.tobytes()
    assert pieces.end.tobytes() == whole.end.tobytes()


def test_progress_is_reported_several_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.engine.drive._FIRST_STEPS", 1)
    monkeypatch.setattr("sojourn.engine.pacing._BREATH", 0.001)
    told: list[tuple[int, int]] = []
    jobs = deep_queue()[:700]
    sojourn.simulate(jobs, 64, "conservative", progress=lambda *now: told.append(now))
    assert len(told) > 10
    assert told == sorted(told)
    assert {total for _, total in told} == {700}


def test_time_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = prepare(sojourn.lublin(10, 8, load=0.5, seed=1), 8, "easy")

    def spin(self: Run, budget: int = 0) -> int:
        self.s.instants += 500
        return PAUSED

    monkeypatch.setattr(Run, "advance", spin)
    with pytest.raises(RunError, match="stands still at 0 s; please report"):
        run.to_the_end()


def test_a_command_that_is_interrupted_before_it_begins() -> None:
    script = """
import builtins, runpy
plain = builtins.__import__
def interrupted(name, *rest, **named):
    if name == "typer":
        raise KeyboardInterrupt
    return plain(name, *rest, **named)
builtins.__import__ = interrupted
runpy.run_module("sojourn", run_name="__main__")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.returncode == 130
    assert ended.stderr == "sojourn: error: interrupted; no results were written\n"
