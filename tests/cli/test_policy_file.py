"""A user's own order from a file: used, or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from .conftest import Run

HEAD = "import sojourn\n\n@sojourn.score\ndef f(jobs, j, now, theta):\n"


@pytest.fixture
def queue(write_log: Callable[..., Path]) -> Path:
    """Three jobs that all wait for the first: shortest last, widest in between."""
    return write_log((1, 0, 10, 4, 10), (2, 1, 9, 4, 9), (3, 2, 7, 4, 7), (4, 3, 8, 4, 8))


def starts(folder: Path) -> list[float]:
    return pd.read_parquet(folder / "jobs.parquet")["start"].tolist()


def test_the_order_of_a_file(run: Run, queue: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "    return jobs.estimate[j]\n")
    out = tmp_path / "run"
    told = run("simulate", queue, "--policy-file", f"{file}:f", "--policy", "easy", "--out", out)
    assert (told.code, told.err) == (0, "")
    assert starts(out) == [0, 25, 10, 17]
    assert json.loads((out / "summary.json").read_text())["policy"] == "f+easy"


def test_an_order_that_depends_on_time(run: Run, queue: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "    return -(now - jobs.submit[j]) / jobs.estimate[j]\n")
    out = tmp_path / "run"
    assert run("simulate", queue, "--policy-file", f"{file}:f", "--out", out).code == 0
    # At 10 the waits are 9, 8 and 7 s: 9/9, 8/7 and 7/8 of the estimates.
    assert starts(out)[2] == 10


def test_compare_knows_its_name(run: Run, queue: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "    return jobs.estimate[j]\n")
    told = run(
        *("compare", queue, "--policies", "fcfs,f,f+easy", "--policy-file", f"{file}:f", "--json")
    )
    rows = json.loads(told.out)["rows"]
    assert [row["policy"] for row in rows] == ["fcfs", "f", "f+easy"]
    assert rows[0]["wait_mean"] > rows[1]["wait_mean"] == rows[2]["wait_mean"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import sys; sys.exit(0)\n", "exits"),
        ("def f(jobs, j, now, theta):\n    return 0.0\n", "no score named 'f'"),
        ("import sojourn\n@sojourn.score\ndef g(jobs, j, now, theta): return 0.0\n", "it has g"),
        ("import sojourn\n@sojourn.score\ndef f(jobs): return 0.0\n", "(jobs, j, now, theta)"),
        (HEAD + "    return jobs.colour[j]\n", "does not compile"),
        (HEAD + "    return open('x')\n", "does not compile"),
        (HEAD + "    return undefined_name\n", "does not compile"),
        (HEAD + "    return 'text'\n", "does not compile"),
        (HEAD + "    return 0.0 / 0.0\n", "not a number"),
        (HEAD + "    return 0.0 / 0.0 if now > 9 else now\n", "score 'f' of job 2 at 10 s is not"),
        (HEAD + "    return jobs.procs[j + 1]\n", "score 'f' of job 4 fails: IndexError"),
        (HEAD + "    return jobs.procs[j + 1] + now\n", "score 'f' of job 4 at 3 s fails: Index"),
        (HEAD + "    return theta[0]\n", "there are 4 jobs and 0 parameters"),
        (HEAD + "    return jobs.work[j]\n", "the true runtime, which no scheduler knows"),
        (HEAD + "    jobs.submit[j] = 0.0\n    return 0.0\n", "writes into what it is handed"),
        (HEAD + "    return None\n", "returns nothing; it must return a number"),
        (HEAD + "    if j == 1:\n        raise ValueError(3)\n    return now\n", "ValueError: 3;"),
        (HEAD.replace("jobs,", "nodes, n, jobs,") + "    return 0.0\n", "is an order of nodes"),
    ],
)
def test_files_that_cannot_be_used(
    refused: Callable[..., str], queue: Path, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    line = refused("simulate", queue, "--policy-file", f"{file}:f", "--out", tmp_path / "run")
    assert said in line
    assert not (tmp_path / "run").exists()


def test_a_placement_from_a_file_that_exits(
    refused: Callable[..., str], queue: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import sys; sys.exit(0)\n")
    asked = ("simulate", queue, "--cluster", "2 x L5420", "--placement", f"{file}:f")
    assert "the file exits when it is loaded" in refused(*asked)


def test_checks_can_be_left_out(run: Run, queue: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "    return jobs.estimate[(j + 0) % len(jobs.estimate)] + 0.0 * now\n")
    told = {}
    for flag in ("--check-policy", "--no-check-policy"):
        out = tmp_path / flag
        asked = ("simulate", queue, "--policy-file", f"{file}:f", flag, "--out", out)
        assert run(*asked).code == 0
        told[flag] = starts(out)
    assert told["--check-policy"] == told["--no-check-policy"] == [0, 25, 10, 17]


def test_compare_stops_at_a_mistake(
    refused: Callable[..., str], queue: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + "    return 0.0 / 0.0 if now > 9 else now\n")
    asked = ("compare", queue, "--policies", "fcfs,f", "--policy-file", f"{file}:f")
    assert "score 'f' of job 2 at 10 s is not a number" in refused(*asked)
