"""``sojourn plan``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.capacity import search

from .conftest import Run

Refused = Callable[..., str]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    jobs = sojourn.lublin(400, 32, load=0.8, seed=2, estimates="exact")
    sojourn.write_swf(jobs.replace(header=["; MaxProcs: 32"]), path)
    return path


def test_answer_is_confirmed_by_simulate(run: Run, log: Path, tmp_path: Path) -> None:
    told = json.loads(run("plan", log, "--growth", 1.5, "--target-wait", "p95=1h", "--json").out)
    dense = tmp_path / "dense.swf"
    sojourn.write_swf(sojourn.capacity.grown(sojourn.read_swf(log), 1.5), dense)

    def p95(procs: int) -> float:
        ran = run("simulate", dense, "--procs", procs, "--policy", "easy", "--json")
        return float(json.loads(ran.out)["wait"]["p95"])

    chosen = told["procs"]
    assert p95(chosen) <= 3600 < p95(chosen - 1)
    by_size = {size["procs"]: size for size in told["sizes"]}
    # SWF writes submits with some digits only.
    assert by_size[chosen]["values"][0] == pytest.approx(p95(chosen), abs=1.0)
    assert told["today"] == 32
    assert 32 not in by_size or not by_size[32]["met"]


def test_table(run: Run, log: Path, tmp_path: Path) -> None:
    command = ["plan", log, "--target-wait", "p95=1h", "--target-wait", "mean=10m", "--step", 8]
    numbers = json.loads(run(*command, "--json").out)
    told = run(*command, "--out", tmp_path / "out")
    assert (told.code, told.err) == (0, "")
    assert numbers["procs"] % 8 == 0
    assert numbers["verdict"] in told.out
    assert f"{numbers['procs']} <- smallest" in told.out
    assert numbers["intervals"][0]["low"] is None
    assert "held in" in told.out
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["plan.json", "plan.png"]
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["sizes"] == numbers["sizes"]


def test_a_machine_that_cannot_keep_up(run: Run, log: Path) -> None:
    told = run("plan", log, "--growth", 2, "--target-wait", "mean=1h")
    assert "32 processors cannot keep up" in told.out
    assert "(today)" not in told.out


def test_the_widest_job_bounds_the_machine(run: Run, write_log: Callable[..., Path]) -> None:
    log = write_log((1, 0, 10, 3, 10), (2, 10_000, 10, 1, 10), (3, 20_000, 10, 1, 10))
    told = run("plan", log, "--target-wait", "mean=1h")
    assert (
        "3 processors would meet mean=1h under easy, as simulated: 1 fewer than today" in told.out
    )
    assert "no smaller machine holds the widest job" in told.out


def test_an_interrupt_leaves_what_is_done(
    run: Run, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate, runs = search.simulate, []

    def limited(*args, **options):
        if len(runs) == 4:
            raise KeyboardInterrupt
        runs.append(args[1])
        return simulate(*args, **options)

    monkeypatch.setattr(search, "simulate", limited)
    told = run("plan", log, "--growth", 1.5, "--json", "--out", tmp_path / "out")
    assert (told.code, told.err) == (130, "")
    numbers = json.loads(told.out)
    assert numbers["interrupted"]
    assert [size["procs"] for size in numbers["sizes"]] == sorted(runs)
    assert (tmp_path / "out" / "plan.png").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target-wait", "soon"], "target 'soon'"),
        (["--target-wait", "p95=1"], "which unit"),
        (["--growth", "0"], "growth = 0"),
        (["--growth", "-2"], "growth = -2"),
        (["--growth", "nan"], "growth"),
        (["--step", "0"], "step = 0"),
        (["--procs", "0"], "procs"),
        (["--policy", "esay"], "easy"),
        (["--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_refuses(refused: Refused, log: Path, options: list[str], said: str) -> None:
    assert said in refused("plan", log, *options)


def test_a_single_job_has_no_rate(refused: Refused, write_log: Callable[..., Path]) -> None:
    assert "no arrival rate" in refused("plan", write_log((1, 0, 10, 1, 10)))


def test_coarse_steps_and_short_logs_are_told(run: Run, write_log: Callable[..., Path]) -> None:
    header = "; MaxProcs: 4000\n"
    log = write_log((1, 0, 9, 4000, 9), (2, 50, 9, 1, 9), (3, 700, 9, 5, 9), header=header)
    told = run("plan", log)
    assert "multiples of 8, about 0.2 % of the machine" in told.out
    assert "too few weeks for an interval" in told.out
    assert "multiples of" not in run("plan", log, "--step", 8).out


def test_what_the_scheduler_believes_and_does_at_the_limit(run: Run, log: Path) -> None:
    jobs = sojourn.read_swf(log)
    rough = jobs.runtime * np.where(np.arange(len(jobs)) % 2, 0.5, 8.0)
    sojourn.write_swf(jobs.replace(estimate=rough), log)

    def told(*options: str) -> dict:
        found: dict = json.loads(run("plan", log, "--json", *options).out)
        return found

    killed, full, exact = told(), told("--over-limit", "run"), told("--estimates", "exact")
    assert killed["busy_processors"] < full["busy_processors"]
    assert exact["busy_processors"] == killed["busy_processors"]
    assert exact["sizes"] != killed["sizes"]
