"""``sojourn stability``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Refused = Callable[..., str]


@pytest.fixture
def steady(write_log: Callable[..., Path]) -> Path:
    """One job a second, each 1 s long and half of them on 2 of 4 processors."""
    return write_log(*((k, k, 1, 1 + k % 2, 2) for k in range(1, 101)))


def test_table_and_numbers_agree(run: Run, steady: Path) -> None:
    options = ["--policy", "fcfs", "--policy", "easy", "--batch", 500]
    told = run("stability", steady, *options)
    assert (told.code, told.err) == (0, "")
    numbers = json.loads(run("stability", steady, *options, "--json").out)
    assert numbers["jobs"] == 100
    assert numbers["arrival_rate"] == 1.0
    assert numbers["mean_width"] == 1.5
    assert numbers["offered_utilisation"] == 1.5 / 4
    exact = numbers["exponential"]
    assert exact["load"] == pytest.approx(numbers["constant"])
    assert f"{exact['load']:.4f}" in told.out
    assert [bound["name"] for bound in numbers["simulated"]] == ["fcfs", "easy"]
    for bound in numbers["simulated"]:
        assert bound["state"] == "stable"
        assert bound["max_rate"]["low"] <= bound["max_rate"]["value"] <= bound["max_rate"]["high"]
        assert f"{bound['load']:.4f}" in told.out
    assert numbers["verdict"] in told.out
    assert set(numbers["curve"]) == {"exponential", "fcfs", "easy"}


def test_the_margin_is_in_the_table(run: Run, steady: Path) -> None:
    command = ("stability", steady, "--policy", "fcfs", "--batch", 100)
    bound = json.loads(run(*command, "--json").out)["simulated"][0]
    (row,) = (line for line in run(*command).out.splitlines() if "own jobs (" in line)
    assert f"{100 * bound['margin']:+.1f} %" in row
    assert f"{bound['load']:.4f}" in row


def test_published_load(run: Run, data_dir: Path) -> None:
    log = data_dir / "hpcwld" / "HPC_KRC.csv"
    told = json.loads(
        run(
            *("stability", log, "--log-format", "hpcwld", "--procs", 80, "--keep-zero", "--json"),
            *("--policy", "fcfs", "--batch", 2000),
        ).out
    )
    assert told["constant"] == pytest.approx(0.218991887784, abs=1e-12)
    assert told["exponential"]["load"] == pytest.approx(0.4309959483983057, rel=1e-12)
    # Runtimes are far from exponential: the formula promises too much.
    assert told["simulated"][0]["load"] > 0.6


def test_folder(run: Run, steady: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = run("stability", steady, "--policy", "fcfs", "--batch", 200, "--out", out)
    assert told.code == 0
    assert sorted(path.name for path in out.iterdir()) == ["stability.json", "stability.png"]
    assert json.loads((out / "stability.json").read_text())["procs"] == 4
    assert (out / "stability.png").stat().st_size > 10_000


def test_wide_and_long_jobs_are_told(run: Run, write_log: Callable[..., Path]) -> None:
    log = write_log(*((k, k, 5 if k % 2 else 1, 4 if k % 2 else 1, 9) for k in range(1, 61)))
    told = run("stability", log, "--policy", "fcfs", "--batch", 200)
    assert "wide jobs run longer" in told.out
    assert "unstable" in told.out
    told = run("stability", log, "--procs", 2, "--policy", "fcfs", "--batch", 200)
    assert "30 jobs wider than the machine" in told.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "esay"], "easy"),
        (["--procs", "0"], "procs"),
        (["--procs", "x"], "procs"),
        (["--batch", "1"], "batch"),
        (["--estimates", "wild"], "wild"),
        (["--over-limit", "wait"], "wait"),
        (["--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_refuses(refused: Refused, steady: Path, options: list[str], said: str) -> None:
    assert said in refused("stability", steady, *options)


def test_a_single_job_has_no_rate(refused: Refused, write_log: Callable[..., Path]) -> None:
    assert "no arrival rate" in refused("stability", write_log((1, 0, 10, 1, 10)))


def test_what_the_scheduler_believes_and_does_at_the_limit(
    run: Run, write_log: Callable[..., Path]
) -> None:
    # Every other job is believed to take far longer than it does, and the rest are killed.
    rows = [(k, 100 * k, 50 + 7 * k % 40, 1 + k % 3, 30 + 900 * (k % 2)) for k in range(1, 40)]
    log = write_log(*rows)

    def told(*options: str) -> dict:
        command = ("stability", log, "--policy", "easy", "--batch", 200, "--json", *options)
        found: dict = json.loads(run(*command).out)
        return found

    killed, full, exact = told(), told("--over-limit", "run"), told("--estimates", "exact")
    assert killed["mean_service"] < full["mean_service"]
    assert exact["mean_service"] == killed["mean_service"]
    assert exact["simulated"] != killed["simulated"]
    assert told("--seed", "1")["simulated"] != killed["simulated"]
